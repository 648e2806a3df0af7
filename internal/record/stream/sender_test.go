package stream

import (
	"bytes"
	"context"
	"net"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/trace"
)

// Whatever a collector says: the sender does not fall over, and what it counts stays true.
func FuzzCollectorSays(f *testing.F) {
	said := AppendHave(nil, 0, tracefile.Have{})
	said = AppendNumber(said, TypeAck, 2)
	f.Add(said)
	f.Add(append(AppendHave(nil, 0, tracefile.Have{Defs: 100, Streams: map[int]uint32{0: 5}}),
		mustJSON(f, TypeRefuse, Refusal{Code: "x", Text: "\x1b[2J", Final: true})...))
	f.Add(conversation(f))
	all := blocks(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		q := NewQueue(0, &trace.RunInfo{ID: someRun})
		s := NewSender(Config{Source: q})
		ctx := context.Background()
		for _, raw := range all[:20] {
			head, _, err := tracefile.ParseBlockHeader(raw)
			if err != nil {
				t.Fatal(err)
			}
			head.Node, head.Bytes = 0, raw
			if err := s.putBlock(ctx, &head); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.putClose(ctx, 0); err != nil {
			t.Fatal(err)
		}
		s.mark(time.Now())
		s.connected(&Welcome{Idle: time.Second, MaxFrame: DefaultMaxFrame})
		s.next(nil)
		// A part at a time, so that what it says meets every state of the sender.
		for len(b) > 0 {
			part := b
			if len(b) >= frameHeader {
				n := frameHeader + int(b[0]) + int(b[1])<<8
				part = b[:min(n, len(b))]
			}
			b = b[len(part):]
			here, there := net.Pipe()
			go func() {
				_, _ = there.Write(part)
				there.Close()
			}()
			conn := NewConn(here, here, time.Second, 1<<20)
			if s.listen(conn) == nil {
				t.Fatal("listening ended without an error")
			}
			here.Close()
			s.next(nil)
			st := s.Stats()
			if st.Sent.Blocks+st.Unsent.Blocks != 20 || st.Unsent.Bytes > 1<<20 || s.passed < 0 ||
				s.passed > len(s.items) || s.size < 0 {
				t.Fatalf("%+v, %d of %d passed, %d bytes", st, s.passed, len(s.items), s.size)
			}
			if bytes.ContainsAny([]byte(s.folder), "\x1b\n") {
				t.Fatal("what it says would end up on a terminal")
			}
		}
	})
}

// A block longer than the collector takes is dropped and counted once, over connections;
// what counts as events are those of data, not definitions.
func TestBlockTooLongForTheCollector(t *testing.T) {
	all := blocks(t)
	for _, defs := range []bool{false, true} {
		s := NewSender(Config{Source: NewQueue(0, &trace.RunInfo{ID: someRun})})
		events, found := uint64(0), false
		for _, raw := range all {
			head, _, err := tracefile.ParseBlockHeader(raw)
			if err != nil {
				t.Fatal(err)
			}
			if found || head.Defs != defs {
				continue
			}
			found = true
			if !defs {
				events = uint64(head.Count)
			}
			head.Node, head.Bytes = 4, raw
			if err := s.putBlock(t.Context(), &head); err != nil {
				t.Fatal(err)
			}
		}
		if !found {
			t.Fatalf("no block with Defs %v", defs)
		}
		for range 3 {
			s.connected(&Welcome{Idle: time.Second, MaxFrame: 10})
			b := s.next(nil)
			if err := s.setHave(4, tracefile.Have{}); err != nil {
				t.Fatal(err)
			}
			b = s.next(b)
			if want := AppendLost(AppendNode(nil, TypeOpen, 4), Lost{4, 1, events}); !bytes.Equal(b, want) {
				t.Errorf("defs %v: sends %q, want %q", defs, b, want)
			}
		}
		if st := s.Stats(); st.Dropped.Blocks != 1 || st.Unsent != (Amount{}) || st.Sent != (Amount{}) {
			t.Errorf("defs %v: %+v", defs, st)
		}
	}
}
