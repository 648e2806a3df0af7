package placement_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/internal/run/placement"
)

// value is what an expression of a locator is for indices and counters.
func value(t testing.TB, e *luna.Expr, idx []int32, counters map[int]int32) int32 {
	of := func(e *luna.Expr) int32 { return value(t, e, idx, counters) }
	switch e.Op {
	case luna.OpInt:
		return int32(e.I)
	case luna.OpIndex:
		return idx[e.K]
	case luna.OpValue:
		return counters[e.Depth]
	case luna.OpNeg:
		return -of(e.A)
	case luna.OpAdd, luna.OpSub, luna.OpMul, luna.OpDiv, luna.OpMod:
		return luna.Arith(e.Op, of(e.A), of(e.B))
	case luna.OpLT:
		if of(e.A) < of(e.B) {
			return 1
		}
		return 0
	case luna.OpCond:
		if of(e.A) != 0 {
			return of(e.B)
		}
		return of(e.C)
	}
	t.Fatalf("an expression has operation %d", e.Op)
	return 0
}

func node(v int32, nodes int) int { return (int(v)%nodes + nodes) % nodes }

const twoLoops = `import make(int, name) as make;
import use(value) as use;
sub main(int n) {
	df x, y;
	for i = 2 .. n {
		for k = i + 1 .. 9 {
			make(i, x[i][k]) @ { req_count x[i][k] = 1; };
			use(x[i][k]);
		}
	}
	make(0, y);
}
`

