package graph

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// TestTasks opens groups at random and counts again, CF by CF, what each box and edge should have.
func TestTasks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := randomRun(t)
		g := build(t, m)
		order := g.tasks().list
		inOrder := slices.Collect(m.CFs())
		slices.SortFunc(inOrder, func(a, b model.CF) int {
			nameA, indicesA := called(m, a)
			nameB, indicesB := called(m, b)
			return cmp.Or(cmp.Compare(m.CodeOf(a), m.CodeOf(b)), cmp.Compare(nameA, nameB),
				slices.Compare(indicesA, indicesB), cmp.Compare(m.CFID(a), m.CFID(b)))
		})
		if !slices.Equal(inOrder, order) {
			t.Fatalf("CFs are in the order %v, want %v", order, inOrder)
		}
		q := TaskQuery{Limit: rapid.SampledFrom([]int{0, 3, 6, 12}).Draw(t, "limit"),
			parts: rapid.IntRange(2, 5).Draw(t, "parts")}
		q.From, q.To = drawInterval(t, m)
		whole := q.From == 0 && q.To >= m.Wall()
		var got *TaskGraph
		var opened []string
		for range rapid.IntRange(1, 6).Draw(t, "opened") {
			var err error
			if got, err = g.Tasks(q); err != nil {
				t.Fatal(err)
			}
			opened = slices.Clone(q.Open)
			if len(got.Groups) > 0 {
				q.Open = append(q.Open, rapid.SampledFrom(got.Groups).Draw(t, "open").ID)
			}
		}
		byID, boxes := map[string]TaskGroup{}, 0
		box := map[model.CF]string{}
		for _, v := range got.Groups {
			if p, ok := byID[v.Parent]; v.Parent != "" && (!ok || !p.Open || v.first < p.first || v.end > p.end ||
				v.end-v.first >= p.end-p.first) {
				t.Fatalf("%+v is in %+v", v, p)
			}
			if _, ok := byID[v.ID]; ok {
				t.Fatalf("two groups are %s", v.ID)
			}
			byID[v.ID] = v
			if v.Open && !slices.Contains(opened, v.ID) {
				t.Fatalf("%s was opened", v.ID)
			}
			if !v.Open {
				boxes++
			}
			for _, cf := range order[v.first:v.end] {
				if why := belongs(m, cf, &v); why != "" {
					t.Fatalf("%s is in %+v: %s", m.CFString(cf), v, why)
				}
				if !v.Open {
					if box[cf] != "" {
						t.Fatalf("%s is in %s and %s", m.CFString(cf), box[cf], v.ID)
					}
					box[cf] = v.ID
				}
			}
			if int(v.CFs) != v.end-v.first || v.CFs == 1 != (v.CF != "") {
				t.Fatalf("%+v", v)
			}
		}
		if limit := cmp.Or(q.Limit, MaxBoxes); boxes > limit || whole && got.More == 0 && len(box) != len(order) {
			t.Fatalf("%d boxes of at most %d have %d of %d CFs", boxes, limit, len(box), len(order))
		}
		type sum struct{ count, ns int64 }
		sums, edges, touched := map[string]sum{}, map[[3]string]GraphEdge{}, map[string]bool{}
		edge := func(a, b model.CF, kind string, bytes int64) {
			if box[a] != "" && box[b] != "" {
				touched[box[a]], touched[box[b]] = true, true
				e := edges[[3]string{box[a], box[b], kind}]
				edges[[3]string{box[a], box[b], kind}] = GraphEdge{box[a], box[b], e.Count + 1, e.Bytes + bytes, kind}
			}
		}
		for e, cf := range m.ExecCF {
			if !within(m, m.ExecStart[e], q.From, q.To) {
				continue
			}
			for id := box[cf]; id != ""; id = byID[id].Parent {
				touched[id] = true
				sums[id] = sum{sums[id].count + 1, sums[id].ns + g.x.TimeOf(e)}
			}
			for _, df := range m.Inputs(e) {
				if i, ok := m.Creation(df, m.ExecStart[e]); ok {
					edge(m.MadeBy[i], cf, "data", m.SizeMade(i))
				}
			}
		}
		for cf := range m.CFs() {
			if m.Created[cf] != model.None && within(m, m.Created[cf], q.From, q.To) {
				touched[box[cf]] = true
				edge(m.Parent[cf], cf, "child", 0)
			}
		}
		for _, e := range got.Edges {
			if d := gocmp.Diff(edges[[3]string{e.From, e.To, e.Kind}], e); d != "" {
				t.Fatal(d)
			}
			delete(edges, [3]string{e.From, e.To, e.Kind})
		}
		if len(edges) != got.MoreEdges {
			t.Fatalf("%d are left out, among them %v", got.MoreEdges, edges)
		}
		for _, v := range got.Groups {
			if got := (sum{v.Count, v.NS}); got != sums[v.ID] {
				t.Fatalf("%s: %v, want %v", v.ID, got, sums[v.ID])
			}
			if !v.Open && !whole && !touched[v.ID] {
				t.Fatalf("%s had no part in the interval", v.ID)
			}
		}
	})
}

