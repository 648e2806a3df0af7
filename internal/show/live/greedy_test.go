package live

import (
	"errors"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/whyslow/whyslow/internal/memory"
	"github.com/whyslow/whyslow/internal/testkit/tracetest"
)

// TestGreedyDefinitions: questions about a run that defines more than fits get one line; it takes nothing
// then, and others are shown.
func TestGreedyDefinitions(t *testing.T) {
	dir := t.TempDir()
	pipeline(t, filepath.Join(dir, "good"), 100)
	s := NewSet()
	defer s.Close()
	s.budget = 64 << 20
	for _, what := range []string{"names", "sites", "dfs", "identities", "kinds"} {
		tracetest.Greedy(t, filepath.Join(dir, what), what, 2)
		r, err := s.Add(filepath.Join(dir, what), Options{})
		if err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 2 {
			if _, err := r.Snapshot(t.Context()); !errors.As(err, new(*memory.TooLarge)) || r.takes() != 0 {
				t.Errorf("%s: it answers with %v, and takes %d bytes", what, err, r.takes())
			}
		}
		if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 200<<20 {
			t.Errorf("%s: %d bytes were used", what, after.TotalAlloc-before.TotalAlloc)
		}
	}
	good, err := s.Add(filepath.Join(dir, "good"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	snap, err := good.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	snap.Release()
}
