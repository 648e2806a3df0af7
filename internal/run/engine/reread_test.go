package engine_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/analysis/consistency"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/trace"
)

// rereadLimit is up to how many events traces are dumped and parsed: text takes its time.
const rereadLimit = 30_000

// reread checks what must hold of every trace: the factors of each worker add up to its time (Compute refuses
// otherwise), the text twin comes back the same, byte for byte, and a good run's trace does not contradict
// itself.
func (f *facts) reread(t testing.TB, r *trace.Reader, good bool) {
	t.Helper()
	ctx := context.Background()
	m, err := model.Build(ctx, r, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	res, err := slou.Compute(ctx, m, slou.Options{}, procs.Alone())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range res.Nodes {
		var sum int64
		for _, w := range n.Workers {
			sum += w.TotalNS
		}
		if sum != n.TotalNS {
			t.Errorf("node %d: its workers' %d ns are not its %d ns", n.Node, sum, n.TotalNS)
		}
	}
	if good {
		found, err := consistency.Check(ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found.Findings {
			if f.Kind != "df-created-twice" { // an output that is dropped may be made twice
				t.Errorf("the trace of a good run contradicts itself: %+v", f)
			}
		}
		found.Problems = slices.DeleteFunc(found.Problems, func(p string) bool { // an engine writes none
			return strings.HasPrefix(p, "run.json is missing")
		})
		if len(found.Problems) > 0 || found.Dropped > 0 {
			t.Errorf("the trace of a good run is not whole: %v", found.Problems)
		}
	}
	if r.Events() > rereadLimit {
		return
	}
	var first, second strings.Builder
	if err := twin.Dump(&first, r); err != nil {
		t.Fatal(err)
	}
	if good {
		f.checkRelations(t, m, first.String())
	}
	dir := t.TempDir()
	if err := twin.Parse(strings.NewReader(first.String()), dir); err != nil {
		t.Fatal(err)
	}
	again, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if err := twin.Dump(&second, again); err != nil {
		t.Fatal(err)
	}
	if first.String() != second.String() {
		t.Errorf("a trace of %d events is not the same after its text was parsed", r.Events())
	}
}
