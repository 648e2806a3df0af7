//go:build mpi

package mpi

/*
#cgo noescape ws_poll
#cgo nocallback ws_poll
#cgo noescape ws_sleep
#cgo nocallback ws_sleep
#include "glue.h"
*/
import "C"

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/whyslow/whyslow/internal/clock"
	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/internal/run/transport"
)

const (
	lastLooks = 4                    // of a worker that stops receiving
	minSpin   = 4 * time.Microsecond // nothing happens for that long: sleep
	maxSpin   = 40 * time.Microsecond
	trySpin   = 32       // once in that many times it is maxSpin
	copyTime  = 16 << 10 // so many bytes under way make it longer by itself, up to
	copySpin  = time.Millisecond
	minNap    = 20 * time.Microsecond
	maxNap    = time.Millisecond // where MPI has to be polled
	// while a worker receives, where somebody wakes: threads that look around take cores from workers
	servedNap = 10 * time.Millisecond
	maxSleep  = 100 * time.Millisecond // where somebody wakes
	// other goroutines get a turn when something has come, and then after that time
	yieldTime = 10 * time.Microsecond
	polls     = 8 // of MPI in a row
)

// pump receives until stop.
func (n *network) pump() {
	defer close(n.stopped)
	last, nap, spin, woken := clock.Now(), minNap, maxSpin, 0
	away := servedNap
	if n.w.onHost.size < n.w.size {
		away = maxNap
	}
	var moving, yielded int64
	for !n.stop.Load() {
		if n.serving.Load() || !n.turn.TryLock() {
			C.ws_sleep((*C.uint32_t)(n.word), C.int64_t(away))
			if atomic.LoadUint32(n.word) == 0 { // woken
				last, nap = clock.Now(), minNap
				if n.serving.Load() { // the worker is about to start and may need this core
					C.ws_pause(C.int64_t(minNap))
				}
			}
			continue
		}
		sleepy := clock.Now()-last > int64(min(copySpin, spin*time.Duration(1+moving/copyTime)))
		if sleepy {
			atomic.StoreUint32(n.word, 1)
		} else if atomic.LoadUint32(n.word) != 0 { // a worker has left it so
			atomic.StoreUint32(n.word, 0)
		}
		var found, active bool
		found, active, moving = n.look(polls)
		if found && sleepy {
			atomic.StoreUint32(n.word, 0)
		}
		n.turn.Unlock()
		switch {
		case found:
			if !sleepy && woken%trySpin == 0 {
				spin = maxSpin
			}
			last, nap, yielded = clock.Now(), minNap, 0
		case !sleepy:
			if now := clock.Now(); now-yielded > int64(yieldTime) {
				yielded = now
				runtime.Gosched()
			}
		default:
			// Who has sent since the word was set has changed it.
			longest := maxSleep
			if active || n.w.onHost.size < n.w.size {
				longest = maxNap
			}
			nap = min(nap, longest)
			asleep := clock.Now()
			C.ws_sleep((*C.uint32_t)(n.word), C.int64_t(nap))
			nap *= 2
			if !atomic.CompareAndSwapUint32(n.word, 1, 0) && atomic.LoadUint32(n.word) == 0 { // woken
				last, nap = clock.Now(), minNap
				switch woken++; {
				case woken%trySpin == 0:
					spin = maxSpin
				case last-asleep < int64(maxSpin):
					spin = max(spin/2, minSpin) // who has woken this process may have waited for its core
				}
			}
		}
	}
}

// Serve implements transport.Network.
func (c *conn) Serve(until func() bool) bool {
	n := c.network
	if !n.serving.CompareAndSwap(false, true) {
		return false
	}
	last := clock.Now()
	idle := func() bool { return !until() && !c.closed.Load() && clock.Now()-last < int64(maxSpin) }
	for !n.turn.TryLock() { // the pump gives way when it has delivered what it has found
		if !idle() {
			n.serving.Store(false)
			return true
		}
	}
	atomic.StoreUint32(n.word, 2)
	for idle() {
		if found, _, _ := n.look(polls); found {
			last = clock.Now()
		}
	}
	// Who sends from now on wakes the pump. What was sent before is taken now; if that is much the pump goes on
	// with it.
	atomic.StoreUint32(n.word, 1)
	more, active := true, false
	for looks := 0; more && looks < lastLooks; looks++ {
		more, active, _ = n.look(1)
	}
	n.turn.Unlock()
	n.serving.Store(false)
	if more || active {
		n.wake()
	}
	return true
}

