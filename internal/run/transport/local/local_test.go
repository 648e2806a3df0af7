package local

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/internal/run/transport"
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
		case <-time.After(2 * time.Minute):
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

// TestLatency: each message comes one latency after it was sent, not after the one before it: all
// latencies in a row would take 200 s.
func TestLatency(t *testing.T) {
	const latency, many = 20 * time.Millisecond, 10_000
	b := newInbox()
	n := New(2, Options{Latency: latency}, b.deliver)
	defer n.Close()
	sent := make([]time.Time, many)
	for i := range sent {
		sent[i] = time.Now()
		n.Send(&transport.Message{From: 0, To: 1})
	}
	got := b.wait(t, many)
	for i, a := range got {
		if d := a.at.Sub(sent[i]); d < latency {
			t.Errorf("message %d took %v", i, d)
		}
	}
	if d := got[many-1].at.Sub(sent[0]); d > many*latency/2 {
		t.Errorf("one after the other: %v", d)
	}
	slow := New(2, Options{Latency: time.Hour}, b.deliver)
	defer slow.Close()
	for range 10 {
		slow.Send(&transport.Message{From: 0, To: 1})
	}
	if q, back := slow.Queue(0, 1), slow.Queue(1, 0); q != 10 || back != 0 {
		t.Errorf("%d messages on the link, %d on the way back", q, back)
	}
}

// TestBandwidth: messages of 20 kB at 1 MB/s, one every 20 ms on each link by itself, none before it is due.
func TestBandwidth(t *testing.T) {
	const latency, way, each = 5 * time.Millisecond, 20 * time.Millisecond, 3
	b := newInbox()
	n := New(3, Options{Latency: latency, Bandwidth: 1e6}, b.deliver)
	defer n.Close()
	v := cpp.NewBlock(make([]byte, 20_000-24))
	defer v.Release()
	start := time.Now()
	links := [][2]int{{0, 2}, {0, 1}, {1, 2}, {2, 0}}
	for _, l := range links {
		leaves := time.Duration(0) // when the message before it has left
		for i := range each {
			v.Retain()
			before := time.Since(n.origin)
			n.Send(&transport.Message{From: l[0], To: l[1], Number: uint64(i), Payload: []cpp.Value{v}})
			after := time.Since(n.origin)
			free := n.links[l[0]*3+l[1]].free
			if free < max(before, leaves)+way || free > max(after, leaves)+way {
				t.Errorf("link %v, sent between %v and %v, will have sent message %d at %v; the one before it at %v", l,
					before, after, i, free, leaves)
			}
			leaves = free
		}
	}
	for _, a := range b.wait(t, len(links)*each) {
		for _, p := range a.m.Payload {
			p.Release()
		}
		if d, least := a.at.Sub(start), time.Duration(a.m.Number+1)*way+latency; d < least {
			t.Errorf("message %d from %d to %d took %v, at least %v are needed", a.m.Number, a.m.From,
				a.m.To, d, least)
		}
	}
}

func TestPayload(t *testing.T) {
	live := cpp.Live()
	b := newInbox()
	n := New(2, Options{}, b.deliver)
	block, text := cpp.NewBlock([]byte("abc")), cpp.NewString("word")
	block.Retain()
	m := &transport.Message{From: 0, To: 1, Head: []byte("head"),
		Payload: []cpp.Value{block, text, cpp.IntValue(-5), cpp.RealValue(2.5)}}
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
