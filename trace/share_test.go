package trace

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/tracefile"
)

// The parts of a trace have each node once, neighbours together, know all of them, and tell together what is
// wrong with it, in the order in which one reader does.
func TestOpenShare(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir := t.TempDir()
		nodes := rapid.IntRange(1, 9).Draw(rt, "nodes")
		info := &RunInfo{}
		for n := range nodes + rapid.IntRange(0, 1).Draw(rt, "missing") {
			info.Nodes = append(info.Nodes,
				NodeInfo{Node: n, Workers: 1, Unwritten: uint64(rapid.IntRange(0, 1).Draw(rt, "unwritten"))})
		}
		for n := range nodes {
			if n > 0 && rapid.IntRange(0, 5).Draw(rt, "no file") == 0 {
				continue
			}
			w, err := Create(dir, n, Options{})
			if err != nil {
				rt.Fatal(err)
			}
			for i := range rapid.IntRange(0, 3000).Draw(rt, "events") {
				w.Stream(0).Emit(int64(i), KindIdle)
			}
			if err := w.Close(); err != nil {
				rt.Fatal(err)
			}
			path := filepath.Join(dir, tracefile.FileName(n))
			b, err := os.ReadFile(path)
			if err != nil {
				rt.Fatal(err)
			}
			switch rapid.IntRange(0, 5).Draw(rt, "damage") {
			case 0:
				b = b[:rapid.IntRange(0, len(b)).Draw(rt, "cut")]
			case 1:
				b[rapid.IntRange(0, 40).Draw(rt, "at")] ^= 1
			}
			if err := os.WriteFile(path, b, 0o600); err != nil {
				rt.Fatal(err)
			}
		}
		if err := WriteRunInfo(dir, info); err != nil {
			rt.Fatal(err)
		}
		whole, err := Open(dir)
		if err != nil {
			if _, err := OpenShare(dir, 1, 2); err == nil {
				rt.Fatal("one part can be opened, the whole cannot")
			}
			return
		}
		defer whole.Close()
		parts := rapid.IntRange(1, 5).Draw(rt, "parts")
		var all []int
		var problems []string
		for p := range parts {
			r, err := OpenShare(dir, p, parts)
			if err != nil {
				rt.Fatal(err)
			}
			if !slices.Equal(r.AllNodes(), whole.Nodes()) {
				rt.Fatalf("all nodes of part %d: %v, not %v", p, r.AllNodes(), whole.Nodes())
			}
			for _, n := range r.Nodes() {
				if r.ShareOf(n) != p {
					rt.Fatalf("part %d has node %d of part %d", p, n, r.ShareOf(n))
				}
			}
			all = append(all, r.Nodes()...)
			for _, problem := range r.Problems() {
				problems = append(problems, problem.String())
			}
			r.Close()
		}
		if !slices.Equal(all, whole.Nodes()) {
			rt.Fatalf("the parts have the nodes %v, there are %v", all, whole.Nodes())
		}
		var want []string
		for _, problem := range whole.Problems() {
			want = append(want, problem.String())
		}
		if !slices.Equal(problems, want) {
			rt.Fatalf("the parts tell\n%q, the whole\n%q", problems, want)
		}
	})
}

// Files of different sizes are dealt so that the largest part is as small as can be.
func TestShareBalance(t *testing.T) {
	for _, c := range []struct {
		sizes []int64
		parts int
		want  string
	}{
		{[]int64{1, 1, 1, 1}, 2, "[0 0 1 1]"},
		{[]int64{1, 1, 10}, 2, "[0 0 1]"},
		{[]int64{10, 1, 1}, 2, "[0 1 1]"},
		{[]int64{5}, 3, "[0]"},
		{[]int64{3, 3, 3}, 2, "[0 0 1]"},
		{[]int64{1, 2, 3, 4, 5}, 3, "[0 0 0 1 2]"},
	} {
		r := &Reader{parts: c.parts}
		var files []*tracefile.File
		for n, size := range c.sizes {
			files = append(files, &tracefile.File{Node: n, Size: size})
		}
		r.share(files)
		var got []int
		for n := range c.sizes {
			got = append(got, r.ShareOf(n))
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%v in %d parts: %v, want %v", c.sizes, c.parts, got, c.want)
		}
	}
}
