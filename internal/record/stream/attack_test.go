package stream

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/trace"
)

// answering is a server that reads a request, says something, and then repeats something for ever. sent is
// how many bytes were taken of it.
func answering(t *testing.T, head, again string) (addr string, sent *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	sent = new(atomic.Int64)
	piece := []byte(strings.Repeat(again, 1+(64<<10)/len(again)))
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				if _, err := http.ReadRequest(bufio.NewReader(c)); err != nil {
					return
				}
				if _, err := io.WriteString(c, head); err != nil {
					return
				}
				for sent.Load() < 1<<30 {
					n, err := c.Write(piece)
					sent.Add(int64(n))
					if err != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String(), sent
}

// A collector that answers without end fills nobody's memory: little of it is read.
func TestEndlessAnswers(t *testing.T) {
	upgraded := "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " + Protocol + "\r\n\r\n"
	for what, c := range map[string]struct{ head, again string }{
		"a header": {"HTTP/1.1 101 Switching Protocols\r\nX: ", "y"},
		"headers":  {"HTTP/1.1 101 Switching Protocols\r\n", "X: y\r\n"},
		"a status": {"HTTP/1.1 ", "1"},
		"a body":   {"HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n", "5\r\nhello\r\n"},
		"a frame":  {upgraded + "\xff\xff\xff\x00\x10", "{"},
		"frames":   {upgraded + "\xff\xff\x00\x00\x10", strings.Repeat("{", 0xffff) + "\xff\xff\x00\x00\x10"},
	} {
		t.Run(what, func(t *testing.T) {
			addr, sent := answering(t, c.head, c.again)
			s := NewSender(Config{Target: Target{Addr: addr}, Source: NewQueue(0, &trace.RunInfo{ID: someRun})})
			s.info = &trace.RunInfo{ID: someRun}
			if err := s.connection(t.Context()); err == nil || s.connects > 0 {
				t.Errorf("%v, %d connections", err, s.connects)
			}
			if n := sent.Load(); n > 64<<20 { // what systems buffer, and more
				t.Errorf("%d bytes were taken", n)
			}
		})
	}
}

// A collector that takes no frames of any use and acknowledges nothing: the window ends, however much is
// dropped of what is in it.
func TestWindowOfDropped(t *testing.T) {
	s := NewSender(Config{Source: NewQueue(0, &trace.RunInfo{ID: someRun}), Window: 100_000})
	s.connected(&Welcome{Idle: time.Second, MaxFrame: 20})
	raw := blocks(t)[1]
	head, _, err := tracefile.ParseBlockHeader(raw)
	if err != nil {
		t.Fatal(err)
	}
	head.Node, head.Bytes = 0, raw
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if err := s.putClose(ctx, 0); err != nil { // it is sent, and never acknowledged
		t.Fatal(err)
	}
	for n := 0; ; n++ {
		if n == 100_000 {
			t.Fatalf("%d items wait", len(s.items))
		}
		if err := s.putBlock(ctx, &head); err != nil {
			break
		}
		s.next(nil)
		if err := s.setHave(0, tracefile.Have{}); err != nil {
			t.Fatal(err)
		}
		s.next(nil)
	}
	if len(s.items) > 10_000 {
		t.Errorf("%d items wait", len(s.items))
	}
}

// What a queue drops is told before the blocks after it, and so is what a collector has lost for good: it
// takes no gaps otherwise.
func TestLossIsToldFirst(t *testing.T) {
	all, size := blocks(t), 0
	for _, raw := range all {
		size += len(raw)
	}
	q := NewQueue(int64(size-size/8), &trace.RunInfo{ID: someRun})
	for _, raw := range all {
		if err := q.Put(0, raw); err != nil {
			t.Fatal(err)
		}
	}
	s := NewSender(Config{Source: q})
	s.EndSource()
	if err := q.follow(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	s.connected(&Welcome{Idle: time.Second, MaxFrame: DefaultMaxFrame})
	check := func(have tracefile.Have) {
		t.Helper()
		b := s.next(nil)
		if err := s.setHave(0, have); err != nil {
			t.Fatal(err)
		}
		for more := s.next(nil); len(more) > 0; more = s.next(nil) {
			b = append(b, more...)
		}
		seen := map[int]tracefile.Have{0: have}
		var lost, gaps uint64
		for r := NewFrameReader(strings.NewReader(string(b)), DefaultMaxFrame); ; {
			f, err := r.Next()
			if err != nil {
				break
			}
			switch f.Type {
			case TypeLost:
				l, err := ParseLost(f.Body)
				if err != nil {
					t.Fatal(err)
				}
				lost = l.Blocks
			case TypeBlock:
				_, raw, _ := ParseBlock(f.Body)
				head, _, err := tracefile.ParseBlockHeader(raw)
				if err != nil {
					t.Fatal(err)
				}
				head.Node = 0
				gaps += uint64(head.Number - Expected(seen[0], head.Defs, head.Stream))
				if gaps > lost {
					t.Fatalf("%d blocks are missing, %d are said to be lost", gaps, lost)
				}
				follows(seen, &head)
			}
		}
		if gaps == 0 {
			t.Error("nothing is missing")
		}
	}
	check(tracefile.Have{})
	if err := s.setAck(s.counted / 2); err != nil {
		t.Fatal(err)
	}
	s.connected(&Welcome{Idle: time.Second, MaxFrame: DefaultMaxFrame})
	check(tracefile.Have{})
}
