package report

import (
	"fmt"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/show/report/svg"
	"github.com/whyslow/whyslow/internal/words"
)

const (
	maxNodePlots  = 8  // nodes that get a plot of their own
	maxWorkerRows = 64 // workers of the heat map; with more it has nodes
	maxTimeRows   = 24 // of the table of windows
)

// overTime: the factors by window, of the run, of each worker and each node.
func (a *author) overTime() {
	w := a.SLOU.Windows
	if w == nil || w.Count == 0 {
		a.para("This was not computed.")
		return
	}
	a.para("The run in %s of %s each, divided among the factors like the whole.",
		counted(int64(w.Count), "window"), words.Time(w.LengthNS))
	if start := a.SLOU.StartNS(); start > 0 {
		a.para("The axes of time begin at %s.", words.Time(start))
	}
	f := a.plot("All workers", func() string { return a.stack(w.Rows, w.NS, a.Run.Workers, 180) },
		a.say("How many workers did what. %s", a.timeHint()), a.factorLegend(a.SLOU)...)
	f.WallNS, f.Windows, f.Sparks = a.SLOU.WallNS, w.Count, a.sparks(w)
	if !a.onlyRegions() {
		a.out[len(a.out)-1].In = everywhere
	}
	a.workerHeat(w)
	if n := len(w.Nodes); n > 1 {
		a.eachNode(n, func(i int) {
			node := &w.Nodes[i]
			f := a.plot(a.say("Node %s", a.nodeName(node.Node)),
				func() string { return a.stack(w.WorkerRows, node.NS, len(node.Workers), 100) }, "")
			if i == 0 {
				f.Legend = a.factorLegend(a.SLOU)
			}
		})
	}
	a.details("The same as a table", func() { a.timeTable(w) })
}

// eachNode has a plot of each of so many nodes.
func (a *author) eachNode(n int, plot func(i int)) {
	a.details("Each node", func() {
		for i := range min(n, maxNodePlots) {
			plot(i)
		}
		if n > maxNodePlots {
			a.para("The JSON report has %d more nodes.", n-maxNodePlots)
		}
	})
}

// windowBounds says from when to when a window lasts.
func windowBounds(res *slou.Result, i int) (from, to int64) {
	from = res.StartNS() + int64(i)*res.Windows.LengthNS
	return from, min(from+res.Windows.LengthNS, res.StartNS()+res.WallNS)
}

// between is from when to when windows last, from first to before end.
func (a *author) between(first, end int) (from, to int64) {
	from, _ = windowBounds(a.SLOU, first)
	_, to = windowBounds(a.SLOU, end-1)
	return from, to
}

// sparks are the factors that have some of the workers' time.
func (a *author) sparks(w *slou.Windows) (out []spark) {
	for _, f := range factorsOf(&a.SLOU.Factors) {
		ns := w.Factor(w.Rows, w.NS, f.Letter)
		if w.Count < 2 || a.Run.Workers == 0 || f.Share == nil || ns == nil ||
			float64(f.NS-f.Of(slou.PartExtra)) < seldom*float64(a.SLOU.TotalNS) {
			continue
		}
		out = append(out, spark{f.Letter, func(first, end int) float64 {
			from, to := a.between(first, end)
			return float64(sum(ns[first:end])) / float64(max(to-from, 1)*int64(a.Run.Workers))
		}})
	}
	return out
}

func sum(list []int64) (n int64) {
	for _, v := range list {
		n += v
	}
	return n
}

// timeHint says in words when most was lost.
func (a *author) timeHint() string {
	w := a.SLOU.Windows
	u := w.Factor(w.Rows, w.NS, "U")
	if u == nil || w.Count < 2 {
		return ""
	}
	least := 0
	for i := range u[:w.Count-1] { // the last window may be short
		if u[i] < u[least] {
			least = i
		}
	}
	from, to := windowBounds(a.SLOU, least)
	return a.say("Useful work was lowest between %s and %s: %s.", words.Time(from), words.Time(to),
		shareOf(u[least], (to-from)*int64(a.Run.Workers)))
}

// byFactor gives the five factors and what is in none, by window, in the order of the stack, with their
// classes and names.
func (a *author) byFactor(rows []slou.Row, ns [][]int64) (lists [][]int64, keys []key) {
	w := a.SLOU.Windows
	for _, f := range factorsOf(&a.SLOU.Factors) {
		lists = append(lists, w.Factor(rows, ns, f.Letter))
		keys = append(keys, key{f.Class, f.Name.In(a.lang)})
	}
	lists = append(lists, w.Factor(rows, ns, "undivided"))
	return lists, append(keys, key{"x", a.say("not divided")})
}

