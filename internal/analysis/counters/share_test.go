package counters_test

import (
	"context"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/analysis/counters"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/testkit/sharetest"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
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

func TestShareInterrupted(t *testing.T) {
	sharetest.Interrupted(t, sloutest.Recorded(t, "cholesky", 1), with(counters.Options{}))
}
