package counters_test

import (
	"context"
	"encoding/json"

	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/analysis/counters"
	"github.com/whyslow/whyslow/internal/model"
	_ "github.com/whyslow/whyslow/internal/testkit/effort"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/trace"
)

// line is an event as the text twin has it.
type line struct {
	time         int64
	node, stream int
	text         string // behind the stream
}

// script is a run as text: definitions, then events.
type script struct {
	nodes  int
	header string
	lines  []line
}

func (s *script) text(keep func(i int) bool) string {
	var b strings.Builder
	b.WriteString(s.header)
	for i, l := range s.lines {
		if keep == nil || keep(i) {
			fmt.Fprintf(&b, "%d n%d s%d %s\n", l.time, l.node, l.stream, l.text)
		}
	}
	return b.String()
}

// opened is a trace and its model.
type opened struct {
	dir string
	r   *trace.Reader
	m   *model.Model
}

func open(t sloutest.TB, text string) *opened {
	t.Helper()
	dir, err := os.MkdirTemp("", "properties")
	if err != nil {
		t.Fatal(err)
	}
	if err := twin.Parse(strings.NewReader(text), dir); err != nil {
		t.Fatal(err)
	}
	return load(t, dir)
}

func load(t sloutest.TB, dir string) *opened {
	t.Helper()
	r, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	m, err := model.Build(context.Background(), r, model.Options{Interpolated: true})
	if err != nil {
		t.Fatal(err)
	}
	return &opened{dir, r, m}
}

func (o *opened) close() {
	o.r.Close()
	os.RemoveAll(o.dir)
}

