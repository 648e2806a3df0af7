package collect

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/whyslow/whyslow/internal/record/stream"
	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/trace"
)

// until waits for something to become true.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("never came: %s", what)
}

// keeps tells whether something is kept of so many nodes of the only run.
func (s *server) keeps(nodes int) func() bool {
	return func() bool {
		runs := s.Runs()
		return len(runs) == 1 && len(s.Sources(runs[0].Dir)) == nodes
	}
}

// start runs a sender until the test ends, or it is stopped.
func start(t testing.TB, cfg stream.Config) (s *stream.Sender, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	s = stream.NewSender(cfg)
	go s.Run(ctx)
	stop = func() { cancel(); <-s.Done() }
	t.Cleanup(stop)
	return s, stop
}

func drain(t testing.TB, s *stream.Sender) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := s.Drain(ctx); err != nil {
		t.Fatal(err)
	}
}

func readInfo(t testing.TB, dir string) *trace.RunInfo {
	t.Helper()
	info, err := trace.ReadRunInfo(dir)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// A run that goes on: what was recorded arrives soon, the page is told of the folder and of
// the senders, the sender is killed, and goes on later at another collector process.
func TestRunThatGoesOn(t *testing.T) {
	src, kept := filepath.Join(t.TempDir(), "a.trace"), t.TempDir()
	told := make(chan string, 10)
	cfg := Config{Dir: kept, OnRun: func(dir string) { told <- dir }}
	s := serveAt(t, "", cfg)
	sender, stop := start(t, quick(s.addr, src)) // the folder comes later
	info := &trace.RunInfo{ID: trace.NewRunID(), Program: "dir/../../live.fa"}
	writeInfo(t, src, info)
	w, err := trace.Create(src, 5, trace.Options{Run: info.ID, FlushEvery: 5 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	w.Stream(0).Emit(1, trace.KindReadyQueue, 1)
	dir := <-told
	if dir != filepath.Join(kept, "live.001.trace") {
		t.Error(dir)
	}
	events := func(n int) func() bool {
		return func() bool { return strings.Count(textOf(t, dir), "onReadyQueue") == n }
	}
	until(t, "the first file", func() bool {
		_, err := os.Stat(filepath.Join(dir, tracefile.FileName(5)))
		return err == nil && sender.Stats().Sent.Events == 1
	})
	until(t, "the first event", events(1))
	w.Stream(0).Emit(2, trace.KindReadyQueue, 2)
	until(t, "the second event", events(2))
	src5 := func() Source {
		list := s.Sources(dir)
		if len(list) != 1 || list[0].Node != 5 {
			t.Fatalf("%+v", list)
		}
		return list[0]
	}
	if x := src5(); !x.Connected || x.Unsent != 0 {
		t.Errorf("%+v", x)
	}
	until(t, "a small lag", func() bool { return sender.Stats().Lag < time.Second })
	if r := s.Runs()[0]; r.Senders != 1 || r.Ended != "" || r.ID != info.ID || r.Program != info.Program {
		t.Errorf("%+v", r)
	}

	stop()
	until(t, "its end is noticed", func() bool { return !src5().Connected })
	if x := src5(); x.LagNS != 0 && x.LagNS < int64(time.Microsecond) {
		t.Errorf("%+v", x)
	}
	if got := readInfo(t, dir); got.Ended != "" {
		t.Errorf("%+v", got)
	}
	s.stop()
	w.Stream(0).Emit(3, trace.KindReadyQueue, 3)
	s = serveAt(t, s.addr, cfg)
	if r := s.Runs(); len(r) != 1 || r[0].Dir != dir || r[0].Senders != 0 {
		t.Errorf("%+v", r)
	}
	if x := src5(); x.Connected {
		t.Errorf("%+v", x)
	}
	sender, _ = start(t, quick(s.addr, src))
	if again := <-told; again != dir {
		t.Errorf("goes on in %s", again)
	}
	until(t, "the third event", events(3))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	info.Ended = trace.EndedDone
	writeInfo(t, src, info)
	drain(t, sender)
	same(t, dir, src)
	until(t, "the sender is gone", func() bool { return s.Runs()[0].Senders == 0 })
	if x := src5(); x.LagNS != 0 {
		t.Errorf("%+v", x)
	}
	// What is kept knows who uses it.
	if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), "another collector uses it") {
		t.Error(err)
	}
}

// Several senders, each with its nodes: one trace, one run.json.
func TestSeveralSenders(t *testing.T) {
	tmp := t.TempDir()
	whole := filepath.Join(tmp, "whole.trace")
	info := writeTrace(t, whole, []int{0, 1, 2}, 3000)
	info.Ended = ""
	s := serveAt(t, "", Config{Dir: filepath.Join(tmp, "kept")})
	ended := []string{trace.EndedDone, trace.EndedFailed, trace.EndedDone}
	var senders []*stream.Sender
	part := func(n int) string { return filepath.Join(tmp, fmt.Sprint(n)) }
	for n := range 3 {
		mine := *info
		mine.Nodes = []trace.NodeInfo{{Node: n, Host: fmt.Sprint("h", n), Workers: 2, Process: 0}}
		mine.Hosts = []string{fmt.Sprint("h", n)}
		mine.Processes = []trace.ProcessInfo{{PID: 10 + n, Host: fmt.Sprint("h", n)}}
		writeInfo(t, part(n), &mine)
		if err := os.Link(filepath.Join(whole, tracefile.FileName(n)),
			filepath.Join(part(n), tracefile.FileName(n))); err != nil {
			t.Fatal(err)
		}
		sender, _ := start(t, quick(s.addr, part(n)))
		senders = append(senders, sender)
		until(t, "it is connected", func() bool { return sender.Stats().Connected })
		mine.Ended, mine.Exit = ended[n], n%2
		writeInfo(t, part(n), &mine)
	}
	until(t, "something of each is kept", s.keeps(3))
	dir := s.only(t)
	for n, sender := range senders {
		if got := readInfo(t, dir).Ended; got != "" {
			t.Errorf("ended %q before sender %d", got, n)
		}
		drain(t, sender)
	}
	want := *info
	want.Ended, want.Exit = trace.EndedFailed, 1
	want.Hosts, want.Processes, want.Nodes = nil, nil, nil
	for n := range 3 {
		h := fmt.Sprint("h", n)
		want.Hosts = append(want.Hosts, h)
		want.Processes = append(want.Processes, trace.ProcessInfo{PID: 10 + n, Host: h})
		want.Nodes = append(want.Nodes, trace.NodeInfo{Node: n, Host: h, Workers: 2, Process: n})
	}
	if diff := cmp.Diff(&want, readInfo(t, dir)); diff != "" {
		t.Error(diff)
	}
	writeInfo(t, whole, &want)
	same(t, dir, whole)
}

// Two senders of one node: the newer goes on, the older is told and stops.
func TestNewerTakesOver(t *testing.T) {
	src := filepath.Join(t.TempDir(), "a.trace")
	writeTrace(t, src, []int{0}, 3000)
	s := serveAt(t, "", Config{Dir: t.TempDir()})
	old := quick(s.addr, src)
	old.Name = "old"
	var told lines
	old.Notify = told.add
	first, _ := start(t, old)
	until(t, "all is there", func() bool { return first.Stats().Sent.Events > 3000 })
	second := quick(s.addr, src)
	second.Name = "new"
	send(t, second)
	<-first.Done()
	if !strings.Contains(told.text(),
		"node 0 is sent by another sender now, 127.0.0.1; nothing more is sent to it") {
		t.Error(told.text())
	}
	same(t, s.only(t), src)
	if got := readInfo(t, s.only(t)); got.Ended != trace.EndedDone {
		t.Errorf("%+v", got)
	}
}

// A connection of which nobody hears any more ends on both sides, and the sender connects
// again at once.
func TestHalfOpen(t *testing.T) {
	src := filepath.Join(t.TempDir(), "a.trace")
	writeTrace(t, src, []int{0}, 3000)
	limits := DefaultLimits()
	limits.Idle = 100 * time.Millisecond
	s := serveAt(t, "", Config{Dir: t.TempDir(), Limits: limits})
	// The collector hears nothing.
	conn, _ := dial(t, s.addr)
	if _, err := conn.Write(hello(t, trace.NewRunID(), "s")); err != nil {
		t.Fatal(err)
	}
	expect(t, conn, stream.TypeWelcome)
	if r := refusal(t, conn); r.Code != stream.RefusedIdle || r.Final {
		t.Errorf("%+v", r)
	}
	// The sender hears nothing: somebody answers the hello, and then no more.
	mute := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = c.Write(
			[]byte("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " + stream.Protocol +
				"\r\n\r\n"))
		_, _ = c.Write(frame(t, stream.TypeWelcome, stream.Welcome{Collector: "x", Folder: "y",
			Idle: 50 * time.Millisecond, MaxFrame: stream.DefaultMaxFrame}))
		_, _ = c.Read(make([]byte, 100))
		time.Sleep(500 * time.Millisecond)
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	web := &http.Server{Handler: mute}
	go web.Serve(l)
	defer web.Close()
	retried(t, quick(l.Addr().String(), src), "no data for too long")
	// A quiet stream lasts. A computer that stands still for so long is silence, too: then it must last where
	// silence may be longer.
	for ; ; limits.Idle *= 2 {
		s := serveAt(t, "", Config{Dir: t.TempDir(), Limits: limits})
		sender, _ := start(t, quick(s.addr, src))
		time.Sleep(4 * limits.Idle)
		if st := sender.Stats(); st.Connects == 1 && st.Connected {
			break
		} else if limits.Idle > 30*time.Second {
			t.Fatalf("%+v", st)
		}
	}
}

// A collector that takes nothing: the sender keeps no more than its window, and says what
// it could not send.
func TestSlowCollector(t *testing.T) {
	src := filepath.Join(t.TempDir(), "a.trace")
	writeTrace(t, src, []int{0}, 100_000)
	over := make(chan bool)
	defer close(over)
	slow := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = c.Write(
			[]byte("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " + stream.Protocol +
				"\r\n\r\n"))
		_, _ = c.Write(frame(t, stream.TypeWelcome,
			stream.Welcome{Idle: time.Minute, MaxFrame: stream.DefaultMaxFrame}))
		_, _ = c.Write(stream.AppendHave(nil, 0, tracefile.Have{}))
		<-over
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	web := &http.Server{Handler: slow}
	go web.Serve(l)
	defer web.Close()
	cfg := quick(l.Addr().String(), src)
	cfg.Window = 20_000
	s, stop := start(t, cfg)
	// The window also counts what its items take beside their frames, and how many there are depends on the
	// timing.
	until(t, "the window is full", func() bool { return s.Stats().Unsent.Bytes >= 10_000 })
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	err = s.Drain(ctx)
	if err == nil || !strings.Contains(err.Error(), "at least") {
		t.Error(err)
	}
	if st := s.Stats(); st.Unsent.Bytes > 20_000+32<<10 || st.Sent.Blocks != 0 || st.Lag == 0 {
		t.Errorf("%+v", st)
	}
	stop()
}

// What the collector lost is sent again.
func TestCollectorLosesItsDisk(t *testing.T) {
	src := filepath.Join(t.TempDir(), "a.trace")
	writeTrace(t, src, []int{0, 1}, 20_000)
	cfg := Config{Dir: t.TempDir()}
	s := serveAt(t, "", cfg)
	sender, _ := start(t, quick(s.addr, src))
	until(t, "all is there", func() bool {
		return sender.Stats().Sent.Events > 40_000 && sender.Stats().Unsent.Blocks == 0
	})
	dir := s.only(t)
	s.stop()
	if err := os.Truncate(filepath.Join(dir, tracefile.FileName(1)), 30_001); err != nil {
		t.Fatal(err)
	}
	s = serveAt(t, s.addr, cfg)
	drain(t, sender)
	same(t, dir, src)
	s.stop()
	// All of it.
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	s = serveAt(t, s.addr, cfg)
	send(t, quick(s.addr, src))
	same(t, s.only(t), src)
}

// A run without a trace on disk: what does not fit the queue is dropped, and told.
func TestQueue(t *testing.T) {
	blocks := someBlocks(t, 20_000)
	info := &trace.RunInfo{ID: trace.NewRunID(), Program: "q.fa", Nodes: []trace.NodeInfo{{Node: 0, Workers: 2}}}
	q := stream.NewQueue(20_000, info)
	var all, defs int
	for _, b := range blocks {
		head, _, err := tracefile.ParseBlockHeader(b)
		if err != nil {
			t.Fatal(err)
		}
		if head.Defs {
			defs++
		} else {
			all += head.Count
		}
		if err := q.Put(0, b); err != nil {
			t.Fatal(err)
		}
	}
	q.CloseNode(0)
	done := *info
	done.Ended = trace.EndedDone
	q.SetInfo(&done)
	s := serveAt(t, "", Config{Dir: t.TempDir()})
	cfg := quick(s.addr, "")
	cfg.Source = q
	sender := send(t, cfg)
	st := sender.Stats()
	if st.Sent.Events+st.Dropped.Events != uint64(all) ||
		st.Sent.Blocks+st.Dropped.Blocks != uint64(len(blocks)) || st.Dropped.Events == 0 || st.Sent.Events == 0 {
		t.Errorf("%+v; %d events in %d blocks", st, all, len(blocks))
	}
	dir := s.only(t)
	got := readInfo(t, dir)
	if got.Ended != trace.EndedDone || got.Nodes[0].Unwritten != st.Dropped.Events || got.Nodes[0].Error == "" {
		t.Errorf("%+v", got)
	}
	if x := s.Sources(dir); len(x) != 1 || x[0].Unsent != st.Dropped.Blocks {
		t.Errorf("%+v", x)
	}
	r, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, p := range r.Problems() {
		if strings.Contains(p.What, "definition") {
			t.Error(p)
		}
	}
	if uint64(r.Events()) != st.Sent.Events {
		t.Errorf("%d events are kept, %d were sent", r.Events(), st.Sent.Events)
	}
}

// TestFolderNames: the folders of new runs are named without looking through all there are: a hello among
// thousands of runs costs as much as one among few. What somebody else has made meanwhile is passed over.
func TestFolderNames(t *testing.T) {
	dir := t.TempDir()
	s := serveAt(t, "", Config{Dir: dir})
	name := func() string {
		t.Helper()
		s.mu.Lock()
		defer s.mu.Unlock()
		dir, err := s.free("p")
		if err != nil {
			t.Fatal(err)
		}
		return filepath.Base(dir)
	}
	for _, n := range []int{1, 2, 2001} {
		if err := os.Mkdir(filepath.Join(dir, fmt.Sprintf("p.%03d.trace", n)), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if n := name(); n != "p.2002.trace" {
		t.Error(n)
	}
	for _, n := range []int{2002, 2004} {
		if err := os.Mkdir(filepath.Join(dir, fmt.Sprintf("p.%03d.trace", n)), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if n := name(); n != "p.2003.trace" { // a look through the folder would give 2005
		t.Error(n)
	}
	for i := range 3 * mostNames {
		s.mu.Lock()
		_, err := s.free(fmt.Sprint("p", i))
		s.mu.Unlock()
		if err != nil || len(s.next) > mostNames {
			t.Fatal(len(s.next), err)
		}
	}
}