// stack draws factors over time, in workers.
func (a *author) stack(rows []slou.Row, ns [][]int64, workers, height int) string {
	w := a.SLOU.Windows
	lists, keys := a.byFactor(rows, ns)
	var layers []svg.Layer
	label := a.say("Factors over time, stacked to %s", counted(int64(workers), "worker"))
	for i, list := range lists {
		if list == nil {
			continue
		}
		l := svg.Layer{Class: keys[i].Class, Values: make([]float64, len(list))}
		for j, v := range list {
			from, to := windowBounds(a.SLOU, j)
			l.Values[j] = float64(v) / float64(max(to-from, 1))
		}
		layers = append(layers, l)
		label += a.say("; %s %s on average", keys[i].Name, shareOf(sum(list), a.SLOU.WallNS*int64(workers)))
	}
	f := svg.Frame{Label: label, Height: height, X: a.timeAxis(a.SLOU.WallNS),
		Y: svg.Count(float64(workers), min(workers, 4))}
	tip := func(i int) string {
		from, to := windowBounds(a.SLOU, i)
		s := a.span(from, to)
		for j, list := range lists {
			if list != nil && list[i] > 0 {
				s += fmt.Sprintf("\n%s %s", keys[j].Name, a.lang.Percent(list[i], (to-from)*int64(workers)))
			}
		}
		return s
	}
	return svg.Stack(f, svg.Windows{Count: w.Count, Length: float64(w.LengthNS), Tip: tip}, layers)
}

// timeAxis is that of a plot over the whole run.
func (s speaker) timeAxis(wall int64) svg.Axis { return svg.Time(s.lang, float64(wall), 8) }

// span is a stretch of time in words.
func (s speaker) span(from, to int64) string {
	return s.say("%s to %s", words.Time(from), words.Time(to))
}

// workerHeat draws what every worker, or node, did most in each window.
func (a *author) workerHeat(w *slou.Windows) {
	var names []string
	var did [][][]int64 // by row, then as byFactor
	workers := int64(1)
	who := "worker"
	var keys []key
	row := func(name string, ns [][]int64) {
		lists, k := a.byFactor(w.WorkerRows, ns)
		names, did, keys = append(names, name), append(did, lists), k
	}
	if a.Run.Workers > maxWorkerRows {
		who = "node"
		for _, n := range w.Nodes[:min(len(w.Nodes), maxWorkerRows)] {
			row(fmt.Sprint(n.Node), n.NS)
			workers = max(workers, int64(len(n.Workers)))
		}
	} else {
		for _, n := range w.Nodes {
			for _, x := range n.Workers {
				row(fmt.Sprintf("%d.%d", n.Node, x.Worker), x.NS)
			}
		}
	}
	if len(names) < 2 {
		return
	}
	most := func(r, c int) (f int) {
		for i, list := range did[r] {
			if at(list, c) > at(did[r][f], c) {
				f = i
			}
		}
		return f
	}
	value := func(r, c, f int) float64 {
		from, to := windowBounds(a.SLOU, c)
		return float64(at(did[r][f], c)) / float64(max(to-from, 1)*workers)
	}
	heat := svg.Heat{Rows: names, Count: w.Count, Width: float64(w.LengthNS) / float64(max(a.SLOU.WallNS, 1)),
		RowHeight: max(8, min(18, 640/len(names))), Max: 1,
		Class: func(r, c int) string { return keys[most(r, c)].Class },
		Value: func(r, c int) float64 { return value(r, c, most(r, c)) },
		Tip: func(r, c int) string {
			s := fmt.Sprintf("%s %s, %s", a.say(who), names[r], a.span(windowBounds(a.SLOU, c)))
			for f := range keys {
				if v := value(r, c, f); v > 0 {
					s += fmt.Sprintf("\n%s %.0f %%", keys[f].Name, 100*v)
				}
			}
			return s
		}}
	frame := svg.Frame{Label: a.say("What each " + who + " did most in each window of time"),
		X: a.timeAxis(a.SLOU.WallNS)}
	a.plot("Each "+who, func() string { return heat.Draw(frame) },
		"The colour shows the largest factor of the window; the stronger it is, the larger the share.",
		a.factorLegend(a.SLOU)...)
}

// timeTable has the windows, put together where there are many.
func (a *author) timeTable(w *slou.Windows) {
	g := a.table("Factors over time", "#from", "#to", "#U", "#S", "#L", "#O", "#W")
	lists, _ := a.byFactor(w.Rows, w.NS)
	step := (w.Count + maxTimeRows - 1) / maxTimeRows
	for i := 0; i < w.Count; i += step {
		end := min(i+step, w.Count)
		from, to := a.between(i, end)
		row := []any{words.Time(from), words.Time(to)}
		for j, f := range factorsOf(&a.SLOU.Factors) {
			switch {
			case lists[j] != nil:
				row = append(row, shareOf(sum(lists[j][i:end]), (to-from)*int64(a.Run.Workers)))
			case f.Share != nil:
				row = append(row, shareOf(0, 1))
			default:
				row = append(row, nil)
			}
		}
		g.row(row...)
	}
}

func at(list []int64, i int) int64 {
	if i < len(list) {
		return list[i]
	}
	return 0
}
