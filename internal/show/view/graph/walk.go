package graph

import (
	"cmp"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
)

// walk collects what is around a thing, as far as there is room.
//
// Problem. A CF may have thousands of inputs, and one of them thousands of users: taken in order, the first
// would fill the picture and nothing be seen of the rest.
//
// Plan. What is found at each distance waits there. Each distance in turn gets an equal share of the room
// that is left, and what it does not need goes to those behind it; then once more, until all is full or
// nothing waits. Of what waits, one neighbour of each thing is taken after another, and of each thing one of
// each sort. Where a thing let in later turns out to be a shorter way to one that is there, that one moves
// nearer, so in the end distances are those within what is shown.
type walk struct {
	g        *Graph
	list     []thing
	shown    map[thing]bool
	distance map[thing]int         // of all that was found
	fresh    [MaxDepth + 1][]thing // by distance: shown, neighbours not found yet
	waiting  [MaxDepth + 1][]thing // by distance: not shown; those found last come first
}

// walk gives what is shown around a thing, the nearest first, and how many that were found are not.
func (g *Graph) walk(start thing, depth, limit int) (list []thing, more int) {
	w := &walk{g: g, shown: map[thing]bool{}, distance: map[thing]int{start: 0}}
	w.show(start, 0)
	for grown := true; grown; {
		grown = false
		for d := 1; d <= depth; d++ {
			w.expand(d)
			ways := depth - d + 1
			grown = w.admit(d, (limit-len(w.list)+ways-1)/ways) || grown
		}
	}
	slices.SortStableFunc(w.list, func(a, b thing) int { return cmp.Compare(w.distance[a], w.distance[b]) })
	return w.list, len(w.distance) - len(w.list)
}

func (w *walk) show(v thing, d int) {
	w.shown[v] = true
	w.list = append(w.list, v)
	w.fresh[d] = append(w.fresh[d], v)
}

// expand finds the neighbours, at distance d, of what is at the distance before.
func (w *walk) expand(d int) {
	var found [][]thing
	for _, v := range w.fresh[d-1] {
		if w.distance[v] == d-1 {
			found = append(found, inTurn(w.g.neighbours(v)))
		}
	}
	w.fresh[d-1] = nil
	var wait []thing
	for _, v := range inTurn(found) {
		if old, ok := w.distance[v]; ok && old <= d {
			continue
		}
		w.distance[v] = d
		if w.shown[v] {
			w.fresh[d] = append(w.fresh[d], v)
		} else {
			wait = append(wait, v)
		}
	}
	w.waiting[d] = append(wait, w.waiting[d]...)
}

// admit shows the first n that wait at a distance and tells whether there was any.
func (w *walk) admit(d, n int) (any bool) {
	for ; n > 0 && len(w.waiting[d]) > 0; w.waiting[d] = w.waiting[d][1:] {
		if v := w.waiting[d][0]; !w.shown[v] && w.distance[v] == d {
			w.show(v, d)
			any = true
			n--
		}
	}
	return any
}

// inTurn takes the first of each list, then the second of each, and so on.
func inTurn(lists [][]thing) []thing {
	if len(lists) == 1 {
		return lists[0]
	}
	n := 0
	for _, l := range lists {
		n += len(l)
	}
	out := make([]thing, 0, n)
	lists = slices.Clone(lists)
	for i := 0; len(out) < n; i++ {
		lists = slices.DeleteFunc(lists, func(l []thing) bool { return len(l) == i })
		for _, l := range lists {
			out = append(out, l[i])
		}
	}
	return out
}

// neighbours gives what is one step from a thing, by sort: of a CF the one that created it, its inputs, what
// it made, and the CFs it created; of a DF the CFs that made it and those it was an input of.
func (g *Graph) neighbours(v thing) [][]thing {
	m := g.m
	var lists [4][]thing
	add := func(sort int, v thing) {
		if v != (thing{}) {
			lists[sort] = append(lists[sort], v)
		}
	}
	if v.df != 0 {
		first, end := m.Creations(v.df)
		for i := first; i < end; i++ {
			add(0, thing{cf: m.MadeBy[i]})
		}
		for _, e := range g.m.UsesOf(v.df) {
			add(1, thing{cf: m.ExecCF[e]})
		}
		return lists[:]
	}
	add(0, thing{cf: m.Parent[v.cf]})
	for e := range m.ExecutionsOf(v.cf) {
		for _, df := range m.Inputs(e) {
			add(1, thing{df: df})
		}
	}
	for _, i := range g.m.OutputsOf(v.cf) {
		add(2, thing{df: g.m.DFMade(i)})
	}
	for _, c := range g.m.ChildrenOf(v.cf) {
		add(3, thing{cf: model.CF(c)})
	}
	return lists[:]
}
