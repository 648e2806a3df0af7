package imbalance

import (
	"fmt"
	"math"
	"slices"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/words"
)

// ratio gives a/b, nil where that is no number.
func ratio(a, b float64) *float64 {
	q := a / b
	if b == 0 || math.IsNaN(q) || math.IsInf(q, 0) {
		return nil
	}
	return &q
}

// efficiency fills in that of the run and of each node.
func (r *computation) efficiency() {
	var all []slou.Worker
	var nodes []int // of all
	largest := 0.0  // mean of a node's workers
	for i := range r.slou.Nodes {
		n := &r.slou.Nodes[i]
		e := r.efficiencyOf(n.Workers, func(int) int { return n.Node })
		r.res.Nodes = append(r.res.Nodes, Node{Node: n.Node, Host: n.Host, Efficiency: e})
		if len(n.Workers) > 0 {
			largest = max(largest, float64(e.UsefulNS)/float64(len(n.Workers)))
		}
		for _, w := range n.Workers {
			all, nodes = append(all, w), append(nodes, n.Node)
		}
	}
	e := r.efficiencyOf(all, func(i int) int { return nodes[i] })
	if len(all) > 0 {
		e.BetweenNodes = ratio(float64(e.UsefulNS)/float64(len(all)), largest)
		e.WithinNodes = ratio(largest, float64(e.MaxNS))
	}
	r.res.Efficiency = &e
}

// efficiencyOf gives that of some workers; node tells the node of each.
func (r *computation) efficiencyOf(workers []slou.Worker, node func(i int) int) Efficiency {
	e := Efficiency{Workers: len(workers), Steps: []Step{}}
	if len(workers) == 0 {
		return e
	}
	most := 0
	for i := range workers {
		ns := workers[i].Factors.U.NS
		e.UsefulNS += ns
		if ns > workers[most].Factors.U.NS {
			most = i
		}
	}
	w := &workers[most]
	e.MaxNS, e.MaxWorker = w.Factors.U.NS, fmt.Sprintf("%d.%d", node(most), w.Worker)
	mean, wall := float64(e.UsefulNS)/float64(len(workers)), float64(r.res.WallNS)
	e.LoadBalance = ratio(mean, float64(e.MaxNS))
	e.Communication = ratio(float64(e.MaxNS), wall)
	e.Parallel = ratio(mean, wall)
	left := r.res.WallNS
	for _, s := range steps(w, r.starvationDivided()) {
		before := left
		left -= s.NS
		s.Efficiency = ratio(float64(left), float64(before))
		e.Steps = append(e.Steps, s)
	}
	return e
}

// starvationDivided tells whether it is known when CFs were ready, and so, when a worker starved, whether any
// were.
func (r *computation) starvationDivided() bool {
	return !slices.ContainsFunc(r.slou.Missing, func(m slou.Missing) bool {
		return slices.Contains(m.Parts, slou.FactorS.String()+"."+slou.PartHere.String())
	})
}

// steps lists what kept a worker from being useful. The steps and its useful time add up to its time.
func steps(w *slou.Worker, divided bool) []Step {
	f := &w.Factors
	runtime, ofO := ownSteps(f, slou.FactorO)
	list := append([]Step{{Name: "runtime", NS: runtime}}, ofO...)
	list = append(list, Step{Name: "transfer", NS: f.NS(slou.FactorL)})
	if divided {
		placement, ofS := ownSteps(f, slou.FactorS)
		list = append(append(list, ofS...), Step{Name: "placement", NS: placement})
	} else {
		list = append(list, Step{Name: "starvation", NS: f.NS(slou.FactorS)})
	}
	waiting, rest := int64(0), w.TotalNS
	for k := range slou.FactorLoss {
		rest -= f.NS(k)
		if k.Info().CutOut {
			waiting += f.NS(k)
		}
	}
	list = append(list, Step{Name: "waiting", NS: waiting})
	if rest != 0 {
		list = append(list, Step{Name: "undivided", NS: rest})
	}
	return append(list, Step{Name: "unrecorded", NS: w.LossNS})
}

// ownSteps are the parts of a factor that are steps of their own, and the time of the others.
func ownSteps(f *slou.Factors, k slou.Factor) (rest int64, own []Step) {
	rest = f.NS(k)
	for _, p := range k.Parts() {
		if name := p.Info().Step[words.English]; name != "" {
			own = append(own, Step{Name: name, NS: f.PartNS(p)})
			rest -= f.PartNS(p)
		}
	}
	return rest, own
}

// findMissing tells what cannot be computed, and what is lost.
func (r *computation) findMissing() {
	for _, miss := range r.slou.Missing {
		var what []string
		if slices.Contains(miss.Factors, slou.FactorU.String()) {
			what = append(what, "efficiency")
		}
		if len(miss.Factors) > 0 || !r.starvationDivided() && len(miss.Parts) > 0 {
			what = append(what, "communication")
		}
		if slices.Contains(miss.Factors, slou.FactorS.String()) {
			what = append(what, "waited")
		}
		if len(what) > 0 {
			r.need(miss.Event, what...)
		}
	}
	for _, miss := range r.series.Missing {
		for _, name := range miss.Series {
			if name == quantityReady || name == quantityBytes {
				r.need(miss.Event, name)
			}
		}
	}
	lost := -r.slou.ExtraCoresNS
	for _, f := range slou.LostFactors {
		s := r.slou.Factors.Of(f)
		if s == nil {
			return
		}
		lost += s.NS
	}
	r.res.LostNS = &lost
}

// need adds to what an event is missing for.
func (r *computation) need(event string, what ...string) {
	i := slices.IndexFunc(r.res.Missing, func(m Missing) bool { return m.Event == event })
	if i < 0 {
		i = len(r.res.Missing)
		r.res.Missing = append(r.res.Missing, Missing{Event: event})
	}
	for _, w := range what {
		if m := &r.res.Missing[i]; !slices.Contains(m.For, w) {
			m.For = append(m.For, w)
		}
	}
}