func (o *opened) set(t sloutest.TB) *counters.Properties {
	t.Helper()
	s, err := counters.FromModel(context.Background(), o.m, o.r)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// streams gives the events of every stream, each as one batch.
func (o *opened) streams(t sloutest.TB) map[[2]int]*trace.Batch {
	t.Helper()
	out := map[[2]int]*trace.Batch{}
	err := o.r.EachStream(1, func(c *trace.Cursor) error {
		all := &trace.Batch{Node: c.Node, Stream: c.Stream, Off: []uint32{0}}
		var b trace.Batch
		for c.Next(&b) {
			for i := range b.N {
				all.N++
				all.Time, all.Kind = append(all.Time, b.Time[i]), append(all.Kind, b.Kind[i])
				all.Words = append(all.Words, b.Args(i)...)
				all.Off = append(all.Off, uint32(len(all.Words)))
			}
		}
		out[[2]int{c.Node, c.Stream}] = all
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// part gives some events of a batch as a block of their own.
func part(b *trace.Batch, from, to int) *trace.Batch {
	p := &trace.Batch{Node: b.Node, Stream: b.Stream, N: to - from, Time: b.Time[from:to],
		Kind: b.Kind[from:to], Off: []uint32{0}}
	p.First, p.Last = slices.Min(p.Time), slices.Max(p.Time)
	for i := from; i < to; i++ {
		p.Words = append(p.Words, b.Args(i)...)
		p.Off = append(p.Off, uint32(len(p.Words)))
	}
	return p
}

// allNames are those of all properties of nodes and of links.
func allNames() (nodes, links string) {
	var list [2][]string
	for _, p := range counters.All() {
		i := 0
		if p.Of == "link" {
			i = 1
		}
		list[i] = append(list[i], p.Name)
	}
	return strings.Join(list[0], ","), strings.Join(list[1], ",")
}

var matrixValues = []string{"objects", "object_bytes", "messages", "message_bytes", "data_messages",
	"data_bytes", "send_queue", "flight_ns", "bandwidth"}

// everything asks a set about an interval.
func everything(t sloutest.TB, s *counters.Properties, from, to, at int64, n int) []any {
	t.Helper()
	out := []any{s.At(at), s.At(to), s.Balance()}
	keep := func(v any, err error) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
	nodes, links := allNames()
	for _, which := range []string{"all", "sum"} {
		a, err := s.Series(counters.SeriesQuery{Names: nodes, Nodes: which, From: from, To: to, Points: n})
		keep(a, err)
		a, err = s.Series(counters.SeriesQuery{Names: links, Links: which, From: from, To: to, Points: n})
		keep(a, err)
	}
	for _, v := range matrixValues {
		m, err := s.Matrix(v, from, to)
		keep(m, err)
	}
	m, err := s.Memory(context.Background(), counters.MemoryQuery{From: from, To: to, Points: n})
	m.Holders, m.HoldersMore = nil, 0
	keep(m, err)
	return out
}

func asJSON(t sloutest.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// golden compares a text with testdata/NAME.txt.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", path, d)
	}
}

// randomScript makes a run of everything that properties are made of. Where harmed, it makes little sense.
func randomScript(t *rapid.T, harmed, drifting bool) *script {
	run := sloutest.Random(t)
	switch rapid.IntRange(0, 5).Draw(t, "end") {
	case 0:
		run.Kill(t)
	case 1:
		run.Stick(t)
	default:
		run.Ended = "done"
	}
	if harmed {
		run.Harm(t)
	}
	s := &script{nodes: run.Nodes}
	text, events := run.Text(), run.EventText()
	s.header = strings.TrimSuffix(text, events)
	n := func(lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, "n") }
	lines := strings.SplitAfter(events, "\n")
	for i, e := range run.Events {
		what := strings.SplitN(strings.TrimSuffix(lines[i], "\n"), " ", 4)[3]
		if e.Kind == "CFEvents.onCreated" && n(0, 9) == 0 {
			what = strings.Replace(what, "indices=", fmt.Sprintf("weight=%d.5 indices=", n(0, 3)), 1)
		}
		s.lines = append(s.lines, line{e.Time, e.Node, e.Stream, what})
	}
	end := int64(0)
	for _, l := range s.lines {
		end = max(end, l.time)
	}
	add := func(at int64, node int, format string, args ...any) {
		s.lines = append(s.lines, line{at, node, []int{0, sloutest.System, 11}[n(0, 2)],
			fmt.Sprintf(format, args...)})
	}
	at := func(lo int64) int64 { return rapid.Int64Range(min(lo, end), end).Draw(t, "t") }
	node := func() int { return n(0, run.Nodes-1) }
	if run.DFs > 0 {
		for range n(0, 25) {
			df, where, from := n(1, run.DFs), node(), at(0)
			add(from, where, "DFEvents.onStored df=%d size=8", df)
			if n(0, 5) > 0 {
				add(at(from), where, "DFEvents.onDropped df=%d size=8", df)
			}
		}
		for range n(0, 6) {
			add(at(0), node(), "DFEvents.onDestroy df=%d size=8 reason=expired", n(1, run.DFs))
		}
		for range n(0, 3) * n(0, 1) {
			add(at(0), node(), "DFEvents.onCreate df=%d size=%d cf=-", n(1, run.DFs), n(0, 100))
		}
	}
	for where := range run.Nodes {
		for range n(0, 5) {
			s.lines = append(s.lines, line{at(0), where, 12,
				fmt.Sprintf("GlobalEvents.onReadyQueue length=%d", n(0, 9))})
		}
		for range n(0, 5) {
			s.lines = append(s.lines, line{at(0), where, 12,
				fmt.Sprintf("GlobalEvents.onSendQueue peer=%d length=%d", node(), n(0, 9))})
		}
		for range n(0, 5) {
			add(at(0), where, "GlobalEvents.onRelations inner=%d outer=%d", n(-5, 9), n(-5, 9))
		}
	}
	slices.SortStableFunc(s.lines, func(a, b line) int {
		if harmed {
			return 0
		}
		return int(a.time - b.time)
	})
	if drifting {
		for where := 1; where < run.Nodes; where++ {
			last := int64(0)
			for range n(1, 4) {
				// Its clock may run backwards on the common one.
				i := n(0, len(s.lines)-1)
				if last = max(last, s.lines[i].time); n(0, 3) == 0 {
					last = s.lines[i].time
				}
				s.lines = slices.Insert(s.lines, i,
					line{last, where, 13, fmt.Sprintf("GlobalEvents.onClockSync offset=%d error=1",
						n(-30, 30))})
			}
		}
	}
	return s
}
