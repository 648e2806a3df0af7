package follow

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/trace"
)

// Ids of two runs, and what headers have of them.
const (
	runA, runB   = "aaaaaaaaaaaaaaaaaaaaaaaa00000001", "bbbbbbbbbbbbbbbbbbbbbbbb00000002"
	markA, markB = "aaaaaaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbbbbbbbbb"
)

// mixed makes a trace whose files are of the tracetest.Text runs, node after node ("": not told), with a
// run.json that has the id info ("": there is none). The events of a node are as many as its number says,
// from 1.
func mixed(t *testing.T, info string, runs ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	var nodes []trace.NodeInfo
	for node, run := range runs {
		w, err := trace.Create(dir, node, trace.Options{Run: run})
		if err != nil {
			t.Fatal(err)
		}
		for range node + 1 {
			w.Stream(0).Emit(5, trace.KindReadyQueue, uint64(node))
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, trace.NodeInfo{Node: node, Workers: 1})
	}
	if info != "" {
		if err := trace.WriteRunInfo(dir, &trace.RunInfo{ID: info, Ended: trace.EndedDone, Nodes: nodes}); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// read returns what a Reader and a Follower find: the nodes, whether there is a run.json, and the problems.
func read(t *testing.T, dir string) (nodes []int, info bool, problems []string) {
	t.Helper()
	r, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, p := range r.Problems() {
		problems = append(problems, p.String())
		if p.Kind != trace.Foreign {
			t.Errorf("%s is %v", p, p.Kind)
		}
	}
	f := New(dir)
	given := map[int]bool{}
	for range 2 {
		if _, err := f.Poll(context.Background(), func(b *tracefile.RawBlock) error {
			given[b.Node] = true
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	var followed []string
	for _, p := range f.Problems() {
		followed = append(followed, p.String())
	}
	slices.Sort(followed)
	if want := slices.Sorted(slices.Values(problems)); !slices.Equal(followed, want) {
		t.Errorf("followed: %q, read: %q", followed, want)
	}
	if !slices.Equal(f.Nodes(), r.Nodes()) || len(given) != len(r.Nodes()) || (f.Info().ID != "") != (r.Run() != nil) {
		t.Errorf("followed: nodes %v, %v, %+v", f.Nodes(), given, f.Info())
	}
	return r.Nodes(), r.Run() != nil, problems
}

// A file of another run is left out, and said to be, in one line.
func TestFilesOfTwoRuns(t *testing.T) {
	file := func(node int, own, by, run string) string {
		return fmt.Sprintf("%s: belongs to run %s, but %s to run %s: left out", tracefile.FileName(node), own, by, run)
	}
	for _, test := range []struct {
		info  string
		runs  []string
		nodes []int
		want  []string
	}{
		{runA, []string{runA, runA}, []int{0, 1}, nil},
		{runA, []string{runA, runB}, []int{0}, []string{file(1, markB, "run.json", markA)}},
		{runA, []string{runB, runB, runA}, []int{2}, []string{file(0, markB, "run.json", markA),
			file(1, markB, "run.json", markA)}},
		// Earlier writers told no run: such a file, and such a run.json, belong to any.
		{runA, []string{"", ""}, []int{0, 1}, nil},
		{runA, []string{"", runB}, []int{0}, []string{file(1, markB, "run.json", markA)}},
		{"", []string{runA, ""}, []int{0, 1}, nil},
		// Without run.json the files decide.
		{"", []string{runA, runB, runB}, []int{1, 2}, []string{file(0, markA, tracefile.FileName(1), markB)}},
		{"", []string{runA, runB}, []int{0}, []string{file(1, markB, tracefile.FileName(0), markA)}},
	} {
		dir := mixed(t, test.info, test.runs...)
		nodes, info, problems := read(t, dir)
		if !slices.Equal(nodes, test.nodes) || info != (test.info != "") || !slices.Equal(problems, test.want) {
			t.Errorf("%q %q: nodes %v, problems %q", test.info, test.runs, nodes, problems)
		}
	}
}

// Where no file is of the run in run.json, that is the foreign one.
func TestForeignRunInfo(t *testing.T) {
	nodes, info, problems := read(t, mixed(t, runA, runB, runB))
	want := []string{"run.json: belongs to run " + markA + ", but 00000.wst to run " + markB + ": left out"}
	if !slices.Equal(nodes, []int{0, 1}) || info || !slices.Equal(problems, want) {
		t.Errorf("nodes %v, run.json %v, problems %q", nodes, info, problems)
	}
}

// A Follower stays with the run that it has begun with: it never mixes two.
func TestFollowerStaysWithRun(t *testing.T) {
	dir := mixed(t, "", runA)
	f := New(dir)
	poll := func() (n int) {
		n, err := f.Poll(context.Background(), func(*tracefile.RawBlock) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if poll() == 0 {
		t.Fatal("nothing is there")
	}
	other := mixed(t, runB, "", runB, runB)
	for _, name := range []string{tracefile.FileName(1), tracefile.FileName(2), tracefile.RunFile} {
		if err := os.Rename(filepath.Join(other, name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if n := poll(); n != 0 || !slices.Equal(f.Nodes(), []int{0}) || f.Info().ID != "" || len(f.Problems()) != 3 {
		t.Errorf("%d blocks of nodes %v, %+v, %v", n, f.Nodes(), f.Info(), f.Problems())
	}
}
