package words

import (
	"strings"
	"unicode"
)

// How many characters of a word and of a whole text people are shown. No name that people give comes near.
const (
	longestWord = 400
	longestText = 4000
)

// Cut shortens, for people, words and texts of unreasonable length: a trace may hold names of 50 KB. An
// ellipsis stands for what is left out.
func Cut(s string) string {
	if len(s) <= longestWord {
		return s
	}
	var b strings.Builder
	word, all := 0, 0
	for _, r := range s {
		if all == longestText {
			b.WriteString("…")
			break
		}
		if word++; unicode.IsSpace(r) {
			word = 0
		}
		switch {
		case word <= longestWord:
			b.WriteRune(r)
			all++
		case word == longestWord+1:
			b.WriteString("…")
			all++
		}
	}
	return b.String()
}

// CutLines is Cut for each line of a text.
func CutLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = Cut(lines[i])
	}
	return strings.Join(lines, "\n")
}
