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
// 0). What they do not explain stays with the execution before which it was seen.

// what a worker does in a gap
const (
	dispatch = iota
	structured
	wait
	send
	copying // of values that are sent, in MiB
	post
	signal
	park
	child
	tasks
)

var gapNames = [...]string{dispatch: "dispatch", structured: "structured", wait: "wait", send: "send",
	copying: "copy", post: "post", signal: "signal", park: "park"}

// A value that is sent takes time to copy from this size on.
const leastCopied = 32 << 10

// gap is the time between two executions of a worker in which it was not parked, and how often it did what.
type gap struct {
	node      int
	execution int // of the model, that ends it
	from, to  int64
	idle      []model.Interval
	ns        float64 // without waiting for a core that another program had
	times     [tasks]float64
}

type gaps []gap

// awake gives the parts of a gap in which the worker was not parked.
func (g *gap) awake(yield func(from, to int64) bool) {
	from := g.from
	for _, i := range g.idle {
		if !yield(from, i.From) {
			return
		}
		from = i.To
	}
	yield(from, g.to)
}

// moments are times at which something was done at a node. Each is shared by the gaps that it lies in: of
// several workers nobody knows which one did it. In none it was the work of another thread.
type moments []moment

type moment struct {
	at           int64
	often, among float64
}

func (m moments) find(t int64) int {
	i, _ := slices.BinarySearchFunc(m, t, func(m moment, t int64) int { return cmp.Compare(m.at, t) })
	return i
}

// in gives the moments of a gap.
func (m moments) in(g *gap, do func(m *moment)) {
	for from, to := range g.awake {
		for i := m.find(from); i < len(m) && m[i].at <= to; i++ {
			do(&m[i])
		}
	}
}

// wakes are the times from the queueing of a CF to the moment at which a parked worker was awake for it, in
// their order: by another worker, or by a message, whose thread hands the core to the worker.
type wakes struct{ signalled, resumed []float64 }

// gapsOf lists the gaps of a run; what one created CF takes inside structured ones, and how long parked
// workers took to be awake. own is the part of waiting for cores that the run-time system's own threads are
// the reason for.
func gapsOf(m *model.Model, own float64) (list gaps, create float64, woken wakes) {
	doing := make([][tasks]moments, len(m.Nodes))
	add := func(node, what int, t int64, often float64) {
		if t != model.None && node >= 0 && node < len(doing) {
			doing[node][what] = append(doing[node][what], moment{at: t, often: often})
		}
	}
	for i, cf := range m.Awaits.CF {
		add(m.NodeAt(cf, m.Awaits.Time[i]), wait, m.Awaits.Time[i], 1)
	}
	came := map[arrival]bool{}
	for _, f := range flights(m, 0, 0, 0) {
		came[arrival{f.to, f.received}] = true
		if f.answered { // by the thread that receives messages
			continue
		}
		add(f.from, send, f.sent, 1)
		if f.bytes >= leastCopied {
			add(f.from, copying, f.sent, float64(f.bytes)/(1<<20))
		}
		if f.alone {
			add(f.from, signal, f.sent, 1)
		}
	}
	queued := queuedIn(m)
	made := make([]float64, m.Executions()) // values, by execution
	for _, by := range m.MadeBy {
		if e := m.ExecOf[by]; by != 0 && e != 0 {
			made[e-1]++
		}
	}
	busy := m.BusyUntil()
	inside, created := 0.0, 0.0 // time in structured CFs, and what they made
	idle := make([][]model.Interval, len(m.Nodes))
	for id, w := range m.AllWorkers() {
		idle[id.Node] = append(idle[id.Node], w.Idle...)
	}
	var signalled, resumed []model.Interval
	for n := range idle {
		for _, i := range wakeUps(idle[n], queued[n]) {
			if came[arrival{n, i.From}] {
				resumed = append(resumed, i)
			} else {
				signalled = append(signalled, i)
				add(n, signal, i.From, 1)
			}
		}
	}
	for id, w := range m.AllWorkers() {
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
			if g.from == model.None || g.to < g.from {
				continue
			}
			g.idle = idleIn(w, g.from, g.to)
			g.times[what], g.times[park] = 1, float64(len(g.idle))
			for from, to := range g.awake {
				g.ns += float64(to - from)
			}
			if off, ok := w.OffOf(e); ok {
				g.ns = max(0, g.ns-(1-own)*float64(off.Before))
			}
			list = append(list, g)
		}
	}
	for n := range doing {
		for what := range doing[n] {
			slices.SortFunc(doing[n][what], func(a, b moment) int { return cmp.Compare(a.at, b.at) })
		}
	}
	for k := range list {
		for what := range doing[list[k].node] {
			doing[list[k].node][what].in(&list[k], func(m *moment) { m.among++ })
		}
	}
	for k := range list {
		g := &list[k]
		for what := range doing[g.node] {
			doing[g.node][what].in(g, func(m *moment) { g.times[what] += m.often / m.among })
		}
	}
	return list, inside / max(1, created), wakes{lengths(signalled), lengths(resumed)}
}

