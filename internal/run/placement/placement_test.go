package placement_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/internal/run/placement"
)

// Blocks that repeat in time are one box each, cyclic ones a stride.
func TestBoxes(t *testing.T) {
	var blocks, cyclic []placement.Point
	for i := range int32(100) {
		for s := range int32(8) {
			blocks = append(blocks, placement.Point{At: []int32{i, s}, Node: uint16(s / 4)})
			cyclic = append(cyclic, placement.Point{At: []int32{i, s}, Node: uint16(s % 2)})
		}
	}
	box := func(node int, r placement.Range) placement.Box {
		return placement.Box{Node: node, At: []placement.Range{{0, 99, 1}, r}}
	}
	if d := cmp.Diff([]placement.Box{box(0, placement.Range{0, 3, 1}), box(1, placement.Range{4, 7, 1})},
		placement.Boxes(blocks)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]placement.Box{box(0, placement.Range{0, 6, 2}), box(1, placement.Range{1, 7, 2})},
		placement.Boxes(cyclic)); d != "" {
		t.Error(d)
	}
}

// program is the one that the files of the tests are about.
const program = `import make(int, name) as make;
import use(value) as use;
sub main() {
	df x, y;
	for i = 0 .. 9 {
		make(i, x[i]);
		use(x[i]);
	}
	make(0, y);
	make(0, y);
}
`

func compiled(t testing.TB, source string) *luna.Program {
	t.Helper()
	p, err := luna.Compile(luna.Options{File: "prog.fa", Source: []byte(source)})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Whatever is placed is written, read and found again.
func TestThereAndBack(t *testing.T) {
	p := compiled(t, program)
	rapid.Check(t, func(t *rapid.T) {
		points := map[int32]uint16{}
		var list []placement.Point
		for _, i := range rapid.SliceOfNDistinct(rapid.Int32Range(-5, 40), 1, 30, rapid.ID).Draw(t, "at") {
			points[i] = uint16(rapid.IntRange(0, 3).Draw(t, "node"))
			list = append(list, placement.Point{At: []int32{i}, Node: points[i]})
		}
		f := &placement.File{Version: placement.Version, Program: "prog.fa", Nodes: 4,
			CFs: []placement.CFs{{Statement: "use(x[i])", Line: 7, Places: placement.Boxes(list)}},
			DFs: []placement.DFs{{Name: "x", Places: placement.Boxes(list)}}}
		var b bytes.Buffer
		if err := f.Write(&b); err != nil {
			t.Fatal(err)
		}
		read, err := placement.Parse(b.Bytes())
		if err != nil {
			t.Fatalf("%v\n%s", err, b.String())
		}
		if d := cmp.Diff(f, read); d != "" {
			t.Fatal(d)
		}
		bound, err := read.Bind(p)
		if err != nil || bound.Unknown != "" {
			t.Fatalf("%v, %q", err, bound.Unknown)
		}
		for _, st := range p.Stmts {
			if st.Text == "use(x[i])" && len(bound.CFs[st.ID]) != len(points) {
				t.Fatalf("%v of %v", bound.CFs[st.ID], points)
			}
		}
		for i, node := range points {
			for id, d := range p.Decls {
				if got, ok := bound.DFs[id][placement.Key([]int32{i})]; d.Name == "x" && (!ok || got != node) {
					t.Fatalf("x[%d] is on node %d (%v), not %d", i, got, ok, node)
				}
			}
		}
	})
}

// What does not match is named; nothing at all is another program.
func TestBind(t *testing.T) {
	f := &placement.File{Program: "prog.fa", CFs: []placement.CFs{
		{Statement: "use(x[i])", Line: 70, Places: []placement.Box{{Node: 1, At: []placement.Range{{0, 9, 1}}}}},
		{Statement: "make(0, y)", Line: 90, Places: []placement.Box{{Node: 2}}},
		{Statement: "make(0, y)", Line: 95, Places: []placement.Box{{Node: 3}}}}}
	p := compiled(t, program)
	b, err := f.Bind(p)
	if err != nil || b.Unknown != "" {
		t.Fatalf("lines that have moved: %v, %q", err, b.Unknown)
	}
	var nodes []uint16
	for _, st := range p.Stmts {
		if st.Text == "make(0, y)" {
			nodes = append(nodes, b.CFs[st.ID][placement.Key(nil)])
		}
	}
	if len(nodes) != 2 || nodes[0] != 2 || nodes[1] != 3 {
		t.Errorf("two statements of one text go to %v", nodes)
	}
	b, err = f.Bind(compiled(t, strings.Replace(program, "use(x[i])", "use(x[9 - i])", 1)))
	if err != nil || !strings.Contains(b.Unknown, "it has no use(x[i]); 1 of 3 entries do not count") {
		t.Errorf("%v, %+v", err, b)
	}
	f.Program = "prag.fa"
	f.DFs = append(f.DFs, placement.DFs{Name: "a"}, placement.DFs{Name: "b"}, placement.DFs{Name: "c"})
	if _, err = f.Bind(p); err != nil {
		t.Errorf("half of it under another name: %v", err)
	}
	f.DFs = append(f.DFs, placement.DFs{Name: "d"})
	if _, err = f.Bind(p); !errors.Is(err, placement.ErrOther) {
		t.Errorf("less than half of it under another name: %v", err)
	}
	f.Program = "prog.fa"
	_, err = f.Bind(compiled(t, "import f() as f;\nsub main() { f(); }\n"))
	if err == nil || err.Error() != "it is for another program, prog.fa" {
		t.Errorf("another program: %v", err)
	}
}

func TestParse(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "it ends too early"},
		{"{", "it ends too early"},
		{"[]", "not a placement"},
		{`{"version": 2}`, "its version is 2, this whyslow reads version 1"},
		{`{"version": 1} {}`, "something follows its end"},
		{`{"version": 1, "dfs": [{"name": "x", "places": [{"node": 65536, "at": []}]}]}`, "node 65536"},
		{`{"version": 1, "dfs": [{"name": "x", "places": [{"node": -1, "at": []}]}]}`, "node -1"},
		{`{"version": 1, "dfs": [{"name": "x", "places": [{"node": 0, "at": [[2,1]]}]}]}`, "is not a range"},
		{`{"version": 1, "dfs": [{"name": "x", "places": [{"node": 0, "at": [[0,9,0]]}]}]}`, "is not a range"},
		{`{"version": 1, "dfs": [{"name": "x", "places": [{"node": 0, "at": [[0,99999],[0,99999]]}]}]}`, "more than"},
	} {
		if _, err := placement.Parse([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, not %q", c.text, err, c.want)
		}
	}
}

// Nothing that is read makes the reader fail otherwise than with an error, or lose what it says.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"version": 1, "nodes": 2, "cfs": [{"statement": "s", "line": 3, "places": [{"node": 1, "at": [[0,9,3]]}]}]}`))
	f.Add([]byte(`{"version": 1, "dfs": [{"name": "x", "places": [{"node": 0, "at": [[0,9],[4]]}, {"node": 1, "at": []}]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := placement.Parse(text)
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := file.Write(&b); err != nil {
			t.Fatal(err)
		}
		again, err := placement.Parse(b.Bytes())
		if err != nil {
			t.Fatalf("%v\n%s", err, b.String())
		}
		if file.LastNode() != again.LastNode() || len(file.CFs) != len(again.CFs) {
			t.Fatalf("%s\n%s", text, b.String())
		}
	})
}
