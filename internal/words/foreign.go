package words

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"unicode"
	"unicode/utf8"
)

// own matches the terminal sequences that we write ourselves: colours, and "erase the line".
var own = regexp.MustCompile(`^\x1b\[(?:(?:(?:[0-3]|[39][0-7])?m)|2?K)`)

// longestOwn is how long one of them may be.
const longestOwn = 5

// Foreign gives a writer for what may hold names and texts of others: programs, traces, senders. Control
// characters, among them the beginnings of terminal sequences, and characters that turn the direction of
// writing become \u001b and the like, which is also what JSON calls them. Line feeds, tabs, carriage returns
// and our own colours stay.
func Foreign(w io.Writer) io.Writer { return &rewriter{w: w, rewrite: tame} }

// tame lets pass what is harmless and rewrites the rest.
func tame(text []byte) (_, held []byte) {
	if plain(text) {
		return text, nil
	}
	var out bytes.Buffer
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch {
		case r == '\x1b' && own.Match(text):
			n = len(own.Find(text))
			out.Write(text[:n])
		case r == '\x1b' && len(text) < longestOwn && partial(text), !utf8.FullRune(text):
			held, n = text, len(text)
		case harmless(r):
			out.WriteRune(r) // of invalid UTF-8 the replacement character
		case r > 0xffff:
			fmt.Fprintf(&out, `\U%08x`, r)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
		text = text[n:]
	}
	return out.Bytes(), held
}

// partial tells whether a text may be the beginning of a sequence of ours.
func partial(text []byte) bool {
	for _, end := range []string{"\x1b[0m", "[0m", "0m", "m"} {
		if own.Match(append(bytes.Clone(text), end...)) {
			return true
		}
	}
	return false
}

// plain tells whether a text is ASCII and harmless.
func plain(b []byte) bool {
	for _, c := range b {
		if c >= 0x7f || c < ' ' && c != '\n' && c != '\t' && c != '\r' {
			return false
		}
	}
	return true
}

func harmless(r rune) bool {
	switch r {
	case '\n', '\t', '\r', utf8.RuneError, '\u200d': // the last one joins signs of scripts and pictures
		return true
	}
	return unicode.IsPrint(r) || unicode.IsSpace(r) && r > 0xa0 || r == 0xa0
}
