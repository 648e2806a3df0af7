package dot

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

const run = `#run {"program":"a \"b\".fa","ended":"done","nodes":[{"node":0,"process":0,"workers":1}]}
#node 0
#code 1 main sub
#code 2 "say, \"hi\"\\" atomic
#code 3 hear atomic
#site 1 code=1
#site 2 code=2
#site 3 code=3
#df 1 x [0 1 7]
0 Global.onProgramStarted
1 CF.onCreated cf=0.1 site=1
2 CF.onStarted 0.1
3 CF.onCreated cf=0.2 site=2 parent=0.1
4 CF.onCreated cf=0.3 site=3 parent=0.1 indices=[4]
5 CF.onFinished 0.1
6 CF.onStarted 0.2
1000006 CF.onFinished 0.2
1000007 DF.onCreate 1 size=8 cf=0.2
1000008 CF.onStarted 0.3 inputs=[1]
1500008 CF.onFinished 0.3
1500009 Global.onProgramFinished
`

func write(t sloutest.TB, f func(context.Context, io.Writer, *model.Model) error, m *model.Model) string {
	var b strings.Builder
	if err := f(context.Background(), &b, m); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestGraphs(t *testing.T) {
	m := sloutest.Build(t, run)
	const head = `digraph "a \"b\".fa" {
  node [fontname="sans-serif"];
  edge [fontname="sans-serif", fontsize=10];
`
	const codes = head + `  c1 [shape=ellipse, label="main\n1 x, 3e-06 ms"];
  c2 [shape=box, label="say, \"hi\"\\\n1 x, 1 ms"];
  c3 [shape=box, label="hear\n1 x, 0.5 ms"];
  c2 -> c3 [label="x (1)"];
  c1 -> c2 [style=dashed, label="1"];
  c1 -> c3 [style=dashed, label="1"];
}
`
	if got := write(t, Codes, m); got != codes {
		t.Errorf("%s\nnot\n%s", got, codes)
	}
	got := regexp.MustCompile(`t\d+`).ReplaceAllStringFunc(write(t, CFs, m), func(s string) string {
		var cf model.CF
		fmt.Sscanf(s, "t%d", &cf)
		return fmt.Sprintf("t%d", m.CFID(cf).Counter())
	})
	const cfs = head + `  t1 [shape=ellipse, label="main"];
  t2 [shape=box, label="say, \"hi\"\\"];
  t1 -> t2 [style=dashed];
  t3 [shape=box, label="hear[4]"];
  t1 -> t3 [style=dashed];
  t2 -> t3 [label="x[7]"];
}
`
	if got != cfs {
		t.Errorf("%s\nnot\n%s", got, cfs)
	}
}

// TestRandom: every input that somebody made is an edge, of CFs one each, by code in sum.
func TestRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := sloutest.Build(t, sloutest.Random(t).Text())
		want := 0
		for e := range m.Executions() {
			for _, df := range m.Inputs(e) {
				if at, ok := m.Creation(df, m.ExecStart[e]); ok && m.MadeBy[at] != 0 {
					want++
				}
			}
		}
		edges := regexp.MustCompile(`(?m)^  t\d+ -> t\d+ \[label=`).FindAllString(write(t, CFs, m), -1)
		if len(edges) != want {
			t.Fatalf("%d edges between CFs, not %d", len(edges), want)
		}
		sum := 0
		for _, l := range regexp.MustCompile(`(?m)^  c\d+ -> c\d+ \[label=.*\((\d+)\)"\];$`).FindAllStringSubmatch(
			write(t, Codes, m), -1) {
			n := 0
			fmt.Sscan(l[1], &n)
			sum += n
		}
		if sum != want {
			t.Fatalf("%d edges by code, not %d", sum, want)
		}
	})
}

// TestGraphviz: Graphviz reads what is written, where it is installed.
func TestGraphviz(t *testing.T) {
	if _, err := exec.LookPath("dot"); err != nil {
		t.Skip("no dot here: apt-get install graphviz")
	}
	m := sloutest.Build(t, run)
	for _, f := range []func(context.Context, io.Writer, *model.Model) error{Codes, CFs} {
		c := exec.Command("dot", "-Tplain")
		c.Stdin = strings.NewReader(write(t, f, m))
		out, err := c.CombinedOutput()
		if err != nil || strings.Count(string(out), "\nnode ") != 3 || strings.Count(string(out), "\nedge ") != 3 {
			t.Errorf("%v: %s", err, out)
		}
	}
}

// TestNames: Graphviz draws names as they are, control characters as their pictures.
func TestNames(t *testing.T) {
	if _, err := exec.LookPath("dot"); err != nil {
		t.Skip("no dot here: apt-get install graphviz")
	}
	c := exec.Command("dot", "-Tsvg")
	c.Stdin = strings.NewReader(write(t, Codes, sloutest.Build(t, sloutest.Named())))
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	var drawing struct {
		Nodes []struct {
			Lines []string `xml:"text"`
		} `xml:"g>g"`
	}
	if err := xml.Unmarshal(out, &drawing); err != nil || len(drawing.Nodes) != len(sloutest.Names) {
		t.Fatalf("%v: %s", err, out)
	}
	for i, name := range sloutest.Names {
		want := strings.NewReplacer("\r", "", "\x00", "\u2400", "\x1b", "\u241b").Replace(name) + "\n1 x, 4e-06 ms"
		if got := strings.ReplaceAll(strings.Join(drawing.Nodes[i].Lines, "\n"), "\u00a0", " "); got != want {
			t.Errorf("%q: %q", want, got)
		}
	}
}

func TestErrors(t *testing.T) {
	m := sloutest.Build(t, run)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, f := range []func(context.Context, io.Writer, *model.Model) error{Codes, CFs} {
		if err := f(ctx, io.Discard, m); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if err := f(context.Background(), failing{}, m); !errors.Is(err, errFull) {
			t.Error(err)
		}
	}
}

var errFull = errors.New("full")

// failing cannot be written to.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errFull }
