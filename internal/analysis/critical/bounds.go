package critical

import (
	"cmp"
	"slices"
)

// What any number of workers could make of the program, each on a core of its own, if communication and the
// system cost nothing: with T1 the useful time of all CFs and Tinf that of the longest chain, p workers take
// at least max(T1/p, Tinf), and any scheduler that leaves no worker idle while a CF is ready takes at most
// T1/p + Tinf (1 - 1/p). The run's own workers are no more than the cores that they share.

// work finds the bounds for a run on own workers. list is overwritten.
func (g *graph) work(list []int64, own int64, noLinks bool) *Work {
	w := &Work{Bounds: []Bound{}, Chain: []PathUseful{}}
	for _, e := range g.order {
		w.T1NS += g.useful[e]
	}
	c := g.longest(list, false)
	w.TinfNS, w.ChainCFs = c.ns, c.count
	for code, ns := range c.codes {
		w.Chain = append(w.Chain, PathUseful{g.m.Codes[code].Name, ns})
	}
	slices.SortFunc(w.Chain, func(a, b PathUseful) int {
		return cmp.Or(cmp.Compare(b.NS, a.NS), cmp.Compare(a.Code, b.Code))
	})
	if !noLinks {
		ns := c.ns
		if slices.ContainsFunc(g.edges, func(s edges) bool { return s.Flight != nil }) {
			ns = g.longest(list, true).ns
		}
		w.TinfLinksNS = &ns
	}
	w.HelpfulWorkers = 1
	if w.TinfNS > 0 {
		w.Parallelism = float64(w.T1NS) / float64(w.TinfNS)
		w.HelpfulWorkers = max(ceil(w.T1NS, w.TinfNS), 1)
	}
	own = max(own, 1)
	if cores := int64(g.m.SharedCores()); 0 < cores && cores < own {
		w.Cores = cores
		w.Own = w.bound(cores)
		w.Own.Workers = own
	} else {
		w.Own = w.bound(own)
	}
	w.LostNS = max(g.m.Wall()-w.Own.LeastNS, 0)
	for p := int64(1); ; p *= 2 {
		w.Bounds = append(w.Bounds, w.bound(p))
		if p >= w.HelpfulWorkers || p > 1<<40 {
			break
		}
	}
	if i, ok := slices.BinarySearchFunc(w.Bounds, w.Own.Workers, func(b Bound, p int64) int {
		return cmp.Compare(b.Workers, p)
	}); !ok {
		w.Bounds = slices.Insert(w.Bounds, i, w.Own)
	}
	return w
}

func (w *Work) bound(p int64) Bound {
	share := ceil(w.T1NS, p)
	b := Bound{Workers: p, LeastNS: max(share, w.TinfNS), GreedyNS: ceil(w.T1NS-w.TinfNS, p) + w.TinfNS}
	if w.T1NS > 0 {
		b.Speedup, b.Greedy = float64(w.T1NS)/float64(b.LeastNS), float64(w.T1NS)/float64(b.GreedyNS)
	}
	return b
}

// ceil is a/b rounded up; a >= 0, b > 0.
func ceil(a, b int64) int64 {
	q := a / b
	if q*b < a {
		q++
	}
	return q
}
