package timeline

import (
	"encoding/binary"
	"errors"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// A saved timeline has the pieces of every lane with their factor and class: what Factors and Tile need, and
// no more. Both compute on it as they do on a model, so they say the same to the nanosecond.
//
//	wall, extra, whether there is an "undivided" row
//	nodes: the number of workers of each
//	classes: each class of columns
//	lanes: pieces; then their lengths, rows and classes, by column
//
// All are varints, after their number where it varies.

// Save appends the timeline to b.
func (t *Timeline) Save(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(t.Wall()))
	b = binary.AppendVarint(b, t.extra)
	b = binary.AppendUvarint(b, uint64(len(t.names)))
	b = binary.AppendUvarint(b, uint64(len(t.m.Nodes)))
	for n := range t.m.Nodes {
		b = binary.AppendUvarint(b, uint64(len(t.m.Nodes[n].Workers)))
	}
	b = binary.AppendUvarint(b, uint64(len(t.classes)))
	for _, class := range t.classes {
		b = binary.AppendUvarint(b, uint64(class))
	}
	for i := range t.lanes {
		l := &t.lanes[i]
		b = binary.AppendUvarint(b, uint64(len(l.end)))
		from := int64(0)
		for _, end := range l.end {
			b = binary.AppendUvarint(b, uint64(end-from))
			from = end
		}
		for _, p := range l.part {
			b = append(b, t.rows[p&^inside])
		}
		for _, class := range l.class {
			b = binary.AppendUvarint(b, uint64(class))
		}
	}
	return b
}

var errSaved = errors.New("the saved timeline is damaged")

// saved reads what Save has written.
type saved struct {
	b  []byte
	ok bool
}

// number is at most most.
func (s *saved) number(most uint64) uint64 {
	v, n := binary.Uvarint(s.b)
	if n <= 0 || v > most {
		s.ok, s.b = false, nil
		return 0
	}
	s.b = s.b[n:]
	return v
}

// count is how many things follow, of at least a byte each.
func (s *saved) count() int { return int(s.number(uint64(len(s.b)))) }

// Load makes a timeline of what Save has written. Only Wall, Lanes, Factors and Tile may be asked of it. It
// fails where b is damaged.
func Load(b []byte) (*Timeline, error) {
	s := &saved{b, true}
	wall := int64(s.number(maxTime))
	extra, n := binary.Varint(s.b)
	if n <= 0 {
		return nil, errSaved
	}
	s.b = s.b[n:]
	t := &Timeline{extra: extra, m: &model.Model{Info: &trace.RunInfo{}, End: wall}}
	names := int(s.number(uint64(Rows)))
	if t.names = rowNames[:names]; names < rowUndivided {
		return nil, errSaved
	}
	lanes := 0
	t.m.Nodes = make([]model.Node, s.count())
	for n := range t.m.Nodes {
		workers := s.count()
		if lanes += workers; lanes > len(s.b) { // each lane has a byte at least
			return nil, errSaved
		}
		t.m.Nodes[n].Workers = make([]model.Worker, workers)
	}
	for row := range rowCount {
		t.rows, t.parts = append(t.rows, uint8(row)), append(t.parts, partKey{factor: slou.Factor(row)})
	}
	t.classes = make([]uint16, s.count())
	for i := range t.classes {
		t.classes[i] = uint16(s.number(1<<16 - 1))
	}
	for id, w := range t.m.AllWorkers() {
		if id.Worker == 0 {
			for len(t.first) <= id.Node {
				t.first = append(t.first, len(t.lanes))
			}
		}
		l := lane{id: id, worker: w}
		if !s.lane(&l, wall, len(t.classes)) {
			return nil, errSaved
		}
		t.lanes = append(t.lanes, l)
	}
	if !s.ok || len(s.b) > 0 {
		return nil, errSaved
	}
	for i := range t.lanes {
		t.lanes[i].index(t, stride(len(t.classes)))
	}
	return t, nil
}

// lane reads a lane.
func (s *saved) lane(l *lane, wall int64, classes int) bool {
	n := s.count()
	l.end, l.part, l.class = make([]int64, n), make([]uint32, n), make([]uint16, n)
	at := int64(0)
	for i := range l.end {
		length := int64(s.number(uint64(wall)))
		if at += length; length == 0 || at > wall {
			return false
		}
		l.end[i] = at
	}
	if len(s.b) < n {
		return false
	}
	for i, row := range s.b[:n] {
		if int(row) >= rowCount {
			return false
		}
		l.part[i] = uint32(row)
	}
	s.b = s.b[n:]
	for i := range l.class {
		v := s.number(uint64(classes))
		if int(v) >= classes {
			return false
		}
		l.class[i] = uint16(v)
	}
	return s.ok && at == wall
}
