//go:build !no_perfetto_module && !no_state_module && !no_profile_module

package modules

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// lifeModel is the state of nodes, simply.
type lifeModel struct {
	nodes []prof.NodeState
	cfs   map[trace.CF]*lifeCF
	dfs   []map[trace.DF]int64
	next  uint64
}

type lifeCF struct {
	node   int
	state  string
	weight float64
	exec   uint64
}

func (l *lifeModel) want(node int) prof.NodeState {
	s := l.nodes[node]
	for _, c := range l.cfs {
		if c.node != node {
			continue
		}
		s.CFs++
		s.Weight += c.weight
		switch c.state {
		case "waiting":
			s.Waiting++
		case "ready":
			s.Ready++
		case "running":
			s.Running++
		}
	}
	for _, size := range l.dfs[node] {
		s.DFs++
		s.Bytes += size
	}
	return s
}

// Whatever CFs and DFs go through, the module's counts are those of the model at every moment.
func TestStateIsExact(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const nodes, workers = 3, 2
		ses, run := viewed(t, StateName, prof.RunFacts{Nodes: nodes, Workers: workers}, nil)
		state := run.Get(StateName).(prof.State)
		l := &lifeModel{nodes: make([]prof.NodeState, nodes), cfs: map[trace.CF]*lifeCF{}}
		var streams [nodes][workers + 1]*prof.Stream
		for n := range nodes {
			l.dfs = append(l.dfs, map[trace.DF]int64{})
			for w := range workers + 1 {
				streams[n][w] = ses.Stream(n, w, nil)
			}
		}
		stream := func(node int) *prof.Stream {
			return streams[node][rapid.IntRange(0, workers).Draw(rt, "stream")]
		}
		node := func() int { return rapid.IntRange(0, nodes-1).Draw(rt, "node") }
		pick := func() (trace.CF, *lifeCF) {
			if len(l.cfs) == 0 {
				rt.Skip()
			}
			var ids []trace.CF
			for cf := range l.cfs {
				ids = append(ids, cf)
			}
			slices.Sort(ids)
			cf := rapid.SampledFrom(ids).Draw(rt, "cf")
			return cf, l.cfs[cf]
		}
		move := func(leave func(s *prof.Stream, cf trace.CF, to int, bytes int64, weight float64)) func(*rapid.T) {
			return func(*rapid.T) {
				cf, c := pick()
				to, bytes := node(), rapid.Int64Range(0, 1000).Draw(rt, "bytes")
				if to == c.node || c.state == "running" {
					rt.Skip()
				}
				leave(stream(c.node), cf, to, bytes, c.weight)
				l.nodes[c.node].Sent += bytes
				ses.CFReceived.Emit(stream(to), cf, c.node, bytes, c.weight)
				l.nodes[to].Received += bytes
				c.node, c.state = to, ""
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"create": func(*rapid.T) {
				l.next++
				n := node()
				cf, weight := trace.MakeCF(n, l.next), rapid.Float64Range(0, 1e6).Draw(rt, "weight")
				weight = math.Round(weight*1024) / 1024
				ses.CFCreated.Emit(stream(n), cf, 1, 0, 1, weight, nil)
				l.cfs[cf] = &lifeCF{node: n, weight: weight}
			},
			"wait": func(*rapid.T) {
				if cf, c := pick(); c.state != "running" {
					ses.CFWaiting.Emit(stream(c.node), cf, nil)
					c.state = "waiting"
				}
			},
			"ready": func(*rapid.T) {
				if cf, c := pick(); c.state != "running" {
					ses.CFReady.Emit(stream(c.node), cf, 0)
					c.state = "ready"
				}
			},
			"start": func(*rapid.T) { // also of CFs that were not said to be ready
				if cf, c := pick(); c.state != "running" {
					c.exec++
					ses.CFStarted.Emit(stream(c.node), cf, c.exec, nil)
					c.state = "running"
				}
			},
			"finish": func(*rapid.T) {
				if cf, c := pick(); c.state == "running" {
					ses.CFFinished.Emit(stream(c.node), cf, c.exec, -1)
					c.state = ""
					l.nodes[c.node].Finished++
				}
			},
			"migrate": move(ses.CFMigrated.Emit),
			"steal":   move(ses.CFStolen.Emit),
			"destroy": func(*rapid.T) {
				if cf, c := pick(); c.state != "running" {
					ses.CFDestroyed.Emit(stream(c.node), cf)
					delete(l.cfs, cf)
				}
			},
			"store": func(*rapid.T) {
				n, df, size := node(), trace.DF(rapid.IntRange(1, 20).Draw(rt, "df")), rapid.Int64Range(0, 1<<40).Draw(rt,
					"size")
				if old, here := l.dfs[n][df]; here {
					ses.DFDropped.Emit(stream(n), df, old)
					delete(l.dfs[n], df)
				} else {
					ses.DFStored.Emit(stream(n), df, size)
					l.dfs[n][df] = size
				}
			},
			"send": func(*rapid.T) {
				n, to, bytes := node(), node(), rapid.Int64Range(0, 1000).Draw(rt, "bytes")
				ses.DFSent.Emit(stream(n), 1, to, bytes, 1, 0, 0)
				ses.DFReceived.Emit(stream(to), 1, n, bytes, 1, 0, 0)
				l.nodes[n].Sent += bytes
				l.nodes[to].Received += bytes
			},
			"queue": func(*rapid.T) {
				n, length := node(), rapid.Uint64Range(0, 100).Draw(rt, "length")
				ses.ReadyQueue.Emit(stream(n), length)
				l.nodes[n].Queue = int64(length)
			},
			"": func(*rapid.T) {
				for n := range nodes {
					if diff := cmp.Diff(l.want(n), state.Node(n)); diff != "" {
						rt.Fatalf("node %d: %s", n, diff)
					}
				}
			},
		})
		if err := run.Finish(); err != nil {
			rt.Fatal(err)
		}
	})
}

