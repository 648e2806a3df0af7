package report

import (
	"runtime"
	"slices"
	"testing"

	"github.com/whyslow/whyslow/internal/memory"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
	"github.com/whyslow/whyslow/trace"
)

// TestSpilled: a report of a model whose columns are on disk, and leave memory all the time, has the same
// bytes as any other.
func TestSpilled(t *testing.T) {
	dir := t.TempDir()
	if !memory.CanSpill(1<<20, dir) {
		if runtime.GOOS == "linux" {
			t.Skip("the folder of temporary files is in memory")
		}
		t.Skip("this system has no Spill")
	}
	for _, name := range []string{"cholesky", "balance", "heat"} {
		path := sloutest.Recorded(t, name, 4)
		report := func(s *memory.Spill) []string {
			r, err := trace.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			m, err := model.Build(t.Context(), r, model.Options{Spill: s})
			if err != nil {
				t.Fatal(err)
			}
			all, err := Compute(t.Context(), m, Wanted{Splits: []string{"node", "worker", "code", "index:0"}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			return shown(t, all)
		}
		s, err := memory.NewSpill(1<<20, 0, dir)
		if err != nil {
			t.Fatal(err)
		}
		spilled := report(s)
		if s.Bytes() == 0 {
			t.Error(name, ": nothing went to disk")
		}
		s.Close()
		if !slices.Equal(spilled, report(nil)) {
			t.Error(name, ": another report")
		}
	}
}
