package report

import (
	"fmt"
	"html/template"

	"github.com/whyslow/whyslow/internal/analysis/pattern"
	"github.com/whyslow/whyslow/internal/words"
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
	// Names of units in the language of the page, smallest first.
	Time []string `json:"time"`
	Size []string `json:"size"`
}

// What the page shows of a large run: beyond these, call paths count with the one that leads to them, and
// threads as one.
const (
	cubeCalls   = 400
	cubeThreads = 128
)

func (p *pgas) newCube() *cube {
	c := &cube{
		Data: cubeData{Time: words.TimeUnits[p.lang], Size: words.ByteUnits[p.lang]},
		Metrics: newGrid(p.speaker, "Where the threads' time went, between their first and last events",
			"metric", "#time", "#share", "~"),
		Calls:   newGrid(p.speaker, "Call paths", "call path", "#total|with the call paths below", "#own", "~"),
		Threads: newGrid(p.speaker, "Threads", "thread", "#time", "~"),
	}
	keep, to := p.shownCalls()
	threads := min(len(p.Threads), cubeThreads)
	joined := len(p.Threads) - threads
	if joined > 0 {
		threads++
	}
	for _, g := range []*grid{c.Metrics, c.Calls, c.Threads} {
		g.Plain = true
	}
	c.Metrics.Heads[3].Bar = 20
	all := p.total[0]
	shown, left := p.treeShown()
	c.Metrics.Left = left
	place := make([]int, len(p.Metrics)) // in the column
	for i := range p.Metrics {
		m := &p.Metrics[i]
		if i > 0 && p.total[i] == 0 {
			continue // nothing of it, and of what it contains
		}
		place[i] = len(c.Data.Units)
		parent, root, above := -1, i, p.above(i)
		if len(above) > 0 {
			parent, root = place[above[0]], above[len(above)-1]
		}
		name := cell{Text: m.Name, Tip: m.Doc, Depth: len(above)}
		share := c.Metrics.cell("")
		if p.inTime(i) {
			share = c.Metrics.cell(shareOf(p.total[i], all))
		}
		bar := cubeBar(p.total[i], p.total[root])
		if i == 0 {
			bar.Bar = 0
		}
		if bar.Colour = "dim"; isWait(m) {
			bar.Colour = waitColour
		}
		l := c.Metrics.row(name, number(p.total[i], p.lang.Amount(p.total[i], string(m.Unit))), share, bar)
		if shown[i] {
			l.In = everywhere
		}
		c.Data.Units = append(c.Data.Units, string(m.Unit))
		c.Data.Metrics = append(c.Data.Metrics, parent)
		c.Data.Rows = append(c.Data.Rows, cubeRows(m, to, threads))
	}
	own := make([]int64, len(keep))
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
	below := withBelow(own, func(i int) int { return c.Data.Parents[i] })
	for i, call := range keep {
		c.Calls.row(cell{Text: p.callName(call), Depth: depth[i], Tip: p.callPath(call)}, words.Time(below[i]),
			words.Time(own[i]), cubeBar(below[i], all))
	}
	for i := range threads {
		name, ns := p.say("thread %s", p.threadName(i)), p.byThread[0][i]
		if joined > 0 && i == threads-1 {
			name, ns = p.say("%s", counted(int64(joined), "other")), sum(p.byThread[0][i:])
		}
		c.Threads.row(name, words.Time(ns), cubeBar(ns, all))
	}
	return c
}

// withBelow adds to each value of a tree those below it. What is above one comes before it.
func withBelow(own []int64, parent func(i int) int) []int64 {
	below := append([]int64{}, own...)
	for i := len(below) - 1; i >= 0; i-- {
		if up := parent(i); up >= 0 {
			below[up] += below[i]
		}
	}
	return below
}

// shownCalls chooses the call paths to show, those with the most time and what leads to them, and gives for
// every call path the place among them of the one that it counts with.
func (p *pgas) shownCalls() (keep, to []int) {
	parent := func(i int) int { return p.Calls[i].Parent }
	shown := make([]bool, len(p.Calls))
	shown[0] = true // what has no place of its own counts with it
	n := 1
	for _, call := range largest(withBelow(p.byCall[0], parent)) {
		if n >= cubeCalls {
			break
		}
		for at := call; at >= 0 && !shown[at]; at = parent(at) {
			shown[at] = true
			n++
		}
	}
	to = make([]int, len(p.Calls))
	for i := range p.Calls {
		if up := parent(i); shown[i] {
			to[i] = len(keep)
			keep = append(keep, i)
		} else if up >= 0 {
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

// cubeBar is a bar that the script may change: it has a rectangle even where nothing is to be drawn.
func cubeBar(v, of int64) cell {
	part := min(max(float64(v)/float64(max(of, 1)), 0), 1)
	return cell{Bar: part,
		Plot: template.HTML(fmt.Sprintf(`<svg class="strip" aria-hidden="true" width="100%%" height="10">`+
			`<rect class="a" width="%.2f%%" height="10"/></svg>`, 100*part))}
}
