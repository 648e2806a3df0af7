// Package local connects nodes that live in one process. It can emulate a network: each link (ordered pair of
// nodes) then carries one message at a time at the given bandwidth, and each message arrives one latency
// after it was sent whole.
package local

import (
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/internal/run/transport"
)

// Options of the emulated network. The zero value delivers at once.
type Options struct {
	Latency   time.Duration
	Bandwidth float64 // bytes per second and link; 0: unlimited
}

// Network is a transport.Network between goroutines.
type Network struct {
	opt    Options
	boxes  []*box
	links  []link // from*nodes + to
	origin time.Time
}

type link struct {
	mu     sync.Mutex
	free   time.Duration // when the last message will have left, since origin
	queued atomic.Int64
}

// New starts one goroutine per node that calls deliver for each message to that node, one at a time.
func New(nodes int, opt Options, deliver func(*transport.Message)) *Network {
	n := &Network{opt: opt, links: make([]link, nodes*nodes), origin: time.Now()}
	for range nodes {
		b := &box{wake: make(chan struct{}, 1), done: make(chan struct{})}
		if opt.Latency > 0 || opt.Bandwidth > 0 {
			b.alarm = newAlarm()
		}
		n.boxes = append(n.boxes, b)
		go n.receive(b, deliver)
	}
	return n
}

// Send implements transport.Network. Payloads are copied here, at the sender, as a real network reads them:
// what user code writes to its buffer later does not reach the other node.
func (n *Network) Send(m *transport.Message) {
	for i, v := range m.Payload {
		switch v.Type {
		case cpp.Block:
			m.Payload[i] = cpp.NewBlock(v.Bytes())
		case cpp.String:
			m.Payload[i] = cpp.NewString(v.Str())
		default:
			continue
		}
		v.Release()
	}
	l := &n.links[m.From*len(n.boxes)+m.To]
	l.queued.Add(1)
	var due time.Duration
	if n.opt.Latency > 0 || n.opt.Bandwidth > 0 {
		l.mu.Lock()
		due = max(time.Since(n.origin), l.free)
		if n.opt.Bandwidth > 0 {
			due += time.Duration(float64(m.Bytes()) / n.opt.Bandwidth * 1e9)
		}
		l.free = due
		l.mu.Unlock()
		due += n.opt.Latency
	}
	n.boxes[m.To].put(m, due)
}

// Queue implements transport.Network.
func (n *Network) Queue(from, to int) int { return int(n.links[from*len(n.boxes)+to].queued.Load()) }

// Serve implements transport.Network: each node has a goroutine that waits.
func (n *Network) Serve(func() bool) bool { return false }

// Close implements transport.Network. It returns when no deliver call is running any more.
func (n *Network) Close() {
	for node := range n.boxes {
		n.CloseNode(node)
	}
}

// CloseNode stops delivery to one node: what is sent to it is dropped.
func (n *Network) CloseNode(node int) { n.boxes[node].close() }

func (n *Network) receive(b *box, deliver func(*transport.Message)) {
	defer close(b.done)
	var timer *time.Timer
	for {
		m, wait, closed := b.take(time.Since(n.origin))
		switch {
		case closed:
			return
		case m != nil:
			n.links[m.From*len(n.boxes)+m.To].queued.Add(-1)
			deliver(m)
		case wait == 0:
			<-b.wake
		case wait <= coarse:
			b.alarm.nap(wait)
		default:
			if timer == nil {
				timer = time.NewTimer(wait - coarse)
			} else {
				timer.Reset(wait - coarse)
			}
			select {
			case <-timer.C:
			case <-b.wake:
				timer.Stop()
			}
		}
	}
}

// coarse is the last part of a wait, which Go's timers cannot measure: they wake an idle process up to a
// millisecond late.
const coarse = 2 * time.Millisecond

// box holds the messages on their way to one node, earliest due first; equal times in the order of sending.
type box struct {
	mu     sync.Mutex
	items  []item
	closed bool
	wake   chan struct{}
	done   chan struct{} // closed when nobody receives any more
	// napping: the receiver sleeps until the first item is due, and is woken by alarm, not by wake.
	napping bool
	alarm   alarm
}

// close returns when nobody receives any more.
func (b *box) close() {
	b.mu.Lock()
	b.closed = true
	b.alarm.ring()
	b.mu.Unlock()
	b.signal()
	<-b.done
	b.mu.Lock()
	b.alarm.close()
	b.alarm = alarm{}
	b.mu.Unlock()
}

func (b *box) put(m *transport.Message, due time.Duration) {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		m.Release()
		return
	}
	at := sort.Search(len(b.items), func(i int) bool { return b.items[i].due > due })
	b.items = slices.Insert(b.items, at, item{m, due})
	if b.napping && at == 0 {
		b.alarm.ring() // under the lock: it may be closed afterwards
	}
	napping := b.napping
	b.mu.Unlock()
	if !napping {
		b.signal()
	}
}

func (b *box) signal() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// take returns a message that is due, or how long the next one still takes (0: there is none).
func (b *box) take(now time.Duration) (m *transport.Message, wait time.Duration, closed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.napping = false
	if b.closed {
		for _, it := range b.items {
			it.m.Release()
		}
		b.items = nil
		return nil, 0, true
	}
	if len(b.items) == 0 {
		return nil, 0, false
	}
	if d := b.items[0].due - now; d > 0 {
		b.napping = d <= coarse
		return nil, d, false
	}
	m = b.items[0].m
	b.items[0] = item{}
	b.items = b.items[1:]
	return m, 0, false
}

type item struct {
	m   *transport.Message
	due time.Duration
}
