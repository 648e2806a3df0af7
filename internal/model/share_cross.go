package model

import (
	"cmp"
	"slices"

	"github.com/whyslow/whyslow/internal/procs"
)

// tellCrossing completes what is known here of all CFs, messages, requests and DFs of which something was
// recorded here.
func (h *sharing) tellCrossing() error {
	if err := h.match(); err != nil {
		return err
	}
	var arrived bits // DFs that an own node received
	for _, s := range h.own {
		each(&s.Received, func(e *end) { arrived.set(uint32(e.DF)) })
	}
	for _, s := range h.own {
		each(&s.Sent, func(e *end) { e.Direct = !arrived.has(uint32(e.DF)) })
	}
	b := h.b
	home := func(numbers *ids) func(n uint32, give func(int)) {
		return func(n uint32, give func(int)) { give(h.home(numbers.id(n))) }
	}
	cf := home(b.cfs)
	there := route{about: [subjects]func(uint32, func(int)){
		aboutCF: func(n uint32, give func(int)) {
			if h.home(b.cfs.id(n)) != h.rank {
				h.told.set(n)
				cf(n, give)
			}
		},
		aboutDF: h.sharers.of, aboutMessage: home(b.messages), aboutRequest: home(b.requests)}}
	for _, s := range h.own {
		h.pack(s, &there)
	}
	var asked askedFor
	h.asked = &asked
	if err := h.exchange(); err != nil {
		return err
	}
	h.asked = nil
	back := asked.route()
	back.about[aboutDF] = nil // everybody has told everybody
	for s := range h.all {
		h.pack(s, &back)
	}
	if err := h.exchange(); err != nil {
		return err
	}
	return h.findMixed()
}

// mention is one of the ids of DFs that a process has asked about: others have it, too.
type mention struct {
	At    uint32 // place among those asked about
	Ranks []uint16
}

// matcher gives the process that compares an id of a DF.
func (h *sharing) matcher(id uint64) int { return int(id % uint64(h.size)) }

// match finds the DFs that are mentioned in files of several processes.
func (h *sharing) match() error {
	t := h.b.tables
	own := make([][]uint64, h.size)
	for id := range t.byID {
		k := h.matcher(id)
		own[k] = append(own[k], id)
	}
	lists, err := procs.Swap(h.g, own)
	if err != nil {
		return err
	}
	answers, err := procs.Swap(h.g, findMatches(lists))
	if err != nil {
		return err
	}
	for k, list := range answers {
		for _, v := range list {
			id := own[k][v.At]
			for _, df := range append([]DF{t.byID[id]}, t.clash[id]...) {
				h.shared.set(uint32(df))
				for _, rank := range v.Ranks {
					h.sharers.add(uint32(df), int(rank))
				}
			}
		}
	}
	return nil
}

// findMatches compares the lists of all processes and answers to each which of its ids are in another list,
// too.
func findMatches(lists [][]uint64) [][]mention {
	type listed struct {
		id   uint64
		at   uint32
		rank uint16
	}
	var all []listed
	for rank, list := range lists {
		for i, id := range list {
			all = append(all, listed{id, uint32(i), uint16(rank)})
		}
	}
	slices.SortFunc(all, func(x, y listed) int {
		return cmp.Or(cmp.Compare(x.id, y.id), cmp.Compare(x.rank, y.rank))
	})
	answers := make([][]mention, len(lists))
	for len(all) > 0 {
		var ranks []uint16
		n := 0
		for ; n < len(all) && all[n].id == all[0].id; n++ {
			ranks = append(ranks, all[n].rank)
		}
		if n > 1 {
			for _, v := range all[:n] {
				answers[v.rank] = append(answers[v.rank], mention{v.at, ranks})
			}
		}
		all = all[n:]
	}
	return answers
}
