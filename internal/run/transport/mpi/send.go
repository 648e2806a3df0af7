//go:build mpi

package mpi

/*
#include <stdlib.h>
#include "glue.h"
*/
import "C"

import (
	"encoding/binary"
	"math"
	"unsafe"

	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/internal/run/transport"
)

// sendBatch sends a batch of the messages held for p, with its parts, and returns their number.
func (n *network) sendBatch(p *peer) (took int) {
	b := n.buffer()
	whole, large := 0, p.bytes
	for _, m := range p.held {
		size := frameBytes + m.WireSize(inlineBytes)
		long := size > batchBytes
		if long {
			size = frameBytes + 8
		}
		if len(b)+size > batchBytes || took > 0 && large >= windowBytes {
			break
		}
		parts := len(p.parts)
		if long {
			b = p.appendLong(b, m)
		} else {
			b = p.append(b, m)
		}
		took++
		if parts == len(p.parts) {
			whole++
			continue
		}
		for _, x := range p.parts[parts:] {
			large += int64(x.size)
		}
		p.parts[len(p.parts)-1].last = true
	}
	p.sent += int64(took)
	n.isend(op{p: p, bytes: int64(len(b)), batch: b, messages: whole}, unsafe.Pointer(unsafe.SliceData(b)),
		tagBatch)
	for i, x := range p.parts {
		n.sendPart(p, x)
		p.parts[i] = nil
	}
	p.parts = p.parts[:0]
	return took
}

// append appends a message that fits to a batch.
func (p *peer) append(b []byte, m *transport.Message) []byte {
	start := len(b)
	b = append(b, frameWhole)
	for _, v := range m.Payload {
		if mem := v.Memory(); len(mem) > inlineBytes {
			tag := p.announce(v, len(mem))
			if b[start] == frameWhole {
				b[start] = frameParts
				b = binary.LittleEndian.AppendUint16(b, tag)
			}
		}
	}
	b = m.Append(b, inlineBytes)
	for _, v := range m.Payload {
		if len(v.Memory()) <= inlineBytes {
			sent(v)
		}
	}
	return b
}

// appendLong announces a message that is longer than a batch.
func (p *peer) appendLong(b []byte, m *transport.Message) []byte {
	v := cpp.AllocBlock(m.WireSize(math.MaxInt))
	size := len(m.Append(v.Memory()[:0], math.MaxInt))
	for _, x := range m.Payload {
		sent(x)
	}
	v.Freeze() // as other parts are
	b = binary.LittleEndian.AppendUint16(append(b, frameLong), p.announce(v, size))
	return binary.LittleEndian.AppendUint64(b, uint64(size))
}

// announce adds a part to the batch that is made, and returns its tag.
func (p *peer) announce(v cpp.Value, size int) (tag uint16) {
	tag = p.tag
	p.tag = (p.tag + 1) % maxTag
	p.parts = append(p.parts, &outgoing{v: v, size: size, tag: tag})
	return tag
}

func (n *network) sendPart(p *peer, x *outgoing) {
	b := x.v.Memory()[:x.size]
	x.pieces = pieces(x.size) // all of them, before the first one can be complete
	for range x.pieces {
		now := b[:min(mostBytes, len(b))]
		b = b[len(now):]
		n.isend(op{p: p, bytes: int64(len(now)), part: x}, unsafe.Pointer(unsafe.SliceData(now)),
			partTag+int(x.tag))
	}
}

// pieces is the number of MPI messages that a part of that size takes.
func pieces(size int) int { return (size + mostBytes - 1) / mostBytes }

// isend begins to send o.bytes bytes from p, which is C memory.
func (n *network) isend(o op, p unsafe.Pointer, tag int) {
	place := n.place()
	o.p.inflight++
	o.p.bytes += o.bytes
	n.unpolled += o.bytes
	if C.ws_isend(n.c, C.int(place), p, C.int64_t(o.bytes), C.int(o.p.rank), C.int(tag), o.p.word) != 0 {
		n.completeSend(&o)
		return
	}
	n.take(place, o)
}

func (n *network) completeSend(o *op) {
	o.p.inflight--
	o.p.bytes -= o.bytes
	if o.batch != nil {
		n.buffers = append(n.buffers, o.batch[:0])
		o.p.queued.Add(-int64(o.messages))
		return
	}
	if o.part.pieces--; o.part.pieces == 0 {
		sent(o.part.v)
		if o.part.last {
			o.p.queued.Add(-1)
		}
	}
}

// sent gives up a value that Send has frozen.
func sent(v cpp.Value) {
	v.Thaw()
	v.Release()
}

// buffer returns C memory for a batch.
func (n *network) buffer() []byte {
	if last := len(n.buffers) - 1; last >= 0 {
		b := n.buffers[last]
		n.buffers = n.buffers[:last]
		return b
	}
	return unsafe.Slice((*byte)(C.malloc(batchBytes)), batchBytes)[:0]
}

// place returns a free place for an operation; take takes it.
func (n *network) place() int {
	if len(n.free) == 0 {
		room := max(64, 2*len(n.ops))
		C.ws_net_grow(n.c, C.int(room))
		for i := room - 1; i >= len(n.ops); i-- {
			// low ones are taken first: MPI looks at all up to the highest in use
			n.free = append(n.free, int32(i))
		}
		n.ops = append(n.ops, make([]op, room-len(n.ops))...)
	}
	return int(n.free[len(n.free)-1])
}

func (n *network) take(place int, o op) {
	n.free = n.free[:len(n.free)-1]
	n.ops[place] = o
	n.active++
	n.activeBytes += o.bytes
	n.c.used = max(n.c.used, C.int(place+1))
}

// leave frees a place.
func (n *network) leave(place int) {
	n.activeBytes -= n.ops[place].bytes
	n.ops[place] = op{}
	n.free = append(n.free, int32(place))
	if n.active--; n.active == 0 {
		n.c.used = 0
	}
}
