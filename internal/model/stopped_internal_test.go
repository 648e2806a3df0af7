package model

import (
	"slices"
	"testing"
)

// TestStoppedCuts cuts out what a debugger stopped, but not the CFs that ran to their end meanwhile.
func TestStoppedCuts(t *testing.T) {
	m := &Model{Start: 0, End: 100, Stopped: stopped("-5-10 20-40 90-200"),
		Codes: []Code{{}}, Sites: []Site{{}}, SiteOf: []uint32{0, 0}, ExecCF: []CF{1, 1},
		ExecStart: []int64{15, 50}, ExecEnd: []int64{25, 60}}
	var got []Interval
	for _, c := range m.stoppedCuts(&Worker{First: 0, End: 2}) {
		if c.Name != StoppedName {
			t.Errorf("%+v", c)
		}
		got = append(got, c.Interval)
	}
	if want := []Interval{{0, 10}, {25, 40}, {90, 100}}; !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}

// FuzzStopped reads whatever run.json says: the result is ordered and disjoint.
func FuzzStopped(f *testing.F) {
	f.Add("1-2 3-4")
	f.Add("-1--1 9-1 x 5-")
	f.Fuzz(func(t *testing.T, text string) {
		last := int64(-1 << 63)
		for _, v := range stopped(text) {
			if v.From < last || v.To <= v.From {
				t.Fatalf("%q: %v", text, stopped(text))
			}
			last = v.To
		}
	})
}
