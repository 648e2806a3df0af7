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

func (o *opened) set(t sloutest.TB) counters.Set {
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

var matrixValues = []string{"objects", "object_bytes", "messages", "message_bytes", "send_queue", "flight_ns",
	"bandwidth"}

// everything asks a set about an interval.
func everything(t sloutest.TB, s counters.Set, from, to, at int64, n int) []any {
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

// sameSet compares two sets in all that can be asked.
func sameSet(t *rapid.T, got, want counters.Set, wall int64) error {
	from := rapid.Int64Range(-3, wall).Draw(t, "from")
	to := rapid.Int64Range(from+1, wall+5).Draw(t, "to")
	if rapid.Bool().Draw(t, "whole") {
		from, to = 0, max(wall, 1)
	}
	at := rapid.Int64Range(-1, wall+1).Draw(t, "at")
	n := rapid.IntRange(1, 12).Draw(t, "points")
	g, w := everything(t, got, from, to, at, n), everything(t, want, from, to, at, n)
	for i := range g {
		if d := cmp.Diff(w[i], g[i]); d != "" {
			return fmt.Errorf("[%d, %d) at %d in %d windows, of %d (-model +live):\n%s", from, to, at, n,
				wall, d)
		}
	}
	return nil
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
