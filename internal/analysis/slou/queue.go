package slou

import (
	"cmp"
	"slices"
	"sort"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
)

// What a worker that had nothing to do could have done: the parts of S.
//
// At each instant S is `elsewhere` if an atomic CF was ready and not started on another node, else `here` if
// one was on this node, else `nowhere`. A run has as many ready-not-started intervals as CFs, so they are
// first united per node: taken from the latest end to the earliest, a union of intervals is one pass without
// sorting, and each worker's executions, whose starts are those ends, come in order. One sweep over
// all nodes then leaves two lists of disjoint intervals: those in which some node had a ready CF, and, per
// node, those in which it was the only one. `here` is the second, `elsewhere` the first less the second.

// queue holds the ready-not-started intervals of a run.
type queue struct {
	any  []model.Interval
	sole [][]model.Interval // by node
}

// findQueue makes the queue of own nodes. The nodes of all other processes count as one more node, because it
// does not matter on which of them a CF was ready.
func findQueue(m *model.Model, g procs.Group) (*queue, error) {
	nodes := readyTimes(m)
	if g.Size() > 1 {
		all, err := procs.AllOf(g, unite(nodes))
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, unite(slices.Delete(all, g.Rank(), g.Rank()+1)))
	}
	return newQueue(nodes), nil
}

// readyTimes collects, by node, when atomic CFs were ready and not started.
func readyTimes(m *model.Model) [][]model.Interval {
	nodes := make([][]model.Interval, len(m.Nodes))
	odd := oddReady(m)
	for n := range m.Nodes {
		if !m.Own(n) {
			continue
		}
		var lists [][]model.Interval
		for i := range m.Nodes[n].Workers {
			var list []model.Interval
			w := &m.Nodes[n].Workers[i]
			for e := m.NextAtomic(w, w.First); e < w.End; e = m.NextAtomic(w, e+1) {
				to := m.ExecStart[e]
				if from, ok := m.LastReady(m.ExecCF[e], int32(n), to); ok && from < to && !ranSince(m, e, from) {
					list = append(list, model.Interval{From: from, To: to})
				}
			}
			lists = append(lists, list)
		}
		slices.SortFunc(odd[n], func(a, b model.Interval) int { return cmp.Compare(a.To, b.To) })
		nodes[n] = unite(append(lists, odd[n]))
	}
	return nodes
}

// ranSince tells that a CF had been executed before, since it was ready: it did not wait to start, but
// within.
func ranSince(m *model.Model, e int, ready int64) bool {
	n := m.ExecNumber[e]
	if n <= 1 {
		return false
	}
	p, ok := m.Execution(m.ExecCF[e], n-1)
	return ok && m.ExecStart[p] >= ready
}

// oddReady collects, by node, when CFs were ready that did not start there then: they left, or never ran.
func oddReady(m *model.Model) [][]model.Interval {
	odd := make([][]model.Interval, len(m.Nodes))
	for i := range m.Ready {
		cf := model.CF(i)
		if m.Ready[cf] == model.None || !m.Atomic(cf) ||
			m.ExecOf[cf] != 0 && !m.WasReadyTwice(cf) && len(m.MovesOf(cf)) == 0 {
			continue
		}
		m.AllReady(cf, func(t int64, node int) {
			to, left := leaves(m, cf, node, t)
			if !left {
				if e, ok := m.ExecutionAt(cf, m.End); ok && m.ExecStart[e] >= t {
					return // it started here: the worker's list has it
				}
				to = m.End
			}
			if node < len(odd) && t < to {
				odd[node] = append(odd[node], model.Interval{From: t, To: to})
			}
		})
	}
	return odd
}

// leaves finds when a CF next left a node.
func leaves(m *model.Model, cf model.CF, node int, t int64) (int64, bool) {
	for _, g := range m.MovesOf(cf) {
		if int(g.From) == node && g.Sent != model.None && g.Sent >= t {
			return g.Sent, true
		}
	}
	return 0, false
}

// unite joins overlapping intervals. Each list must be ordered by end; the result is ordered and disjoint.
func unite(lists [][]model.Interval) []model.Interval {
	if n := len(lists); n > 2 {
		return unite([][]model.Interval{unite(lists[:n/2]), unite(lists[n/2:])})
	}
	var x, y []model.Interval
	if len(lists) > 0 {
		x = lists[0]
	}
	if len(lists) > 1 {
		y = lists[1]
	}
	out := make([]model.Interval, 0, len(x)+len(y)) // latest first
	for len(x)+len(y) > 0 {
		if len(x) == 0 || (len(y) > 0 && y[len(y)-1].To > x[len(x)-1].To) {
			x, y = y, x
		}
		v := x[len(x)-1]
		x = x[:len(x)-1]
		if v.From >= v.To {
			continue
		}
		if n := len(out); n > 0 && v.To >= out[n-1].From {
			out[n-1].From = min(out[n-1].From, v.From)
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

// toggles gives the starts and ends of the intervals of all nodes in order of time.
func toggles(nodes [][]model.Interval) []toggle {
	lists := make([][]toggle, len(nodes))
	for n, list := range nodes {
		lists[n] = make([]toggle, 0, 2*len(list))
		for _, v := range list {
			lists[n] = append(lists[n], toggle{v.From, int32(n), true}, toggle{v.To, int32(n), false})
		}
	}
	return procs.Merge(lists, func(x, y toggle) bool { return x.t < y.t })
}

// newQueue sweeps over the united intervals of all nodes.
func newQueue(nodes [][]model.Interval) *queue {
	q := &queue{sole: make([][]model.Interval, len(nodes))}
	switch len(nodes) {
	case 0:
		return q
	case 1:
		q.any, q.sole[0] = nodes[0], nodes[0]
		return q
	}
	on := make([]bool, len(nodes))
	count, sum, last := 0, 0, int64(0)
	add := func(list []model.Interval, from, to int64) []model.Interval {
		if n := len(list); n > 0 && list[n-1].To == from {
			list[n-1].To = to
			return list
		}
		return append(list, model.Interval{From: from, To: to})
	}
	for _, g := range toggles(nodes) {
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
	list []model.Interval
	at   int
}

// seek puts the cursor on the first interval that ends after t.
func (c *cursor) seek(t int64) {
	if c.at > 0 && c.list[c.at-1].To > t {
		c.at = 0
	}
	if rest := c.list[c.at:]; len(rest) > 0 && rest[0].To <= t {
		c.at += sort.Search(len(rest), func(i int) bool { return rest[i].To > t })
	}
}

// state tells whether t lies in an interval and until when that stays so, at most limit.
func (c *cursor) state(t, limit int64) (in bool, until int64) {
	c.seek(t)
	if c.at == len(c.list) {
		return false, limit
	}
	v := c.list[c.at]
	if v.From <= t {
		return true, min(v.To, limit)
	}
	return false, min(v.From, limit)
}

// starvation cuts the S intervals of one worker into parts.
type starvation struct{ any, sole cursor }

func (q *queue) at(node int) starvation {
	return starvation{any: cursor{list: q.any}, sole: cursor{list: q.sole[node]}}
}

// split appends p, an S piece, cut into parts in order of time. Equal neighbours are one piece.
func (s *starvation) split(p Piece, out []Piece) []Piece {
	first := len(out)
	var seen [PartCount]bool
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
