package model

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/trace"
)

func build(t testing.TB, text string) *Model {
	t.Helper()
	dir := t.TempDir()
	if err := twin.Parse(strings.NewReader(text), dir); err != nil {
		t.Fatal(err)
	}
	return load(t, dir)
}

func load(t testing.TB, dir string) *Model {
	t.Helper()
	r, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	m, err := Build(context.Background(), r, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// story is a run with a bit of everything. A while on node 0 runs twice, and its second execution creates
// step[7], which migrates to node 1, where x, made on node 0, is received under another number.
const story = `
#run {"program":"story.fa","ended":"done","processes":[{"pid":7,"host":"alpha","cores":4}],"nodes":[{"node":0,"process":0,"workers":1},{"node":1,"process":0,"workers":1}]}
#node 0
#code 1 again while at=story.fa:3:1
#code 2 step atomic at=story.fa:9:1
#site 1 code=1 at=story.fa:4:2
#site 2 code=2 label=s at=story.fa:5:3 "step(x, i)"
#df 5 x [0 1 3 4]
0 Global.onProgramStarted process=0 cpu=1000
1 CF.onCreated cf=0.1 site=1
2 CF.onReady 0.1
3 CF.onStarted 0.1 execution=1
4 DF.onCreate 5 80 0.1
5 CF.onFinished 0.1 execution=1
6 CF.onReady 0.1 late=1
7 CF.onStarted 0.1 execution=2 inputs=[5]
8 CF.onCreated cf=0.2 site=2 parent=0.1 execution=2 weight=2.5 indices=[7]
9 CF.onMigrated cf=0.2 to=1 bytes=64
10 CF.onFinished 0.1 execution=2
11 DF.onSent 5 to=1 bytes=80 message=0.1
12 DF.onDestroy 5 80 expired
20 DF.onCreate 5 80 0.1
21 DF.onDuplicate 5 0.1 0.2
30 Global.onIdle
35 Global.onBusy
40 Global.onProgramFinished cpu=1090
#node 1
#code 1 step atomic at=story.fa:9:1
#site 1 code=1 label=s at=story.fa:5:3 "step(x, i)"
#df 1 x [0 1 3 4]
#df 2 y [0 2]
0 Global.onProgramStarted process=0 cpu=1000
13 s1 CF.onReceived cf=0.2 from=0 bytes=64
14 s1 CF.onWaiting cf=0.2 awaited=[1 2]
16 s1 DF.onReceived 1 from=0 bytes=80 message=0.1
17 s1 DF.onStored 1 80
18 CF.onReady 0.2
19 CF.onStarted 0.2 inputs=[1 2]
22 Sync.onWaitStarted "lock"
24 Sync.onWaitEnded "lock"
25 s1 CF.onHeld 0.2
26 s1 CF.onResumed 0.2
30 CF.onFinished 0.2 cpu=9
31 s1 DF.onRequestReceived 2 from=0 request=0.9
40 Global.onProgramFinished cpu=1080
`

func TestStory(t *testing.T) {
	m := build(t, story)
	check := func(what string, got, want any) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	again, step := m.FindCF(trace.MakeCF(0, 1)), m.FindCF(trace.MakeCF(0, 2))
	check("names", []string{m.CFString(again), m.CFString(step)}, []string{"again (0.1)", "s[7] (0.2)"})
	check("kinds", []bool{m.Atomic(again), m.Atomic(step)}, []bool{false, true})
	check("code fragments are merged", len(m.Codes), 3)
	check("statements are merged", len(m.Sites), 3)
	check("created", []int64{m.Created[again], m.Created[step]}, []int64{1, 8})
	check("parent", []any{m.Parent[step], m.ParentExec[step]}, []any{again, uint32(2)})
	check("label", m.Label(step), []int32{7})
	check("weights", []float64{m.Weight(again), m.Weight(step)}, []float64{1, 2.5})
	first, ok1 := m.Execution(again, 1)
	second, ok2 := m.Execution(again, 2)
	check("executions", []any{ok1, ok2, m.ExecStart[first], m.ExecStart[second], m.ExecEnd[second]},
		[]any{true, true, int64(3), int64(7), int64(10)})
	_, ok := m.Execution(again, 3)
	check("no third execution", ok, false)
	at, ok := m.ExecutionAt(again, 6)
	check("execution at 6", []any{at, ok}, []any{first, true})
	ready, ok := m.LastReady(again, 0, 4)
	check("ready by 4", []any{ready, ok}, []any{int64(2), true})
	ready, ok = m.LastReady(again, 0, 100)
	check("ready at last, noticed late", []any{ready, ok}, []any{int64(5), true})
	_, ok = m.LastReady(step, 0, 100)
	check("not ready on node 0", ok, false)
	move, ok := m.LastMove(step, 1, 100)
	check("migration", []any{ok, move.Sent, move.Received, move.From, move.Bytes},
		[]any{true, int64(9), int64(13), int32(0), int64(64)})
	run, _ := m.Execution(step, 1)
	in := m.Inputs(run)
	check("inputs", []string{m.DFString(in[0]), m.DFString(in[1])}, []string{"x[3][4]", "y"})
	check("indices", []string{fmt.Sprint(m.Indices(in[0], []int64{9})), fmt.Sprint(m.Indices(in[1], nil)),
		fmt.Sprint(m.Indices(0, nil))}, []string{"[9 3 4]", "[]", "[]"})
	c, ok := m.Creation(in[0], 10)
	check("first instance", []any{ok, m.MadeTime[c], m.MadeBy[c], m.SizeMade(c)},
		[]any{true, int64(4), again, int64(80)})
	c, _ = m.Creation(in[0], 25)
	check("second instance", m.MadeTime[c], int64(20))
	_, ok = m.CreationAt(in[0], 1, 100)
	check("not created on node 1", ok, false)
	seen, ok := m.FirstSeen(in[1])
	check("first event of y", []any{seen, ok}, []any{int64(31), true})
	g, ok := m.LastReceipt(in[0], 1, 16)
	check("receipt", []any{ok, m.DFMessages[g].Sent, m.DFMessages[g].From}, []any{true, int64(11), int32(0)})
	_, ok = m.LastReceipt(in[0], 1, 15)
	check("no receipt by 15", ok, false)
	check("awaited", []any{m.Awaits.CF, m.Awaits.Of(0)}, []any{[]CF{step}, in})
	check("copies", m.Copies, []Copy{{12, in[0], 0, CopyExpired}, {17, in[0], 1, CopyStored}})
	check("duplicate", m.Duplicates, []Duplicate{{21, in[0], again, step}})
	check("held", m.Held[step], []Interval{{25, 26}})
	check("waits", m.Nodes[1].Workers[0].Waits, []Wait{{Interval: Interval{22, 24}, Name: "lock"}})
	check("idle", m.Nodes[0].Workers[0].Idle, []Interval{{30, 35}})
	check("process", m.Processes, []Process{{Host: "alpha", Cores: 4, CPU: 90}})
	check("run", []int64{m.Start, m.End, m.Wall()}, []int64{0, 40, 40})
	check("killed", m.Killed, false)
	check("host", m.Nodes[1].Host, "alpha")
}

// TestDamage: a trace with flipped bytes and a file cut short can be built, with what is lost said.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	if err := twin.Parse(strings.NewReader(story), dir); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, tracefile.FileName(0))
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	events := load(t, dir).Events
	for n := 0; n < len(whole); n += 7 {
		for _, damaged := range [][]byte{whole[:n], flip(whole, n)} {
			if err := os.WriteFile(file, damaged, 0o666); err != nil {
				t.Fatal(err)
			}
			m := load(t, dir)
			if len(m.Problems) == 0 && (m.Events != events || m.Killed) {
				t.Fatalf("byte %d: %d events, killed %v, no problem", n, m.Events, m.Killed)
			}
			for _, node := range m.Nodes {
				for _, w := range node.Workers {
					for i, v := range w.Lost {
						if v.From >= v.To || v.From < m.Start || v.To > m.End || (i > 0 && v.From <= w.Lost[i-1].To) {
							t.Fatalf("byte %d: lost %v in a run of [%d, %d]", n, w.Lost, m.Start, m.End)
						}
					}
				}
			}
		}
	}
}

func flip(b []byte, at int) []byte {
	b = slices.Clone(b)
	b[at] ^= 0x41
	return b
}

func TestMissingNode(t *testing.T) {
	m := build(t, "#run {\"nodes\":[{\"node\":0,\"workers\":1},{\"node\":2,\"workers\":2}]}\n#node 0\n0 "+
		"Global.onProgramStarted\n9 Global.onProgramFinished\n")
	if len(m.Nodes) != 3 || !m.Killed {
		t.Fatalf("%d nodes, killed %v", len(m.Nodes), m.Killed)
	}
	for _, w := range m.Nodes[2].Workers {
		if !slices.Equal(w.Lost, []Interval{{0, 9}}) {
			t.Errorf("lost of a node without a file: %v", w.Lost)
		}
	}
}

func TestEmpty(t *testing.T) {
	m := build(t, "#node 0\n")
	if m.Wall() != 0 || m.Events != 0 {
		t.Errorf("a trace without events lasts %d ns", m.Wall())
	}
}

// TestIDs: every id gets one number and can be found again, however its counters are scattered.
func TestIDs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := newIDs(3)
		numbers := map[uint64]uint32{}
		for _, id := range rapid.SliceOf(rapid.OneOf(
			rapid.Uint64Range(1, 2000), rapid.Uint64(),
			rapid.Map(rapid.Uint64Range(0, 3<<16), func(v uint64) uint64 { return v>>16<<48 | v&0xffff }))).Draw(t,
			"ids") {
			n := d.number(id)
			if old, ok := numbers[id]; ok && old != n {
				t.Fatalf("id %x has the numbers %d and %d", id, old, n)
			}
			numbers[id] = n
			if (n == 0) != (id == 0) || int(n) >= d.size() {
				t.Fatalf("id %x has the number %d of %d", id, n, d.size())
			}
		}
		back := map[uint32]uint64{}
		for id, n := range numbers {
			if other, ok := back[n]; ok {
				t.Fatalf("ids %x and %x share the number %d", id, other, n)
			}
			back[n] = id
			if d.find(id) != n || (id != 0 && d.id(n) != id) {
				t.Fatalf("id %x: number %d, found %d, back %x", id, n, d.find(id), d.id(n))
			}
		}
	})
}

// TestAbsurdIDs: counters far apart do not make the model reserve memory for what lies between.
func TestAbsurdIDs(t *testing.T) {
	d := newIDs(1)
	for i := range uint64(100_000) {
		d.number(i * 1_000_003 & (1<<48 - 1))
	}
	if d.size() > 100_000+2*firstChunks*chunkSize {
		t.Errorf("100000 scattered ids reserve %d numbers", d.size())
	}
}

func TestColumn(t *testing.T) {
	var c column[int]
	const n = 3*columnLen + 5
	for i := range n {
		c.add(i)
	}
	if c.len() != n || *c.at(0) != 0 || *c.at(columnLen) != columnLen || *c.at(n - 1) != n-1 {
		t.Fatal("places are wrong")
	}
	out := c.move(nil)
	if len(out) != n || !slices.IsSorted(out) || c.len() != 0 {
		t.Fatal("moved list is wrong")
	}
}
