package collect

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/record/stream"
	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/trace"
)

// TestFolderTakenAway: the folder of a run is removed while its blocks come. The next one fails, and then
// there is said to be nothing, so that the sender sends all again.
func TestFolderTakenAway(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "t")
	blocks := someBlocks(t, 20_000)
	k := &conn{c: &Collector{ctx: t.Context()},
		run: &run{id: trace.NewRunID(), dir: dir}, sender: &sender{Name: "s"}}
	f := &file{first: "s"}
	if _, err := f.open(k, 0); err != nil {
		t.Fatal(err)
	}
	put := func(block []byte) error {
		head, _, err := tracefile.ParseBlockHeader(block)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.append(k, 0, 0, &head, block)
		return err
	}
	if err := errors.Join(put(blocks[0]), os.RemoveAll(dir)); err != nil {
		t.Fatal(err)
	}
	if err := put(blocks[1]); !errors.Is(err, tracefile.ErrReplaced) {
		t.Error(err)
	}
	if have, err := f.open(k, 0); err != nil || have.Defs != 0 || len(have.Streams) != 0 {
		t.Error(have, err)
	}
}

// TestFolderReplaced: another folder takes the place of a run's while two senders send it. Nothing is written
// to that one, the user is told once, and all of the run is kept anew.
func TestFolderReplaced(t *testing.T) {
	tmp := t.TempDir()
	info := &trace.RunInfo{ID: trace.NewRunID(), Program: "p.fa"}
	var told lines
	s := serveAt(t, "", Config{Dir: filepath.Join(tmp, "kept"), Notify: told.add})
	var writers []*trace.Writer
	var senders []*stream.Sender
	part := func(n int) string { return filepath.Join(tmp, tracefile.FileName(n)) }
	for n := range 2 {
		writeInfo(t, part(n), info)
		w, err := trace.Create(part(n), n, trace.Options{Run: info.ID, FlushEvery: 5 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		writers = append(writers, w)
		w.Stream(0).Emit(1, trace.KindReadyQueue, 1)
		sender, _ := start(t, quick(s.addr, part(n)))
		senders = append(senders, sender)
		until(t, "it sends", func() bool { return sender.Stats().Sent.Events > 0 })
	}
	old := s.only(t)
	if err := errors.Join(os.Rename(old, old+".old"), os.Mkdir(old, 0o777)); err != nil {
		t.Fatal(err)
	}
	info.Ended = trace.EndedDone
	for n, w := range writers {
		w.Stream(0).Emit(2, trace.KindReadyQueue, 2)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		writeInfo(t, part(n), info)
		drain(t, senders[n])
	}
	if list, err := os.ReadDir(old); err != nil || len(list) > 0 {
		t.Errorf("%v was written to, %v", list, err)
	}
	until(t, "the user is told", func() bool { return told.text() != "" })
	if text := told.text(); strings.Count(text, "was removed or replaced") != 1 || strings.Contains(text, "\n") {
		t.Error(text)
	}
	dir := s.only(t)
	for n := range 2 {
		name := tracefile.FileName(n)
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if r, err := trace.Open(filepath.Join(dir, name)); err != nil || r.Events() != 2 || len(r.Problems()) > 0 {
			t.Errorf("node %d: %d bytes, %v", n, len(got), err)
		}
	}
	if got := readInfo(t, dir); got.Ended != trace.EndedDone {
		t.Errorf("%+v", got)
	}
}

// TestFileCutWhileClosed: a file is cut while nobody sends its node. Its sender, which is told of all of it
// when it comes again, sends what is missing.
func TestFileCutWhileClosed(t *testing.T) {
	src := filepath.Join(t.TempDir(), "a.trace")
	info := writeTrace(t, src, []int{0}, 20_000)
	s := serveAt(t, "", Config{Dir: t.TempDir()})
	info.Ended = ""
	writeInfo(t, src, info)
	sender, stop := start(t, quick(s.addr, src))
	until(t, "most of it is there", func() bool { return sender.Stats().Sent.Events > 15_000 })
	stop()
	until(t, "it is gone", func() bool { return s.Runs()[0].Senders == 0 })
	f := s.in(s.only(t)).files[0]
	f.mu.Lock()
	known := f.have != nil
	f.mu.Unlock()
	if err := os.Truncate(filepath.Join(s.only(t), tracefile.FileName(0)), 5_000); err != nil || !known {
		t.Fatal(known, err)
	}
	// A block that follows what the collector believes to have.
	conn, _ := dial(t, s.addr)
	b := append(hello(t, info.ID, "s"), stream.AppendNode(nil, stream.TypeOpen, 0)...)
	if _, err := conn.Write(b); err != nil {
		t.Fatal(err)
	}
	_, have, err := stream.ParseHave(expect(t, conn, stream.TypeHave).Body)
	if err != nil {
		t.Fatal(err)
	}
	b = stream.AppendBlock(nil, 0, renumbered(eventBlock(t, 3000), have.Streams[0]))
	if _, err := conn.Write(b); err != nil {
		t.Fatal(err)
	}
	if r := refusal(t, conn); r.Final || r.Code != stream.RefusedDisk {
		t.Errorf("%+v", r)
	}
	info.Ended = trace.EndedDone
	writeInfo(t, src, info)
	send(t, quick(s.addr, src))
	same(t, s.only(t), src)
}

// TestOlderConnection: a sender has given a connection up and comes again. What it said in the old one is
// read late: the new one goes on.
func TestOlderConnection(t *testing.T) {
	s := serveAt(t, "", Config{Dir: t.TempDir()})
	id := trace.NewRunID()
	say := func(c *stream.Conn, b []byte, answer stream.Type) {
		t.Helper()
		if _, err := c.Write(b); err != nil {
			t.Fatal(err)
		}
		expect(t, c, answer)
	}
	older, _ := dial(t, s.addr)
	say(older, hello(t, id, "s"), stream.TypeWelcome)
	newer, _ := dial(t, s.addr)
	say(newer, hello(t, id, "s"), stream.TypeWelcome)
	opens := stream.AppendNode(nil, stream.TypeOpen, 0)
	say(newer, opens, stream.TypeHave)
	if _, err := older.Write(opens); err != nil {
		t.Fatal(err)
	}
	if r := refusal(t, older); r.Code != stream.RefusedTaken {
		t.Errorf("%+v", r)
	}
	b := stream.AppendBlock(nil, 0, someBlocks(t, 100)[0])
	say(newer, stream.AppendNumber(b, stream.TypePing, 1), stream.TypeAck)
	if n := s.Runs()[0].Bytes; n == 0 {
		t.Error("nothing is kept")
	}
}

// TestLateHello: a sender gives a connection up before the welcome, comes back and sends everything. Only
// then its first hello is read, which changes nothing.
func TestLateHello(t *testing.T) {
	src := filepath.Join(t.TempDir(), "a.trace")
	info := writeTrace(t, src, []int{0}, 100)
	s := serveAt(t, "", Config{Dir: t.TempDir()})
	early, _ := dial(t, s.addr)
	cfg := quick(s.addr, src)
	cfg.Name = "s"
	send(t, cfg)
	if _, err := early.Write(hello(t, info.ID, "s")); err != nil {
		t.Fatal(err)
	}
	if r := refusal(t, early); r.Code != stream.RefusedTaken || r.Final {
		t.Errorf("%+v", r)
	}
	same(t, s.only(t), src)
	// One that comes afterwards is welcome.
	late, _ := dial(t, s.addr)
	if _, err := late.Write(hello(t, info.ID, "s")); err != nil {
		t.Fatal(err)
	}
	expect(t, late, stream.TypeWelcome)
}

// TestTakenWhileWriting: a sender's connection breaks, and the sender comes back and ends, while what it sent
// before is still being dealt with: a block is written, but not yet noted, and another could not be. The end
// remains.
func TestTakenWhileWriting(t *testing.T) {
	blocks := someBlocks(t, 1000)
	id, info := trace.NewRunID(), &trace.RunInfo{Program: "p.fa", Ended: trace.EndedDone}
	s := serveAt(t, "", Config{Dir: t.TempDir()})
	connect := func() *conn {
		_, there := net.Pipe()
		k := &conn{Conn: stream.NewConn(there, there, time.Minute, 1<<20), c: s.Collector,
			number: s.numbers.Add(1), addr: "192.0.2.1:1", files: map[int]*file{}}
		r, err := s.run(id, k.host(), info)
		if err == nil {
			k.run = r
			err = r.join(k, &stream.Hello{Run: id, Sender: "s", Info: info}, func() {})
		}
		if err == nil {
			_, err = r.open(k, 0)
		}
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	block := func(k *conn, b []byte) {
		head, _, err := tracefile.ParseBlockHeader(b)
		if err == nil {
			err = k.run.make()
		}
		if err == nil {
			_, err = k.files[0].append(k, 0, 0, &head, b)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	first := connect()
	block(first, blocks[0])
	first.run.written(first, 0)
	block(first, blocks[1])
	second := connect()
	if err := second.run.tell(second, func(*sender) { second.run.end(second) }); err != nil {
		t.Fatal(err)
	}
	first.run.written(first, 0)
	first.run.fail(first, 0, syscall.ENOSPC)
	first.leave()
	second.leave()
	got := readInfo(t, s.only(t))
	broken := slices.ContainsFunc(got.Nodes, func(n trace.NodeInfo) bool { return n.Error != "" })
	if got.Ended != trace.EndedDone || broken {
		t.Errorf("%+v", got)
	}
}
