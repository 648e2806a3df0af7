package live

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/analysis/counters"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/show/view/timeline"
	_ "github.com/whyslow/whyslow/internal/testkit/effort"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/internal/tracefile/follow"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/trace"
)

// failer is what testing.T and rapid.T have in common.
type failer interface {
	sloutest.TB
	Fatalf(string, ...any)
	Errorf(string, ...any)
	Context() context.Context
}

const undivided = timeline.Rows - 1

// cut gives what slou says of a model as windows. Of a live run, what a worker did after its last event is
// not known.
func cut(t failer, m *model.Model, happening bool, from, to int64, n int) *timeline.FactorWindows {
	t.Helper()
	workers, err := slou.Pieces(context.Background(), m, slou.Options{}, procs.Alone())
	if err != nil {
		t.Fatal(err)
	}
	res, err := slou.Compute(context.Background(), m, slou.Options{}, procs.Alone())
	if err != nil {
		t.Fatal(err)
	}
	null, rows := slou.Null(m), undivided
	if happening || slices.Contains(null[:], true) {
		rows = timeline.Rows
	}
	names := []string{"U", "S", "L", "O", "W", "loss", "undivided"}
	table := func() [][]int64 {
		out := make([][]int64, rows)
		for i := range out {
			out[i] = make([]int64, n)
		}
		return out
	}
	length := (to-from-1)/int64(n) + 1
	n = int((to-from-1)/length + 1)
	out := &timeline.FactorWindows{From: from, To: to, WindowNS: length, Windows: n, KnownNS: m.Wall(),
		Rows: names[:rows], Total: table(), Lanes: []timeline.LaneSum{}, Nodes: []timeline.NodeSums{},
		Sum: make([]int64, rows), ExtraCoresNS: res.ExtraCoresNS}
	for lane, w := range workers {
		if k := len(out.Nodes); k == 0 || out.Nodes[k-1].Node != w.Node {
			out.Nodes = append(out.Nodes, timeline.NodeSums{Node: w.Node, Sum: make([]int64, rows), Windows: table()})
		}
		node := &out.Nodes[len(out.Nodes)-1]
		sum := make([]int64, rows)
		last, is := m.End, &m.Nodes[w.Node].Workers[w.Worker]
		if happening && is.Finished == model.None {
			last = max(is.Last, m.Start)
		}
		for _, p := range w.Pieces {
			for i := range n {
				a := max(m.Start+from+int64(i)*length, p.From)
				b := min(m.Start+min(from+int64(i+1)*length, to), p.To)
				row := int(p.Factor)
				if row < len(null) && null[row] {
					row = undivided
				}
				for _, x := range []struct {
					row int
					ns  int64
				}{{row, min(b, last) - a}, {undivided, b - max(a, last)}} {
					if x.ns <= 0 {
						continue
					}
					out.Total[x.row][i] += x.ns
					node.Windows[x.row][i] += x.ns
					node.Sum[x.row] += x.ns
					out.Sum[x.row] += x.ns
					sum[x.row] += x.ns
				}
			}
		}
		out.Lanes = append(out.Lanes, timeline.LaneSum{Lane: lane, Sum: sum})
	}
	return out
}

// following gives a run that is live and not followed by anything; its folder has what has arrived.
func following(dir string) *Run {
	r := &Run{dir: dir, ctx: context.Background(), opt: Options{Memory: DefaultMemory},
		changed: make(chan struct{}), status: Status{State: StateLive}, history: history{bytes: DefaultMemory / 16},
		info: &trace.RunInfo{}, shared: &shared{turns: newTurns()}}
	r.newWork()
	return r
}

// factors asks a run with a fresh snapshot.
func factors(t failer, r *Run, from, to int64, n int) *timeline.FactorWindows {
	t.Helper()
	got, err := r.Factors(context.Background(), timeline.FactorQuery{From: from, To: to, Windows: n})
	r.wg.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// story is a trace as text, by its events.
type told struct {
	head  string // definitions
	lines []line
}

type line struct {
	node, stream int
	text         string
}

func newTold(r *sloutest.Run) *told {
	text := r.EventText()
	whole := r.Text()
	s := &told{head: whole[:len(whole)-len(text)]}
	for i, l := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if l != "" {
			s.lines = append(s.lines, line{r.Events[i].Node, r.Events[i].Stream, l})
		}
	}
	return s
}

