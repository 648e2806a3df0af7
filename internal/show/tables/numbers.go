package tables

import (
	"cmp"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
)

// The model numbers CFs and messages as they come up, while several streams are read at once. So its numbers
// differ from reading to reading. The tables number them by what the trace says of them.

// numbers are those of CFs and messages.
type numbers struct {
	cfs   []model.CF // in the order of their ids: the one of number 1 first
	cf    []uint32   // by CF of the model; 0: nothing was recorded of it
	rows  []uint32   // messages: DFs, requests and CFs, one list of the model after the other
	rowOf []uint32   // the inverse, from 1; 0: nothing was recorded of it
}

func (s *Source) numbers() *numbers {
	s.numbering.Do(func() {
		s.numbered = &numbers{}
		s.numbered.ofCFs(s.Model)
		s.numbered.ofMessages(s.Model)
	})
	return s.numbered
}

// cf is the number of a CF, null for none.
func (s *Source) cf(cf model.CF) Value { return positive(s.numbers().cf[cf]) }

// ofCFs numbers the CFs of which something was recorded, or that something else speaks of.
func (n *numbers) ofCFs(m *model.Model) {
	has := make([]bool, len(m.Created))
	for cf := range m.CFs() {
		has[cf] = true
		has[m.Parent[cf]] = true
	}
	for _, cf := range m.MadeBy {
		has[cf] = true
	}
	for _, messages := range [][]model.Message{m.DFMessages, m.Requests, m.Moves} {
		for i := range messages {
			has[messages[i].CF] = true
		}
	}
	for _, w := range m.AllWorkers() {
		for i := range w.Waits {
			has[w.Waits[i].Holder] = true
		}
	}
	for cf := 1; cf < len(has); cf++ {
		if has[cf] {
			n.cfs = model.Append(m, n.cfs, model.CF(cf))
		}
	}
	slices.SortFunc(n.cfs, func(a, b model.CF) int { return cmp.Compare(m.CFID(a), m.CFID(b)) })
	n.cf = model.Make[uint32](m, len(has))
	for i, cf := range n.cfs {
		n.cf[cf] = uint32(i) + 1
	}
}

// lists are all messages.
func lists(m *model.Model) [3][]model.Message {
	return [3][]model.Message{m.DFMessages, m.Requests, m.Moves}
}

// ofMessages numbers the messages of which an end was recorded.
func (n *numbers) ofMessages(m *model.Model) {
	all := lists(m)
	n.rowOf = model.Make[uint32](m, len(all[0])+len(all[1])+len(all[2]))
	first := uint32(0)
	for _, list := range all {
		from := len(n.rows)
		for i := range list {
			if list[i].Recorded() {
				n.rows = model.Append(m, n.rows, first+uint32(i))
			}
		}
		slices.SortFunc(n.rows[from:], func(a, b uint32) int {
			x, y := &list[a-first], &list[b-first]
			return cmp.Or(cmp.Compare(x.Sent, y.Sent), cmp.Compare(x.Received, y.Received),
				cmp.Compare(x.From, y.From), cmp.Compare(x.To, y.To), cmp.Compare(x.DF, y.DF),
				cmp.Compare(n.cf[x.CF], n.cf[y.CF]), cmp.Compare(x.Bytes, y.Bytes))
		})
		first += uint32(len(list))
	}
	for i, row := range n.rows {
		n.rowOf[row] = uint32(i) + 1
	}
}
