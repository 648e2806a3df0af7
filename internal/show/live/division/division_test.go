package division

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
	"github.com/whyslow/whyslow/trace"
)

// failer is what testing.T and rapid.T have in common.
type failer interface {
	sloutest.TB
	Fatalf(string, ...any)
	Errorf(string, ...any)
}

// cutPieces gives what slou says of a model, cut into windows.
func cutPieces(t failer, m *model.Model, opt slou.Options, from, to int64, n int, lanes []int) *FactorWindows {
	t.Helper()
	workers, err := slou.Pieces(context.Background(), m, opt, procs.Alone())
	if err != nil {
		t.Fatal(err)
	}
	res, err := slou.Compute(context.Background(), m, opt, procs.Alone())
	if err != nil {
		t.Fatal(err)
	}
	out := &FactorWindows{From: from, To: to, Rows: rowNames(), Lanes: []LaneSum{}, Nodes: []NodeFactor{}, Sum: make([]int64, factors), ExtraCoresNS: res.ExtraCoresNS}
	if to > from {
		out.WindowNS = (to-from-1)/int64(n) + 1
		out.Windows = int((to-from-1)/out.WindowNS + 1)
	}
	out.Total = table(factors, out.Windows)
	wanted := map[int]bool{}
	for _, l := range lanes {
		wanted[l] = true
	}
	for lane, w := range workers {
		if lanes != nil && !wanted[lane] {
			continue
		}
		if len(out.Nodes) == 0 || out.Nodes[len(out.Nodes)-1].Node != w.Node {
			out.Nodes = append(out.Nodes, NodeFactor{Node: w.Node, Sum: make([]int64, factors), Windows: table(factors, out.Windows)})
		}
		node := &out.Nodes[len(out.Nodes)-1]
		sum := make([]int64, factors)
		for _, p := range w.Pieces {
			f := int(p.Factor)
			for i := range out.Windows {
				a := m.Start + from + int64(i)*out.WindowNS
				b := m.Start + min(from+int64(i+1)*out.WindowNS, to)
				ns := max(min(b, p.To)-max(a, p.From), 0)
				out.Total[f][i] += ns
				node.Windows[f][i] += ns
				node.Sum[f] += ns
				out.Sum[f] += ns
				sum[f] += ns
			}
		}
		out.Lanes = append(out.Lanes, LaneSum{lane, sum})
	}
	return out
}

// story is a trace as text, by its events.
type story struct {
	head  string // definitions
	lines []line
}

type line struct {
	node, stream int
	text         string
}

func newStory(r *sloutest.Run) *story {
	text := r.EventText()
	whole := r.Text()
	s := &story{head: whole[:len(whole)-len(text)]}
	for i, l := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if l != "" {
			s.lines = append(s.lines, line{r.Events[i].Node, r.Events[i].Stream, l})
		}
	}
	return s
}

func (s *story) text(keep func(i int) bool) string {
	var b strings.Builder
	b.WriteString(s.head)
	for i, l := range s.lines {
		if keep(i) {
			b.WriteString(l.text + "\n")
		}
	}
	return b.String()
}

// streams gives the events of each stream as one batch.
func (s *story) streams(t failer) (*trace.RunInfo, map[int]*trace.Defs, map[[2]int]*trace.Batch) {
	t.Helper()
	dir, err := os.MkdirTemp("", "division")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := trace.Parse(strings.NewReader(s.text(func(int) bool { return true })), dir); err != nil {
		t.Fatal(err)
	}
	r, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defs, streams := map[int]*trace.Defs{}, map[[2]int]*trace.Batch{}
	for _, n := range r.Nodes() {
		defs[n] = r.Defs(n)
	}
	for _, i := range r.Streams() {
		c, b := r.Stream(i.Node, i.Stream), new(trace.Batch)
		if !c.Next(b) {
			t.Fatal("no block")
		}
		if c.Next(new(trace.Batch)) {
			t.Fatal("more than one block")
		}
		streams[[2]int{i.Node, i.Stream}] = b
	}
	return r.Run(), defs, streams
}

// part gives some events of a batch as a batch.
func part(b *trace.Batch, from, to int) *trace.Batch {
	return &trace.Batch{Node: b.Node, Stream: b.Stream, N: to - from, Time: b.Time[from:to], Kind: b.Kind[from:to], Off: b.Off[from : to+1], Words: b.Words}
}

