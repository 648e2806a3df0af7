package counters

import (
	"strings"

	"github.com/whyslow/whyslow/internal/model/query"
)

// Matrix is one property of all links over an interval. A cell is nil if there is nothing to tell: from a
// node to itself, or for a mean or a queue without records.
type Matrix struct {
	Value string       `json:"value"`
	Unit  string       `json:"unit"` // "count", "bytes", "ns" or "bytes/s"
	Nodes int          `json:"nodes"`
	Cells [][]*float64 `json:"cells"` // from, then to
	Max   float64      `json:"max"`
	// Total is over all links: the sum of amounts and rates, the mean flight of all messages, the greatest
	// queue.
	Total float64 `json:"total"`
}

// matrixValues are the values of a Matrix: amounts sent in the interval, the greatest length of a queue, the
// mean flight of the messages sent, and the bytes sent per second.
var matrixValues = []struct {
	name, unit string
	of         quantity
}{{"objects", "count", moved}, {"object_bytes", "bytes", movedBytes}, {"messages", "count", messages},
	{"message_bytes", "bytes", messageBytes}, {"data_messages", "count", data},
	{"data_bytes", "bytes", dataBytes}, {"send_queue", "count", sendQueue},
	{"flight_ns", "ns", flightNS}, {"bandwidth", "bytes/s", messageBytes}}

// maxMatrix is the greatest number of nodes for a matrix.
const maxMatrix = 1024

// NewMatrix makes a matrix of amounts by link, such as time lost. Links with nodes that there are not are
// left out. It fails as Set.Matrix does.
func NewMatrix(value, unit string, nodes int, amounts map[query.Link]int64) (Matrix, error) {
	m := Matrix{Value: value, Unit: unit, Nodes: nodes, Cells: make([][]*float64, nodes)}
	if nodes > maxMatrix {
		return m, query.Bad("a matrix of %d nodes is too large; the limit is %d", nodes, maxMatrix)
	}
	for i := range m.Cells {
		m.Cells[i] = make([]*float64, nodes)
		for j := range m.Cells[i] {
			if i != j {
				m.Cells[i][j] = new(float64)
			}
		}
	}
	for l, n := range amounts {
		if l.From < 0 || l.To < 0 || l.From >= nodes || l.To >= nodes || l.From == l.To {
			continue
		}
		v := float64(n)
		*m.Cells[l.From][l.To] = v
		m.Max = max(m.Max, v)
		m.Total += v
	}
	return m, nil
}

// Matrix is part of Set.
func (r *history) Matrix(value string, from, to int64) (Matrix, error) {
	nodes := len(r.workers)
	m := Matrix{Value: value, Nodes: nodes, Cells: make([][]*float64, nodes)}
	var names []string
	var of quantity
	for _, v := range matrixValues {
		if v.name == value {
			m.Unit, of = v.unit, v.of
		}
		names = append(names, v.name)
	}
	if m.Unit == "" {
		return m, query.Bad("there is no value %q of links; choose one of: %s", value,
			strings.Join(names, ", "))
	}
	if err := interval(from, to); err != nil {
		return m, err
	}
	if nodes > maxMatrix {
		return m, query.Bad("a matrix of %d nodes is too large; the limit is %d", nodes, maxMatrix)
	}
	for i := range m.Cells {
		m.Cells[i] = make([]*float64, nodes)
		if value == "send_queue" && r.unknown[sendQueue] || value == "flight_ns" {
			continue
		}
		for j := range m.Cells[i] {
			if i != j {
				m.Cells[i][j] = new(float64)
			}
		}
	}
	cell := func(place int32) *float64 {
		sum := func(q quantity) float64 {
			if f := r.stored(q, place); f != nil {
				return float64(r.before(f, to) - r.before(f, from))
			}
			return 0
		}
		v := sum(of)
		switch value {
		case "send_queue":
			if r.unknown[sendQueue] {
				return nil
			}
			v = 0
			if f := r.stored(sendQueue, place); f != nil {
				v = float64(r.window(f, from, to, f.end()).max)
			}
		case "flight_ns":
			n := sum(flights)
			if n == 0 {
				return nil
			}
			v /= n
		case "bandwidth":
			v = v / float64(to-from) * 1e9
		}
		return &v
	}
	for i, l := range r.links.list {
		if l.From >= nodes || l.To >= nodes {
			continue
		}
		if c := cell(int32(i)); c != nil {
			m.Cells[l.From][l.To] = c
			m.Max = max(m.Max, *c)
		}
	}
	switch total := cell(whole); {
	case value == "send_queue":
		m.Total = m.Max
	case total != nil:
		m.Total = *total
	}
	return m, nil
}
