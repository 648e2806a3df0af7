package collect

import (
	"bytes"
	"context"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/whyslow/whyslow/internal/record/stream"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/trace"
)

// server is a collector that listens, as whyslow serve has it.
type server struct {
	*Collector
	addr string
	http *http.Server
	done chan error
}

// serveAt starts a collector; addr "" is any free port.
func serveAt(t testing.TB, addr string, cfg Config) *server {
	t.Helper()
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	var l net.Listener
	for range 100 { // the one before may not be gone quite yet
		if l, err = net.Listen("tcp", addr); err == nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if err != nil {
		t.Fatal(err)
	}
	addr = l.Addr().String()
	if l, err = Listener(l, cfg.Limits); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle(stream.Path, c)
	h, err := Server(mux, cfg.Limits, func(line string) { t.Error(line) })
	if err != nil {
		t.Fatal(err)
	}
	s := &server{Collector: c, addr: addr, http: h, done: make(chan error, 1)}
	go func() { s.done <- h.Serve(l) }()
	t.Cleanup(s.stop)
	return s
}

// stop ends it, once.
func (s *server) stop() {
	if s.http == nil {
		return
	}
	s.http.Close()
	<-s.done
	s.Collector.Close()
	s.http = nil
}

// send sends a folder until all is there.
func send(t testing.TB, cfg stream.Config) *stream.Sender {
	t.Helper()
	s := stream.NewSender(cfg)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	go s.Run(ctx)
	if err := s.Drain(ctx); err != nil {
		t.Fatal(err)
	}
	return s
}

// quick is a sender's configuration with short times.
func quick(addr, dir string) stream.Config {
	return stream.Config{Target: stream.Target{Addr: addr}, Source: stream.Folder(dir),
		Poll: 5 * time.Millisecond, Retry: 2 * time.Millisecond, Longest: 20 * time.Millisecond}
}

// writeTrace writes the trace of some nodes with so many events each, of a run with
// that ID or a random one, and returns its run.json.
func writeTrace(t testing.TB, dir string, nodes []int, events int, id ...string) *trace.RunInfo {
	t.Helper()
	info := &trace.RunInfo{ID: append(id, trace.NewRunID())[0], Program: "prog.fa", Args: []string{"8"},
		Started: time.Now().Round(0), Hosts: []string{"h"},
		Processes: []trace.ProcessInfo{{PID: 1, Host: "h", Cores: 2}}}
	for _, n := range nodes {
		info.Nodes = append(info.Nodes, trace.NodeInfo{Node: n, Host: "h", Workers: 2})
	}
	writeInfo(t, dir, info)
	for _, n := range nodes {
		w, err := trace.Create(dir, n, trace.Options{Run: info.ID, BufferBytes: 4 << 10})
		if err != nil {
			t.Fatal(err)
		}
		emit(w, events)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	info.Ended = trace.EndedDone
	writeInfo(t, dir, info)
	return info
}

func writeInfo(t testing.TB, dir string, info *trace.RunInfo) {
	t.Helper()
	if err := trace.WriteRunInfo(dir, info); err != nil {
		t.Fatal(err)
	}
}

// emit records some events with definitions now and then.
func emit(w *trace.Writer, events int) {
	rnd := rand.New(rand.NewPCG(uint64(w.Node()), uint64(events)))
	for s := range 2 {
		w.Stream(s).Emit(0, trace.KindProgramStarted, uint64(w.Node()), 0)
	}
	now := int64(1)
	for i := range events {
		now += rnd.Int64N(1000)
		s := w.Stream(rnd.IntN(3))
		if i%50 == 0 {
			w.DefineDF(trace.DF(i/50+1), w.Name("x"), []int64{0, int64(w.Node()), int64(i)})
			s.Emit(now, trace.KindDFStored, uint64(i/50+1), uint64(rnd.IntN(5000)))
			continue
		}
		s.Emit(now, trace.KindReadyQueue, rnd.Uint64N(1<<40))
	}
	for s := range 2 {
		w.Stream(s).Emit(now, trace.KindProgramFinished, uint64(now))
	}
}

// textOf is the text of a trace.
func textOf(t testing.TB, dir string) string {
	t.Helper()
	r, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var b bytes.Buffer
	if err := twin.Dump(&b, r); err != nil {
		t.Fatal(err)
	}
	for _, p := range r.Problems() {
		b.WriteString("# problem: " + p.String() + "\n")
	}
	return b.String()
}

// same fails unless two traces are the same in text.
func same(t testing.TB, got, want string) {
	t.Helper()
	if a, b := textOf(t, got), textOf(t, want); a != b {
		i := 0
		for i < min(len(a), len(b)) && a[i] == b[i] {
			i++
		}
		t.Errorf("%s is another trace than %s: from byte %d on %.200q instead of %.200q", got, want, i,
			a[i:], b[i:])
	}
}

// only is the folder of the only run.
func (s *server) only(t testing.TB) string {
	t.Helper()
	runs := s.Runs()
	if len(runs) != 1 {
		t.Fatalf("%d runs: %+v", len(runs), runs)
	}
	return runs[0].Dir
}

func TestSendFinishedTrace(t *testing.T) {
	src := filepath.Join(t.TempDir(), "a.trace")
	writeTrace(t, src, []int{0, 3}, 20_000)
	s := serveAt(t, "", Config{Dir: t.TempDir()})
	sender := send(t, quick(s.addr, src))
	dir := s.only(t)
	same(t, dir, src)
	if filepath.Base(dir) != "prog.001.trace" {
		t.Errorf("kept in %s", dir)
	}
	got, err := trace.ReadRunInfo(dir)
	if err != nil {
		t.Fatal(err)
	}
	want, err := trace.ReadRunInfo(src)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	st := sender.Stats()
	if !st.Done || !st.Over || st.Sent.Events == 0 || st.Unsent != (stream.Amount{}) || st.Lag != 0 {
		t.Errorf("%+v", st)
	}
	// Again: everything is there, nothing is written twice.
	send(t, quick(s.addr, src))
	same(t, s.only(t), src)
}