// tell delivers a story in blocks in random order and compares at random moments and at the end.
func tell(t *rapid.T, s *story, opt Options) {
	info, defs, streams := s.streams(t)
	opt.Info = info
	d := New(opt)
	var keys [][2]int
	total := map[[2]int]int{}
	for _, l := range s.lines {
		k := [2]int{l.node, l.stream}
		if total[k] == 0 {
			keys = append(keys, k)
		}
		total[k]++
	}
	told := map[[2]int]int{}
	number := make([]int, len(s.lines)) // of the event in its stream
	count := map[[2]int]int{}
	for i, l := range s.lines {
		k := [2]int{l.node, l.stream}
		number[i] = count[k]
		count[k]++
	}
	longest := rapid.IntRange(1, 20).Draw(t, "block")
	dropped := map[int]bool{} // lines that were lost without a word
	lossy := rapid.IntRange(0, 3).Draw(t, "lossy") == 0
	look := rapid.IntRange(1, 40).Draw(t, "look")
	compare := func() {
		text := s.text(func(i int) bool {
			l := s.lines[i]
			return number[i] < told[[2]int{l.node, l.stream}] && !dropped[i]
		})
		m := sloutest.Build(t, text, model.Options{Interpolated: true})
		wall := m.Wall()
		from := rapid.Int64Range(0, wall/2).Draw(t, "from")
		to := from + rapid.Int64Range(0, wall-from).Draw(t, "length")
		n := rapid.IntRange(1, 9).Draw(t, "windows")
		if rapid.Bool().Draw(t, "all") {
			from, to = 0, wall
		}
		want := cutPieces(t, m, slou.Options{DataInputsOnly: opt.DataInputsOnly}, from, to, n, nil)
		got := d.Windows(from, to, n, nil)
		if got.From == 0 && d.end-d.start != wall || d.start != m.Start {
			t.Fatalf("%s\nthe run is from %d to %d, not %d to %d", text, d.start, d.end, m.Start, m.End)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			pieces, _ := slou.Pieces(context.Background(), m, slou.Options{DataInputsOnly: opt.DataInputsOnly}, procs.Alone())
			var b strings.Builder
			slou.WritePieces(&b, m, pieces)
			t.Fatalf("%s\n(-slou +division):\n%s\n%s", text, diff, b.String())
		}
	}
	for len(keys) > 0 {
		i := rapid.IntRange(0, len(keys)-1).Draw(t, "stream")
		k := keys[i]
		from := told[k]
		to := min(from+rapid.IntRange(1, longest).Draw(t, "events"), total[k])
		if lossy && rapid.IntRange(0, 5).Draw(t, "lost") == 0 {
			for j, l := range s.lines {
				if k == [2]int{l.node, l.stream} && number[j] >= from && number[j] < to {
					dropped[j] = true
				}
			}
		} else {
			d.Add(defs[k[0]], part(streams[k], from, to))
		}
		told[k] = to
		if to == total[k] {
			keys = append(keys[:i], keys[i+1:]...)
		}
		if rapid.IntRange(0, look).Draw(t, "now") == 0 {
			compare()
		}
	}
	compare()
}

func randomOptions(t *rapid.T) Options {
	return Options{DataInputsOnly: rapid.IntRange(0, 4).Draw(t, "data only") == 0}
}

func TestRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := sloutest.Random(t)
		switch rapid.IntRange(0, 3).Draw(t, "end") {
		case 0:
			r.Kill(t)
		case 1:
			r.Stick(t)
		}
		if len(r.Events) > 0 && rapid.Bool().Draw(t, "waits") {
			r.AddWaits(t)
		}
		tell(t, newStory(r), randomOptions(t))
	})
}

// TestClocks lets the clocks of nodes be corrected while the run goes on.
func TestClocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := sloutest.Random(t)
		if rapid.Bool().Draw(t, "waits") {
			r.AddWaits(t)
		}
		s := newStory(r)
		addSyncs(t, s, r)
		tell(t, s, randomOptions(t))
	})
}

func addSyncs(t *rapid.T, s *story, r *sloutest.Run) {
	for range rapid.IntRange(0, 6).Draw(t, "syncs") {
		at := rapid.IntRange(0, len(r.Events)-1).Draw(t, "at")
		node := rapid.IntRange(0, r.Nodes-1).Draw(t, "node")
		offset := rapid.Int64Range(-6, 6).Draw(t, "offset")
		s.lines = append(s.lines, line{node, sloutest.System, fmt.Sprintf("%d n%d s%d GlobalEvents.onClockSync offset=%d error=1", r.Events[at].Time, node, sloutest.System, offset)})
	}
}

// uncontradict drops events that contradict others about messages and requests: the ends of one name one DF, and each end is
// told once.
func uncontradict(r *sloutest.Run) {
	dfs, ends := map[string]int{}, map[string]bool{}
	r.Events = slices.DeleteFunc(r.Events, func(e sloutest.Event) bool {
		if e.Kind == "CFEvents.onMigrated" || e.DF == 0 {
			return false
		}
		for _, id := range []string{"m" + e.Message, "r" + e.Request} {
			if len(id) == 1 {
				continue
			}
			if df, ok := dfs[id]; ok && df != e.DF {
				return true
			}
			dfs[id] = e.DF
			if end := e.Kind + id; id[0] == 'm' || e.Message == "" {
				if ends[end] {
					return true
				}
				ends[end] = true
			}
		}
		return false
	})
}

// createOnce drops further creations of a CF: the earliest of them counts, and which that is changes with the clocks.
func createOnce(r *sloutest.Run) {
	created := map[string]bool{}
	r.Events = slices.DeleteFunc(r.Events, func(e sloutest.Event) bool {
		again := e.Kind == "CFEvents.onCreated" && created[e.CF]
		created[e.CF] = created[e.CF] || e.Kind == "CFEvents.onCreated"
		return again
	})
}

// TestHarmed divides nonsense, short of contradictions.
func TestHarmed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := sloutest.Random(t)
		if rapid.Bool().Draw(t, "waits") {
			r.AddWaits(t)
		}
		r.Harm(t)
		uncontradict(r)
		clocks := rapid.Bool().Draw(t, "clocks") && len(r.Events) > 0
		if clocks {
			createOnce(r)
		}
		s := newStory(r)
		if clocks {
			addSyncs(t, s, r)
		}
		tell(t, s, randomOptions(t))
	})
}

// TestTogether asks while events come in.
func TestTogether(t *testing.T) {
	dir := t.TempDir()
	pipeline(t, dir, 200)
	info, list := blocks(t, dir)
	d := New(Options{Info: info, MaxBytes: 1 << 20})
	done := make(chan bool)
	go func() {
		defer close(done)
		for _, b := range list {
			d.Add(b.defs, b.Batch)
		}
	}()
	for {
		select {
		case <-done:
			return
		default:
			span := d.Span()
			w := d.Windows(0, span.To-span.From, 10, nil)
			if sum := w.Sum[0]; sum < 0 || d.Late() < 0 || d.History().Horizon < 0 {
				t.Fatal("negative")
			}
		}
	}
}
