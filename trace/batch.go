package trace

import (
	"errors"
	"fmt"
	"math"

	"github.com/whyslow/whyslow/internal/tracefile"
)

// Batch is one block of events of one stream, in the order they were recorded. It is meant to be used again
// and again; the zero value is ready. Its slices are valid until it is next read into.
//
// Words[Off[i]:Off[i+1]] are the arguments of event i: the fixed fields of its kind, a
// word each, and for a kind with a list the number of elements and the elements.
// Events of standard kinds have exactly the fields of the table, whatever the version
// that wrote them. Ids and node numbers are within the ranges of their types.
type Batch struct {
	Node   int
	Stream int
	N      int
	Time   []int64
	Kind   []Kind
	Off    []uint32 // N+1 of them
	Words  []uint64

	First, Last int64 // least and greatest time
	Offset      int64 // where the block is in its file

	sizes *[]columnSize // where decode notes what columns take; nil: nowhere

	file  []byte // the block as read
	raw   []byte
	pos   []uint32 // per kind in turn: where the words of its events begin
	lens  []uint64 // in the same order: lengths of their lists
	vals  []uint64
	nodes []uint64
	used  []usedKind
}

// Args returns the arguments of event i.
func (b *Batch) Args(i int) []uint64 { return b.Words[b.Off[i]:b.Off[i+1]] }

// ListAt returns the elements of event i's list, its kind having fixed fields before it.
func (b *Batch) ListAt(i, fixed int) []uint64 { return b.Words[b.Off[i]+uint32(fixed)+1 : b.Off[i+1]] }

// columnSize is what a column of a block takes before it is compressed.
type columnSize struct {
	kind  Kind
	field int // of the kind, or one of those below
	bytes int
}

// Columns that are no field.
const (
	columnTimes = -1 - iota
	columnKinds // with the table of kinds
	columnLengths
)

// sized notes the bytes between two positions in the payload.
func (b *Batch) sized(k Kind, field int, from, to []byte) {
	if b.sizes != nil {
		*b.sizes = append(*b.sizes, columnSize{k, field, len(from) - len(to)})
	}
}

// usedKind is an entry of a block's table of kinds.
type usedKind struct {
	kind       Kind
	count      int
	types      []byte
	fixed      int // fixed fields in the block
	list       bool
	wantFixed  int // fixed fields that the events get
	wantList   bool
	start, end int // its part of pos and lens
}

// take fills the batch from the payload of a block.
func (b *Batch) take(h *tracefile.Header, payload []byte, defs *Defs) (err error) {
	if b.raw, err = tracefile.Unpack(b.raw, h, payload); err != nil {
		return err
	}
	b.Stream = int(h.Stream)
	return b.decode(b.raw, h, defs)
}

var errPayload = errors.New("contents are not consistent")

// decode fills the batch from the payload of a data block.
//
// What it allocates is bounded by the payload's length: every event has a byte in
// the column of kinds, every element of a list at least a byte of its own.
func (b *Batch) decode(raw []byte, h *tracefile.Header, defs *Defs) error {
	p := parser{b: raw}
	n := int(h.Count)
	if n > len(raw) {
		return errPayload
	}
	if err := b.readKinds(&p, n, defs); err != nil {
		return err
	}
	index := p.bytes(n)
	if p.bad {
		return errColumn
	}
	b.sized(0, columnKinds, raw, p.b)
	b.N = n
	b.First, b.Last = h.First, h.Last
	b.vals = tracefile.Resize(b.vals, n)
	rest, err := readColumn(b.vals, p.b, true)
	if err != nil {
		return err
	}
	b.sized(0, columnTimes, p.b, rest)
	b.Time = tracefile.Resize(b.Time, n)
	for i, d := range b.vals {
		t := h.Base + int64(d)
		if t < h.First || t > h.Last {
			return errPayload
		}
		b.Time[i] = t
	}
	if rest, err = b.readLengths(rest, n); err != nil {
		return err
	}
	if err := b.place(index); err != nil {
		return err
	}
	for i := range b.used {
		if rest, err = b.readKind(rest, &b.used[i]); err != nil {
			return err
		}
	}
	if len(rest) > 0 {
		return errPayload
	}
	return nil
}