// look polls MPI, delivers what has arrived, and sends what it can. It reports whether anything happened, and
// what is under way. The caller has the turn.
func (n *network) look(polls int) (found, active bool, moving int64) {
	n.w.mu.Lock()
	n.unpolled = 0
	found = C.ws_poll(n.c, C.int(polls)) != 0
	if found {
		n.found()
	}
	if n.dirty.Load() {
		n.flush()
	}
	active, moving = n.active > 0, n.activeBytes
	if active && !found {
		n.nudge()
	}
	out := n.out
	n.out = n.spare[:0]
	n.w.mu.Unlock()
	n.flushIfDirty()
	found = n.hand(out) || found
	clear(out)
	n.spare = out
	return found, active, moving
}

// found deals with what ws_poll has found.
func (n *network) found() {
	for _, place := range unsafe.Slice(n.c.done, n.c.completed) {
		o := n.ops[place]
		n.leave(int(place))
		if o.arrival != nil {
			n.completeReceive(&o)
			continue
		}
		n.completeSend(&o)
		n.open = append(n.open, o.p)
	}
	if n.c.length >= 0 {
		n.batch(n.peers[n.c.from], unsafe.Slice((*byte)(unsafe.Pointer(n.c.batch)), n.c.length))
	}
	for _, p := range n.open {
		n.flushTo(p)
	}
	n.open = n.open[:0]
}

// batch takes a batch apart.
func (n *network) batch(p *peer, b []byte) {
	for len(b) > 0 {
		frame, tag := b[0], 0
		b = b[1:]
		if frame != frameWhole {
			if len(b) < 2 {
				n.fail(p)
				return
			}
			tag = int(binary.LittleEndian.Uint16(b))
			b = b[2:]
		}
		a := &arrival{}
		if frame == frameLong {
			if len(b) < 8 {
				n.fail(p)
				return
			}
			a.long = cpp.AllocBlock(int(binary.LittleEndian.Uint64(b)))
			b = b[8:]
			p.arriving = append(p.arriving, a)
			n.receive(p, a, a.long, tag)
			continue
		}
		m, parts, rest, err := transport.Cut(b)
		if err != nil {
			n.fail(p)
			return
		}
		b = rest
		m.From, m.To = p.rank, n.w.rank
		if len(parts) == 0 && len(p.arriving) == 0 {
			p.arrived++
			n.out = append(n.out, m)
			continue
		}
		a.m = m
		p.arriving = append(p.arriving, a)
		for i, part := range parts {
			v := cpp.Alloc(part.Type, part.Size)
			m.Payload[part.Index] = v
			n.receive(p, a, v, (tag+i)%maxTag)
		}
	}
	n.whole(p)
}

// receive begins to receive a part.
func (n *network) receive(p *peer, a *arrival, v cpp.Value, tag int) {
	b := v.Memory()
	a.pieces += pieces(len(b))
	for len(b) > 0 {
		now := b[:min(mostBytes, len(b))]
		b = b[len(now):]
		place := n.place()
		if C.ws_irecv(n.c, C.int(place), unsafe.Pointer(unsafe.SliceData(now)), C.int64_t(len(now)),
			C.int(p.rank), C.int(partTag+tag)) != 0 {
			a.pieces--
			continue
		}
		n.take(place, op{p: p, arrival: a, bytes: int64(len(now))})
	}
}

func (n *network) completeReceive(o *op) {
	if o.arrival.pieces--; o.arrival.pieces == 0 {
		n.whole(o.p)
	}
	wakePeer(o.p) // it may wait to send more
}

// whole hands on the messages of p that are whole and whose turn it is.
func (n *network) whole(p *peer) {
	done := 0
	for _, a := range p.arriving {
		if a.pieces > 0 {
			break
		}
		if a.m == nil {
			m, _, _, err := transport.Cut(a.long.Bytes())
			a.long.Release()
			if err != nil {
				n.fail(p)
				return
			}
			m.From, m.To = p.rank, n.w.rank
			a.m = m
		}
		p.arrived++
		n.out = append(n.out, a.m)
		done++
	}
	if done > 0 {
		p.arriving = append(p.arriving[:0], p.arriving[done:]...)
	}
}

