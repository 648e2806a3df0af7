package pattern

import (
	"os"
	"strings"
	"testing"
	"unicode"

	"github.com/whyslow/whyslow/internal/words"
)

// russian tells whether a text has nothing in Latin letters but what both languages say alike: names and
// modes in capitals.
func russian(text string) bool {
	for _, w := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && r != '_' }) {
		if strings.IndexFunc(w, func(r rune) bool { return unicode.Is(unicode.Latin, r) }) >= 0 &&
			w != strings.ToUpper(w) {
			return false
		}
	}
	return text != ""
}

// Every metric has a name and a sentence in both languages, and none is there without a metric.
func TestMetricWords(t *testing.T) {
	f := newForest()
	if len(f.metrics) != len(words.Metrics) {
		t.Errorf("%d metrics, names of %d", len(f.metrics), len(words.Metrics))
	}
	for _, m := range f.metrics {
		w := words.Metrics[m.ID]
		if w.Name[words.English] == "" || !strings.HasSuffix(w.Doc[words.English], ".") {
			t.Errorf("%s in English: %q, %q", m.ID, w.Name[words.English], w.Doc[words.English])
		}
		if doc := w.Doc[words.Russian]; !russian(w.Name[words.Russian]) || !russian(doc) ||
			!strings.HasSuffix(doc, ".") {
			t.Errorf("%s in Russian: %q, %q", m.ID, w.Name[words.Russian], doc)
		}
	}
}

// A result in Russian says the same in Russian, and the one it was made of stays English.
func TestRussian(t *testing.T) {
	text, err := os.ReadFile("testdata/killed.txtar")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "-- trace --\n")
	lines, _, _ := strings.Cut(after, "\n-- ")
	r := compute(t, buildText(t, lines+"\n"))
	other := r.In(words.Russian)
	if len(r.Problems) == 0 || len(other.Problems) != len(r.Problems) || russian(r.Problems[0]) {
		t.Fatalf("%q became %q", r.Problems, other.Problems)
	}
	for i, p := range other.Problems {
		if !russian(strings.NewReplacer("upc_barrier", "", "p.upc", "").Replace(p)) {
			t.Errorf("%q is %q", r.Problems[i], p)
		}
	}
	if r.Metrics[0].Name != "Time" || other.Metrics[0].Name != "Время" {
		t.Errorf("all time is %q and %q", r.Metrics[0].Name, other.Metrics[0].Name)
	}
}
