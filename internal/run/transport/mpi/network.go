//go:build mpi

package mpi

// The network of a run.
//
// Problem. Workers of two processes exchange many small messages, which must be cheap, and a few large ones,
// which must not be copied. Workers should not wait for MPI, and nothing should take a core from them while
// no messages are under way.
//
// Batches. Messages of a link go out in batches: one MPI message of at most batchBytes, which Open MPI sends
// eagerly and for which the receiver has posted a ring of buffers. A batch only announces values of more than
// inlineBytes. Each is a part: an MPI message of its own, from the value's memory into memory allocated for
// it, with a tag that the batch names. A message too long for a batch (a head of a hundred kilobytes) is
// encoded into a part as well. Messages of a link arrive in order: those behind one whose parts are under way
// wait.
//
// Sending. Send appends to the queue of the link. The goroutine that gets the lock sends all
// queued messages in one batch; the others leave, since the holder looks again after unlocking. So
// a lone message goes out at once from its sender's goroutine, and many share one lock and one MPI call.
// Nobody waits for a link: what the window (windowBytes, windowOps) does not allow stays queued until
// something arrives. The window also bounds the memory a receiver allocates in advance.
//
// Receiving. One goroutine, the pump, polls MPI, sends what windows held back, and delivers. When nothing has
// happened for a moment it sleeps: it sets its word in memory shared by the processes of the host, looks once
// more, and waits on the word (a futex). Senders look at the word after sending and wake it. Processes on
// other hosts cannot; if there are any, naps end by themselves, after minNap at first, up to maxNap. The same
// holds while something large is under way: MPI must be polled at both ends, and a poll at one end wakes the
// other. MPI may also hold back a small message when the receiver is slow, and call it sent. So whoever
// has sent maxUnpolled bytes wakes the pump of its own process, and all naps begin short: what was held back
// waits at most twice as long as necessary. The moment lasts minSpin to maxSpin. If messages tend to arrive
// as soon as this process sleeps, it was in the way, because there are fewer cores than processes: the moment
// gets shorter. While much is under way it is longer.
//
// A worker without work receives messages itself (Serve): it is awake, and most messages are for it. Then no
// thread is woken between a message and the CF that it makes ready, which would take ten times as long as all
// the rest. Meanwhile its word is 2 and the pump sleeps, without senders knowing. At the end it sets the word
// to 1 and looks once more for what was sent before. The receiver, worker or pump, has the turn.
//
// The end. Closing a network only stops delivery: the pump goes on, so that the other ends do not hang, and
// drops what arrives. Before MPI ends, or another network begins, all processes tell each other how many
// messages they have sent, and wait for those.

/*
#cgo noescape ws_isend
#cgo nocallback ws_isend
#cgo noescape ws_irecv
#cgo nocallback ws_irecv
#cgo noescape ws_wake
#cgo nocallback ws_wake
#include <stdlib.h>
#include "glue.h"
*/
import "C"

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/internal/run/transport"
)

const (
	batchBytes  = 4000     // with MPI's own header still eager in Open MPI's shared memory
	inlineBytes = 2000     // larger values are parts
	windowBytes = 16 << 20 // of a link: what is begun and not complete, or one message
	windowOps   = 64       // likewise, in operations
	ringSlots   = 32
	maxUnpolled = 1 << 10
	maxTag      = 1 << 14 // parts have tags partTag ... partTag+maxTag-1; MPI guarantees 32767
	partTag     = 2
	tagBatch    = 1
)

// How a message begins in a batch. Messages with parts, and long ones, go on with the tag of the first part,
// 2 bytes.
const (
	frameWhole = iota
	frameParts // the message, values announced
	frameLong  // 8 bytes: length of a part which is the message, with all its values
)

const frameBytes = 3

// network is the network of a process. There is one, connected to any number of times.
type network struct {
	w     *World
	c     *C.ws_net
	peers []*peer
	dirty atomic.Bool // something is in a queue and may be sent

	queues sync.Mutex // of what senders append to
	listed []*peer    // with something in the queue

	// Of who holds World.mu:
	ops         []op // by place in c.ops
	free        []int32
	active      int // places taken
	activeBytes int64
	unpolled    int64    // bytes sent since MPI was last polled
	open        []*peer  // whose windows have widened
	flushing    []*peer  // listed when flush began
	buffers     [][]byte // batches, C memory, free ones
	out         []*transport.Message

	serving atomic.Bool // a worker has the turn, or waits for it
	turn    sync.Mutex
	spare   []*transport.Message // an empty list, of who has the turn

	handing sync.Mutex // held while deliver runs
	deliver func(*transport.Message)

	self    []*transport.Message // to this node, of queues
	toSelf  atomic.Bool          // there are any
	word    *uint32
	pumping bool
	stop    atomic.Bool
	stopped chan struct{}
	last    *conn // the latest
}

