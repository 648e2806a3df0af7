package counters_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whyslow/whyslow/internal/analysis/counters"
)

// sided is a run of three threads that put, get and change memory of each other, and their own.
const sided = `#run {"ended":"done","nodes":[{"node":0,"process":0,"workers":1},{"node":1,"process":0,"workers":1},{"node":2,"process":0,"workers":1}]}
#node 0
#code 1 put bulk
#site 1 code=1
0 n0 s0 GlobalEvents.onProgramStarted
10 n0 s0 RegionEvents.onEntered 1
11 n0 s0 MessageEvents.onPut 1 100
12 n0 s0 MessageEvents.onPut 0 7
30 n0 s0 RegionEvents.onExited 1
40 n0 s0 RegionEvents.onEntered 1
41 n0 s0 MessageEvents.onGet 2 1000
60 n0 s0 RegionEvents.onExited 1
100 n0 s0 GlobalEvents.onProgramFinished
#node 1
#code 1 add atomic
#site 1 code=1
0 n1 s0 GlobalEvents.onProgramStarted
50 n1 s0 RegionEvents.onEntered 1
51 n1 s0 MessageEvents.onRemoteAtomic 0 8
52 n1 s0 RegionEvents.onExited 1
100 n1 s0 GlobalEvents.onProgramFinished
#node 2
0 n2 s0 GlobalEvents.onProgramStarted
100 n2 s0 GlobalEvents.onProgramFinished
`

// TestTransfers: puts, gets and atomics are messages of links and nodes, from the thread that has the data to
// the one that gets it; and they are no DFs. Sums know them, too.
func TestTransfers(t *testing.T) {
	o := open(t, sided)
	defer o.close()
	s := o.set(t)
	type traffic struct{ messages, bytes int64 }
	links := func(at counters.At) map[[2]int]traffic {
		out := map[[2]int]traffic{}
		for _, l := range at.Links {
			if l.DataMessages != 0 || l.DataBytes != 0 || l.Objects != 0 {
				t.Errorf("a transfer is a DF or CF: %+v", l)
			}
			out[[2]int{l.From, l.To}] = traffic{l.Messages, l.MessageBytes}
		}
		return out
	}
	all := map[[2]int]traffic{{0, 1}: {1, 100}, {2, 0}: {1, 1000}, {1, 0}: {1, 8}}
	nodes := [][4]int64{{1, 100, 2, 1008}, {1, 8, 1, 100}, {1, 1000, 0, 0}} // sent, bytes, received, bytes
	check := func(who string, s counters.Set) {
		end := s.At(100)
		if d := cmp.Diff(all, links(end), cmp.AllowUnexported(traffic{})); d != "" {
			t.Errorf("%s (-want +got):\n%s", who, d)
		}
		for n, want := range nodes {
			v := end.Nodes[n]
			if got := [4]int64{v.Sent, v.SentBytes, v.Received, v.ReceivedBytes}; got != want {
				t.Errorf("%s: node %d has %v, want %v", who, n, got, want)
			}
			for i, name := range []string{"sent", "sent_bytes", "received", "received_bytes"} {
				a, err := s.Series(counters.SeriesQuery{Names: name, Nodes: string(rune('0' + n)), To: 100, Points: 1})
				if err != nil {
					t.Fatal(err)
				}
				if got := a.Series[0].Sum; len(got) != 1 || got[0] != float64(want[i]) {
					t.Errorf("%s: %s of node %d is %v, want %d", who, name, n, got, want[i])
				}
			}
		}
		m, err := s.Matrix("message_bytes", 0, 100)
		if err != nil || m.Total != 1108 || *m.Cells[2][0] != 1000 {
			t.Errorf("%s: matrix %+v, %v", who, m, err)
		}
		sum, err := s.Series(counters.SeriesQuery{Names: "received_bytes", To: 100, Points: 1})
		if err != nil || sum.Series[0].Sum[0] != 1108 {
			t.Errorf("%s: %+v, %v", who, sum, err)
		}
	}
	check("a model", s)
	if d := cmp.Diff(map[[2]int]traffic{{0, 1}: {1, 100}, {2, 0}: {1, 1000}}, links(s.At(45)),
		cmp.AllowUnexported(traffic{})); d != "" {
		t.Errorf("at 45 (-want +got):\n%s", d)
	}
	for _, l := range s.At(45).Links {
		if flies := l.From == 2; flies != (l.InFlight == 1) {
			t.Errorf("at 45: %+v", l)
		}
	}
	added(t, o, 1<<30).Ask(o.m, func(s counters.Set) { check("sums", s) })
	if list := s.Balance(); len(list) != 0 {
		t.Errorf("something is left: %v", list)
	}
	// The report has tables of its own for transfers: its links are those of DFs and CFs.
	r, err := counters.Compute(context.Background(), o.m, counters.Options{Windows: 3, Links: -1}, nil)
	if err != nil || len(r.Links) != 0 {
		t.Errorf("%+v, %v", r.Links, err)
	}
}