func (s *told) text(keep func(i int) bool) string {
	var b strings.Builder
	b.WriteString(s.head)
	for i, l := range s.lines {
		if keep(i) {
			b.WriteString(l.text + "\n")
		}
	}
	return b.String()
}

// tell delivers a story in blocks in random order. At random moments and at the end it compares the answers
// of a live run with slou on a model of exactly what had arrived.
func tell(t *rapid.T, s *told) {
	var keys [][2]int
	total, count := map[[2]int]int{}, map[[2]int]int{}
	number := make([]int, len(s.lines)) // of the event in its stream
	for i, l := range s.lines {
		k := [2]int{l.node, l.stream}
		if number[i] = total[k]; number[i] == 0 {
			keys = append(keys, k)
		}
		total[k]++
	}
	dropped := map[int]bool{} // lines that were lost without a word
	lossy := rapid.IntRange(0, 3).Draw(t, "lossy") == 0
	longest := rapid.IntRange(1, 20).Draw(t, "block")
	look := rapid.IntRange(3, 40).Draw(t, "look")
	compare := func() {
		text := s.text(func(i int) bool {
			return number[i] < count[[2]int{s.lines[i].node, s.lines[i].stream}] && !dropped[i]
		})
		sloutest.Folder(t, text, func(dir string) {
			m := sloutest.Load(t, dir, model.Options{Interpolated: true})
			if m.Wall() == 0 {
				return
			}
			from := rapid.Int64Range(0, m.Wall()-1).Draw(t, "from")
			to := rapid.Int64Range(from+1, m.Wall()).Draw(t, "to")
			if rapid.Bool().Draw(t, "all") {
				from, to = 0, m.Wall()
			}
			n := rapid.IntRange(1, 9).Draw(t, "windows")
			r := following(dir)
			if diff := cmp.Diff(cut(t, m, true, from, to, n), factors(t, r, from, to, n)); diff != "" {
				t.Fatalf("%s\n(-slou +live):\n%s", text, diff)
			}
			sameProperties(t, r, m, from, to, n)
			// More has arrived since.
			later := rapid.Int64Range(1, 100).Draw(t, "later")
			r.arrived++
			r.status.WallNS = m.Wall() + later
			more := factors(t, r, 0, m.Wall()+later, 1)
			want := cut(t, m, true, 0, m.Wall(), 1).Sum
			want[undivided] += later * int64(len(more.Lanes))
			if diff := cmp.Diff(want, more.Sum); diff != "" {
				t.Fatalf("%s\n%d ns later (-slou +live):\n%s", text, later, diff)
			}
		})
	}
	for len(keys) > 0 {
		i := rapid.IntRange(0, len(keys)-1).Draw(t, "stream")
		k := keys[i]
		from := count[k]
		to := min(from+rapid.IntRange(1, longest).Draw(t, "events"), total[k])
		if lossy && rapid.IntRange(0, 5).Draw(t, "lost") == 0 {
			for j, l := range s.lines {
				if k == [2]int{l.node, l.stream} && number[j] >= from && number[j] < to {
					dropped[j] = true
				}
			}
		}
		count[k] = to
		if to == total[k] {
			keys = append(keys[:i], keys[i+1:]...)
		}
		if rapid.IntRange(0, look).Draw(t, "now") == 0 {
			compare()
		}
	}
	compare()
}

// TestRandom: runs that end, that are killed or stuck, whose events are harmed, and whose clocks are
// corrected meanwhile.
func TestRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := sloutest.Random(t)
		switch rapid.IntRange(0, 4).Draw(t, "end") {
		case 0:
			r.Kill(t)
		case 1:
			r.Stick(t)
		case 2:
			r.Harm(t)
		}
		if len(r.Events) == 0 {
			return
		}
		if rapid.Bool().Draw(t, "waits") {
			r.AddWaits(t)
		}
		s := newTold(r)
		if rapid.Bool().Draw(t, "clocks") {
			addSyncs(t, s, r)
		}
		tell(t, s)
	})
}

