package cube

import (
	"archive/tar"
	"bytes"
	"flag"
	"io"
	"os"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/analysis/pattern"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

var update = flag.Bool("update", false, "write the goldens anew (then check them with Cube's own tools)")

// sample is a result of two hosts, one with two processes, with all that is special about texts and places.
func sample() (*pattern.Result, *model.Model) {
	r := &pattern.Result{
		Regions: []pattern.Region{{Name: "is.upc", Kind: "function"},
			{Name: "main", Kind: "function", File: "is.upc", Line: 10}, {Name: "upc_barrier", Kind: "barrier"},
			{Name: `operator<<(T&&, 'x', "y")`, Kind: "function"}, {Name: "upc_memget", Kind: "bulk"}},
		Calls: []pattern.Call{{Parent: -1}, {Parent: 0, Region: 1},
			{Parent: 1, Region: 2, File: "is.upc", Line: 12}, {Parent: 1, Region: 3},
			{Parent: 3, Region: 4, File: "sort.upc", Line: 40}, {Parent: 3, Region: 4, File: "sort.upc", Line: 44}},
		Threads: []pattern.Thread{{Node: 0, Host: "a"}, {Node: 1, Host: "b"}, {Node: 2, Host: "a"}},
	}
	for _, x := range []pattern.Metric{{ID: "time", Name: "Time", Parent: -1, Unit: pattern.NS},
		{ID: "wait-at-barrier", Name: "Wait at barrier", Parent: 0, Unit: pattern.NS, Pattern: 2},
		{ID: "visits", Name: "Visits", Parent: -1, Unit: pattern.Occ}} {
		x.Doc = "What it is,\n\tin \"two\" lines."
		for call := range r.Calls {
			if x.Pattern == 0 || call == 2 {
				n := int64(10*call + 1)
				x.Rows = append(x.Rows, pattern.Row{Call: call, Values: []int64{n, 2 * n, 0}})
			}
		}
		r.Metrics = append(r.Metrics, x)
	}
	m := &model.Model{Info: &trace.RunInfo{Program: "is.upc", Ended: "done",
		CommandLine: []string{"./is", "<A>", "it's"}}}
	for i, t := range r.Threads {
		m.Nodes = append(m.Nodes, model.Node{Host: t.Host, Process: i})
	}
	return r, m
}

// goldens are the documents of Cube 3 and Cube 4 of the sample, as they are in testdata.
func goldens(t *testing.T) (three, four []byte) {
	t.Helper()
	three, err := os.ReadFile("testdata/sample.cube")
	if err != nil {
		t.Fatal(err)
	}
	if four, err = os.ReadFile("testdata/sample.anchor.xml"); err != nil {
		t.Fatal(err)
	}
	return three, four
}

// Every byte of both formats is as it was when Cube's own tools read it, and the strict reader takes it.
func TestGoldens(t *testing.T) {
	r, m := sample()
	var three, archive bytes.Buffer
	if err := Write3(&three, r, m); err != nil {
		t.Fatal(err)
	}
	if err := Write(&archive, r, m, time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	in := tar.NewReader(&archive)
	if h, err := in.Next(); err != nil || h.Name != "anchor.xml" {
		t.Fatal(h, err)
	}
	four, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		for name, text := range map[string][]byte{"sample.cube": three.Bytes(), "sample.anchor.xml": four} {
			if err := os.WriteFile("testdata/"+name, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	wantThree, wantFour := goldens(t)
	if !bytes.Equal(three.Bytes(), wantThree) {
		t.Errorf("Cube 3:\n%s", three.Bytes())
	}
	if !bytes.Equal(four, wantFour) {
		t.Errorf("Cube 4:\n%s", four)
	}
	for format, doc := range map[int][]byte{3: wantThree, 4: wantFour} {
		if err := accepts(format, string(doc)); err != nil {
			t.Errorf("Cube %d: %v", format, err)
		}
	}
}
