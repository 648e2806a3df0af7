package report

import (
	"fmt"
	"strings"

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
func (h *htmlFace) overTime() []block {
	if h.SLOU == nil {
		return []block{h.failed(analysisSLOU)}
	}
	w := h.SLOU.Windows
	if w == nil || w.Count == 0 {
		return []block{h.para("This was not computed.")}
	}
	total := int64(0)
	for _, list := range w.NS {
		for _, ns := range list {
			total += ns
		}
	}
	out := []block{
		h.para("The run in %s of %s each, divided among the factors like the whole.",
			counted(int64(w.Count), "window"), words.Time(w.LengthNS)),
		h.plot("All workers", h.stack(w.Rows, w.NS, h.Run.Workers, 180), h.say("How many workers did what. %s",
			h.timeHint()), h.factorLegend(h.SLOU)...),
	}
	if heat := h.workerHeat(w); heat != nil {
		out = append(out, *heat)
	}
	if n := len(w.Nodes); n > 1 {
		var plots []block
		for _, node := range w.Nodes[:min(n, maxNodePlots)] {
			plots = append(plots, h.plot(h.say("Node %s", h.nodeName(node.Node)),
				h.stack(w.WorkerRows, node.NS, len(node.Workers), 100), ""))
		}
		if n > maxNodePlots {
			plots = append(plots, h.para("The JSON report has %d more nodes.", n-maxNodePlots))
		}
		plots[0].Figure.Legend = h.factorLegend(h.SLOU)
		out = append(out, h.details("Each node", plots...))
	}
	return append(out, h.details("The same as a table", block{Table: h.timeTable(w)}))
}

// timeHint says in words when most was lost.
func (h *htmlFace) timeHint() string {
	w := h.SLOU.Windows
	u := w.Factor(w.Rows, w.NS, "U")
	if u == nil || w.Count < 2 {
		return ""
	}
	least := 0
	for i := range u {
		// The last window may be short.
		if i < w.Count-1 && u[i] < u[least] {
			least = i
		}
	}
	from, to := windowBounds(h.SLOU, least)
	return h.say("There was least useful work between %s and %s: %s.", words.Time(from), words.Time(to),
		words.Share{Part: u[least], Whole: (to - from) * int64(h.Run.Workers)})
}

// byFactor gives the five factors and what is in none, by window, in the order of the stack, with their
// classes and names.
func (h *htmlFace) byFactor(rows []slou.Row, ns [][]int64) (lists [][]int64, keys []key) {
	w := h.SLOU.Windows
	for _, f := range factorNames {
		lists = append(lists, w.Factor(rows, ns, f.letter))
		keys = append(keys, key{strings.ToLower(f.letter), h.say(f.name)})
	}
	lists = append(lists, w.Factor(rows, ns, "undivided"))
	return lists, append(keys, key{"x", h.say("not divided")})
}

// stack draws factors over time, in workers.
func (h *htmlFace) stack(rows []slou.Row, ns [][]int64, workers, height int) string {
	w := h.SLOU.Windows
	lists, keys := h.byFactor(rows, ns)
	var layers []svg.Layer
	label := h.say("Factors over time, stacked to %s", counted(int64(workers), "worker"))
	for i, list := range lists {
		if list == nil {
			continue
		}
		l := svg.Layer{Class: keys[i].Class, Values: make([]float64, len(list))}
		sum := int64(0)
		for j, v := range list {
			from, to := windowBounds(h.SLOU, j)
			l.Values[j] = float64(v) / float64(max(to-from, 1))
			sum += v
		}
		layers = append(layers, l)
		label += h.say("; %s %s on average", keys[i].Name,
			words.Share{Part: sum, Whole: h.SLOU.WallNS * int64(workers)})
	}
	f := svg.Frame{Label: label, Height: height, X: svg.Time(h.lang, float64(h.SLOU.WallNS), 8),
		Y: svg.Count(float64(workers), min(workers, 4))}
	tip := func(i int) string {
		from, to := windowBounds(h.SLOU, i)
		s := h.say("%s to %s", words.Time(from), words.Time(to))
		for j, list := range lists {
			if list != nil && list[i] > 0 {
				s += h.say("\n%s %s", keys[j].Name, words.Share{Part: list[i], Whole: (to - from) * int64(workers)})
			}
		}
		return s
	}
	return svg.Stack(f, svg.Windows{Count: w.Count, Length: float64(w.LengthNS), Tip: tip}, layers)
}

// workerHeat draws what every worker, or node, did most in each window.
func (h *htmlFace) workerHeat(w *slou.Windows) *block {
	var names []string
	var did [][][]int64 // by row, then as byFactor
	workers := int64(1)
	who := "worker"
	var keys []key
	row := func(name string, ns [][]int64) {
		lists, k := h.byFactor(w.WorkerRows, ns)
		names, did, keys = append(names, name), append(did, lists), k
	}
	if h.Run.Workers <= maxWorkerRows {
		for _, n := range w.Nodes {
			for _, x := range n.Workers {
				row(fmt.Sprintf("%d.%d", n.Node, x.Worker), x.NS)
			}
		}
	} else {
		who = "node"
		for _, n := range w.Nodes[:min(len(w.Nodes), maxWorkerRows)] {
			row(fmt.Sprint(n.Node), n.NS)
			workers = max(workers, int64(len(n.Workers)))
		}
	}
	if len(names) < 2 {
		return nil
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
		from, to := windowBounds(h.SLOU, c)
		return float64(at(did[r][f], c)) / float64(max(to-from, 1)*workers)
	}
	heat := svg.Heat{Rows: names, Count: w.Count, Width: float64(w.LengthNS) / float64(max(h.SLOU.WallNS, 1)),
		RowHeight: max(8, min(18, 640/len(names))), Max: 1,
		Class: func(r, c int) string { return keys[most(r, c)].Class },
		Value: func(r, c int) float64 { return value(r, c, most(r, c)) },
		Tip: func(r, c int) string {
			from, to := windowBounds(h.SLOU, c)
			s := h.say("%s %s, %s to %s", h.say(who), names[r], words.Time(from), words.Time(to))
			for f := range keys {
				if v := value(r, c, f); v > 0 {
					s += fmt.Sprintf("\n%s %.0f %%", keys[f].Name, 100*v)
				}
			}
			return s
		}}
	b := h.plot("Each "+who,
		heat.Draw(svg.Frame{Label: h.say("What each " + who + " did most in each window of time"),
			X: svg.Time(h.lang, float64(h.SLOU.WallNS), 8)}),
		"The colour is the factor with most of the window; the stronger, the larger its share.",
		h.factorLegend(h.SLOU)...)
	return &b
}

// timeTable has the windows, put together where there are many.
func (h *htmlFace) timeTable(w *slou.Windows) *grid {
	g := h.grid("Factors over time", "#from", "#to", "#U", "#S", "#L", "#O", "#W")
	lists, _ := h.byFactor(w.Rows, w.NS)
	step := (w.Count + maxTimeRows - 1) / maxTimeRows
	for i := 0; i < w.Count; i += step {
		from, _ := windowBounds(h.SLOU, i)
		_, to := windowBounds(h.SLOU, min(i+step, w.Count)-1)
		row := []cell{timeCell(from), timeCell(to)}
		for j := range factorNames {
			if lists[j] == nil && shares(&h.SLOU.Factors)[j] == nil {
				row = append(row, none())
				continue
			}
			sum := int64(0)
			for k := i; k < min(i+step, w.Count) && lists[j] != nil; k++ {
				sum += lists[j][k]
			}
			row = append(row, shareCell(sum, (to-from)*int64(h.Run.Workers)))
		}
		g.row(row...)
	}
	return g
}
