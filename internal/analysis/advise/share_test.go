package advise

import (
	"context"
	"encoding/json"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/analysis/counters"
	"github.com/whyslow/whyslow/internal/analysis/critical"
	"github.com/whyslow/whyslow/internal/analysis/lifecycle"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// together is what some processes find: the facts, with all that is found out only where it matters, and the
// advice.
func together(t sloutest.TB, dir string, processes int) string {
	type shown struct {
		Part            *executions
		Nodes           map[int]siteTime
		Moved           map[string]movedCF
		Moves, Shortest int64
		AtHome, Least   int64
		Advice          []Advice
	}
	s, err := sloutest.Share(dir, processes, model.Options{},
		func(m *model.Model, g procs.Group) (*shown, error) {
			ctx := context.Background()
			in := Input{Model: m}
			var err error
			if in.SLOU, err = slou.Compute(ctx, m, slou.Options{}, g); err != nil {
				return nil, err
			}
			if in.Critical, err = critical.Compute(ctx, m, critical.Options{}, g); err != nil {
				return nil, err
			}
			if in.Lifecycle, err = lifecycle.Compute(ctx, m, lifecycle.Options{}, g); err != nil {
				return nil, err
			}
			held, err := counters.Compute(ctx, m, counters.Options{Windows: 1, Only: []string{counters.BytesHeld}}, g)
			if err != nil {
				return nil, err
			}
			if held != nil {
				in.Memory = held.Memory
			}
			list, err := Advise(in, g)
			if err != nil {
				return nil, err
			}
			all, err := gather(m, needed{Replay: true, Memory: true}, g)
			if err != nil || all == nil {
				return nil, err
			}
			all.replay.Transfers = append([]transfer{}, all.replay.Transfers...)
			for i := range all.replay.Transfers {
				all.replay.Transfers[i].Message = 0 // tells messages apart, no more
			}
			return &shown{all.replay.executions, all.Nodes, all.Moved, all.Moves, all.Shortest, int64(len(all.AtHome)),
				all.least, list}, nil
		})
	if err != nil {
		t.Fatal(processes, "processes:", err)
	}
	text, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Several processes find the same as one, of whatever runs.
func TestShareRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sloutest.AnyFolder(t, func(_ *sloutest.Run, dir string) {
			one := together(t, dir, 1)
			for p := 2; p <= 4; p++ {
				if diff := gocmp.Diff(one, together(t, dir, p)); diff != "" {
					t.Fatal(p, "processes (-one +several):\n", diff)
				}
			}
		})
	})
}
