package graph

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/whyslow/whyslow/internal/model"
)

// Where everything is at any moment.
//
// Problem. While a run is played, the page asks some twenty times a second how many CFs of each group wait,
// are ready and run on each node, and what each node holds. A run has millions of CFs; which groups there are
// depends on what the user has opened.
//
// Plan. All changes of state and all copies stored and dropped stand in two lists, by time. They depend on
// the run alone. For the groups that are open now, sums over the changes are kept at some hundred moments,
// evenly among the changes; any other moment is the last of these before it and the changes since. What goes
// from node to node, and CFs by the time they live, stand in lists by their beginnings. model.Ends finds what
// goes on at a moment.

// cfChange is a change of a CF's state on a node.
type cfChange struct {
	t        int64
	cf       model.CF
	node     uint16
	from, to model.CFState
}

// dfChange is a copy of a DF that a node stores or drops.
type dfChange struct {
	t     int64
	bytes int64 // below 0: dropped
	df    model.DF
	node  uint16
	count int8
}

// flight is what goes from node to node: a DF, a CF, or a transfer of a region.
type flight struct {
	sent, received int64
	bytes          int64
	df             model.DF
	cf             model.CF // that moves
	from, to       uint16
	kind           uint8 // of a transfer: 1 + its kind
}

// linkSums are the messages of a link by the time they were sent, with the sum of bytes up to each.
type linkSums struct {
	from, to int
	sent     []int64
	bytes    []int64
}

// places is what happens to everything, by time.
type places struct {
	cfs     []cfChange
	dfs     []dfChange
	flights []flight // by sent
	landed  model.Ends
	lives   []model.CF // by the time they came into being
	born    []int64    // by position in lives
	ended   model.Ends
	links   []linkSums
}

func (g *Graph) findPlaces() *places {
	m := g.m
	p := &places{}
	born, done := model.Make[int64](m, len(m.Created)), model.Make[int64](m, len(m.Created))
	for i := range born {
		born[i], done[i] = model.None, model.None
	}
	n, cf := 0, model.CF(0)
	lives := m.Lives(func(int64, int32, model.CFState, model.CFState) { n++ })
	for cf = range m.CFs() {
		lives.Follow(cf)
	}
	p.cfs = model.Make[cfChange](m, n)[:0]
	lives = m.Lives(func(t int64, node int32, from, to model.CFState) {
		if born[cf] == model.None {
			born[cf], n = t, n+1
		}
		if done[cf] = math.MaxInt64; to == model.CFFinished {
			done[cf] = t
		}
		p.cfs = append(p.cfs, cfChange{t, cf, uint16(node), from, to})
	})
	n = 0
	for cf = range m.CFs() {
		lives.Follow(cf)
	}
	slices.SortFunc(p.cfs, func(a, b cfChange) int { return cmp.Compare(a.t, b.t) })
	p.lives = model.Make[model.CF](m, n)[:0]
	for cf := range m.CFs() {
		if born[cf] != model.None {
			p.lives = append(p.lives, cf)
		}
	}
	slices.SortFunc(p.lives, func(a, b model.CF) int {
		return cmp.Or(cmp.Compare(born[a], born[b]), cmp.Compare(a, b))
	})
	p.born = model.Make[int64](m, n)
	for i, cf := range p.lives {
		p.born[i] = born[cf]
		p.ended.Add(i, done[cf])
	}
	n = 0
	for h := range m.Holdings() {
		if h.From != model.None {
			n += 2
		}
	}
	p.dfs = model.Make[dfChange](m, n)[:0]
	for h := range m.Holdings() {
		if h.From == model.None {
			continue
		}
		p.dfs = append(p.dfs, dfChange{h.From, h.Bytes, h.DF, uint16(h.Node), 1})
		if h.To != model.None {
			p.dfs = append(p.dfs, dfChange{h.To, -h.Bytes, h.DF, uint16(h.Node), -1})
		}
	}
	slices.SortFunc(p.dfs, func(a, b dfChange) int { return cmp.Compare(a.t, b.t) })
	g.findFlights(p)
	return p
}

