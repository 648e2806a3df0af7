package trace

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"unsafe"

	"github.com/whyslow/whyslow/internal/tracefile"
)

// Defs are the definitions in one node's file. What is not defined, or whose
// definition is lost, has no name: numbers are shown as "#7".
type Defs struct {
	names table[string]
	codes table[CodeDef]
	sites table[SiteDef]
	kinds map[Kind]*KindSpec
	dfs   table[uint32] // 1 + place in ids
	ids   []byte        // varints: name, length, identity (zigzag) of each DF
	ndfs  int

	numbers   map[string]Kind // of kinds, by their names
	text      int64           // bytes of strings and kinds
	room      func(bytes int64) error
	asked     int64 // bytes that there is room for
	refused   error // why there was none
	onlyKinds bool
}

// OnlyKinds makes d keep none but the kinds of user namespaces, and of these only what reading events takes:
// no descriptions, no names of fields. Of others d still finds out whether they are consistent. Before d
// takes so many bytes more, it asks room, which may refuse them.
func (d *Defs) OnlyKinds(room func(bytes int64) error) { d.onlyKinds, d.room = true, room }

// ask makes sure that there is room for so many bytes in all.
func (d *Defs) ask(bytes int64) error {
	if d.room == nil || bytes == d.asked {
		return nil
	}
	if d.refused = d.room(bytes - d.asked); d.refused == nil {
		d.asked = bytes
	}
	return d.refused
}

// size is about how many bytes the definitions take.
func (d *Defs) size() int64 {
	return bytesOf(&d.names) + bytesOf(&d.codes) + bytesOf(&d.sites) + bytesOf(&d.dfs) +
		int64(cap(d.ids)) + d.text
}

// What the definitions of a block may take at most, in bytes, while it is read: tables grow to twice what
// their numbers need, and a string or a kind is an object of its own.
const (
	perRow     = 256
	perDF      = 64
	perElement = 32
)

// table holds things by number. Numbers are mostly dense; those far out go to a map,
// so that a damaged one does not cost memory. It has no methods: a generic type's methods
// are compiled once more in every package that imports this one.
type table[T any] struct {
	dense  []T
	has    []bool
	sparse map[uint32]T
	n      int // how many there are
}

func putIn[T any](t *table[T], i uint32, v T) {
	switch {
	case uint64(i) < uint64(len(t.dense)):
	case uint64(i) == uint64(len(t.dense)): // as nearly always
		t.n++
		t.dense = append(t.dense, v)
		t.has = append(t.has, true)
		return
	case uint64(i) <= 2*uint64(t.n)+256:
		more := int(i) + 1 - len(t.dense)
		t.dense = append(t.dense, make([]T, more)...)
		t.has = append(t.has, make([]bool, more)...)
	default:
		if t.sparse == nil {
			t.sparse = map[uint32]T{}
		}
		before := len(t.sparse)
		t.sparse[i] = v
		t.n += len(t.sparse) - before
		return
	}
	if !t.has[i] {
		t.n++
	}
	t.dense[i], t.has[i] = v, true
}

// bytesOf is about how many bytes a table takes.
func bytesOf[T any](t *table[T]) int64 {
	var v T
	each := int64(unsafe.Sizeof(v))
	return int64(cap(t.dense))*(each+1) + 2*int64(len(t.sparse))*(each+5)
}

func getFrom[T any](t *table[T], i uint32) (v T, ok bool) {
	if uint64(i) < uint64(len(t.dense)) && t.has[i] {
		return t.dense[i], true
	}
	v, ok = t.sparse[i]
	return v, ok
}

// eachOf goes through a table in the order of the numbers.
func eachOf[T any](t *table[T], f func(i uint32, v T)) {
	if len(t.sparse) == 0 {
		for i, has := range t.has {
			if has {
				f(uint32(i), t.dense[i])
			}
		}
		return
	}
	numbers := slices.Collect(maps.Keys(t.sparse))
	for i, has := range t.has {
		if has {
			numbers = append(numbers, uint32(i))
		}
	}
	slices.Sort(numbers)
	for _, i := range slices.Compact(numbers) {
		v, _ := getFrom(t, i)
		f(i, v)
	}
}

