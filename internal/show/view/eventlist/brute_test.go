package eventlist

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/model"
	_ "github.com/whyslow/whyslow/internal/testkit/effort"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// randomTrace writes a trace of small blocks with events of all kinds, nearly in order of time, that mostly
// refer to existing things.
func randomTrace(t *rapid.T, dir string) {
	rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	nodes := rapid.IntRange(1, 3).Draw(t, "nodes")
	disorder := rapid.SampledFrom([]int64{0, 3, 200}).Draw(t, "disorder")
	step := rapid.SampledFrom([]int64{0, 2, 50}).Draw(t, "step")
	syncs := rapid.SampledFrom([]string{"none", "good", "odd"}).Draw(t, "clocks")
	for n := range nodes {
		w, err := trace.Create(dir, n, trace.Options{BufferBytes: 1 << 10})
		if err != nil {
			t.Fatal(err)
		}
		kinds := slices.Clone(trace.Kinds())
		for c, name := range []string{"main", "Mult", "работа"} {
			w.DefineCode(trace.CodeDef{Code: uint32(c + 1), Name: w.Name(name), Kind: []trace.CodeKind{trace.Sub,
				trace.Atomic, trace.Atomic}[c]})
			w.DefineSite(trace.SiteDef{Site: trace.Site(c + 1), Code: uint32(c + 1)})
		}
		for df := range 8 {
			w.DefineDF(trace.DF(df+1), w.Name("X"), []int64{0, 1, int64(df + n)})
		}
		user := trace.KindSpec{Namespace: "My", Name: "onStep",
			Fields: []trace.Field{{Name: "A", Type: trace.FieldCF}, {Name: "d", Type: trace.FieldDF},
				{Name: "n", Type: trace.FieldNode}}}
		if user.Kind, err = w.DefineKind(user); err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, user)
		few := kinds[rnd.IntN(len(kinds)):]
		for s := range 1 + rnd.IntN(3) {
			st, at := w.Stream(s), int64(rnd.IntN(50))
			for range rnd.IntN(250) {
				from := kinds
				if rnd.IntN(4) > 0 {
					from = few
				}
				spec := &from[rnd.IntN(len(from))]
				if spec.Kind == trace.KindClockSync && syncs == "none" {
					continue
				}
				at += rnd.Int64N(step + 1)
				st.Emit(at+rnd.Int64N(disorder+1), spec.Kind, randomArgs(rnd, spec, w, syncs)...)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func randomArgs(rnd *rand.Rand, spec *trace.KindSpec, w *trace.Writer, syncs string) []uint64 {
	var args []uint64
	for _, f := range spec.Fields {
		switch f.Type {
		case trace.FieldCF, trace.FieldMessage:
			args = append(args, uint64(trace.MakeCF(rnd.IntN(3), 1+uint64(rnd.IntN(9)))))
		case trace.FieldDF:
			args = append(args, uint64(rnd.IntN(10)))
		case trace.FieldSite, trace.FieldNode, trace.FieldReason:
			args = append(args, uint64(rnd.IntN(4)))
		case trace.FieldName:
			args = append(args, uint64(w.Name("lock")))
		case trace.FieldFloat:
			args = append(args, math.Float64bits(rnd.Float64()))
		case trace.FieldInts, trace.FieldDFs:
			n := rnd.IntN(7)
			args = append(args, uint64(n))
			for range n {
				args = append(args, uint64(rnd.IntN(10)))
			}
		default:
			args = append(args, uint64(rnd.IntN(3000)))
		}
	}
	if spec.Kind == trace.KindClockSync && syncs == "odd" {
		args[0] = uint64(rnd.Int64N(1<<rnd.IntN(62)+1) - 1<<10)
	}
	return args
}

// brute reads, sorts and filters everything in the simplest way.
type brute struct {
	l    *List
	rows []bruteRow
}

type bruteRow struct {
	EventRow
	spec *trace.KindSpec
	args []uint64
	node *node
}

func newBrute(t *rapid.T, l *List, lang string) *brute {
	if err := l.ready(context.Background()); err != nil {
		t.Fatal(err)
	}
	b := &brute{l: l}
	for _, s := range l.r.Streams() {
		c := l.r.Stream(s.Node, s.Stream)
		var batch trace.Batch
		for c.Next(&batch) {
			for i, k := range batch.Kind {
				d := &decoded{events: events{node: l.nodes[s.Node],
					time: []int64{model.Common(batch.Time[i], l.nodes[s.Node].clock)}, kind: []trace.Kind{k},
					off: []uint32{0, uint32(len(batch.Args(i)))}, words: slices.Clone(batch.Args(i))}, stream: s.Stream}
				w := writer{l: l, lang: words.LangOf(lang), node: d.node}
				b.rows = append(b.rows, bruteRow{w.row(d, 0), l.r.Defs(s.Node).Kind(k), d.words, d.node})
			}
		}
	}
	slices.SortStableFunc(b.rows, func(x, y bruteRow) int {
		return cmp.Or(cmp.Compare(x.T, y.T), cmp.Compare(x.Node, y.Node), cmp.Compare(x.Stream, y.Stream))
	})
	return b
}

func (b *brute) passes(r *bruteRow, q *Query) bool {
	m := b.l.m
	namespace, _, _ := strings.Cut(r.Kind, ".")
	if q.From != nil && r.T < *q.From || q.To != nil && r.T > *q.To ||
		len(q.Nodes) > 0 && !slices.Contains(q.Nodes, r.Node) ||
		len(q.Kinds) > 0 && !slices.Contains(q.Kinds, r.Kind) && !slices.Contains(q.Kinds, namespace) ||
		!strings.Contains(strings.ToLower(r.Text), strings.ToLower(q.Text)) {
		return false
	}
	var cf, df, code, link bool
	in := strings.HasSuffix(r.Kind, "eceived") || r.Kind == "MessageEvents.onGet" // a request, a DF, a CF; data
	for i, f := range r.spec.Fields {
		v := r.args[i]
		switch f.Type {
		case trace.FieldCF:
			cf = cf || trace.CF(v).String() == q.CF
			if id := m.FindCF(trace.CF(v)); id != 0 {
				code = code || m.CodeOf(id) == q.Code
			}
		case trace.FieldSite:
			def, _ := r.node.defs.Site(trace.Site(v))
			c, ok := r.node.defs.Code(def.Code)
			code = code || ok && m.Codes[q.Code].Name == r.node.defs.Name(c.Name)
		case trace.FieldDF:
			df = df || b.l.dfKey(r.Node, v) == q.DF
		case trace.FieldDFs:
			for _, v := range r.args[i+1:] {
				df = df || b.l.dfKey(r.Node, v) == q.DF
			}
		case trace.FieldNode:
			a, z := r.Node, int(v)
			if in {
				a, z = z, a
			}
			link = link || namespace != "My" && fmt.Sprintf("%d->%d", a, z) == q.Link
		}
	}
	return (cf || q.CF == "") && (df || q.DF == "") && (code || q.Code == 0) && (link || q.Link == "")
}

func (b *brute) page(q *Query) *EventPage {
	p := &EventPage{Rows: []EventRow{}, Scanned: 1}
	var rows []EventRow
	for i := range b.rows {
		if b.passes(&b.rows[i], q) {
			rows = append(rows, b.rows[i].EventRow)
		}
	}
	p.Total = len(rows)
	p.Offset = min(q.Offset, len(rows))
	if q.T != nil {
		p.Offset = 0
		for p.Offset < len(rows) && rows[p.Offset].T < *q.T {
			p.Offset++
		}
	}
	p.Rows = append(p.Rows, rows[p.Offset:min(p.Offset+q.Limit, len(rows))]...)
	return p
}

func randomQuery(t *rapid.T, b *brute) Query {
	yes := func(what string) bool { return rapid.IntRange(0, 3).Draw(t, what) == 0 }
	at := func(what string) *int64 {
		v := rapid.Int64Range(-10, 500).Draw(t, what)
		if len(b.rows) > 0 && rapid.Bool().Draw(t, "there") {
			v = b.rows[rapid.IntRange(0, len(b.rows)-1).Draw(t, "row")].T
		}
		return &v
	}
	q := Query{Offset: rapid.IntRange(0, len(b.rows)+3).Draw(t, "offset"), Limit: rapid.IntRange(1, 60).Draw(t,
		"limit"), Lang: "ru"}
	if yes("t") {
		q.T = at("t")
	}
	if yes("from") {
		q.From = at("from")
	}
	if yes("to") {
		q.To = at("to")
		if q.From != nil && *q.To < *q.From {
			q.From, q.To = q.To, q.From
		}
	}
	if yes("kinds") {
		q.Kinds = rapid.SliceOfN(rapid.SampledFrom([]string{"CFEvents", "DFEvents.onSent", "GlobalEvents", "My",
			"My.onStep", "SyncEvents.onWaitEnded"}), 1, 3).Draw(t, "kind")
	}
	nodes := len(b.l.m.Nodes)
	if yes("nodes") {
		q.Nodes = rapid.SliceOfN(rapid.IntRange(0, nodes-1), 1, 2).Draw(t, "node")
	}
	if yes("link") {
		q.Link = fmt.Sprintf("%d->%d", rapid.IntRange(0, nodes-1).Draw(t, "a"), rapid.IntRange(0, nodes-1).Draw(t,
			"b"))
	}
	if yes("code") {
		q.Code = rapid.IntRange(0, len(b.l.m.Codes)-1).Draw(t, "code")
	}
	if yes("cf") && len(b.rows) > 0 {
		q.CF = b.rows[rapid.IntRange(0, len(b.rows)-1).Draw(t, "row")].CF
	}
	if yes("df") && len(b.rows) > 0 {
		q.DF = b.rows[rapid.IntRange(0, len(b.rows)-1).Draw(t, "row")].DF
	}
	if yes("text") {
		q.Text = rapid.SampledFrom([]string{"x[3]", "РАБОТ", "узл", "Mult", "NOTHING", "0.3"}).Draw(t, "text")
		if len(b.rows) > 0 && rapid.Bool().Draw(t, "of a sentence") {
			words := []rune(b.rows[rapid.IntRange(0, len(b.rows)-1).Draw(t, "row")].Text)
			first := rapid.IntRange(0, len(words)-1).Draw(t, "first")
			q.Text = string(words[first:rapid.IntRange(first+1, len(words)).Draw(t, "end")])
		}
	}
	return q
}

func TestAgainstBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "eventlist")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		randomTrace(t, dir)
		r, err := trace.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		m, err := model.Build(context.Background(), r, model.Options{})
		if err != nil {
			t.Fatal(err)
		}
		l := Open(r, m)
		l.patience = time.Minute
		defer l.Close()
		b := newBrute(t, l, "ru")
		if len(b.rows) != int(m.Events) {
			t.Fatalf("%d rows of %d events", len(b.rows), m.Events)
		}
		for _, blk := range l.blocks {
			for _, row := range mustDecode(t, l, blk).time {
				if row < blk.lo || row > blk.hi {
					t.Fatalf("time %d is not within %d to %d", row, blk.lo, blk.hi)
				}
			}
		}
		b.checkTimes(t)
		for range 8 {
			q := randomQuery(t, b)
			got, err := l.Page(context.Background(), q)
			if errors.Is(err, fs.ErrNotExist) && q.CF+q.DF != "" && b.page(&q).Total == 0 {
				continue // the model may not know a CF or DF that only user events name
			}
			if err != nil {
				t.Fatalf("%+v: %v", q, err)
			}
			if d := gocmp.Diff(b.page(&q), got); d != "" {
				t.Fatalf("%+v (-want +got):\n%s", q, d)
			}
			if q.CF+q.DF == "" {
				b.checkCSV(t, q)
			}
		}
	})
}