// called gives the name and the indices of a CF: those of its label, or of the least of what it made.
func called(m *model.Model, cf model.CF) (name string, indices []int64) {
	site := m.Sites[m.SiteOf[cf]]
	name = cmp.Or(site.Label, m.Codes[site.Code].Name)
	for _, i := range m.Label(cf) {
		indices = append(indices, int64(i))
	}
	if len(indices) > 0 {
		return name, indices
	}
	made := ""
	for _, i := range m.OutputsOf(cf) {
		df := m.DFMade(i)
		of, x := m.DFNameOf(df), m.Indices(df, nil)
		if made == "" || of < made || of == made && slices.Compare(x, indices) < 0 {
			made, indices = of, x
		}
	}
	if made != "" {
		name += " → " + made
	}
	return name, indices
}

var taskTitle = regexp.MustCompile(`^(.*?)((?:\[[-\d.]+\])*)(?: (\d+)\.\.(\d+))?$`)

// belongs tells why a CF is none of what the title of its group says.
func belongs(m *model.Model, cf model.CF, v *TaskGroup) string {
	if m.CodeOf(cf) != v.Code {
		return "another code fragment"
	}
	if v.CF != "" && v.CF != m.CFID(cf).String() {
		return "another CF"
	}
	parts := taskTitle.FindStringSubmatch(v.Title)
	name, label := called(m, cf)
	if parts[1] != name && parts[1] != m.Codes[v.Code].Name {
		return "another name"
	}
	for i, s := range strings.Split(strings.Trim(parts[2], "[]"), "][") {
		if s == "" {
			continue
		}
		from, to, ok := strings.Cut(s, "..")
		if !ok {
			to = from
		}
		a, _ := strconv.Atoi(from)
		b, _ := strconv.Atoi(to)
		if i >= len(label) || int(label[i]) < a || int(label[i]) > b {
			return "index " + strconv.Itoa(i)
		}
	}
	return ""
}

