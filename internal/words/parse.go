package words

import (
	"errors"
	"strconv"
	"strings"
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
		return 0, errors.New("say bytes per second, such as 1G, 200M or 64Ki")
	}
	return v * factor, nil
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