func (b *Batch) readKinds(p *parser, n int, defs *Defs) error {
	total := 0
	nk := p.number(maxBlockKinds)
	b.used = b.used[:0]
	for range nk {
		k := Kind(p.number(uint64(MaxKind)))
		u := usedKind{kind: k, count: p.number(uint64(n))}
		u.types = p.bytes(p.number(MaxFields))
		if p.bad || k == 0 {
			return errPayload
		}
		for i, t := range u.types {
			if !FieldType(t).Valid() {
				return fmt.Errorf("kind %d has a field of unknown type %d: a newer version of whyslow"+
					" is needed", u.kind, t)
			}
			if FieldType(t).List() {
				if i < len(u.types)-1 {
					return errPayload
				}
				u.list = true
			}
		}
		if u.fixed = len(u.types); u.list {
			u.fixed--
		}
		u.wantFixed, u.wantList = u.fixed, u.list
		if s := k.Spec(); s != nil {
			u.wantFixed, u.wantList = s.List()
			for f := range min(u.fixed, u.wantFixed) {
				if s.Fields[f].Type != FieldType(u.types[f]) {
					return fmt.Errorf("%s has other fields than this version of whyslow knows", s)
				}
			}
		}
		if s := defs.Kind(k); s != nil && k >= FirstUserKind && !s.hasTypes(u.types) {
			return fmt.Errorf("%s has other fields than it is declared with", s)
		}
		u.start, u.end = total, total+u.count
		total += u.count
		if total > n {
			return errPayload
		}
		b.used = append(b.used, u)
	}
	if total != n {
		return errPayload
	}
	return nil
}

// readLengths reads the lengths of all lists.
func (b *Batch) readLengths(rest []byte, n int) ([]byte, error) {
	b.lens = tracefile.Resize(b.lens, n)
	var elements uint64
	for i := range b.used {
		u := &b.used[i]
		lens := b.lens[u.start:u.end]
		if !u.list {
			clear(lens)
			continue
		}
		before := rest
		var err error
		if rest, err = readColumn(lens, rest, true); err != nil {
			return nil, err
		}
		b.sized(u.kind, columnLengths, before, rest)
		for _, l := range lens {
			if l > maxRecord {
				return nil, errPayload
			}
			elements += l
		}
	}
	if elements > uint64(len(rest)) {
		return nil, errPayload
	}
	return rest, nil
}

// place finds the words of every event and fills in Kind, Off and pos.
func (b *Batch) place(index []byte) error {
	n := len(index)
	b.Kind = tracefile.Resize(b.Kind, n)
	b.Off = tracefile.Resize(b.Off, n+1)
	b.pos = tracefile.Resize(b.pos, n)
	var next, end [maxBlockKinds]int
	var size, drop [maxBlockKinds]uint32
	for i := range b.used {
		u := &b.used[i]
		next[i], end[i] = u.start, u.end
		size[i] = uint32(u.wantFixed)
		if u.wantList {
			size[i]++
		} else if u.list {
			drop[i] = ^uint32(0) // a list that this version does not know
		}
	}
	at := uint32(0)
	for i, k := range index {
		j := next[k]
		if j >= end[k] {
			return errPayload
		}
		next[k]++
		b.Kind[i] = b.used[k].kind
		b.Off[i] = at
		b.pos[j] = at
		at += size[k] + uint32(b.lens[j])&^drop[k]
	}
	b.Off[n] = at
	b.Words = tracefile.Resize(b.Words, int(at))
	return nil
}

// limits bounds the values of a field type: the bits that must be 0.
var limits = [fieldTypes]uint64{
	FieldDF: ^uint64(math.MaxUint32), FieldSite: ^uint64(math.MaxUint32), FieldName: ^uint64(math.MaxUint32),
	FieldNode: ^uint64(MaxNode), FieldReason: ^uint64(math.MaxUint8), FieldDFs: ^uint64(math.MaxUint32),
}

