package division

import "slices"

// idleSum is how long a worker was parked while its program ran, and of what state that is.
type idleSum struct {
	ns, start, end int64
	count          int
	epoch          uint32
}

// extraCores is the processor time that the processes used beyond that of their workers while these were not parked, as slou
// reckons it: of processes of which all is known, once their workers have finished.
func (d *Division) extraCores() (extra int64) {
	type reading struct {
		from, to, first, last int64
		awake                 int64
		unknown               bool
	}
	readings := map[int]*reading{}
	process := map[*node]int{}
	of := func(p int) *reading {
		if readings[p] == nil {
			readings[p] = &reading{from: none, to: none}
		}
		return readings[p]
	}
	for _, n := range d.nodes {
		if n == nil {
			continue
		}
		if info := d.info.Node(n.number); info != nil {
			process[n] = max(info.Process, 0)
		}
		for _, s := range n.streams {
			if s.process >= 0 {
				process[n] = s.process
			}
			r := of(process[n])
			if t := n.clock.fix(s.started); t != none && (r.from == none || t < r.from) {
				r.from, r.first = t, s.startedCPU
			}
			if t := n.clock.fix(s.finished); t != none && t > r.to {
				r.to, r.last = t, s.finishedCPU
			}
		}
	}
	for w := range d.eachWorker {
		r := of(process[w.node])
		if w.stream == nil || w.stream.started == none || w.stream.finished == none || w.lost() {
			r.unknown = true
			continue
		}
		from, to := d.at(w.stream.started, w.stream.number), d.at(w.stream.finished, w.stream.number)
		r.awake += max(to-from, 0) - w.idleTime(from, to)
	}
	for _, r := range readings {
		if !r.unknown && r.from != none && r.to != none && r.last > r.first {
			extra += max(r.last-r.first-r.awake, 0)
		}
	}
	return extra
}

// lost tells that something of a worker was not recorded.
func (w *worker) lost() bool {
	return slices.ContainsFunc(w.losses(), func(c cut) bool { return c.from < w.d.end })
}

// idleTime is how long a worker was parked between two times.
func (w *worker) idleTime(from, to int64) int64 {
	d, s, k := w.d, w.stream, &w.idled
	count := 2*len(s.idle) + 1
	if s.idleSince != none {
		count++
	}
	if k.count == count && k.start == d.start && k.end == d.end && k.epoch == d.epoch {
		return k.ns
	}
	*k = idleSum{start: d.start, end: d.end, count: count, epoch: d.epoch, ns: s.idled}
	list := make([]span, 0, len(s.idle)+1)
	for _, v := range s.idle {
		list = append(list, d.fixSpan(v, s.number))
	}
	if s.idleSince != none {
		list = append(list, span{d.at(s.idleSince, s.number), d.end})
	}
	for i := range list {
		list[i] = span{max(list[i].from, d.start), min(list[i].to, d.end)}
	}
	for _, v := range joined(list, 0) {
		k.ns += max(min(v.to, to)-max(v.from, from), 0)
	}
	return k.ns
}
