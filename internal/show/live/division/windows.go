package division

import (
	"github.com/whyslow/whyslow/internal/analysis/slou"
)

// FactorWindows is time by factor, in nanoseconds, as the page gets it. Times are since the start of the run.
type FactorWindows struct {
	From         int64        `json:"from"`
	To           int64        `json:"to"`
	WindowNS     int64        `json:"window_ns"` // of every window; the last one may be shorter
	Windows      int          `json:"windows"`
	Rows         []string     `json:"rows"`  // "U", "S", "L", "O", "W", "loss"
	Total        [][]int64    `json:"total"` // by row, then window
	Lanes        []LaneSum    `json:"lanes"`
	Nodes        []NodeFactor `json:"nodes"`
	Sum          []int64      `json:"sum"`            // over the interval and all lanes, by row
	ExtraCoresNS int64        `json:"extra_cores_ns"` // in no window; part of O of the whole run
}

// LaneSum is the time of one worker.
type LaneSum struct {
	Lane int     `json:"lane"`
	Sum  []int64 `json:"sum"` // over the interval, by row
}

// NodeFactor is the time of those workers of a node that were asked for.
type NodeFactor struct {
	Node    int       `json:"node"`
	Sum     []int64   `json:"sum"`     // over the interval, by row
	Windows [][]int64 `json:"windows"` // by row, then window
}

// MaxWindows bounds the number of windows in one answer.
const MaxWindows = 1 << 16

// Windows divides the time from from to to, in nanoseconds since the start of the run, into n windows (1 to MaxWindows; fewer where
// one would be shorter than a nanosecond). lanes are the workers to be counted, by number in the order of nodes and
// workers; nil: all. Those that there are not, and time outside the run, count nothing.
func (d *Division) Windows(from, to int64, n int, lanes []int) *FactorWindows {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.settle()
	out := &FactorWindows{From: from, To: to, Rows: rowNames(), Lanes: []LaneSum{}, Nodes: []NodeFactor{}}
	if d.regions {
		out.Rows = append(out.Rows, "undivided")
	}
	rows := len(out.Rows)
	out.Sum = make([]int64, rows)
	if to > from {
		out.WindowNS = (to-from-1)/int64(min(max(n, 1), MaxWindows)) + 1
		out.Windows = int((to-from-1)/out.WindowNS + 1)
	}
	out.Total = table(rows, out.Windows)
	wanted := map[int]bool{}
	for _, l := range lanes {
		wanted[l] = true
	}
	lane := -1
	for w := range d.eachWorker {
		if lane++; lanes != nil && !wanted[lane] {
			continue
		}
		if len(out.Nodes) == 0 || out.Nodes[len(out.Nodes)-1].Node != w.node.number {
			out.Nodes = append(out.Nodes, NodeFactor{Node: w.node.number, Sum: make([]int64, rows), Windows: table(rows, out.Windows)})
		}
		node := &out.Nodes[len(out.Nodes)-1]
		sum := make([]int64, rows)
		w.finish()
		before := d.sums(w, d.time(from))
		for i := range out.Windows {
			after := d.sums(w, d.time(from+min(int64(i+1)*out.WindowNS, to-from)))
			for f := range rows {
				ns := after[f] - before[f]
				out.Total[f][i] += ns
				node.Windows[f][i] += ns
				node.Sum[f] += ns
				out.Sum[f] += ns
				sum[f] += ns
			}
			before = after
		}
		out.Lanes = append(out.Lanes, LaneSum{lane, sum})
	}
	out.ExtraCoresNS = d.extraCores()
	return out
}

// time gives a time since the start of the run on the common clock, within the run.
func (d *Division) time(t int64) int64 {
	return d.start + min(max(t, 0), d.end-d.start)
}

func rowNames() (names []string) {
	for f := range slou.Factor(factors) {
		names = append(names, f.String())
	}
	return names
}

func table(rows, n int) [][]int64 {
	out := make([][]int64, rows)
	cells := make([]int64, rows*n)
	for f := range out {
		out[f] = cells[f*n : (f+1)*n]
	}
	return out
}
