package counters

import (
	"math"

	"github.com/whyslow/whyslow/internal/model"
)

// Set answers questions about the nodes and links of a run. The error of a bad question is fs.ErrInvalid or
// fs.ErrNotExist.
type Set interface {
	// At gives all properties at a moment.
	At(t int64) At
	// Series follows properties over an interval.
	Series(q SeriesQuery) (SeriesAnswer, error)
	// Matrix gives one property of every link over [from, to).
	Matrix(value string, from, to int64) (Matrix, error)
}

// At are the properties of nodes and links at a moment. A member is nil where it was not recorded.
type At struct {
	T           int64             `json:"t"`
	Nodes       []NodeState       `json:"nodes"`
	Links       []LinkState       `json:"links"`  // those with any traffic up to T, by from, then to
	Spread      map[string]Spread `json:"spread"` // by property of nodes
	Utilisation float64           `json:"utilisation"`
}

// NodeState are the properties of a node at a moment; see All.
type NodeState struct {
	Node       int     `json:"node"`
	CFs        int64   `json:"cfs"`
	Copies     int64   `json:"copies"`
	Objects    int64   `json:"objects"`
	Bytes      int64   `json:"bytes"`
	Inner      *int64  `json:"inner"`
	Outer      *int64  `json:"outer"`
	Running    int64   `json:"running"`
	Workers    int     `json:"workers"`
	ReadyQueue *int64  `json:"ready_queue"`
	Weight     float64 `json:"weight"`
	Waiting    int64   `json:"waiting"`
	Ready      int64   `json:"ready"`
	// up to the moment
	Sent          int64 `json:"sent"`
	SentBytes     int64 `json:"sent_bytes"`
	Received      int64 `json:"received"`
	ReceivedBytes int64 `json:"received_bytes"`
}

// LinkState are the properties of a link at a moment; amounts are those up to it.
type LinkState struct {
	From          int    `json:"from"`
	To            int    `json:"to"`
	Objects       int64  `json:"objects"`
	ObjectBytes   int64  `json:"object_bytes"`
	Messages      int64  `json:"messages"`
	MessageBytes  int64  `json:"message_bytes"`
	DataMessages  int64  `json:"data_messages"`
	DataBytes     int64  `json:"data_bytes"`
	SendQueue     *int64 `json:"send_queue"`
	InFlight      int64  `json:"in_flight"`
	BytesInFlight int64  `json:"bytes_in_flight"`
}

// Spread tells how uneven the nodes are.
type Spread struct {
	Min       float64 `json:"min"`
	Max       float64 `json:"max"`
	Mean      float64 `json:"mean"`
	Variation float64 `json:"variation"` // (max-min)/mean, 0 for mean 0
}

// Violation is something left over at the end of a run.
type Violation struct {
	Node  int    `json:"node"`           // -1: of a link, or of the whole run
	Link  string `json:"link,omitempty"` // "0->1"
	What  string `json:"what"`           // the property
	Value int64  `json:"value"`
	Text  string `json:"text"`
}

// history answers questions by step functions. Times are since the start of the run.
type history struct {
	wall    int64
	workers []int // by node
	links   *linkTable
	unknown [quantities]bool // it was not recorded
	// some CF has a weight other than 1; else the sum of weights is the number of CFs
	weighted bool
	// stored gives a step function, nil where there is no change.
	stored func(q quantity, place int32) *steps
	// moment gives the values at a time.
	moment func(t int64) values
}

// values are those of all quantities of all places at a moment.
type values func(q quantity, place int32) int64

func newHistory(m *model.Model, links *linkTable) *history {
	r := &history{wall: m.Wall(), links: links}
	for i := range m.Nodes {
		r.workers = append(r.workers, len(m.Nodes[i].Workers))
	}
	return r
}

// inRun moves a time into the run. The end of the run becomes the end of time, so that later records count.
func (r *history) inRun(t int64) int64 {
	if t >= r.wall {
		return math.MaxInt64
	}
	return max(t, 0)
}

// float gives a value as it is shown.
func (r *history) float(v values, q quantity, place int32) float64 {
	switch {
	case q != weight:
		return float64(v(q, place))
	case r.weighted:
		return float64(v(weight, place)) / weightUnit
	}
	return float64(v(cfs, place))
}

// withNodes adds what the values of links add up to by node.
func (r *history) withNodes(at values) values {
	sums := map[quantity][]int64{}
	for q, x := range ofLinks {
		sums[q] = make([]int64, len(r.workers))
		for i := range r.links.list {
			if n := int(r.links.end(int32(i), x.from)); n < len(r.workers) {
				sums[q][n] += at(x.of, int32(i))
			}
		}
	}
	return func(q quantity, place int32) int64 {
		switch x, ok := ofLinks[q]; {
		case !ok:
			return at(q, place)
		case place == whole:
			return at(x.of, whole)
		}
		return sums[q][place]
	}
}

// At is part of Set.
func (r *history) At(t int64) At {
	at := r.withNodes(r.moment(r.inRun(t)))
	out := At{T: t, Nodes: []NodeState{}, Links: []LinkState{}, Spread: map[string]Spread{}}
	var busy, workers int64
	known := func(q quantity, place int32) *int64 {
		if r.unknown[q] {
			return nil
		}
		v := at(q, place)
		return &v
	}
	for n, w := range r.workers {
		i := int32(n)
		v := func(q quantity) int64 { return at(q, i) }
		s := NodeState{Node: n, Workers: w, CFs: v(cfs), Copies: v(copies), Objects: v(objects), Bytes: v(bytes),
			Inner: known(inner, i), Outer: known(outer, i), Running: v(running), ReadyQueue: known(readyQueue, i),
			Weight: r.float(at, weight, i), Waiting: v(waiting), Ready: v(ready),
			Sent: v(nodeSent), SentBytes: v(nodeSentBytes), Received: v(nodeReceived),
			ReceivedBytes: v(nodeReceivedBytes)}
		out.Nodes = append(out.Nodes, s)
		busy += min(max(s.Running, 0), int64(w))
		workers += int64(w)
	}
	if workers > 0 {
		out.Utilisation = float64(busy) / float64(workers)
	}
	for i := range table {
		p := &table[i]
		if p.Of == "node" && !r.unknown[p.q] && p.q != dfs && p.q != moving && len(r.workers) > 0 {
			out.Spread[p.Name] = r.spread(p.q, at)
		}
	}
	for _, l := range r.sortedLinks(r.moment(math.MaxInt64)) {
		i := r.links.index[l]
		v := func(q quantity) int64 { return at(q, i) }
		s := LinkState{From: l.From, To: l.To, Objects: v(moved), ObjectBytes: v(movedBytes),
			Messages: v(messages), MessageBytes: v(messageBytes), DataMessages: v(data), DataBytes: v(dataBytes),
			SendQueue: known(sendQueue, i), InFlight: v(inFlight), BytesInFlight: v(bytesInFlight)}
		if s.Messages > 0 || s.SendQueue != nil && *s.SendQueue > 0 {
			out.Links = append(out.Links, s)
		}
	}
	return out
}

func (r *history) spread(q quantity, at values) Spread {
	s := Spread{Min: math.Inf(1), Max: math.Inf(-1)}
	for n := range r.workers {
		v := r.float(at, q, int32(n))
		s.Min, s.Max = min(s.Min, v), max(s.Max, v)
		s.Mean += v / float64(len(r.workers))
	}
	if s.Mean != 0 {
		s.Variation = (s.Max - s.Min) / s.Mean
	}
	return s
}
