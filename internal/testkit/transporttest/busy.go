package transporttest

import (
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/internal/run/transport"
)

// senders: many goroutines send at once; the messages of each arrive in order.
func senders(n *Node) error {
	const goroutines, each = 8, 500
	net, in, done := open(n, goroutines*each*n.Size())
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := range uint64(each) {
				for to := range n.Size() {
					m := &transport.Message{From: n.Rank(), To: to, Number: i, Head: []byte{byte(g)}}
					if i%50 == 0 {
						m.Payload = []cpp.Value{cpp.AllocBlock(40_000)}
					}
					net.Send(m)
				}
			}
		})
	}
	defer wg.Wait()
	next := map[[2]int]uint64{}
	for range goroutines * each * n.Size() {
		m, err := in.next()
		if err != nil {
			return err
		}
		by := [2]int{m.From, int(m.Head[0])}
		if m.Number != next[by] {
			return fmt.Errorf("goroutine %d of %d sent %d, message %d came", by[1], by[0], next[by], m.Number)
		}
		next[by]++
		freePayload(m)
	}
	return done()
}

// echo: who receives answers at once, from within deliver, as engines do; deliver is called for one message
// at a time.
func echo(n *Node) error {
	const rounds = 300
	got := make(chan error, 1)
	var net transport.Network
	var connected sync.WaitGroup
	connected.Add(1)
	var inside atomic.Int32
	left := rounds * n.Size()
	net = n.Connect(func(m *transport.Message) {
		connected.Wait()
		if inside.Add(1) != 1 {
			got <- fmt.Errorf("two calls of deliver at once")
		}
		switch {
		case m.Kind == 0: // a question: send the payload back
			net.Send(&transport.Message{Kind: 1, From: n.Rank(), To: m.From, Number: m.Number, Payload: m.Payload})
		default:
			i := binary.LittleEndian.Uint64(m.Payload[0].Bytes())
			freePayload(m)
			if i != m.Number {
				got <- fmt.Errorf("%d came back as %d", m.Number, i)
			}
			if left--; left == 0 {
				got <- nil
			} else if i+1 < rounds {
				ask(net, n.Rank(), m.From, i+1)
			}
		}
		inside.Add(-1)
	})
	connected.Done()
	for to := range n.Size() {
		ask(net, n.Rank(), to, 0)
	}
	select {
	case err := <-got:
		if err != nil {
			return err
		}
	case <-time.After(patience):
		return fmt.Errorf("no echo within %v", patience)
	}
	err := procs.Barrier(n)
	net.Close()
	return err
}

func ask(net transport.Network, from, to int, i uint64) {
	net.Send(&transport.Message{From: from, To: to, Number: i,
		Payload: []cpp.Value{cpp.NewBlock(binary.LittleEndian.AppendUint64(nil, i))}})
}

// queue: the queues of a node's links are empty when everything has arrived.
func queue(n *Node) error {
	const each = 100
	net, in, done := open(n, each*n.Size())
	for i := range each {
		for to := range n.Size() {
			net.Send(&transport.Message{From: n.Rank(), To: to, Payload: []cpp.Value{cpp.AllocBlock(i * 1000)}})
			if q := net.Queue(n.Rank(), to); q < 0 || q > i+1 {
				return fmt.Errorf("%d messages of %d are queued", q, i+1)
			}
		}
	}
	for range each * n.Size() {
		m, err := in.next()
		if err != nil {
			return err
		}
		freePayload(m)
	}
	if err := procs.Barrier(n); err != nil {
		return err
	}
	for to := range n.Size() {
		if !eventually(func() bool { return net.Queue(n.Rank(), to) == 0 }) {
			return fmt.Errorf("%d messages to %d are queued for ever", net.Queue(n.Rank(), to), to)
		}
	}
	return done()
}

// flood: everybody sends everybody more than any window takes, large and small, before anybody looks at what
// has come: nobody waits for anybody.
func flood(n *Node) error {
	const large, small = 12, 4000
	net, in, done := open(n, (large+small)*n.Size())
	for i := range uint64(large) {
		for to := range n.Size() {
			net.Send(&transport.Message{Kind: 1, From: n.Rank(), To: to, Number: i,
				Payload: []cpp.Value{cpp.AllocBlock(2 << 20)}})
		}
	}
	for i := range uint64(small) {
		for to := range n.Size() {
			net.Send(&transport.Message{From: n.Rank(), To: to, Number: large + i, Head: make([]byte, 64)})
		}
	}
	next := make([]uint64, n.Size())
	for range (large + small) * n.Size() {
		m, err := in.next()
		if err != nil {
			return err
		}
		if m.Number != next[m.From] {
			return fmt.Errorf("message %d of %d came as number %d", m.Number, m.From, next[m.From])
		}
		next[m.From]++
		freePayload(m)
	}
	return done()
}

// closing: a network can be closed while messages of all kinds are under way in both directions, and used no
// more; nothing is delivered afterwards, and nothing leaks.
func closing(n *Node) error {
	var closed, late atomic.Bool
	net := n.Connect(func(m *transport.Message) {
		if closed.Load() {
			late.Store(true)
		}
		freePayload(m)
	})
	send := func(size int) {
		for to := range n.Size() {
			net.Send(&transport.Message{From: n.Rank(), To: to, Payload: []cpp.Value{cpp.AllocBlock(size)}})
		}
	}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for i := range 60 {
				send(i % 3 * 150_000)
			}
		})
	}
	time.Sleep(time.Millisecond)
	net.Close()
	closed.Store(true)
	wg.Wait()
	send(10)
	send(1 << 20)
	// Also those that close last must be heard out.
	if err := procs.Barrier(n); err != nil {
		return err
	}
	if late.Load() {
		return fmt.Errorf("something was delivered after the network was closed")
	}
	return nil
}

// again: after one network another can be made, and what was under way on the first is not seen on the
// second.
func again(n *Node) error {
	for i := range uint64(5) {
		in := make(inbox, 1000)
		net := n.Connect(in.deliver)
		for to := range n.Size() {
			for range 20 {
				net.Send(&transport.Message{From: n.Rank(), To: to, Number: i,
					Payload: []cpp.Value{cpp.AllocBlock(30_000)}})
			}
		}
		net.Close()
		close(in)
		for m := range in {
			freePayload(m)
			if m.Number != i {
				return fmt.Errorf("a message of network %d came on network %d", m.Number, i)
			}
		}
	}
	return nil
}
