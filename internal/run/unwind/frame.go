package unwind

import "encoding/binary"

// How a register of the caller is found.
const (
	same       = iota // it is unchanged
	atOffset          // at CFA + offset (of the CFA itself: a register + offset)
	isOffset          // it is CFA + offset
	inRegister        // in another register
	unknown
)

type rule struct {
	how    int
	reg    uint64
	offset int64
}

// row says where the registers of the caller are. The CFA is the stack pointer before the call.
type row struct {
	cfa   rule
	rules [33]rule
	ra    uint64 // the register that stands for the return address
}

// reader takes numbers from bytes. After the end it gives zeros and is bad.
type reader struct {
	b     []byte
	at    uint64 // address of b[0], as the file counts
	order binary.ByteOrder
	bad   bool
}

func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.bad, r.b = true, nil
		return make([]byte, min(n, 8))
	}
	b := r.b[:n]
	r.b, r.at = r.b[n:], r.at+n
	return b
}

func (r *reader) u8() uint8   { return r.take(1)[0] }
func (r *reader) u16() uint16 { return r.order.Uint16(r.take(2)) }
func (r *reader) u32() uint32 { return r.order.Uint32(r.take(4)) }
func (r *reader) u64() uint64 { return r.order.Uint64(r.take(8)) }

func (r *reader) uleb() (v uint64) {
	for shift := 0; !r.bad; shift += 7 {
		b := r.u8()
		v |= uint64(b&0x7f) << min(shift, 64)
		if b < 0x80 {
			break
		}
	}
	return v
}

func (r *reader) sleb() (v int64) {
	for shift := 0; !r.bad; {
		b := r.u8()
		v |= int64(b&0x7f) << min(shift, 64)
		shift += 7
		if b < 0x80 {
			if b&0x40 != 0 && shift < 64 {
				v |= -1 << shift
			}
			break
		}
	}
	return v
}

// Encodings of addresses: form in the low 4 bits, what they are relative to in the next 3.
const (
	formPointer = 0
	formU2      = 2
	formU4      = 3
	formU8      = 4
	formS2      = 10
	formS4      = 11
	formS8      = 12
	relativePC  = 0x10
	omitted     = 0xff
)

func (r *reader) pointer(encoding uint8) (v uint64) {
	at := r.at
	switch encoding & 0x0f {
	case formPointer, formU8, formS8:
		v = r.u64()
	case formU2:
		v = uint64(r.u16())
	case formS2:
		v = uint64(int64(int16(r.u16())))
	case formU4:
		v = uint64(r.u32())
	case formS4:
		v = uint64(int64(int32(r.u32())))
	default:
		r.bad = true
	}
	switch encoding & 0x70 {
	case 0:
	case relativePC:
		v += at
	default:
		r.bad = true
	}
	return v
}

// common is what several functions share (CIE).
type common struct {
	codeAlign uint64
	dataAlign int64
	ra        uint64
	encoding  uint8
	augmented bool
	program   reader
}

// record takes the next record of .eh_frame: its identity, where that stands, and the rest. ok is false at
// the end.
func (r *reader) record() (id, at uint64, rest reader, ok bool) {
	size := uint64(r.u32())
	if size == 0xffffffff {
		size = r.u64()
	}
	if r.bad || size < 4 || size > uint64(len(r.b)) {
		return 0, 0, rest, false
	}
	at = r.at
	rest = reader{b: r.take(size), at: at, order: r.order}
	return uint64(rest.u32()), at, rest, true
}

func (o *object) reader() *reader { return &reader{b: o.frames, at: o.at, order: o.order} }

// common reads the CIE at an address.
func (o *object) common(at uint64) *common {
	if at < o.at || at-o.at >= uint64(len(o.frames)) {
		return nil
	}
	all := &reader{b: o.frames[at-o.at:], at: at, order: o.order}
	id, _, r, ok := all.record()
	if !ok || id != 0 {
		return nil
	}
	version := r.u8()
	var augmentation []byte
	for c := r.u8(); c != 0 && !r.bad; c = r.u8() {
		augmentation = append(augmentation, c)
	}
	c := &common{codeAlign: r.uleb(), dataAlign: r.sleb()}
	if version == 1 {
		c.ra = uint64(r.u8())
	} else {
		c.ra = r.uleb()
	}
	for i, letter := range augmentation {
		switch letter {
		case 'z':
			if i > 0 {
				return nil
			}
			c.augmented = true
			_ = r.uleb()
		case 'R':
			c.encoding = r.u8()
		case 'P':
			r.pointer(r.u8() &^ 0x80)
		case 'L':
			r.u8()
		case 'S', 'B':
		default:
			return nil
		}
	}
	c.program = r
	if r.bad || c.ra >= 33 {
		return nil
	}
	return c
}

