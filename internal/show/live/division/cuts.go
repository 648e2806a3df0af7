package division

import (
	"cmp"
	"slices"
	"sort"

	"github.com/whyslow/whyslow/internal/analysis/slou"
)

// What is cut out of a worker's time first: what was lost, then its waits, then the times at which the CF that ran next, or
// that ran, was held. All of it is W but for the losses, so the list is one of disjoint intervals of two kinds.

type cut struct {
	from, to int64
	factor   slou.Factor
}

// waitState is how far a worker's waits have been taken apart for good: all those before are over.
type waitState struct {
	waits, cuts int
	t           int64
	begun       bool
}

// recut finds what is to be cut out and touches the chunks that it changes.
func (w *worker) recut() {
	w.cutsChanged = false
	lost, held := w.losses(), w.heldCuts()
	same := 0 // cuts that are as they were
	var old []cut
	simple := len(lost) == 0 && len(held) == 0
	switch {
	case simple && w.simple:
		same = min(w.kept.cuts, len(w.cuts))
		old = slices.Clone(w.cuts[same:])
		w.flatten()
		w.cuts = w.waitCuts
	case simple:
		old = w.cuts
		w.flatten()
		w.cuts = w.waitCuts
	default:
		old = w.cuts
		if w.simple {
			old = slices.Clone(old)
		}
		w.flatten()
		w.cuts = overlay(overlay(lost, w.waitCuts), held)
	}
	w.simple = simple
	from := forever
	for i := 0; ; i++ {
		a, b := cut{from: forever}, cut{from: forever}
		if i < len(old) {
			a = old[i]
		}
		if same+i < len(w.cuts) {
			b = w.cuts[same+i]
		}
		if a != b {
			from = min(a.from, b.from)
			break
		}
		if a.from == forever {
			break
		}
	}
	for i := sort.Search(len(w.chunks), func(i int) bool { return w.chunks[i].to > from }); i < len(w.chunks); i++ {
		w.chunks[i].touch()
	}
}

// flatten makes disjoint intervals of nested waits, as slou does: it goes on from where all waits so far were over.
func (w *worker) flatten() {
	k := &w.kept
	if !k.begun {
		*k = waitState{t: w.d.start, begun: true}
	}
	out, t := w.waitCuts[:k.cuts], k.t
	var open []span
	upTo := func(limit int64) {
		for len(open) > 0 {
			top := open[len(open)-1]
			if to := min(top.to, limit); to > t {
				out = append(out, cut{t, to, slou.FactorW})
				t = to
			}
			if top.to > limit {
				break
			}
			open = open[:len(open)-1]
		}
		t = max(t, limit)
	}
	if w.stream != nil {
		for i := k.waits; i < len(w.stream.waits); i++ {
			v := w.d.fixSpan(w.stream.waits[i], w.stream.number)
			upTo(v.from)
			if len(open) == 0 {
				k.waits, k.cuts, k.t = i, len(out), t
			}
			open = append(open, v)
		}
	}
	upTo(forever)
	w.waitCuts = out
}

func (d *Division) fixSpan(v span, stream uint32) span {
	v.from = d.at(v.from, stream)
	if v.to != forever {
		v.to = d.at(v.to, stream)
	}
	return v
}

// losses gives what was lost of a worker, without what may still come.
func (w *worker) losses() []cut {
	var list []span
	add := func(v span) {
		if v.from < v.to {
			v.from = max(v.from, w.d.start)
			list = append(list, v)
		}
	}
	c := &w.node.clock
	for _, s := range w.node.streams {
		for _, l := range s.lost {
			if l.stream == int64(w.number) {
				add(span{c.fix(l.first), c.fix(l.last)})
			}
		}
	}
	for _, g := range w.d.damage {
		if g.node == w.node.number && g.stream == w.number {
			v := span{c.fix(g.from), g.to}
			if g.to != forever {
				v.to = c.fix(g.to)
			}
			add(v)
		}
	}
	return joined(list, slou.FactorLoss)
}

// joined orders intervals and joins those that touch.
func joined(list []span, f slou.Factor) (out []cut) {
	slices.SortFunc(list, func(x, y span) int { return cmp.Compare(x.from, y.from) })
	for _, v := range list {
		if v.from >= v.to {
			continue
		}
		if n := len(out); n > 0 && v.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, v.to)
		} else {
			out = append(out, cut{v.from, v.to, f})
		}
	}
	return out
}

// heldCuts gives the times at which the CFs that a worker ran were held.
func (w *worker) heldCuts() (out []cut) {
	d := w.d
	if len(d.held) == 0 {
		return nil
	}
	a := d.start
	for _, c := range w.chunks {
		for _, e := range c.execs {
			x, end := d.execs.at(e), forever
			if x.end != none {
				end = d.at(x.end, x.stream)
			}
			for _, v := range d.heldOf(x.cf) {
				if from, to := max(v.from, a), min(v.to, end); from < to {
					out = append(out, cut{from, to, slou.FactorW})
					a = to
				}
			}
			a = max(a, end)
		}
	}
	return out
}

// heldOf gives the intervals in which a CF was held.
func (d *Division) heldOf(c uint32) (out []span) {
	list := d.held[c]
	slices.SortStableFunc(list, func(a, b holding) int { return d.earlier(a.stamp, b.stamp) })
	since, on := int64(0), false
	for _, h := range list {
		switch t := d.at(h.time, h.stream); {
		case h.on && !on:
			since, on = t, true
		case !h.on && on:
			out = append(out, span{since, t})
			on = false
		}
	}
	if on {
		out = append(out, span{since, forever})
	}
	return out
}

// overlay joins two ordered lists of disjoint cuts; where they overlap, the first counts.
func overlay(first, second []cut) []cut {
	if len(first) == 0 || len(second) == 0 {
		return slices.Concat(first, second)
	}
	out := make([]cut, 0, len(first)+len(second))
	i := 0
	for _, p := range second {
		for p.from < p.to {
			for i < len(first) && first[i].to <= p.from {
				out = append(out, first[i])
				i++
			}
			if i == len(first) || first[i].from >= p.to {
				out = append(out, p)
				break
			}
			if f := first[i]; p.from < f.from {
				out = append(out, cut{p.from, f.from, p.factor})
			}
			p.from = max(p.from, first[i].to)
		}
	}
	return append(out, first[i:]...)
}