// TestOpenTasks goes down from a code fragment to single CFs: by name, first index, second index, number.
func TestOpenTasks(t *testing.T) {
	var s strings.Builder
	s.WriteString(`#run {"program":"g.fa","ended":"done","hosts":["h"],"processes":[{"pid":1,"host":"h","cores":1}],` +
		`"nodes":[{"node":0,"process":0,"workers":1}]}
#node 0
#code 1 main sub
#code 2 mult atomic
#site 1 code=1
#site 2 code=2 label=m
#site 3 code=2 label=other/m
0 n0 s0 GlobalEvents.onProgramStarted process=0 cpu=0
0 n0 s0 CFEvents.onCreated cf=0.1 site=1 parent=- execution=0 weight=1 indices=[]
`)
	id := 1
	create := func(site int, indices string) {
		id++
		fmt.Fprintf(&s, "%d n0 s0 CFEvents.onCreated cf=0.%d site=%d parent=0.1 execution=1 weight=1 indices=[%s]\n",
			id, id, site, indices)
	}
	for i := range 120 {
		for j := range 2 {
			create(2, fmt.Sprintf("%d %d", i-20, j))
		}
	}
	for range 45 {
		create(3, "")
	}
	s.WriteString("1000 n0 s0 GlobalEvents.onProgramFinished cpu=0\n")
	g := build(t, sloutest.Build(t, s.String()))
	ask := func(open ...string) (titles string, got *TaskGraph) {
		got, err := g.Tasks(TaskQuery{To: 1000, Open: open})
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, v := range got.Groups {
			if len(open) == 0 || v.Parent == open[len(open)-1] {
				list = append(list, fmt.Sprintf("%s:%s:%d", v.ID, v.Title, v.CFs))
			}
		}
		return strings.Join(list, " "), got
	}
	for _, x := range []struct{ open, want string }{
		{"", "cf0.1:main:1 2:mult:285"},
		{"2", "2/=m:m:240 2/=other%2Fm:other/m:45"},
		{"2 2/=m", "2/=m/-20..-11:m[-20..-11]:20 2/=m/-10..-1:m[-10..-1]:20 2/=m/0..9:m[0..9]:20 " +
			"2/=m/10..19:m[10..19]:20 2/=m/20..29:m[20..29]:20 2/=m/30..39:m[30..39]:20 2/=m/40..49:m[40..49]:20 " +
			"2/=m/50..59:m[50..59]:20 2/=m/60..69:m[60..69]:20 2/=m/70..79:m[70..79]:20 2/=m/80..89:m[80..89]:20 " +
			"2/=m/90..99:m[90..99]:20"},
		{"2 2/=other%2Fm", "2/=other%2Fm/n0:other/m 1..10:10 2/=other%2Fm/n10:other/m 11..20:10 " +
			"2/=other%2Fm/n20:other/m 21..30:10 2/=other%2Fm/n30:other/m 31..40:10 2/=other%2Fm/n40:other/m 41..45:5"},
		{"2 2/=other%2Fm 2/=other%2Fm/n40", "2/=other%2Fm/n40/cf0.282:other/m:1 2/=other%2Fm/n40/cf0.283:other/m:1 " +
			"2/=other%2Fm/n40/cf0.284:other/m:1 2/=other%2Fm/n40/cf0.285:other/m:1 2/=other%2Fm/n40/cf0.286:other/m:1"},
	} {
		if got, _ := ask(strings.Fields(x.open)...); got != x.want {
			t.Errorf("%s:\n%s\nwant\n%s", x.open, got, x.want)
		}
	}
	single, _ := ask("2", "2/=m", "2/=m/0..9")
	if !strings.HasPrefix(single, "2/=m/0..9/cf0.42:m[0][0]:1 2/=m/0..9/cf0.43:m[0][1]:1 ") {
		t.Error(single)
	}
	_, got := ask("2")
	want := []GraphEdge{{"cf0.1", "2/=m", 240, 0, "child"}, {"cf0.1", "2/=other%2Fm", 45, 0, "child"}}
	if d := gocmp.Diff(want, got.Edges); d != "" {
		t.Error(d)
	}
	if _, got := ask("nothing", "2/", "2/=m"); len(got.Groups) != 2 || got.Full {
		t.Errorf("what there is not was opened: %+v", got)
	}
	if got, err := g.Tasks(TaskQuery{To: 1000, Open: []string{"2"}, Limit: 2}); err != nil || !got.Full ||
		len(got.Groups) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := g.Tasks(TaskQuery{To: 1000, Limit: 1}); err != nil || got.More != 1 ||
		got.Groups[0].Code != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	for _, q := range []TaskQuery{{From: 5, To: 5}, {To: 1000, Limit: MaxBoxes + 1}, {To: 1000, Limit: -1}} {
		if _, err := g.Tasks(q); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%+v: %v", q, err)
		}
	}
}

// TestNodesOfTransfers: puts, gets and atomics are traffic between nodes, as messages are.
func TestNodesOfTransfers(t *testing.T) {
	g := build(t, sloutest.Build(t, `#node 0
#code 1 put bulk
#site 1 code=1
0 Global.onProgramStarted
10 Region.onEntered 1
11 Message.onPut 1 100
20 Region.onExited 1
30 Region.onEntered 1
31 Message.onGet 1 1000
32 Message.onGet 0 5
40 Region.onExited 1
50 Global.onProgramFinished
#node 1
0 Global.onProgramStarted
50 Global.onProgramFinished
`))
	for _, c := range []struct {
		from, to int64
		want     []LinkEdge
	}{
		{0, 50, []LinkEdge{{From: 0, To: 1, Messages: 1, Bytes: 100}, {From: 1, To: 0, Messages: 1, Bytes: 1000}}},
		{5, 30, []LinkEdge{{From: 0, To: 1, Messages: 1, Bytes: 100}}},
	} {
		got, err := g.Nodes(c.from, c.to)
		if err != nil {
			t.Fatal(err)
		}
		for i := range got.Links {
			got.Links[i].WaitNS = 0
		}
		if d := gocmp.Diff(c.want, got.Links); d != "" {
			t.Errorf("from %d to %d (-want +got):\n%s", c.from, c.to, d)
		}
	}
}
