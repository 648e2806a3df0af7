package lifecycle

import (
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// DFs that never got a value, or got one twice. Several processes may find the same fault, so each fault goes
// to one process that compares the names of some DFs. The first fault of each DF counts.

// fault is something that is wrong with a DF.
type fault struct {
	DF       dfName
	At       order
	Name     uint32
	Full     string
	CFs      [2]trace.CF // who asked; or who made it first and again
	Node     int
	AtNS     int64
	SecondNS int64
	Bytes    int64
}

// faulty groups the faults of all processes, at rank 0. Those given are in order.
func (f *finder) faulty(own []fault) (*Finding, error) {
	out := make([][]fault, f.g.Size())
	for _, x := range own {
		to := (x.DF.ID + x.DF.Home[0]) % uint64(f.g.Size())
		out[to] = append(out[to], x)
	}
	in, err := procs.Swap(f.g, out)
	if err != nil {
		return nil, err
	}
	list := slices.Concat(in...)
	slices.SortStableFunc(list, func(a, b fault) int { return a.At.compare(&b.At) })
	seen := map[dfName]bool{}
	list = slices.DeleteFunc(list, func(x fault) bool {
		was := seen[x.DF]
		seen[x.DF] = true
		return was
	})
	var ids []trace.CF
	for i := range list {
		ids = append(ids, list[i].CFs[:]...)
	}
	sites, err := f.sitesOf(ids)
	if err != nil {
		return nil, err
	}
	g := f.groups()
	for i := range list {
		x := &list[i]
		same := sameGroup{Name: x.Name, Site: sites[2*i]}
		if x.CFs[1] != 0 {
			same.Second = sites[2*i+1] + 1
		}
		g.add(same, x.At, x.Bytes, x.CFs, func() Example {
			return Example{DF: x.Full, Node: x.Node, AtNS: x.AtNS, SecondNS: x.SecondNS, Bytes: x.Bytes}
		})
	}
	return g.finding()
}

// sitesOf finds out the statements of CFs of which this process may know no more than the ids.
func (f *finder) sitesOf(ids []trace.CF) ([]uint32, error) {
	cfs, sites := make([]model.CF, len(ids)), make([]uint32, len(ids))
	for i, id := range ids {
		switch {
		case id == 0:
		case f.g.Size() == 1:
			cfs[i] = f.m.FindCF(id)
		default:
			cfs[i] = f.m.Learn(id, 0)
		}
	}
	if err := f.m.LearnSites(f.g, cfs); err != nil {
		return nil, err
	}
	for i, cf := range cfs {
		sites[i] = f.m.SiteOf[cf]
	}
	return sites, nil
}

// findNeverProduced goes through what CFs waited for and what they asked other nodes for.
func (f *finder) findNeverProduced() (err error) {
	m := f.m
	if !f.need("never_produced", trace.KindDFCreate, trace.KindCFWaiting) {
		return nil
	}
	var own []fault
	seen := newBits(m.DFs())
	add := func(df model.DF, cf model.CF, at order, node int, t int64) {
		if !seen.has(df) {
			seen.set(df)
			own = append(own, fault{DF: nameOf(m, df), At: at, Name: m.DFName[df], Full: m.DFString(df),
				CFs: [2]trace.CF{m.CFID(cf)}, Node: node, AtNS: f.at(t)})
		}
	}
	rank := uint64(f.g.Rank())
	a := &m.Awaits
	for i, cf := range a.CF {
		for k, df := range a.Of(i) {
			if df != 0 && !f.made(df) {
				add(df, cf, order{N: [4]uint64{0, rank, uint64(i), uint64(k)}}, f.m.NodeAt(cf, a.Time[i]),
					a.Time[i])
			}
		}
	}
	var list []uint32
	for i := 1; i < len(m.Requests); i++ {
		q := &m.Requests[i]
		if q.Sent != model.None && q.DF != 0 && m.Own(int(q.From)) && !f.madeAnywhere(q.DF) {
			list = append(list, uint32(i))
		}
	}
	f.inOrder(list, func(q *model.Message) int64 { return q.Sent })
	slices.SortStableFunc(list, func(i, k uint32) int { return int(m.Requests[i].From - m.Requests[k].From) })
	for n, i := range list {
		q := &m.Requests[i]
		add(q.DF, q.CF, order{N: [4]uint64{1, rank, uint64(n)}}, int(q.From), q.Sent)
	}
	f.res.NeverProduced, err = f.faulty(own)
	return err
}

// findTwice goes through what the run-time system complained about and the DFs that got a value again before
// the first one was destroyed, where destructions were recorded.
func (f *finder) findTwice(k *dfFacts) (err error) {
	m := f.m
	var own []fault
	add := func(df model.DF, at order, first, second model.CF, t0, t1, size int64) {
		node := -1
		if i, end := m.Creations(df); i < end {
			node = int(m.MadeNode[i])
		}
		own = append(own, fault{DF: nameOf(m, df), At: at, Name: m.DFName[df], Full: m.DFString(df),
			CFs: [2]trace.CF{m.CFID(first), m.CFID(second)}, Node: node, AtNS: f.at(t0), SecondNS: f.at(t1),
			Bytes: size})
	}
	for i, d := range m.Duplicates {
		if d.DF == 0 {
			continue
		}
		t0, size := model.None, int64(0)
		if first, end := m.Creations(d.DF); first < end {
			t0, size = m.MadeTime[first], m.MadeSize[first]
		}
		add(d.DF, order{N: [4]uint64{0, uint64(f.g.Rank()), uint64(i)}}, d.First, d.Second, t0, d.Time, size)
	}
	for df := model.DF(1); int(df) < m.DFs() && m.Count[trace.KindDFDestroy] > 0; df++ {
		if first, end := m.Creations(df); end <= first+1 || !f.madeHere(df) {
			continue
		}
		if i, ok := f.remade(df, k.destroyed[df]); ok {
			home := k.home(df)
			add(df, order{N: [4]uint64{1, home[0], home[1]}}, m.MadeBy[i], m.MadeBy[i+1], m.MadeTime[i],
				m.MadeTime[i+1],
				m.MadeSize[i])
		}
	}
	f.res.ProducedTwice, err = f.faulty(own)
	return err
}

// remade gives the first creation of a DF after which it was not destroyed before the next one.
func (f *finder) remade(df model.DF, destroyed []int64) (int, bool) {
	slices.Sort(destroyed)
	first, end := f.m.Creations(df)
	for i := first; i+1 < end; i++ {
		at, _ := slices.BinarySearch(destroyed, f.m.MadeTime[i])
		if at == len(destroyed) || destroyed[at] > f.m.MadeTime[i+1] {
			return i, true
		}
	}
	return 0, false
}
