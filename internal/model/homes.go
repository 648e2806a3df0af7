package model

import (
	"slices"
	"sync"
)

// homes are the nodes that keep the DFs, where all who need one ask for it: the nodes that were asked, those
// that its maker sent it to for no one in particular, and those where it came to its end. If there is none of
// them, it is the maker's node; or else that of a copy.
type homes struct {
	once sync.Once
	of   []uint16        // by DF: 1 + its home, 0 if it is not known
	more map[DF][]uint16 // of DFs that several nodes keep: all of them, in ascending order
}

// Home gives the node that keeps a DF, -1 if it is not known. Where several do, it is a given one of them, or
// else the first.
func (m *Model) Home(df DF, near int32) int32 {
	h := &m.indexes.homes
	h.once.Do(func() { h.find(m) })
	if _, found := slices.BinarySearch(h.more[df], uint16(near)); found && near >= 0 {
		return near
	}
	return int32(h.of[df]) - 1
}

// Homes gives the nodes that keep a DF where several do, in ascending order; else nothing.
func (m *Model) Homes(df DF) []uint16 {
	h := &m.indexes.homes
	h.once.Do(func() { h.find(m) })
	return h.more[df]
}

func (h *homes) find(m *Model) {
	h.of, h.more = Make[uint16](m, m.DFs()), map[DF][]uint16{}
	add := func(df DF, node int32) {
		if df == 0 || node < 0 || int(node) >= len(m.Nodes) {
			return
		}
		n := uint16(node)
		old := h.of[df]
		if old == 0 {
			h.of[df] = n + 1
		}
		if old == 0 || old == n+1 {
			return
		}
		list := h.more[df]
		if list == nil {
			list = []uint16{old - 1}
		}
		if i, found := slices.BinarySearch(list, n); !found {
			h.more[df] = slices.Insert(list, i, n)
		}
		h.of[df] = min(old, n+1)
	}
	for i := range m.Requests {
		add(m.Requests[i].DF, m.Requests[i].To)
	}
	for i := range m.DFMessages {
		if g := &m.DFMessages[i]; g.Request == 0 && g.CF == 0 && g.Sent != None {
			add(g.DF, g.To)
		}
	}
	for i := range m.Copies {
		if c := &m.Copies[i]; c.What > CopyDropped {
			add(c.DF, int32(c.Node))
		}
	}
	for i := range m.Asked {
		add(m.Asked[i].DF, m.Asked[i].Node)
	}
	for df := range h.of {
		if first, end := m.Creations(DF(df)); h.of[df] == 0 && first < end {
			add(DF(df), int32(m.MadeNode[first]))
		}
	}
	for i := range m.Copies {
		if c := &m.Copies[i]; h.of[c.DF] == 0 {
			add(c.DF, int32(c.Node))
		}
	}
}
