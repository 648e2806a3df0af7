package blame_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
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
		sameBy(t, sloutest.Recorded(t, name, 3), blame.Options{Depth: 3, DataInputsOnly: true, Waits: 200})
	}
}

func TestShareRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sloutest.AnyFolder(t, func(_ *sloutest.Run, dir string) {
			sameBy(t, dir, blame.Options{Depth: rapid.SampledFrom([]int{1, 2, 8}).Draw(t, "depth"),
				Waits:          rapid.SampledFrom([]int{-1, 1, 20}).Draw(t, "waits"),
				DataInputsOnly: rapid.Bool().Draw(t, "data only")})
		})
	})
}

// A division that is there is not done again.
func TestShareGivenFactors(t *testing.T) {
	dir := sloutest.Recorded(t, "cholesky", 2)
	share := func(given bool) *blame.Result {
		do := func(m *model.Model, g procs.Group) (*blame.Result, error) {
			var opt blame.Options
			if given {
				var err error
				if opt.SLOU, err = slou.Compute(context.Background(), m, slou.Options{}, g); err != nil {
					return nil, err
				}
			}
			return blame.Compute(context.Background(), m, opt, g)
		}
		res, err := sloutest.Share(dir, 3, model.Options{}, do)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	if diff := cmp.Diff(share(false), share(true)); diff != "" {
		t.Errorf("(-worked out +given):\n%s", diff)
	}
}

// Interrupted anywhere is interrupted everywhere.
func TestShareInterrupted(t *testing.T) {
	sharetest.Interrupted(t, sloutest.Recorded(t, "heat", 1), by(blame.Options{}))
}