// edited applies the patch of edits, and so tests it where there is patch.
func edited(t testing.TB, source string, edits []luna.Edit) string {
	t.Helper()
	patch, err := placement.Patch(edits, func(string) ([]byte, error) { return []byte(source), nil },
		func(string) string { return "prog.fa" })
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "patch")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "prog.fa")
	if err := os.WriteFile(file, []byte(source), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("patch", "-s", "-d", dir, "-p1")
	cmd.Stdin = strings.NewReader(patch)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s\n%s", err, out, patch)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Whatever a placement says, the rules written for it say the same.
func TestSource(t *testing.T) {
	if _, err := exec.LookPath("patch"); err != nil {
		t.Skip("there is no patch")
	}
	p := compiled(t, twoLoops)
	rapid.Check(t, func(rt *rapid.T) {
		nodes := rapid.IntRange(2, 5).Draw(rt, "nodes")
		small := func(what string, from, to int) int { return rapid.IntRange(from, to).Draw(rt, what) }
		a, b, c, d := small("a", -3, 3), small("b", -3, 3), small("c", 0, 4), small("d", 1, 4)
		random := small("random", 0, 1) * rapid.IntRange(0, 1).Draw(rt, "rare")
		var cfs, dfs []placement.Point
		wanted := map[[2]int32]int{}
		for i := int32(0); i < 4; i++ { // counters are i + 2, and k + i + 3
			for k := int32(0); k+i+3 <= 9; k++ {
				n := node((int32(a)*i+int32(b)*k+int32(c))/int32(d), nodes)
				if random == 1 {
					n = small("node", 0, nodes-1)
				}
				wanted[[2]int32{i, k}] = n
				cfs = append(cfs, placement.Point{At: []int32{i, k}, Node: uint16(n)})
				dfs = append(dfs, placement.Point{At: []int32{i + 2, k + i + 3}, Node: uint16(n)})
			}
		}
		f := &placement.File{Version: 1, Program: "prog.fa", Nodes: nodes,
			CFs: []placement.CFs{{Statement: "make(i, x[i][k])", Line: 7, Places: placement.Boxes(cfs)},
				{Statement: "use(x[i][k])", Line: 8, Places: placement.Boxes(cfs)}},
			DFs: []placement.DFs{{Name: "x", Places: placement.Boxes(dfs)}}}
		rules, edits := f.Source(p, &placement.File{})
		for _, r := range rules {
			if r.Why != "" {
				return // no expression was found
			}
		}
		text := edited(t, twoLoops, edits)
		q := compiled(t, text)
		for _, st := range q.Stmts {
			if !strings.HasPrefix(st.Text, "make(i") && !strings.HasPrefix(st.Text, "use(") {
				continue
			}
			for at, want := range wanted {
				i, k := at[0]+2, at[1]+at[0]+3
				got := node(value(t, st.Home.Expr, nil, map[int]int32{0: k, 1: i}), nodes)
				var ref *luna.DFRef
				if len(st.Inputs) > 0 {
					ref = st.Inputs[0].Ref
				} else {
					ref = st.Effects[0].Ref
				}
				kept := node(value(t, ref.Loc.Expr, []int32{i, k}, nil), nodes)
				if got != want || kept != want {
					rt.Fatalf("%s with i = %d, k = %d: on node %d, its DF on %d, not %d\n%s", st.Text, i, k, got, kept,
						want, text)
				}
			}
		}
	})
}

// An index that is always the same tells nothing of the nodes, and another one does.
func TestConstantIndex(t *testing.T) {
	p := compiled(t, twoLoops)
	f := &placement.File{Program: "prog.fa", Nodes: 2, DFs: []placement.DFs{{Name: "x", Places: []placement.Box{
		{Node: 0, At: []placement.Range{{0, 1, 1}, {4, 4, 1}}},
		{Node: 1, At: []placement.Range{{2, 2, 1}, {4, 4, 1}}},
		{Node: 0, At: []placement.Range{{3, 5, 1}, {4, 4, 1}}}}}}}
	rules, _ := f.Source(p, &placement.File{})
	const want = "locator_cyclic x[i][j] => (i < 2 ? 0 : (i < 3 ? 1 : 0));"
	if len(rules) == 0 || len(rules[0].Text) != 1 || rules[0].Text[0] != want {
		t.Errorf("%+v, not %s", rules, want)
	}
}

// The simplest expression is found, and written where rules are, or can be added.
func TestRules(t *testing.T) {
	const source = `import make(int, name) as make;
#define WHERE(i) $i + 1
sub helper(name v, int i) { make(i, v[i]); }
sub main(int n)
{
	df x;
	for i = 1 .. 8 {
		make(i, x[0][i]) @ { locator_cyclic: $WHERE(i); req_count x[0][i] = 1; };
		make(i, x[1][i]) @ { req_count x[1][i] = 1; };
		make(i, x[2][i]);
	}
	helper(x[3], 1);
} @ { locator_cyclic x[a][b] => b; }
`
	p := compiled(t, source)
	table := func(f func(i int32) int32) (list []placement.Box) {
		for i := range int32(8) {
			list = append(list, placement.Box{Node: int(f(i)), At: []placement.Range{{i, i, 1}}})
		}
		return list
	}
	var dfs []placement.Box
	for i := range int32(10) {
		dfs = append(dfs, placement.Box{Node: int(i) % 3, At: []placement.Range{{0, 4, 1}, {i, i, 1}}})
	}
	f := &placement.File{Program: "prog.fa", Nodes: 3, CFs: []placement.CFs{
		{Statement: "make(i, x[0][i])", Line: 8, Places: table(func(i int32) int32 { return i / 3 })},
		{Statement: "make(i, x[1][i])", Line: 9, Places: table(func(i int32) int32 { return i % 3 })},
		{Statement: "make(i, x[2][i])", Line: 10, Places: table(func(int32) int32 { return 2 })}},
		DFs: []placement.DFs{{Name: "x", Places: dfs}}}
	rules, edits := f.Source(p, &placement.File{})
	got := ""
	for _, r := range rules {
		got += fmt.Sprintf("%d %s%s\n", r.Line, strings.Join(r.Text, " "), r.Why)
	}
	const want = `3 locator_cyclic v[i] => i; locator_cyclic x[a][b] => b;
8 locator_cyclic: (i - 1) / 3;
9 locator_cyclic: i + 2;
10 locator_cyclic: 2;
`
	if got != want {
		t.Errorf("got\n%swanted\n%s", got, want)
	}
	if _, err := exec.LookPath("patch"); err != nil {
		t.Skip("there is no patch")
	}
	text := edited(t, source, edits)
	for _, line := range []string{
		"sub helper(name v, int i) { make(i, v[i]); } @ {\n    locator_cyclic v[i] => i;\n}\n",
		"make(i, x[0][i]) @ { locator_cyclic: (i - 1) / 3; req_count x[0][i] = 1; };",
		"make(i, x[1][i]) @ { locator_cyclic: i + 2; req_count x[1][i] = 1; };",
		"make(i, x[2][i]) @ { locator_cyclic: 2; };"} {
		if !strings.Contains(text, line) {
			t.Errorf("%q is not in\n%s", line, text)
		}
	}
	compiled(t, text)
}
