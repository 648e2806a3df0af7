package svg

import (
	"fmt"
	"math"
	"strconv"

	"github.com/whyslow/whyslow/internal/words"
)

// Count is an axis for numbers without a unit from 0 to max, with about n ticks at round numbers.
func Count(maximum float64, n int) Axis {
	step := roundStep(maximum, n)
	steps := []string{"", "k", "M", "G", "T"}
	if maximum < 10_000 {
		steps = steps[:1]
	}
	return axis(maximum, step, func(v float64) string { return scaled(v, step, maximum, 1000, steps, "") })
}

// Bytes is an axis for sizes.
func Bytes(l words.Lang, maximum float64, n int) Axis {
	step := roundStep(maximum, n)
	return axis(maximum, step, func(v float64) string {
		return scaled(v, step, maximum, 1000, words.ByteUnits[l], " ")
	})
}

// Percent is an axis from 0 to 1 labelled in per cent.
func Percent() Axis {
	return axis(1, 0.25, func(v float64) string { return strconv.Itoa(int(math.Round(100*v))) + " %" })
}

// long are steps of times beyond minutes, in seconds.
var long = []float64{60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200}

const day = 86400e9

// Time is an axis for times in nanoseconds.
func Time(l words.Lang, maximum float64, n int) Axis {
	if maximum >= 180e9 {
		for i, s := range long {
			if maximum/(s*1e9) <= float64(n) {
				if s*1e9 > maximum { // one tick is no axis
					s = long[i-1]
				}
				return axis(maximum, s*1e9, clock)
			}
		}
		return axis(maximum, max(roundStep(maximum/day, n), 1)*day, clock)
	}
	step := roundStep(maximum, n)
	return axis(maximum, step, func(v float64) string {
		return scaled(v, step, maximum, 1000, words.TimeUnits[l], " ")
	})
}

// clock writes hours and minutes.
func clock(ns float64) string {
	m := int64(math.Round(ns / 60e9))
	switch {
	case m == 0:
		return "0"
	case m%(24*60) == 0:
		return fmt.Sprintf("%d d", m/(24*60))
	case m%60 == 0:
		return fmt.Sprintf("%d h", m/60)
	case m < 60:
		return fmt.Sprintf("%d min", m)
	}
	return fmt.Sprintf("%d h %02d", m/60, m%60)
}

// axis has ticks at multiples of step.
func axis(maximum, step float64, text func(float64) string) Axis {
	a := Axis{Max: maximum}
	if !(step > 0) || !(maximum > 0) || math.IsInf(maximum, 0) {
		return a
	}
	for i := 0; i <= 1000 && float64(i)*step <= maximum*(1+1e-9); i++ {
		a.Ticks = append(a.Ticks, Tick{float64(i) * step, text(float64(i) * step)})
	}
	return a
}

// roundStep is 1, 2 or 5 times a power of ten such that about n of them, at most, make up maximum.
func roundStep(maximum float64, n int) float64 {
	if !(maximum > 0) || math.IsInf(maximum, 0) {
		return 0
	}
	power := math.Pow(10, math.Floor(math.Log10(maximum/float64(n))))
	for _, f := range []float64{1, 2, 5, 10} {
		if step := f * power; maximum <= step*float64(n)*(1+1e-9) {
			if step > maximum { // one tick is no axis
				step /= 2
			}
			return step
		}
	}
	return 10 * power
}

// scaled writes v in the unit that suits maximum, with the decimals that step needs.
func scaled(v, step, maximum, base float64, units []string, space string) string {
	if v == 0 {
		return "0"
	}
	i := 0
	for ; i < len(units)-1 && maximum >= base; i++ {
		v, step, maximum = v/base, step/base, maximum/base
	}
	decimals := max(0, int(math.Ceil(-math.Log10(step)-1e-9)))
	return strconv.FormatFloat(v, 'f', decimals, 64) + space + units[i]
}
