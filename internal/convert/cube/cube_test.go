package cube

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/analysis/pattern"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

var names = rapid.SampledFrom([]string{"main", "upc_memget", "operator<(T&, \"x\")", "функция", "a&b",
	"\x00\x1b", "]]>", "", " ", "it's", "two\nlines\r\n\tand more", "\uffff\xff"})

// drawResult draws a result with trees of any shape, and a model of its nodes.
func drawResult(t *rapid.T) (*pattern.Result, *model.Model) {
	r := &pattern.Result{}
	units := []pattern.Unit{pattern.NS, pattern.Occ, pattern.Bytes}
	for i := range rapid.IntRange(1, 12).Draw(t, "metrics") {
		m := pattern.Metric{ID: fmt.Sprintf("metric-%d", i), Name: names.Draw(t, "name"),
			Parent: rapid.IntRange(-1, i-1).Draw(t, "parent"), Doc: names.Draw(t, "doc")}
		m.Unit = rapid.SampledFrom(units).Draw(t, "unit")
		if m.Parent >= 0 {
			m.Unit = r.Metrics[m.Parent].Unit
		}
		r.Metrics = append(r.Metrics, m)
	}
	for range rapid.IntRange(1, 5).Draw(t, "regions") {
		r.Regions = append(r.Regions, pattern.Region{Name: names.Draw(t, "region"),
			Kind: rapid.SampledFrom([]string{"function", "barrier", "bulk", "await"}).Draw(t, "kind"),
			File: names.Draw(t, "file"), Line: rapid.IntRange(0, 9).Draw(t, "line")})
	}
	path := []int{}
	for i := range rapid.IntRange(1, 12).Draw(t, "calls") {
		path = path[:rapid.IntRange(0, len(path)).Draw(t, "depth")]
		c := pattern.Call{Parent: -1, Region: rapid.IntRange(0, len(r.Regions)-1).Draw(t, "callee"),
			Line: rapid.IntRange(0, 9).Draw(t, "line")}
		if len(path) > 0 {
			c.Parent = path[len(path)-1]
		}
		path = append(path, i)
		r.Calls = append(r.Calls, c)
	}
	m := &model.Model{Info: &trace.RunInfo{Program: "prog", Ended: "done", CommandLine: []string{"oshrun",
		"<prog>"}}}
	hosts := []string{"", "a", "b"}
	for n := range rapid.IntRange(1, 5).Draw(t, "nodes") {
		host := rapid.SampledFrom(hosts).Draw(t, "host")
		m.Nodes = append(m.Nodes, model.Node{Host: host, Process: rapid.IntRange(0, n).Draw(t, "process")})
		for s := range rapid.IntRange(1, 2).Draw(t, "streams") {
			r.Threads = append(r.Threads, pattern.Thread{Node: n, Stream: s, Host: host})
		}
	}
	for i := range r.Metrics {
		for call := range r.Calls {
			if i+call > 0 && !rapid.Bool().Draw(t, "row") {
				continue // all results have some time and visits
			}
			row := pattern.Row{Call: call}
			for range r.Threads {
				row.Values = append(row.Values, rapid.Int64Range(0, 1<<52).Draw(t, "value"))
			}
			r.Metrics[i].Rows = append(r.Metrics[i].Rows, row)
		}
	}
	return r, m
}

// Metrics link to existing headings.
func TestExplained(t *testing.T) {
	text, err := os.ReadFile("../../../docs/pgas-patterns.md")
	if err != nil {
		t.Fatal(err)
	}
	anchors := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if heading := strings.TrimLeft(line, "#"); heading != line {
			anchors[strings.ReplaceAll(strings.ReplaceAll(strings.ToLower(strings.TrimSpace(heading)), ".", ""), " ",
				"-")] = true
		}
	}
	for metric, anchor := range explained {
		if !anchors[anchor] {
			t.Errorf("%s: there is no %s in %v", metric, anchor, slices.Sorted(maps.Keys(anchors)))
		}
	}
	if !anchors["the-metric-tree"] {
		t.Error("the metric tree is not there")
	}
}

// plain is text as a reader returns it.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r < ' ':
			return ' '
		case r == '\uffff':
			return '\ufffd'
		}
		return r
	}, s)
}

// wanted is what a reader should find, in the words of both formats.
func wanted(r *pattern.Result) (w read) {
	for _, m := range r.Metrics {
		w.Metrics = append(w.Metrics, readMetric{strings.ReplaceAll(m.ID, "-", "_"), plain(m.Name),
			map[pattern.Unit]string{pattern.NS: "sec", pattern.Occ: "occ", pattern.Bytes: "bytes"}[m.Unit],
			plain(m.Doc), m.Parent})
	}
	for _, c := range r.Calls {
		w.Calls = append(w.Calls, readCall{plain(r.Regions[c.Region].Name), c.Parent})
	}
	w.Values = map[[3]string]float64{}
	for i, m := range r.Metrics {
		for _, row := range m.Rows {
			for t, v := range row.Values {
				x := float64(v)
				if m.Unit == pattern.NS {
					x /= 1e9
				}
				if x != 0 {
					w.Values[key(i, row.Call, threadName(r.Threads[t]))] = x
				}
			}
		}
	}
	return w
}

