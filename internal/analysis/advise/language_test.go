package advise_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/whyslow/whyslow/internal/analysis/advise"
	"github.com/whyslow/whyslow/internal/words"
)

var update = flag.Bool("update", false, "write the golden texts anew")

// everyAdvice gives the inputs of all programs with a fault and of all sums, by name.
func everyAdvice(t *testing.T) map[string]advise.Input {
	all := map[string]advise.Input{}
	for _, p := range pairs {
		text, err := os.ReadFile(p.file("fault", ".trace"))
		if err != nil {
			t.Fatal(err)
		}
		all[p.name] = analyse(t, string(text)).in
	}
	for name, c := range sumsCases() {
		all["sums: "+name] = advise.Input{SLOU: c.res}
	}
	return all
}

// TestLanguages compares all advice with the golden text of each language.
func TestLanguages(t *testing.T) {
	all := everyAdvice(t)
	for _, lang := range []string{"en", "ru"} {
		var b strings.Builder
		for _, name := range slices.Sorted(maps.Keys(all)) {
			in := all[name]
			for _, a := range advise.Alone(in) {
				a = a.In(words.LangOf(lang))
				fmt.Fprintf(&b, "`%s`: `%s`\n%s. %s.\n%s\n%s\n\n", name, a.ID, a.Title, a.Gain, a.Text, a.Bound)
			}
		}
		file := filepath.Join("testdata", "advice."+lang+".txt")
		if *update {
			if err := os.WriteFile(file, []byte(b.String()), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if lang == "ru" {
			onlyRussian(t, b.String())
		}
		if b.String() != string(want) {
			t.Errorf("%s differs; see what -update makes of it", file)
		}
	}
}

// notRussian is what may stand in a Russian text: names in backquotes and places in the source.
var notRussian = regexp.MustCompile("`[^`]*`|\\([^() ]+:[0-9]+\\)")

func onlyRussian(t interface{ Errorf(string, ...any) }, text string) {
	rest := notRussian.ReplaceAllString(text, "")
	if i := strings.IndexFunc(rest, func(r rune) bool {
		return unicode.Is(unicode.Latin, r) || r == '`'
	}); i >= 0 {
		t.Errorf("not Russian: %.60s", rest[i:])
	}
	if strings.Contains(text, "%!") || strings.Contains(text, "  ") || strings.Contains(text, " .") ||
		strings.Contains(text, " ,") {
		t.Errorf("ill made: %s", text)
	}
}
