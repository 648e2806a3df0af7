package words

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// ParseBytes reads a number of bytes, or of bytes per second, with an optional factor k, M, G (powers of
// 1000) or Ki, Mi, Gi. It is positive.
func ParseBytes(s string) (float64, error) {
	number, factor := strings.TrimSuffix(s, "B"), 1.0
	for _, f := range []struct {
		suffix string
		factor float64
	}{{"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"k", 1e3}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}} {
		if rest, ok := strings.CutSuffix(number, f.suffix); ok {
			number, factor = rest, f.factor
			break
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !(v > 0) || v*factor > 1e18 {
		return 0, errors.New("give bytes per second, such as 1G, 200M or 64Ki")
	}
	return v * factor, nil
}

// ParseAge reads a time as time.ParseDuration does, and in days (30d) or weeks (2w). It is positive.
func ParseAge(s string) (time.Duration, error) {
	wrong := errors.New("give a time, such as 30d, 2w or 12h")
	for unit, of := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		number, ok := strings.CutSuffix(s, unit)
		if !ok {
			continue
		}
		v, err := strconv.ParseFloat(number, 64)
		if err != nil || !(v > 0) || v*float64(of) > math.MaxInt64/2 {
			return 0, wrong
		}
		return time.Duration(v * float64(of)), nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, wrong
	}
	return d, nil
}

// Fold breaks text between words into lines of at most width columns; 0: one line. The first line begins with
// first, the others with indent.
func Fold(first, indent, text string, width int) (lines []string) {
	line, begins := first, true
	for _, word := range strings.Fields(text) {
		switch {
		case begins:
			line += word
		case width > 0 && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
			lines = append(lines, line)
			line = indent + word
		default:
			line += " " + word
		}
		begins = false
	}
	return append(lines, line)
}