func threadName(t pattern.Thread) string {
	if t.Stream > 0 {
		return fmt.Sprintf("thread %d.%d", t.Node, t.Stream)
	}
	return fmt.Sprintf("thread %d", t.Node)
}

func key(metric, call int, thread string) [3]string {
	return [3]string{fmt.Sprint(metric), fmt.Sprint(call), thread}
}

// check compares the result of reading; values must match to the last digit of the format.
func check(t interface {
	Helper()
	Fatalf(string, ...any)
}, got, want read, hosts map[string]string, r *pattern.Result) {
	t.Helper()
	if d := cmp.Diff(want.Metrics, got.Metrics); d != "" {
		t.Fatalf("metrics: %s", d)
	}
	if d := cmp.Diff(want.Calls, got.Calls); d != "" {
		t.Fatalf("call paths: %s", d)
	}
	if len(got.Values) != len(want.Values) {
		t.Fatalf("%d values, want %d", len(got.Values), len(want.Values))
	}
	for k, v := range want.Values {
		if g := got.Values[k]; math.Abs(g-v) > 1e-9 && math.Abs(g-v) > 1e-15*v {
			t.Fatalf("value %v is %g, want %g", k, g, v)
		}
	}
	if len(hosts) != len(r.Threads) {
		t.Fatalf("%d threads, want %d", len(hosts), len(r.Threads))
	}
	for _, x := range r.Threads {
		host := x.Host
		if host == "" {
			host = "localhost"
		}
		if got := hosts[threadName(x)]; got != host {
			t.Fatalf("%s is on %q, want %q", threadName(x), got, host)
		}
	}
}

func TestBothFormatsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, m := drawResult(t)
		var three, four bytes.Buffer
		if err := Write3(&three, r, m); err != nil {
			t.Fatal(err)
		}
		if err := Write(&four, r, m, time.Unix(0, 0)); err != nil {
			t.Fatal(err)
		}
		got, hosts, err := read3(three.Bytes())
		if err != nil {
			t.Fatalf("%v\n%s", err, three.Bytes())
		}
		check(t, got, wanted(r), hosts, r)
		got, hosts, err = readCubex(four.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		check(t, got, wanted(r), hosts, r)
	})
}

// TestSchema validates a document against the XML schema of the format.
func TestSchema(t *testing.T) {
	lint, err := exec.LookPath("xmllint")
	if err != nil {
		t.Skip("xmllint is not installed; Debian has it in libxml2-utils")
	}
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		if n++; n > 20 {
			return // each starts a process
		}
		r, m := drawResult(t)
		dir, err := os.MkdirTemp("", "cube")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		var out bytes.Buffer
		if err := Write3(&out, r, m); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, "a.cube")
		if err := os.WriteFile(name, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		if said, err := exec.Command(lint, "--noout", "--schema", "testdata/cube3.xsd",
			name).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s\n%s", err, said, out.Bytes())
		}
	})
}

func TestNothingToWrite(t *testing.T) {
	m := &model.Model{Info: &trace.RunInfo{}}
	for _, r := range []*pattern.Result{nil, {}} {
		if err := Write(io.Discard, r, m, time.Unix(0, 0)); err == nil || !strings.Contains(err.Error(),
			"no regions were recorded") {
			t.Errorf("%v", err)
		}
	}
	r := &pattern.Result{Metrics: []pattern.Metric{{Parent: -1}}, Regions: []pattern.Region{{}},
		Threads: []pattern.Thread{{}},
		Calls:   []pattern.Call{{Parent: -1}, {Parent: 0}, {Parent: -1}, {Parent: 1}}}
	if err := Write3(io.Discard, r, m); err == nil || !strings.Contains(err.Error(), "call path 3") {
		t.Errorf("%v", err)
	}
}

type broken struct{ left int }

func (b *broken) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}

func TestWriteFails(t *testing.T) {
	m := &model.Model{Info: &trace.RunInfo{}}
	r := &pattern.Result{Metrics: []pattern.Metric{{Parent: -1, Rows: []pattern.Row{{Values: []int64{1}}}}},
		Regions: []pattern.Region{{}}, Threads: []pattern.Thread{{}}, Calls: []pattern.Call{{Parent: -1}}}
	for left := range 900 {
		if Write(&broken{left}, r, m, time.Unix(0, 0)) == nil || Write3(&broken{left}, r, m) == nil {
			t.Fatalf("a writer that takes %d bytes and no more was not noticed", left)
		}
	}
}
