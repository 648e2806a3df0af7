package blame

import (
	"cmp"
	"maps"
	"slices"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// Several processes. Each works out what the workers of its own nodes lost and what came over the links to
// them, and names its longest waits and costliest DFs. Chains of producers lead from one process to another.
// Rank 0 adds everything up.

// sums is what the pieces of a worker, of a process, of all add up to.
type sums struct {
	Tree  *tree
	Links map[slou.Link]*flow
	Names map[nameKey]*Sent
	Codes []codeSum  // by code fragment
	Waits []openWait // the longest
}

func (b *blamer) newSums() *sums {
	return &sums{Tree: newTree(b.m), Links: map[slou.Link]*flow{}, Names: map[nameKey]*Sent{},
		Codes: make([]codeSum, len(b.m.Codes))}
}

// join adds other sums.
func (s *sums) join(b *blamer, o *sums) {
	s.Tree.join(o.Tree)
	for l, f := range o.Links {
		flowOf(s.Links, l.From, l.To).join(f)
	}
	for k, n := range o.Names {
		b.sentOf(s.Names, k).join(n)
	}
	for i := range o.Codes {
		s.Codes[i].join(&o.Codes[i])
	}
	s.Waits = append(s.Waits, o.Waits...)
	slices.SortFunc(s.Waits, func(x, y openWait) int {
		return cmp.Or(cmp.Compare(y.NS, x.NS), cmp.Compare(x.FromNS, y.FromNS), cmp.Compare(x.Node, y.Node),
			cmp.Compare(x.Worker, y.Worker))
	})
	s.Waits = s.Waits[:min(len(s.Waits), max(b.opt.Waits, 0))]
}

// sum adds everything up. The process of rank 0 gets the sums, the others get nil.
func (b *blamer) sum(workers []*workerSums) (*sums, error) {
	own := b.newSums()
	var chasers []*chaser
	for _, w := range workers {
		chasers = append(chasers, w.chaser)
		own.join(b, w.sums)
	}
	if b.has.S {
		guest, err := b.travel(chasers)
		if err != nil {
			return nil, err
		}
		own.Tree.join(guest.tree)
	}
	if b.has.L {
		if err := b.m.LearnSites(b.g, b.m.MadeBy); err != nil {
			return nil, err
		}
		b.flows(own.Links)
		var wg procs.Goroutines
		wg.Go(func() { b.sent(own.Names) })
		for _, f := range own.Links {
			wg.Go(f.measure)
		}
		wg.Wait()
	}
	err := procs.Collect(b.g, func() sums { return *own }, func(_ int, theirs *sums) error {
		own.join(b, theirs)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if b.g.Rank() != 0 {
		own = nil
	}
	return own, b.findProducers(own)
}

// openWait is a wait and what is still to be found out: its producer.
type openWait struct {
	Wait
	Producer trace.CF // 0 none
	Site     uint32
	// Until is when what it made was there; Whole says that all of it was waited for.
	Until int64
	Whole bool
}

// findProducers asks for the producers of the longest waits, which only rank 0 has.
func (b *blamer) findProducers(all *sums) error {
	var list []openWait
	if all != nil {
		for i := range all.Waits {
			w := all.Waits[i]
			w.Wait = Wait{}
			list = append(list, w)
		}
	}
	list, err := procs.FromMember(b.g, 0, list)
	if err != nil {
		return err
	}
	known := map[int]*Who{}
	for i := range list {
		if p := &list[i]; p.Producer != 0 && b.m.Owner(p.Producer.Node()) == b.g.Rank() {
			known[i] = b.producer(p)
		}
	}
	err = procs.Collect(b.g, func() map[int]*Who { return known }, func(_ int, theirs *map[int]*Who) error {
		maps.Copy(known, *theirs)
		return nil
	})
	for i, w := range known {
		if all != nil {
			all.Waits[i].Wait.Producer = w
		}
	}
	return err
}

func (b *blamer) producer(p *openWait) *Who {
	cf := b.m.Learn(p.Producer, p.Site)
	e, ok := b.m.ExecutionAt(cf, p.Until)
	if !ok {
		e = int(b.m.ExecOf[cf]) - 1
	}
	until := p.Until
	if p.Whole {
		until = model.None
	}
	return b.who(cf, e, until)
}

func (all *sums) waits() []Wait {
	out := []Wait{}
	for i := range all.Waits {
		w := &all.Waits[i].Wait
		if w.Flights == nil {
			w.Flights = []Flight{} // which is not told
		}
		w.Text = w.Story().In(words.English)
		out = append(out, *w)
	}
	return out
}

// waitedDF is a DF that was waited for on its way.
type waitedDF struct {
	DF    uint64 // model.DFGlobal
	Name  uint32
	Index []int64
	NS    int64
}

// most is the DFs that cost most.
func (b *blamer) most() top[waitedDF] {
	return top[waitedDF]{n: b.opt.Waits, cmp: func(x, y *waitedDF) int {
		return cmp.Or(cmp.Compare(y.NS, x.NS), cmp.Compare(b.m.Names[x.Name], b.m.Names[y.Name]),
			slices.Compare(x.Index, y.Index), cmp.Compare(x.DF, y.DF))
	}}
}

// costs tells of the single DFs that cost most, at rank 0.
func (b *blamer) costs() ([]Cost, error) {
	worst, err := b.worst()
	if err != nil || len(worst) == 0 {
		return []Cost{}, err
	}
	m := b.m
	index := map[uint64]int{}
	for i, w := range worst {
		index[w.DF] = i
	}
	at := map[model.DF]int{}
	own := make([]partialCost, len(worst))
	for i := 1; i < m.DFs(); i++ {
		df := model.DF(i)
		n, ok := index[m.DFGlobal(df)]
		if !ok {
			continue
		}
		at[df] = n
		c := &own[n]
		c.DF = m.DFString(df)
		if first, end := m.Creations(df); first < end {
			c.Creations, c.Size = end-first, m.SizeMade(end-1)
			if by := m.MadeBy[end-1]; by != 0 {
				c.By = placeOf(b.m, m.CodeOf(by))
			}
		}
	}
	for i := range m.DFMessages {
		g := &m.DFMessages[i]
		if n, ok := at[g.DF]; ok && b.counted(g) {
			s := Sent{}
			s.add(g)
			c := &own[n]
			c.Messages, c.Bytes, c.FlightNS = c.Messages+1, c.Bytes+s.Bytes, c.FlightNS+s.FlightNS
		}
	}
	for i := range own {
		own[i].WaitNS = worst[i].NS
	}
	err = procs.Collect(b.g, func() []partialCost { return own }, func(_ int, theirs *[]partialCost) error {
		for i, x := range *theirs {
			c := &own[i]
			if x.DF != "" && (c.DF == "" || x.Creations > c.Creations) {
				c.Creations, c.DF, c.By, c.Size = x.Creations, x.DF, x.By, x.Size
			}
			c.Messages, c.Bytes, c.FlightNS = c.Messages+x.Messages, c.Bytes+x.Bytes, c.FlightNS+x.FlightNS
		}
		return nil
	})
	out := make([]Cost, len(own))
	for i := range own {
		out[i] = own[i].Cost
	}
	return out, err
}

// partialCost is what one process knows of a DF.
type partialCost struct {
	Cost
	Creations int
}

// worst finds the single DFs that cost most, for all. What is known of a DF is added up at one process.
func (b *blamer) worst() ([]waitedDF, error) {
	out := make([][]waitedDF, b.g.Size())
	for i, ns := range b.dfWait {
		if df := model.DF(i); df != 0 && ns != 0 {
			w := waitedDF{b.m.DFGlobal(df), b.m.DFName[df], b.m.Indices(df, nil), ns}
			to := w.DF % uint64(b.g.Size())
			out[to] = append(out[to], w)
		}
	}
	in, err := procs.Swap(b.g, out)
	if err != nil {
		return nil, err
	}
	sums := map[uint64]waitedDF{}
	for _, w := range slices.Concat(in...) {
		w.NS += sums[w.DF].NS
		sums[w.DF] = w
	}
	own, all := b.most(), b.most()
	for _, w := range sums {
		own.add(w)
	}
	lists, err := procs.AllOf(b.g, own.list)
	for _, w := range slices.Concat(lists...) {
		all.add(w)
	}
	return all.list, err
}