// Name returns the string of that number, "" for 0, "#7" if it is not defined.
func (d *Defs) Name(n Name) string {
	if s, ok := d.LookupName(n); ok {
		return s
	}
	return "#" + strconv.FormatUint(uint64(n), 10)
}

// LookupName returns the string of that number and whether it is defined.
func (d *Defs) LookupName(n Name) (string, bool) {
	if n == 0 {
		return "", true
	}
	return getFrom(&d.names, uint32(n))
}

// Code returns the code fragment of that number and whether it is defined.
func (d *Defs) Code(code uint32) (CodeDef, bool) { return getFrom(&d.codes, code) }

// Site returns the statement of that number and whether it is defined.
func (d *Defs) Site(s Site) (SiteDef, bool) { return getFrom(&d.sites, uint32(s)) }

// EachName calls f for every string in the order of their numbers.
func (d *Defs) EachName(f func(Name, string)) {
	eachOf(&d.names, func(i uint32, s string) { f(Name(i), s) })
}

// EachCode calls f for every code fragment in the order of their numbers.
func (d *Defs) EachCode(f func(CodeDef)) { eachOf(&d.codes, func(_ uint32, c CodeDef) { f(c) }) }

// EachSite calls f for every statement in the order of their numbers.
func (d *Defs) EachSite(f func(SiteDef)) { eachOf(&d.sites, func(_ uint32, s SiteDef) { f(s) }) }

// Kind returns the description of a kind, standard or declared in this file, nil if there is none.
func (d *Defs) Kind(k Kind) *KindSpec {
	if k < FirstUserKind {
		return k.Spec()
	}
	return d.kinds[k]
}

// UserKinds returns the kinds declared in this file in the order of their numbers.
func (d *Defs) UserKinds() []*KindSpec {
	return slices.SortedFunc(maps.Values(d.kinds), func(a, b *KindSpec) int { return int(a.Kind) - int(b.Kind) })
}

// DFCount returns the number of DFs defined.
func (d *Defs) DFCount() int { return d.ndfs }

// DF returns the name of a DF and its identity list, appended to dst, and whether it
// is defined. dst may be nil.
func (d *Defs) DF(df DF, dst []int64) (name Name, identity []int64, ok bool) {
	at, ok := getFrom(&d.dfs, uint32(df))
	if !ok {
		return 0, dst, false
	}
	p := parser{b: d.ids[at-1:]}
	name = Name(p.uvarint())
	for range p.uvarint() {
		dst = append(dst, int64(unzigzag(p.uvarint())))
	}
	return name, dst, true
}

// identityHead is how many elements of an identity list come before the indices: the
// node that created the name, and the name's number there.
const identityHead = 2

// HasDF reports whether a DF is defined.
func (d *Defs) HasDF(df DF) bool {
	_, ok := getFrom(&d.dfs, uint32(df))
	return ok
}

// DFName returns the name of a DF with its indices, "a[0][1]", and whether it is defined.
func (d *Defs) DFName(df DF) (string, bool) {
	var space [8]int64
	n, identity, ok := d.DF(df, space[:0])
	if !ok {
		return "", false
	}
	text := []byte(d.Name(n))
	for _, v := range identity[min(identityHead, len(identity)):] {
		text = append(strconv.AppendInt(append(text, '['), v, 10), ']')
	}
	return string(text), true
}

// ID returns the 64-bit id of a DF, the same on all nodes; 0 if it is not defined.
func (d *Defs) ID(df DF) uint64 {
	var space [8]int64
	if _, identity, ok := d.DF(df, space[:0]); ok {
		return IdentityID(identity)
	}
	return 0
}

// EachDF calls f for every DF in the order of their numbers. identity is valid during the call.
func (d *Defs) EachDF(f func(df DF, name Name, identity []int64)) {
	var space []int64
	eachOf(&d.dfs, func(i uint32, _ uint32) {
		name, identity, _ := d.DF(DF(i), space[:0])
		f(DF(i), name, identity)
		space = identity
	})
}

// parser reads varints and bytes from b. After a mistake it is bad and returns zeros.
type parser struct {
	b   []byte
	bad bool
}

