package lifecycle

import (
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// DFs that never got a value, or got one twice. Several processes may find the same fault, so all faults of a
// DF go to one process, where the first counts.

// fault is something that is wrong with a DF. The CFs asked for it, or made it first and again; x has the
// node and the times of that.
func (f *finder) fault(df model.DF, at order, bytes int64, cfs [2]model.CF, x Example) find {
	m := f.m
	x.DF, x.Bytes = m.DFString(df), bytes
	return find{DF: m.DFGlobal(df), Same: sameGroup{Name: m.DFName[df]}, Bytes: bytes,
		Shown: candidate{At: at, Example: x, CFs: [2]trace.CF{m.CFID(cfs[0]), m.CFID(cfs[1])}}}
}

// faulty groups the faults of all processes, at rank 0.
func (f *finder) faulty(own []find) (*Finding, error) {
	out := make([][]find, f.g.Size())
	for _, x := range own {
		to := x.DF % uint64(f.g.Size())
		out[to] = append(out[to], x)
	}
	return f.grouped(out, true)
}

// findNeverProduced goes through what CFs waited for and what they asked other nodes for.
func (f *finder) findNeverProduced() (err error) {
	m := f.m
	if !f.need("never_produced", trace.KindDFCreate, trace.KindCFWaiting) {
		return nil
	}
	var own []find
	add := func(df model.DF, cf model.CF, at order, node int, t int64) {
		own = append(own, f.fault(df, at, 0, [2]model.CF{cf}, Example{Node: node, AtNS: f.at(t)}))
	}
	awaited := make([]bool, m.DFs())
	for i, cf := range m.Awaits.CF {
		for k, df := range m.Awaits.Of(i) {
			if df != 0 && !f.made(df) && !awaited[df] {
				awaited[df] = true
				add(df, cf, order{N: [5]uint64{0, uint64(f.g.Rank()), uint64(i), uint64(k)}},
					m.NodeAt(cf, m.Awaits.Time[i]), m.Awaits.Time[i])
			}
		}
	}
	for i := 1; i < len(m.Requests); i++ {
		q := &m.Requests[i]
		if q.Sent != model.None && q.DF != 0 && m.Own(int(q.From)) && !f.madeAnywhere(q.DF) && !awaited[q.DF] {
			at := f.orderOf(q, q.Sent)
			at.N = [5]uint64{1, uint64(q.From), at.N[0], at.N[1], at.N[2]}
			add(q.DF, q.CF, at, int(q.From), q.Sent)
		}
	}
	f.res.NeverProduced, err = f.faulty(own)
	return err
}

// findTwice goes through the duplicates that were recorded and, where destructions were recorded too, the DFs
// that got a value again before the first one was destroyed.
func (f *finder) findTwice(k *dfFacts) (err error) {
	m := f.m
	var own []find
	add := func(df model.DF, at order, by [2]model.CF, t0, t1, size int64) {
		node := -1
		if i, end := m.Creations(df); i < end {
			node = int(m.MadeNode[i])
		}
		own = append(own, f.fault(df, at, size, by, Example{Node: node, AtNS: f.at(t0), SecondNS: f.at(t1)}))
	}
	for i, d := range m.Duplicates {
		if d.DF == 0 {
			continue
		}
		t0, size := model.None, int64(0)
		if first, end := m.Creations(d.DF); first < end {
			t0, size = m.MadeTime[first], m.MadeSize[first]
		}
		add(d.DF, order{N: [5]uint64{0, uint64(f.g.Rank()), uint64(i)}}, [2]model.CF{d.First, d.Second}, t0,
			d.Time, size)
	}
	for df := model.DF(1); int(df) < m.DFs() && m.Count[trace.KindDFDestroy] > 0; df++ {
		if first, end := m.Creations(df); end <= first+1 || !f.madeHere(df) {
			continue
		}
		if i, ok := f.remade(df, k.destroyed[df]); ok {
			home := k.home(df)
			add(df, order{N: [5]uint64{1, home[0], home[1]}}, [2]model.CF(m.MadeBy[i:]), m.MadeTime[i],
				m.MadeTime[i+1], m.MadeSize[i])
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
