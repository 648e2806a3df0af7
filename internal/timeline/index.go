package timeline

import (
	"sync"

	"github.com/whyslow/whyslow/internal/model"
)

// group is a list of numbers for each key: those of key k are item[at[k]:at[k+1]], in ascending order.
type group struct {
	once sync.Once
	at   []uint32
	item []uint32
}

// make lists, for each of keys keys, the items below n that have it; of calls its second argument for each key of an item.
// Keys 0 are left out.
func (g *group) make(keys, n int, of func(i int, has func(key uint32))) {
	g.at = make([]uint32, keys+2)
	for i := range n {
		of(i, func(key uint32) {
			if key != 0 {
				g.at[key+1]++
			}
		})
	}
	for k := 1; k < len(g.at); k++ {
		g.at[k] += g.at[k-1]
	}
	g.item = make([]uint32, g.at[len(g.at)-1])
	next := append([]uint32(nil), g.at...)
	for i := range n {
		of(i, func(key uint32) {
			if key != 0 {
				g.item[next[key]] = uint32(i)
				next[key]++
			}
		})
	}
}

func (g *group) list(key uint32) []uint32 {
	if int(key)+1 >= len(g.at) {
		return nil
	}
	return g.item[g.at[key]:g.at[key+1]:g.at[key+1]]
}

// indexes lead from a CF or DF to what mentions it. Each is made when it is first asked for: four bytes a CF or DF, and four for
// each mention.
type indexes struct{ uses, outputs, children, awaits, waiters, sent, requests, copies group }

// Uses gives the executions that were given a DF, in ascending order; one that was given it twice is there twice.
func (t *Timeline) Uses(df model.DF) []uint32 {
	g := &t.groups.uses
	g.once.Do(func() {
		g.make(t.m.DFs(), t.m.Executions(), func(e int, has func(uint32)) {
			for _, df := range t.m.Inputs(e) {
				has(uint32(df))
			}
		})
	})
	return g.list(uint32(df))
}

// Outputs gives the creations of DFs by a CF: indices into model.Model.MadeTime and its neighbours, and which DF each is.
func (t *Timeline) Outputs(cf model.CF) []uint32 {
	g := &t.groups.outputs
	g.once.Do(func() {
		g.make(len(t.m.Created), len(t.m.MadeBy), func(i int, has func(uint32)) { has(uint32(t.m.MadeBy[i])) })
	})
	return g.list(uint32(cf))
}

// Children gives the CFs that a CF created.
func (t *Timeline) Children(cf model.CF) []uint32 {
	g := &t.groups.children
	g.once.Do(func() {
		g.make(len(t.m.Created), len(t.m.Parent), func(i int, has func(uint32)) { has(uint32(t.m.Parent[i])) })
	})
	return g.list(uint32(cf))
}

// Awaits gives the times a CF waited: indices into model.Model.Awaits.
func (t *Timeline) Awaits(cf model.CF) []uint32 {
	g := &t.groups.awaits
	g.once.Do(func() {
		g.make(len(t.m.Created), len(t.m.Awaits.CF), func(i int, has func(uint32)) { has(uint32(t.m.Awaits.CF[i])) })
	})
	return g.list(uint32(cf))
}

// Waiters gives the times a DF was waited for: indices into model.Model.Awaits.
func (t *Timeline) Waiters(df model.DF) []uint32 {
	g := &t.groups.waiters
	g.once.Do(func() {
		g.make(t.m.DFs(), len(t.m.Awaits.CF), func(i int, has func(uint32)) {
			for _, df := range t.m.Awaits.Of(i) {
				has(uint32(df))
			}
		})
	})
	return g.list(uint32(df))
}

// Messages gives the messages with a DF: indices into model.Model.DFMessages.
func (t *Timeline) Messages(df model.DF) []uint32 {
	g := &t.groups.sent
	g.once.Do(func() {
		g.make(t.m.DFs(), len(t.m.DFMessages), func(i int, has func(uint32)) {
			if known(&t.m.DFMessages[i]) {
				has(uint32(t.m.DFMessages[i].DF))
			}
		})
	})
	return g.list(uint32(df))
}

// Requests gives the requests for a DF: indices into model.Model.Requests.
func (t *Timeline) Requests(df model.DF) []uint32 {
	g := &t.groups.requests
	g.once.Do(func() {
		g.make(t.m.DFs(), len(t.m.Requests), func(i int, has func(uint32)) {
			if known(&t.m.Requests[i]) {
				has(uint32(t.m.Requests[i].DF))
			}
		})
	})
	return g.list(uint32(df))
}

// Copies gives the changes in who holds a DF: indices into model.Model.Copies.
func (t *Timeline) Copies(df model.DF) []uint32 {
	g := &t.groups.copies
	g.once.Do(func() {
		g.make(t.m.DFs(), len(t.m.Copies), func(i int, has func(uint32)) { has(uint32(t.m.Copies[i].DF)) })
	})
	return g.list(uint32(df))
}

// known tells that an end of a message was recorded: numbers are given to neighbours, too.
func known(g *model.Message) bool { return g.Sent != model.None || g.Received != model.None }
