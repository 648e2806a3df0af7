package collect

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/record/stream"
	"github.com/whyslow/whyslow/trace"
)

// proxy passes bytes on, and cuts every connection after some of them.
type proxy struct {
	l    net.Listener
	to   string
	work sync.WaitGroup
	// budget is how many bytes the next connection lives for, in each direction.
	budget func() int64
}

func newProxy(t testing.TB, to string, budget func() int64) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{l: l, to: to, budget: budget}
	p.work.Go(p.run)
	t.Cleanup(p.close)
	return p
}

func (p *proxy) addr() string { return p.l.Addr().String() }

func (p *proxy) close() {
	p.l.Close()
	p.work.Wait()
}

func (p *proxy) run() {
	for {
		in, err := p.l.Accept()
		if err != nil {
			return
		}
		up, down := p.budget(), p.budget()
		p.work.Go(func() {
			defer in.Close()
			out, err := net.Dial("tcp", p.to)
			if err != nil {
				return
			}
			defer out.Close()
			done := make(chan bool, 2)
			pass := func(to, from net.Conn, n int64) {
				_, _ = io.CopyN(to, from, n)
				done <- true
			}
			go pass(out, in, up)
			go pass(in, out, down)
			<-done
			if rand.IntN(2) == 0 { // a reset instead of an end
				_ = in.(*net.TCPConn).SetLinger(0)
				_ = out.(*net.TCPConn).SetLinger(0)
			}
			in.Close()
			out.Close()
			<-done
		})
	}
}

// Connections cut at any byte, senders and collectors that are killed and started again,
// while the trace is being written: in the end everything is there, once, in order.
func TestNothingLostNothingTwice(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		nodes := rapid.IntRange(1, 3).Draw(rt, "nodes")
		bursts := rapid.IntRange(1, 6).Draw(rt, "bursts")
		window := rapid.SampledFrom([]int64{1, 10_000, 1 << 20}).Draw(rt, "window")
		lifetime := rapid.SampledFrom([]int64{2_000, 20_000, 200_000}).Draw(rt, "lifetime")
		cutting(t, rt, seed, nodes, bursts, window, lifetime)
	})
}

func cutting(t *testing.T, rt *rapid.T, seed uint64, nodes, bursts int, window, lifetime int64) {
	rnd := rand.New(rand.NewPCG(seed, 1))
	tmp, err := os.MkdirTemp("", "cut")
	if err != nil {
		rt.Fatal(err)
	}
	defer os.RemoveAll(tmp)
	src, cfg := filepath.Join(tmp, "a.trace"), Config{Dir: filepath.Join(tmp, "kept")}
	s := serveAt(t, "", cfg)
	defer func() { s.stop() }()
	var mu sync.Mutex
	prnd := rand.New(rand.NewPCG(seed, 2))
	p := newProxy(t, s.addr, func() int64 {
		mu.Lock()
		defer mu.Unlock()
		return 600 + prnd.Int64N(lifetime)
	})
	defer p.close()

	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	var sender *stream.Sender
	var stopSender context.CancelFunc
	start := func() {
		conf := quick(p.addr(), src)
		conf.Window = window
		conf.Name = "s"
		var sctx context.Context
		sctx, stopSender = context.WithCancel(ctx)
		sender = stream.NewSender(conf)
		go sender.Run(sctx)
	}
	start()
	info := &trace.RunInfo{ID: trace.NewRunID(), Program: "cut.fa"}
	writeInfo(t, src, info)
	var writers []*trace.Writer
	for n := range nodes {
		w, err := trace.Create(src, n, trace.Options{Run: info.ID, BufferBytes: 1 << 10,
			FlushEvery: 5 * time.Millisecond})
		if err != nil {
			rt.Fatal(err)
		}
		writers = append(writers, w)
	}
	for i := range bursts {
		for _, w := range writers {
			emitSome(w, i, 1+rnd.IntN(3000), rnd)
		}
		switch rnd.IntN(4) {
		case 0:
			stopSender()
			<-sender.Done()
			start()
		case 1:
			addr := s.addr
			s.stop()
			s = serveAt(t, addr, cfg)
		case 2:
			time.Sleep(time.Duration(rnd.IntN(20)) * time.Millisecond)
		}
	}
	for _, w := range writers {
		if err := w.Close(); err != nil {
			rt.Fatal(err)
		}
	}
	info.Ended = trace.EndedDone
	writeInfo(t, src, info)
	if err := sender.Drain(ctx); err != nil {
		rt.Fatal(err)
	}
	stopSender()
	dir := s.only(t)
	if a, b := textOf(t, dir), textOf(t, src); a != b {
		rt.Fatalf("another trace: %s", firstDifference(a, b))
	}
	if got, err := trace.ReadRunInfo(dir); err != nil || got.Ended != trace.EndedDone {
		rt.Fatalf("%+v, %v", got, err)
	}
}

// emitSome records events of one burst.
func emitSome(w *trace.Writer, burst, n int, rnd *rand.Rand) {
	for i := range n {
		now := int64(burst)*1e9 + int64(i)*100
		st := w.Stream(rnd.IntN(3))
		if i%100 == 0 {
			w.DefineDF(trace.DF(burst*1e5+i+1), w.Name(fmt.Sprintf("x%d", rnd.IntN(5))),
				[]int64{0, int64(w.Node()), int64(burst), int64(i)})
			st.Emit(now, trace.KindDFStored, uint64(burst*1e5+i+1), uint64(i))
			continue
		}
		st.Emit(now, trace.KindReadyQueue, rnd.Uint64N(1<<30))
	}
}

// firstDifference says where two texts part.
func firstDifference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	at := func(s []string) string {
		if i < len(s) {
			return s[i]
		}
		return "(the end)"
	}
	return fmt.Sprintf("line %d of %d is %q, of %d in the original %q", i+1, len(a), at(a), len(b), at(b))
}