func TestStateOfWorkersAndQueues(t *testing.T) {
	ses, run := viewed(t, StateName, prof.RunFacts{Nodes: 2, Workers: 2}, nil)
	state := run.Get(StateName).(prof.State)
	a, b, rts := ses.Stream(1, 0, nil), ses.Stream(1, 1, nil), ses.Stream(1, 2, nil)
	check := func(busy, sending int64) {
		t.Helper()
		if s := state.Node(1); s.Busy != busy || s.Sending != sending {
			t.Errorf("%d busy, %d to send; want %d, %d", s.Busy, s.Sending, busy, sending)
		}
	}
	for _, s := range []*prof.Stream{a, b, rts} {
		ses.ProgramStarted.Emit(s, 0, 0)
	}
	check(2, 0) // the stream of messages is not a worker
	ses.Idle.Emit(a)
	check(1, 0)
	ses.Busy.Emit(a)
	ses.SendQueue.Emit(rts, 0, 5)
	ses.SendQueue.Emit(rts, 3, 2)
	check(2, 7)
	ses.SendQueue.Emit(rts, 0, 1)
	ses.SendQueue.Emit(rts, -1, 9) // no node
	check(2, 3)
	for _, s := range []*prof.Stream{a, b, rts} {
		ses.ProgramFinished.Emit(s, 0)
	}
	check(0, 3)
	for _, n := range []int{-1, 0, 2, 1 << 20} {
		if s := state.Node(n); s != (prof.NodeState{}) {
			t.Errorf("node %d: %+v", n, s)
		}
	}
}

// Events that say what is known, come twice or are missing leave nothing behind.
func TestStateOfOddEvents(t *testing.T) {
	ses, run := viewed(t, StateName, prof.RunFacts{}, nil)
	state := run.Get(StateName).(prof.State)
	s := ses.Stream(0, 0, nil)
	ses.CFDestroyed.Emit(s, 7)         // never seen
	ses.CFMigrated.Emit(s, 8, 1, 0, 1) // never seen
	ses.CFCreated.Emit(s, 1, 1, 0, 1, 2.5, nil)
	ses.CFCreated.Emit(s, 1, 1, 0, 1, 1.5, nil)
	ses.CFReady.Emit(s, 1, 0)
	ses.CFReady.Emit(s, 1, 0)
	ses.CFReady.Emit(s, 2, 0) // not created: it exists from now on, its weight is unknown
	want := prof.NodeState{CFs: 2, Ready: 2, Weight: 1.5}
	if diff := cmp.Diff(want, state.Node(0)); diff != "" {
		t.Error(diff)
	}
	ses.CFHeld.Emit(s, 1) // still ready
	ses.CFResumed.Emit(s, 1)
	if diff := cmp.Diff(want, state.Node(0)); diff != "" {
		t.Error(diff)
	}
	for _, w := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -3, 1e300} {
		ses.CFCreated.Emit(s, 9, 1, 0, 1, w, nil)
		ses.CFDestroyed.Emit(s, 9)
	}
	ses.CFDestroyed.Emit(s, 1)
	ses.CFDestroyed.Emit(s, 1)
	ses.CFDestroyed.Emit(s, 2)
	if s := state.Node(0); s != (prof.NodeState{}) {
		t.Errorf("left: %+v", s)
	}
}

