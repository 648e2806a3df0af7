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
func ASCII(w io.Writer) io.Writer {
	return &rewriter{w: w, rewrite: func(text []byte) (out, held []byte) {
		end := len(text)
		for _, half := range []string{"\u00b5", "\u00b5"[:1]} {
			if bytes.HasSuffix(text, []byte(half)) {
				end -= len(half)
				break
			}
		}
		return bytes.ReplaceAll(text[:end], []byte("µs"), []byte("us")), text[end:]
	}}
}

// rewriter rewrites texts for the writer beneath.
type rewriter struct {
	w       io.Writer
	held    []byte // the beginning of what is rewritten, whose end may come with the next Write
	rewrite func(text []byte) (out, held []byte)
}

// Unwrap is the writer beneath.
func (r *rewriter) Unwrap() io.Writer { return r.w }

func (r *rewriter) Write(b []byte) (int, error) {
	text := b
	if len(r.held) > 0 {
		text = append(r.held, b...)
	}
	out, held := r.rewrite(text)
	r.held = bytes.Clone(held)
	if _, err := r.w.Write(out); err != nil {
		return 0, err
	}
	return len(b), nil
}
