package model

import (
	"sort"
	"sync"
)

// Indexes lead from a CF or DF to what mentions it. Each is built when somebody first asks, once for all:
// four bytes a CF or DF, and four for each mention.
type indexes struct {
	uses, outputs, children, awaits, waiters, messages, requests, copies Lists

	homes homes
}

// Lists is a list of numbers for each key, made once: those of key k are item[at[k]:at[k+1]], in the order in
// which they were added.
type Lists struct {
	once sync.Once
	at   []uint32
	item []uint32
}

// Of gives the list of a key below keys. For the first caller it goes through all items twice: each calls add
// for every item, with the key 0 for one to be left out. Any number of goroutines may call it.
func (l *Lists) Of(m *Model, key uint32, keys int, each func(add func(key uint32, item int))) []uint32 {
	l.once.Do(func() {
		l.at = Make[uint32](m, keys+2)
		each(func(key uint32, _ int) { l.at[key+1]++ })
		l.at[1] = 0
		for k := 1; k < len(l.at); k++ {
			l.at[k] += l.at[k-1]
		}
		l.item = Make[uint32](m, int(l.at[len(l.at)-1]))
		each(func(key uint32, item int) {
			if key != 0 {
				l.item[l.at[key]] = uint32(item)
				l.at[key]++ // counts up to where the next key begins
			}
		})
		copy(l.at[1:], l.at)
		l.at[0], l.at[1] = 0, 0
	})
	if int(key)+1 >= len(l.at) {
		return nil
	}
	return l.item[l.at[key]:l.at[key+1]:l.at[key+1]]
}

// byCF and byDF go through a column with one CF or DF an item.
func byCF(column []CF) func(func(uint32, int)) {
	return func(add func(uint32, int)) {
		for i, cf := range column {
			add(uint32(cf), i)
		}
	}
}

func byDF(items int, of func(i int) []DF) func(func(uint32, int)) {
	return func(add func(uint32, int)) {
		for i := range items {
			for _, df := range of(i) {
				add(uint32(df), i)
			}
		}
	}
}

func byMessage(list []Message, numbers *ids) func(func(uint32, int)) {
	return func(add func(uint32, int)) {
		numbers.inOrder(len(list), func(i int) {
			if list[i].Recorded() {
				add(uint32(list[i].DF), i)
			}
		})
	}
}

// UsesOf gives the executions that were given a DF, in ascending order; one that was given it twice is there
// twice.
func (m *Model) UsesOf(df DF) []uint32 {
	return m.indexes.uses.Of(m, uint32(df), m.DFs(), byDF(m.Executions(), m.Inputs))
}

// OutputsOf gives the creations of DFs by a CF: indices into MadeTime and its neighbours. DFMade tells the DF
// of each.
func (m *Model) OutputsOf(cf CF) []uint32 {
	return m.indexes.outputs.Of(m, uint32(cf), len(m.Created), byCF(m.MadeBy))
}

// DFMade gives the DF of a creation: an index into MadeTime and its neighbours.
func (m *Model) DFMade(creation uint32) DF {
	return DF(sort.Search(m.DFs(), func(df int) bool { return m.MadeFrom[df+1] > creation }))
}

// ChildrenOf gives the CFs that a CF created, in the order of their ids.
func (m *Model) ChildrenOf(cf CF) []uint32 {
	return m.indexes.children.Of(m, uint32(cf), len(m.Created), func(add func(uint32, int)) {
		m.cfs.inOrder(len(m.Parent), func(child int) { add(uint32(m.Parent[child]), child) })
	})
}

// AwaitsOf gives the times a CF waited: indices into Awaits.
func (m *Model) AwaitsOf(cf CF) []uint32 {
	return m.indexes.awaits.Of(m, uint32(cf), len(m.Created), byCF(m.Awaits.CF))
}

// LastAwait gives the last wait of a CF by a time: an index into Awaits, and when; -1 and None where it did
// not wait.
func (m *Model) LastAwait(cf CF, t int64) (await int, at int64) {
	await, at = -1, None
	for _, i := range m.AwaitsOf(cf) {
		if a := m.Awaits.Time[i]; a <= t && a >= at {
			await, at = int(i), a
		}
	}
	return await, at
}

// WaitersOf gives the times a DF was waited for: indices into Awaits.
func (m *Model) WaitersOf(df DF) []uint32 {
	return m.indexes.waiters.Of(m, uint32(df), m.DFs(), byDF(len(m.Awaits.CF), m.Awaits.Of))
}

// MessagesOf gives the messages with a DF, in the order of their ids: indices into DFMessages.
func (m *Model) MessagesOf(df DF) []uint32 {
	return m.indexes.messages.Of(m, uint32(df), m.DFs(), byMessage(m.DFMessages, m.messages))
}

// RequestsOf gives the requests for a DF, in the order of their ids: indices into Requests.
func (m *Model) RequestsOf(df DF) []uint32 {
	return m.indexes.requests.Of(m, uint32(df), m.DFs(), byMessage(m.Requests, m.requests))
}

// CopiesOf gives the changes in who holds a DF: indices into Copies.
func (m *Model) CopiesOf(df DF) []uint32 {
	return m.indexes.copies.Of(m, uint32(df), m.DFs(), func(add func(uint32, int)) {
		for i := range m.Copies {
			add(uint32(m.Copies[i].DF), i)
		}
	})
}

// AskedBy gives the requests of a CF that has not started since, in order of time.
func (m *Model) AskedBy(cf CF) []Asked {
	first := sort.Search(len(m.Asked), func(i int) bool { return m.Asked[i].CF >= cf })
	end := first
	for end < len(m.Asked) && m.Asked[end].CF == cf {
		end++
	}
	return m.Asked[first:end]
}
