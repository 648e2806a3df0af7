package model

import (
	"errors"
	"slices"

	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// LearnSites finds out which statements CFs come from of which other processes know that, in a model of
// BuildShare: one knows a CF by its id only where nothing of its own nodes' time depends on it. All members
// of g call it, while nobody else uses the model.
func (m *Model) LearnSites(g procs.Group, cfs []CF) error {
	if m.share == nil {
		return nil
	}
	unknown, ids := make([][]CF, g.Size()), make([][]trace.CF, g.Size())
	asked := map[CF]bool{}
	for _, cf := range cfs {
		id := m.CFID(cf)
		if k := m.Owner(id.Node()); cf != 0 && m.SiteOf[cf] == 0 && k != g.Rank() && !asked[cf] {
			asked[cf] = true
			unknown[k], ids[k] = append(unknown[k], cf), append(ids[k], id)
		}
	}
	sites, err := procs.Ask(g, ids, func(id trace.CF) (uint32, error) { return m.SiteOf[m.FindCF(id)], nil })
	for k, list := range sites {
		for i, site := range list {
			m.SiteOf[unknown[k][i]] = site
		}
	}
	return err
}

// ordinal names an execution: the how-manieth of a CF's it is, from 0. All processes that have one execution
// of a CF have all.
type ordinal struct {
	CF trace.CF
	N  int
}

// Numbers numbers the executions of all processes, those of each behind those of the one before it. It gives
// the number of every execution in a model of BuildShare, and where those of each process begin, the last one
// followed by the end. All members of g call it.
func (m *Model) Numbers(g procs.Group) (numbers, first []uint32, err error) {
	from, end := m.OwnExecutions()
	counts, err := procs.AllOf(g, uint32(end-from))
	if err != nil {
		return nil, nil, err
	}
	first = []uint32{0}
	for k, n := range counts {
		first = append(first, first[k]+n)
	}
	own := func(e int) bool { return e >= from && e < end }
	ordinals := make([][]ordinal, g.Size())
	for e, cf := range m.ExecCF {
		if !own(e) {
			n := slices.Index(slices.Collect(m.ExecutionsOf(cf)), e)
			k := m.ExecutedBy(e)
			ordinals[k] = append(ordinals[k], ordinal{m.CFID(cf), n})
		}
	}
	answers, err := procs.Ask(g, ordinals, func(o ordinal) (uint32, error) {
		list := slices.Collect(m.ExecutionsOf(m.FindCF(o.CF)))
		if o.N >= len(list) || !own(list[o.N]) {
			return 0, errors.New("internal error: another process asks about an execution that is not here")
		}
		return first[g.Rank()] + uint32(list[o.N]-from), nil
	})
	if err != nil {
		return nil, nil, err
	}
	numbers = make([]uint32, m.Executions())
	for e := range numbers {
		if own(e) {
			numbers[e] = first[g.Rank()] + uint32(e-from)
			continue
		}
		k := m.ExecutedBy(e)
		numbers[e], answers[k] = answers[k][0], answers[k][1:]
	}
	return numbers, first, nil
}

// JoinDFs joins what processes know of DFs, with models of BuildShare: each gives what it knows
// of those that others may know too, and gets what all of them know. All members of g call it. A single
// process gets nothing.
func JoinDFs[T any](m *Model, g procs.Group, know func(df DF) (T, bool), join func(x, y T) T,
	told func(df DF, v T)) error {
	type known struct {
		ID    uint64
		Value T
	}
	if g.Size() == 1 {
		return nil
	}
	own, out := make([][]DF, g.Size()), make([][]known, g.Size()) // each DF is joined by one process
	for df := DF(1); int(df) < m.DFs(); df++ {
		id := m.DFID(df)
		if id == 0 || !m.Shared(df) {
			continue
		}
		if v, ok := know(df); ok {
			k := id % uint64(g.Size())
			own[k], out[k] = append(own[k], df), append(out[k], known{id, v})
		}
	}
	in, err := procs.Swap(g, out)
	if err != nil {
		return err
	}
	all := map[uint64]T{}
	for _, x := range slices.Concat(in...) {
		if old, ok := all[x.ID]; ok {
			x.Value = join(old, x.Value)
		}
		all[x.ID] = x.Value
	}
	for _, list := range in {
		for i := range list {
			list[i].Value = all[list[i].ID]
		}
	}
	in, err = procs.Swap(g, in)
	for k, list := range in {
		for i, x := range list {
			told(own[k][i], x.Value)
		}
	}
	return err
}
