package trace

// How a buffer of records becomes the payload of a data block: by column, each coded in the form that suits
// its type, then zstd at its fastest level. Bytes an event of the whole file, with one part left out at a
// time (2 nodes x 1 worker):
//
//	                                        cholesky 40 16   heat 200 8 0.01 2   mxm 20 50
//	as it is                                     1.57              1.04             1.60
//	no differences, values as they are           3.12              2.63             3.28
//	words of 8 bytes instead of varints          3.37              3.47             3.34
//	no zstd                                      5.15              5.66             4.87
//	one column for all elements of lists         1.68              1.01             1.78
//	no constant columns                          1.58              1.06             1.62
//
// Differences and zstd need each other: zstd finds bytes that differ little from event to event. A column for
// each position in lists pays where CFs have several inputs. Constant columns are there for speed.

import (
	"encoding/binary"

	"github.com/whyslow/whyslow/internal/tracefile"
)

// layout is what packing needs to know of a kind.
type layout struct {
	kind  Kind
	types []FieldType // of the fixed fields, then of the list if any
	fixed int
	list  bool
	flags uint16
}

func newLayout(s *KindSpec) *layout {
	lay := &layout{kind: s.Kind}
	lay.fixed, lay.list = s.List()
	for _, f := range s.Fields {
		lay.types = append(lay.types, f.Type)
	}
	switch s.Kind {
	case KindProgramStarted:
		lay.flags = tracefile.FlagStarted
	case KindProgramFinished:
		lay.flags = tracefile.FlagFinished
	case KindClockSync:
		lay.flags = tracefile.FlagSync
	}
	return lay
}

// recordSize returns the number of words of the record at the start of buf, 0 if there is no whole one.
//
//go:norace
func (w *Writer) recordSize(buf []uint64) int {
	if lay := w.layout(headerKind(buf[0])); lay != nil {
		return lay.size(buf)
	}
	return 0
}

//go:norace
func (lay *layout) size(buf []uint64) int {
	n := 1 + lay.fixed
	if lay.list {
		if n >= len(buf) || buf[n] > uint64(len(buf)) {
			return 0
		}
		n += 1 + int(buf[n])
	}
	if n > len(buf) {
		return 0
	}
	return n
}

const (
	// maxBlockWords closes a block: with the longest record on top its payload stays below maxRaw.
	maxBlockWords = 1 << 19
	// maxBlockKinds is what one byte per event can tell apart.
	maxBlockKinds = 256
	// listColumns: the first elements of lists have a column per position, since
	// like belongs to like in indices and inputs; further ones share one.
	listColumns = 4
)

// forms are the forms of columns that suit the types: ids and sizes are near the last ones, and repeat them.
var forms = [fieldTypes]byte{
	FieldInt: colSigned, FieldUint: colPlain, FieldFloat: colPlain, FieldCF: colDelta,
	FieldDF: colDelta, FieldSite: colPlain,
	FieldName: colPlain, FieldNode: colPlain, FieldMessage: colDelta, FieldNS: colSigned,
	FieldBytes: colDelta, FieldReason: colPlain,
}

// packer turns raw records into the columns of a block's payload. Its slices are kept from block to block.
type packer struct {
	index [MaxKind + 1]uint16 // kind -> 1 + place in used
	used  []*layout
	at    [maxBlockKinds][]uint32 // per used kind: where its records are
	kinds []byte
	times []uint64
	vals  []uint64
	nodes []uint64
}

// pack appends the payload for the records in buf to raw and fills in the header. It
// returns the number of words it took, which is less than all where a block is full.
func (p *packer) pack(raw []byte, w *Writer, buf []uint64, h *tracefile.Header) ([]byte, int) {
	p.kinds, p.times = p.kinds[:0], p.times[:0]
	for i, lay := range p.used {
		p.index[lay.kind] = 0
		p.at[i] = p.at[i][:0]
	}
	p.used = p.used[:0]
	i := 0
	for i < len(buf) && i < maxBlockWords {
		k := headerKind(buf[i])
		at := p.index[k]
		if at == 0 {
			lay := w.layout(k)
			if lay == nil || len(p.used) == maxBlockKinds {
				break
			}
			p.used = append(p.used, lay)
			at = uint16(len(p.used))
			p.index[k] = at
			h.Flags |= lay.flags
		}
		size := p.used[at-1].size(buf[i:])
		if size == 0 {
			break
		}
		if size > maxRecord {
			// Too long for a block. It fits a large buffer, so the stream could not tell.
			w.lost.Add(1)
			w.unwritten.Add(1)
			i += size
			continue
		}
		t := headerTime(buf[i])
		if len(p.times) == 0 {
			h.Base, h.First, h.Last = t, t, t
		}
		h.First, h.Last = min(h.First, t), max(h.Last, t)
		p.times = append(p.times, uint64(t-h.Base))
		p.kinds = append(p.kinds, byte(at-1))
		p.at[at-1] = append(p.at[at-1], uint32(i))
		i += size
	}
	h.Count = uint32(len(p.times))
	raw = binary.AppendUvarint(raw, uint64(len(p.used)))
	for j, lay := range p.used {
		raw = appendUvarints(raw, uint64(lay.kind), uint64(len(p.at[j])), uint64(len(lay.types)))
		for _, t := range lay.types {
			raw = append(raw, byte(t))
		}
	}
	raw = append(raw, p.kinds...)
	raw = appendColumn(raw, p.times, colDelta, true)
	for j, lay := range p.used {
		raw = p.packLengths(raw, buf, lay, p.at[j])
	}
	for j, lay := range p.used {
		raw = p.packKind(raw, buf, lay, p.at[j])
	}
	return raw, i
}

