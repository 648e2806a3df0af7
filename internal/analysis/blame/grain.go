package blame

import (
	"cmp"
	"math"
	"slices"

	"github.com/whyslow/whyslow/internal/analysis/slou"
)

// Overheads tells what O is spent on, by code fragment.
type Overheads struct {
	// NS is O without pre-emption and threads beside the workers: the sum of the fragments' OverheadNS.
	NS        int64   `json:"ns"`
	PreemptNS int64   `json:"preempt_ns"`
	ExtraNS   int64   `json:"extra_ns"`
	Share     float64 `json:"share"`     // Options.Overhead
	Fragments []Grain `json:"fragments"` // by OverheadNS, most first
}

// Grain weighs the CFs of a code fragment against what each of them costs.
type Grain struct {
	Place
	CFs        int64            `json:"cfs"` // executions
	UsefulNS   int64            `json:"useful_ns"`
	MeanNS     int64            `json:"mean_ns"` // useful time of one
	OverheadNS int64            `json:"overhead_ns"`
	Parts      map[string]int64 `json:"parts"`   // create, request, send, deliver, dispatch, steal
	EachNS     int64            `json:"each_ns"` // overhead of one
	// BreakEvenNS is the useful time of a CF at which its overhead is Share of its time:
	// EachNS * (1-Share)/Share.
	BreakEvenNS int64 `json:"break_even_ns"`
	TooSmall    bool  `json:"too_small"` // MeanNS is less than that
	// Times is how many times larger its CFs must be for that, 1 if they are large enough, and Left how many
	// would be left. Few says that these are fewer than four for each worker: too few to keep all busy.
	Times int64 `json:"times"`
	Left  int64 `json:"left"`
	Few   bool  `json:"few"`
	// GainNS is the overhead that would be saved.
	GainNS int64 `json:"gain_ns"`
}

// perWorker is how many CFs of a kind each worker should have, as some take longer than others.
const perWorker = 4

// join adds what is known of other CFs of the same code fragment.
func (s *codeSum) join(o *codeSum) {
	s.Count += o.Count
	s.Useful += o.Useful
	for k, ns := range o.Parts {
		s.Parts[k] += ns
	}
}

func (b *blamer) overheads(sums []codeSum, extra int64) *Overheads {
	out := &Overheads{ExtraNS: extra, Share: min(b.opt.Overhead, 1), Fragments: []Grain{}}
	for i := range sums {
		s := &sums[i]
		g := Grain{Place: placeOf(b.m, i), CFs: s.Count, UsefulNS: s.Useful, Parts: map[string]int64{}, Times: 1,
			Left: s.Count}
		for k, ns := range s.Parts {
			if p := slou.Part(k).Info(); p.Inside {
				out.PreemptNS += ns
			} else if ns > 0 {
				g.Parts[p.Name] = ns
				g.OverheadNS += ns
			}
		}
		if g.OverheadNS > 0 || s.Count > 0 {
			out.NS += g.OverheadNS
			g.weigh(out.Share, b.m.Workers())
			out.Fragments = append(out.Fragments, g)
		}
	}
	slices.SortFunc(out.Fragments, func(a, b Grain) int {
		return cmp.Or(cmp.Compare(b.OverheadNS, a.OverheadNS), cmp.Compare(b.CFs, a.CFs),
			comparePlace(a.Place, b.Place))
	})
	return out
}

func (g *Grain) weigh(share float64, workers int) {
	if g.CFs == 0 {
		return
	}
	g.MeanNS, g.EachNS = g.UsefulNS/g.CFs, g.OverheadNS/g.CFs
	enough := float64(g.OverheadNS) * (1 - share) / share // useful time of all
	g.BreakEvenNS = int64(math.Ceil(enough / float64(g.CFs)))
	if float64(g.UsefulNS) < enough {
		times := float64(g.CFs)
		if g.UsefulNS > 0 {
			times = min(times, math.Ceil(enough/float64(g.UsefulNS)))
		}
		g.Times = int64(times)
		g.TooSmall = g.Times > 1
		g.Left = (g.CFs + g.Times - 1) / g.Times
		g.Few = g.Left < int64(perWorker*workers)
		g.GainNS = g.OverheadNS - g.OverheadNS*g.Left/g.CFs
	}
}
