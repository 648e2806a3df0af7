// Package balance looks for a better distribution of a recorded program: strategies place its CFs and DFs,
// the simulation says how long the program would take then.
//
// # How
//
// A Strategy gives each CF that may be placed a node. Units that a placement file cannot tell apart are
// brought together, DFs go to those who need them (follow), and simulate runs the program so distributed.
// The fastest wins. What a strategy believes about time does not matter: only the simulation decides.
package balance

import (
	"context"
	"slices"

	"github.com/whyslow/whyslow/internal/analysis/simulate"
)

// Strategy places the executions of a program. It sets node for those that may be placed (Program.TrackOf is
// not -1); node holds what locators say before. It fails only when ctx ends.
type Strategy interface {
	Name() string
	Place(ctx context.Context, p *Program, node []uint16) error
}

// Recorded is the name of what locators say; it is always tried.
const Recorded = "recorded"

// Strategies are all there are, beside what locators say.
func Strategies() []Strategy {
	return []Strategy{cyclic{}, blocks{}, longest{}, critical{}, partition{}, diffusion{}, stealing{}}
}

// Names are those of all strategies, Recorded first.
func Names() []string {
	list := []string{Recorded}
	for _, s := range Strategies() {
		list = append(list, s.Name())
	}
	return list
}

// Options say what to try.
type Options struct {
	Machine  simulate.Machine // complete
	Only     []string         // strategies; none: all
	Memory   int64            // bytes that a node may hold of DFs; 0: no limit
	Progress func(strategy string)
}

// Trial is a strategy that was tried.
type Trial struct {
	Strategy  string              `json:"strategy"`
	Predicted *simulate.Result    `json:"predicted"`
	Moved     int                 `json:"moved"`        // CFs with another node than locators say
	Memory    int64               `json:"memory_bytes"` // the most that a node holds of DFs, see peak
	TooLarge  bool                `json:"too_large"`    // it exceeds the limit, and is not proposed
	Place     *simulate.Placement `json:"-"`            // nil: as locators say
}

// Result is what came of it.
type Result struct {
	Program *Program `json:"-"`
	Trials  []*Trial `json:"trials"` // the fastest first, those that are too large last

	only []string
}

// Best is the fastest of what was asked for that is not too large; nil where all are.
func (r *Result) Best() *Trial {
	for _, t := range r.Trials {
		if !t.TooLarge && (len(r.only) == 0 || slices.Contains(r.only, t.Strategy)) {
			return t
		}
	}
	return nil
}

// Of gives the trial of a strategy.
func (r *Result) Of(strategy string) *Trial {
	i := slices.IndexFunc(r.Trials, func(t *Trial) bool { return t.Strategy == strategy })
	if i < 0 {
		return nil
	}
	return r.Trials[i]
}

// Compute tries strategies on a recorded program. It fails when ctx ends.
func Compute(ctx context.Context, s *simulate.Simulator, opt Options) (*Result, error) {
	p, err := newProgram(ctx, s, opt.Machine)
	if err != nil {
		return nil, err
	}
	r := &Result{Program: p, only: opt.Only}
	try := func(name string, place *simulate.Placement) error {
		m := opt.Machine
		m.Place = place
		res, err := s.Run(ctx, m)
		if err != nil {
			return err
		}
		t := &Trial{Strategy: name, Predicted: res, Place: place}
		if place == nil {
			place = p.Located
		}
		for x, n := range place.Executions {
			if p.TrackOf[x] >= 0 && n != p.Located.Executions[x] {
				t.Moved++
			}
		}
		t.Memory = p.peak(place)
		t.TooLarge = opt.Memory > 0 && t.Memory > opt.Memory
		r.Trials = append(r.Trials, t)
		return nil
	}
	progress := opt.Progress
	if progress == nil {
		progress = func(string) {}
	}
	progress(Recorded)
	if err := try(Recorded, nil); err != nil {
		return nil, err
	}
	for _, strategy := range Strategies() {
		if len(opt.Only) > 0 && !slices.Contains(opt.Only, strategy.Name()) {
			continue
		}
		progress(strategy.Name())
		node := slices.Clone(p.Located.Executions)
		if err := strategy.Place(ctx, p, node); err != nil {
			return nil, err
		}
		if err := try(strategy.Name(), p.complete(node)); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(r.Trials, func(a, b *Trial) int {
		switch {
		case a.TooLarge != b.TooLarge:
			if b.TooLarge {
				return -1
			}
			return 1
		case a.Predicted.Left != b.Predicted.Left:
			return a.Predicted.Left - b.Predicted.Left
		}
		return int(min(max(a.Predicted.WallNS-b.Predicted.WallNS, -1), 1))
	})
	return r, nil
}