// peer is the link to a process, and from it.
type peer struct {
	rank   int
	word   *C.uint32_t // nil: on another host
	queue  []*transport.Message
	listed bool         // in network.listed
	queued atomic.Int64 // given to Send and not complete

	// Of who holds World.mu:
	parts    []*outgoing          // of the batch that is made
	held     []*transport.Message // taken from the queue, not sent
	more     bool                 // the queue may have more, of which nobody will be told
	spare    []*transport.Message // an empty queue
	inflight int                  // operations begun to send
	bytes    int64                // of those
	tag      uint16               // of the next part
	sent     int64                // messages, ever
	arrived  int64                // likewise from there
	arriving []*arrival           // in order, the first one not whole yet
}

// op is an operation under way.
type op struct {
	p     *peer
	bytes int64
	// To send:
	batch    []byte
	messages int // that are complete with the batch
	part     *outgoing
	// To receive:
	arrival *arrival
}

// outgoing is a value on its way out, or a long message.
type outgoing struct {
	v      cpp.Value
	size   int
	tag    uint16
	last   bool // of its message
	pieces int  // under way
}

// arrival is a message some of which is still to come.
type arrival struct {
	m      *transport.Message
	pieces int       // under way
	long   cpp.Value // the message itself, where it is too long for a batch
}

func newNetwork(w *World) *network {
	n := &network{w: w, c: C.ws_net_new(ringSlots, batchBytes), stopped: make(chan struct{}),
		word: (*uint32)(unsafe.Pointer(w.words[w.rank]))}
	for r := range w.size {
		n.peers = append(n.peers, &peer{rank: r, word: w.words[r]})
	}
	return n
}

// conn is a network from Connect to Close.
type conn struct {
	*network
	closed atomic.Bool
}

// Send implements transport.Network.
func (c *conn) Send(m *transport.Message) {
	n, p := c.network, c.peers[m.To]
	n.queues.Lock()
	if c.closed.Load() {
		n.queues.Unlock()
		m.Release()
		return
	}
	p.queued.Add(1)
	if m.To == n.w.rank {
		n.self = append(n.self, m)
		n.toSelf.Store(true)
		n.queues.Unlock()
		n.wake()
		return
	}
	for _, v := range m.Payload {
		v.Freeze() // the other node gets what it is now
	}
	p.queue = append(p.queue, m)
	if !p.listed {
		p.listed = true
		n.listed = append(n.listed, p)
	}
	n.queues.Unlock()
	n.dirty.Store(true)
	n.flushIfDirty()
}

// Queue implements transport.Network.
func (c *conn) Queue(from, to int) int {
	if from != c.w.rank {
		return 0 // only that process knows
	}
	return int(c.peers[to].queued.Load())
}

// flushIfDirty sends what is queued, unless somebody has the lock: they will.
func (n *network) flushIfDirty() {
	for n.dirty.Load() && n.w.mu.TryLock() {
		n.flush()
		busy := n.active > 0 || n.unpolled > maxUnpolled
		n.w.mu.Unlock()
		if busy {
			n.wake()
		}
	}
}

// wake ends the sleep of this process's pump.
func (n *network) wake() {
	if atomic.LoadUint32(n.word) != 0 {
		C.ws_wake((*C.uint32_t)(n.word))
	}
}

// flush sends what is queued.
func (n *network) flush() {
	n.dirty.Store(false)
	n.queues.Lock()
	n.flushing, n.listed = n.listed, n.flushing[:0]
	for _, p := range n.flushing {
		p.listed = false
		p.take()
	}
	n.queues.Unlock()
	for _, p := range n.flushing {
		n.flushTo(p)
	}
}

// take takes what is in the queue, unless what was taken before is not sent yet. The caller has
// network.queues.
func (p *peer) take() {
	if p.more = len(p.held) > 0; p.more {
		return
	}
	p.held, p.queue, p.spare = p.queue, p.spare, nil
}

// flushTo sends what was taken for one process, and what is in its queue behind that, as far as the window
// goes.
func (n *network) flushTo(p *peer) {
	for p.inflight < windowOps && p.bytes < windowBytes {
		if len(p.held) == 0 {
			if !p.more {
				return
			}
			n.queues.Lock()
			p.take()
			n.queues.Unlock()
			continue
		}
		took := n.sendBatch(p)
		clear(p.held[:took])
		if took < len(p.held) {
			p.held = p.held[took:]
		} else {
			p.spare, p.held = p.held[:0], nil
		}
	}
}
