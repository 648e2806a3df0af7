package counters_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/analysis/counters"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/testkit/sharetest"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
)

func with(opt counters.Options) sharetest.Analysis[counters.Result] {
	return func(ctx context.Context, m *model.Model, g procs.Group) (*counters.Result, error) {
		return counters.Compute(ctx, m, opt, g)
	}
}

// same fails where several processes find something else than one.
func same(t sloutest.TB, dir string, opt counters.Options) {
	t.Helper()
	sharetest.Same(t, dir, nil, with(opt))
}

func TestShareRecorded(t *testing.T) {
	for _, name := range []string{"cholesky", "balance", "heat"} {
		for _, copies := range []int{1, 4} {
			dir := sloutest.Recorded(t, name, copies)
			same(t, dir, counters.Options{})
			same(t, dir, counters.Options{Windows: 7, Links: 3, Holders: 1})
			same(t, dir, counters.Options{Windows: 1, Only: []string{counters.BytesHeld, counters.SendQueue}})
		}
	}
}

func TestShareRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sloutest.AnyFolder(t, func(_ *sloutest.Run, dir string) {
			same(t, dir, counters.Options{Windows: rapid.IntRange(1, 40).Draw(t, "windows")})
		})
	})
}

// TestShareDestroyedTwice has a DF that both nodes destroy though it was made once: the first destruction, in
// the order of nodes, is left out. Another one is destroyed where it was not made.
func TestShareDestroyedTwice(t *testing.T) {
	dir := t.TempDir()
	if err := twin.Parse(strings.NewReader(`
#node 0
#df 1 x [0 1]
#df 2 y [0 2]
0 Global.onProgramStarted
10 DF.onCreate 1 size=8
12 DF.onCreate 2 size=8
30 DF.onDestroy df=1 size=8 reason=deleted
90 Global.onProgramFinished
#node 1
#df 1 x [0 1]
#df 2 y [0 2]
0 Global.onProgramStarted
20 DF.onDestroy df=1 size=8 reason=deleted
40 DF.onDestroy df=2 size=8 reason=deleted
90 Global.onProgramFinished
`), dir); err != nil {
		t.Fatal(err)
	}
	r := sharetest.Same(t, dir, nil, with(counters.Options{Windows: 9}))
	last, want := r.Find(counters.DFs, -1, "").Last, []int64{0, 2, 1, 1, 0, 0, 0, 0, 0}
	if !slices.Equal(last, want) {
		t.Errorf("DFs at the end of each window: %v, want %v", last, want)
	}
}

func TestShareInterrupted(t *testing.T) {
	sharetest.Interrupted(t, sloutest.Recorded(t, "cholesky", 1), with(counters.Options{}))
}
