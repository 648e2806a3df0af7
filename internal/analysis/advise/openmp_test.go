package advise_test

import (
	"os"
	"strings"
	"testing"
)

// TestOpenMP: recorded programs of OpenMP whose fault is known, and what is said of it in OpenMP's words.
//
// fib takes Fibonacci numbers apart to the end: the parallel region lasts as long as all its tasks, and does
// not hide what they cost. uneven is a static loop whose second half takes 20 times as long as the first;
// serial works as long before its loop as in it.
func TestOpenMP(t *testing.T) {
	for _, c := range []struct {
		program, id, says string
		least             int64 // percent of the wall time that is promised
	}{
		{"fib", "too-small", "create no tasks below a certain size (clauses `if` and `final`; `grainsize` of a `taskloop`), at " +
			"best none in the lowest", 20},
		{"uneven", "uneven-loop", "mostly after `for uneven.c:5`: some of its iterations take longer than others. " +
			"Best is `schedule(dynamic, 2)`", 30},
		{"serial", "serial-code", "outside of parallel regions, mostly in `serial code at the start`", 30},
	} {
		text, err := os.ReadFile("testdata/openmp/" + c.program + ".trace")
		if err != nil {
			t.Fatal(err)
		}
		a := analyse(t, string(text))
		if len(a.list) == 0 || a.list[0].ID != c.id || !strings.Contains(a.list[0].Text, c.says) ||
			100*a.list[0].GainWallNS < c.least*a.res.WallNS {
			t.Errorf("%s: %+v", c.program, a.list)
		}
		for _, x := range a.list {
			if strings.Contains(x.Text, "--priority") || strings.Contains(x.Text, "locator") {
				t.Errorf("%s: no word of OpenMP: %s", c.program, x.Text)
			}
		}
	}
}
