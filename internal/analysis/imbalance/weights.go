package imbalance

import (
	"cmp"
	"math"
	"slices"

	"github.com/whyslow/whyslow/trace"
)

// Weights compares what the program planned, the weights it gave to CFs, with the useful time that was
// measured. A code fragment takes part if a weight other than 1 was given to any CF of it that ran; of its
// CFs those take part whose weight is 0 or between 1e-100 and 1e100, less their signs.
type Weights struct {
	// NSPerWeight is useful time over weight of all that take part.
	NSPerWeight float64        `json:"ns_per_weight"`
	Codes       []WeightedCode `json:"codes"` // by useful time, most first
	// Nodes compares what was planned for each node that ran some with what it took.
	Nodes []PlannedNode `json:"nodes"`
	// PlannedImbalance and MeasuredImbalance are max / mean over the nodes, per worker of a node; nil where
	// there is nothing.
	PlannedImbalance  *float64 `json:"planned_imbalance"`
	MeasuredImbalance *float64 `json:"measured_imbalance"`
}

// WeightedCode tells how well the weights of a code fragment predict its time.
type WeightedCode struct {
	Code        string  `json:"code"`
	File        string  `json:"file"`
	Line        int     `json:"line"`
	Count       int64   `json:"count"`
	Weight      float64 `json:"weight"` // sum
	UsefulNS    int64   `json:"useful_ns"`
	NSPerWeight float64 `json:"ns_per_weight"`
	// Relative is NSPerWeight over that of all: above 1, its weights are too small against those of other
	// code fragments. nil where there is no useful time.
	Relative *float64 `json:"relative"`
	// Correlation of weight and time of a CF (Pearson), -1 to 1: 1 if weights are in proportion to time but
	// for a constant; nil where weights or times are all the same.
	Correlation *float64 `json:"correlation"`
	// Error is the root mean square of time - weight x NSPerWeight over the mean time: 0 where weights
	// predict exactly. nil where there is no useful time.
	Error *float64 `json:"error"`
}

// PlannedNode compares the plan for a node with what it took; both add up to 1 over the nodes.
type PlannedNode struct {
	Node          int     `json:"node"`
	Weight        float64 `json:"weight"`
	UsefulNS      int64   `json:"useful_ns"`
	PlannedShare  float64 `json:"planned_share"`
	MeasuredShare float64 `json:"measured_share"`
}

// moments of pairs of a weight and a time, after Welford, so that large times lose nothing.
type moments struct {
	N, Given               float64 // pairs; those with a weight other than 1
	MeanWeight, MeanTime   float64
	WeightWeight, TimeTime float64 // sums of products of differences from the means
	WeightTime             float64
	Weight, Time           float64 // sums
}

// add takes in a pair. A weight that is no number, or so large or small that sums of squares would not be, is
// left out.
func (m *moments) add(weight, time float64) {
	if a := math.Abs(weight); a != 0 && !(a > 1e-100 && a < 1e100) {
		return
	}
	if weight != 1 {
		m.Given++
	}
	m.N++
	m.Weight += weight
	m.Time += time
	dt := time - m.MeanTime
	m.MeanTime += dt / m.N
	m.TimeTime += dt * (time - m.MeanTime)
	if dw := weight - m.MeanWeight; dw != 0 { // 0 as nearly always: no weights were given
		m.MeanWeight += dw / m.N
		m.WeightWeight += dw * (weight - m.MeanWeight)
		m.WeightTime += dw * (time - m.MeanTime)
	}
}

func (m *moments) join(o *moments) {
	if o.N == 0 {
		return
	}
	n := m.N + o.N
	dw, dt, f := o.MeanWeight-m.MeanWeight, o.MeanTime-m.MeanTime, m.N*o.N/n
	m.WeightWeight += o.WeightWeight + dw*dw*f
	m.TimeTime += o.TimeTime + dt*dt*f
	m.WeightTime += o.WeightTime + dw*dt*f
	m.MeanWeight += dw * o.N / n
	m.MeanTime += dt * o.N / n
	m.N, m.Given = n, m.Given+o.Given
	m.Weight, m.Time = m.Weight+o.Weight, m.Time+o.Time
}

// weights fills in how well weights predict time.
func (r *computation) weights() {
	if r.m.Count[trace.KindCFCreated] == 0 {
		if r.m.Count[trace.KindCFStarted] > 0 {
			r.need(trace.KindCFCreated.String(), "weights")
		}
		return
	}
	if r.slou.Factors.U == nil {
		return
	}
	out := &Weights{Codes: []WeightedCode{}, Nodes: []PlannedNode{}}
	perCode := make([]moments, len(r.m.Codes))
	var weight, useful float64
	for c := range perCode {
		for _, t := range r.workers {
			perCode[c].join(&t.Codes[c].Weights)
		}
		if perCode[c].Given > 0 {
			weight += perCode[c].Weight
			useful += perCode[c].Time
		}
	}
	if weight > 0 {
		out.NSPerWeight = useful / weight
	}
	for c := range perCode {
		m := &perCode[c]
		if m.Given == 0 {
			continue
		}
		code := &r.m.Codes[c]
		x := WeightedCode{Code: code.Name, File: code.File, Line: code.Line, Count: int64(m.N),
			Weight:   m.Weight,
			UsefulNS: int64(m.Time)}
		if m.Weight > 0 {
			x.NSPerWeight = m.Time / m.Weight
			x.Relative = ratio(x.NSPerWeight, out.NSPerWeight)
		}
		if m.WeightWeight > 0 && m.TimeTime > 0 {
			x.Correlation = ratio(m.WeightTime, math.Sqrt(m.WeightWeight)*math.Sqrt(m.TimeTime))
		}
		// The sum of (u - kw)^2 is that around the means, and the means' own.
		k, rest := x.NSPerWeight, m.MeanTime-x.NSPerWeight*m.MeanWeight
		square := max(m.TimeTime-2*k*m.WeightTime+k*k*m.WeightWeight, 0)/m.N + rest*rest
		x.Error = ratio(math.Sqrt(square), m.MeanTime)
		out.Codes = append(out.Codes, x)
	}
	if len(out.Codes) == 0 {
		return
	}
	slices.SortStableFunc(out.Codes, func(a, b WeightedCode) int {
		return cmp.Or(cmp.Compare(b.UsefulNS, a.UsefulNS), cmp.Compare(a.Code, b.Code))
	})
	r.plannedNodes(out, perCode, weight, useful)
	r.res.Weights = out
}

// plannedNodes compares the plan for each node with what it took.
func (r *computation) plannedNodes(out *Weights, perCode []moments, weight, useful float64) {
	var maxW, maxU, workers float64
	for i := 0; i < len(r.workers); {
		n := PlannedNode{Node: r.workers[i].Node}
		from := i
		for ; i < len(r.workers) && r.workers[i].Node == n.Node; i++ {
			for c := range perCode {
				if perCode[c].Given > 0 {
					n.Weight += r.workers[i].Codes[c].Weights.Weight
					n.UsefulNS += int64(r.workers[i].Codes[c].Weights.Time)
				}
			}
		}
		if weight > 0 {
			n.PlannedShare = n.Weight / weight
		}
		if useful > 0 {
			n.MeasuredShare = float64(n.UsefulNS) / useful
		}
		out.Nodes = append(out.Nodes, n)
		own := float64(i - from)
		workers += own
		maxW, maxU = max(maxW, n.Weight/own), max(maxU, float64(n.UsefulNS)/own)
	}
	out.PlannedImbalance = ratio(maxW*workers, weight)
	out.MeasuredImbalance = ratio(maxU*workers, useful)
}
