package slou

import (
	"slices"
	"sort"
)

// What a worker that had nothing to do could have done: the parts of S.
//
// At each instant S is `elsewhere` if an atomic CF was ready and not started on another node, else `here` if
// one was on this node, else `nowhere`. A run has as many ready-not-started intervals as CFs, so they are
// first united per node: taken from the latest end to the earliest, a union of intervals is one pass without
// sorting, and each worker's executions, whose starts are those ends, come in order. One sweep over
// all nodes then leaves two lists of disjoint intervals: those in which some node had a ready CF, and, per
// node, those in which it was the only one. `here` is the second, `elsewhere` the first less the second.

type interval struct{ from, to int64 }

// queue holds the ready-not-started intervals of a run.
type queue struct {
	any  []interval
	sole [][]interval // by node
}

// unite joins overlapping intervals. Each list must be ordered by end; the result is ordered and disjoint.
func unite(lists [][]interval) []interval {
	if n := len(lists); n > 2 {
		return unite([][]interval{unite(lists[:n/2]), unite(lists[n/2:])})
	}
	var x, y []interval
	if len(lists) > 0 {
		x = lists[0]
	}
	if len(lists) > 1 {
		y = lists[1]
	}
	out := make([]interval, 0, len(x)+len(y)) // latest first
	for len(x)+len(y) > 0 {
		if len(x) == 0 || (len(y) > 0 && y[len(y)-1].to > x[len(x)-1].to) {
			x, y = y, x
		}
		v := x[len(x)-1]
		x = x[:len(x)-1]
		if v.from >= v.to {
			continue
		}
		if n := len(out); n > 0 && v.to >= out[n-1].from {
			out[n-1].from = min(out[n-1].from, v.from)
		} else {
			out = append(out, v)
		}
	}
	slices.Reverse(out)
	return out
}

// toggle says that a node has a ready CF from a time on, or has none.
type toggle struct {
	t    int64
	node int32
	on   bool
}

// toggles gives the starts and ends of the intervals of the nodes from first to last, in order of time.
func toggles(nodes [][]interval, first, last int) []toggle {
	if first == last {
		out := make([]toggle, 0, 2*len(nodes[first]))
		for _, v := range nodes[first] {
			out = append(out, toggle{v.from, int32(first), true}, toggle{v.to, int32(first), false})
		}
		return out
	}
	middle := (first + last) / 2
	x, y := toggles(nodes, first, middle), toggles(nodes, middle+1, last)
	out := make([]toggle, 0, len(x)+len(y))
	for len(x) > 0 && len(y) > 0 {
		if y[0].t < x[0].t {
			x, y = y, x
		}
		out = append(out, x[0])
		x = x[1:]
	}
	return append(append(out, x...), y...)
}

// newQueue sweeps over the united intervals of all nodes.
func newQueue(nodes [][]interval) *queue {
	q := &queue{sole: make([][]interval, len(nodes))}
	switch len(nodes) {
	case 0:
		return q
	case 1:
		q.any, q.sole[0] = nodes[0], nodes[0]
		return q
	}
	on := make([]bool, len(nodes))
	count, sum, last := 0, 0, int64(0)
	add := func(list []interval, from, to int64) []interval {
		if n := len(list); n > 0 && list[n-1].to == from {
			list[n-1].to = to
			return list
		}
		return append(list, interval{from, to})
	}
	for _, g := range toggles(nodes, 0, len(nodes)-1) {
		if g.t > last && count > 0 {
			q.any = add(q.any, last, g.t)
			if count == 1 {
				// The sum of the numbers of the nodes that have a ready CF is the number of the only one.
				q.sole[sum] = add(q.sole[sum], last, g.t)
			}
		}
		last = g.t
		if on[g.node] == g.on {
			continue
		}
		on[g.node] = g.on
		if g.on {
			count, sum = count+1, sum+int(g.node)
		} else {
			count, sum = count-1, sum-int(g.node)
		}
	}
	return q
}

// cursor walks a list of intervals forwards for queries that come in order of time.
type cursor struct {
	list []interval
	at   int
}

// seek puts the cursor on the first interval that ends after t.
func (c *cursor) seek(t int64) {
	if c.at > 0 && c.list[c.at-1].to > t {
		c.at = 0
	}
	step := 1
	for c.at+step < len(c.list) && c.list[c.at+step-1].to <= t {
		c.at += step
		step *= 2
	}
	rest := c.list[c.at:min(c.at+step, len(c.list))]
	c.at += sort.Search(len(rest), func(i int) bool { return rest[i].to > t })
}

// state tells whether t lies in an interval and until when that stays so, at most limit.
func (c *cursor) state(t, limit int64) (in bool, until int64) {
	c.seek(t)
	if c.at == len(c.list) {
		return false, limit
	}
	v := c.list[c.at]
	if v.from <= t {
		return true, min(v.to, limit)
	}
	return false, min(v.from, limit)
}

// starvation cuts the S intervals of one worker into parts.
type starvation struct{ any, sole cursor }

func (q *queue) at(node int) starvation {
	return starvation{any: cursor{list: q.any}, sole: cursor{list: q.sole[node]}}
}

// split appends p, an S piece, cut into parts in order of time. Equal neighbours are one piece.
func (s *starvation) split(p Piece, out []Piece) []Piece {
	first := len(out)
	var seen [partCount]bool
	for t := p.From; t < p.To; {
		any, until := s.any.state(t, p.To)
		part := PartNowhere
		if any {
			var sole bool
			sole, until = s.sole.state(t, until)
			part = PartElsewhere
			if sole {
				part = PartHere
			}
		}
		if n := len(out); n > first && out[n-1].Part == part {
			out[n-1].To = until
		} else {
			q := p
			q.From, q.To, q.Part, q.Again = t, until, part, seen[part]
			seen[part] = true
			out = append(out, q)
		}
		t = until
	}
	return out
}
