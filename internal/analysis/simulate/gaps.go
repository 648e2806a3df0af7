package simulate

import (
	"cmp"
	"math"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
)

// What a worker does between two executions is not recorded by itself: it stores values, creates CFs, looks
// at CFs and sets them aside, sends, wakes others, and takes the next CF. But it is known how often it did
// each. The costs are those with which the lengths of all gaps are explained best (least squares, none below
// 0), scaled so that they explain the whole of the time: what is rare but long counts too.

// what a worker does in a gap
const (
	dispatch = iota
	structured
	wait
	send
	post
	signal
	child
	tasks
)

var gapNames = [...]string{dispatch: "dispatch", structured: "structured", wait: "wait", send: "send",
	post: "post", signal: "signal"}

// gap is the time between two executions of a worker that did not park, and how often it did what.
type gap struct {
	node      int
	execution int // of the model, that ends it
	from, to  int64
	ns        float64 // without waiting for a core that another program had
	times     [tasks]float64
}

type gaps []gap

// moments are times at which something was done at a node. Each is shared by the gaps that it lies in: of
// several workers nobody knows which one did it. In none it was the work of another thread.
type moments struct {
	at    []int64
	among []float64
}

func (m *moments) sort() {
	slices.Sort(m.at)
	m.among = make([]float64, len(m.at))
}

// in gives the moments of an interval with its ends: first <= i < end.
func (m *moments) in(from, to int64) (first, end int) {
	first, _ = slices.BinarySearch(m.at, from)
	end, _ = slices.BinarySearch(m.at, to+1)
	return first, end
}

// gapsOf lists the gaps of a run; what one created CF takes inside structured ones, and the times from the
// readiness of a CF to the moment at which a parked worker was awake for it. own is the part of waiting for
// cores that the run-time system's own threads are the reason for.
func gapsOf(m *model.Model, own float64) (list gaps, create float64, wake []float64) {
	doing := make([][tasks]moments, len(m.Nodes))
	add := func(node, what int, t int64) {
		if t != model.None && node >= 0 && node < len(doing) {
			doing[node][what].at = append(doing[node][what].at, t)
		}
	}
	for i, cf := range m.Awaits.CF {
		add(m.NodeAt(cf, m.Awaits.Time[i]), wait, m.Awaits.Time[i])
	}
	for _, list := range [][]model.Message{m.DFMessages, m.Requests, m.Moves} {
		for i := range list {
			add(int(list[i].From), send, list[i].Sent)
		}
	}
	ready := make([][]int64, len(m.Nodes))
	for cf, t := range m.Ready {
		if t != model.None {
			if n := m.NodeAt(model.CF(cf), t); n >= 0 && n < len(ready) {
				ready[n] = append(ready[n], t)
			}
		}
	}
	for _, times := range ready {
		slices.Sort(times)
	}
	made := make([]float64, m.Executions()) // values, by execution
	for _, by := range m.MadeBy {
		if e := m.ExecOf[by]; by != 0 && e != 0 {
			made[e-1]++
		}
	}
	busy := m.BusyUntil()
	inside, created := 0.0, 0.0 // time in structured CFs, and what they made
	for id, w := range m.AllWorkers() {
		for _, idle := range w.Idle {
			times := ready[id.Node]
			if i, _ := slices.BinarySearch(times, idle.From); i < len(times) && times[i] < idle.To {
				wake = append(wake, float64(idle.To-times[i]))
				add(id.Node, signal, times[i])
			}
		}
		for e := w.First; e < w.End; e++ {
			cf := m.ExecCF[e]
			g := gap{node: id.Node, execution: e, from: model.None, to: m.ExecStart[e]}
			if e > w.First {
				before := m.ExecCF[e-1]
				g.from, g.times[post] = busy[e-1], made[e-1]
				if !m.Atomic(before) {
					g.times[child] = children(m, before)
				}
			}
			what := dispatch
			if !m.Atomic(cf) {
				what = structured
				inside, created = inside+float64(busy[e]-g.to), created+1+children(m, cf)
			}
			if g.from == model.None || g.to < g.from || parked(w, g.from, g.to) {
				continue
			}
			g.times[what] = 1
			g.ns = float64(g.to - g.from)
			if off, ok := w.OffOf(e); ok {
				g.ns = max(0, g.ns-(1-own)*float64(off.Before))
			}
			list = append(list, g)
		}
	}
	for n := range doing {
		for what := range doing[n] {
			doing[n][what].sort()
		}
	}
	for _, g := range list {
		for what := range doing[g.node] {
			all := &doing[g.node][what]
			for i, end := all.in(g.from, g.to); i < end; i++ {
				all.among[i]++
			}
		}
	}
	for k := range list {
		g := &list[k]
		for what := range doing[g.node] {
			all := &doing[g.node][what]
			for i, end := all.in(g.from, g.to); i < end; i++ {
				g.times[what] += 1 / all.among[i]
			}
		}
	}
	return list, inside / max(1, created), wake
}

