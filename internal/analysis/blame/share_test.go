package blame_test

import (
	"context"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/analysis/blame"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/testkit/sharetest"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

func by(opt blame.Options) sharetest.Analysis[blame.Result] {
	return func(ctx context.Context, m *model.Model, g procs.Group) (*blame.Result, error) {
		opt := opt
		var err error
		opt.SLOU, err = slou.Compute(ctx, m, slou.Options{Rule: opt.Rule}, g)
		if err != nil {
			return nil, err
		}
		return blame.Compute(ctx, m, opt, g)
	}
}

// sameBy fails where several processes find something else than one.
func sameBy(t sloutest.TB, dir string, opt blame.Options) {
	t.Helper()
	sharetest.Same(t, dir, nil, by(opt))
}

func TestShareRecorded(t *testing.T) {
	for _, name := range []string{"cholesky", "balance", "heat"} {
		sameBy(t, sloutest.Recorded(t, name, 1), blame.Options{})
		sameBy(t, sloutest.Recorded(t, name, 3), blame.Options{Depth: 3, Rule: slou.RuleData, Waits: 200})
	}
}

func TestShareRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sloutest.AnyFolder(t, func(_ *sloutest.Run, dir string) {
			sameBy(t, dir, blame.Options{Depth: rapid.SampledFrom([]int{1, 2, 8}).Draw(t, "depth"),
				Waits: rapid.SampledFrom([]int{-1, 1, 20}).Draw(t, "waits"),
				Rule:  slou.Rule(rapid.IntRange(0, int(slou.RuleSource)).Draw(t, "rule"))})
		})
	})
}

// Interrupted anywhere is interrupted everywhere.
func TestShareInterrupted(t *testing.T) {
	sharetest.Interrupted(t, sloutest.Recorded(t, "heat", 1), by(blame.Options{}))
}