func addSyncs(t *rapid.T, s *told, r *sloutest.Run) {
	for range rapid.IntRange(0, 6).Draw(t, "syncs") {
		at := rapid.IntRange(0, len(r.Events)-1).Draw(t, "at")
		node := rapid.IntRange(0, r.Nodes-1).Draw(t, "node")
		offset := rapid.Int64Range(-6, 6).Draw(t, "offset")
		text := fmt.Sprintf("%d n%d s%d GlobalEvents.onClockSync offset=%d error=1",
			r.Events[at].Time, node, sloutest.System, offset)
		s.lines = append(s.lines, line{node, sloutest.System, text})
	}
}

// TestLate: a CF takes a DF that another node makes. As long as that node's events are on their way the
// worker seems to have waited for nothing; the next snapshot puts that right.
func TestLate(t *testing.T) {
	const head = `#node %[1]d
#code 1 step atomic
#site 1 code=1
#df 1 x [0 1 7]
#df 2 x [0 1 8]
0 n%[1]d s0 Global.onProgramStarted
`
	here := fmt.Sprintf(head, 0) + `10 n0 s0 CF.onCreated cf=0.1 site=1
900 n0 s0 DF.onReceived df=1 from=1 bytes=8 message=1.1
910 n0 s0 CF.onReady cf=0.1
920 n0 s0 CF.onStarted cf=0.1 execution=1 inputs=[1]
1000 n0 s0 CF.onFinished cf=0.1 execution=1
`
	head1 := fmt.Sprintf(head, 1) + `50 n1 s0 DF.onCreate df=2 size=8
60 n1 s0 DF.onSent df=2 to=0 bytes=8 message=1.9
`
	there := head1 + `100 n1 s0 CF.onCreated cf=1.1 site=1
100 n1 s0 CF.onStarted cf=1.1 execution=1
600 n1 s0 DF.onCreate df=1 size=8 cf=1.1
600 n1 s0 CF.onFinished cf=1.1 execution=1
700 n1 s0 DF.onSent df=1 to=0 bytes=8 message=1.1
1000 n1 s0 CF.onCreated cf=1.2 site=1
`
	run := `#run {"nodes":[{"node":0,"workers":1},{"node":1,"process":1,"workers":1}]}` + "\n"
	for _, c := range []struct {
		text string
		want []int64 // of worker 0
	}{
		{run + here + head1, []int64{80, 900, 0, 20, 0, 0, 0}},
		{run + here + there, []int64{80, 600, 200, 120, 0, 0, 0}},
	} {
		dir := filepath.Join(t.TempDir(), "late.trace")
		if err := twin.Parse(strings.NewReader(c.text), dir); err != nil {
			t.Fatal(err)
		}
		if got := factors(t, following(dir), 0, 1000, 1).Lanes[0].Sum; !slices.Equal(got, c.want) {
			t.Errorf("got %d, want %d", got, c.want)
		}
	}
}

