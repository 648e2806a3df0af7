package model

// NextAtomic gives the first execution of an atomic CF on a worker from execution e on; w.End if there is
// none.
func (m *Model) NextAtomic(w *Worker, e int) int {
	for e < w.End && !m.Atomic(m.ExecCF[e]) {
		e++
	}
	return e
}

// LastAtomic gives the last execution of an atomic CF on a worker before execution e; less than w.First if
// there is none.
func (m *Model) LastAtomic(w *Worker, e int) int {
	for e--; e >= w.First && !m.Atomic(m.ExecCF[e]); {
		e--
	}
	return e
}

// EndedBefore gives the last execution of an atomic CF on a worker before execution e that has an end; -1 if
// there is none.
func (m *Model) EndedBefore(w *Worker, e int) int {
	for e--; e >= w.First; e-- {
		if m.ExecEnd[e] != None && m.Atomic(m.ExecCF[e]) {
			return e
		}
	}
	return -1
}

// EndOf gives the end of an execution; one that did not end lasts as long as the run.
func (m *Model) EndOf(e int) int64 {
	if m.ExecEnd[e] == None {
		return m.End
	}
	return max(m.ExecEnd[e], m.ExecStart[e])
}

// BusyUntil gives, by execution, how long it kept its worker busy. A structured CF makes CFs and posts values
// after the event that says it has finished; that lasts until the last CF it made before its worker went on.
// One that lasts while its worker executes others, such as a parallel region, keeps it busy up to the first.
func (m *Model) BusyUntil() []int64 {
	until := Make[int64](m, m.Executions())
	for e := range until {
		until[e] = m.EndOf(e)
	}
	for _, w := range m.AllWorkers() {
		for e := w.First; e+1 < w.End; e++ {
			if next := m.ExecStart[e+1]; next < until[e] && !m.Atomic(m.ExecCF[e]) {
				until[e] = max(next, m.ExecStart[e])
			}
		}
	}
	for i, t := range m.Created {
		cf := CF(i)
		parent := m.Parent[cf]
		if t == None || parent == 0 || m.Atomic(parent) {
			continue
		}
		e, ok := m.Execution(parent, m.ParentExec[cf])
		if !ok || t <= until[e] {
			continue
		}
		w, node := m.WorkerOf(e)
		if w != nil && int(node) == m.CFID(cf).Node() && (e+1 == w.End || t <= m.ExecStart[e+1]) {
			until[e] = min(t, m.End)
		}
	}
	return until
}

// Occupied gives when an execution occupied its worker, in nanoseconds on the common clock, within the run.
//
// A worker executes one atomic CF at a time: an atomic CF stops occupying it when the next one starts, even
// where its recorded end is later or missing. So the intervals of a worker's atomic CFs never overlap.
// Structured CFs run between and around them. A structured CF that has no end stops at the next start on its
// worker.
func (m *Model) Occupied(w *Worker, e int) Interval {
	end := m.ExecEnd[e]
	next := e + 1
	if m.Atomic(m.ExecCF[e]) {
		if end == None {
			end = m.End
		}
		// Executions are in order of start: where the next of any kind starts later, so does the next atomic one.
		if next < w.End && m.ExecStart[next] < end {
			if next = m.NextAtomic(w, next); next < w.End {
				end = min(end, m.ExecStart[next])
			}
		}
	} else if end == None {
		if end = m.End; next < w.End {
			end = m.ExecStart[next]
		}
	}
	from := min(max(m.ExecStart[e], m.Start), m.End)
	return Interval{from, min(max(end, from), m.End)}
}

// LastGiven gives, by DF, the latest end of an execution that was given it; None for never.
func (m *Model) LastGiven() []int64 {
	last := Make[int64](m, m.DFs())
	for df := range last {
		last[df] = None
	}
	for e := range m.ExecCF {
		end := m.EndOf(e)
		for _, df := range m.Inputs(e) {
			last[df] = max(last[df], end)
		}
	}
	return last
}
