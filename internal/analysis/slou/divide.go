package slou

import (
	"fmt"
	"math"
	"sort"

	"github.com/whyslow/whyslow/internal/analysis/pattern"
	"github.com/whyslow/whyslow/internal/model"
)

// divider cuts the time of one worker into pieces, in order.
type divider struct {
	m       *model.Model
	facts   *facts
	rule    Rule
	node    int
	worker  *model.Worker
	starved starvation
	awaited []awaited
	visit   func(*Piece)
	within  model.Interval // what is visited; the rest is only added up
	regions workerRegions
	sole    bool // there are no CFs, but regions
	// structures finds structured CFs that last at a time; nil: the whole run counts
	structures model.Ends

	cuts  []model.Cut // what is cut out first
	cut   int         // the first cut that ends after the pieces visited so far
	given int         // the first cut that has not been visited
	sum   int64
	steps []Piece // of one gap
	split []Piece

	left, useful    int64 // of the present execution
	queued, faulted int64 // likewise, of what is not useful
	away            int   // the first of worker.Off of no earlier execution
	present         Piece // handed to visit
	begun           bool  // something was

	structured func(cf model.CF, ns int64)
	executed   func(execution int, useful int64, measured bool)
}

// run visits every piece of the worker's time, in order, and checks that nothing is left over or counted
// twice.
func (d *divider) run() error {
	m, w := d.m, d.worker
	d.cuts = m.Cuts(w, d.waits())
	if d.sole {
		d.divideRegions()
		return d.check()
	}
	e, a := d.skip()
	for ; e < w.End; e++ {
		v := m.Occupied(w, e)
		if !m.Atomic(m.ExecCF[e]) {
			d.structure(e, v)
			continue
		}
		if Shares(d.within, a, v.To) {
			d.gap(e, a, v.From)
			d.execution(e, v)
		} else {
			d.clip(Piece{From: a, To: v.To, Factor: FactorS})
		}
		a = v.To
		if v.From >= d.within.To { // so is all that follows
			d.clip(Piece{From: a, To: m.End, Factor: FactorS})
			return d.check()
		}
	}
	d.tail(a)
	return d.check()
}

// skip passes over what ended before the part that counts, without looking at all of it. It gives the first
// execution to look at, and up to when all is divided.
func (d *divider) skip() (e int, a int64) {
	m, w := d.m, d.worker
	e, a = w.First, m.Start
	if d.structures == nil || d.within.From <= m.Start {
		return e, a
	}
	began := func(i int) bool { return m.ExecStart[w.First+i] >= d.within.From }
	first := w.First + sort.Search(w.End-w.First, began)
	// The atomic CF before that may last into the part. The one before it does not.
	last := m.LastAtomic(w, m.LastAtomic(w, first))
	if last < w.First {
		return e, a
	}
	e, a = last+1, m.Occupied(w, last).To
	d.clip(Piece{From: m.Start, To: a, Factor: FactorS})
	d.structures.Before(e-w.First, d.within.From, func(i int) bool {
		if x := w.First + i; !m.Atomic(m.ExecCF[x]) {
			d.structure(x, m.Occupied(w, x))
		}
		return true
	})
	off := d.worker.Off
	d.away = sort.Search(len(off), func(i int) bool { return off[i].Execution >= e })
	return e, a
}

// structure tells of an execution of a structured CF.
func (d *divider) structure(e int, v model.Interval) {
	if d.structured != nil && d.m.ExecEnd[e] != model.None && Shares(d.within, v.From, v.To) {
		d.structured(d.m.ExecCF[e], overlap(d.within, v))
	}
}

// structuredOf gives, by own worker, when executions of structured CFs ended, those of atomic ones never.
func structuredOf(m *model.Model) (all []model.Ends) {
	for _, w := range m.OwnWorkers() {
		ends := model.Ends{}
		for e := w.First; e < w.End; e++ {
			end := int64(math.MinInt64)
			if !m.Atomic(m.ExecCF[e]) && m.ExecEnd[e] != model.None {
				end = m.Occupied(w, e).To
			}
			ends.Add(e-w.First, end)
		}
		all = append(all, ends)
	}
	return all
}

