package lifecycle

import (
	"cmp"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// DFs that never got a value, or got one twice. Several processes may have found the same fault, so what each found goes to one that
// compares the names of some DFs; the first of each DF, in the order of one process, counts.

// fault is something that is wrong with a DF.
type fault struct {
	DF       dfName
	Key      string // orders faults
	Name     string // of the DF, without indices
	Full     string
	CFs      [2]trace.CF // who asked; or who made it first and again
	Node     int
	AtNS     int64
	SecondNS int64
	Bytes    int64
}

// eachFault calls add for the faults that count and are compared here, once by DF, in order, with the statements of their CFs, 1 + the number.
func (s *sharing) eachFault(own []fault, add func(x *fault, sites [2]uint32)) error {
	out := make([][]fault, s.g.Size())
	for _, x := range own {
		to := (x.DF.ID + x.DF.Home[0]) % uint64(s.g.Size())
		out[to] = append(out[to], x)
	}
	list, err := exchange(s.g, out)
	if err != nil {
		return err
	}
	slices.SortStableFunc(list, func(a, b fault) int { return cmp.Compare(a.Key, b.Key) })
	seen := map[dfName]bool{}
	list = slices.DeleteFunc(list, func(x fault) bool {
		was := seen[x.DF]
		seen[x.DF] = true
		return was
	})
	cf := func(id trace.CF) model.CF {
		if id == 0 {
			return 0
		}
		return s.m.Learn(id, 0)
	}
	var cfs []model.CF
	for _, x := range list {
		cfs = append(cfs, cf(x.CFs[0]), cf(x.CFs[1]))
	}
	if err := s.m.LearnSites(s.g, cfs); err != nil {
		return err
	}
	for i := range list {
		var sites [2]uint32
		for k, id := range list[i].CFs {
			if id != 0 {
				sites[k] = s.m.SiteOf[cfs[2*i+k]] + 1
			}
		}
		add(&list[i], sites)
	}
	return nil
}

// neverProduced finds what CFs waited for and what they asked other nodes for that never got a value.
func (s *sharing) neverProduced() error {
	m := s.m
	if !s.need("never_produced", trace.KindDFCreate, trace.KindCFWaiting) {
		return nil
	}
	var own []fault
	s.eachNever(func(df model.DF, cf model.CF, order [3]uint64, node int, t int64) {
		own = append(own, fault{DF: nameOf(m, df), Key: key(order[0], uint64(s.g.Rank()), order[1], order[2]), Name: m.DFNameOf(df), Full: m.DFString(df),
			CFs: [2]trace.CF{m.CFID(cf)}, Node: node, AtNS: s.at(t)})
	})
	k := s.keyed()
	err := s.eachFault(own, func(x *fault, sites [2]uint32) {
		k.named(sameGroup{Name: x.Name, Site: max(sites[0], 1) - 1}, x.Key, 0, x.CFs, func() Example {
			return Example{DF: x.Full, Node: x.Node, AtNS: x.AtNS}
		})
	})
	if err == nil {
		s.res.NeverProduced, err = k.finding()
	}
	return err
}

// twice finds what the run-time system complained about and DFs that got a value again before the first one was destroyed.
func (s *sharing) twice(q *questions, list []model.DF) error {
	m := s.m
	var own []fault
	add := func(df model.DF, order string, first, second model.CF, t0, t1, size int64) {
		own = append(own, fault{DF: nameOf(m, df), Key: order, Name: m.DFNameOf(df), Full: m.DFString(df), CFs: [2]trace.CF{m.CFID(first), m.CFID(second)},
			Node: s.madeOn(df), AtNS: s.at(t0), SecondNS: s.at(t1), Bytes: size})
	}
	for i, d := range m.Duplicates {
		if d.DF == 0 {
			continue
		}
		t0, size := model.None, int64(0)
		if first, end := m.Creations(d.DF); first < end {
			t0, size = m.MadeTime[first], m.MadeSize[first]
		}
		add(d.DF, key(0, uint64(s.g.Rank()), uint64(i)), d.First, d.Second, t0, d.Time, size)
	}
	if m.Count[trace.KindDFDestroy] > 0 {
		for _, df := range list {
			d := q.found[df]
			if i, ok := s.remade(df, d.destroyed); ok {
				add(df, key(1, d.home[0], d.home[1]), m.MadeBy[i], m.MadeBy[i+1], m.MadeTime[i], m.MadeTime[i+1], m.MadeSize[i])
			}
		}
	}
	k := s.keyed()
	err := s.eachFault(own, func(x *fault, sites [2]uint32) {
		k.named(sameGroup{Name: x.Name, Site: max(sites[0], 1) - 1, Second: sites[1]}, x.Key, x.Bytes, x.CFs, func() Example {
			return Example{DF: x.Full, Node: x.Node, AtNS: x.AtNS, SecondNS: x.SecondNS, Bytes: x.Bytes}
		})
	})
	if err == nil {
		s.res.ProducedTwice, err = k.finding()
	}
	return err
}