// TestGrowing follows a trace whose blocks arrive in random order of the nodes; some are lost. Its answers
// are those of slou on a model of the very bytes, at some moments and when the run has ended.
func TestGrowing(t *testing.T) {
	whole := t.TempDir()
	pipeline(t, whole, 300)
	info, err := trace.ReadRunInfo(whole)
	if err != nil {
		t.Fatal(err)
	}
	f := follow.New(whole)
	byNode := map[int][]tracefile.RawBlock{}
	blocks := 0
	if _, err := f.Poll(context.Background(), func(b *tracefile.RawBlock) error {
		c := *b
		c.Bytes = slices.Clone(b.Bytes)
		byNode[b.Node] = append(byNode[b.Node], c)
		blocks++
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, lose := range []int{0, 7} {
		dir := filepath.Join(t.TempDir(), "growing.trace")
		going := *info
		going.Ended = ""
		if err := trace.WriteRunInfo(dir, &going); err != nil {
			t.Fatal(err)
		}
		r, err := Open(dir, Options{Alive: func() (bool, bool) { return true, true }})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		files := map[int]*tracefile.Appender{}
		left := map[int][]tracefile.RawBlock{}
		for n, list := range byNode {
			left[n] = list
			if files[n], err = tracefile.OpenAppend(context.Background(), dir, n, ""); err != nil {
				t.Fatal(err)
			}
		}
		data, events := 0, uint64(0)
		for i := range blocks {
			node := i * i % len(byNode)
			for len(left[node]) == 0 {
				node = (node + 1) % len(byNode)
			}
			b := left[node][0]
			left[node] = left[node][1:]
			if !b.Defs {
				if data++; lose > 0 && data%lose == 3 {
					continue
				}
				events += uint64(b.Count)
			}
			if err := files[node].Append(b.Bytes); err != nil {
				t.Fatal(err)
			}
			if i == blocks/3 || i == blocks/2 {
				asSlou(t, r, events)
			}
		}
		for _, a := range files {
			if err := a.Finish(); err != nil {
				t.Fatal(err)
			}
		}
		if err := trace.WriteRunInfo(dir, info); err != nil {
			t.Fatal(err)
		}
		asSlou(t, r, events)
	}
}

// asSlou waits until all has arrived of a run, and compares its factors with slou.
func asSlou(t *testing.T, r *Run, events uint64) {
	t.Helper()
	deadline := time.Now().Add(4 * time.Minute)
	over := r.ended(t)
	for {
		st, _ := r.Status()
		s, err := r.Snapshot(context.Background())
		there := err == nil && s.Model.Events == events && (st.State != StateLive) == over
		if err == nil {
			s.Release()
		}
		if there {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %d events: %+v, %v", events, st, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	m := sloutest.Load(t, r.dir, model.Options{Interpolated: !over})
	for _, q := range [][3]int64{{0, m.Wall(), 1}, {0, m.Wall(), 97}, {m.Wall() / 3, m.Wall() / 2, 11}} {
		want := cut(t, m, !over, q[0], q[1], int(q[2]))
		got, err := r.Factors(context.Background(), timeline.FactorQuery{From: q[0], To: q[1], Windows: int(q[2])})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d (-slou +live):\n%s", q, diff)
		}
		sameProperties(t, r, m, q[0], q[1], int(q[2]))
	}
}

// sameProperties compares the properties of nodes and links of a run with those of a model of what has
// arrived.
func sameProperties(t failer, r *Run, m *model.Model, from, to int64, n int) {
	t.Helper()
	ask := func(p counters.Set) []any {
		out := []any{p.At(from), p.At(to)}
		for _, q := range []counters.SeriesQuery{{Names: "running,cfs,bytes,ready", Nodes: "all"},
			{Names: "messages,in_flight", Links: "all"}} {
			q.From, q.To, q.Points = from, to, n
			a, err := p.Series(q)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, a)
		}
		return out
	}
	want, err := counters.FromModel(t.Context(), m, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = r.Properties(t.Context(), func(got counters.Set) {
		if diff := cmp.Diff(ask(want), ask(got)); diff != "" {
			t.Fatalf("properties of nodes and links (-model +live):\n%s", diff)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// ended says that run.json says so.
func (r *Run) ended(t *testing.T) bool {
	t.Helper()
	info, err := trace.ReadRunInfo(r.dir)
	if err != nil {
		t.Fatal(err)
	}
	return info.Ended != ""
}

// TestGoldens opens the hand-written traces of slou as runs that are over and as runs that continue.
func TestGoldens(t *testing.T) {
	for _, pattern := range []string{"*.txtar", "regions/*.txtar"} {
		paths, err := filepath.Glob("../../analysis/slou/testdata/" + pattern)
		if err != nil || len(paths) == 0 {
			t.Fatal("no goldens", err)
		}
		for _, path := range paths {
			t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
				dir := t.TempDir()
				golden(t, path, dir)
				r, err := Open(dir, Options{Alive: func() (bool, bool) { return false, true }})
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				m := sloutest.Load(t, dir)
				over, err := r.Factors(t.Context(), timeline.FactorQuery{To: m.Wall(), Windows: 97})
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(cut(t, m, false, 0, m.Wall(), 97), over); diff != "" {
					t.Errorf("(-slou +live):\n%s", diff)
				}
				if m = sloutest.Load(t, dir, model.Options{Interpolated: true}); m.Regions != nil {
					return
				}
				was := factors(t, following(dir), 0, m.Wall(), 97)
				if diff := cmp.Diff(cut(t, m, true, 0, m.Wall(), 97), was); diff != "" {
					t.Errorf("while it continued (-slou +live):\n%s", diff)
				}
			})
		}
	}
}

// golden writes the trace of a hand-written test.
func golden(t *testing.T, path, dir string) {
	t.Helper()
	a, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range a.Files {
		if f.Name == "trace" {
			if err := twin.Parse(strings.NewReader(string(f.Data)), dir); err != nil {
				t.Fatal(err)
			}
		}
	}
}