func mustDecode(t *rapid.T, l *List, blk block) *decoded {
	i := slices.IndexFunc(l.blocks,
		func(o block) bool { return o.stream == blk.stream && o.ordinal == blk.ordinal })
	d, err := l.decode(i)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// checkTimes compares corrected times with those of the model.
func (b *brute) checkTimes(t *rapid.T) {
	created := map[model.CF]int64{}
	for i := range b.rows {
		if r := &b.rows[i]; r.Kind == "CFEvents.onCreated" {
			cf := b.l.m.FindCF(trace.CF(r.args[0]))
			if old, ok := created[cf]; !ok || r.T < old {
				created[cf] = r.T
			}
		}
	}
	for cf, at := range created {
		if want := b.l.m.Created[cf] - b.l.m.Start; want != at {
			t.Fatalf("CF %s is created at %d, by the model at %d", b.l.m.CFID(cf), at, want)
		}
	}
}

func (b *brute) checkCSV(t *rapid.T, q Query) {
	var out bytes.Buffer
	if err := b.l.CSV(context.Background(), &out, q); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	q.Offset, q.T, q.Limit = 0, nil, math.MaxInt
	want := b.page(&q).Rows
	if len(lines) != len(want)+1 {
		t.Fatalf("%d lines for %d rows", len(lines), len(want))
	}
	for i, r := range want {
		if got := lines[i+1]; got[0] != fmt.Sprint(r.T) || got[6] != r.Text || got[4] != r.CF || got[5] != r.DF {
			t.Fatalf("line %d is %q, want %+v", i+1, got, r)
		}
	}
}
