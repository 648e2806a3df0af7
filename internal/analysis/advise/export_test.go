package advise

import (
	"context"

	"github.com/whyslow/whyslow/internal/analysis/balance"
	"github.com/whyslow/whyslow/internal/analysis/simulate"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// Alone is Advise in one process. Without a model, only the rules speak that need no more than sums.
func Alone(in Input) []Advice {
	if in.Model == nil {
		return in.advice(&facts{m: &model.Model{Info: &trace.RunInfo{}}})
	}
	list, err := Advise(in, procs.Alone())
	if err != nil {
		panic(err)
	}
	return list
}

// Stolen is what is predicted for uneven load where no distribution is better than the recorded one: what is
// changed, in English, and the wall time before and after.
func Stolen(ctx context.Context, m *model.Model) (how string, was, is int64, err error) {
	f := &forecaster{ctx: ctx}
	if f.sim, err = simulate.Portable(ctx, m); err != nil {
		return "", 0, 0, err
	}
	f.machine = f.sim.Recorded()
	r, err := f.sim.Run(ctx, f.machine)
	if err != nil {
		return "", 0, 0, err
	}
	f.best = &balance.Trial{Strategy: balance.Recorded, Predicted: r}
	o, err := distributedOrStolen(f)
	if err != nil {
		return "", 0, 0, err
	}
	return o.how.In(words.English), r.WallNS, o.WallNS, nil
}
