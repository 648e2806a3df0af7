package timeline

import "github.com/whyslow/whyslow/internal/model/query"

// FactorQuery asks for time by factor.
type FactorQuery struct {
	From, To int64 // nanoseconds since the start of the run; it may reach beyond it
	Windows  int   // 1 to 20000
	Lanes    []int // nil: all
}

// FactorWindows is the time of lanes by factor in equal windows. All times are nanoseconds. Every sum is exact; over the
// whole run and all lanes they are those of slou.Compute.
type FactorWindows struct {
	From     int64 `json:"from"`
	To       int64 `json:"to"`
	WindowNS int64 `json:"window_ns"` // of every window; the last one may be shorter
	Windows  int   `json:"windows"`   // may be fewer than asked for
	// Rows are "U", "S", "L", "O", "W", "loss" and, where the recorded events do not tell all factors apart, "undivided": the
	// time of those that are not known.
	Rows  []string   `json:"rows"`
	Total [][]int64  `json:"total"` // by row, then window
	Lanes []LaneSum  `json:"lanes"` // over the interval
	Nodes []NodeSums `json:"nodes"` // those of the lanes; each the sum of its lanes that were asked for
	Sum   []int64    `json:"sum"`   // over the interval and all lanes asked for, by row
	// ExtraCoresNS is processor time beyond the workers': in no window, part of O of the whole run.
	ExtraCoresNS int64 `json:"extra_cores_ns"`
}

// LaneSum is the time of one lane by row.
type LaneSum struct {
	Lane int     `json:"lane"`
	Sum  []int64 `json:"sum"`
}

// NodeSums is the time of one node by row, and by row and window.
type NodeSums struct {
	Node    int       `json:"node"`
	Sum     []int64   `json:"sum"`
	Windows [][]int64 `json:"windows"`
}

// Factors divides an interval of the run. What lies beyond the run is no time.
func (t *Timeline) Factors(q FactorQuery) (*FactorWindows, error) {
	if err := (stretch{q.From, q.To}).check(); err != nil {
		return nil, err
	}
	if q.Windows < 1 || q.Windows > maxWidth {
		return nil, query.Bad("%d windows: there have to be from 1 to %d", q.Windows, maxWidth)
	}
	lanes, err := t.chosen(q.Lanes)
	if err != nil {
		return nil, err
	}
	if len(lanes)*q.Windows > maxCells {
		return nil, query.Bad("%d windows of %d lanes are more than %d: ask for fewer at once", q.Windows, len(lanes), maxCells)
	}
	length := (q.To-q.From-1)/int64(q.Windows) + 1
	count := int((q.To-q.From-1)/length + 1)
	out := &FactorWindows{From: q.From, To: q.To, WindowNS: length, Windows: count, Rows: t.names,
		Total: t.table(count), Lanes: []LaneSum{}, Nodes: []NodeSums{}, Sum: make([]int64, len(t.names)), ExtraCoresNS: t.extra}
	nodes := make([]int, len(t.m.Nodes)) // 1 + index into out.Nodes
	for n, chosen := range t.nodesOf(lanes) {
		if chosen {
			out.Nodes = append(out.Nodes, NodeSums{Node: n, Sum: make([]int64, len(t.names)), Windows: t.table(count)})
			nodes[n] = len(out.Nodes)
		}
	}
	sums, wall := make([]int64, rowCount), t.Wall()
	for _, i := range lanes {
		l := &t.lanes[i]
		node := &out.Nodes[nodes[l.id.Node]-1]
		sum, piece := make([]int64, len(t.names)), 0
		for w := range count {
			from := q.From + int64(w)*length
			a, b := max(from, 0), min(from+length, q.To, wall)
			if a >= b {
				continue
			}
			clear(sums)
			piece = l.find(a, piece)
			l.sum(t, false, a, piece, b, l.find(b, piece), sums)
			for row := range sum {
				sum[row] += sums[row]
				node.Windows[row][w] += sums[row]
				out.Total[row][w] += sums[row]
			}
		}
		for row, ns := range sum {
			node.Sum[row] += ns
			out.Sum[row] += ns
		}
		out.Lanes = append(out.Lanes, LaneSum{i, sum})
	}
	return out, nil
}

func (t *Timeline) table(windows int) [][]int64 {
	out := make([][]int64, len(t.names))
	for row := range out {
		out[row] = make([]int64, windows)
	}
	return out
}
