package collect

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/record/stream"
	"github.com/whyslow/whyslow/internal/tracefile"
)

// eventBlock is a block of events of the trace that someBlocks makes.
func eventBlock(t testing.TB, events int) []byte {
	t.Helper()
	for _, b := range someBlocks(t, events) {
		if head, _, err := tracefile.ParseBlockHeader(b); err != nil {
			t.Fatal(err)
		} else if !head.Defs {
			return b
		}
	}
	t.Fatal("no events")
	return nil
}

// TestJumpAheadLater: somebody else opened the node last, and the collector was started again. Its first
// sender is still the only one that may leave out blocks.
func TestJumpAheadLater(t *testing.T) {
	src := filepath.Join(t.TempDir(), "a.trace")
	info := writeTrace(t, src, []int{0}, 3000)
	cfg := Config{Dir: t.TempDir()}
	s := serveAt(t, "", cfg)
	say := func(name string, until stream.Type, more ...byte) stream.Frame {
		t.Helper()
		conn, raw := dial(t, s.addr)
		defer raw.Close()
		b := append(hello(t, info.ID, name), stream.AppendNode(nil, stream.TypeOpen, 0)...)
		if _, err := conn.Write(append(b, more...)); err != nil {
			t.Fatal(err)
		}
		return expect(t, conn, until)
	}
	gone := func() {
		until(t, "it is gone", func() bool { return s.Runs()[0].Senders == 0 })
	}
	blocks := someBlocks(t, 3000)
	ping := stream.AppendNumber(nil, stream.TypePing, 1)
	say("first", stream.TypeAck, append(stream.AppendBlock(nil, 0, blocks[0]), ping...)...)
	gone()
	say("stranger", stream.TypeAck, append(stream.AppendBlock(nil, 0, blocks[1]), ping...)...)
	gone()
	s.stop()
	s = serveAt(t, s.addr, cfg)
	b := stream.AppendLost(nil, stream.Lost{Node: 0, Blocks: math.MaxUint64})
	b = stream.AppendBlock(b, 0, renumbered(eventBlock(t, 3000), math.MaxUint32-1))
	r, err := stream.ParseRefusal(say("stranger", stream.TypeRefuse, append(b, ping...)...).Body)
	if err != nil || !strings.Contains(r.Text, "block 4294967294 comes") {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestForeignHello: somebody who knows a run opens another node of it, sends nothing, and stays. The run
// still ends, and is what its own sender says.
func TestForeignHello(t *testing.T) {
	src := filepath.Join(t.TempDir(), "a.trace")
	writeTrace(t, src, []int{0}, 3000)
	s := serveAt(t, "", Config{Dir: t.TempDir()})
	conn, _ := dial(t, s.addr)
	b := append(hello(t, readInfo(t, src).ID, "foreign"), stream.AppendNode(nil, stream.TypeOpen, 77)...)
	if _, err := conn.Write(b); err != nil {
		t.Fatal(err)
	}
	expect(t, conn, stream.TypeHave)
	cfg := quick(s.addr, src)
	cfg.Name = "x"
	send(t, cfg)
	got, want := readInfo(t, s.only(t)), readInfo(t, src)
	if got.Ended != want.Ended || got.Program != want.Program {
		t.Errorf("%+v", got)
	}
}
