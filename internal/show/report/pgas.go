package report

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/analysis/pattern"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// What the search for patterns found in a run with regions. pgas_tables.go and pgas_cube.go write the section
// about it.
//
// A run of regions alone, without CFs, has no critical path through CFs, no DFs to be held and nobody to
// blame for their lateness: those analyses are not tried, and errNoCFs says why. Its call paths, patterns and
// late threads stand in their place.

// errNoCFs is why analyses of CFs are not done.
var errNoCFs = errors.New("the program ran no CFs; call paths and patterns take their place")

// onlyRegions tells whether the run has regions and no CFs.
func (a *Everything) onlyRegions() bool {
	return (a.Pattern != nil || a.interval() != nil) && a.model != nil && slou.OnlyRegions(a.model)
}

// ofRanks tells whether the threads are the ranks of an MPI program.
func (a *Everything) ofRanks() bool { return a.model != nil && a.model.MPI() }

// ofTasks tells whether CFs are the tasks of an OpenMP program, or parts of them.
func (a *Everything) ofTasks() bool { return a.model != nil && a.model.OpenMP() }

// speaker writes in the language of the result and in the words of its program.
func (a *Everything) speaker() speaker {
	return speaker{words.LangOf(a.language), a.ofRanks(), a.ofTasks()}
}

// pgas is a pattern.Result with the sums that the report shows.
type pgas struct {
	*pattern.Result
	*author
	total    []int64   // by metric, over all call paths and threads
	byThread [][]int64 // by metric, then thread
	byCall   [][]int64 // by metric, then call path; of the call path itself
}

// newPGAS arranges what was found; nil where that is nothing.
func newPGAS(a *author) *pgas {
	r := a.Pattern
	if r == nil || len(r.Metrics) == 0 {
		return nil
	}
	p := &pgas{Result: r, author: a, total: make([]int64, len(r.Metrics))}
	for i := range r.Metrics {
		threads, calls := make([]int64, len(r.Threads)), make([]int64, len(r.Calls))
		for _, row := range r.Metrics[i].Rows {
			for t, v := range row.Values {
				threads[t] += v
				calls[row.Call] += v
				p.total[i] += v
			}
		}
		p.byThread, p.byCall = append(p.byThread, threads), append(p.byCall, calls)
	}
	return p
}

// metric finds a metric, -1 if it is not there.
func (p *pgas) metric(id string) int {
	return slices.IndexFunc(p.Metrics, func(m pattern.Metric) bool { return m.ID == id })
}

// above are the metrics that contain one, from the inside.
func (p *pgas) above(metric int) (out []int) {
	for at := p.Metrics[metric].Parent; at >= 0; at = p.Metrics[at].Parent {
		out = append(out, at)
	}
	return out
}

// inTime tells whether a metric is a part of all time, which is the first.
func (p *pgas) inTime(metric int) bool { return metric == 0 || slices.Contains(p.above(metric), 0) }

// functionKind is the kind of functions of the program.
var functionKind = trace.Function.String()

// otherWaits are metrics that are waiting without being one of the numbered patterns.
var otherWaits = []string{"wait-at-start-end", "await", "io", "sleep"}

func isWait(m *pattern.Metric) bool { return m.Pattern > 0 || slices.Contains(otherWaits, m.ID) }

// patterns are the metrics that are waiting and in no other such: the factor W.
func (p *pgas) patterns() (out []int) {
	for i := range p.Metrics {
		m := &p.Metrics[i]
		if isWait(m) && m.Reading == "" && p.inTime(i) &&
			!slices.ContainsFunc(p.above(i), func(at int) bool { return isWait(&p.Metrics[at]) }) {
			out = append(out, i)
		}
	}
	return out
}

// waited is what a thread lost to patterns.
func (p *pgas) waited(thread int) (ns int64) {
	for _, i := range p.patterns() {
		ns += p.byThread[i][thread]
	}
	return ns
}

// threadName names a thread: "3", or "3.1" where nodes have several.
func (p *pgas) threadName(i int) string {
	if i < 0 || i >= len(p.Threads) {
		return "?"
	}
	t := &p.Threads[i]
	s := strconv.Itoa(t.Node)
	if slices.ContainsFunc(p.Threads, func(t pattern.Thread) bool { return t.Stream > 0 }) {
		s += "." + strconv.Itoa(t.Stream)
	}
	return s
}

