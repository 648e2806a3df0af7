package words

import (
	"bytes"
	"io"
	"strings"
)

// UTF8 tells whether the locale, of which env gives the variables, has UTF-8. One that says nothing has.
func UTF8(env func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToUpper(env(name)); v != "" {
			return strings.Contains(v, "UTF-8") || strings.Contains(v, "UTF8")
		}
	}
	return true
}

// ASCII gives a writer for a terminal without UTF-8: it writes "us" for "µs".
func ASCII(w io.Writer) io.Writer { return &asciiWriter{w: w} }

type asciiWriter struct {
	w    io.Writer
	held []byte // the beginning of "µs", whose end may come with the next Write
}

// Unwrap is the writer beneath.
func (a *asciiWriter) Unwrap() io.Writer { return a.w }

func (a *asciiWriter) Write(b []byte) (int, error) {
	text := append(a.held, b...)
	end := len(text)
	for _, half := range []string{"\u00b5", "\u00b5"[:1]} {
		if bytes.HasSuffix(text, []byte(half)) {
			end -= len(half)
			break
		}
	}
	out := bytes.ReplaceAll(text[:end], []byte("µs"), []byte("us"))
	a.held = bytes.Clone(text[end:])
	if _, err := a.w.Write(out); err != nil {
		return 0, err
	}
	return len(b), nil
}
