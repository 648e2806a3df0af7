package words

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
)

// TestForeign: no control character reaches a terminal, however the text is cut; our own colours do.
func TestForeign(t *testing.T) {
	var all strings.Builder
	for r := range rune(0x3000) {
		all.WriteRune(r)
	}
	all.WriteString("\xff\xc2")
	for text, want := range map[string]string{
		"a\tb\r\nµs «да» 100 %\n":           "a\tb\r\nµs «да» 100 %\n",
		"\x1b[1mbold\x1b[0m\r\x1b[K\x1b[2K": "\x1b[1mbold\x1b[0m\r\x1b[K\x1b[2K",
		"\x1b[31mred\x1b[m":                 "\x1b[31mred\x1b[m",
		"\x1b[2J\x1b]0;title\x07":           `\u001b[2J\u001b]0;title\u0007`,
		"\x1b[8mhidden \u009b31m\x7f":       `\u001b[8mhidden \u009b31m\u007f`,
		"\u202eevil\u2066\u200b":            `\u202eevil\u2066\u200b`,
		all.String():                        "",
	} {
		for size := 1; size < 9; size++ {
			var out bytes.Buffer
			f := Foreign(&out)
			for rest := []byte(text); len(rest) > 0; rest = rest[min(size, len(rest)):] {
				if n, err := f.Write(rest[:min(size, len(rest))]); err != nil || n != min(size, len(rest)) {
					t.Fatal(n, err)
				}
			}
			if want != "" && out.String() != want {
				t.Errorf("in pieces of %d: %q\nwant %q", size, out.String(), want)
			}
			if i := strings.IndexFunc(own.ReplaceAllString(out.String(), ""), func(r rune) bool {
				return want == "" && unicode.In(r, unicode.Cc, unicode.Cf) && !strings.ContainsRune("\n\t\r\u200d", r)
			}); i >= 0 {
				t.Errorf("in pieces of %d: %q", size, out.String()[i:min(i+9, out.Len())])
			}
		}
	}
}

func FuzzForeign(f *testing.F) {
	f.Add([]byte("a\x1b[1mb\x1b[2J\u009b"), uint8(3))
	f.Fuzz(func(t *testing.T, text []byte, cut uint8) {
		var once, twice bytes.Buffer
		w := Foreign(&once)
		k := min(int(cut), len(text))
		if _, err := w.Write(text[:k]); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(text[k:]); err != nil {
			t.Fatal(err)
		}
		if _, err := Foreign(&twice).Write(once.Bytes()); err != nil || !bytes.Equal(once.Bytes(), twice.Bytes()) {
			t.Fatalf("%q, again %q", once.Bytes(), twice.Bytes())
		}
	})
}
