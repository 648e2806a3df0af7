package twin_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/tracefile/twin"
	. "github.com/whyslow/whyslow/trace"
)

// Part of a trace comes with the definitions that it uses, and is a trace again.
func TestDumpOfPartIsATrace(t *testing.T) {
	hand := `#node 0
#kind 256 My.onStep word:Name
#kind 257 My.onOther x:Int
#string "lock"
#string "used by others"
#code 1 mult atomic at=mxm.fa:3:1
#code 2 add atomic at=mxm.fa:9:1
#site 1 code=1 at=mxm.fa:12:3 "mult(a, b)"
#site 2 code=2 at=mxm.fa:13:3
#df 3 a [0 1 2]
#df 4 b [0 2 2]
1 n0 s0 CFEvents.onCreated cf=0.1 site=2 parent=- execution=1 weight=1 indices=[]
2 n0 s0 CFEvents.onStarted cf=0.1 execution=1 inputs=[3]
3 n0 s0 My.onStep word="lock"
4 n0 s0 My.onOther x=1
5 n0 s0 DFEvents.onStored df=4 size=8
#node 1
#df 9 c [0 3]
3 n1 s0 CFEvents.onReady cf=0.1 late=0
5 n1 s0 DFEvents.onStored df=9 size=8
`
	dir := t.TempDir()
	if err := twin.Parse(strings.NewReader(hand), dir); err != nil {
		t.Fatal(err)
	}
	r := open(t, dir)
	for _, c := range []struct {
		opt  twin.Options
		want string
	}{
		{twin.Options{In: &Span{From: 1, To: 3}}, `#node 0
#kind 256 My.onStep word:Name
#string "lock"
#code 2 add atomic at=mxm.fa:9:1
#site 2 code=2 at=mxm.fa:13:3
#df 3 a [0 1 2]
#node 1
1 n0 s0 CFEvents.onCreated cf=0.1 site=2 parent=- execution=1 weight=1 indices=[]
2 n0 s0 CFEvents.onStarted cf=0.1 execution=1 inputs=[3]
3 n0 s0 My.onStep word=lock
3 n1 s0 CFEvents.onReady cf=0.1 late=0
`},
		{twin.Options{Keep: func(_ *Defs, b *Batch, i int) bool { return b.Kind[i] == KindDFStored },
			Streams: func(node, _ int) bool { return node == 1 }},
			"#node 1\n#df 9 c [0 3]\n5 n1 s0 DFEvents.onStored df=9 size=8\n"},
		{twin.Options{In: &Span{From: 100, To: 200}}, ""},
	} {
		var text, again bytes.Buffer
		if err := twin.Dump(&text, r, c.opt); err != nil || text.String() != c.want {
			t.Errorf("%v\n%s\nwant\n%s", err, &text, c.want)
		}
		if c.want == "" {
			continue
		}
		part := t.TempDir()
		if err := twin.Parse(strings.NewReader(text.String()), part); err != nil {
			t.Fatal(err)
		}
		if err := twin.Dump(&again, open(t, part)); err != nil || again.String() != text.String() {
			t.Errorf("%v\n%s", err, &again)
		}
	}
}

// The text twin keeps the difference between a run.json that does not tell how the run ended and one without
// a word about it.
func TestTwinKeepsEnd(t *testing.T) {
	for info, want := range map[string]int{`{"ended":""}`: 1, `{"ended":"done"}`: 0, `{}`: 0} {
		dir, back := t.TempDir(), t.TempDir()
		if err := twin.Parse(strings.NewReader("#run "+info+"\n1 GlobalEvents.onIdle\n"), dir); err != nil {
			t.Fatal(err)
		}
		text := dump(t, dir)
		if err := twin.Parse(strings.NewReader(text), back); err != nil {
			t.Fatal(err)
		}
		if again := dump(t, back); again != text || len(open(t, back).Missing()) != want {
			t.Errorf("%s: the twin lacks %v:\n%s\n%s", info, open(t, back).Missing(), text, again)
		}
	}
}

func TestKeep(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir, 0, Options{BufferBytes: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(1000) {
		w.Stream(2).Emit(i, KindReadyQueue, uint64(i))
	}
	w.Close()
	r := open(t, dir)
	var text bytes.Buffer
	err = twin.Dump(&text, r, twin.Options{NoDefs: true, Keep: func(_ *Defs, b *Batch, i int) bool {
		return b.Time[i] >= 998
	}})
	if want := "998 n0 s2 GlobalEvents.onReadyQueue length=998\n999 n0 s2 GlobalEvents.onReadyQueue " +
		"length=999\n"; err != nil || text.String() != want {
		t.Errorf("%v\n%s", err, text.String())
	}
}
