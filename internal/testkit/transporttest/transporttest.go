// Package transporttest tests implementations of transport.Network.
package transporttest

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/internal/run/transport"
)

// Node is what a check sees of a run of many nodes: its own place.
type Node struct {
	procs.Group // all nodes, to meet at
	// Connect makes a network for one check; all nodes call it at once.
	Connect func(deliver func(*transport.Message)) transport.Network
}

// Run tests a kind of network: run calls do for every node at once and returns the errors of all.
func Run(t *testing.T, run func(do func(n *Node) error) error) {
	for name, do := range Checks {
		t.Run(name, func(t *testing.T) {
			if err := run(do); err != nil {
				t.Error(err)
			}
		})
	}
}

// Checks are what must hold of every network; each is called by all nodes at once, one check after the other.
// No buffer may be left after any of them.
var Checks = map[string]func(n *Node) error{
	"order":   clean(order),
	"payload": clean(payload),
	"sizes":   clean(sizes),
	"senders": clean(senders),
	"echo":    clean(echo),
	"queue":   clean(queue),
	"flood":   clean(flood),
	"close":   clean(closing),
	"again":   clean(again),
}

// patience is how long a check waits for something that should come at once; machines may be slow and busy.
const patience = 10 * time.Minute

// clean adds to a check that all its buffers are free in the end.
func clean(check func(n *Node) error) func(n *Node) error {
	return func(n *Node) error {
		// Nodes of one process share the counter: nobody may have begun, or go on, while somebody reads it.
		if err := procs.Barrier(n); err != nil {
			return err
		}
		before := cpp.Live()
		if err := procs.Barrier(n); err != nil {
			return err
		}
		failed := procs.Agree(n, check(n))
		if failed != nil {
			return fmt.Errorf("node %d: %w", n.Rank(), failed)
		}
		if !eventually(func() bool { return cpp.Live() == before }) {
			failed = fmt.Errorf("%d buffers are left", cpp.Live()-before)
		}
		return procs.Agree(n, failed)
	}
}

func eventually(holds func() bool) bool {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if holds() {
			return true
		}
	}
	return false
}

// inbox is a deliver function that hands messages over to the check.
type inbox chan *transport.Message

func (in inbox) deliver(m *transport.Message) { in <- m }

func (in inbox) next() (*transport.Message, error) {
	select {
	case m := <-in:
		return m, nil
	case <-time.After(patience):
		return nil, fmt.Errorf("no message came within %v", patience)
	}
}

// open connects, with a mailbox for so many messages; what closes waits for all first, since a node that
// closes drops what is under way to it.
func open(n *Node, room int) (net transport.Network, in inbox, closing func() error) {
	in = make(inbox, room)
	net = n.Connect(in.deliver)
	return net, in, func() error {
		err := procs.Barrier(n)
		net.Close()
		return err
	}
}

// pattern is size bytes that depend on who sends what.
func pattern(from, to int, number uint64, size int) []byte {
	b := make([]byte, size)
	x := uint32(from*31+to*17) + uint32(number)*2654435761 + uint32(size)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return b
}

func freePayload(m *transport.Message) {
	for _, v := range m.Payload {
		v.Release()
	}
}

// mixed are payload sizes on both sides of any border between small and large.
var mixed = []int{0, 8, 100, 1500, 3000, 4096, 5000, 16 << 10, 70 << 10, 8, 0, 1 << 20, 300, 65536}

// order: messages of a link arrive in order and whole, whatever their sizes, from several nodes at once, to
// others and to itself.
func order(n *Node) error {
	const each = 140
	net, in, done := open(n, each*n.Size())
	for i := range uint64(each) {
		for to := range n.Size() {
			m := &transport.Message{Kind: uint8(i % 7), From: n.Rank(), To: to, Number: uint64(n.Rank())<<48 + i,
				Head: pattern(n.Rank(), to, i, int(i*37%200))}
			if size := mixed[int(i)%len(mixed)]; size > 0 {
				m.Payload = append(m.Payload, cpp.NewBlock(pattern(n.Rank(), to, i, size)))
			}
			net.Send(m)
		}
	}
	count := make([]uint64, n.Size())
	for range each * n.Size() {
		m, err := in.next()
		if err != nil {
			return err
		}
		i := count[m.From]
		count[m.From]++
		if m.To != n.Rank() || m.Kind != uint8(i%7) || m.Number != uint64(m.From)<<48+i {
			return fmt.Errorf("message %d of %d is %d->%d, number %x, kind %d", i, m.From, m.From, m.To, m.Number,
				m.Kind)
		}
		if err := same(m, i); err != nil {
			return err
		}
		freePayload(m)
	}
	return done()
}