// live lets several streams of several nodes go through the lives of many CFs, each of which is created by
// one stream and executed by another.
func live(ses *prof.Session, nodes, workers, cfs int) {
	var wg sync.WaitGroup
	queues := make([]chan trace.CF, nodes)
	for n := range nodes {
		queues[n] = make(chan trace.CF, nodes*workers*cfs)
	}
	for n := range nodes {
		for w := range workers {
			wg.Add(1)
			go func() {
				defer wg.Done()
				s := ses.Stream(n, w, nil)
				ses.ProgramStarted.Emit(s, 0, 0)
				for i := range cfs {
					cf := trace.MakeCF(n, uint64(w*cfs+i+1))
					ses.CFCreated.Emit(s, cf, trace.Site(i%3+1), 0, 1, float64(i%7)/4, nil)
					if i%5 == 0 {
						to := (n + 1) % nodes
						ses.CFMigrated.Emit(s, cf, to, 10, float64(i%7)/4)
						queues[to] <- cf
					} else {
						ses.CFReady.Emit(s, cf, 0)
						queues[n] <- cf
					}
					cf = <-queues[n]
					if i%3 == 0 {
						ses.Idle.Emit(s)
						ses.Busy.Emit(s)
					}
					if cf.Node() != n {
						ses.CFReceived.Emit(s, cf, cf.Node(), 10, float64((cf.Counter()-1)%uint64(cfs)%7)/4)
						ses.CFReady.Emit(s, cf, 0)
					}
					ses.CFStarted.Emit(s, cf, 1, nil)
					ses.DFCreate.Emit(s, trace.DF(i), 8, cf)
					ses.DFStored.Emit(s, trace.DF(i), 8)
					ses.CFFinished.Emit(s, cf, 1, 5)
					ses.DFDropped.Emit(s, trace.DF(i), 8)
					ses.DFDestroy.Emit(s, trace.DF(i), 8, trace.Expired)
					ses.CFDestroyed.Emit(s, cf)
				}
				ses.ProgramFinished.Emit(s, 0)
			}()
		}
	}
	wg.Wait()
}

// While streams change counts, what is read is plausible; in the end nothing is left.
func TestStateWhileItChanges(t *testing.T) {
	const nodes, workers, cfs = 3, 3, 3000
	file := filepath.Join(t.TempDir(), "state.json")
	ses, run := viewed(t, StateName, prof.RunFacts{Nodes: nodes, Workers: workers},
		map[string]any{"interval": 1, "file": file, "emit": 1})
	state := run.Get(StateName).(prof.State)
	var mu sync.Mutex
	loads := map[int][]int64{}
	if err := ses.ConnectAny("StateEvents", "onLoad", "test", 0, func(s *prof.Stream, a *prof.Any) {
		if int(a.Words[0]) != s.Node() || a.Words[1] > nodes*workers*cfs || a.Words[3]%8 != 0 {
			t.Errorf("load of node %d: %v", s.Node(), a.Words)
		}
		mu.Lock()
		loads[s.Node()] = append(loads[s.Node()], a.Time)
		mu.Unlock()
	}); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var reader sync.WaitGroup
	reader.Add(1)
	go func() {
		defer reader.Done()
		for {
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Microsecond):
			}
			for n := range nodes {
				s := state.Node(n)
				if s.CFs < 0 || s.Ready < 0 || s.Running < 0 || s.Running > 2*nodes*workers || s.Busy > workers ||
					s.Bytes < 0 || s.Finished > nodes*workers*cfs {
					t.Errorf("node %d: %+v", n, s)
				}
			}
		}
	}()
	live(ses, nodes, workers, cfs)
	close(stop)
	reader.Wait()
	var finished int64
	for n := range nodes {
		s := state.Node(n)
		finished += s.Finished
		s.Finished, s.Sent, s.Received = 0, 0, 0
		if s != (prof.NodeState{}) {
			t.Errorf("node %d: left %+v", n, s)
		}
	}
	if finished != nodes*workers*cfs {
		t.Errorf("%d executions", finished)
	}
	chunks := 0
	state.(*State).cfs.chunks.Range(func(_, _ any) bool { chunks++; return true })
	if chunks > nodes { // the last one of each, which more CFs could have come to
		t.Errorf("%d chunks of CFs are left", chunks)
	}
	if err := run.Finish(); err != nil {
		t.Fatal(err)
	}
	for n := range nodes {
		slices.Sort(loads[n])
		if len(loads[n]) == 0 {
			t.Errorf("node %d: no load was emitted", n)
		}
		for i := 1; i < len(loads[n]); i++ {
			if d := loads[n][i] - loads[n][i-1]; d < 1e6 {
				t.Errorf("node %d: two loads within %d ns", n, d)
			}
		}
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	got := regexp.MustCompile(`_ns":\d+|(bytes|finished)":\d+`).ReplaceAllString(
		strings.Join(lines[len(lines)-nodes:], "\n"), `$1":N`)
	want := ""
	for n := range nodes {
		want += fmt.Sprintf(
			`{"time":N,"node":%d,"cfs":0,"waiting":0,"ready":0,"running":0,"finished":N,"dfs":0,"bytes":N,"sent_bytes":N,"received_bytes":N,"queue":0,"sending":0,"busy":0,"weight":0}`+"\n", n)
	}
	if len(lines)%nodes != 0 || got+"\n" != want {
		t.Errorf("%d lines, the last ones:\n%s", len(lines), got)
	}
}
