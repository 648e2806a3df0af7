package web_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/web"
)

var update = flag.Bool("update", false, "write the page's words and the values of its tests anew")

// languages are the languages of the page, by the names it gives them.
var languages = map[string]words.Lang{"en": words.English, "ru": words.Russian}

// inBoth gives what f gives in every language.
func inBoth(f func(words.Lang) any) map[string]any {
	m := map[string]any{}
	for name, l := range languages {
		m[name] = f(l)
	}
	return m
}

// TestWordsAreCurrent: the words that the page shares with the reports, and the values that its test of
// units.ts formats, are those of Go. With -update it writes both.
func TestWordsAreCurrent(t *testing.T) {
	forms := map[string]any{}
	for name, noun := range words.Nouns {
		forms[name] = inBoth(func(l words.Lang) any {
			if l == words.Russian {
				return noun.Russian
			}
			return []string{noun.One, noun.More}
		})
	}
	factors, parts := map[string]any{}, map[string]any{}
	for i, f := range words.AllFactors {
		factors[f.Letter] = map[string]any{"name": inBoth(func(l words.Lang) any { return f.Name.In(l) }),
			"hint": inBoth(func(l words.Lang) any { return f.Doc.In(l) }), "order": i, "class": f.Class,
			"light": f.Light, "dark": f.Dark, "cutOut": f.CutOut}
	}
	for id, m := range words.Metrics { // parts of W and L in runs with regions
		parts[id] = inBoth(func(l words.Lang) any { return words.Lowered(m.Name.In(l)) })
	}
	for name, p := range words.Parts {
		parts[name] = inBoth(func(l words.Lang) any { return p.In(l) })
	}
	ofTasks := inBoth(func(l words.Lang) any { // JavaScript writes groups as $1
		var list [][2]string
		for _, w := range words.TaskWords[l] {
			list = append(list, [2]string{w[0], strings.ReplaceAll(w[1], "${1}", "$1")})
		}
		return list
	})
	text := []byte("// Written by go generate ./web from internal/words, which says these words in reports too. " +
		"Do not edit.\n")
	for _, table := range []struct {
		name string
		of   map[string]any
	}{
		{"timeUnits", inBoth(func(l words.Lang) any { return words.TimeUnits[l] })},
		{"byteUnits", inBoth(func(l words.Lang) any { return words.ByteUnits[l] })},
		{"perSecond", inBoth(func(l words.Lang) any { return words.PerSecond[l] })},
		{"gainsOverlap", inBoth(func(l words.Lang) any { return words.GainsOverlap[l] })},
		{"nouns", forms}, {"factors", factors}, {"parts", parts}, {"taskWords", ofTasks},
	} {
		text = append(text, "\nexport const "+table.name+" = {\n"...)
		for _, key := range slices.Sorted(maps.Keys(table.of)) {
			data, err := json.Marshal(table.of[key])
			if err != nil {
				t.Fatal(err)
			}
			text = fmt.Appendf(text, "  %q: %s,\n", key, data)
		}
		end := "};\n"
		if table.name == "factors" {
			end = "} as const;\n" // its keys and classes are types
		}
		text = append(text, end...)
	}
	current(t, "src/lib/words.gen.ts", text)

	// Ties of rounding are among the values: JavaScript rounds them up, Go to the even digit.
	var rows []string
	row := func(lang, format string, of []int64, want string) {
		data, err := json.Marshal([]any{lang, format, of, want})
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, string(data))
	}
	for _, lang := range slices.Sorted(maps.Keys(languages)) {
		l := languages[lang]
		for _, unit := range []int64{1, 10, 1e3, 1e6, 1e9, 1e12} {
			for _, v := range []int64{0, 1, -1, 2, 5, 11, 21, 104, 112, 125, -375, 625, 875, 999, 1025, 1075, 1125, 1375,
				12_250, -12_750, 100_500, 101_500, 999_499, 999_500, 999_949, 999_950, 999_951} {
				row(lang, "duration", []int64{v * unit}, l.Duration(v*unit))
				row(lang, "bytes", []int64{v * unit}, l.Bytes(v*unit))
			}
		}
		for _, whole := range []int64{0, 1, 3, 7, 80, 1600, 999_983} {
			for part := range int64(25) {
				row(lang, "percent", []int64{part, whole}, l.Percent(part, whole))
			}
		}
		for _, name := range slices.Sorted(maps.Keys(words.Nouns)) {
			for _, n := range []int64{0, 1, 2, 5, 11, 12, 14, 20, 21, 22, 25, 101, 111, 999} {
				row(lang, name, []int64{n}, l.Count(n, words.Nouns[name]))
			}
		}
	}
	current(t, "src/lib/units.examples.json", []byte("[\n"+strings.Join(rows, ",\n")+"\n]\n"))
}

// TestGainsOverlap: the page says beside its advice what reports say, in both languages. (What it does not
// use is not in the built file.)
func TestGainsOverlap(t *testing.T) {
	page, err := fs.ReadFile(web.Files(), "assets/index.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, said := range words.GainsOverlap {
		if !bytes.Contains(page, []byte(said)) {
			t.Errorf("the page does not say %q", said)
		}
	}
}

// current compares a file with what belongs into it, and writes it if asked to.
func current(t *testing.T, file string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(file); err != nil || string(have) != string(want) {
		t.Errorf("%s is not what Go says: run go generate ./web (%v)", file, err)
	}
}