// check tells whether the pieces add up, when all but the last cuts have been visited.
func (d *divider) check() error {
	m := d.m
	d.cutsBefore(m.End)
	if d.sum != m.Wall() {
		return fmt.Errorf("internal error: the parts of a worker of node %d add up to %d ns, its time is %d ns",
			d.node, d.sum, m.Wall())
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

func (d *divider) gap(e int, a, start int64) {
	if a >= start {
		return
	}
	g := Gap{Node: int32(d.node), CF: d.m.ExecCF[e], Execution: e, A: a, D: start}
	d.steps = Divide(d.facts, g, d.rule, d.steps[:0])
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

// execution divides the time of an atomic CF: useful as far as its thread had the processor, then what it was
// off the processor for.
func (d *divider) execution(e int, v model.Interval) {
	cf, cpu := d.m.ExecCF[e], d.m.CPU(e)
	d.left, d.useful = v.To-v.From, 0
	if cpu >= 0 {
		d.left = cpu
	}
	d.queued, d.faulted = math.MaxInt64, 0 // where the reasons are not known, others had the processor
	off := d.worker.Off
	for d.away < len(off) && off[d.away].Execution < e {
		d.away++
	}
	if d.away < len(off) && off[d.away].Execution == e {
		d.queued, d.faulted = off[d.away].Queued, off[d.away].Faulted
	}
	if v.From < v.To {
		d.clip(Piece{From: v.From, To: v.To, Factor: FactorU, Consumer: cf})
	}
	if d.executed != nil && Shares(d.within, v.From, v.To) {
		d.executed(e, d.useful, cpu >= 0)
	}
}

func (d *divider) emit(p Piece) {
	d.cutsBefore(p.From)
	if p.Factor != FactorU {
		d.pass(p)
		return
	}
	u := min(d.left, p.To-p.From)
	d.left -= u
	d.useful += overlap(d.within, model.Interval{From: p.From, To: p.From + u})
	rest := p
	if p.To = p.From + u; u > 0 {
		d.pass(p)
	}
	rest.From = p.To
	if rest.From < rest.To {
		if d.rule == RuleSource { // the paper knows no other reason
			d.queued = rest.To - rest.From
		}
		Away(rest.From, rest.To, &d.queued, &d.faulted, func(from, to int64, f Factor, part Part) {
			rest.From, rest.To, rest.Factor, rest.Part = from, to, f, part
			d.pass(rest)
		})
	}
}

// Away divides time of an execution in which its thread had no processor: first as far as it waited for a
// core, then as far as it waited for page faults. What is given away is taken off queued and faulted.
func Away(from, to int64, queued, faulted *int64, visit func(from, to int64, f Factor, part Part)) {
	for _, x := range [...]struct {
		ns     *int64
		factor Factor
		part   Part
	}{{queued, FactorO, PartPreempt}, {faulted, FactorW, PartFault}} {
		if ns := min(*x.ns, to-from); ns > 0 {
			visit(from, from+ns, x.factor, x.part)
			*x.ns -= ns
			from += ns
		}
	}
	if from < to {
		visit(from, to, FactorW, PartBlocked)
	}
}

// cutsBefore visits the cuts that begin before a time.
func (d *divider) cutsBefore(t int64) {
	for ; d.given < len(d.cuts) && d.cuts[d.given].From < t; d.given++ {
		c := &d.cuts[d.given]
		p := Piece{From: c.From, To: c.To, Factor: FactorOfCut(c), Name: c.Name, Consumer: c.CF}
		switch {
		case c.Blocked:
			p.Part, p.Name, p.Producer = partOfWait(c.Name), c.What, c.Holder
		case p.Factor == FactorL:
			if link, ok := parseLink(c.Name); ok {
				p.Link, p.Name = link, ""
			}
		}
		d.pass(p)
	}
}

// partOfWait gives the part of W of a call of user code that was blocked, by its reason.
func partOfWait(reason string) Part {
	for _, p := range FactorW.Parts() {
		if p.String() == reason {
			return p
		}
	}
	return PartBlocked
}

// factorOfPiece are the factors of what package pattern found.
var factorOfPiece = [...]Factor{pattern.Waits: FactorW, pattern.Transfers: FactorL, pattern.Runs: FactorO,
	pattern.Works: FactorU}

// FactorOfCut gives the factor of what is cut out first.
func FactorOfCut(c *model.Cut) Factor {
	switch {
	case c.Lost:
		return FactorLoss
	case c.Doing == model.Transferred:
		return FactorL
	case c.Doing == model.Operated:
		return FactorO
	}
	return FactorW
}

func (d *divider) pass(p Piece) {
	d.sum += p.To - p.From
	if p.From < d.within.From || p.To > d.within.To {
		if p.From, p.To = max(p.From, d.within.From), min(p.To, d.within.To); p.From >= p.To {
			return
		}
	}
	p.Again = p.Again && d.begun // it began before what is visited
	d.begun, d.present = true, p
	d.visit(&d.present)
}

// Shares tells whether something from one time to another was, be it for no time, in a part of the run.
func Shares(part model.Interval, from, to int64) bool {
	return from < part.To && (to > part.From || from >= part.From)
}

// overlap is how much of the time of an execution is in a part of the run.
func overlap(part, v model.Interval) int64 {
	return max(min(part.To, v.To)-max(part.From, v.From), 0)
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

// EachUseful goes through a worker's executions of atomic CFs in order, without dividing the time between
// them. stretch, unless nil, is called for every stretch of useful time; then done with the useful time of
// the execution, in nanoseconds. Waits found by package pattern are not taken into account.
func EachUseful(m *model.Model, w *model.Worker, stretch func(from, to int64),
	done func(execution int, ns int64)) {
	d := divider{m: m, worker: w, cuts: m.Cuts(w, w.Waits), within: (*Interval)(nil).Of(m)}
	d.visit = func(p *Piece) {
		if stretch != nil && p.Factor == FactorU {
			stretch(p.From, p.To)
		}
	}
	for e := m.NextAtomic(w, w.First); e < w.End; e = m.NextAtomic(w, e+1) {
		v := m.Occupied(w, e)
		if ns := d.uncut(e, v); ns >= 0 {
			if stretch != nil {
				stretch(v.From, v.From+ns)
			}
			done(e, ns)
			continue
		}
		d.execution(e, v)
		done(e, d.useful)
	}
}

// uncut is what execution finds to be useful, -1 where it has to look because something is cut out.
func (d *divider) uncut(e int, v model.Interval) int64 {
	for d.cut < len(d.cuts) && d.cuts[d.cut].To <= v.From {
		d.cut++
	}
	if d.cut < len(d.cuts) && d.cuts[d.cut].From < v.To {
		return -1
	}
	if cpu := d.m.CPU(e); cpu >= 0 {
		return min(cpu, v.To-v.From)
	}
	return v.To - v.From
}
