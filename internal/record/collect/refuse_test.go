package collect

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/record/stream"
	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/internal/tracefile/follow"
	"github.com/whyslow/whyslow/trace"
)

// lines collects what Notify is told.
type lines struct {
	mu   sync.Mutex
	list []string
}

func (l *lines) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, line)
}

func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.list[max(0, len(l.list)-10):], "\n")
}

// refusedFor runs a sender that is refused for good, and returns the refusal; what Notify
// was told must be one line.
func refusedFor(t *testing.T, cfg stream.Config) *stream.Refusal {
	t.Helper()
	var told lines
	cfg.Notify = told.add
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	s := stream.NewSender(cfg)
	err := s.Run(ctx)
	var r *stream.Refusal
	if !errors.As(err, &r) {
		t.Fatalf("not refused for good: %v; told %s", err, told.text())
	}
	if want := err.Error() + "; nothing more is sent to it"; !strings.HasSuffix(told.text(), want) ||
		strings.Contains(err.Error(), "\n") {
		t.Errorf("told %q, error %q", told.text(), err)
	}
	if st := s.Stats(); !st.Over || st.Done || st.Connected || !errors.Is(st.Err, r) {
		t.Errorf("%+v", st)
	}
	if derr := s.Drain(ctx); !errors.As(derr, &r) {
		t.Error(derr)
	}
	return r
}

// retried runs a sender that is told to try again, until Notify is told of text.
func retried(t *testing.T, cfg stream.Config, text string) {
	t.Helper()
	found := make(chan bool)
	var once sync.Once
	var told lines
	cfg.Notify = func(line string) {
		told.add(line)
		if strings.Contains(line, text) && strings.HasSuffix(line, "; trying again") {
			once.Do(func() { close(found) })
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	s := stream.NewSender(cfg)
	go s.Run(ctx)
	select {
	case <-found:
	case <-s.Done():
		t.Errorf("gave up, told %q", told.text())
	}
	cancel()
	<-s.Done()
}

func TestRefusedForGood(t *testing.T) {
	src := filepath.Join(t.TempDir(), "a.trace")
	writeTrace(t, src, []int{0}, 10)
	s := serveAt(t, "", Config{Dir: t.TempDir(), Token: "secret"})
	for _, token := range []string{"", "wrong", "secret2"} {
		cfg := quick(s.addr, src)
		cfg.Target.Token = token
		if r := refusedFor(t, cfg); !strings.Contains(r.Text, "wrong token") {
			t.Error(r)
		}
	}
	if len(s.Runs()) != 0 {
		t.Error("something is kept of the refused")
	}
	cfg := quick(s.addr, src)
	cfg.Target.Token = "secret"
	send(t, cfg)
	same(t, s.only(t), src)

	// Servers that are none.
	for code, text := range map[int]string{http.StatusNotFound: "it is not a whyslow collector",
		http.StatusOK:              "it is not a whyslow collector",
		http.StatusUpgradeRequired: "whyslow-stream/1"} {
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
		}))
		if r := refusedFor(t, quick(web.Listener.Addr().String(), src)); !strings.Contains(r.Text, text) {
			t.Error(r)
		}
		web.Close()
	}
}

func TestTLS(t *testing.T) {
	src := filepath.Join(t.TempDir(), "a.trace")
	writeTrace(t, src, []int{0}, 10)
	c, err := New(Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	web := httptest.NewUnstartedServer(c)
	web.EnableHTTP2 = true
	web.Config.ErrorLog = log.New(io.Discard, "", 0)
	web.StartTLS()
	defer web.Close()
	addr := web.Listener.Addr().String()
	cert := filepath.Join(t.TempDir(), "cert.pem")
	if err := os.WriteFile(cert,
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw}), 0o666); err != nil {
		t.Fatal(err)
	}
	target, err := stream.ParseTarget("https://" + addr)
	if err != nil {
		t.Fatal(err)
	}
	cfg := quick(addr, src)
	cfg.Target = target
	if r := refusedFor(t, cfg); !strings.Contains(r.Text, "certificate is not accepted") {
		t.Error(r)
	}
	if err := cfg.Target.TrustFile(cert); err != nil {
		t.Fatal(err)
	}
	send(t, cfg)
	same(t, c.Runs()[0].Dir, src)
	// One side has TLS, the other has not.
	if r := refusedFor(t, quick(addr, src)); !strings.Contains(r.Text, "use https://HOST:PORT") {
		t.Error(r)
	}
	bare := serveAt(t, "", Config{Dir: t.TempDir()})
	cfg.Target.Addr = bare.addr
	if r := refusedFor(t, cfg); !strings.Contains(r.Text, "answers without TLS") {
		t.Error(r)
	}
	if err := cfg.Target.TrustFile(src + "/run.json"); err == nil {
		t.Error("run.json is taken for a certificate")
	}
}

