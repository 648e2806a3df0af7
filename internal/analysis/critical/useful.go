package critical

import (
	"sort"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
)

// What a worker did while it executed a CF, as in SLOU: what was not recorded and waits (or a debugger's hold) are cut
// out; of the rest, U is as much as the thread had the processor for, what is left is O.preempt.

// cut is a stretch of a worker's time that was lost or in which it waited.
type cut struct {
	from, to int64
	factor   slou.Factor
	name     string // of what was waited for
}

// cuts lists what is cut out of a worker's time, in order and disjoint.
func cuts(w *model.Worker, end int64) []cut {
	if len(w.Lost)+len(w.Waits) == 0 {
		return nil
	}
	lost := make([]cut, len(w.Lost))
	for i, v := range w.Lost {
		lost[i] = cut{v.From, v.To, slou.FactorLoss, ""}
	}
	// Of waits within waits the inner one counts.
	var waits []cut
	var open []model.Wait
	at := model.None
	upTo := func(limit int64) {
		for len(open) > 0 {
			top := open[len(open)-1]
			if to := min(top.To, limit); to > at {
				waits = append(waits, cut{at, to, slou.FactorW, top.Name})
				at = to
			}
			if top.To > limit {
				break
			}
			open = open[:len(open)-1]
		}
		at = max(at, limit)
	}
	for _, v := range w.Waits {
		upTo(min(v.From, end))
		open = append(open, v)
	}
	upTo(end)
	return overlay(lost, waits)
}

// overlay joins two lists in order; where they overlap, the first counts.
func overlay(first, second []cut) (out []cut) {
	for _, c := range second {
		for len(first) > 0 && first[0].from < c.to {
			f := first[0]
			if c.from < f.from {
				out = append(out, cut{c.from, f.from, c.factor, c.name})
			}
			c.from = max(c.from, f.to)
			if f.to > c.to {
				break
			}
			out, first = append(out, f), first[1:]
		}
		if c.from < c.to {
			out = append(out, c)
		}
	}
	return append(out, first...)
}

// heldName is the part of W for CFs that a debugger stopped.
const heldName = "held"

// divide calls visit for each part of the time between from and to that a worker spent on a CF, in order: what is cut
// out, and the rest as U.
func divide(list []cut, held []model.Interval, from, to int64, visit func(cut)) {
	plain := func(from, to int64) {
		for _, v := range held {
			if v.From >= to {
				break
			}
			if v.To <= from {
				continue
			}
			if from < v.From {
				visit(cut{from, v.From, slou.FactorU, ""})
			}
			from = max(from, v.From)
			visit(cut{from, min(v.To, to), slou.FactorW, heldName})
			from = min(v.To, to)
		}
		if from < to {
			visit(cut{from, to, slou.FactorU, ""})
		}
	}
	i := sort.Search(len(list), func(i int) bool { return list[i].to > from })
	for ; i < len(list) && list[i].from < to; i++ {
		c := list[i]
		if from < c.from {
			plain(from, c.from)
		}
		c.from, c.to = max(c.from, from), min(c.to, to)
		visit(c)
		from = c.to
	}
	if from < to {
		plain(from, to)
	}
}

// findUseful gives the useful time of every execution of a worker; structured CFs have none. As in SLOU, executions of
// atomic CFs do not overlap: where one starts, that before has ended.
func findUseful(m *model.Model, w *model.Worker, useful []int64) {
	list := cuts(w, m.End)
	a, last := m.Start, -1
	finish := func(limit int64) {
		if last < 0 {
			return
		}
		start := min(max(m.ExecStart[last], a), m.End)
		end := min(max(min(endOf(m, last), limit), start), m.End)
		useful[last] = usefulIn(m, list, last, start, end)
		a = end
	}
	for e := w.First; e < w.End; e++ {
		useful[e] = 0
		if m.Atomic(m.ExecCF[e]) {
			finish(m.ExecStart[e])
			last = e
		}
	}
	finish(m.End)
}

// usefulIn is the useful time of an execution that lasts from start to end.
func usefulIn(m *model.Model, list []cut, e int, start, end int64) int64 {
	free := end - start
	held := heldOf(m, m.ExecCF[e])
	if len(list) > 0 || len(held) > 0 {
		free = 0
		divide(list, held, start, end, func(c cut) {
			if c.factor == slou.FactorU {
				free += c.to - c.from
			}
		})
	}
	if cpu := m.ExecCPU[e]; cpu >= 0 {
		return min(cpu, free)
	}
	return free
}

// heldOf gives the times at which a debugger held a CF.
func heldOf(m *model.Model, cf model.CF) []model.Interval {
	if len(m.Held) == 0 {
		return nil
	}
	return m.Held[cf]
}
