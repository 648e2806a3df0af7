package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/internal/run/luna/records"
)

// debug runs a program in debug mode and returns its record files, with block numbers replaced by the
// statements they stand for: {fill}.
func debug(t *testing.T, src string, s shape) (files map[string]string, p *luna.Program) {
	t.Helper()
	p = compile(t, src)
	dir := t.TempDir()
	for _, old := range []string{"id.0.map.list", "cf.7.json.list", "pending.0.json.list"} {
		if err := os.WriteFile(filepath.Join(dir, old), []byte("old\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	rec, err := records.New(dir, p, -1, 0)
	if err != nil {
		t.Fatal(err)
	}
	s.set = func(c *engine.Config) { c.Records = rec }
	o := runProgram(t, p, s)
	var stuck *engine.StuckError
	if o.err != nil && !errors.As(o.err, &stuck) {
		t.Fatal(o.err)
	}
	if stuck != nil {
		for _, c := range stuck.CFs {
			if !c.Executed {
				rec.Pending(c.Node, c.ID, []records.Awaited{{ID: c.Awaits[0].ID, Text: c.Awaits[0].Text}})
			}
		}
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	files = map[string]string{}
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[f.Name()] = string(text)
	}
	return files, p
}

// blockNames gives the name of each block number: the statement, or what it is of.
func blockNames(p *luna.Program) map[int]string {
	names := map[int]string{}
	for _, st := range p.Stmts {
		names[records.Block(p, st)] = st.Text
	}
	return names
}

func TestSection9_2_Records(t *testing.T) {
	const src = `
		sub fill(name row, int upto) for k = 0 .. upto put(row[k], k * k);
		sub main()
		{
			df grid, other, unused, lost;
			fill(grid[7], 1);
			out_i("grid", grid[7][0] + grid[7][1]) >> (other[1]);
			out_i("lost", lost[2 + 1] + other[1]);
			if grid[7][0] none();
			cf lab: none();
		}`
	files, p := debug(t, src, one)
	if got := keys(files); got != "cf.0.json.list id.0.map.list pending.0.json.list" {
		t.Fatal("files ", got)
	}
	names := blockNames(p)
	var ids []string
	for _, l := range strings.Split(strings.TrimSpace(files["id.0.map.list"]), "\n") {
		var node, number, block int
		var name string
		if _, err := fmt.Sscanf(strings.Replace(l, ">", " ", 1), "%d %d %s %d", &node, &number, &name,
			&block); err != nil || strings.Count(l, " ") != 2 {
			t.Fatalf("%q: %v", l, err)
		}
		ids = append(ids, fmt.Sprintf("%d %d>%s in %s", node, number, name, names[block]))
	}
	if got, want := strings.Join(ids, "\n"), "0 0>grid in sub main()\n0 1>other in sub main()\n0 2>lost in sub "+
		"main()\n0 3>lab in sub main()"; got != want {
		t.Errorf("names\n%s\nwanted\n%s", got, want)
	}
	type line struct {
		ID [2]int
		H  []int
		I  [][]int
		O  [][]int
	}
	var cfs []string
	for _, l := range strings.Split(strings.TrimSpace(files["cf.0.json.list"]), "\n") {
		var c line
		if err := json.Unmarshal([]byte(l), &c); err != nil || strings.Contains(l, " ") || !strings.HasPrefix(l,
			`{"id":[0,`) {
			t.Fatalf("%q: %v", l, err)
		}
		h := []string{}
		for _, b := range c.H {
			h = append(h, names[b])
		}
		cfs = append(cfs, fmt.Sprintf("%s i%v o%v", strings.Join(h, " / "), c.I, c.O))
		again, _ := json.Marshal(struct {
			ID [2]int  `json:"id"`
			H  []int   `json:"h"`
			I  [][]int `json:"i,omitempty"`
			O  [][]int `json:"o,omitempty"`
		}(c))
		if string(again) != l {
			t.Errorf("%s is not in canonical form: %s", l, again)
		}
	}
	slices.Sort(cfs)
	want := []string{
		"sub main() / fill(grid[7], 1) i[] o[]",
		"sub main() / fill(grid[7], 1) / sub fill(name row, int upto) / for k = 0 .. upto i[] o[]",
		"sub main() / fill(grid[7], 1) / sub fill(name row, int upto) / for k = 0 .. upto / put(row[k], k * k) " +
			"i[] o[[0 0 7 0]]",
		"sub main() / fill(grid[7], 1) / sub fill(name row, int upto) / for k = 0 .. upto / put(row[k], k * k) " +
			"i[] o[[0 0 7 1]]",
		"sub main() / if grid[7][0] i[[0 0 7 0]] o[]",
		`sub main() / none() i[] o[]`,
		`sub main() / out_i("grid", grid[7][0] + grid[7][1]) i[[0 0 7 0] [0 0 7 1]] o[[0 1 1]]`,
		`sub main() / out_i("lost", lost[2 + 1] + other[1]) i[[0 2 3] [0 1 1]] o[]`,
	}
	slices.Sort(want)
	if got := strings.Join(cfs, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("CFs\n%s\nwanted\n%s", got, strings.Join(want, "\n"))
	}
	var pending struct {
		ID [2]int
		W  []struct {
			I []int
			N string
		}
	}
	l := strings.TrimSpace(files["pending.0.json.list"])
	if err := json.Unmarshal([]byte(l), &pending); err != nil || len(pending.W) != 1 ||
		fmt.Sprint(pending.W[0].I) != "[0 2 3]" || pending.W[0].N != "lost[(2)+(1)]" {
		t.Errorf("%s: %v %+v", l, err, pending)
	}
	if !strings.HasSuffix(l, `,"w":[{"i":[0,2,3],"n":"lost[(2)+(1)]"}]}`) {
		t.Errorf("pending: %s", l)
	}
}

func TestSection9_2_WhileAndNodes(t *testing.T) {
	files, p := debug(t, `
		sub main()
		{
			df n, x;
			put(x, 0);
			while i < 2 + x, i = 0 .. out n { df y; put(y, i); out_i("y", y) @ { locator_cyclic: 1; }; }
			f(n) @ { locator_cyclic: 1; };
			out_i("never", n[1]) @ { locator_cyclic: 1; };
		}
		sub f(int n) { df z; if n { put(z, 1) @ { locator_cyclic: 1; }; } @ { locator_cyclic: 1; } out_i("z", z); }`, shape{nodes: 2, workers: 1})
	// The old record of pending CFs is not removed on a node without any.
	if got := keys(files); got != "cf.0.json.list cf.1.json.list id.0.map.list id.1.map.list "+
		"pending.0.json.list pending.1.json.list" {
		t.Fatal("files ", got)
	}
	names := blockNames(p)
	tests := 0
	for _, file := range []string{"cf.0.json.list", "cf.1.json.list"} {
		for _, l := range strings.Split(strings.TrimSpace(files[file]), "\n") {
			var c struct {
				ID []int
				H  []int
			}
			if err := json.Unmarshal([]byte(l), &c); err != nil {
				t.Fatalf("%q: %v", l, err)
			}
			if c.H[0] != 0 {
				t.Errorf("%s: %s does not begin with main", file, l)
			}
			if fmt.Sprintf("cf.%d.json.list", c.ID[0]) != file {
				t.Errorf("%s: %s", file, l)
			}
			if strings.HasPrefix(names[c.H[len(c.H)-1]], "while") {
				tests++
			}
		}
	}
	if tests != 3 {
		t.Errorf("%d tests of the loop are recorded", tests)
	}
	if !strings.HasPrefix(files["id.1.map.list"], "1 0>z ") {
		t.Errorf("id.1.map.list: %s", files["id.1.map.list"])
	}
}

func TestWriteBuild(t *testing.T) {
	p := compile(t, "\nsub main() { df x; // комментарий\n\tcf lab: put(x, 1); none(); for i = 1 .. 2 "+
		"say(\"\"); }")
	dir := t.TempDir()
	if err := records.WriteBuild(dir, p); err != nil {
		t.Fatal(err)
	}
	var ti struct {
		Paths map[string]string
		Text  [][4]any
	}
	var blocks map[string]struct {
		Pos     int
		Comment string
	}
	for name, v := range map[string]any{"preprocessed.fa.ti": &ti, "cpp_blocks_info.json": &blocks} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, v); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	if n := len([]rune(p.Text)); len(ti.Text) != n {
		t.Errorf("%d characters, wanted %d", len(ti.Text), n)
	}
	comments := map[string]string{}
	for _, b := range blocks {
		c := ti.Text[b.Pos]
		comments[b.Comment] = fmt.Sprintf("%s:%v:%v %v", ti.Paths[fmt.Sprint(c[0])], c[1], c[2], c[3])
	}
	line := p.Main.Body.Stmts[1].Line
	for comment, want := range map[string]string{"initial launcher: sub main()": "t.fa:1:0 s",
		"entry (migrate) cf lab: put(x, 1);":                  "t.fa:2:1 c",
		fmt.Sprintf("entry (migrate) cf _l%d: none();", line): "t.fa:2:20 n",
		"entry (migrate) for i = 1 .. 2;":                     "t.fa:2:28 f"} {
		if got := comments[comment]; got != want {
			t.Errorf("%s: %q, wanted %q; %v", comment, got, want, comments)
		}
	}
}

func keys(m map[string]string) string {
	var l []string
	for k := range m {
		l = append(l, k)
	}
	slices.Sort(l)
	return strings.Join(l, " ")
}