// placed is a name with its place in the source, "upc_barrier (is.c:12)", or without one that is not known.
func placed(name, file string, line int) string {
	if at := place(file, line).Text; at != "" {
		return name + " (" + at + ")"
	}
	return name
}

// callName is what a call path ends with.
func (p *pgas) callName(call int) string {
	c := &p.Calls[call]
	return placed(p.Regions[c.Region].Name, c.File, c.Line)
}

// callPath writes a call path: "main > rank > upc_barrier (is.c:12)".
func (p *pgas) callPath(call int) string {
	c := &p.Calls[call]
	return placed(p.Path(call), c.File, c.Line)
}

// loss is what one pattern cost at one call path.
type loss struct {
	metric, call int
	ns           int64
	late         *pattern.Late // who came last, nil where nobody did
}

// losses are the patterns by call path, largest first.
func (p *pgas) losses() (out []loss) {
	for _, i := range p.patterns() {
		for call, ns := range p.byCall[i] {
			if ns > 0 {
				out = append(out, loss{i, call, ns, p.lateAt(i, call)})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b loss) int { return cmp.Compare(b.ns, a.ns) })
	return out
}

// lateAt is who made others wait most at a call path.
func (p *pgas) lateAt(metric, call int) *pattern.Late {
	var best *pattern.Late
	for i := range p.Late {
		l := &p.Late[i]
		if l.Call == call && (l.Metric == metric || slices.Contains(p.above(l.Metric), metric)) &&
			(best == nil || l.NS > best.NS) {
			best = l
		}
	}
	return best
}

// parallel is how much of their time the threads worked, and what that is the product of; "" where that is
// not known.
func (s speaker) parallel(r *slou.Result) string {
	var sum, most, n int64
	for i := range r.Nodes {
		for j := range r.Nodes[i].Workers {
			u := r.Nodes[i].Workers[j].Factors.U
			if u == nil {
				return ""
			}
			sum, most, n = sum+u.NS, max(most, u.NS), n+1
		}
	}
	if sum == 0 || r.WallNS == 0 || r.Loss.NS > 0 {
		return ""
	}
	return s.say("%s = load balance %s x communication efficiency %s",
		shareOf(sum, n*r.WallNS), shareOf(sum, n*most), shareOf(most, r.WallNS))
}

// imbalance names the function whose time is spread most unevenly; "" where it is even. That operations take
// different times follows from that.
func (p *pgas) imbalance() string {
	over := p.metric("overload")
	if over < 0 {
		return ""
	}
	call, sum := -1, int64(0)
	for c, v := range p.byCall[over] {
		if p.Regions[p.Calls[c].Region].Kind != functionKind || v == 0 {
			continue
		}
		if sum += v; call < 0 || v > p.byCall[over][call] {
			call = c
		}
	}
	if call < 0 || float64(sum) < seldom*float64(p.total[0]) {
		return ""
	}
	var above []string
	values := p.valuesAt(over, call)
	for _, t := range largest(values)[:min(len(values), 3)] {
		if values[t] > 0 {
			above = append(above, p.say("thread %s by %s", p.threadName(t), words.Time(values[t])))
		}
	}
	return p.say("%s of the program's own time is above the threads' mean, mostly in %s (%s)", words.Time(sum),
		p.callPath(call), strings.Join(above, ", "))
}

// valuesAt are those of a metric at a call path, by thread.
func (p *pgas) valuesAt(metric, call int) []int64 {
	for _, row := range p.Metrics[metric].Rows {
		if row.Call == call {
			return row.Values
		}
	}
	return make([]int64, len(p.Threads))
}

// largest gives the indices of a list in the order of its values, largest first.
func largest(values []int64) []int {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[b], values[a]) })
	return order
}

// syncWords write the modes of a collective as a user does.
func syncWords(sync string) string {
	if sync == "" {
		return ""
	}
	in, out, _ := strings.Cut(sync, "/")
	return "IN_" + strings.ToUpper(in) + "SYNC, OUT_" + strings.ToUpper(out) + "SYNC"
}

// lockName names a lock: "queue_lock (queue.c:12)", or by its number.
func lockName(l *pattern.Lock) string { return placed(l.Name, l.File, l.Line) }
