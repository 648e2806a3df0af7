package blame

import (
	"cmp"
	"slices"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// Several processes. Each works out what the workers of its own nodes lost and what came over the links to
// them. Chains of producers lead from one process to another (travel.go), and the process of rank 0 adds
// everything up. Of single DFs and single waits only the largest count, so each process names its own
// largest.

// sums is what the pieces of a process's workers add up to.
type sums struct {
	Tree  *tree
	Links map[slou.Link]*flow
	Names map[nameKey]*Sent
	Codes []codeSum  // by code fragment
	Waits []openWait // the longest
	most  int        // of them
}

// sum adds everything up. The process of rank 0 gets the sums, the others get nil.
func (b *blamer) sum(workers []*workerSums) (*sums, error) {
	own := &sums{Tree: newTree(b.m), Links: map[slou.Link]*flow{}, Names: map[nameKey]*Sent{},
		Codes: make([]codeSum, len(b.m.Codes)), most: b.opt.Waits}
	var chasers []*chaser
	longest := top[wait]{n: b.opt.Waits, cmp: compareWaits}
	for _, w := range workers {
		chasers = append(chasers, w.chaser)
		for l, ns := range w.l {
			flowOf(own.Links, l.From, l.To).WaitNS += ns
		}
		for k, n := range w.names {
			s := b.sentOf(own.Names, k)
			s.WaitNS, s.Waits = s.WaitNS+n.WaitNS, s.Waits+n.Waits
		}
		addCodes(own.Codes, w.codes)
		for _, x := range w.longest.list {
			longest.add(x)
		}
	}
	if b.has.S {
		guest, err := b.travel(chasers)
		if err != nil {
			return nil, err
		}
		for _, c := range append(chasers, guest) {
			own.Tree.join(c.tree)
		}
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
	for i := range longest.list {
		own.Waits = append(own.Waits, b.story(&longest.list[i]))
	}
	all, err := b.gather(own)
	if err != nil {
		return nil, err
	}
	return all, b.findProducers(all)
}

// gather adds the sums of all processes to those of rank 0; the others get nil.
func (b *blamer) gather(own *sums) (*sums, error) {
	err := procs.Collect(b.g, func() sums { return *own }, func(rank int, theirs *sums) error {
		if theirs.Tree != nil {
			theirs.Tree.m = b.m
		}
		if theirs.Tree == nil || !theirs.Tree.whole() || len(theirs.Codes) != len(own.Codes) {
			return procs.Told(rank, errBroken)
		}
		own.Tree.join(theirs.Tree)
		for l, f := range theirs.Links {
			flowOf(own.Links, l.From, l.To).join(f)
		}
		for k, s := range theirs.Names {
			b.sentOf(own.Names, k).join(s)
		}
		addCodes(own.Codes, theirs.Codes)
		own.Waits = append(own.Waits, theirs.Waits...)
		return nil
	})
	if err != nil || b.g.Rank() != 0 {
		return nil, err
	}
	return own, nil
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

// findProducers asks those who know who the producers of the longest waits are. Only the process of rank 0
// has waits.
func (b *blamer) findProducers(all *sums) error {
	var list []openWait
	if all != nil {
		slices.SortFunc(all.Waits, func(x, y openWait) int {
			return cmp.Or(cmp.Compare(y.NS, x.NS), cmp.Compare(x.FromNS, y.FromNS),
				cmp.Compare(x.Node, y.Node),
				cmp.Compare(x.Worker, y.Worker))
		})
		all.Waits = all.Waits[:min(len(all.Waits), max(all.most, 0))]
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
	tell := func(_ int, known *map[int]*Who) error {
		for i, w := range *known {
			if i < 0 || i >= len(all.Waits) {
				return errBroken
			}
			all.Waits[i].Wait.Producer = w
		}
		return nil
	}
	if all != nil {
		_ = tell(0, &known) // all of them are waits of the list
	}
	return procs.Collect(b.g, func() map[int]*Who { return known }, tell)
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
		w.Text = w.tell()
		out = append(out, *w)
	}
	return out
}

// waitedDF is a DF that was waited for on its way.
type waitedDF struct {
	DF    dfName
	Name  uint32
	Index []int64
	NS    int64
}

// dfName tells DFs apart everywhere.
type dfName struct {
	ID   uint64
	Home [2]uint64 // where no process read a definition of it, and there is no ID
}

func nameOf(m *model.Model, df model.DF) dfName {
	n := dfName{ID: m.DFID(df)}
	if n.ID == 0 {
		n.Home = m.DFHome(df)
	}
	return n
}

// most is the DFs that cost most.
func (b *blamer) most() top[waitedDF] {
	return top[waitedDF]{n: b.opt.Waits, cmp: func(x, y *waitedDF) int {
		return cmp.Or(cmp.Compare(y.NS, x.NS), cmp.Compare(b.m.Names[x.Name], b.m.Names[y.Name]),
			slices.Compare(x.Index, y.Index),
			cmp.Compare(x.DF.ID, y.DF.ID), slices.Compare(x.DF.Home[:], y.DF.Home[:]))
	}}
}

// costs tells of the single DFs that cost most, at rank 0.
func (b *blamer) costs() ([]Cost, error) {
	worst, err := b.worst()
	if err != nil || len(worst) == 0 {
		return []Cost{}, err
	}
	m := b.m
	index := map[dfName]int{}
	for i, w := range worst {
		index[w.DF] = i
	}
	at := map[model.DF]int{}
	own := make([]partialCost, len(worst))
	for i := 1; i < m.DFs(); i++ {
		df := model.DF(i)
		n, ok := index[nameOf(m, df)]
		if !ok {
			continue
		}
		at[df] = n
		c := &own[n]
		c.DF = m.DFString(df)
		if first, end := m.Creations(df); first < end {
			c.Creations, c.Size = end-first, m.MadeSize[end-1]
			if by := m.MadeBy[end-1]; by != 0 {
				c.By = b.place(m.CodeOf(by))
			}
		}
	}
	for i := range m.DFMessages {
		g := &m.DFMessages[i]
		if n, ok := at[g.DF]; ok && m.Counted(g) {
			s := Sent{}
			s.add(g)
			c := &own[n]
			c.Messages, c.Bytes, c.FlightNS = c.Messages+1, c.Bytes+s.Bytes, c.FlightNS+s.FlightNS
		}
	}
	creations := make([]int, len(worst))
	out := make([]Cost, len(worst))
	add := func(rank int, theirs *[]partialCost) error {
		if len(*theirs) != len(out) {
			return procs.Told(rank, errBroken)
		}
		for i := range *theirs {
			x, c := &(*theirs)[i], &out[i]
			if x.DF != "" && (c.DF == "" || x.Creations > creations[i]) {
				creations[i], c.DF, c.By, c.Size = x.Creations, x.DF, x.By, x.Size
			}
			c.WaitNS = worst[i].NS
			c.Messages, c.Bytes, c.FlightNS = c.Messages+x.Messages, c.Bytes+x.Bytes, c.FlightNS+x.FlightNS
		}
		return nil
	}
	_ = add(0, &own) // they are as many as the worst
	return out, procs.Collect(b.g, func() []partialCost { return own }, add)
}

// partialCost is what one process knows of a DF.
type partialCost struct {
	Cost
	Creations int
}

// worst finds the single DFs that cost most, for all. What is known of a DF is added up at one process, which
// its name chooses.
func (b *blamer) worst() ([]waitedDF, error) {
	size := b.g.Size()
	own, all := b.most(), b.most()
	out := make([][]waitedDF, size)
	for i, ns := range b.dfWait {
		if df := model.DF(i); df != 0 && ns != 0 {
			w := waitedDF{nameOf(b.m, df), b.m.DFName[df], b.m.Indices(df, nil), ns}
			if size == 1 {
				all.add(w)
				continue
			}
			to := (w.DF.ID + w.DF.Home[0]) % uint64(size)
			out[to] = append(out[to], w)
		}
	}
	if size == 1 {
		return all.list, nil
	}
	in, err := procs.Swap(b.g, out)
	if err != nil {
		return nil, err
	}
	sums := map[dfName]*waitedDF{}
	for rank, theirs := range in {
		for _, w := range theirs {
			if int(w.Name) >= len(b.m.Names) {
				return nil, procs.Told(rank, errBroken)
			}
			if x := sums[w.DF]; x != nil {
				x.NS += w.NS
			} else {
				sums[w.DF] = &w
			}
		}
	}
	for _, w := range sums {
		own.add(*w)
	}
	lists, err := procs.AllOf(b.g, own.list)
	for _, theirs := range lists {
		for _, w := range theirs {
			all.add(w)
		}
	}
	return all.list, err
}
