package report

import (
	"fmt"
	"html/template"

	"github.com/whyslow/whyslow/internal/analysis/pattern"
)

// cube is the three columns. The tables show all time; where scripts run, page.js lets the reader choose a
// metric and a call path and fills in the numbers from Data, whose lists are in the order of the tables'
// rows.
type cube struct {
	Metrics, Calls, Threads *grid
	Data                    cubeData
}

type cubeData struct {
	Units   []string   `json:"units"`  // by metric: "ns", "occ", "bytes"
	Parents []int      `json:"calls"`  // of the call paths
	Rows    [][][2]any `json:"rows"`   // by metric: call path and values by thread
	Metrics []int      `json:"metric"` // parents of the metrics
}

// What the page shows of a large run: beyond these, call paths count with the one that leads to them, and
// threads as one.
const (
	cubeCalls   = 400
	cubeThreads = 128
)

func newCube(p *pgas) *cube {
	c := &cube{}
	keep, to := p.shownCalls()
	threads := min(len(p.Threads), cubeThreads)
	joined := len(p.Threads) - threads
	if joined > 0 {
		threads++
	}
	c.Metrics = p.grid("Metrics", "metric", "#total", "~")
	c.Calls = p.grid("Call paths", "call path", "#total|with the call paths below", "#own", "~")
	c.Threads = p.grid("Threads", "thread", "#time", "~")
	for _, g := range []*grid{c.Metrics, c.Calls, c.Threads} {
		g.Plain = true
	}
	all := p.total[0]
	place := make([]int, len(p.Metrics)) // in the column
	for i := range p.Metrics {
		m := &p.Metrics[i]
		if i > 0 && p.total[i] == 0 {
			continue // nothing of it, and of what it contains
		}
		place[i] = len(c.Data.Units)
		whole := p.total[i]
		for at := i; at >= 0; at = p.Metrics[at].Parent {
			whole = p.total[at] // of the root
		}
		name := cell{Text: m.Name, Tip: m.Doc, Class: depthClass(p.depth(i))}
		c.Metrics.add([]cell{name, {Text: p.amount(p.total[i], m.Unit), Value: fmt.Sprint(p.total[i])},
			cubeBar(p.total[i], whole)})
		c.Data.Units = append(c.Data.Units, string(m.Unit))
		parent := -1
		if m.Parent >= 0 {
			parent = place[m.Parent]
		}
		c.Data.Metrics = append(c.Data.Metrics, parent)
		c.Data.Rows = append(c.Data.Rows, cubeRows(m, to, threads))
	}
	own, below := make([]int64, len(keep)), make([]int64, len(keep))
	for call, ns := range p.byCall[0] {
		own[to[call]] += ns
	}
	depth := make([]int, len(keep))
	for i, call := range keep {
		parent := -1
		if up := p.Calls[call].Parent; up >= 0 {
			parent = to[up]
			depth[i] = depth[parent] + 1
		}
		c.Data.Parents = append(c.Data.Parents, parent)
	}
	copy(below, own)
	for i := len(keep) - 1; i >= 0; i-- {
		if up := c.Data.Parents[i]; up >= 0 {
			below[up] += below[i]
		}
	}
	for i, call := range keep {
		c.Calls.add([]cell{{Text: p.callName(call), Class: depthClass(depth[i]), Tip: p.callPath(call)},
			timeCell(below[i]), timeCell(own[i]), cubeBar(below[i], all)})
	}
	for i := range threads {
		name, ns := p.say("thread %s", p.threadName(i)), int64(0)
		if joined > 0 && i == threads-1 {
			name = p.say("%s", counted(int64(joined), "other"))
			for _, v := range p.byThread[0][i:] {
				ns += v
			}
		} else {
			ns = p.byThread[0][i]
		}
		c.Threads.add([]cell{word(name), timeCell(ns), cubeBar(ns, all)})
	}
	return c
}

// shownCalls chooses the call paths to show, those with the most time and what leads to them, and gives for
// every call path the place among them of the one that it counts with.
func (p *pgas) shownCalls() (keep, to []int) {
	below := make([]int64, len(p.Calls))
	copy(below, p.byCall[0])
	for i := len(p.Calls) - 1; i >= 0; i-- {
		if up := p.Calls[i].Parent; up >= 0 {
			below[up] += below[i]
		}
	}
	shown := make([]bool, len(p.Calls))
	shown[0] = true // what has no place of its own counts with it
	n := 1
	for _, call := range largest(below) {
		if n >= cubeCalls {
			break
		}
		for at := call; at >= 0 && !shown[at]; at = p.Calls[at].Parent {
			shown[at] = true
			n++
		}
	}
	to = make([]int, len(p.Calls))
	for i := range p.Calls {
		switch up := p.Calls[i].Parent; {
		case shown[i]:
			to[i] = len(keep)
			keep = append(keep, i)
		case up >= 0:
			to[i] = to[up]
		}
	}
	return keep, to
}

// cubeRows are the values of a metric at the shown call paths, by shown thread.
func cubeRows(m *pattern.Metric, to []int, threads int) [][2]any {
	out := [][2]any{}
	at := map[int][]int64{}
	for _, row := range m.Rows {
		call := to[row.Call]
		values := at[call]
		if values == nil {
			values = make([]int64, threads)
			at[call] = values
			out = append(out, [2]any{call, values})
		}
		for t, v := range row.Values {
			values[min(t, threads-1)] += v
		}
	}
	return out
}

// depthClass indents a row of a tree.
func depthClass(depth int) string {
	if depth == 0 {
		return ""
	}
	return fmt.Sprintf("d%d", min(depth, 8))
}

// cubeBar is a bar that the script may change: it has a rectangle even where nothing is to be drawn.
func cubeBar(v, of int64) cell {
	part := 0.0
	if of > 0 {
		part = 100 * float64(v) / float64(of)
	}
	return cell{
		Plot: template.HTML(fmt.Sprintf(`<svg class="strip" aria-hidden="true" width="100%%" height="10">`+
			`<rect class="a" width="%.2f%%" height="10"/></svg>`, max(min(part, 100), 0)))}
}
