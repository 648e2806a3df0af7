package report

import (
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/words"
)

// TestLongNames: a name of 50 KB takes a few lines of a terminal, wherever it stands.
func TestLongNames(t *testing.T) {
	for _, name := range []string{strings.Repeat("n", 50_000), strings.Repeat("n m ", 12_500)} {
		var out strings.Builder
		term := newTerminal(&out, words.English, Options{Full: true})
		term.show([]section{{Title: "T", Blocks: []block{
			{Text: name, Strong: name}, {Warning: name}, {Heading: name}, {List: []string{name}},
		}}})
		if err := term.w.Flush(); err != nil {
			t.Fatal(err)
		}
		if n := out.Len(); n > 25_000 || !strings.Contains(out.String(), "…") {
			t.Errorf("%d bytes: %.300s", n, out.String())
		}
	}
}
