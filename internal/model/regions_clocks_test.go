package model

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/testkit/grouptest"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/trace"
)

// clockedRun is made-up barriers, broadcasts, messages and sections with a lock, of nodes on hosts whose clocks
// are wrong.
func clockedRun(t *rapid.T, nodes int, hosts bool) string {
	type node struct {
		text        strings.Builder
		now, offset int64
		drift       int64 // parts per million
	}
	list := make([]node, nodes)
	run := ""
	for i := range list {
		host := "a"
		if hosts {
			host = fmt.Sprint("h", i)
			if i > 0 {
				list[i].offset, list[i].drift = rapid.Int64Range(-50000, 50000).Draw(t, "offset"),
					rapid.Int64Range(-40, 40).Draw(t, "drift")
			}
		}
		run += fmt.Sprintf(`,{"node":%d,"process":%d,"workers":1,"host":%q}`, i, i, host)
	}
	at := func(n *node, t int64) int64 { return t + n.offset + t*n.drift/1000000 }
	emit := func(n *node, format string, args ...any) {
		fmt.Fprintf(&n.text, "%d %s\n", at(n, n.now), fmt.Sprintf(format, args...))
	}
	sync := func(i int, n *node) {
		if hosts && i > 0 {
			off := rapid.Int64Range(-2000, 2000).Draw(t, "error")
			emit(n, "Global.onClockSync offset=%d error=2000", n.now-at(n, n.now)+off)
		}
	}
	for i := range list {
		n := &list[i]
		fmt.Fprintf(&n.text, "#node %d\n#code 1 op barrier\n#code 2 lock lock\n"+
			"#code 3 send message\n#site 1 code=1\n#site 2 code=2\n#site 3 code=3\n", i)
		n.now = 1000
		emit(n, "Global.onProgramStarted process=%d", i)
		sync(i, n)
	}
	free, received := int64(0), 0
	for range rapid.IntRange(1, 12).Draw(t, "phases") {
		for i := range list {
			list[i].now += rapid.Int64Range(1, 100000).Draw(t, "work")
		}
		if rapid.Bool().Draw(t, "messages") { // round a ring, some of them sent long before they are received
			sent := make([]int64, nodes)
			for i := range list {
				n := &list[i]
				sent[i] = n.now
				emit(n, "Region.onEntered 3")
				emit(n, "Message.onSent to=%d bytes=8 tag=%d comm=0 transfer=0", (i+1)%nodes, i%2)
				n.now += rapid.Int64Range(1, 50).Draw(t, "send")
				emit(n, "Region.onExited 3")
				n.now += rapid.SampledFrom([]int64{1, 20000}).Draw(t, "between")
			}
			for i := range list {
				n, from := &list[i], (i+nodes-1)%nodes
				emit(n, "Region.onEntered 3")
				n.now = max(n.now, sent[from]) + rapid.Int64Range(1, 50).Draw(t, "receive")
				received++
				emit(n, "Message.onReceived from=%d bytes=8 tag=%d comm=0 receive=%d posted=0", from, from%2, received)
				emit(n, "Region.onExited 3")
			}
			continue
		}
		if rapid.Bool().Draw(t, "lock") {
			for i := range list {
				n := &list[i]
				emit(n, "Region.onEntered 2")
				n.now = max(n.now, free) + 1
				emit(n, "Sync.onAcquired 4")
				emit(n, "Region.onExited 2")
				n.now += 9000 // longer than clocks are off once they are corrected
				emit(n, "Region.onEntered 2")
				emit(n, "Sync.onReleased 4")
				free = n.now
				emit(n, "Region.onExited 2")
			}
			continue
		}
		kind := rapid.SampledFrom([]string{"barrier", "broadcast", "all-reduce", "reduce", "prefix-reduce"}).Draw(t,
			"kind")
		last := int64(0)
		for i := range list {
			emit(&list[i], "Region.onEntered 1")
			emit(&list[i], "Sync.onCollective %s size=%d root=0", kind, nodes)
			last = max(last, list[i].now)
		}
		for i := range list {
			list[i].now = last + rapid.Int64Range(1, 50).Draw(t, "exit")
			emit(&list[i], "Region.onExited 1")
		}
	}
	out := ""
	for i := range list {
		n := &list[i]
		n.now += 10
		sync(i, n)
		emit(n, "Global.onProgramFinished")
		out += n.text.String()
	}
	return fmt.Sprintf("#run {\"nodes\":[%s]}\n", run[1:]) + out
}

// TestRegionClocks corrects clocks of hosts: no message is received before it was sent, nobody leaves a barrier
// before all have entered, or has a lock before it was released. What a thread did stays in order.
func TestRegionClocks(t *testing.T) {
	repaired, messages := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		nodes := rapid.IntRange(2, 6).Draw(rt, "nodes")
		text := clockedRun(rt, nodes, true)
		m := build(t, text)
		r := m.Regions
		if m.Clocks.Repairs().Count > 0 {
			repaired++
		}
		for i := range r.Instances {
			in := &r.Instances[i]
			for k, x := range r.MembersOf(i) {
				for j, y := range r.MembersOf(i) {
					if !in.needs(k, j) {
						continue
					}
					if late := r.Arrived(y) - r.Left(x); late > 2 {
						rt.Fatalf("member %d left %s %d before %d entered it\n%s", k, in.Kind, late, j, text)
					}
				}
			}
		}
		if r.Overlapping > 0 {
			rt.Fatalf("two had a lock\n%s", text)
		}
		if n := strings.Count(text, "onSent"); len(r.Letters) != n || r.Strays > 0 {
			rt.Fatalf("%d messages of %d, %d ends without another\n%s", len(r.Letters), n, r.Strays, text)
		}
		for _, l := range r.Letters {
			from, to := &r.Threads[l.From], &r.Threads[l.To]
			sent, came := from.Enter[from.Sends[l.Send].Visit], to.Exit[to.Receives[l.Receive].Visit]
			if messages++; came < sent-2 {
				rt.Fatalf("a message from %d to %d was received %d before it was sent\n%s", l.From, l.To, sent-came, text)
			}
		}
		for i := range r.Threads {
			th, last := &r.Threads[i], None
			for v := range th.Enter {
				if th.Enter[v] < last || th.Exit[v] < th.Enter[v] {
					rt.Fatalf("thread %d, visit %d goes back\n%s", i, v, text)
				}
				last = th.Exit[v]
			}
		}
	})
	if repaired == 0 || messages == 0 {
		t.Errorf("%d clocks were repaired, %d messages seen", repaired, messages)
	}
}

