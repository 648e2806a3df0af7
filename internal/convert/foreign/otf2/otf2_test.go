package otf2_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whyslow/whyslow/internal/convert/foreign"
	"github.com/whyslow/whyslow/internal/convert/foreign/otf2"
	records "github.com/whyslow/whyslow/internal/convert/otf2"
	"github.com/whyslow/whyslow/internal/testkit/foreigntest"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
	"github.com/whyslow/whyslow/trace"
)

// stream is records as the process that reads an archive writes them.
type stream struct{ bytes.Buffer }

func (s *stream) put(kind records.Kind, words ...uint64) {
	b := binary.LittleEndian.AppendUint64(nil, uint64(kind)|uint64(len(words))<<8)
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	s.Write(b)
}

func (s *stream) text(kind records.Kind, number uint64, text string) {
	padded := append([]byte(text), make([]byte, (8-len(text)%8)%8)...)
	words := []uint64{number, uint64(len(text))}
	for i := 0; i < len(padded); i += 8 {
		words = append(words, binary.LittleEndian.Uint64(padded[i:]))
	}
	s.put(kind, words...)
}

// region names, with their roles and paradigms.
var regions = []struct {
	name           string
	role, paradigm uint64
}{0: {"main", 1, 2}, 1: {"MPI_Recv", 28, 4}, 2: {"MPI_Send", 28, 4}, 3: {"MPI_Bcast", 23, 4}, 4: {"MPI_Isend",
	28, 4},
	5: {"MPI_Wait", 28, 4}, 6: {"MPI_Irecv", 28, 4}, 7: {"MPI_Put", 29, 4}, 8: {"MPI_Win_fence", 15, 4},
	9: {"!$omp parallel @p.c:9", 5, 3}, 10: {"!$omp implicit barrier @p.c:9", 16, 3}, 11: {"!$omp task @p.c:12",
		20, 3},
	12: {"work", 1, 2}}

// begin writes definitions: two hosts with a process each, of two threads; ranks are in the order 1, 0 of the
// processes. Communicator 0 is both, 1 is a process alone, 2 the same two in the other order; window 0 is of
// 0.
func begin() *stream {
	s := &stream{}
	s.put(records.Clock, 1e6, 1000, 1000, 0)
	for i, name := range []string{"machine", "node", "a", "b", "p.c"} {
		s.text(records.String, uint64(i), name)
	}
	s.put(records.Host, 0, 0, records.Undefined, records.Undefined)
	for i := range uint64(2) {
		s.put(records.Host, 1+i, 2+i, 1, 0)
		s.put(records.Process, i, 0, 1, 1+i)
		for k := range uint64(2) {
			s.put(records.Location, 10*i+k, 0, 1, 0, i)
		}
	}
	for i, r := range regions {
		s.text(records.String, 100+uint64(i), r.name)
		s.put(records.Region, uint64(i), 100+uint64(i), r.role, r.paradigm, 4, 3)
	}
	s.put(records.Group, 0, 4, 4, 10, 0)
	s.put(records.Group, 1, 5, 4, 0, 1)
	s.put(records.Group, 2, 6, 4)
	s.put(records.Group, 3, 5, 4, 1, 0)
	s.put(records.Comm, 0, 1)
	s.put(records.Comm, 1, 2)
	s.put(records.Comm, 2, 3)
	s.put(records.Window, 0, 0)
	return s
}

func load(data []byte, dir string) (bool, error) {
	return foreign.Import(context.Background(), otf2.Format, bytes.NewReader(data), nil, dir, trace.RunInfo{})
}

// dump gives the events of a trace, one a line, with the names of regions.
func dump(t sloutest.TB, dir string) string {
	t.Helper()
	m := sloutest.Load(t, dir)
	var b strings.Builder
	for i := range m.Regions.Threads {
		th := &m.Regions.Threads[i]
		for v := range th.Enter {
			depth := 0
			for p := th.Parent[v]; p >= 0; p = th.Parent[p] {
				depth++
			}
			c := m.Codes[m.Sites[th.Site[v]].Code]
			fmt.Fprintf(&b, "%d.%d %s%s %d-%d %v\n", th.Node, th.Stream, strings.Repeat(" ", depth), c.Name,
				(th.Enter[v]-m.Start)/1000, (th.Exit[v]-m.Start)/1000, c.Kind)
		}
		for _, x := range th.Sends {
			fmt.Fprintf(&b, "  sent to %d, tag %d, %d bytes, in visit %d, done in %d\n", x.Peer, x.Tag, x.Bytes,
				x.Visit,
				x.Done)
		}
		for _, x := range th.Receives {
			fmt.Fprintf(&b, "  received from %d, tag %d, %d bytes, in visit %d, posted %d\n", x.Peer, x.Tag, x.Bytes,
				x.Visit, (x.Posted-m.Start)/1000)
		}
		for _, x := range th.Collectives {
			var group []int32
			if x.Nodes != nil {
				group = *x.Nodes
			}
			fmt.Fprintf(&b, "  %v of %d+%d*%d %v, root %d, %d %d bytes, instance %d\n", x.Kind, x.Start, x.Stride,
				x.Size, group, x.Root, x.Sent, x.Received, x.Instance)
		}
		for _, x := range th.Transfers {
			fmt.Fprintf(&b, "  %v %d bytes of %d\n", x.Kind, x.Bytes, x.Peer)
		}
		for _, x := range th.Locks {
			fmt.Fprintf(&b, "  lock %x, acquired %v, at %d\n", x.Lock, x.Acquire, (x.Time-m.Start)/1000)
		}
	}
	fmt.Fprintf(&b, "%d messages, MPI %v", len(m.Regions.Letters), m.MPI())
	for _, n := range m.Nodes {
		fmt.Fprintf(&b, ", %s", n.Host)
	}
	return b.String()
}

