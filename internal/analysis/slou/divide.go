package slou

import (
	"fmt"

	"github.com/whyslow/whyslow/internal/model"
)

// divider cuts the time of one worker into pieces, in order.
type divider struct {
	m        *model.Model
	facts    *facts
	dataOnly bool
	node     int
	worker   *model.Worker
	starved  starvation
	awaited  []awaited
	visit    func(*Piece)
	regions  workerRegions
	sole     bool // there are no CFs, but regions

	cuts  []Piece // what is cut out first; ordered, disjoint
	cut   int     // the first cut that ends after the pieces visited so far
	given int     // the first cut that has not been visited
	sum   int64
	steps []Piece // of one gap
	split []Piece

	left, useful int64 // of the present execution
	present      Piece // handed to visit

	structured func(cf model.CF, ns int64)
	executed   func(cf model.CF, useful int64, measured bool)
}

// run visits every piece of the worker's time, in order, and checks that nothing is left over or counted twice.
func (d *divider) run() error {
	m := d.m
	d.findCuts()
	if d.sole {
		d.divideRegions()
		return d.check()
	}
	a := m.Start
	next := d.nextAtomic(d.worker.First, d.structured)
	for next < d.worker.End {
		e := next
		next = d.nextAtomic(e+1, d.structured)
		start, end := m.ExecStart[e], m.ExecEnd[e]
		if end == model.None {
			end = m.End
		}
		if next < d.worker.End {
			end = min(end, m.ExecStart[next])
		}
		start = min(max(start, a), m.End)
		end = min(max(end, start), m.End)
		d.gap(e, a, start)
		d.execution(e, start, end)
		a = end
	}
	d.tail(a)
	return d.check()
}

// check tells whether the pieces add up, when all but the last cuts have been visited.
func (d *divider) check() error {
	m := d.m
	d.cutsBefore(m.End)
	if d.sum != m.Wall() {
		return fmt.Errorf("internal error: the parts of a worker of node %d add up to %d ns, its time is %d ns", d.node, d.sum, m.Wall())
	}
	return nil
}

// tail gives the time after the last atomic CF to S, with what was awaited at each moment as the cause.
func (d *divider) tail(a int64) {
	for i := len(d.awaited) - 1; i >= 0 && a < d.m.End; i-- {
		to := d.m.End
		if i > 0 {
			to = min(d.awaited[i-1].from, to)
		}
		if a < to {
			d.starve(Piece{From: a, To: to, Factor: FactorS, Producer: d.awaited[i].cf})
			a = to
		}
	}
}

// nextAtomic finds the next execution of an atomic CF and reports the structured ones before it.
func (d *divider) nextAtomic(e int, structured func(cf model.CF, ns int64)) int {
	m := d.m
	for ; e < d.worker.End; e++ {
		cf := m.ExecCF[e]
		if m.Atomic(cf) {
			break
		}
		if structured != nil && m.ExecEnd[e] != model.None {
			from, to := max(m.ExecStart[e], m.Start), min(m.ExecEnd[e], m.End)
			structured(cf, max(to-from, 0))
		}
	}
	return e
}

func (d *divider) gap(e int, a, start int64) {
	if a >= start {
		return
	}
	g := Gap{Node: int32(d.node), CF: d.m.ExecCF[e], Execution: e, A: a, D: start}
	d.steps = Divide(d.facts, g, d.dataOnly, d.steps[:0])
	for i := len(d.steps) - 1; i >= 0; i-- {
		if d.steps[i].Factor == FactorS {
			d.starve(d.steps[i])
		} else {
			d.clip(d.steps[i])
		}
	}
}

func (d *divider) starve(p Piece) {
	d.split = d.starved.split(p, d.split[:0])
	for i := range d.split {
		d.clip(d.split[i])
	}
}

// execution divides the time of an atomic CF: useful as far as its thread had the processor, then pre-empted.
func (d *divider) execution(e int, start, end int64) {
	cf, cpu := d.m.ExecCF[e], d.m.ExecCPU[e]
	d.left, d.useful = end-start, 0
	if cpu >= 0 {
		d.left = cpu
	}
	if start < end {
		d.clip(Piece{From: start, To: end, Factor: FactorU, Consumer: cf})
	}
	if d.executed != nil {
		d.executed(cf, d.useful, cpu >= 0)
	}
}

