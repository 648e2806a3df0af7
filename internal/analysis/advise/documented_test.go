package advise

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"testing"
)

// TestDocumented: docs/advice.md has a row for every piece of advice, and for nothing else.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/advice.md")
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]int{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|").FindAllSubmatch(page, -1) {
		told[string(row[1])]++
	}
	for _, id := range slices.Sorted(maps.Keys(titles)) {
		if told[id] != 1 {
			t.Errorf("%s is told %d times", id, told[id])
		}
		delete(told, id)
	}
	if len(told) > 0 {
		t.Errorf("there is no advice %v", told)
	}
}
