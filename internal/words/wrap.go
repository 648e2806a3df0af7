package words

import (
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
)

// Wrap breaks text at blanks into lines of at most width columns. A number and what follows it stay together.
func Wrap(s string, columns int) (lines []string) {
	var parts []string
	for _, w := range strings.Fields(s) {
		if n := len(parts); n > 0 && endsInDigit(parts[n-1]) && !strings.Contains(parts[n-1], " ") {
			parts[n-1] += " " + w
		} else {
			parts = append(parts, w)
		}
	}
	room := -1
	for _, w := range parts {
		n := text.StringWidthWithoutEscSequences(w)
		if room -= n + 1; room < 0 {
			lines, room = append(lines, w), columns-n
		} else {
			lines[len(lines)-1] += " " + w
		}
	}
	return lines
}

func endsInDigit(s string) bool {
	c := s[len(s)-1]
	return c >= '0' && c <= '9'
}
