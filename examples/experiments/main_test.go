package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestOrder checks the order of the factors over each series, with margins that leave room for a busy machine: the
// shares themselves are for people to look at (make experiments).
func TestOrder(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "whyslow")
	if out, err := exec.Command("go", "build", "-o", bin, "../../cmd/whyslow").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	runs := 0
	measure := func(s *series, value int) *result {
		t.Helper()
		runs++
		r, err := s.measure(bin, "..", filepath.Join(t.TempDir(), fmt.Sprint(runs)), value)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	all := experiments(2, 60_000_000)
	// A machine that does something else at the wrong moment may spoil a run, but not every one.
	eventually := func(what string, holds func() (bool, string)) {
		t.Helper()
		var said []string
		for range 12 {
			ok, saw := holds()
			if ok {
				return
			}
			said = append(said, saw)
		}
		t.Errorf("%s: %s", what, strings.Join(said, "; "))
	}

	eventually("one chain keeps one of two workers busy, so half of all time is S; two chains keep both busy", func() (bool, string) {
		one, two := measure(&all[0], 1).share("S"), measure(&all[0], 2).share("S")
		return one > 0.35 && two < one-0.15, fmt.Sprintf("S is %.2f with one and %.2f with two", one, two)
	})
	fine := experiments(2, 15_000_000)[1]
	eventually("the same work in a thousand times as many CFs has more overhead", func() (bool, string) {
		// What other programs take from running CFs is not ours.
		few, many := measure(&fine, 100), measure(&fine, 100_000)
		a, b := few.share("O")-few.preempted(), many.share("O")-many.preempted()
		return b > 2*a, fmt.Sprintf("O without pre-emption is %.3f with 100 CFs and %.3f with 100 000", a, b)
	})
	eventually("DFs of four megabytes take four milliseconds on a link of a gigabyte a second", func() (bool, string) {
		small, large := measure(&all[2], 1000).share("L"), measure(&all[2], 4_000_000).share("L")
		return large > 2*small && large > 0.2, fmt.Sprintf("L is %.2f with 1 KB and %.2f with 4 MB", small, large)
	})
}
