package cpp

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync/atomic"
	"unsafe"
)

// Type is the type code of a data fragment's value; the codes are LuNA's.
type Type uint32

// Types of values.
const (
	Unset  Type = iota
	Int         // 32 bits
	Real        // IEEE double
	String      // bytes and a NUL
	Block       // bytes
)

var typeNames = [...]string{"(unset)", "int", "real", "string", "value"}

// String returns the name that LuNA's messages use.
func (t Type) String() string {
	if int(t) < len(typeNames) {
		return typeNames[t]
	}
	return "type " + strconv.Itoa(int(t))
}

// Value is the value of a data fragment: 16 bytes with the layout of the C++ class DF. It contains no Go
// pointer, so that the garbage collector and the cgo checks have nothing to do with it.
//
// Strings and blocks live in C memory and are reference-counted. Copying a Value copies no reference: who
// keeps a copy calls Retain, and everyone who holds a reference calls Release once.
type Value struct {
	Type Type
	_    uint32
	Bits uint64 // int32 sign extended, bits of a float64, or address of a ws_buf in C memory
}

// bufHead is the head of a buffer, the twin of ws_buf in whyslow_abi.h. The bytes follow.
type bufHead struct {
	refs int64
	size uint64
}

// IntValue returns a value of type int.
func IntValue(i int32) Value { return Value{Type: Int, Bits: uint64(int64(i))} }

// RealValue returns a value of type real.
func RealValue(f float64) Value { return Value{Type: Real, Bits: math.Float64bits(f)} }

// NewString returns a string, joined of pieces, with one reference. They should contain no NUL: user code
// gets it as a C string. Like AllocBlock it panics where there is no memory left.
func NewString(pieces ...string) Value {
	n := 0
	for _, s := range pieces {
		n += len(s)
	}
	v := Alloc(String, n+1)
	b := v.all()
	for _, s := range pieces {
		b = b[copy(b, s):]
	}
	b[0] = 0
	return v
}

// NewBlock returns a byte block with a copy of data and one reference.
func NewBlock(data []byte) Value {
	v := AllocBlock(len(data))
	copy(v.all(), data)
	return v
}

// AllocBlock returns a byte block of size bytes, not initialised, with one reference.
func AllocBlock(size int) Value { return Alloc(Block, size) }

// head returns the buffer. The address is read as a pointer, since it is one that the collector does not
// manage.
func (v *Value) head() *bufHead { return *(**bufHead)(unsafe.Pointer(&v.Bits)) }

// all returns the bytes of the buffer; a string's with its NUL.
func (v *Value) all() []byte {
	h := v.head()
	return unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(h), unsafe.Sizeof(*h))), int(h.size))
}

func (v Value) buffered() bool { return v.Type == String || v.Type == Block }

// Int returns an Int's number.
func (v Value) Int() int32 { return int32(v.Bits) }

// Real returns a Real's number.
func (v Value) Real() float64 { return math.Float64frombits(v.Bits) }

// Str returns a copy of a String's text.
func (v Value) Str() string { return string(v.Bytes()) }

// Look is Str without a copy: like Bytes, it is gone when the last reference is.
func (v Value) Look() string {
	b := v.Bytes()
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// Bytes returns the bytes of a Block, or of a String without its NUL; nil for other types. They are C
// memory: they are gone when the last reference is, and user code may change them meanwhile.
func (v Value) Bytes() []byte {
	switch v.Type {
	case Block:
		return v.all()
	case String:
		b := v.all()
		return b[:len(b)-1]
	}
	return nil
}

// Memory returns what Alloc gave: the C memory of a Block, or of a String with its NUL; nil for other types.
func (v Value) Memory() []byte {
	if v.buffered() {
		return v.all()
	}
	return nil
}

// Size returns the size in bytes as LuNA counts it: int 4, real 8, string its length and 1, block its bytes,
// unset 0.
func (v Value) Size() int64 {
	switch v.Type {
	case Int:
		return 4
	case Real:
		return 8
	case String, Block:
		return int64(v.head().size)
	}
	return 0
}

// Retain adds a reference. Nothing happens for types without a buffer.
func (v Value) Retain() {
	if v.buffered() {
		atomic.AddInt64(&v.head().refs, 1)
	}
}

// Intact tells whether what stands behind the bytes of a buffer is what was written there when it was made:
// if not, user code wrote beyond their end.
func (v Value) Intact() bool {
	if !v.buffered() {
		return true
	}
	bytes := v.all()
	behind := unsafe.Add(unsafe.Pointer(unsafe.SliceData(bytes)), len(bytes))
	return binary.NativeEndian.Uint64(unsafe.Slice((*byte)(behind), 8)) == tail
}

// Release drops a reference; with the last one the buffer is freed.
func (v Value) Release() {
	if v.buffered() && atomic.AddInt64(&v.head().refs, -1) == 0 {
		freeBuf(v.Bits)
	}
}

// Shared reports whether others hold references of the buffer, too; false for types without one.
func (v Value) Shared() bool { return v.buffered() && atomic.LoadInt64(&v.head().refs)%frozen > 1 }

// frozen is what Freeze adds to the number of references.
const frozen = 1 << 32

// Freeze says that the buffer is being read, by who holds a reference: user code that wants to write to it
// waits until as many calls of Thaw. Nothing happens for types without a buffer.
func (v Value) Freeze() {
	if v.buffered() {
		atomic.AddInt64(&v.head().refs, frozen)
	}
}

// Thaw undoes Freeze.
func (v Value) Thaw() {
	if v.buffered() {
		atomic.AddInt64(&v.head().refs, -frozen)
	}
}

// String returns what DF::to_string returns: DF<int>(5), DF<size=2>(00, FF).
func (v Value) String() string {
	switch v.Type {
	case Unset:
		return "DF<unset>"
	case Int:
		return fmt.Sprintf("DF<int>(%d)", v.Int())
	case Real:
		return fmt.Sprintf("DF<real>(%f)", v.Real())
	case String:
		return "DF<string>(" + v.Str() + ")"
	}
	b := v.Bytes()
	var list []string
	for _, x := range b[:min(len(b), 10)] {
		list = append(list, fmt.Sprintf("%02X", x))
	}
	if len(b) > 10 {
		list = append(list, "...")
	}
	return fmt.Sprintf("DF<size=%d>(%s)", len(b), strings.Join(list, ", "))
}
