package imbalance

import (
	"math"

	"github.com/whyslow/whyslow/internal/analysis/counters"
)

// Time tells how load was spread at each moment. Window i begins i x WindowNS after the start of the run; the
// last may be shorter. Where a node has no workers it is left out.
type Time struct {
	WindowNS int64 `json:"window_ns"`
	Windows  int   `json:"windows"`
	// Useful is the share of all workers' time in each window that was useful: the utilisation of the
	// cluster, 0 to 1.
	Useful []float64    `json:"useful"`
	Nodes  []NodeUseful `json:"nodes"`
	// Variations compare nodes; there are none with one node. A quantity that cannot be computed is left out.
	Variations []Variation `json:"variations"`
}

// NodeUseful is the utilisation of a node.
type NodeUseful struct {
	Node   int       `json:"node"`
	Useful []float64 `json:"useful"` // share of its workers' time in each window, 0 to 1
}

// Variation is the difference between nodes in something, in each window.
type Variation struct {
	// Quantity is "useful" (share of time, 0 to 1), "cfs_ready" (mean number) or "bytes_held" (mean).
	Quantity string `json:"quantity"`
	// Difference is that between the node with the most and the one with the least, MaxNode and MinNode.
	Difference []float64 `json:"difference"`
	MaxNode    []int     `json:"max_node"`
	MinNode    []int     `json:"min_node"`
	// Mean is the mean difference over the run.
	Mean    float64 `json:"mean"`
	Largest Moment  `json:"largest"` // the first of several
}

// Moment is a window in which nodes differed.
type Moment struct {
	Window  int     `json:"window"`
	FromNS  int64   `json:"from_ns"`
	ToNS    int64   `json:"to_ns"`
	MaxNode int     `json:"max_node"`
	Max     float64 `json:"max"`
	MinNode int     `json:"min_node"`
	Min     float64 `json:"min"`
}

// The quantities compared.
const (
	quantityUseful = "useful"
	quantityReady  = counters.CFsReady
	quantityBytes  = counters.BytesHeld
)

// nodeLevel is a quantity of a node over time.
type nodeLevel struct {
	node int
	mean []float64
}

// length gives the length of a window.
func (r *computation) length(window int) int64 {
	return min(int64(window+1)*r.width, r.res.WallNS) - int64(window)*r.width
}

// time fills in how load was spread over time.
func (r *computation) time() {
	t := &Time{WindowNS: r.width, Windows: r.windows, Nodes: []NodeUseful{}, Variations: []Variation{}}
	r.res.Time = t
	share := func(list []*tally) []float64 {
		out := make([]float64, r.windows)
		for i := range out {
			var ns int64
			for _, w := range list {
				ns += w.Windows[i]
			}
			if all := int64(len(list)) * r.length(i); all > 0 {
				out[i] = float64(ns) / float64(all)
			}
		}
		return out
	}
	t.Useful = share(r.workers)
	var useful []nodeLevel
	for i := 0; i < len(r.workers); {
		from := i
		for i < len(r.workers) && r.workers[i].Node == r.workers[from].Node {
			i++
		}
		n := NodeUseful{r.workers[from].Node, share(r.workers[from:i])}
		t.Nodes = append(t.Nodes, n)
		useful = append(useful, nodeLevel{n.Node, n.Useful})
	}
	if len(useful) < 2 {
		return
	}
	t.Variations = append(t.Variations, r.variation(quantityUseful, useful))
	for _, q := range []string{quantityReady, quantityBytes} {
		var list []nodeLevel
		for i := range r.series.Series {
			if s := &r.series.Series[i]; s.Name == q && s.Node >= 0 {
				list = append(list, nodeLevel{s.Node, s.Mean})
			}
		}
		if len(list) > 1 {
			t.Variations = append(t.Variations, r.variation(q, list))
		}
	}
}

func (r *computation) variation(quantity string, nodes []nodeLevel) Variation {
	v := Variation{Quantity: quantity, Difference: make([]float64, r.windows),
		MaxNode: make([]int, r.windows),
		MinNode: make([]int, r.windows)}
	largest, sum := math.Inf(-1), 0.0
	for i := range r.windows {
		most, least := &nodes[0], &nodes[0]
		for k := range nodes {
			if nodes[k].mean[i] > most.mean[i] {
				most = &nodes[k]
			}
			if nodes[k].mean[i] < least.mean[i] {
				least = &nodes[k]
			}
		}
		d := most.mean[i] - least.mean[i]
		v.Difference[i], v.MaxNode[i], v.MinNode[i] = d, most.node, least.node
		sum += d * float64(r.length(i))
		if d > largest {
			largest = d
			from := int64(i) * r.width
			v.Largest = Moment{Window: i, FromNS: from, ToNS: from + r.length(i), MaxNode: most.node,
				Max: most.mean[i], MinNode: least.node, Min: least.mean[i]}
		}
	}
	if r.res.WallNS > 0 {
		v.Mean = sum / float64(r.res.WallNS)
	}
	return v
}
