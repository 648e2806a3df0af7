//go:build !no_system_module

package modules

import (
	"regexp"
	"testing"

	"github.com/whyslow/whyslow/prof"
)

// system_module says what the process uses, when it is due and at the end; memory that a program takes shows.
func TestSystemModule(t *testing.T) {
	r := startRun(t, 1, 1, use(t, SystemName, map[string]any{"interval": 50}))
	var resident, threads []int64
	note := func(_ *prof.Stream, _ int64, _ uint64, in, arenas int64, n uint64) {
		if arenas <= 0 || arenas > in*64 {
			t.Errorf("%d bytes of arenas, %d resident", arenas, in)
		}
		resident, threads = append(resident, in), append(threads, int64(n))
	}
	if err := r.ses.Usage.Connect("test", 0, note); err != nil {
		t.Fatal(err)
	}
	s := r.ses.Stream(0, 0, nil)
	const ms = 1_000_000
	r.ses.CFStarted.EmitAt(s, start, 1, 1, nil)
	r.ses.CFFinished.EmitAt(s, start+49*ms, 1, 1, -1) // not due
	taken := make([]byte, 64<<20)
	for i := 0; i < len(taken); i += 512 {
		taken[i] = 1
	}
	r.ses.CFStarted.EmitAt(s, start+50*ms, 2, 1, nil)
	r.ses.ProgramFinished.EmitAt(s, start+51*ms, 0)
	if len(resident) != 3 || resident[1]-resident[0] < int64(len(taken))/2 || threads[0] < 1 {
		t.Errorf("resident %v, threads %v, %d taken", resident, threads, taken[512])
	}
	want := regexp.MustCompile(`^Process: [0-9.]+ s CPU, peak [0-9]+ bytes resident, ` +
		`[0-9]+ bytes of the run-time system, [0-9]+ threads\n$`)
	if got := r.finish(t); !want.MatchString(got) {
		t.Errorf("%q", got)
	}
}
