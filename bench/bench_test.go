package main

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/testkit/effort"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

func TestMain(m *testing.M) {
	if runOnce() {
		return
	}
	os.Exit(m.Run())
}

// Every bench runs and gives tables with numbers in each row, except for what is said to be missing.
func TestQuick(t *testing.T) {
	digit := regexp.MustCompile(`[0-9]`)
	for _, c := range benches {
		t.Run(c.name, func(t *testing.T) {
			// The page is asked about 30 million events where tests may take long: nothing may fail there.
			b := &bench{log: t.Output(), quick: c.name != "answers" || !effort.Long}
			if err := b.run(context.Background(), []string{c.name}); err != nil {
				t.Fatal(err)
			}
			if len(b.tables) == 0 {
				t.Fatal("no table")
			}
			for _, table := range b.tables {
				if len(table.rows) == 0 {
					t.Errorf("%s: no rows", table.title)
				}
				for _, row := range table.rows {
					if len(row) != len(table.head) {
						t.Errorf("%s: %q has %d cells, there are %d columns", table.title, row, len(row), len(table.head))
					}
					missing := strings.Contains(strings.Join(table.notes, "\n"), row[0]+" was not measured: ")
					if numbers := strings.Join(row[1:], " "); !digit.MatchString(numbers) && !missing {
						t.Errorf("%s: no number in %q", table.title, row)
					}
					for _, cell := range row {
						if strings.Contains(cell, "NaN") || strings.Contains(cell, "Inf") {
							t.Errorf("%s: %q", table.title, row)
						}
					}
				}
				table.text(t.Output())
			}
			if text := b.page(""); !strings.Contains(text, "| "+b.tables[0].rows[0][0]+" |") {
				t.Errorf("the table is not in the Markdown:\n%s", text)
			}
		})
	}
}

func TestUnknownBench(t *testing.T) {
	b := &bench{log: t.Output()}
	if err := b.run(context.Background(), []string{"reed"}); err == nil || !strings.Contains(err.Error(),
		`"reed"`) {
		t.Error(err)
	}
}

func TestMedianAndInterval(t *testing.T) {
	s := []float64{15, 1, 14, 2, 13, 3, 12, 4, 11, 5, 10, 6, 9, 7, 8}
	if m := median(s); m != 8 {
		t.Errorf("median %v, want 8", m)
	}
	if m := median([]float64{4, 1, 3, 2}); m != 2.5 {
		t.Errorf("median %v, want 2.5", m)
	}
	// The table of the sign test: n = 15 gives ranks 4 and 12, n = 6 the extremes.
	if low, high := interval(s); low != 4 || high != 12 {
		t.Errorf("interval %v to %v, want 4 to 12", low, high)
	}
	if low, high := interval([]float64{6, 5, 4, 3, 2, 1}); low != 1 || high != 6 {
		t.Errorf("interval %v to %v, want 1 to 6", low, high)
	}
}

// The bench of single kinds leaves none out.
func TestEveryKind(t *testing.T) {
	ses := prof.New()
	listed := map[string]bool{}
	for _, e := range emitters(&ses.Events, ses.Stream(0, 0, nil)) {
		listed[e.name] = true
		_, list := kindByName(e.name).List()
		if list != (e.list >= 0) {
			t.Errorf("%s: listed with a list or without, the table of kinds says otherwise", e.name)
		}
	}
	for _, k := range trace.Kinds() {
		if !listed[k.String()] {
			t.Errorf("%s is not measured", &k)
		}
	}
}

// What is logged as text can be read back word for word.
func TestTextLines(t *testing.T) {
	line := string(appendLine(nil, 42, 1, 2, 1, 3<<48|7, 5, 0, 1, 0x3ff8000000000000, 2, 8, 9))
	if want := "42 n1 s2 CFEvents.onCreated cf=3.7 site=5 parent=0.0 execution=1 weight=1.5 indices=[8 " +
		"9]\n"; line != want {
		t.Errorf("%q, want %q", line, want)
	}
	words, err := parseLine(strings.TrimSpace(line), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []uint64{42, 1, 2, 1, 3<<48 | 7, 5, 0, 1, 0x3ff8000000000000, 2, 8, 9}
	if len(words) != len(want) {
		t.Fatalf("%v, want %v", words, want)
	}
	for i := range want {
		if words[i] != want[i] {
			t.Errorf("word %d: %d, want %d", i, words[i], want[i])
		}
	}
}

func TestNonsenseLines(t *testing.T) {
	for _, line := range []string{"", "1", "x n0 s0 GlobalEvents.onIdle", "1 n s0 GlobalEvents.onIdle",
		"1 n0 s0 GlobalEvents.onNothing", "1 n0 s0 CFEvents.onReady cf=1.2",
		"1 n0 s0 CFEvents.onReady cf=1 late=0", "1 n0 s0 CFEvents.onStarted cf=0.1 execution=1 inputs=[1 2",
		"1 n0 s0 CFEvents.onStarted cf=0.1 execution=1 inputs="} {
		if words, err := parseLine(line, nil); err == nil {
			t.Errorf("%q is read as %v", line, words)
		}
	}
}