// packLengths stores the lengths of a kind's lists. They come before all fields, so
// that a reader knows where every event's words go.
func (p *packer) packLengths(raw []byte, buf []uint64, lay *layout, at []uint32) []byte {
	if !lay.list {
		return raw
	}
	vals := p.vals[:0]
	for _, i := range at {
		vals = append(vals, buf[int(i)+1+lay.fixed])
	}
	p.vals = vals
	return appendColumn(raw, vals, colPlain, true)
}

func (p *packer) packKind(raw []byte, buf []uint64, lay *layout, at []uint32) []byte {
	for f := range lay.fixed {
		vals := p.vals[:0]
		for _, i := range at {
			vals = append(vals, buf[int(i)+1+f])
		}
		p.vals = vals
		raw = p.packField(raw, vals, lay.types[f])
	}
	if lay.list {
		raw = p.packLists(raw, buf, at, 1+lay.fixed, listColumns)
	}
	return raw
}

// packLists stores the elements of lists: the first ones in a column per position, all further ones in one.
// The length of a list, followed by its elements, is so many words behind a place in at.
func (p *packer) packLists(raw []byte, words []uint64, at []uint32, behind int, columns uint64) []byte {
	longest := uint64(0)
	for _, i := range at {
		longest = max(longest, words[int(i)+behind])
	}
	vals := p.vals[:0]
	for pos := range min(longest, columns) {
		vals = vals[:0]
		for _, i := range at {
			if list := words[int(i)+behind:]; pos < list[0] {
				vals = append(vals, list[1+pos])
			}
		}
		raw = appendColumn(raw, vals, colDelta, false)
	}
	vals = vals[:0]
	for _, i := range at {
		if list := words[int(i)+behind:]; list[0] > columns {
			vals = append(vals, list[1+columns:1+list[0]]...)
		}
	}
	p.vals = vals
	return appendColumn(raw, vals, colDelta, false)
}

// packField stores the values of a field: ids of node and counter as two columns, since one of them hardly
// ever changes; floats turned round, since round numbers have their zeros at the end. It uses vals up.
func (p *packer) packField(raw []byte, vals []uint64, t FieldType) []byte {
	switch t {
	case FieldCF, FieldMessage:
		nodes := p.nodes[:0]
		for i, v := range vals {
			nodes = append(nodes, v>>counterBits)
			vals[i] = v & (1<<counterBits - 1)
		}
		p.nodes = nodes
		raw = appendColumn(raw, nodes, colPlain, true)
	case FieldFloat:
		for i, v := range vals {
			vals[i] = reverse(v)
		}
	}
	return appendColumn(raw, vals, forms[t], true)
}

// packDefs appends the payload of a definition block: length and bytes of the rows, then the DFs by column.
func (p *packer) packDefs(raw []byte, d *pending) []byte {
	raw = appendUvarints(raw, uint64(d.nrows), uint64(len(d.rows)))
	raw = append(raw, d.rows...)
	raw = binary.AppendUvarint(raw, uint64(d.ndfs))
	at := p.at[0][:0]
	for i := 0; i < len(d.dfs); i += 3 + int(d.dfs[i+2]) {
		at = append(at, uint32(i))
	}
	for c := range 3 {
		vals := p.vals[:0]
		for _, i := range at {
			vals = append(vals, d.dfs[int(i)+c])
		}
		p.vals = vals
		// The numbers are no constant, so that there are no more DFs than bytes.
		raw = appendColumn(raw, vals, colDelta, c > 0)
	}
	p.at[0] = at[:0]
	return p.packLists(raw, d.dfs, at, 2, identityColumns)
}

// identityColumns is the number of elements of identities with columns of their own:
// node, number and four indices.
const identityColumns = 6
