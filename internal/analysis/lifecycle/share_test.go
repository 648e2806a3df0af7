package lifecycle_test

import (
	"context"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/analysis/lifecycle"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/testkit/sharetest"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// same fails where several processes find something else than one.
func same(t sloutest.TB, dir string, opt lifecycle.Options) (found *lifecycle.Result) {
	t.Helper()
	return sharetest.Same(t, dir, nil, func(ctx context.Context, m *model.Model,
		g procs.Group) (*lifecycle.Result, error) {
		return lifecycle.Compute(ctx, m, opt, g)
	})
}

func TestShareRecorded(t *testing.T) {
	var unused, held, late int64
	for _, name := range []string{"cholesky", "balance", "heat"} {
		same(t, sloutest.Recorded(t, name, 1), lifecycle.Options{})
		found := same(t, sloutest.Recorded(t, name, 3), lifecycle.Options{Examples: 2, Groups: 3})
		unused, held, late = unused+found.NeverUsed.Count, held+found.HeldToEnd.Count,
			late+found.LateRequests.Count
	}
	if unused == 0 || held == 0 || late == 0 {
		t.Errorf("the runs have %d DFs that are not used, %d held to the end and %d late requests: too little to "+
			"see anything", unused, held, late)
	}
}

func TestShareRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sloutest.AnyFolder(t, func(_ *sloutest.Run, dir string) {
			same(t, dir, lifecycle.Options{All: rapid.Bool().Draw(t, "all"),
				Examples: rapid.SampledFrom([]int{1, 4, 1000}).Draw(t, "examples")})
		})
	})
}
