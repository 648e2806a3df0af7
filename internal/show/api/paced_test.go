package api

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestSlowReaders: a client that asks and then reads nothing is disconnected. One that is silent between two
// questions for longer than that still gets its answers.
func TestSlowReaders(t *testing.T) {
	const within = 400 * time.Millisecond // a busy server writes in much less
	gone := make(chan error, 1)
	web := httptest.NewServer(paced(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/short" {
			_, _ = io.WriteString(w, "short")
			return
		}
		var err error
		for part := make([]byte, 1<<20); err == nil; {
			_, err = w.Write(part)
		}
		gone <- err
	}), within))
	defer web.Close()
	c, err := net.Dial("tcp", web.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 2 {
		if _, err := io.WriteString(c, "GET /short HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		answer, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(answer.Body); string(text) != "short" {
			t.Errorf("%q, %v", text, err)
		}
		answer.Body.Close()
		time.Sleep(2 * within)
	}
	if _, err := io.WriteString(c, "GET /endless HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-gone:
	case <-time.After(time.Minute):
		t.Error("it is sent for ever")
	}
}
