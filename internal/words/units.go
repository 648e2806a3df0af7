// Package words writes times, sizes and numbers for people, in English and Russian, and sentences made of
// them.
//
// It is the only place that knows units, plural forms and the names of factors; go generate ./web writes them
// down for the page. Sentences stand beside what they speak of, each as
// a Text or a Phrase: English and Russian side by side.
package words

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Lang is a language to write in.
type Lang uint8

// The languages.
const (
	English Lang = iota
	Russian
)

// LangOf gives the language by its name: "ru" is Russian, anything else English.
func LangOf(name string) Lang {
	if name == "ru" {
		return Russian
	}
	return English
}

// Fixed writes a number with so many digits after the point, in Russian after a comma.
func (l Lang) Fixed(v float64, digits int) string {
	s := fmt.Sprintf("%.*f", digits, v)
	if l == Russian {
		return strings.Replace(s, ".", ",", 1)
	}
	return s
}

// Names of units by language, the smallest first: TimeUnits are a thousand of each other, ByteUnits as well.
// PerSecond follows the unit of a rate.
var (
	TimeUnits = [2][]string{{"ns", "µs", "ms", "s"}, {"нс", "мкс", "мс", "с"}}
	ByteUnits = [2][]string{{"B", "KB", "MB", "GB", "TB"}, {"Б", "КБ", "МБ", "ГБ", "ТБ"}}
	PerSecond = Phrase{"/s", "/с"}
)

// magnitude is -n; of the least int64, which has no such number, the largest one.
func magnitude(n int64) int64 { return -max(n, -math.MaxInt64) }

// Duration writes a time in nanoseconds with three or four digits and a unit that fits: "1.50 ms", "1,50 мс".
func (l Lang) Duration(ns int64) string {
	if ns < 0 {
		return "-" + l.Duration(magnitude(ns))
	}
	for i, unit := 3, 1e9; i > 0; i, unit = i-1, unit/1000 {
		if v := float64(ns) / unit; v >= 0.9995 {
			digits := 2
			switch {
			case v >= 100:
				digits = 0
			case v >= 10:
				digits = 1
			}
			return l.Fixed(v, digits) + " " + TimeUnits[l][i]
		}
	}
	return fmt.Sprintf("%d %s", ns, TimeUnits[l][0])
}

// Bytes writes a size with a unit of powers of 1000: "1.5 KB", "1,5 КБ".
func (l Lang) Bytes(n int64) string {
	if n < 0 {
		return "-" + l.Bytes(magnitude(n))
	}
	if n < 1000 {
		return l.Count(n, Nouns["byte"])
	}
	v, unit := float64(n)/1000, 1
	for v >= 1000 && unit < len(ByteUnits[l])-1 {
		v, unit = v/1000, unit+1
	}
	return l.Fixed(v, 1) + " " + ByteUnits[l][unit]
}

// Amount writes a number of "ns", "bytes", or of anything else.
func (l Lang) Amount(v int64, unit string) string {
	switch unit {
	case "ns":
		return l.Duration(v)
	case "bytes":
		return l.Bytes(v)
	}
	return fmt.Sprint(v)
}

// Percent writes which part of a time another one is: "12.3 %", "12,3 %".
func (l Lang) Percent(ns, of int64) string {
	if of <= 0 {
		return l.Fixed(0, 1) + " %"
	}
	return l.Fixed(100*float64(ns)/float64(of), 1) + " %"
}

// Count writes a number of things: "1 CF", "3 CFs".
func (l Lang) Count(n int64, what Noun) string {
	return strings.TrimSuffix(strconv.FormatInt(n, 10)+" "+what.form(l, n), " ")
}

// Bytes is Lang.Bytes in English.
func Bytes(n int64) string { return English.Bytes(n) }

// Count writes "1 CF", "3 CFs" in English.
func Count[N int | int64](n N, what string) string { return Plural(n, what, what+"s") }

// Plural writes "1 CF waits", "3 CFs wait" in English: the number and the word that goes with it.
func Plural[N int | int64](n N, one, more string) string {
	return English.Count(int64(n), Noun{One: one, More: more})
}
