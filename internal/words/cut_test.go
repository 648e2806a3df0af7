package words

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestCut: names of 50 KB, of one word or of many, leave room for what else is said.
func TestCut(t *testing.T) {
	for _, name := range []string{strings.Repeat("x", 50_000), strings.Repeat("ж", 50_000),
		strings.Repeat("a b ", 12_500), strings.Repeat("y", 50_000) + " " + strings.Repeat("z", 50_000)} {
		got := Cut("before " + name + " after")
		if n := utf8.RuneCountInString(got); n > longestText+1 || !strings.Contains(got, "…") ||
			!strings.HasPrefix(got, "before ") || !strings.Contains(name, " ") && !strings.HasSuffix(got, "… after") {
			t.Errorf("%.20s...: %d characters: %.40s", name, n, got)
		}
	}
	for _, whole := range []string{"", "µ", strings.Repeat("w", longestWord), strings.Repeat("word ", 700)} {
		if got := Cut(whole); got != whole {
			t.Errorf("%q was cut to %q", whole, got)
		}
	}
}
