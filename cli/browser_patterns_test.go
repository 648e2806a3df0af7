package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/analysis/pattern"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
)

// pagePatterns looks at a run of a program with regions: three columns whose amounts are those of the report.
func pagePatterns(t *testing.T, p *pages) {
	text, err := os.ReadFile("testdata/patterns.txt")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "patterns.trace")
	if err := twin.Parse(strings.NewReader(string(text)), dir); err != nil {
		t.Fatal(err)
	}
	var want struct{ PGAS *pattern.Result }
	if err := json.Unmarshal([]byte(p.whyslow(t, "report", "--json", dir)), &want); err != nil ||
		want.PGAS == nil {
		t.Fatalf("report --json: %v, pgas %v", err, want.PGAS)
	}
	s := p.serve(t, "view", dir)
	b := p.open(t, s.url+"?view=patterns&lang=en")
	b.settle()
	// What was lost most is chosen: thread 0 waited for 30 µs, thread 1 is whom it waited for.
	b.wait(`document.querySelector("[role=treeitem][aria-selected=true] .name").innerText === "Wait at barrier"`)
	column := func(n int) []string {
		return query[[]string](b,
			`[...document.querySelectorAll("[role=tree]")[%d].querySelectorAll("[role=treeitem]")].map(e => e.querySelector(".name").innerText + "|" + e.querySelector(".value").innerText)`, n)
	}
	has := func(n int, row string) {
		t.Helper()
		if list := column(n); !slices.Contains(list, row) {
			t.Errorf("column %d lacks %q: %q", n, row, list)
		}
	}
	has(0, "Wait at barrier|30.0 µs")
	has(0, "Program|85.0 µs")
	has(1, "upc_barrier b.upc:5|30.0 µs")
	has(2, "thread 0|30.0 µs")
	has(2, "thread 1|0 ns")
	b.picture("patterns")
	// A chosen call path is what the threads are about, and a metric what the call paths are.
	b.click(`[role=treeitem] .name`, "Program")
	b.wait(`document.querySelectorAll("[role=tree]")[1].innerText.includes("main")`)
	has(1, "main|85.0 µs")
	has(2, "thread 0|27.0 µs")
	has(2, "thread 1|58.0 µs")
	// Closed rows show what is below them as well: all adds up.
	b.click(`button[aria-label="Close all: Metrics"]`)
	has(0, "Time|120 µs")
	b.click(`.segments button`, "Shares")
	has(0, "Time|100.0 %")
	// Who was late, and what it did.
	if got := query[string](b, `document.querySelector("[role=table]").innerText`); !strings.Contains(got,
		"thread 1") || !strings.Contains(got, "main") {
		t.Errorf("who came late: %q", got)
	}
	for _, tab := range []string{"Collective operations", "Transfers", "Locks", "Counts"} {
		b.click(`section.panel .segments button`, tab)
		b.settle()
		if odd := query[string](b, oddWords); odd != "" {
			t.Errorf("%s shows %q", tab, odd)
		}
		if got := query[string](b, `document.querySelector("[role=table]").innerText`); tab == "Locks" &&
			(!strings.Contains(got, "queue_lock, queue.c:12") || !strings.Contains(got, "0x7000000000000008")) {
			t.Errorf("names of locks: %q", got)
		}
	}
	if got := query[string](b, sticksOut); got != "" {
		t.Errorf("too wide: %s", got)
	}
	b.quiet("patterns")
}