func (b *Batch) readKind(rest []byte, u *usedKind) ([]byte, error) {
	pos := b.pos[u.start:u.end]
	vals := b.vals[:len(pos)]
	var err error
	for f := range u.fixed {
		before := rest
		if rest, err = b.readField(rest, vals, FieldType(u.types[f])); err != nil {
			return nil, err
		}
		b.sized(u.kind, f, before, rest)
		if f < u.wantFixed {
			for i, at := range pos {
				b.Words[int(at)+f] = vals[i]
			}
		}
	}
	for f := u.fixed; f < u.wantFixed; f++ {
		def := u.kind.Spec().Fields[f].Default
		for _, at := range pos {
			b.Words[int(at)+f] = def
		}
	}
	lens := b.lens[u.start:u.end]
	if u.wantList {
		for i, at := range pos {
			b.Words[int(at)+u.wantFixed] = lens[i]
		}
	}
	if !u.list {
		return rest, nil
	}
	before := rest
	rest, err = b.readList(rest, u, pos, lens)
	b.sized(u.kind, u.fixed, before, rest)
	return rest, err
}

// readField reads the values of a fixed field.
func (b *Batch) readField(rest []byte, vals []uint64, t FieldType) ([]byte, error) {
	split := t == FieldCF || t == FieldMessage
	var err error
	if split {
		b.nodes = tracefile.Resize(b.nodes, len(vals))
		if rest, err = readColumn(b.nodes, rest, true); err != nil {
			return nil, err
		}
	}
	if rest, err = readColumn(vals, rest, true); err != nil {
		return nil, err
	}
	var bits uint64
	switch {
	case split:
		for i, v := range vals {
			bits |= v>>counterBits | b.nodes[i]>>16
			vals[i] = b.nodes[i]<<counterBits | v
		}
	case t == FieldFloat:
		for i, v := range vals {
			vals[i] = reverse(v)
		}
	case limits[t] != 0:
		for _, v := range vals {
			bits |= v & limits[t]
		}
	}
	if bits != 0 {
		return nil, errPayload
	}
	return rest, nil
}

// readList reads the elements of a kind's lists.
func (b *Batch) readList(rest []byte, u *usedKind, pos []uint32, lens []uint64) ([]byte, error) {
	words := b.Words
	if !u.wantList {
		words = nil
	}
	rest, bits, err := readLists(rest, words, pos, u.wantFixed+1, lens, listColumns, &b.vals)
	if err == nil && bits&limits[u.types[u.fixed]] != 0 {
		err = errPayload
	}
	return rest, err
}

// readLists reads the elements of lists of given lengths, position by position, to words, if that is not nil:
// those of list i so many words behind pos[i]. It returns all bits that elements have, too. vals is space.
func readLists(rest []byte, words []uint64, pos []uint32, behind int, lens []uint64, columns uint64,
	vals *[]uint64) (_ []byte, bits uint64, err error) {
	longest, tail := uint64(0), uint64(0)
	for _, l := range lens {
		longest = max(longest, l)
		tail += max(l, columns) - columns
	}
	read := func(n uint64) (list []uint64) {
		*vals = tracefile.Resize(*vals, max(int(n), len(*vals)))
		list = (*vals)[:n]
		if err == nil {
			rest, err = readColumn(list, rest, false)
		}
		for _, v := range list {
			bits |= v
		}
		return list
	}
	for p := range min(longest, columns) {
		n := uint64(0)
		for _, l := range lens {
			if p < l {
				n++
			}
		}
		list := read(n)
		if words == nil {
			continue
		}
		for i, l := range lens {
			if p < l {
				words[int(pos[i])+behind+int(p)] = list[0]
				list = list[1:]
			}
		}
	}
	list := read(tail)
	for i, l := range lens {
		if l > columns {
			if words != nil {
				copy(words[int(pos[i])+behind+int(columns):], list[:l-columns])
			}
			list = list[l-columns:]
		}
	}
	return rest, bits, err
}
