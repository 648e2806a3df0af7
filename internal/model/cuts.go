package model

import (
	"fmt"
	"sort"
	"strings"
)

// Some of a worker's time is cut out before anything is said about its CFs: first what was not recorded, then
// what it waited for, then the times at which a debugger had stopped the program and the worker ran nothing,
// then those at which it held the CF that ran or that ran next.

// Cut is a stretch of a worker's time that is cut out.
type Cut struct {
	Interval
	Lost bool   // nothing is known of this time; otherwise the worker waited
	Name string // what the worker waited for
	CF   CF     // the atomic CF that ran, or that ran next; 0 if none did, or if the time was lost
	// As in Wait; What is its text.
	Blocked bool
	What    string
	Holder  CF
	Doing   Doing
}

// HeldName is the Name of cuts in which a debugger held the CF.
const HeldName = "held"

// StoppedName is the Name of cuts in which a debugger had stopped the program.
const StoppedName = "debug"

// ByDebugger reports whether the Name of a cut is a debugger's doing.
func ByDebugger(name string) bool { return name == HeldName || name == StoppedName }

// StoppedSetting is the setting of a run that tells when a debugger had stopped it: "FROM-TO FROM-TO", clock
// nanoseconds. ChangedSetting tells which values were changed by hand, one on a line.
const (
	StoppedSetting = "stopped"
	ChangedSetting = "changed by hand"
)

// stopped reads StoppedSetting; what cannot be read is left out.
func stopped(setting string) (list []Interval) {
	for _, text := range strings.Fields(setting) {
		var v Interval
		if n, err := fmt.Sscanf(text, "%d-%d", &v.From, &v.To); err == nil && n == 2 && v.From < v.To &&
			(len(list) == 0 || v.From >= list[len(list)-1].To) {
			list = append(list, v)
		}
	}
	return list
}

// Cuts lists what is cut out of a worker's time, in order and disjoint. waits are those of the worker,
// ordered by start, perhaps with others found since; of nested waits the inner one counts.
func (m *Model) Cuts(w *Worker, waits []Wait) []Cut {
	list := m.WaitCuts(w, waits)
	if len(m.Stopped) > 0 {
		list = Overlay(list, m.stoppedCuts(w))
	}
	if len(m.Held) > 0 {
		list = Overlay(list, m.heldCuts(w))
	}
	return list
}

// WaitCuts is Cuts without the times at which CFs were held.
func (m *Model) WaitCuts(w *Worker, waits []Wait) []Cut {
	var lost []Cut
	for _, v := range w.Lost {
		lost = append(lost, Cut{Interval: v, Lost: true})
	}
	return Overlay(lost, m.flatWaits(w, waits))
}

// flatWaits makes nested waits disjoint. Each is charged to the atomic CF that runs, or to the next one.
func (m *Model) flatWaits(w *Worker, waits []Wait) (out []Cut) {
	var open []Wait
	t, e := m.Start, w.First
	upTo := func(limit int64) {
		for len(open) > 0 {
			inner := open[len(open)-1]
			if to := min(inner.To, limit); to > t {
				c := Cut{Interval: Interval{t, to}, Name: inner.Name, Blocked: inner.Blocked, What: inner.Text(),
					Holder: inner.Holder, Doing: inner.Doing}
				for e < w.End && (!m.Atomic(m.ExecCF[e]) || m.ExecEnd[e] != None && m.ExecEnd[e] <= t) {
					e++
				}
				if e < w.End {
					c.CF = m.ExecCF[e]
				}
				out = append(out, c)
				t = to
			}
			if inner.To > limit {
				break
			}
			open = open[:len(open)-1]
		}
		t = max(t, limit)
	}
	for _, v := range waits {
		upTo(min(v.From, m.End))
		open = append(open, v)
	}
	upTo(m.End)
	return out
}

// stoppedCuts lists when the program was stopped and the worker ran no atomic CF: one that had begun ran to
// its end.
func (m *Model) stoppedCuts(w *Worker) (out []Cut) {
	e := m.NextAtomic(w, w.First)
	for _, v := range m.Stopped {
		from, until := max(v.From, m.Start), min(v.To, m.End)
		for from < until {
			for e < w.End && m.ExecEnd[e] != None && m.ExecEnd[e] <= from {
				e = m.NextAtomic(w, e+1)
			}
			to, next := until, until
			var cf CF
			if e < w.End {
				cf = m.ExecCF[e]
				if m.ExecStart[e] < until {
					to = m.ExecStart[e]
					if m.ExecEnd[e] != None {
						next = min(until, m.ExecEnd[e])
					}
				}
			}
			if from < to {
				out = append(out, Cut{Interval: Interval{from, to}, Name: StoppedName, CF: cf})
			}
			from = next
		}
	}
	return out
}

// heldCuts lists when the worker's atomic CFs were held, each from the end of the one before it to its own
// end.
func (m *Model) heldCuts(w *Worker) (out []Cut) {
	free := m.Start
	for e := m.NextAtomic(w, w.First); e < w.End; e = m.NextAtomic(w, e+1) {
		cf, end := m.ExecCF[e], m.ExecEnd[e]
		if end == None {
			end = m.End
		}
		end = min(end, m.End)
		for _, v := range m.Held[cf] {
			if from, to := max(v.From, free), min(v.To, end); from < to {
				out = append(out, Cut{Interval: Interval{from, to}, Name: HeldName, CF: cf})
				free = to
			}
		}
		free = max(free, end)
	}
	return out
}

// Overlay joins two ordered lists of disjoint cuts. Where they overlap, the first list counts.
func Overlay(first, second []Cut) []Cut {
	switch {
	case len(first) == 0:
		return second
	case len(second) == 0:
		return first
	}
	out := make([]Cut, 0, len(first)+len(second))
	i := 0
	for _, c := range second {
		for c.From < c.To {
			for i < len(first) && first[i].To <= c.From {
				out = append(out, first[i])
				i++
			}
			if i == len(first) || first[i].From >= c.To {
				out = append(out, c)
				break
			}
			if before := c; c.From < first[i].From {
				before.To = first[i].From
				out = append(out, before)
			}
			c.From = max(c.From, first[i].To)
		}
	}
	return append(out, first[i:]...)
}

// CutsWithin gives the cuts of an ordered list that share time with an interval.
func CutsWithin(list []Cut, from, to int64) []Cut {
	i := sort.Search(len(list), func(i int) bool { return list[i].To > from })
	n := sort.Search(len(list)-i, func(k int) bool { return list[i+k].From >= to })
	return list[i : i+n]
}