// small is a run with everything that is read.
func small() []byte {
	s := begin()
	at := func(kind records.Kind, time uint64, words ...uint64) {
		s.put(kind, append([]uint64{time}, words...)...)
	}
	s.put(records.Events, 0) // a thread of the process that is rank 1
	at(records.Enter, 1000, 0)
	at(records.Enter, 1010, 6)
	at(records.Posted, 1010, 7)
	at(records.Leave, 1012, 6)
	at(records.Enter, 1020, 5)
	at(records.Ireceive, 1060, 0, 0, 3, 64, 7)
	at(records.Leave, 1060, 5)
	at(records.Enter, 1100, 3)
	at(records.Collective, 1150, 1, 2, 1, 0, 8)
	at(records.Leave, 1150, 3)
	at(records.Leave, 1200, 0)
	s.put(records.Events, 10) // rank 0
	at(records.Enter, 1000, 0)
	at(records.Enter, 1050, 4)
	at(records.Isend, 1050, 1, 0, 3, 64, 9)
	at(records.Leave, 1051, 4)
	at(records.Enter, 1070, 5)
	at(records.IsendDone, 1072, 9)
	at(records.Leave, 1072, 5)
	at(records.Enter, 1140, 3)
	at(records.Collective, 1150, 1, 2, 1, 8, 0)
	at(records.Leave, 1150, 3)
	at(records.Enter, 1160, 7)
	at(records.Put, 1160, 0, 1, 16, 1)
	at(records.Leave, 1161, 7)
	at(records.Enter, 1170, 8)
	at(records.TransferDone, 1171, 0, 1)
	at(records.Leave, 1172, 8)
	at(records.Leave, 1200, 0)
	s.put(records.Events, 11) // a further thread of rank 0, with a pause, in an archive without teams
	at(records.TeamBegin, 1080, 0)
	at(records.Enter, 1080, 9)
	at(records.Enter, 1085, 10)
	at(records.Leave, 1120, 10)
	at(records.Leave, 1120, 9)
	at(records.Enter, 1150, 9)
	at(records.Leave, 1160, 9)
	s.put(records.End)
	return s.Bytes()
}

// TestInterCommunicator: a message of a communicator of two groups goes to a rank of the other one.
func TestInterCommunicator(t *testing.T) {
	s := begin()
	s.put(records.Group, 4, 5, 4, 0)
	s.put(records.Group, 5, 5, 4, 1)
	s.put(records.Inter, 3, 4, 5)
	one := func(location uint64, events func(at func(records.Kind, uint64, ...uint64))) {
		s.put(records.Events, location)
		events(func(kind records.Kind, time uint64, words ...uint64) {
			s.put(kind, append([]uint64{time}, words...)...)
		})
	}
	one(0, func(at func(records.Kind, uint64, ...uint64)) { // rank 1
		at(records.Enter, 1000, 1)
		at(records.Receive, 1030, 0, 3, 7, 8)
		at(records.Leave, 1030, 1)
		at(records.Enter, 1030, 3)
		at(records.Collective, 1050, 1, 3, 0, 0, 8)
		at(records.Leave, 1050, 3)
	})
	one(10, func(at func(records.Kind, uint64, ...uint64)) { // rank 0
		at(records.Enter, 1010, 2)
		at(records.Send, 1010, 0, 3, 7, 8)
		at(records.Leave, 1020, 2)
	})
	s.put(records.End)
	dir := filepath.Join(t.TempDir(), "x.trace")
	if made, err := load(s.Bytes(), dir); !made || err != nil {
		t.Fatal(made, err)
	}
	const want = `0.0 MPI_Send 10-20 message
  sent to 1, tag 7, 8 bytes, in visit 0, done in -1
1.0 MPI_Recv 0-30 message
1.0 MPI_Bcast 30-50 collective
  received from 0, tag 7, 8 bytes, in visit 0, posted 0
1 messages, MPI true, b, a`
	if diff := cmp.Diff(want, dump(t, dir)); diff != "" {
		t.Error(diff)
	}
}

