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

// one lists, for each of keys keys, the items below n whose key it is. Items with the key 0 are left out.
func (g *group) one(keys, n int, key func(i int) uint32) {
	g.at = make([]uint32, keys+2)
	for i := range n {
		g.at[key(i)+1]++
	}
	g.begin()
	for i := range n {
		g.put(key(i), i)
	}
	g.done()
}

// several does the same for items that have several keys each.
func (g *group) several(keys, n int, of func(i int) []model.DF) {
	g.at = make([]uint32, keys+2)
	for i := range n {
		for _, key := range of(i) {
			g.at[key+1]++
		}
	}
	g.begin()
	for i := range n {
		for _, key := range of(i) {
			g.put(uint32(key), i)
		}
	}
	g.done()
}

// begin turns counts, each at the place after its key, into where the items of each key begin.
func (g *group) begin() {
	g.at[1] = 0
	for k := 1; k < len(g.at); k++ {
		g.at[k] += g.at[k-1]
	}
	g.item = make([]uint32, g.at[len(g.at)-1])
}

// put adds an item; at counts up meanwhile.
func (g *group) put(key uint32, i int) {
	if key == 0 {
		return
	}
	g.item[g.at[key]] = uint32(i)
	g.at[key]++
}

// done turns ends into beginnings again.
func (g *group) done() {
	copy(g.at[1:], g.at)
	g.at[0], g.at[1] = 0, 0
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
	g.once.Do(func() { g.several(t.m.DFs(), t.m.Executions(), t.m.Inputs) })
	return g.list(uint32(df))
}

// Outputs gives the creations of DFs by a CF: indices into model.Model.MadeTime and its neighbours. DFMade tells which DF each is.
func (t *Timeline) Outputs(cf model.CF) []uint32 {
	g := &t.groups.outputs
	g.once.Do(func() {
		g.one(len(t.m.Created), len(t.m.MadeBy), func(i int) uint32 { return uint32(t.m.MadeBy[i]) })
	})
	return g.list(uint32(cf))
}

// Children gives the CFs that a CF created.
func (t *Timeline) Children(cf model.CF) []uint32 {
	g := &t.groups.children
	g.once.Do(func() {
		g.one(len(t.m.Created), len(t.m.Parent), func(i int) uint32 { return uint32(t.m.Parent[i]) })
	})
	return g.list(uint32(cf))
}

// Awaits gives the times a CF waited: indices into model.Model.Awaits.
func (t *Timeline) Awaits(cf model.CF) []uint32 {
	g := &t.groups.awaits
	g.once.Do(func() {
		g.one(len(t.m.Created), len(t.m.Awaits.CF), func(i int) uint32 { return uint32(t.m.Awaits.CF[i]) })
	})
	return g.list(uint32(cf))
}

// Waiters gives the times a DF was waited for: indices into model.Model.Awaits.
func (t *Timeline) Waiters(df model.DF) []uint32 {
	g := &t.groups.waiters
	g.once.Do(func() { g.several(t.m.DFs(), len(t.m.Awaits.CF), t.m.Awaits.Of) })
	return g.list(uint32(df))
}

// Messages gives the messages with a DF: indices into model.Model.DFMessages.
func (t *Timeline) Messages(df model.DF) []uint32 {
	g := &t.groups.sent
	g.once.Do(func() { g.one(t.m.DFs(), len(t.m.DFMessages), dfOf(t.m.DFMessages)) })
	return g.list(uint32(df))
}

// Requests gives the requests for a DF: indices into model.Model.Requests.
func (t *Timeline) Requests(df model.DF) []uint32 {
	g := &t.groups.requests
	g.once.Do(func() { g.one(t.m.DFs(), len(t.m.Requests), dfOf(t.m.Requests)) })
	return g.list(uint32(df))
}

func dfOf(list []model.Message) func(i int) uint32 {
	return func(i int) uint32 {
		if !known(&list[i]) {
			return 0
		}
		return uint32(list[i].DF)
	}
}

// Copies gives the changes in who holds a DF: indices into model.Model.Copies.
func (t *Timeline) Copies(df model.DF) []uint32 {
	g := &t.groups.copies
	g.once.Do(func() {
		g.one(t.m.DFs(), len(t.m.Copies), func(i int) uint32 { return uint32(t.m.Copies[i].DF) })
	})
	return g.list(uint32(df))
}

// known tells that an end of a message was recorded: numbers are given to neighbours, too.
func known(g *model.Message) bool { return g.Sent != model.None || g.Received != model.None }
