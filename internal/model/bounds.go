package model

import (
	"cmp"
	"math"
	"slices"

	"github.com/whyslow/whyslow/trace"
)

// applyClocks moves all times by what m.clocks says.
func (b *builder) applyClocks() {
	m := b.m
	for _, s := range b.streams {
		if list := m.Clock(s.Node); len(list) > 0 {
			s.correct(list)
		}
	}
	for i := range b.damage {
		d := &b.damage[i]
		d.From = Common(d.From, m.Clock(d.Node))
		if d.To != math.MaxInt64 {
			d.To = Common(d.To, m.Clock(d.Node))
		}
	}
}

func (s *stream) correct(syncs []ClockSync) {
	clock := clockMap{syncs: syncs}
	fix := func(times ...*int64) {
		for _, t := range times {
			*t = clock.common(*t)
		}
	}
	each(&s.Creations, func(c *creation) { fix(&c.Time) })
	each(&s.Readies, func(r *ready) { fix(&r.Time) })
	each(&s.Runs, func(e *execution) { fix(&e.Start, &e.End) })
	each(&s.Mades, func(d *made) { fix(&d.Time) })
	for _, list := range []*column[end]{&s.Sent, &s.Received, &s.Asked, &s.AskedHere} {
		each(list, func(e *end) { fix(&e.Time) })
	}
	each(&s.Moves, func(v *Move) { fix(&v.Time) })
	each(&s.copies, func(c *Copy) { fix(&c.Time) })
	each(&s.queues, func(q *Queue) { fix(&q.Time) })
	each(&s.placed, func(p *Placed) { fix(&p.Time) })
	each(&s.awaits, func(a *await) { fix(&a.time) })
	each(&s.asked, func(a *Asked) { fix(&a.Time) })
	each(&s.Held, func(v *holding) { fix(&v.Time) })
	for i := range s.duplicates {
		fix(&s.duplicates[i].Time)
	}
	for i := range s.Lost {
		fix(&s.Lost[i].First, &s.Lost[i].Last)
	}
	for i := range s.waits {
		fix(&s.waits[i].From, &s.waits[i].To)
	}
	for i := range s.idle {
		fix(&s.idle[i].From, &s.idle[i].To)
	}
	if s.log != nil {
		s.log.correct(&clock)
	}
	fix(&s.First, &s.Last, &s.Started, &s.Finished, &s.idleSince)
}

// bounds finds the start and the end of the run, the workers, and what was lost of each.
func (b *builder) bounds() {
	m := b.m
	first, last, finished := None, None, None
	m.Start = None
	for _, s := range b.streams {
		first, last = earlier(first, s.First), max(last, s.Last)
		m.Start, finished = earlier(m.Start, s.Started), max(finished, s.Finished)
	}
	b.countWorkers()
	if m.Start == None {
		m.Start = first
	}
	if m.Start == None {
		m.Start = 0
	}
	for _, w := range m.AllWorkers() {
		*w = Worker{Started: None, Finished: None, Last: None}
	}
	for _, s := range b.streams {
		if w := b.worker(s); w != nil {
			w.Started, w.Finished, w.Last = s.Started, s.Finished, s.Last
		}
	}
	endsOff := slices.Contains(m.Info.Off, trace.KindProgramFinished.String())
	m.Killed = false
	for _, w := range m.AllWorkers() {
		m.Killed = m.Killed || (w.Finished == None && !endsOff)
	}
	m.End = finished
	if m.Killed || m.End == None {
		m.End = max(last, finished)
	}
	m.End = max(m.End, m.Start)
	b.findLost(endsOff)
	for _, s := range b.streams {
		if w := b.worker(s); w != nil {
			s.timesOf(w, m)
		}
	}
	b.findProcesses()
}

// worker is the worker that a stream is, nil if it is none.
func (b *builder) worker(s *stream) *Worker {
	if list := b.m.Nodes[s.Node].Workers; s.ID < len(list) {
		return &list[s.ID]
	}
	return nil
}

func earlier(a, b int64) int64 {
	if a == None || (b != None && b < a) {
		return b
	}
	return a
}

// findLost gives each worker the intervals of which nothing is known.
func (b *builder) findLost(endsOff bool) {
	m := b.m
	add := func(node, stream int, from, to int64) {
		if stream < len(m.Nodes[node].Workers) && from < to {
			w := &m.Nodes[node].Workers[stream]
			w.Lost = append(w.Lost, Interval{from, to})
		}
	}
	for _, s := range b.streams {
		for _, l := range s.Lost {
			m.LostCount += l.Count
			if l.Stream < 1<<16 {
				add(s.Node, int(l.Stream), l.First, l.Last)
			}
		}
	}
	for _, d := range b.damage {
		add(d.Node, d.Stream, d.From, d.To)
	}
	for id, w := range m.AllWorkers() {
		if w.Finished == None && !endsOff {
			add(id.Node, id.Worker, max(w.Last, m.Start), m.End)
		}
		w.Lost = joined(w.Lost, m.Start, m.End)
	}
}

// joined clips intervals to a range, orders them and joins those that touch.
func joined(list []Interval, from, to int64) []Interval {
	slices.SortFunc(list, func(x, y Interval) int { return cmp.Compare(x.From, y.From) })
	var out []Interval
	for _, v := range list {
		v.From, v.To = max(v.From, from), min(v.To, to)
		if v.From >= v.To {
			continue
		}
		if n := len(out); n > 0 && v.From <= out[n-1].To {
			out[n-1].To = max(out[n-1].To, v.To)
		} else {
			out = append(out, v)
		}
	}
	return out
}

// timesOf puts into w, the worker that s is, when it waited and was idle. It is no method of Worker: packages
// that import this one would compile all that such a method's parameters have of generic code once more.
func (s *stream) timesOf(w *Worker, m *Model) {
	w.Idle, w.Waits = s.idle, s.waits
	if s.idleSince != None {
		w.Idle = append(w.Idle, Interval{s.idleSince, m.End})
	}
	w.Idle = joined(w.Idle, m.Start, m.End)
	for i := range w.Waits {
		if w.Waits[i].To == None {
			w.Waits[i].To = m.End
		}
	}
	slices.SortStableFunc(w.Waits, func(x, y Wait) int { return cmp.Compare(x.From, y.From) })
	w.Off, w.Measured, w.CPU = s.off, s.spent, s.ran
}

// findProcesses works out the CPU time of each process: from the first reading to the last on any of its
// workers.
func (b *builder) findProcesses() {
	m := b.m
	type reading struct{ from, to, first, last int64 }
	readings := map[int]reading{}
	for _, s := range b.streams {
		p := m.Nodes[s.Node].Process
		if s.Process >= 0 {
			p = s.Process
			m.Nodes[s.Node].Process = p
		}
		r, ok := readings[p]
		if !ok {
			r = reading{from: None, to: None}
		}
		if s.Started != None && (r.from == None || s.Started < r.from) {
			r.from, r.first = s.Started, s.StartedCPU
		}
		if s.Finished != None && s.Finished > r.to {
			r.to, r.last = s.Finished, s.FinishedCPU
		}
		readings[p] = r
	}
	for i, p := range m.Info.Processes {
		m.process(i).Host, m.process(i).Cores = p.Host, p.Cores
	}
	for p, r := range readings {
		if p := m.process(p); r.from != None && r.to != None && r.last > r.first {
			p.CPU = r.last - r.first
		}
	}
}

func (m *Model) process(i int) *Process {
	for len(m.Processes) <= i {
		m.Processes = append(m.Processes, Process{CPU: -1})
	}
	return &m.Processes[i]
}