func (p *parser) uvarint() uint64 {
	v, n := binary.Uvarint(p.b)
	if n <= 0 {
		p.fail()
		return 0
	}
	p.b = p.b[n:]
	return v
}

func (p *parser) fail() { p.bad, p.b = true, nil }

// number is a varint of at most max.
func (p *parser) number(max uint64) int {
	v := p.uvarint()
	if v > max {
		p.fail()
		return 0
	}
	return int(v)
}

func (p *parser) bytes(n int) (b []byte) {
	if n > len(p.b) {
		p.fail()
		return nil
	}
	b, p.b = p.b[:n], p.b[n:]
	return b
}

func (p *parser) string() string { return string(p.bytes(p.number(tracefile.MaxRaw))) }

// ReadBlock reads a block, header and payload, as it is in a file and as the Writer of CreateSink gives it.
// It takes in definitions, and reads events into b. Node and Offset of b are left to the caller: the block
// does not tell them. Blocks of a file must come in their order.
func (d *Defs) ReadBlock(block []byte, b *Batch) error {
	var h tracefile.Header
	if err := h.Parse(block); err != nil {
		return err
	}
	payload := block[tracefile.BlockHeaderSize:]
	switch {
	case len(payload) != int(h.Packed) || tracefile.Checksum(payload) != h.Sum:
		return errors.New("block is not whole")
	case h.Kind == tracefile.DataBlock:
		return b.take(&h, payload, d)
	case h.Kind == tracefile.DefsBlock:
		var err error
		b.raw, err = d.take(b.raw, &h, payload)
		return err
	}
	return nil
}

// take takes in the payload of a definition block; raw is space for it.
func (d *Defs) take(raw []byte, h *tracefile.Header, payload []byte) ([]byte, error) {
	raw, err := tracefile.Unpack(raw, h, payload)
	if err == nil {
		d.refused = nil
		if err = d.add(raw); d.refused == nil {
			err = cmp.Or(err, d.ask(d.size())) // less than before, mostly
		}
	}
	return raw, err
}

var errDefs = errors.New("definitions are not consistent")

// add reads the payload of a definition block.
func (d *Defs) add(raw []byte) error {
	if d.kinds == nil {
		d.kinds, d.numbers = map[Kind]*KindSpec{}, map[string]Kind{}
	}
	p := parser{b: raw}
	nrows := p.number(tracefile.MaxRaw)
	rows := parser{b: p.bytes(p.number(tracefile.MaxRaw))}
	if !d.onlyKinds {
		if err := d.ask(d.size() + int64(len(rows.b)) + perRow*int64(min(nrows, len(rows.b)/2))); err != nil {
			return err
		}
	}
	for range nrows {
		tag := rows.bytes(1)
		body := rows.bytes(rows.number(tracefile.MaxRaw))
		if rows.bad || !d.row(tag[0], body) {
			return cmp.Or(d.refused, errDefs)
		}
	}
	ndfs := p.number(uint64(len(p.b)))
	if p.bad {
		return errDefs
	}
	return d.addDFs(p.b, ndfs)
}

// row takes in one definition. Tags of later versions are passed over.
func (d *Defs) row(tag byte, body []byte) bool {
	p := parser{b: body}
	id := uint32(p.number(math.MaxUint32))
	number := func() int { return p.number(math.MaxInt32) }
	name := func() Name { return Name(p.number(math.MaxUint32)) }
	switch tag {
	case tagString:
		if id != 0 && !d.onlyKinds {
			d.text += int64(len(p.b))
			putIn(&d.names, id, string(p.b))
		}
	case tagCode:
		c := CodeDef{Code: id, Name: name(), Kind: CodeKind(p.number(math.MaxUint8)), File: name(),
			Line: number(), Col: number()}
		if !p.bad && !d.onlyKinds {
			putIn(&d.codes, id, c)
		}
	case tagSite:
		s := SiteDef{Site: Site(id), Code: uint32(p.number(math.MaxUint32)), Label: name(), File: name(),
			Line: number(), Col: number(), Text: name()}
		if len(p.b) > 0 { // left out where not known, and by earlier versions
			s.DFs = name()
		}
		if len(p.b) > 0 {
			s.Stealable = p.number(math.MaxUint64)&1 != 0
		}
		if !p.bad && !d.onlyKinds {
			putIn(&d.sites, id, s)
		}
	case tagKind:
		s := &KindSpec{Kind: Kind(id), Namespace: p.string(), Name: p.string(), Doc: p.string()}
		for range p.number(MaxFields) {
			t := p.bytes(1)
			f := Field{Name: p.string()}
			if !p.bad {
				f.Type = FieldType(t[0])
			}
			s.Fields = append(s.Fields, f)
		}
		// A kind with types of a later version cannot be shown, and its blocks will say so.
		if p.bad || id < uint32(FirstUserKind) || id > uint32(MaxKind) || s.Check() != nil {
			break
		}
		if !d.setKind(s) {
			return false
		}
	}
	return !p.bad
}