// queuedIn tells when CFs were queued at each node, in order: when they were created or came there, and when
// those that had been set aside got what they waited for, the first of what was missing.
func queuedIn(m *model.Model) [][]int64 {
	list := make([][]int64, len(m.Nodes))
	add := func(n int, t int64) {
		if t != model.None && n >= 0 && n < len(list) {
			list[n] = append(list[n], t)
		}
	}
	for cf := range m.CFs() {
		t := m.Created[cf]
		for _, move := range m.MovesOf(cf) {
			t = move.Received
		}
		add(m.NodeAt(cf, t), t)
	}
	for i, cf := range m.Awaits.CF {
		since := m.Awaits.Time[i]
		if missing := m.Awaits.Of(i); len(missing) > 0 {
			n := m.NodeAt(cf, since)
			add(n, arrivalOf(m, missing[0], n, since))
		}
	}
	for _, times := range list {
		slices.Sort(times)
	}
	return list
}

// arrivalOf is when a DF was there for a CF that waited for it at a node since some time.
func arrivalOf(m *model.Model, df model.DF, node int, since int64) int64 {
	for _, i := range m.Receipts(df, node) {
		if t := m.DFMessages[i].Received; t >= since {
			return t
		}
	}
	first, end := m.Creations(df)
	for i := first; i < end; i++ {
		if m.MadeTime[i] >= since && int(m.MadeNode[i]) == node {
			return m.MadeTime[i]
		}
	}
	return model.None
}

// wakeUps are the times from the queueing of CFs to the moments at which parked workers of their node were
// awake, given the times for which those were parked. A CF wakes one.
func wakeUps(idle []model.Interval, queued []int64) (list []model.Interval) {
	slices.SortFunc(idle, func(a, b model.Interval) int { return cmp.Compare(a.To, b.To) })
	used := make([]bool, len(queued))
	for _, w := range idle {
		for i, _ := slices.BinarySearch(queued, w.From); i < len(queued) && queued[i] < w.To; i++ {
			if !used[i] {
				used[i] = true
				list = append(list, model.Interval{From: queued[i], To: w.To})
				break
			}
		}
	}
	return list
}

// arrival is the time at which a node received a message.
type arrival struct {
	node int
	at   int64
}

// lengths are those of intervals, in the order of their beginnings.
func lengths(list []model.Interval) (ns []float64) {
	slices.SortFunc(list, func(a, b model.Interval) int { return cmp.Compare(a.From, b.From) })
	for _, i := range list {
		ns = append(ns, float64(i.To-i.From))
	}
	return ns
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

// idleIn lists the times in an interval for which a worker was parked.
func idleIn(w *model.Worker, from, to int64) []model.Interval {
	first, _ := slices.BinarySearchFunc(w.Idle, from, func(i model.Interval, t int64) int {
		return cmp.Compare(i.From, t)
	})
	end := first
	for end < len(w.Idle) && w.Idle[end].To <= to {
		end++
	}
	return w.Idle[first:end]
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
	for k := range list {
		g := &list[k]
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
// shorter cannot be shorter than nothing without its dispatch; those that were longer make up for that, so
// that the sum is right.
func (list gaps) odd(ns *[tasks]float64, odd []float32, index []uint32) {
	off := make([]float64, len(list))
	longer, rest := 0.0, 0.0 // of all gaps beyond what is explained
	for i := range list {
		g := &list[i]
		least := -ns[dispatch]
		if g.times[structured] > 0 {
			least = -ns[structured]
		}
		off[i] = g.ns - g.explained(ns)
		rest += off[i]
		off[i] = max(least, off[i])
		longer += max(0, off[i])
		rest -= min(0, off[i])
	}
	for i, v := range off {
		if v > 0 {
			v *= max(0, rest/longer)
		}
		odd[index[list[i].execution]] = float32(v)
	}
}
