package timeline

import "github.com/whyslow/whyslow/internal/model/query"

// FactorQuery asks for time by factor.
type FactorQuery struct {
	From, To int64  // nanoseconds since the start of the run; it may reach beyond it
	Windows  int    // 1 to 20000
	Lanes    []int  // nil: all
	Known    *Known // what the timeline knows of the run; nil: all of it
}

// Known says which part of a run a timeline can divide, while the run continues or if it is too long for one
// model. All other time counts as "undivided". Times are nanoseconds since the start of the run.
type Known struct {
	Wall  int64   // length of the run so far, at least that of the timeline
	Until []int64 // by lane: later time is not known yet
	// Since are times by lane. Past adds a lane's time from a to b, by row, b being at most the lane's Since.
	// nil: no Past.
	Since []int64
	Past  func(lane int, a, b int64, sums []int64)
}

// FactorWindows is the time of lanes by factor in equal windows, in nanoseconds. Every sum is exact; over the
// whole run and all lanes the sums are those of slou.Compute.
type FactorWindows struct {
	From     int64 `json:"from"`
	To       int64 `json:"to"`
	WindowNS int64 `json:"window_ns"` // of every window; the last one may be shorter
	Windows  int   `json:"windows"`   // may be fewer than asked for
	KnownNS  int64 `json:"known_ns"`  // the end of what the timeline has; time after it is "undivided"
	// Rows are the letters of the factors, "loss", and "undivided" for time whose factor is unknown: its
	// events were not recorded, or have not arrived yet.
	Rows  []string   `json:"rows"`
	Total [][]int64  `json:"total"` // by row, then window
	Lanes []LaneSum  `json:"lanes"` // over the interval
	Nodes []NodeSums `json:"nodes"` // nodes of the lanes; each the sum of its requested lanes
	Sum   []int64    `json:"sum"`   // over the interval and all requested lanes, by row
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

// Factors divides an interval of the run. Time beyond the run does not count.
func (t *Timeline) Factors(q FactorQuery) (*FactorWindows, error) {
	if err := (stretch{q.From, q.To}).check(); err != nil {
		return nil, err
	}
	if q.Windows < 1 || q.Windows > maxWidth {
		return nil, query.Bad("windows=%d: must be 1 to %d", q.Windows, maxWidth)
	}
	lanes, err := t.chosen(q.Lanes)
	if err != nil {
		return nil, err
	}
	if len(lanes)*q.Windows > maxCells {
		return nil, query.Bad("%d windows of %d lanes are more than %d: ask for fewer at once",
			q.Windows, len(lanes), maxCells)
	}
	wall, names := t.Wall(), t.names
	if q.Known != nil {
		wall, names = q.Known.Wall, rowNames[:]
	}
	length := (q.To-q.From-1)/int64(q.Windows) + 1
	count := int((q.To-q.From-1)/length + 1)
	rows := len(names)
	out := &FactorWindows{From: q.From, To: q.To, WindowNS: length, Windows: count, KnownNS: t.Wall(),
		Rows: names, Total: table(rows, count), Lanes: []LaneSum{}, Nodes: []NodeSums{}, Sum: make([]int64, rows),
		ExtraCoresNS: t.extra}
	nodes := make([]int, len(t.m.Nodes)) // 1 + index into out.Nodes
	for n, chosen := range t.nodesOf(lanes) {
		if chosen {
			out.Nodes = append(out.Nodes, NodeSums{Node: n, Sum: make([]int64, rows), Windows: table(rows, count)})
			nodes[n] = len(out.Nodes)
		}
	}
	sums := make([]int64, rowCount)
	for _, i := range lanes {
		node := &out.Nodes[nodes[t.lanes[i].id.Node]-1]
		sum, piece := make([]int64, rows), 0
		for w := range count {
			from := q.From + int64(w)*length
			a, b := max(from, 0), min(from+length, q.To, wall)
			if a >= b {
				continue
			}
			clear(sums)
			piece = t.divided(q.Known, i, a, b, piece, sums)
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

// divided adds up a lane's time from a to b by row. The search for a begins at a piece; the result is where
// the next search may begin.
func (t *Timeline) divided(k *Known, lane int, a, b int64, piece int, sums []int64) int {
	to := b
	if k != nil {
		if k.Since != nil && a < k.Since[lane] {
			k.Past(lane, a, min(b, k.Since[lane]), sums)
			a = min(b, k.Since[lane])
		}
		to = min(b, k.Until[lane], t.Wall())
	}
	if l := &t.lanes[lane]; a < to {
		piece = l.find(a, piece)
		l.sum(t, false, a, piece, to, l.find(to, piece), sums)
		a = to
	}
	if k != nil {
		sums[rowUndivided] += sums[rowUnread] + b - a
	}
	return piece
}

func table(rows, windows int) [][]int64 {
	out := make([][]int64, rows)
	for row := range out {
		out[row] = make([]int64, windows)
	}
	return out
}
