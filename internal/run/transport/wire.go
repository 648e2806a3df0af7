package transport

import (
	"encoding/binary"
	"errors"

	"github.com/whyslow/whyslow/internal/run/cpp"
)

// The form of messages on a wire between processes; both ends run the same build, so it has no version.
//
//	kind    1 byte
//	number  8 bytes
//	uvarint length of the head
//	uvarint number of values, then each value:
//	        type 1 byte, 0x80 added where the bytes come separately
//	        int, real: 8 bytes
//	        string (with its NUL), block: uvarint size, then the bytes unless they come separately
//	        head
//
// Numbers are little-endian. From and To are known from the link.

// apart marks a value whose bytes are not in the message.
const apart = 0x80

// Part is a value of a received message whose bytes come separately.
type Part struct {
	Index int // in Payload
	Type  cpp.Type
	Size  int
}

// errWire is all that is ever wrong with a message.
var errWire = errors.New("a message between processes is damaged")

// WireSize is at least the number of bytes that Append will append, given the same inline.
func (m *Message) WireSize(inline int) int {
	n := 1 + 8 + 2*binary.MaxVarintLen32 + len(m.Head)
	for _, v := range m.Payload {
		n += 1 + binary.MaxVarintLen64
		if size := int(v.Size()); size <= inline {
			n += size
		}
	}
	return n
}

// Append appends the message to b. Values of more than inline bytes are only announced: their memory has to
// come separately, in the order of the payload.
func (m *Message) Append(b []byte, inline int) []byte {
	b = append(b, m.Kind)
	b = binary.LittleEndian.AppendUint64(b, m.Number)
	b = binary.AppendUvarint(b, uint64(len(m.Head)))
	b = binary.AppendUvarint(b, uint64(len(m.Payload)))
	for _, v := range m.Payload {
		switch v.Type {
		case cpp.Unset:
			b = append(b, byte(v.Type))
		case cpp.Int, cpp.Real:
			b = binary.LittleEndian.AppendUint64(append(b, byte(v.Type)), v.Bits)
		default:
			mem := v.Memory()
			if len(mem) > inline {
				b = binary.AppendUvarint(append(b, byte(v.Type)|apart), uint64(len(mem)))
				continue
			}
			b = binary.AppendUvarint(append(b, byte(v.Type)), uint64(len(mem)))
			b = append(b, mem...)
		}
	}
	return append(b, m.Head...)
}

// received is a message with room for what most of them have.
type received struct {
	m       Message
	head    [48]byte
	payload [1]cpp.Value
}

// Cut takes one message off the front of b and returns the rest. The message keeps nothing of b. Its values
// named in parts are unset until their bytes are received. On an error nothing is left to be released.
func Cut(b []byte) (m *Message, parts []Part, rest []byte, err error) {
	d := cutter{b: b}
	r := &received{}
	m = &r.m
	m.Kind = d.byte()
	m.Number = d.uint64()
	head := d.size()
	count := d.size()
	if d.bad || count > len(d.b) { // a value takes a byte at least
		return nil, nil, nil, errWire
	}
	switch {
	case count == 1:
		m.Payload = r.payload[:]
	case count > 1:
		m.Payload = make([]cpp.Value, count)
	}
	for i := range m.Payload {
		code := d.byte()
		switch t := cpp.Type(code &^ apart); {
		case code == byte(cpp.Unset):
		case code == byte(cpp.Int) || code == byte(cpp.Real):
			m.Payload[i] = cpp.Value{Type: t, Bits: d.uint64()}
		case t == cpp.String || t == cpp.Block:
			size := d.size()
			switch {
			case t == cpp.String && size == 0:
				d.bad = true
			case code&apart != 0:
				parts = append(parts, Part{i, t, size})
			default:
				if mem := d.take(size); !d.bad {
					m.Payload[i] = cpp.Alloc(t, size)
					copy(m.Payload[i].Memory(), mem)
				}
			}
		default:
			d.bad = true
		}
	}
	mem := d.take(head)
	if d.bad {
		m.Release()
		return nil, nil, nil, errWire
	}
	if head <= len(r.head) {
		m.Head = r.head[:head:head]
	} else {
		m.Head = make([]byte, head)
	}
	copy(m.Head, mem)
	return m, parts, d.b, nil
}

// cutter reads from the front of b until something is wrong.
type cutter struct {
	b   []byte
	bad bool
}

func (d *cutter) take(n int) []byte {
	if d.bad || n > len(d.b) {
		d.bad = true
		return nil
	}
	b := d.b[:n]
	d.b = d.b[n:]
	return b
}

func (d *cutter) byte() byte {
	if b := d.take(1); !d.bad {
		return b[0]
	}
	return 0
}

func (d *cutter) uint64() uint64 {
	if b := d.take(8); !d.bad {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// size reads a length in bytes, or a count.
func (d *cutter) size() int {
	x, n := binary.Uvarint(d.b)
	if d.bad || n <= 0 || x > 1<<56 {
		d.bad = true
		return 0
	}
	d.b = d.b[n:]
	return int(x)
}