// findFlights lists all that goes from node to node. What is not known to have arrived is under way to the
// end.
func (g *Graph) findFlights(p *places) {
	m := g.m
	each := func(f func(v flight)) {
		tell := func(g *model.Message, v flight) {
			if !g.Recorded() || g.From < 0 || g.To < 0 {
				return
			}
			v.sent, v.received, v.bytes = g.Sent, g.Received, g.Bytes
			v.from, v.to = uint16(g.From), uint16(g.To)
			if v.sent == model.None {
				v.sent = v.received
			}
			if v.received == model.None {
				v.received = m.End + 1
			}
			v.received = max(v.sent, v.received)
			f(v)
		}
		for i := range m.DFMessages {
			tell(&m.DFMessages[i], flight{df: m.DFMessages[i].DF})
		}
		for i := range m.Moves {
			tell(&m.Moves[i], flight{cf: m.Moves[i].CF})
		}
		m.EachTransfer(func(kind model.TransferKind, _ uint32, g model.Message) {
			tell(&g, flight{kind: 1 + uint8(kind)})
		})
	}
	n, counts := 0, map[[2]uint16]int{}
	each(func(v flight) { n++; counts[[2]uint16{v.from, v.to}]++ })
	p.flights = model.Make[flight](m, n)[:0]
	each(func(v flight) { p.flights = append(p.flights, v) })
	slices.SortStableFunc(p.flights, func(a, b flight) int { return cmp.Compare(a.sent, b.sent) })
	at := map[[2]uint16]int{}
	for l, n := range counts {
		p.links = append(p.links, linkSums{int(l[0]), int(l[1]), model.Make[int64](m, n)[:0],
			model.Make[int64](m, n)[:0]})
	}
	slices.SortFunc(p.links, func(a, b linkSums) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	})
	for i, l := range p.links {
		at[[2]uint16{uint16(l.from), uint16(l.to)}] = i
	}
	for i := range p.flights {
		v := &p.flights[i]
		p.landed.Add(i, v.received)
		l := &p.links[at[[2]uint16{v.from, v.to}]]
		sum := v.bytes
		if k := len(l.bytes); k > 0 {
			sum += l.bytes[k-1]
		}
		l.sent, l.bytes = append(l.sent, v.sent), append(l.bytes, sum)
	}
}

// until gives how many messages a link has that were sent by a time, and their bytes.
func (l *linkSums) until(t int64) (count, bytes int64) {
	n := upTo(len(l.sent), func(i int) int64 { return l.sent[i] }, t)
	if n > 0 {
		bytes = l.bytes[n-1]
	}
	return int64(n), bytes
}

// upTo is how many of what is sorted by time are not after t.
func upTo(n int, time func(i int) int64, t int64) int {
	return sort.Search(n, func(i int) bool { return time(i) > t })
}

// dfOrder is all DFs in order: by name, indices, and key.
type dfOrder struct {
	m    *model.Model
	list []model.DF
}

func (g *Graph) findDFOrder() *dfOrder {
	m := g.m
	o := &dfOrder{m, model.Make[model.DF](m, m.DFs())[:0]}
	// First by name, as a counting sort does it.
	next := make([]int, len(m.Names)+1)
	for _, name := range m.DFName[min(1, len(m.DFName)):] {
		next[name+1]++
	}
	for i := range m.Names {
		next[i+1] += next[i]
	}
	first := slices.Clone(next)
	o.list = o.list[:max(m.DFs()-1, 0)]
	for df := 1; df < m.DFs(); df++ {
		name := m.DFName[df]
		o.list[next[name]] = model.DF(df)
		next[name]++
	}
	indices := func(df model.DF, dst []int64) []int64 { return m.Indices(df, dst[:0]) }
	for i := range m.Names {
		sortByIndices(o.list[first[i]:first[i+1]], indices, func(df model.DF) uint64 { return uint64(df) })
	}
	return o
}

func (o *dfOrder) len() int      { return len(o.list) }
func (o *dfOrder) top(i int) int { return int(o.m.DFName[o.list[i]]) }

func (o *dfOrder) head(name int) (key, title string) {
	return escaped("df", o.m.Names[name]), o.m.Names[name]
}

func (o *dfOrder) nameAt(i int) string { return o.m.DFNameOf(o.list[i]) }

func (o *dfOrder) indicesAt(i int, dst []int64) []int64 { return o.m.Indices(o.list[i], dst[:0]) }

func (o *dfOrder) mark(*TaskGroup, int) {}

func (o *dfOrder) single(v *TaskGroup, i int) (key string) {
	v.DF = o.m.DFKey(o.list[i])
	return escaped(kindDF, v.DF)
}
