package report

import (
	"context"
	"errors"

	"github.com/whyslow/whyslow/internal/analysis/advise"
	"github.com/whyslow/whyslow/internal/analysis/blame"
	"github.com/whyslow/whyslow/internal/analysis/critical"
	"github.com/whyslow/whyslow/internal/analysis/imbalance"
	"github.com/whyslow/whyslow/internal/analysis/lifecycle"
	"github.com/whyslow/whyslow/internal/analysis/pattern"
	"github.com/whyslow/whyslow/internal/analysis/series"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
)

// errNoFactors is why there is no advice.
var errNoFactors = errors.New("it rests on the factors, which could not be computed")

// ComputeShare is Compute by several processes at once, each with its model from model.BuildShare. All members of g call it with
// the same want; a group of nil or of one is Compute, unless want says otherwise. The process of rank 0 gets the result, which is what
// Compute finds in the whole trace; the others get nil. Where an analysis fails at one process it fails for all.
func ComputeShare(ctx context.Context, m *model.Model, want Wanted, g procs.Group) (*Everything, error) {
	if g == nil {
		g = procs.Alone()
	}
	if g.Size() == 1 && !want.Merged {
		return Compute(ctx, m, want)
	}
	windows := want.settle(m)
	all := &Everything{Run: runOf(m), model: m, lang: want.Lang}
	ofCFs := func(do func(g procs.Group) error) func(g procs.Group) error {
		return func(g procs.Group) error { return all.needCFs(func() error { return do(g) })() }
	}
	for _, j := range []struct {
		name string
		do   func(g procs.Group) error
	}{
		{analysisPatterns, func(g procs.Group) (err error) {
			all.Pattern, err = pattern.Compute(ctx, m, pattern.Options{}, g)
			return err
		}},
		{analysisSLOU, func(g procs.Group) (err error) {
			opt := want.slou()
			opt.Patterns = all.Pattern
			all.SLOU, err = slou.Compute(ctx, m, opt, g)
			return err
		}},
		{analysisSeries, ofCFs(func(g procs.Group) (err error) {
			all.Series, err = series.ComputeShare(ctx, m, series.Options{Windows: windows}, g)
			return err
		})},
		{analysisCritical, ofCFs(func(g procs.Group) (err error) {
			all.Critical, err = critical.Compute(ctx, m, critical.Options{}, g)
			return err
		})},
		{analysisLifecycle, ofCFs(func(g procs.Group) (err error) {
			all.Lifecycle, err = lifecycle.Compute(ctx, m, lifecycle.Options{All: want.All}, g)
			return err
		})},
		{analysisImbalance, ofCFs(func(g procs.Group) (err error) {
			all.Imbalance, err = imbalance.Compute(ctx, m, imbalance.Options{SLOU: all.SLOU, Series: all.Series, DataInputsOnly: want.DataInputsOnly}, g)
			return err
		})},
		{analysisBlame, ofCFs(func(g procs.Group) (err error) {
			all.Blame, err = blame.Compute(ctx, m, blame.Options{SLOU: all.SLOU, Patterns: all.Pattern, DataInputsOnly: want.DataInputsOnly}, g)
			return err
		})},
		{analysisAdvice, func(g procs.Group) (err error) {
			if g.Rank() == 0 && all.SLOU == nil {
				return errNoFactors
			}
			all.facts, err = advise.Gather(m, advise.Input{SLOU: all.SLOU, Lifecycle: all.Lifecycle, Pattern: all.Pattern}, g)
			if err == nil && g.Rank() == 0 {
				all.advise()
			}
			return err
		}},
	} {
		if want.Progress != nil {
			want.Progress(j.name)
		}
		if err := Together(g, j.do); err != nil {
			all.Failed = append(all.Failed, Failure{j.name, err.Error(), err})
		}
	}
	sortFailures(all.Failed)
	// Interrupted anywhere is interrupted everywhere.
	if err := Together(g, func(procs.Group) error { return ctx.Err() }); err != nil || g.Rank() != 0 {
		return nil, err
	}
	return all, nil
}
