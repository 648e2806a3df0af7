package model

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// What everybody knows of the whole run.

type wireTables struct {
	Codes []Code
	Sites []Site
}

// tellTables makes the names, sites and code fragments of all processes' nodes one table.
func (h *sharing) tellTables(own []nodeTables) error {
	m, t := h.m, h.b.tables
	all, err := procs.AllOf(h.g, wireTables{m.Codes, m.Sites})
	if err != nil {
		return err
	}
	m.Codes, m.Sites = nil, nil
	clear(t.codes)
	clear(t.sites)
	for rank, w := range all {
		var codes []int
		var sites []uint32
		for _, c := range w.Codes {
			codes = append(codes, t.code(c))
		}
		for _, s := range w.Sites {
			s.Code = codes[s.Code]
			sites = append(sites, t.site(s))
		}
		if rank != h.rank {
			continue
		}
		for _, n := range own {
			for i, s := range n.site {
				n.site[i] = sites[s]
			}
		}
	}
	return h.tellNames(0)
}

// tellNames makes the names of all processes' DFs one table, from a place on that is the same for all: there
// are those of definitions, then those made up for DFs whose definitions are lost.
func (h *sharing) tellNames(from int) error {
	m, t := h.m, h.b.tables
	all, err := procs.AllOf(h.g, m.Names[from:])
	if err != nil {
		return err
	}
	for _, s := range m.Names[from:] {
		delete(t.names, s)
	}
	m.Names = m.Names[:from:from]
	for rank, list := range all {
		var names []uint32
		for _, s := range list {
			names = append(names, t.name(s))
		}
		if rank != h.rank {
			continue
		}
		for i, n := range m.DFName {
			if int(n) >= from {
				m.DFName[i] = names[int(n)-from]
			}
		}
	}
	return nil
}

type wireProblems struct {
	Opened, Read []trace.Problem
	Lost         uint64
	Damage       []damage
}

// tellProblems lists the problems of all processes' files: those found when they were opened first, as one
// process would.
func (h *sharing) tellProblems(opened int) error {
	m := h.m
	all, err := procs.AllOf(h.g, wireProblems{m.Problems[:opened], m.Problems[opened:], m.LostCount, h.b.damage})
	if err != nil {
		return err
	}
	m.Problems, m.LostCount, h.b.damage = nil, 0, nil
	for _, w := range all {
		m.Problems, m.LostCount = append(m.Problems, w.Opened...), m.LostCount+w.Lost
		h.b.damage = append(h.b.damage, w.Damage...)
	}
	for _, w := range all {
		m.Problems = append(m.Problems, w.Read...)
	}
	return nil
}

// tellSummaries tells everybody of the own streams, and makes streams that stand for those of the others.
func (h *sharing) tellSummaries() error {
	var own []facts
	for _, s := range h.own {
		f := s.facts
		f.Entered = s.log != nil
		own = append(own, f)
	}
	all, err := procs.AllOf(h.g, own)
	if err != nil {
		return err
	}
	for rank, list := range all {
		if rank == h.rank {
			continue
		}
		for _, f := range list {
			s := newStream(h.b, f.Node, f.ID, nodeTables{})
			s.facts, s.abroad = f, true
			h.abroad[streamKey{f.Node, f.ID}] = s
			h.order = append(h.order, s)
		}
	}
	sortStreams(h.order)
	return nil
}

// wireSeen are the first events of DFs whose creation was not recorded; None where there is none.
type wireSeen struct {
	DFs  []wireDF
	Time []int64
}

// tellFirstSeen finds, for DFs of which no process knows a creation, the first event in the whole run.
func (h *sharing) tellFirstSeen() error {
	m := h.m
	known := make([]wireSeen, h.size)
	mine := make([][]DF, h.size)
	for i := range m.DFName {
		df := DF(i)
		if df == 0 || m.MadeFrom[df] != m.MadeFrom[df+1] || (df < h.ownDFs && !h.shared.has(uint32(df))) {
			continue
		}
		w := h.wireDF(df)
		k := h.m.Owner(w.Node)
		if len(w.Identity) > 0 {
			k = h.matcher(trace.IdentityID(w.Identity))
		}
		t, ok := m.firstSeen[df]
		if !ok {
			t = None
		}
		known[k].DFs, known[k].Time = append(known[k].DFs, w), append(known[k].Time, t)
		mine[k] = append(mine[k], df)
	}
	theirs, err := procs.Swap(h.g, known)
	if err != nil {
		return err
	}
	first := map[string]int64{}
	for _, w := range theirs {
		for i := range w.DFs {
			key := w.DFs[i].key()
			t, ok := first[key]
			if !ok {
				t = None
			}
			first[key] = earlier(t, w.Time[i])
		}
	}
	answers := make([][]int64, h.size)
	for k, w := range theirs {
		for i := range w.DFs {
			answers[k] = append(answers[k], first[w.DFs[i].key()])
		}
	}
	if answers, err = procs.Swap(h.g, answers); err != nil {
		return err
	}
	for k, list := range answers {
		for i, t := range list {
			if t != None {
				m.firstSeen[mine[k][i]] = t
			}
		}
	}
	return nil
}

// key is the same for the same DF only.
func (w *wireDF) key() string {
	if len(w.Identity) > 0 {
		return fmt.Sprint(w.Identity)
	}
	return fmt.Sprint(w.Node, ":", w.Number)
}

// tellClocks finds the corrections of all clocks together.
func (h *sharing) tellClocks() error {
	h.b.streams = append(slices.Clone(h.own), h.order...)
	sortStreams(h.b.streams)
	return h.b.findClocks(h.g)
}

func sortStreams(list []*stream) {
	slices.SortFunc(list, func(x, y *stream) int {
		return cmp.Or(cmp.Compare(x.Node, y.Node), cmp.Compare(x.ID, y.ID))
	})
}
