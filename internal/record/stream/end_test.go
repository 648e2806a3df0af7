package stream

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/whyslow/whyslow/trace"
)

// TestEndIsTheEnd: a collector acknowledges the end and is gone in the same moment. The sender has no reason
// to come back: a further hello would say that it has not ended.
func TestEndIsTheEnd(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ended := make(chan bool, 1)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			ended <- takeAll(c)
			c.Close()
		}
	}()
	for range 200 {
		q := NewQueue(0, &trace.RunInfo{ID: someRun})
		s := NewSender(Config{Target: Target{Addr: l.Addr().String()}, Source: q, Retry: time.Millisecond})
		s.EndSource()
		if err := s.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := s.Stats().Connects; !<-ended || n != 1 {
			t.Fatalf("%d connections", n)
		}
	}
}

// takeAll is a collector that takes all frames, acknowledges the last one, and tells whether that was an end.
func takeAll(c net.Conn) (ended bool) {
	r := bufio.NewReader(c)
	if _, err := http.ReadRequest(r); err != nil {
		return false
	}
	if _, err := io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+
		Protocol+"\r\n\r\n"); err != nil {
		return false
	}
	welcome, err := AppendJSON(nil, TypeWelcome, Welcome{"h", "p.001.trace", time.Minute, DefaultMaxFrame})
	if err != nil {
		return false
	}
	var n uint64
	for in := NewFrameReader(r, DefaultMaxFrame); ; {
		f, err := in.Next()
		if err != nil {
			return false
		}
		switch {
		case f.Type == TypeHello:
			_, err = c.Write(welcome)
		case f.Type == TypeEnd:
			_, err = c.Write(AppendNumber(nil, TypeAck, n+1))
			return err == nil
		case f.Type.Counted():
			n++
		}
		if err != nil {
			return false
		}
	}
}
