package local

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/cpp"
	"github.com/whyslow/whyslow/internal/transport"
)

// arrival is a message handed over, and when.
type arrival struct {
	m  *transport.Message
	at time.Time
}

// inbox collects what arrives.
type inbox struct {
	mu   sync.Mutex
	got  []arrival
	more chan struct{}
}

func newInbox() *inbox { return &inbox{more: make(chan struct{}, 1<<16)} }

func (b *inbox) deliver(m *transport.Message) {
	b.mu.Lock()
	b.got = append(b.got, arrival{m, time.Now()})
	b.mu.Unlock()
	b.more <- struct{}{}
}

// wait returns the first n arrivals.
func (b *inbox) wait(t *testing.T, n int) []arrival {
	t.Helper()
	for range n {
		select {
		case <-b.more:
		case <-time.After(10 * time.Second):
			t.Fatalf("%d of %d messages arrived", len(b.got), n)
		}
	}
	return b.got
}

func TestOrderOfLinks(t *testing.T) {
	for _, opt := range []Options{{}, {Latency: time.Millisecond}, {Bandwidth: 1e7}} {
		const nodes, each = 4, 200
		b := newInbox()
		n := New(nodes, opt, b.deliver)
		var wg sync.WaitGroup
		for from := range nodes {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for i := range each {
					for to := range nodes {
						n.Send(&transport.Message{From: from, To: to, Number: uint64(i), Head: []byte{byte(from)}})
					}
				}
			}()
		}
		wg.Wait()
		next := map[[2]int]uint64{}
		for _, a := range b.wait(t, nodes*nodes*each) {
			l := [2]int{a.m.From, a.m.To}
			if a.m.Number != next[l] {
				t.Fatalf("%+v: message %d of link %v came as number %d", opt, a.m.Number, l, next[l])
			}
			next[l]++
		}
		n.Close()
		for from := range nodes {
			for to := range nodes {
				if q := n.Queue(from, to); q != 0 {
					t.Errorf("%d messages are left on link %d->%d", q, from, to)
				}
			}
		}
	}
}

func TestLatency(t *testing.T) {
	const latency = 20 * time.Millisecond
	b := newInbox()
	n := New(2, Options{Latency: latency}, b.deliver)
	defer n.Close()
	sent := time.Now()
	for range 10 {
		n.Send(&transport.Message{From: 0, To: 1})
	}
	if q := n.Queue(0, 1); q != 10 {
		t.Errorf("%d messages on the link", q)
	}
	for i, a := range b.wait(t, 10) { // one after the other, yet each one latency after it was sent
		if d := a.at.Sub(sent); d < latency || d > latency+150*time.Millisecond {
			t.Errorf("message %d took %v", i, d)
		}
	}
}

func TestBandwidth(t *testing.T) {
	// 10 messages of 20 kB at 1 MB/s: one every 20 ms, on each link by itself.
	b := newInbox()
	n := New(3, Options{Latency: 5 * time.Millisecond, Bandwidth: 1e6}, b.deliver)
	defer n.Close()
	start := time.Now()
	v := cpp.NewBlock(make([]byte, 20_000))
	defer v.Release()
	for range 5 {
		for to := 1; to < 3; to++ {
			v.Retain()
			n.Send(&transport.Message{From: 0, To: to, Payload: []cpp.Value{v}})
		}
	}
	n.Send(&transport.Message{From: 1, To: 0}) // the other direction is free
	seen := map[int]int{}
	for _, a := range b.wait(t, 11) {
		d := a.at.Sub(start)
		for _, p := range a.m.Payload {
			p.Release()
		}
		if a.m.From == 1 {
			if d > 80*time.Millisecond {
				t.Errorf("the message on the free link took %v", d)
			}
			continue
		}
		seen[a.m.To]++
		want := time.Duration(seen[a.m.To])*20*time.Millisecond + 5*time.Millisecond
		if d < want || d > want+80*time.Millisecond {
			t.Errorf("message %d to %d took %v, wanted %v", seen[a.m.To], a.m.To, d, want)
		}
	}
}

func TestPayload(t *testing.T) {
	live := cpp.Live()
	b := newInbox()
	n := New(2, Options{}, b.deliver)
	block, text := cpp.NewBlock([]byte("abc")), cpp.NewString("word")
	block.Retain()
	m := &transport.Message{From: 0, To: 1, Head: []byte("head"), Payload: []cpp.Value{block, text, cpp.IntValue(-5), cpp.RealValue(2.5)}}
	if got, want := m.Bytes(), int64(24+4+3+5+4+8); got != want {
		t.Errorf("%d bytes, wanted %d", got, want)
	}
	n.Send(m)
	copy(block.Bytes(), "xyz") // after sending it changes here only
	got := b.wait(t, 1)[0].m.Payload
	if s := fmt.Sprint(string(got[0].Bytes()), got[1].Str(), got[2].Int(), got[3].Real()); s != "abcword-5 2.5" {
		t.Errorf("received %s", s)
	}
	for _, v := range got {
		v.Release()
	}
	block.Release()
	n.Close()
	if cpp.Live() != live {
		t.Errorf("%d buffers leaked", cpp.Live()-live)
	}
}

func TestClose(t *testing.T) {
	live := cpp.Live()
	b := newInbox()
	n := New(2, Options{Latency: time.Hour}, b.deliver)
	n.Send(&transport.Message{From: 0, To: 1, Payload: []cpp.Value{cpp.NewBlock(make([]byte, 10))}})
	n.Close()
	n.Send(&transport.Message{From: 1, To: 0, Payload: []cpp.Value{cpp.NewBlock(make([]byte, 10))}})
	if len(b.got) != 0 || cpp.Live() != live {
		t.Errorf("%d messages arrived, %d buffers leaked", len(b.got), cpp.Live()-live)
	}
}
