package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
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

	// Starvation: one chain keeps one of two workers busy, so half of all time is S; two chains keep both busy.
	one, two := measure(&all[0], 1), measure(&all[0], 2)
	if one.share("S") < 0.35 || two.share("S") > one.share("S")-0.15 {
		t.Errorf("S is %.2f with one chain and %.2f with two, on two workers", one.share("S"), two.share("S"))
	}
	// Overhead: the same work in a thousand times as many CFs. What other programs take is not ours.
	overhead := func(r *result) float64 { return r.share("O") - r.preempted() }
	coarse, fine := measure(&all[1], 100), measure(&all[1], 100_000)
	if overhead(fine) < 2*overhead(coarse) {
		t.Errorf("O without pre-emption is %.3f with 100 CFs and %.3f with 100 000", overhead(coarse), overhead(fine))
	}
	// Latency: DFs of four megabytes take four milliseconds on a link of a gigabyte a second.
	small, large := measure(&all[2], 1000), measure(&all[2], 4_000_000)
	if large.share("L") < 2*small.share("L") || large.share("L") < 0.2 {
		t.Errorf("L is %.2f with DFs of 1 KB and %.2f with 4 MB", small.share("L"), large.share("L"))
	}
}