// setKind takes in a kind, unless another one has its name: the text twin could not tell them apart. It
// returns false where there is no room.
func (d *Defs) setKind(s *KindSpec) bool {
	name := s.String()
	if k, known := d.numbers[name]; known && k != s.Kind {
		return true
	}
	old := d.kinds[s.Kind]
	if d.onlyKinds {
		s.Doc = ""
		for i := range s.Fields {
			s.Fields[i].Name = ""
		}
		if d.ask(d.size()+kindSize(s)) != nil {
			return false
		}
	}
	if old != nil {
		delete(d.numbers, old.String())
		d.text -= kindSize(old)
	}
	d.kinds[s.Kind], d.numbers[name] = s, s.Kind
	d.text += kindSize(s)
	return true
}

// kindSize is about how many bytes a kind takes.
func kindSize(s *KindSpec) int64 {
	n := 256 + 2*len(s.String()) + len(s.Doc)
	for i := range s.Fields {
		n += int(unsafe.Sizeof(s.Fields[i])) + len(s.Fields[i].Name)
	}
	return int64(n)
}

// maxPortion is how many DFs and elements of their identities a block has at most: a reader needs about 40
// bytes for each while it reads them. Writers put a quarter of that into a block.
const maxPortion = 1 << 20

var errPortion = fmt.Errorf("more than %d data fragments and indices", maxPortion)

// addDFs reads the columns of n DFs.
func (d *Defs) addDFs(b []byte, n int) error {
	if n > maxPortion {
		return errPortion
	}
	if !d.onlyKinds {
		if err := d.ask(d.size() + perDF*int64(n)); err != nil {
			return err
		}
	}
	var cols [3][]uint64 // number, name, length
	var err error
	for c := range cols {
		cols[c] = make([]uint64, n)
		if b, err = readColumn(cols[c], b, c > 0); err != nil {
			return err
		}
	}
	at := make([]uint32, n)
	elements := uint64(0)
	for i, l := range cols[2] {
		at[i] = uint32(elements)
		elements += l
		if max(cols[0][i], cols[1][i]) > math.MaxUint32 || l > maxIdentity || elements > uint64(len(b)) {
			return errDefs
		}
	}
	if uint64(n)+elements > maxPortion {
		return errPortion
	}
	if !d.onlyKinds {
		if err := d.ask(d.size() + perDF*int64(n) + perElement*int64(elements)); err != nil {
			return err
		}
	}
	words, vals := make([]uint64, elements), []uint64(nil)
	if b, _, err = readLists(b, words, at, 0, cols[2], identityColumns, &vals); err != nil {
		return err
	}
	if len(b) > 0 {
		return errDefs
	}
	if d.onlyKinds {
		return nil
	}
	if uint64(len(d.ids))+binary.MaxVarintLen64*(elements+2*uint64(n)) > math.MaxUint32 {
		return errors.New("too many data fragments")
	}
	ids := d.ids // in a local variable, which the garbage collector need not be told of each time
	for i, l := range cols[2] {
		place := uint32(len(ids)) + 1
		ids = appendUvarints(ids, cols[1][i], l)
		for _, v := range words[at[i]:][:l] {
			ids = binary.AppendUvarint(ids, zigzag(v))
		}
		if _, known := getFrom(&d.dfs, uint32(cols[0][i])); !known {
			d.ndfs++
		}
		putIn(&d.dfs, uint32(cols[0][i]), place)
	}
	d.ids = ids
	return nil
}
