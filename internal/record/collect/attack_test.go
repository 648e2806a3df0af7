package collect

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/files"
	"github.com/whyslow/whyslow/internal/record/stream"
	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/internal/tracefile/follow"
	"github.com/whyslow/whyslow/trace"
)

// longHello is a hello of a run of its own with so many hosts.
func longHello(t testing.TB, hosts int) []byte {
	info := &trace.RunInfo{Program: "p.fa"}
	for i := range hosts {
		info.Hosts = append(info.Hosts, fmt.Sprint("host number ", i))
	}
	return frame(t, stream.TypeHello, stream.Hello{Format: 1, Run: trace.NewRunID(), Sender: "s", Info: info})
}

// inUse is how many bytes of memory are in use.
func inUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// held is how many bytes of what senders say are counted.
func (c *Collector) held() int64 {
	c.memory.mu.Lock()
	defer c.memory.mu.Unlock()
	return c.memory.n
}

// A sender that says hello over and over, and nothing else: no folder comes to be, no run remains.
func TestHellosOnly(t *testing.T) {
	dir := t.TempDir()
	s := serveAt(t, "", Config{Dir: dir, OnRun: func(dir string) { t.Error(dir, "is shown") }})
	goroutines, before := runtime.NumGoroutine(), inUse()
	short, long := [][]byte{longHello(t, 0), longHello(t, 10)}, longHello(t, 10_000)
	for i := range 300 {
		conn, raw := dial(t, s.addr)
		b := slices.Clone(short[i%2])
		if i%10 == 0 {
			b = slices.Clone(long)
		}
		copy(b[frameAt(b, `"run":"`):], trace.NewRunID())
		b = stream.AppendNode(b, stream.TypeOpen, i)
		if _, err := conn.Write(b); err != nil {
			t.Fatal(err)
		}
		expect(t, conn, stream.TypeHave)
		raw.Close()
	}
	if left := leftOver(goroutines, 1<<20); left != "" {
		t.Error(left)
	}
	if n := inUse() - before; n > 8<<20 {
		t.Errorf("%d bytes of memory remain", n)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 1 { // the lock
		t.Errorf("%v came to be, %v", entries, err)
	}
	if n := s.held(); n != 0 || len(s.runs)+len(s.dirs)+len(s.begun.by)+len(s.memory.by) != 0 {
		t.Errorf("%d bytes are counted; %v, %v", n, s.runs, s.memory.by)
	}
}

// Many at once with long hellos: one address gets no more than its share of memory, others get theirs, and
// all of it comes back.
func TestLongHellos(t *testing.T) {
	limits := DefaultLimits()
	limits.Memory = 32 << 20
	s := serveAt(t, "", Config{Dir: t.TempDir(), Limits: limits})
	b := longHello(t, 50_000)
	before := inUse()
	var conns []net.Conn
	var refused *stream.Refusal
	for range 20 {
		conn, raw := dial(t, s.addr)
		conns = append(conns, raw)
		if _, err := conn.Write(b); err != nil {
			t.Fatal(err)
		}
		f, err := conn.Next()
		if err != nil {
			t.Fatal(err)
		}
		if f.Type == stream.TypeRefuse {
			refused, _ = stream.ParseRefusal(f.Body)
		}
		copy(b[frameAt(b, `"run":"`):], trace.NewRunID())
	}
	if refused == nil || refused.Final || !strings.Contains(refused.Text, "your address has had its share") {
		t.Errorf("%+v", refused)
	}
	if n := s.held(); n > limits.Memory/4 || n < limits.Memory/8 {
		t.Errorf("%d bytes are counted", n)
	}
	if n := inUse() - before; n > limits.Memory/2 {
		t.Errorf("%d bytes of memory are in use", n)
	}
	for i := range 8 {
		if free, ok := s.memory.take(host(fmt.Sprintf("192.0.2.%d:1", i)), 1<<20); !ok {
			t.Error("nothing is left for others")
		} else {
			free()
		}
	}
	for _, c := range conns {
		c.Close()
	}
	until(t, "it is given back", func() bool { return s.held() == 0 })
}

// TestShortFrames: what connections keep between short frames counts, too, and is given back.
func TestShortFrames(t *testing.T) {
	limits := DefaultLimits()
	limits.Memory = 16 << 20
	s := serveAt(t, "", Config{Dir: t.TempDir(), Limits: limits})
	src := filepath.Join(t.TempDir(), "a.trace")
	w, err := trace.Create(src, 0, trace.Options{BufferBytes: 256 << 10, Level: -1})
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(30_000) {
		w.Stream(0).Emit(i, trace.KindReadyQueue, rand.Uint64())
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	block := blocksOf(t, src)[0]
	if len(block) < stream.ShortFrame/2 || len(block) > stream.ShortFrame {
		t.Fatalf("a block of %d bytes", len(block))
	}
	var conns []net.Conn
	for full := false; !full; {
		conn, raw := dial(t, s.addr)
		conns = append(conns, raw)
		b := stream.AppendNode(hello(t, trace.NewRunID(), "s"), stream.TypeOpen, 0)
		b = stream.AppendNumber(stream.AppendBlock(b, 0, block), stream.TypePing, 1)
		if _, err := conn.Write(b); err != nil {
			t.Fatal(err)
		}
		for f := (stream.Frame{}); f.Type != stream.TypeAck && !full; full = f.Type == stream.TypeRefuse {
			if f, err = conn.Next(); err != nil {
				t.Fatal(err)
			}
		}
		if n := int64(len(conns)) * int64(len(block)); n > limits.Memory/2 {
			t.Fatalf("%d connections keep %d bytes, %d are counted", len(conns), n, s.held())
		}
	}
	for _, c := range conns {
		c.Close()
	}
	// All but what was said of the runs.
	until(t, "it is given back", func() bool { return s.held() < limits.Memory/16 })
}

// TestManyStreamsCount: what is known of streams counts, and is given back.
func TestManyStreamsCount(t *testing.T) {
	limits := DefaultLimits()
	limits.Memory = 2 << 20
	limits.Idle = time.Second
	s := serveAt(t, "", Config{Dir: t.TempDir(), Limits: limits})
	conn, raw := dial(t, s.addr)
	b := hello(t, trace.NewRunID(), "s")
	for node := range 10 {
		b = stream.AppendNode(b, stream.TypeOpen, node)
		for i := range 1000 {
			h := tracefile.Header{Kind: tracefile.DataBlock, Stream: uint32(i), Sum: tracefile.Checksum(nil)}
			b = stream.AppendBlock(b, node, h.Append(nil))
		}
	}
	go conn.Write(stream.AppendNumber(b, stream.TypePing, 1))
	for f := (stream.Frame{}); f.Type != stream.TypeRefuse; {
		var err error
		f, err = conn.Next()
		if err != nil || f.Type == stream.TypeRefuse && !strings.Contains(string(f.Body), "no memory") {
			t.Fatalf("%v, %s; %d bytes are counted", err, f.Body, s.held())
		}
	}
	raw.Close()
	until(t, "it is given back", func() bool { return s.held() < 100<<10 })
}

// frameAt is where in a frame the value of a key begins.
func frameAt(b []byte, key string) int { return strings.Index(string(b), key) + len(key) }

// A hello that lists more than there can be is refused.
func TestEndlessLists(t *testing.T) {
	limits := DefaultLimits()
	limits.Nodes = 1 << 16
	s := serveAt(t, "", Config{Dir: t.TempDir(), Limits: limits})
	for what, b := range map[string][]byte{
		"65537 hosts":   longHello(t, 65_537),
		"8388608 are":   helloOf(8<<20, ' '),
		"a run.json of": helloOf(2<<20, ','),
		"65537 processes,": frame(t, stream.TypeHello, stream.Hello{Format: 1, Run: trace.NewRunID(), Sender: "s",
			Info: &trace.RunInfo{Processes: make([]trace.ProcessInfo, 65_537)}}),
	} {
		conn, raw := dial(t, s.addr)
		go conn.Write(b)
		if r := refusal(t, conn); !strings.Contains(r.Text, what) {
			t.Errorf("%s: %+v", what, r)
		}
		raw.Close()
	}
}

// helloOf is a hello with so many bytes of one kind.
func helloOf(n int, of byte) []byte {
	b := append(binary.LittleEndian.AppendUint32(nil, uint32(n+2)), byte(stream.TypeHello), '{')
	return append(append(b, bytes.Repeat([]byte{of}, n)...), '}')
}

// What an address may keep in the folder is bounded: runs, and bytes with those of run.json.
func TestShareOfAnAddress(t *testing.T) {
	src := filepath.Join(t.TempDir(), "a.trace")
	writeTrace(t, src, []int{0}, 20_000)
	limits := DefaultLimits()
	limits.AddressBytes = 50_000
	s := serveAt(t, "", Config{Dir: t.TempDir(), Limits: limits})
	retried(t, quick(s.addr, src), "50000 of those from one address")
	if !s.bytes.fits("192.0.2.1", 40_000) {
		t.Error("nothing is left for others")
	}

	limits = DefaultLimits()
	limits.AddressRuns = 2
	cfg := Config{Dir: t.TempDir(), Limits: limits}
	s = serveAt(t, "", cfg)
	for i := range 3 {
		src := filepath.Join(t.TempDir(), "a.trace")
		writeTrace(t, src, []int{0}, 10)
		if i == 2 {
			s.stop() // it counts those from before, too
			s = serveAt(t, s.addr, cfg)
			retried(t, quick(s.addr, src), "it keeps 2 runs from your address")
			break
		}
		send(t, quick(s.addr, src))
	}
	for _, r := range s.Runs() {
		if n := files.Size(r.Dir); n != r.Bytes {
			t.Errorf("%s has %d bytes, %d are counted", r.Dir, n, r.Bytes)
		}
		if err := os.RemoveAll(r.Dir); err != nil {
			t.Fatal(err)
		}
	}
	s.counted = time.Time{}
	send(t, quick(s.addr, src))
	if runs := s.Runs(); len(runs) != 1 || runs[0].Bytes != files.Size(runs[0].Dir) {
		t.Errorf("%+v, %d bytes", runs, files.Size(runs[0].Dir))
	}
}

// A run that nobody sends any more takes no memory, and goes on as if it had not rested.
func TestRestingRun(t *testing.T) {
	limits := DefaultLimits()
	limits.Idle = 200 * time.Millisecond
	s := serveAt(t, "", Config{Dir: t.TempDir(), Limits: limits})
	src := filepath.Join(t.TempDir(), "a.trace")
	info := &trace.RunInfo{ID: trace.NewRunID(), Program: "p.fa", Hosts: []string{"h"}}
	writeInfo(t, src, info)
	w, err := trace.Create(src, 0, trace.Options{Run: info.ID, BufferBytes: 1 << 10,
		FlushEvery: 5 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	for burst := range 3 {
		for i := range 1000 {
			w.Stream(0).Emit(int64(burst*1e6+i), trace.KindReadyQueue, uint64(i))
		}
		sender, stop := start(t, quick(s.addr, src))
		until(t, "it is there", func() bool { return sender.Stats().Sent.Events > 900 || burst > 0 })
		stop()
		until(t, "it rests", func() bool {
			r := s.in(s.only(t))
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.resting && len(r.senders)+len(r.files) == 0 && s.held() == 0
		})
		if x := s.Sources(s.only(t)); len(x) != 1 || x[0].Connected || s.Sending(s.only(t)) {
			t.Errorf("%+v", x)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	info.Ended = trace.EndedDone
	writeInfo(t, src, info)
	send(t, quick(s.addr, src))
	same(t, s.only(t), src)
	if got := readInfo(t, s.only(t)); got.Ended != trace.EndedDone || len(got.Hosts) != 1 {
		t.Errorf("%+v", got)
	}
}

// renumbered is a block with another number.
func renumbered(b []byte, number uint32) []byte {
	b = append([]byte(nil), b...)
	binary.LittleEndian.PutUint32(b[40:], number)
	head := tracefile.BlockHeaderSize - 4
	binary.LittleEndian.PutUint32(b[head:], crc32.Checksum(b[:head], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

// Somebody else who knows the run sends a block with the greatest number there is. It is refused, also if he
// claims that all before it are lost: the first sender's blocks still count.
func TestJumpAhead(t *testing.T) {
	src := filepath.Join(t.TempDir(), "a.trace")
	info := writeTrace(t, src, []int{0}, 3000)
	data := eventBlock(t, 3000)
	for _, name := range []string{"stranger", "first"} {
		s := serveAt(t, "", Config{Dir: t.TempDir()})
		conn, raw := dial(t, s.addr)
		b := append(hello(t, info.ID, "first"), stream.AppendNode(nil, stream.TypeOpen, 0)...)
		if _, err := conn.Write(b); err != nil {
			t.Fatal(err)
		}
		expect(t, conn, stream.TypeHave)
		b = append(hello(t, info.ID, name), stream.AppendNode(nil, stream.TypeOpen, 0)...)
		if name == "stranger" {
			b = stream.AppendLost(b, stream.Lost{Node: 0, Blocks: 1 << 40})
		}
		b = stream.AppendBlock(b, 0, renumbered(data, 1<<32-2))
		attacker, attack := dial(t, s.addr)
		if _, err := attacker.Write(stream.AppendNumber(b, stream.TypePing, 1)); err != nil {
			t.Fatal(err)
		}
		if r := refusal(t, attacker); !strings.Contains(r.Text, "block 4294967294 comes") || !r.Final {
			t.Errorf("%+v", r)
		}
		raw.Close()
		attack.Close()
		until(t, "both are gone", func() bool { return s.Runs()[0].Senders == 0 })
		cfg := quick(s.addr, src)
		cfg.Name = "first"
		send(t, cfg)
		same(t, s.only(t), src)
	}
}

// A block that is damaged at the source is missing at the collector, too, which says so: also where no later
// block shows the gap.
func TestDamagedSource(t *testing.T) {
	src := filepath.Join(t.TempDir(), "a.trace")
	writeTrace(t, src, []int{0}, 20_000)
	var events, definitions []int64 // where blocks are
	in := follow.New(src)
	if _, err := in.Poll(t.Context(), func(b *tracefile.RawBlock) error {
		if b.Defs {
			definitions = append(definitions, b.Offset)
		} else {
			events = append(events, b.Offset)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(src, tracefile.FileName(0))
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, at := range map[string]int64{
		"events":           events[len(events)/2] + tracefile.BlockHeaderSize,
		"last events":      events[len(events)-1] + tracefile.BlockHeaderSize,
		"definitions":      definitions[len(definitions)/2] + tracefile.BlockHeaderSize,
		"last definitions": definitions[len(definitions)-1] + tracefile.BlockHeaderSize,
	} {
		b := bytes.Clone(whole)
		b[at] ^= 1
		if err := os.WriteFile(file, b, 0o666); err != nil {
			t.Fatal(err)
		}
		s := serveAt(t, "", Config{Dir: t.TempDir()})
		if st := send(t, quick(s.addr, src)).Stats(); st.Dropped.Blocks != 1 {
			t.Errorf("%s: %+v", name, st)
		}
		if got := readInfo(t, s.only(t)); len(got.Nodes) != 1 || got.Nodes[0].Error == "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Closing waits for nobody: not for those who wait to read a long hello, nor for who looks through a long
// file.
func TestCloseCancels(t *testing.T) {
	s := serveAt(t, "", Config{Dir: t.TempDir()})
	for range cap(s.reading) {
		s.reading <- struct{}{}
	}
	conn, _ := dial(t, s.addr)
	if _, err := conn.Write(longHello(t, 20_000)); err != nil {
		t.Fatal(err)
	}
	until(t, "it is connected", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.conns) == 1
	})
	time.Sleep(20 * time.Millisecond)
	done := make(chan error, 1)
	go func() { done <- s.Collector.Close() }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
}

// What many senders of a run say is written in a small part of the time, and put together in a time that
// grows with it, not with its square.
func TestManySenders(t *testing.T) {
	s := serveAt(t, "", Config{Dir: t.TempDir()})
	r, err := s.run(trace.NewRunID(), "192.0.2.1", &trace.RunInfo{Program: "p.fa"})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.make(); err != nil {
		t.Fatal(err)
	}
	r.mu.Lock()
	r.cost = time.Hour
	r.savedAt = time.Now()
	first := r.saveSoon()
	for range 1000 {
		if r.saveSoon() != first {
			t.Fatal("each of those who ask is saved by itself")
		}
	}
	if p := r.pause(); p != 2*time.Second {
		t.Errorf("a save that takes an hour is followed by %v of peace", p)
	}
	r.saveNow()
	r.mu.Unlock()
	<-first.done
	s.drop(r)

	took := func(n int) time.Duration {
		info := &trace.RunInfo{Program: "p"}
		for i := range n {
			info.Hosts = append(info.Hosts, fmt.Sprint("h", i))
			info.Processes = append(info.Processes, trace.ProcessInfo{PID: i, Host: fmt.Sprint("h", i)})
			info.Nodes = append(info.Nodes, trace.NodeInfo{Node: i, Process: i})
		}
		senders := []*sender{{Name: "a", Info: info}, {Name: "b", Info: info}, {Name: "c", Info: info}}
		best := time.Hour
		for range 3 {
			start := cpuTime()
			if got := merge("x", senders, nil); len(got.Processes) != n {
				t.Fatalf("%d processes", len(got.Processes))
			}
			best = min(best, cpuTime()-start)
		}
		return best
	}
	few, many := took(2000), took(32_000)
	t.Log(few, many)
	// 16 times as many: a square would be 256 times as much.
	if many > 100*few && cpuTime() > 0 {
		t.Errorf("%v for 2000 hosts, %v for 32,000", few, many)
	}
}

// A collector that forgets what it acknowledged, over and over, is sent everything again, but not all the
// time.
func TestCollectorForgets(t *testing.T) {
	src := filepath.Join(t.TempDir(), "a.trace")
	writeTrace(t, src, []int{0}, 1000)
	var connected atomic.Int64
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		connected.Add(1)
		say := func(b []byte) { _, _ = c.Write(b) }
		say([]byte("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " + stream.Protocol +
			"\r\n\r\n"))
		say(frame(t, stream.TypeWelcome, stream.Welcome{Idle: time.Minute, MaxFrame: stream.DefaultMaxFrame}))
		for r, n := stream.NewFrameReader(c, stream.DefaultMaxFrame), uint64(0); ; {
			f, err := r.Next()
			if err != nil {
				return
			}
			switch f.Type {
			case stream.TypeOpen:
				say(stream.AppendHave(nil, 0, tracefile.Have{}))
			case stream.TypeBlock:
				n++
				say(stream.AppendHave(stream.AppendNumber(nil, stream.TypeAck, n), 0, tracefile.Have{}))
			case stream.TypeInfo:
				n++
			}
		}
	}))
	defer web.Close()
	cfg := quick(web.Listener.Addr().String(), src)
	cfg.Retry, cfg.Longest = 100*time.Millisecond, time.Minute
	_, stop := start(t, cfg)
	begin := time.Now()
	until(t, "it comes again", func() bool { return connected.Load() >= 3 })
	time.Sleep(500 * time.Millisecond)
	stop()
	// Each wait is twice as long as the one before.
	most := 2 + math.Log2(1+float64(time.Since(begin))/float64(cfg.Retry))
	if n := float64(connected.Load()); n > most {
		t.Errorf("%v connections, not more than %.1f", n, most)
	}
}
