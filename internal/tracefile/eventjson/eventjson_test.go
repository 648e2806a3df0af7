package eventjson_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/tracefile/eventjson"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/trace"
)

func TestEventsAsJSON(t *testing.T) {
	dir := t.TempDir()
	text := `#node 0
#kind 256 My.onStep x:Float word:Name l:Ints
#string "a \"b\" é"
#code 1 mult atomic at=mxm.fa:3:1
#site 1 code=1 label=c at=mxm.fa:12:3 "mult(a, b)"
#df 3 a [0 1 2 -7]
1 n0 s0 CFEvents.onCreated cf=0.1 site=1 parent=- execution=1 weight=1.5 indices=[1 -2]
2 n0 s0 CFEvents.onStarted cf=0.1 execution=1 inputs=[3 4]
3 n0 s0 DFEvents.onDestroy df=3 size=8 reason=deleted
4 n0 s0 DFEvents.onCreate df=0 size=-1 cf=-
5 n0 s0 My.onStep x=NaN word="a \"b\" é" l=[]
6 n0 s0 CFEvents.onCreated cf=0.2 site=9 parent=0.1 execution=1 weight=+Inf indices=[]
`
	if err := twin.Parse(strings.NewReader(text), dir); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	r, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := eventjson.Dump(&out, r, nil); err != nil {
		t.Fatal(err)
	}
	want := `{"time":1,"node":0,"stream":0,"event":"CFEvents.onCreated","fields":{"cf":"0.1","site":{"site":1,"code":"mult","label":"c","at":"mxm.fa:12:3","text":"mult(a, b)"},"parent":null,"execution":1,"weight":1.5,"indices":[1,-2]}}
{"time":2,"node":0,"stream":0,"event":"CFEvents.onStarted","fields":{"cf":"0.1","execution":1,"inputs":[{"df":3,"name":"a[2][-7]"},{"df":4}]}}
{"time":3,"node":0,"stream":0,"event":"DFEvents.onDestroy","fields":{"df":{"df":3,"name":"a[2][-7]"},"size":8,"reason":"deleted"}}
{"time":4,"node":0,"stream":0,"event":"DFEvents.onCreate","fields":{"df":null,"size":-1,"cf":null}}
{"time":5,"node":0,"stream":0,"event":"My.onStep","fields":{"x":"NaN","word":"a \"b\" é","l":[]}}
{"time":6,"node":0,"stream":0,"event":"CFEvents.onCreated","fields":{"cf":"0.2","site":{"site":9},"parent":"0.1","execution":1,"weight":"+Inf","indices":[]}}
`
	if out.String() != want {
		t.Errorf("%s\nwant\n%s", &out, want)
	}
	for line := range strings.Lines(out.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("no JSON: %s", line)
		}
	}
}
