package internal_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mostFiles is how many files a newcomer may have to touch to add one thing of a kind.
const mostFiles = 6

// recipe is a row of the table "To add something" in ARCHITECTURE.md.
type recipe struct {
	what  string
	name  *regexp.Regexp // what the copied one is called, wherever it is spoken of
	files []string       // where it is spoken of, sorted
}

// TestRecipes keeps the table "To add something" of ARCHITECTURE.md true. Each row names a thing to copy: the
// files that speak of that thing are exactly the files that the row tells the reader to touch.
func TestRecipes(t *testing.T) {
	recipes := readRecipes(t, "../ARCHITECTURE.md")
	sources := readSources(t, "..")
	for _, kind := range []string{"module", "event kind", "pattern", "converter", "view", "verb", "advice", "a factor",
		"a part of a factor"} {
		if !slices.ContainsFunc(recipes, func(r recipe) bool { return strings.Contains(r.what, kind) }) {
			t.Errorf("the table does not say how to add a %s", kind)
		}
	}
	for _, r := range recipes {
		var found []string
		for _, file := range slices.Sorted(maps.Keys(sources)) {
			if r.name.MatchString(sources[file]) {
				found = append(found, file)
			}
		}
		if !slices.Equal(found, r.files) {
			t.Errorf("%s: the table names %q, but %s stands in %q", r.what, r.files, r.name, found)
		}
		if len(found) > mostFiles {
			t.Errorf("%s: %d files to touch, more than %d", r.what, len(found), mostFiles)
		}
	}
}

// readRecipes reads rows such as "| a verb | `convertCommand` | [cli/convert.go](cli/convert.go), ... |".
func readRecipes(t *testing.T, page string) (out []recipe) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(text), "## To add something\n")
	if !ok {
		t.Fatalf("%s has no part \"To add something\"", page)
	}
	table, _, _ = strings.Cut(table, "\n## ")
	link := regexp.MustCompile(`\]\(([^)]+)\)`)
	for _, m := range regexp.MustCompile("(?m)^\\| (an? [^|]+) \\| `([^`]+)`[^|]* \\| (.+) \\|$").
		FindAllStringSubmatch(table, -1) {
		r := recipe{what: m[1], name: regexp.MustCompile(strings.ReplaceAll(m[2], "¦", "|"))}
		for _, f := range link.FindAllStringSubmatch(m[3], -1) {
			r.files = append(r.files, f[1])
		}
		slices.Sort(r.files)
		out = append(out, r)
	}
	return out
}

// readSources reads all files written by hand that are part of the product: no tests, documents, examples or
// generated files.
func readSources(t *testing.T, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	skipped := regexp.MustCompile(`(^|/)(\.git|node_modules|dist|testdata|docs|examples|bench|testkit|build)$`)
	source := regexp.MustCompile(`\.(go|ts|svelte|h|hpp|c|s)$`)
	written := regexp.MustCompile(`(_test\.go|_gen\.go|\.test\.ts|\.gen\.ts|^sdk/whyslow\.hp*|^sdk/pgas/shmem_names\.h)$`)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		file, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		file = filepath.ToSlash(file)
		switch {
		case d.IsDir() && skipped.MatchString(file):
			return filepath.SkipDir
		case d.IsDir() || !source.MatchString(file) || written.MatchString(file):
			return nil
		}
		text, err := os.ReadFile(path)
		out[file] = string(text)
		return err
	})
	if err != nil || len(out) < 300 {
		t.Fatalf("%d sources were read (%v)", len(out), err)
	}
	return out
}
