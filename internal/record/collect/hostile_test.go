package collect

import (
	"bytes"
	"crypto/rand"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/record/stream"
	"github.com/whyslow/whyslow/trace"
)

// garbage is what nobody should send, by what it is.
func garbage(t testing.TB) map[string][]byte {
	noise := make([]byte, 100_000)
	_, _ = rand.Read(noise)
	upgrade := []byte("GET /stream HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: " + stream.Protocol +
		"\r\n\r\n")
	greeting := append(upgrade[:len(upgrade):len(upgrade)],
		hello(t, "00000000000000000000000000000bad", "bad")...)
	with := func(head []byte, b ...byte) []byte { return append(head[:len(head):len(head)], b...) }
	return map[string][]byte{
		"nothing":         nil,
		"noise":           noise,
		"half a request":  upgrade[:40],
		"endless headers": append(upgrade[:30:30], bytes.Repeat([]byte("X: y\r\n"), 100_000)...),
		"another path":    []byte("GET /../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n"),
		"another method": []byte("POST /stream HTTP/1.1\r\nHost: x\r\nUpgrade: " + stream.Protocol +
			"\r\n\r\n"),
		"no upgrade":                []byte("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n"),
		"HTTP/2":                    []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
		"upgrade and nothing":       upgrade,
		"noise after the upgrade":   with(upgrade, noise...),
		"noise after the hello":     with(greeting, noise...),
		"oversize":                  with(greeting, 0xff, 0xff, 0xff, 0xff, 3),
		"oversize hello":            with(upgrade, 0xff, 0xff, 0xff, 0x7f, 1),
		"claims much, sends little": with(greeting, 0, 0, 0, 1, 3),
		"half a frame":              with(greeting, 9, 0, 0, 0, 3, 1, 2),
		"hello and nothing":         greeting,
	}
}

// Whatever comes, from many at once: the server stands, other streams go on, and when the
// others have gone nothing is left of them.
func TestHostile(t *testing.T) {
	limits := DefaultLimits()
	limits.Handshake, limits.Idle = time.Second, time.Second
	limits.Sockets, limits.PerAddress = 300, 100
	dir := t.TempDir()
	s := serveAt(t, "", Config{Dir: dir, Limits: limits})
	src := filepath.Join(t.TempDir(), "a.trace")
	writeTrace(t, src, []int{0}, 50_000)
	goroutines, files := runtime.NumGoroutine(), openFiles()

	stop := make(chan bool)
	var work sync.WaitGroup
	for what, b := range garbage(t) {
		for range 4 {
			work.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					c, err := net.Dial("tcp", s.addr)
					if err != nil {
						t.Errorf("%s: %v", what, err)
						return
					}
					// It may be cut off at any moment.
					_ = c.SetDeadline(time.Now().Add(5 * time.Second))
					go c.Write(b)
					_, _ = io.Copy(io.Discard, c)
					c.Close()
				}
			})
		}
	}
	for range 5 {
		cfg := quick(s.addr, src)
		cfg.Name = "good"
		send(t, cfg)
	}
	close(stop)
	work.Wait()
	for _, r := range s.Runs() {
		if r.ID == readInfo(t, src).ID {
			same(t, r.Dir, src)
		}
	}
	if left := leftOver(goroutines, files); left != "" {
		t.Error(left)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if n := e.Name(); n != "prog.001.trace" && n != "p.001.trace" {
			t.Errorf("%s came to be", n)
		}
	}
}

// Thousands of connections that do nothing: they are turned away or time out, and the one
// that has something to send gets through.
func TestThousandsOfConnections(t *testing.T) {
	limits := DefaultLimits()
	limits.Handshake = time.Second
	limits.Sockets, limits.PerAddress = 500, 250
	s := serveAt(t, "", Config{Dir: t.TempDir(), Limits: limits})
	src := filepath.Join(t.TempDir(), "a.trace")
	writeTrace(t, src, []int{0}, 1000)
	goroutines, files := runtime.NumGoroutine(), openFiles()
	var conns []net.Conn
	for i := range 2000 {
		c, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		conns = append(conns, c)
	}
	send(t, quick(s.addr, src))
	same(t, s.only(t), src)
	for _, c := range conns {
		c.Close()
	}
	if left := leftOver(goroutines, files); left != "" {
		t.Error(left)
	}
}

// A sender of good blocks with a slow hand holds nobody else up, and is cut off.
func TestSlowloris(t *testing.T) {
	limits := DefaultLimits()
	limits.Idle = 500 * time.Millisecond
	s := serveAt(t, "", Config{Dir: t.TempDir(), Limits: limits})
	block := stream.AppendBlock(nil, 0, someBlocks(t, 2000)[1])
	conn, raw := dial(t, s.addr)
	if _, err := conn.Write(append(hello(t, trace.NewRunID(), "slow"), stream.AppendNode(nil, stream.TypeOpen,
		0)...)); err != nil {
		t.Fatal(err)
	}
	expect(t, conn, stream.TypeHave)
	begin := time.Now()
	for _, b := range block {
		if _, err := raw.Write([]byte{b}); err != nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
		if time.Since(begin) > time.Minute {
			t.Fatal("it is let go on for ever")
		}
	}
}

// A whole connection of a server, fed with whatever.
func FuzzConnection(f *testing.F) {
	for _, b := range garbage(f) {
		if _, after, ok := bytes.Cut(b, []byte("\r\n\r\n")); ok && len(after) < 10_000 {
			f.Add(after)
		}
	}
	limits := DefaultLimits()
	limits.Handshake, limits.Idle, limits.Frame = 50*time.Millisecond, 50*time.Millisecond, 1<<20
	limits.AllBytes, limits.Runs = 10<<20, 100
	s := serveAt(f, "", Config{Dir: f.TempDir(), Limits: limits})
	good := append(hello(f, "00000000000000000000000000000bad", "bad"),
		stream.AppendNode(nil, stream.TypeOpen, 0)...)
	for i, b := range someBlocks(f, 500) {
		good = stream.AppendBlock(good, 0, b)
		if i%2 == 0 {
			good = stream.AppendNumber(good, stream.TypePing, 1)
		}
	}
	good = stream.AppendLost(good, stream.Lost{Node: 0, Blocks: 1, Events: 2})
	good = append(good, frame(f, stream.TypeInfo, trace.RunInfo{Program: "q"})...)
	f.Add(stream.AppendEnd(stream.AppendNode(good, stream.TypeClose, 0)))
	f.Fuzz(func(t *testing.T, b []byte) {
		here, there := net.Pipe()
		done := make(chan bool)
		go func() {
			defer close(done)
			s.serve(there, there, "fuzz:1", s.numbers.Add(1))
			there.Close()
		}()
		go func() {
			_, _ = here.Write(b)
			time.Sleep(time.Millisecond)
			here.Close()
		}()
		_, _ = io.Copy(io.Discard, here)
		<-done
	})
}