// nudge wakes the other ends of what is under way: MPI may need them to go on.
func (n *network) nudge() {
	for i := range n.ops[:n.c.used] {
		if p := n.ops[i].p; p != nil {
			wakePeer(p)
		}
	}
}

func wakePeer(p *peer) {
	if p.word != nil && atomic.LoadUint32((*uint32)(unsafe.Pointer(p.word))) != 0 {
		C.ws_wake(p.word)
	}
}

// hand delivers what has arrived and what this process has sent to itself. It reports whether there was any.
func (n *network) hand(out []*transport.Message) bool {
	var own []*transport.Message
	if n.toSelf.Load() {
		n.queues.Lock()
		own, n.self = n.self, nil
		n.toSelf.Store(false)
		n.queues.Unlock()
	}
	for _, m := range own {
		n.peers[n.w.rank].queued.Add(-1)
		n.handOne(m)
	}
	for _, m := range out {
		n.handOne(m)
	}
	return len(own)+len(out) > 0
}

func (n *network) handOne(m *transport.Message) {
	n.handing.Lock()
	defer n.handing.Unlock()
	if n.deliver == nil {
		m.Release()
		return
	}
	n.deliver(m)
}

// fail ends all processes: what p sends from now on cannot be read.
func (n *network) fail(p *peer) {
	fmt.Fprintf(os.Stderr, "whyslow: process %d sends something that process %d cannot read: do all run the"+
		" same build?\n", p.rank, n.w.rank)
	n.w.abort(1)
}

// connect implements World.Connect.
func (n *network) connect(deliver func(*transport.Message)) *conn {
	c := &conn{network: n}
	if n.last != nil && !n.last.closed.Load() {
		panic(errors.New("mpi: a network is open already"))
	}
	if n.last != nil {
		n.drain()
	}
	n.last = c
	n.handing.Lock()
	n.deliver = deliver
	n.handing.Unlock()
	if !n.pumping {
		n.pumping = true
		go n.pump()
	} else {
		n.meet() // who sends now finds everybody ready
	}
	return c
}

// Close implements transport.Network.
func (c *conn) Close() {
	c.queues.Lock()
	c.closed.Store(true)
	c.queues.Unlock()
	c.handing.Lock()
	c.deliver = nil
	c.handing.Unlock()
}

// meet returns when all processes have called it.
func (n *network) meet() {
	if _, err := n.w.own.Exchange(make([][]byte, n.w.size)); err != nil {
		panic(err) // never: MPI ends the process instead
	}
}

// drain returns when everything sent to this process on a closed network has arrived.
func (n *network) drain() {
	pause := func() { time.Sleep(100 * time.Microsecond) }
	for n.queuedAny() {
		pause()
	}
	out := make([][]byte, n.w.size)
	n.w.mu.Lock()
	for i, p := range n.peers {
		out[i] = binary.LittleEndian.AppendUint64(nil, uint64(p.sent))
	}
	n.w.mu.Unlock()
	in, err := n.w.own.Exchange(out)
	if err != nil {
		panic(err) // never: MPI ends the process instead
	}
	for i, p := range n.peers {
		want := int64(binary.LittleEndian.Uint64(in[i]))
		for i != n.w.rank && n.arrived(p) < want {
			pause()
		}
	}
}

func (n *network) queuedAny() bool {
	for _, p := range n.peers {
		if p.queued.Load() != 0 {
			return true
		}
	}
	return false
}

func (n *network) arrived(p *peer) int64 {
	n.w.mu.Lock()
	defer n.w.mu.Unlock()
	return p.arrived
}

// end stops the pump when everything sent has arrived.
func (n *network) end() {
	if n.last != nil {
		n.last.Close()
	}
	// A process that never connected still receives what the others have sent to it.
	if !n.pumping {
		n.pumping = true
		go n.pump()
	}
	n.drain()
	n.meet()
	n.stop.Store(true)
	n.wake()
	<-n.stopped
	n.w.mu.Lock()
	defer n.w.mu.Unlock()
	C.ws_net_free(n.c)
}