// row finds what is said of the code at an offset; nil if nothing is.
func (o *object) row(offset uint64) *row {
	known := map[uint64]*common{}
	for all := o.reader(); ; {
		id, at, r, ok := all.record()
		if !ok {
			return nil
		}
		if id == 0 {
			continue
		}
		c, seen := known[at-id]
		if !seen {
			c = o.common(at - id)
			known[at-id] = c
		}
		if c == nil {
			continue
		}
		from := r.pointer(c.encoding)
		size := r.pointer(c.encoding & 0x0f)
		if r.bad || offset < from || offset-from >= size {
			continue
		}
		if c.augmented {
			r.take(r.uleb())
		}
		return c.run(&r, from, offset)
	}
}

// run follows the instructions of a function up to an offset.
func (c *common) run(program *reader, from, offset uint64) *row {
	now := row{ra: c.ra}
	shared := c.program
	if c.execute(&shared, &now, row{}, from, offset, false); shared.bad {
		return nil
	}
	if c.execute(program, &now, now, from, offset, true); program.bad {
		return nil
	}
	return &now
}

// Instructions of call frame information.
const (
	advance          = 0x40
	offsetShort      = 0x80
	restoreShort     = 0xc0
	setLoc           = 0x01
	advance1         = 0x02
	advance2         = 0x03
	advance4         = 0x04
	offsetExtended   = 0x05
	restoreExtended  = 0x06
	undefined        = 0x07
	sameValue        = 0x08
	register         = 0x09
	rememberState    = 0x0a
	restoreState     = 0x0b
	defCFA           = 0x0c
	defCFARegister   = 0x0d
	defCFAOffset     = 0x0e
	defCFAExpression = 0x0f
	expression       = 0x10
	offsetExtendedSF = 0x11
	defCFASF         = 0x12
	defCFAOffsetSF   = 0x13
	valOffset        = 0x14
	valOffsetSF      = 0x15
	valExpression    = 0x16
	negateRAState    = 0x2d // AArch64: return addresses are signed
	argsSize         = 0x2e
)

// execute changes the row as the instructions say. first is the row at the function's beginning.
func (c *common) execute(r *reader, now *row, first row, at, until uint64, moves bool) {
	var kept []row
	set := func(reg uint64, x rule) {
		if reg < uint64(len(now.rules)) {
			now.rules[reg] = x
		}
	}
	scaled := func(n uint64) int64 { return int64(n) * c.dataAlign }
	for len(r.b) > 0 && !r.bad {
		op := r.u8()
		step, forward := uint64(0), false
		switch op & 0xc0 {
		case advance:
			step, forward = uint64(op&0x3f), true
		case offsetShort:
			set(uint64(op&0x3f), rule{how: atOffset, offset: scaled(r.uleb())})
			continue
		case restoreShort:
			set(uint64(op&0x3f), first.rules[op&0x3f%33])
			continue
		}
		switch {
		case forward:
		case op == setLoc:
			r.bad = true // compilers do not use it
		case op == advance1:
			step, forward = uint64(r.u8()), true
		case op == advance2:
			step, forward = uint64(r.u16()), true
		case op == advance4:
			step, forward = uint64(r.u32()), true
		case op == offsetExtended:
			reg := r.uleb()
			set(reg, rule{how: atOffset, offset: scaled(r.uleb())})
		case op == offsetExtendedSF:
			reg := r.uleb()
			set(reg, rule{how: atOffset, offset: r.sleb() * c.dataAlign})
		case op == restoreExtended:
			if reg := r.uleb(); reg < uint64(len(first.rules)) {
				set(reg, first.rules[reg])
			}
		case op == undefined:
			set(r.uleb(), rule{how: unknown})
		case op == sameValue:
			set(r.uleb(), rule{})
		case op == register:
			reg := r.uleb()
			set(reg, rule{how: inRegister, reg: r.uleb()})
		case op == rememberState:
			if len(kept) < 64 {
				kept = append(kept, *now)
			}
		case op == restoreState:
			if len(kept) > 0 {
				*now, kept = kept[len(kept)-1], kept[:len(kept)-1]
			}
		case op == defCFA:
			reg := r.uleb()
			now.cfa = rule{atOffset, reg, int64(r.uleb())}
		case op == defCFASF:
			reg := r.uleb()
			now.cfa = rule{atOffset, reg, r.sleb() * c.dataAlign}
		case op == defCFARegister:
			now.cfa.reg = r.uleb()
		case op == defCFAOffset:
			now.cfa.offset = int64(r.uleb())
		case op == defCFAOffsetSF:
			now.cfa.offset = r.sleb() * c.dataAlign
		case op == defCFAExpression:
			r.take(r.uleb())
			now.cfa = rule{how: unknown}
		case op == expression, op == valExpression:
			set(r.uleb(), rule{how: unknown})
			r.take(r.uleb())
		case op == valOffset:
			reg := r.uleb()
			set(reg, rule{how: isOffset, offset: scaled(r.uleb())})
		case op == valOffsetSF:
			reg := r.uleb()
			set(reg, rule{how: isOffset, offset: r.sleb() * c.dataAlign})
		case op == argsSize:
			r.uleb()
		case op == 0: // padding
		default: // negateRAState too: then the return address is not known
			r.bad = true
		}
		if forward && moves {
			if at += step * c.codeAlign; at > until {
				return
			}
		}
	}
}