// TestRegionClocksOfOneHost leaves the times of one host as they are: where nodes say that they read one
// clock, whatever the host is called, or else where its name is the same.
func TestRegionClocksOfOneHost(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := clockedRun(rt, 3, false)
		for n := range 3 * rapid.IntRange(0, 1).Draw(rt, "names") {
			text = strings.Replace(text, `"host":"a"`, fmt.Sprintf(`"host":"container%d"`, n), 1)
			if started := fmt.Sprintf("1000 Global.onProgramStarted process=%d\n", n); n > 0 {
				text = strings.Replace(text, started, started+"1000 Global.onClockSync offset=0 error=0\n", 1)
			}
		}
		m := build(t, text)
		if m.Clocks.Messages != 0 || m.Clock(1) != nil {
			rt.Fatalf("%v\n%s", m.Clocks, text)
		}
	})
	text := `#run {"nodes":[{"node":0,"process":0,"host":"a"},{"node":1,"process":1,"host":"b"}]}` + "\n"
	for n := range 2 {
		text += fmt.Sprintf("#node %d\n#code 1 op barrier\n#site 1 code=1\n0 Global.onProgramStarted process=%[1]d\n"+
			"1%[1]d Region.onEntered 1\n1%[1]d Sync.onCollective barrier size=2 root=0\n20 Region.onExited 1\n"+
			"30 Global.onProgramFinished\n", n)
	}
	if m := build(t, text); m.Clocks.Messages == 0 {
		t.Errorf("hosts of two names that told nothing of their clocks have one: %+v", m.Clocks)
	}
}

// TestClockOfProcess: nodes of one process are put forward together, and corrected by one list of
// comparisons.
func TestClockOfProcess(t *testing.T) {
	m := build(t, `#run {"nodes":[{"node":0,"process":0},{"node":1,"process":1},{"node":2,"process":1}]}
#node 0
#df 1 x [0 1]
0 Global.onProgramStarted process=0
10000 DF.onSent 1 1 8 0.1
20000 Global.onProgramFinished
#node 1
#df 1 x [0 1]
100 Global.onProgramStarted process=1
100 Global.onClockSync offset=-100 error=5
8000 DF.onReceived 1 0 8 0.1
20000 Global.onClockSync offset=-100 error=5
20100 Global.onProgramFinished
#node 2
100 Global.onProgramStarted process=1
103 Global.onClockSync offset=-97 error=5
20100 Global.onProgramFinished
`)
	c := m.Clocks
	if c.Interpolated.Count != 1 || c.Left.Count != 0 || c.Nodes[1].MovedNS < 2000 ||
		c.Nodes[2].MovedNS != c.Nodes[1].MovedNS || c.Nodes[2].Count != 0 || len(m.Clock(1)) == 0 ||
		!slices.Equal(m.Clock(1), m.Clock(2)) || m.Clock(0) != nil {
		t.Errorf("%+v: %v, %v", c, m.Clock(1), m.Clock(2))
	}
}

// TestShareRegionClocks corrects clocks alike where several processes read the trace.
func TestShareRegionClocks(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := clockedRun(rt, rapid.IntRange(2, 5).Draw(rt, "nodes"), true)
		dir, err := os.MkdirTemp("", "share")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(dir)
		if err := twin.Parse(strings.NewReader(text), dir); err != nil {
			rt.Fatal(err)
		}
		one := build(t, text)
		var wg sync.WaitGroup
		errs := make([]error, 3)
		for rank, g := range grouptest.Local(len(errs)) {
			wg.Go(func() {
				defer g.Leave()
				r, err := trace.OpenShare(dir, rank, len(errs))
				if err != nil {
					errs[rank] = err
					return
				}
				defer r.Close()
				m, err := BuildShare(context.Background(), r, Options{}, g)
				if err != nil {
					errs[rank] = err
					return
				}
				for i := range one.Regions.Threads {
					x, y := &one.Regions.Threads[i], &m.Regions.Threads[i]
					for k := range x.Collectives {
						a, b := x.Collectives[k], y.Collectives[k]
						if x.Enter[a.Visit] != y.Enter[b.Visit] || x.Exit[a.Visit] != y.Exit[b.Visit] ||
							a.Instance != b.Instance {
							errs[rank] = fmt.Errorf("thread %d, collective %d: %v, %v", i, k, a, b)
						}
					}
					if !slices.Equal(x.Locks, y.Locks) && len(x.Enter) == len(y.Enter) {
						errs[rank] = fmt.Errorf("thread %d: %v, %v", i, x.Locks, y.Locks)
					}
				}
				if d := cmp.Diff(one.Clocks, m.Clocks) + cmp.Diff(one.Regions.Locks, m.Regions.Locks) +
					cmp.Diff(one.Regions.Instances, m.Regions.Instances); d != "" {
					errs[rank] = errors.New(d)
				}
			})
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			rt.Fatalf("%v\n%s", err, text)
		}
	})
}