// startOf is the time from the start of the first worker to that of the first CF.
func startOf(m *model.Model) float64 {
	first, began := int64(math.MaxInt64), int64(math.MaxInt64)
	for _, w := range m.AllWorkers() {
		if w.Started != model.None {
			began = min(began, w.Started)
		}
		if w.First < w.End {
			first = min(first, m.ExecStart[w.First])
		}
	}
	if began == math.MaxInt64 || first < began {
		return 0
	}
	return float64(first - began)
}

// children is how many CFs an execution of a CF created, on average.
func children(m *model.Model, cf model.CF) float64 {
	return float64(len(m.ChildrenOf(cf))) / float64(max(1, m.ExecNumber[m.ExecOf[cf]-1]))
}

// parked tells whether a worker parked in an interval.
func parked(w *model.Worker, from, to int64) bool {
	i, _ := slices.BinarySearchFunc(w.Idle, to, func(i model.Interval, t int64) int {
		return cmp.Compare(i.From, t)
	})
	return i > 0 && w.Idle[i-1].From >= from
}

// fit finds what one of each takes, and in how many gaps it was done.
func (list gaps) fit() (ns [tasks]float64, counts [tasks]int) {
	if len(list) == 0 {
		return ns, counts
	}
	lengths := make([]float64, len(list))
	for i := range list {
		lengths[i] = list[i].ns
	}
	slices.Sort(lengths)
	most := 10 * lengths[len(lengths)*3/4] // longer ones are rare, and would decide alone
	var a [tasks][tasks]float64
	var b [tasks]float64
	total := 0.0
	for _, g := range list {
		total += g.ns
		for i, x := range g.times {
			if x == 0 {
				continue
			}
			counts[i]++
			b[i] += x * min(g.ns, most)
			for j, y := range g.times {
				a[i][j] += x * y
			}
		}
	}
	// Coordinate descent: each step takes the best value of one, the others being as they are.
	for range 1000 {
		change := 0.0
		for i := range ns {
			if a[i][i] == 0 {
				continue
			}
			rest := b[i]
			for j := range ns {
				if j != i {
					rest -= a[i][j] * ns[j]
				}
			}
			v := max(0, rest/a[i][i])
			change = max(change, math.Abs(v-ns[i]))
			ns[i] = v
		}
		if change < 0.01 {
			break
		}
	}
	explained := 0.0
	for _, g := range list {
		explained += g.explained(&ns)
	}
	if explained > 0 {
		for i := range ns {
			ns[i] *= total / explained
		}
	}
	return ns, counts
}

// explained is what a gap takes by these costs.
func (g *gap) explained(ns *[tasks]float64) (sum float64) {
	for i, x := range g.times {
		sum += x * ns[i]
	}
	return sum
}

// odd notes by how much gaps were longer than these costs explain, by the execution that ends them. What was
// shorter cannot be shorter than nothing without its dispatch; those that were longer make up for that.
func (list gaps) odd(ns *[tasks]float64, odd []float32, index []uint32) {
	longer, shorter := 0.0, 0.0
	each := func(do func(g *gap, off float64)) {
		for i := range list {
			g := &list[i]
			least := -ns[dispatch]
			if g.times[structured] > 0 {
				least = -ns[structured]
			}
			do(g, max(least, g.ns-g.explained(ns)))
		}
	}
	each(func(_ *gap, off float64) {
		longer += max(0, off)
		shorter += max(0, -off)
	})
	if longer == 0 {
		return
	}
	each(func(g *gap, off float64) {
		if off > 0 {
			off *= shorter / longer
		}
		odd[index[g.execution]] = float32(off)
	})
}