// TestRead: what MPI and OpenMP regions, messages, collectives and transfers become.
func TestRead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "x.trace")
	if made, err := load(small(), dir); !made || err != nil {
		t.Fatal(made, err)
	}
	const want = `0.0 main 0-200 function
0.0  MPI_Isend 50-51 message
0.0  MPI_Wait 70-72 message
0.0  MPI_Bcast 140-150 collective
0.0  MPI_Put 160-161 bulk
0.0  MPI_Win_fence 170-172 barrier
  sent to 1, tag 3, 64 bytes, in visit 1, done in 2
  broadcast of 1+0*2 [1 0], root 0, 8 0 bytes, instance 0
  0 16 bytes of 1
0.1 !$omp parallel @p.c:9 80-120 function
0.1  !$omp implicit barrier @p.c:9 85-120 await
0.1 idle 120-150 await
0.1 !$omp parallel @p.c:9 150-160 function
1.0 main 0-200 function
1.0  MPI_Irecv 10-12 message
1.0  MPI_Wait 20-60 message
1.0  MPI_Bcast 100-150 collective
  received from 0, tag 3, 64 bytes, in visit 2, posted 10
  broadcast of 1+0*2 [1 0], root 0, 0 8 bytes, instance 0
1 messages, MPI true, b, a`
	if diff := cmp.Diff(want, dump(t, dir)); diff != "" {
		t.Error(diff)
	}
	foreigntest.Consistent(t, dir)
}

// TestDamaged: what is wrong is said, and what was read before is kept.
func TestDamaged(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(s *stream)
		want string
		made bool
	}{
		"early": {func(*stream) {}, "the archive ends early", true},
		"cut": {func(s *stream) { s.put(records.Enter, 1100, 0); s.Truncate(s.Len() - 3) },
			"the archive ends early", true},
		"error":  {func(s *stream) { s.text(records.Error, 0, "Invalid data") }, "libotf2: Invalid data", true},
		"kind":   {func(s *stream) { s.put(200, 1) }, "damaged: a record 200 of 1 words", true},
		"short":  {func(s *stream) { s.put(records.Send, 1) }, "damaged: a record", true},
		"far":    {func(s *stream) { s.put(records.Enter, 1<<63, 0) }, "is far from that of the first event", true},
		"events": {func(s *stream) { s.Reset(); s.put(records.End) }, "there are no events in it", false},
	} {
		s := begin()
		s.put(records.Events, 0)
		s.put(records.Enter, 1000, 0)
		s.put(records.Leave, 1050, 0)
		c.end(s)
		dir := filepath.Join(t.TempDir(), "x.trace")
		made, err := load(s.Bytes(), dir)
		var damaged *foreign.Error
		if !errors.As(err, &damaged) || !strings.Contains(err.Error(), c.want) || made != c.made {
			t.Errorf("%s: made %v, %v; not %s", name, made, err, c.want)
		}
		if made {
			if got := dump(t, dir); !strings.HasPrefix(got, "1.0 main 0-50 function\n") {
				t.Errorf("%s: %s", name, got)
			}
		}
	}
}

// FuzzRead: whatever the records are, there is an error that says what is wrong, or a trace that can be read.
func FuzzRead(f *testing.F) {
	s := begin()
	n := s.Len()
	s.put(records.Events, 0)
	s.put(records.Enter, 1000, 3)
	s.put(records.Isend, 1001, 1, 0, 3, 64, 9)
	s.put(records.Collective, 1002, 1, 2, 1, 8, 0)
	s.put(records.Leave, 1004, 3)
	s.put(records.End)
	f.Add(s.Bytes())
	f.Add(s.Bytes()[n:])
	s = teams()
	s.put(records.Events, 10)
	for i, e := range [][]uint64{{uint64(records.Enter), 9}, {uint64(records.Fork), 3},
		{uint64(records.TeamBegin), 4}, {uint64(records.TaskCreate), 4, 0, 1}, {uint64(records.Enter), 10},
		{uint64(records.TaskSwitch), 4, 0, 1}, {uint64(records.TaskEnd), 4, 0, 1}, {uint64(records.Locked), 3, 5},
		{uint64(records.TaskSwitch), 4, 0, 0}, {uint64(records.Leave), 10}, {uint64(records.TeamEnd), 4},
		{uint64(records.Join), 3}} {
		s.put(records.Kind(e[0]), append([]uint64{1000 + uint64(i)}, e[1:]...)...)
	}
	s.put(records.End)
	f.Add(s.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := filepath.Join(t.TempDir(), "x.trace")
		made, err := load(data, dir)
		var damaged *foreign.Error
		if err != nil && !errors.As(err, &damaged) {
			t.Fatal(err)
		}
		if made {
			sloutest.Load(t, dir)
		}
	})
}
