package internal_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// mostColumns is how many columns a line of source may have; a tab counts as one.
const mostColumns = 110

// measured are the endings of sources whose lines are measured here. Lines of Go are measured by make lint.
var measured = []string{".c", ".cc", ".cpp", ".h", ".hpp", ".upc", ".js", ".svelte", ".ts"}

// TestLinesAreNotTooLong measures sources in C, C++, JavaScript, TypeScript and Svelte. Generated C and C++
// count as well, because users read them.
func TestLinesAreNotTooLong(t *testing.T) {
	seen := map[string]int{}
	err := filepath.WalkDir("..", func(file string, d fs.DirEntry, err error) error {
		switch ending := filepath.Ext(file); {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", "node_modules", "dist", "build"}, d.Name()):
			return fs.SkipDir
		case d.IsDir(), !slices.Contains(measured, ending), strings.HasSuffix(file, ".gen.ts"):
			return nil
		default:
			seen[ending]++
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		number := 0
		for line := range bytes.Lines(text) {
			number++
			if n := utf8.RuneCount(bytes.TrimRight(line, "\r\n")); n > mostColumns {
				t.Errorf("%s:%d: %d columns, at most %d", file, number, n, mostColumns)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, ending := range measured {
		if seen[ending] == 0 {
			t.Errorf("no file ends in %s", ending)
		}
	}
}
