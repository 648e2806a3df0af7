package twin_test

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"

	_ "github.com/whyslow/whyslow/internal/testkit/effort"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
	. "github.com/whyslow/whyslow/trace"
)

// dump returns the canonical text of a trace.
func dump(t testing.TB, dir string) string {
	t.Helper()
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var b bytes.Buffer
	if err := twin.Dump(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Every file of testdata has a text under "hand", and what becomes of it: its
// canonical form, or the error.
func TestTextGoldens(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.txtar")
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			part := map[string]string{}
			for _, f := range ar.Files {
				part[f.Name] = string(f.Data)
			}
			dir := t.TempDir()
			err = twin.Parse(strings.NewReader(part["hand"]), dir)
			if want, ok := part["error"]; ok {
				if err == nil || err.Error() != strings.TrimSpace(want) {
					t.Errorf("error %v, want %s", err, want)
				}
				if left, _ := os.ReadDir(dir); len(left) > 0 {
					t.Errorf("a failed Parse leaves %v", left)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := dump(t, dir)
			if diff := cmp.Diff(part["canonical"], got); diff != "" {
				t.Errorf("canonical text (-want +got):\n%s", diff)
			}
			again := t.TempDir()
			if err := twin.Parse(strings.NewReader(got), again); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(got, dump(t, again)); diff != "" {
				t.Errorf("twin of the twin:\n%s", diff)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "1:1: the text has no events and no #node line: there is nothing to make a trace of"},
		{"x", "1:1: expected a time: nanoseconds, or a number with ns, us, ms or s"},
		{"5 CF.onStarted foo=1",
			`1:16: CFEvents.onStarted has no field "foo": it has (cf CF, execution Uint, inputs DFs)`},
		{"5 CF.onStarted cf=0.1 cf=0.2", "1:23: field cf is given twice"},
		{"5 CF.onStarted cf=1", "1:19: expected node.counter, or - for none"},
		{"5 CF.onStarted 0.1 1 [1] 2",
			"1:26: too many values: CFEvents.onStarted has (cf CF, execution Uint, inputs DFs)"},
		{"\n 5 CF.onStarted inputs=[1", "2:26: list does not end: expected ]"},
		{"5 CF.onStarted inputs=[-1]", "1:24: expected a number from 0 to 4294967295"},
		{"5 CF.onMigrated to=65536", "1:20: expected a number from 0 to 65535"},
		{"#foo", `1:1: #foo is not a kind of line: expected #run, #node, #stream, #kind, #string, #code, #site or #df; a comment starts with "# "`},
		{"#node 65536", "1:7: expected a number from 0 to 65535"},
		{"#kind 3 A.b", "1:7: kinds of user namespaces are numbered from 256"},
		{"#kind A.b x:Foo",
			`1:13: field type "Foo" is not known: the types are Int, Uint, Float, CF, DF, Site, Name, Node, Message, NS, Bytes, Reason, Ints, DFs`},
		{"#kind A.b x:Ints y:Int", "1:7: event A.b: list x is not the last field"},
		{"#string 4 \"a\"\n#string 4 \"b\"\n#string 1 \"c\"\n#string \"d\"\n#string 2 \"e\"",
			"5:9: string 2 is defined already"},
		{"#code 1 mult flat", "1:14: expected atomic, sub, call, for, while, if or at=file:line:col"},
		{"9223372036854775807 Global.onIdle", "1:1: time is out of range: at most 104 days from 0"},
		{"#run {", "1:6: run: unexpected EOF"},
		{"5 SyncEvents.onWaitStarted name=\"x", "1:33: expected a string in double quotes"},
		{"5 DF.onDestroy reason=why", "1:23: expected one of expired, deleted, end"},
	} {
		err := twin.Parse(strings.NewReader(c.text), t.TempDir())
		if err == nil || err.Error() != c.want {
			t.Errorf("%q:\n got %v\nwant %s", c.text, err, c.want)
		}
		var syntax *twin.SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("%q: %T", c.text, err)
		}
	}
}

// event is one event as the tests see it.
type event struct {
	Node, Stream int
	Time         int64
	Kind         Kind
	Args         []uint64
}

// readAll returns all events, stream by stream.
func readAll(t testing.TB, r *Reader) []event {
	t.Helper()
	var list []event
	var b Batch
	for _, s := range r.Streams() {
		for c := r.Stream(s.Node, s.Stream); c.Next(&b); {
			for i := range b.N {
				list = append(list, event{b.Node, b.Stream, b.Time[i], b.Kind[i], append([]uint64{}, b.Args(i)...)})
			}
		}
	}
	return list
}

func open(t testing.TB, dir string) *Reader {
	t.Helper()
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// randomArgs makes arguments of a kind that its types allow.
func randomArgs(rnd *rand.Rand, s *KindSpec) []uint64 {
	var args []uint64
	for _, f := range s.Fields {
		if f.Type.List() {
			n := rnd.IntN(9)
			if rnd.IntN(50) == 0 {
				n = rnd.IntN(2000)
			}
			args = append(args, uint64(n))
			for range n {
				args = append(args, randomWord(rnd, f.Type))
			}
			continue
		}
		args = append(args, randomWord(rnd, f.Type))
	}
	return args
}

func randomWord(rnd *rand.Rand, t FieldType) uint64 {
	v := rnd.Uint64() >> rnd.IntN(64)
	switch rnd.IntN(8) {
	case 0, 1:
		v = uint64(rnd.IntN(3))
	case 2:
		v = math.MaxUint64 // the largest, or -1, or NaN
	case 3:
		v = 1 << 63 // the smallest, or -0
	}
	switch t {
	case FieldDF, FieldSite, FieldName, FieldDFs:
		v = uint64(uint32(v))
	case FieldNode:
		v = uint64(uint16(v))
	case FieldReason:
		v = uint64(uint8(v))
	}
	return v
}

// writeRandom makes a trace of random events and definitions.
func writeRandom(t *rapid.T, dir string) {
	rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 7))
	strs := []string{"a", "", "a b", "#7", "\"", "\xff\x00", "ж", "x=1", "9", "-", "a\r\nb", "\u2028"}
	str := func() string { return strs[rnd.IntN(len(strs))] }
	line := func() int { return []int{0, 1, rnd.IntN(1 << 20), math.MaxInt32}[rnd.IntN(4)] }
	for node := range rapid.IntRange(1, 3).Draw(t, "nodes") {
		w, err := Create(dir, node*7, Options{BufferBytes: 1 << 10, Sync: true})
		if err != nil {
			t.Fatal(err)
		}
		specs := Kinds()
		for _, name := range []string{"onA", "onB"}[:rnd.IntN(3)] {
			s := KindSpec{Namespace: "My", Name: name, Doc: str()}
			for i := range rnd.IntN(5) {
				s.Fields = append(s.Fields,
					Field{Name: string(rune('a' + i)), Type: 1 + FieldType(rnd.IntN(int(FieldReason)))})
			}
			if rnd.IntN(2) == 0 {
				s.Fields = append(s.Fields, Field{Name: "list", Type: FieldInts + FieldType(rnd.IntN(2))})
			}
			if s.Kind, err = w.DefineKind(s); err != nil {
				t.Fatal(err)
			}
			specs = append(specs[:len(specs):len(specs)], s)
		}
		for range rnd.IntN(20) {
			w.DefineCode(CodeDef{Code: rnd.Uint32N(30), Name: w.Name(str()), Kind: CodeKind(rnd.IntN(256)),
				File: w.Name(str()), Line: line(), Col: line()})
			w.DefineSite(SiteDef{Site: Site(rnd.Uint32N(30)), Code: rnd.Uint32N(5), Label: w.Name(str()),
				File: Name(rnd.Uint32N(99)), Line: line(), Col: line(), Text: w.Name(str()),
				DFs: w.Name(str())})
			var identity []int64
			for range rnd.IntN(9) {
				identity = append(identity, int64(rnd.Uint64()>>rnd.IntN(64)))
			}
			w.DefineDF(DF(rnd.Uint32()>>rnd.IntN(32)), w.Name(str()), identity)
		}
		for stream := range rnd.IntN(4) {
			now := int64(rnd.IntN(1000)) - 500
			for n := range len(specs) + rnd.IntN(300) { // every kind, and then any
				spec := &specs[n%len(specs)]
				if n >= len(specs) {
					spec = &specs[rnd.IntN(len(specs))]
				}
				now += int64(rnd.IntN(100)) - 10
				args := randomArgs(rnd, spec)
				for f := range spec.Fields {
					if spec.Fields[f].Type == FieldName && rnd.IntN(2) == 0 {
						args[f] = uint64(w.Name(str()))
					}
				}
				w.Stream(stream*3).Emit(now, spec.Kind, args...)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if rnd.IntN(2) == 0 {
		if err := WriteRunInfo(dir, &RunInfo{Program: str(), Ended: EndedStuck,
			Nodes: []NodeInfo{{Node: 0, Workers: 2}}}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTwinOfRandomTraces(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, again := t.TempDir(), t.TempDir()
		writeRandom(rt, dir)
		text := dump(t, dir)
		if err := twin.Parse(strings.NewReader(text), again); err != nil {
			rt.Fatalf("%v in\n%s", err, text)
		}
		if diff := cmp.Diff(strings.Split(text, "\n"), strings.Split(dump(t, again), "\n")); diff != "" {
			rt.Fatal(diff)
		}
		a, b := open(t, dir), open(t, again)
		ea, eb := readAll(t, a), readAll(t, b)
		if len(ea) != len(eb) {
			rt.Fatalf("%d events, then %d", len(ea), len(eb))
		}
		for i := range ea {
			da, db := a.Defs(ea[i].Node), b.Defs(eb[i].Node)
			spec := da.Kind(ea[i].Kind)
			for f := range spec.Fields {
				if spec.Fields[f].Type != FieldName {
					continue
				}
				sa, defined := da.LookupName(Name(ea[i].Args[f]))
				sb, _ := db.LookupName(Name(eb[i].Args[f]))
				if sa != sb {
					rt.Fatalf("%s: %q becomes %q", spec, sa, sb)
				}
				if defined { // strings are numbered anew
					eb[i].Args[f] = ea[i].Args[f]
				}
			}
			if diff := cmp.Diff(ea[i], eb[i]); diff != "" {
				rt.Fatal(diff)
			}
		}
	})
}

// The text twin keeps the run of each file.
func TestTwinKeepsRun(t *testing.T) {
	const markA, markB = "aaaaaaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbbbbbbbbb"
	from := t.TempDir()
	for node, run := range []string{markA, ""} {
		w, err := Create(from, node, Options{Run: run})
		if err != nil {
			t.Fatal(err)
		}
		w.Stream(0).Emit(5, KindReadyQueue, uint64(node))
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	text := dump(t, from)
	if !strings.Contains(text, "#node 0 run="+markA+"\n") || !strings.Contains(text, "\n#node 1\n") {
		t.Fatal(text)
	}
	dir := t.TempDir()
	if err := twin.Parse(strings.NewReader(text), dir); err != nil {
		t.Fatal(err)
	}
	if again := dump(t, dir); again != text {
		t.Error(again)
	}
	for text, want := range map[string]string{
		"#node 0 run=12":                                  "1:13: run=12: expected the id of the run",
		"#node 0 run=":                                    "1:13: run=: expected the id of the run",
		"#node 0\n#node 0 run=" + markA:                   "2:13: node 0 has begun without this run",
		"#node 0 run=" + markA + " x":                     `1:38: unexpected "x"`,
		"#node 0 run=" + markA + "\n#node 0 run=" + markB: "2:13: node 0 has begun without this run",
	} {
		if err := twin.Parse(strings.NewReader(text), t.TempDir()); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// The texts in the page on the format must be what it says they are.
func TestTextsOfTheFormatPage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/trace-format.md")
	if err != nil {
		t.Fatal(err)
	}
	texts := regexp.MustCompile("(?s)```\n(.*?)```").FindAllSubmatch(page, -1)
	if len(texts) != 3 {
		t.Fatalf("%d texts", len(texts))
	}
	for i, m := range texts {
		dir := t.TempDir()
		if err := twin.Parse(bytes.NewReader(m[1]), dir); err != nil {
			t.Errorf("text %d: %v", i, err)
		}
		if diff := cmp.Diff(string(m[1]), dump(t, dir)); diff != "" && i != 1 {
			t.Errorf("text %d is not canonical:\n%s", i, diff)
		}
	}
}

// What Parse accepts has a canonical text that is its own twin.
func FuzzText(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.txtar")
	for _, file := range files {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range ar.Files {
			f.Add(string(part.Data))
		}
	}
	f.Add("#df 3 a [0 1 2]\n5 CF.onReady 0.1 -2us")
	f.Add("#string 7 \"x\"\n#site 1 label=#7 #8\n#kind 300 A.b c:Float\n1 n2 s3 A.b 0x7ff8000000000001")
	f.Fuzz(func(t *testing.T, text string) {
		dir := t.TempDir()
		a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
		if twin.Parse(strings.NewReader(text), a) != nil {
			return
		}
		canonical := dump(t, a)
		if err := twin.Parse(strings.NewReader(canonical), b); err != nil {
			t.Fatalf("%v in the canonical text\n%s", err, canonical)
		}
		if again := dump(t, b); again != canonical {
			t.Fatalf("canonical text\n%s\nbecomes\n%s", canonical, again)
		}
	})
}