func same(m *transport.Message, i uint64) error {
	if want := pattern(m.From, m.To, i, int(i*37%200)); !bytes.Equal(m.Head, want) {
		return fmt.Errorf("the head of message %d of %d has %d bytes or other ones, want %d", i, m.From,
			len(m.Head), len(want))
	}
	var got []byte
	if len(m.Payload) > 0 {
		got = m.Payload[0].Bytes()
	}
	if want := pattern(m.From, m.To, i, mixed[int(i)%len(mixed)]); !bytes.Equal(got, want) {
		return fmt.Errorf("the payload of message %d of %d has %d bytes or other ones, want %d", i, m.From,
			len(got), len(want))
	}
	return nil
}

// payload: all types of values, in any number, small and large ones in one message.
func payload(n *Node) error {
	net, in, done := open(n, n.Size())
	long := string(bytes.Repeat([]byte("long "), 40_000))
	for to := range n.Size() {
		net.Send(&transport.Message{Kind: 255, From: n.Rank(), To: to, Number: 1<<64 - 1, Payload: []cpp.Value{
			cpp.IntValue(-7), {}, cpp.RealValue(-2.5), cpp.NewString("word"), cpp.NewBlock(nil), cpp.NewString(""),
			cpp.NewString(long),
			cpp.NewBlock(pattern(n.Rank(), to, 0, 100_000)), cpp.IntValue(1<<31 - 1), cpp.NewBlock([]byte{1, 2, 3}),
		}})
	}
	for range n.Size() {
		m, err := in.next()
		if err != nil {
			return err
		}
		p := m.Payload
		if m.Kind != 255 || m.Number != 1<<64-1 || len(m.Head) != 0 || len(p) != 10 {
			return fmt.Errorf("got kind %d, number %x, head %x, %d values", m.Kind, m.Number, m.Head, len(p))
		}
		if s := fmt.Sprint(p[0], p[1], p[2], p[3], p[4], p[5], p[8],
			p[9]); s != "DF<int>(-7) DF<unset> DF<real>(-2.500000) "+
			"DF<string>(word) DF<size=0>() DF<string>() DF<int>(2147483647) DF<size=3>(01, 02, 03)" {
			return fmt.Errorf("got %s", s)
		}
		if p[6].Type != cpp.String || p[6].Str() != long || p[6].Size() != int64(len(long)+1) ||
			p[7].Type != cpp.Block ||
			!bytes.Equal(p[7].Bytes(), pattern(m.From, n.Rank(), 0, 100_000)) {
			return fmt.Errorf("large values of %d came as others", m.From)
		}
		freePayload(m)
	}
	return done()
}

// sizes: one message of each size up to 16 MiB, with large heads too, each also kept by the sender.
func sizes(n *Node) error {
	all := []int{0, 1, 4095, 4096, 4097, 16<<10 - 1, 16 << 10, 1<<20 + 3, 16 << 20}
	net, in, done := open(n, 2*len(all))
	to, from := (n.Rank()+1)%n.Size(), (n.Rank()+n.Size()-1)%n.Size()
	for i, size := range all {
		v := cpp.NewBlock(pattern(n.Rank(), to, uint64(i), size))
		v.Retain()
		net.Send(&transport.Message{From: n.Rank(), To: to, Number: uint64(i), Payload: []cpp.Value{v}})
		head := pattern(n.Rank(), to, uint64(i), size/16)
		var many []cpp.Value
		for k := range size / 1024 {
			many = append(many, cpp.IntValue(int32(k)))
		}
		net.Send(&transport.Message{From: n.Rank(), To: to, Number: uint64(i), Head: head,
			Payload: append(many, v)})
	}
	for i, size := range all {
		m, err := in.next()
		if err != nil {
			return err
		}
		want := pattern(from, n.Rank(), uint64(i), size)
		if len(m.Payload) != 1 || m.From != from || !bytes.Equal(m.Payload[0].Bytes(), want) {
			return fmt.Errorf("%d bytes of %d came as others", size, from)
		}
		freePayload(m)
		if m, err = in.next(); err != nil {
			return err
		}
		p := m.Payload
		if !bytes.Equal(m.Head, pattern(from, n.Rank(), uint64(i), size/16)) || len(p) != size/1024+1 ||
			!bytes.Equal(p[len(p)-1].Bytes(), want) {
			return fmt.Errorf("a head of %d bytes came as %d others, or with other values", size/16, len(m.Head))
		}
		for k, v := range p[:len(p)-1] {
			if v.Int() != int32(k) {
				return fmt.Errorf("value %d of many is %v", k, v)
			}
		}
		freePayload(m)
	}
	return done()
}