// dial opens a stream by hand.
func dial(t testing.TB, addr string) (*stream.Conn, net.Conn) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := c.Write(
		[]byte("GET /stream HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: " + stream.Protocol +
			"\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte,
		len("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+stream.Protocol+"\r\n\r\n"))
	for n := 0; n < len(answer); {
		m, err := c.Read(answer[n:])
		if err != nil {
			t.Fatalf("%q, %v", answer[:n], err)
		}
		n += m
	}
	if !strings.HasPrefix(string(answer), "HTTP/1.1 101") {
		t.Fatalf("%q", answer)
	}
	return stream.NewConn(c, c, time.Minute, stream.DefaultMaxFrame), c
}

func frame(t testing.TB, typ stream.Type, v any) []byte {
	t.Helper()
	b, err := stream.AppendJSON(nil, typ, v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func hello(t testing.TB, id, name string) []byte {
	return frame(t, stream.TypeHello, stream.Hello{Format: 1, Run: id, Sender: name,
		Info: &trace.RunInfo{Program: "p.fa"}})
}

// expect reads frames until one of a type, and returns it.
func expect(t testing.TB, c *stream.Conn, typ stream.Type) stream.Frame {
	t.Helper()
	for {
		f, err := c.Next()
		if err != nil {
			t.Fatalf("waiting for a %v frame: %v", typ, err)
		}
		if f.Type == typ {
			return f
		}
		if f.Type == stream.TypeRefuse {
			t.Fatalf("waiting for a %v frame: refused, %s", typ, f.Body)
		}
	}
}

// refusal reads frames until the refusal.
func refusal(t testing.TB, c *stream.Conn) *stream.Refusal {
	t.Helper()
	r, err := stream.ParseRefusal(expect(t, c, stream.TypeRefuse).Body)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// someBlocks are the blocks of the only node of a trace.
func someBlocks(t testing.TB, events int) [][]byte {
	t.Helper()
	src := filepath.Join(t.TempDir(), "a.trace")
	writeTrace(t, src, []int{0}, events)
	return blocksOf(t, src)
}

// blocksOf are the blocks of a trace of one node.
func blocksOf(t testing.TB, src string) [][]byte {
	t.Helper()
	f := follow.New(src)
	var list [][]byte
	if _, err := f.Poll(context.Background(), func(b *tracefile.RawBlock) error {
		list = append(list, append([]byte(nil), b.Bytes...))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return list
}

// What is not in order is refused in words, and the server goes on.
func TestRefusedInWords(t *testing.T) {
	limits := DefaultLimits()
	limits.Nodes, limits.Runs, limits.Frame = 2, 3, 1<<20
	s := serveAt(t, "", Config{Dir: t.TempDir(), Limits: limits})
	block := someBlocks(t, 2000)[1]
	bad := append([]byte(nil), block...)
	bad[len(bad)-1] ^= 1
	far := stream.AppendNode(nil, stream.TypeOpen, 0)
	id := trace.NewRunID()
	for _, c := range []struct {
		name, text string
		final      bool
		send       []byte
	}{
		{"no hello", "the first frame is a ping, not a hello", true, stream.AppendNumber(nil, stream.TypePing, 1)},
		{"version", "use a newer whyslow for this collector", true,
			frame(t, stream.TypeHello, map[string]any{"format": 9})},
		{"no run", "32 hex digits", true, hello(t, "x", "s")},
		{"not opened", "node 5 was not opened", false,
			append(hello(t, id, "s"), stream.AppendBlock(nil, 5, block)...)},
		{"damaged", "damaged", false, append(append(hello(t, id, "s"), far...),
			stream.AppendBlock(nil, 0, bad)...)},
		{"half a block", "damaged", false, append(append(hello(t, id, "s"), far...),
			stream.AppendBlock(nil, 0, block[:len(block)-1])...)},
		{"no block", "damaged", false, append(append(hello(t, id, "s"), far...),
			stream.AppendBlock(nil, 0, nil)...)},
		{"ack", "a ack frame", false, append(hello(t, id, "s"), stream.AppendNumber(nil, stream.TypeAck, 1)...)},
		{"unknown", "type 99", false, append(hello(t, id, "s"), 0, 0, 0, 0, 99)},
		{"too long", "2097152 bytes, 1048576 are allowed", false, append(hello(t, id, "s"), 0, 0, 32, 0, 3)},
		{"hello too long", "are allowed", false, []byte{0, 0, 32, 0, 1}},
		{"nodes", "2 nodes of this run are kept, which is the collector's limit", true, append(hello(t, id, "s"),
			stream.AppendNode(stream.AppendNode(stream.AppendNode(nil, 2, 7), 2, 8), 2, 9)...)},
		{"info", "run.json has a node -1", false, append(hello(t, id, "s"),
			frame(t, stream.TypeInfo, trace.RunInfo{Nodes: []trace.NodeInfo{{Node: -1}}})...)},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn, raw := dial(t, s.addr)
			if _, err := conn.Write(c.send); err != nil {
				t.Fatal(err)
			}
			r := refusal(t, conn)
			if !strings.Contains(r.Text, c.text) || r.Final != c.final {
				t.Errorf("%+v", r)
			}
			if _, err := conn.Next(); err == nil {
				t.Error("the connection goes on")
			}
			raw.Close()
		})
	}
	// Runs.
	var last *stream.Refusal
	for range 4 {
		conn, _ := dial(t, s.addr)
		if _, err := conn.Write(hello(t, trace.NewRunID(), "s")); err != nil {
			t.Fatal(err)
		}
		f, err := conn.Next()
		if err != nil {
			t.Fatal(err)
		}
		if f.Type == stream.TypeRefuse {
			last, _ = stream.ParseRefusal(f.Body)
		}
	}
	if last == nil || !strings.Contains(last.Text, "keeps 3 runs") || last.Final {
		t.Errorf("%+v", last)
	}
}

// A collector takes so many streams, and so many from an address; the rest comes later.
func TestTooManyStreams(t *testing.T) {
	src := filepath.Join(t.TempDir(), "a.trace")
	writeTrace(t, src, []int{0}, 10)
	limits := DefaultLimits()
	limits.PerAddress = 2
	s := serveAt(t, "", Config{Dir: t.TempDir(), Limits: limits})
	_, a := dial(t, s.addr)
	dial(t, s.addr)
	retried(t, quick(s.addr, src), "too many streams at once: at most 1024, 2 from one address")
	a.Close()
	send(t, quick(s.addr, src))
	same(t, s.only(t), src)
}

// Bytes of a run and of all.
func TestTooManyBytes(t *testing.T) {
	src := filepath.Join(t.TempDir(), "a.trace")
	writeTrace(t, src, []int{0}, 20_000)
	limits := DefaultLimits()
	limits.RunBytes = 50_000
	s := serveAt(t, "", Config{Dir: t.TempDir(), Limits: limits})
	if r := refusedFor(t, quick(s.addr, src)); !strings.Contains(r.Text, "at most 50000 bytes of a run") {
		t.Error(r)
	}
	if run := s.Runs()[0]; run.Err == "" || run.Bytes > 50_000 || run.Bytes < 30_000 {
		t.Errorf("%+v", run)
	}
	limits = DefaultLimits()
	limits.AllBytes = 50_000
	s = serveAt(t, "", Config{Dir: t.TempDir(), Limits: limits})
	retried(t, quick(s.addr, src), "at most 50000 bytes of all runs")
}

// A collector that looks through a large file says meanwhile that it is there.
func TestLongLook(t *testing.T) {
	here, there := net.Pipe()
	defer here.Close()
	k := &conn{Conn: stream.NewConn(there, there, time.Minute, 1<<20), acked: 7}
	heard := make(chan uint64)
	go func() {
		f, err := stream.NewConn(here, here, time.Minute, 1<<20).Next()
		n, perr := stream.ParseNumber(f.Body)
		if err != nil || perr != nil || f.Type != stream.TypeAck {
			t.Error(err, perr, f.Type)
		}
		heard <- n
	}()
	if err := k.during(time.Millisecond, func() error {
		if n := <-heard; n != 7 {
			t.Errorf("%d are acknowledged", n)
		}
		here.Close()
		return errLocked
	}); !errors.Is(err, errLocked) {
		t.Error(err)
	}
}

// Nobody there, and nobody who is a collector but says nothing.
func TestCannotBeReached(t *testing.T) {
	src := filepath.Join(t.TempDir(), "a.trace")
	writeTrace(t, src, []int{0}, 10)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cfg := quick(l.Addr().String(), src)
	cfg.Within = 50 * time.Millisecond
	retried(t, cfg, "no answer")
	l.Close()
	retried(t, cfg, "connection refused")
	cfg.Target.Addr = "no-such-host.invalid:1"
	retried(t, cfg, "its name is not known")
}