func (d *divider) emit(p Piece) {
	d.cutsBefore(p.From)
	if p.Factor == FactorU {
		u := min(d.left, p.To-p.From)
		d.left -= u
		d.useful += u
		rest := p
		p.To = p.From + u
		rest.From, rest.Factor, rest.Part = p.To, FactorO, PartPreempt
		if rest.From < rest.To {
			if u > 0 {
				d.pass(p)
			}
			p = rest
		}
	}
	d.pass(p)
}

// cutsBefore visits the cuts that begin before a time.
func (d *divider) cutsBefore(t int64) {
	for ; d.given < len(d.cuts) && d.cuts[d.given].From < t; d.given++ {
		d.pass(d.cuts[d.given])
	}
}

func (d *divider) pass(p Piece) {
	d.sum += p.To - p.From
	d.present = p
	d.visit(&d.present)
}

// clip emits what the cuts leave of a piece. Pieces come in order of time.
func (d *divider) clip(p Piece) {
	for d.cut < len(d.cuts) && d.cuts[d.cut].To <= p.From {
		d.cut++
	}
	for i := d.cut; i < len(d.cuts) && d.cuts[i].From < p.To; i++ {
		if c := &d.cuts[i]; p.From < c.From {
			q := p
			q.To = c.From
			d.emit(q)
		}
		p.From = max(p.From, d.cuts[i].To)
	}
	if p.From < p.To {
		d.emit(p)
	}
}

// heldName is the part of W for CFs that a debugger stopped.
const heldName = "held"

// findCuts lists what is cut out first: what was lost, then waits, then the times at which the CF that ran
// next, or that ran, was held.
func (d *divider) findCuts() {
	var lost, held []Piece
	for _, v := range d.worker.Lost {
		lost = append(lost, Piece{From: v.From, To: v.To, Factor: FactorLoss})
	}
	if len(d.m.Held) > 0 {
		held = d.findHeld()
	}
	d.cuts = overlay(overlay(lost, d.flatWaits()), held)
}

// flatWaits makes disjoint intervals of nested waits: the inner one counts. Each is charged to the atomic CF
// that runs, or, between two, to the next.
func (d *divider) flatWaits() (out []Piece) {
	var open []model.Wait
	t, e := d.m.Start, d.worker.First
	upTo := func(limit int64) {
		for len(open) > 0 {
			top := open[len(open)-1]
			if to := min(top.To, limit); to > t {
				p := Piece{From: t, To: to, Factor: FactorW, Name: top.Name}
				for e < d.worker.End && (!d.m.Atomic(d.m.ExecCF[e]) || (d.m.ExecEnd[e] != model.None && d.m.ExecEnd[e] <= t)) {
					e++
				}
				if e < d.worker.End {
					p.Consumer = d.m.ExecCF[e]
				}
				out = append(out, p)
				t = to
			}
			if top.To > limit {
				break
			}
			open = open[:len(open)-1]
		}
		t = max(t, limit)
	}
	for _, v := range d.waits() {
		upTo(min(v.From, d.m.End))
		open = append(open, v)
	}
	upTo(d.m.End)
	return out
}

func (d *divider) findHeld() (out []Piece) {
	a := d.m.Start
	for e := d.nextAtomic(d.worker.First, nil); e < d.worker.End; e = d.nextAtomic(e+1, nil) {
		cf, end := d.m.ExecCF[e], d.m.ExecEnd[e]
		if end == model.None {
			end = d.m.End
		}
		end = min(end, d.m.End)
		for _, v := range d.m.Held[cf] {
			if from, to := max(v.From, a), min(v.To, end); from < to {
				out = append(out, Piece{From: from, To: to, Factor: FactorW, Name: heldName, Consumer: cf})
				a = to
			}
		}
		a = max(a, end)
	}
	return out
}

// overlay joins two ordered lists of disjoint pieces; where they overlap, the first counts.
func overlay(first, second []Piece) []Piece {
	if len(first) == 0 || len(second) == 0 {
		return append(first, second...)
	}
	out := make([]Piece, 0, len(first)+len(second))
	i := 0
	for _, p := range second {
		for p.From < p.To {
			for i < len(first) && first[i].To <= p.From {
				out = append(out, first[i])
				i++
			}
			if i == len(first) || first[i].From >= p.To {
				out = append(out, p)
				break
			}
			if f := first[i]; p.From < f.From {
				q := p
				q.To = f.From
				out = append(out, q)
			}
			p.From = max(p.From, first[i].To)
		}
	}
	return append(out, first[i:]...)
}
