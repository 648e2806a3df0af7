package sdk

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/trace"
)

// generator is that of testdata/random.c.
type generator uint64

func (g *generator) next() uint64 {
	*g += 0x9e3779b97f4a7c15
	z := uint64(*g)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func (g *generator) value(t trace.FieldType) uint64 {
	v := g.next()
	v >>= g.next() % 64
	switch t {
	case trace.FieldDF, trace.FieldSite, trace.FieldName, trace.FieldDFs:
		return v & 0xffffffff
	case trace.FieldNode:
		return v & 0xffff
	case trace.FieldReason:
		return v & 0xff
	}
	return v
}

// What testdata/random.c records, event by event.
func TestRandom(t *testing.T) {
	t.Parallel()
	fast, checked := compile(t, "testdata/random.c", "c"), compile(t, "testdata/random.c", "asan")
	runs := 0
	rapid.Check(t, func(rt *rapid.T) {
		path := fast
		if runs++; runs%10 == 1 {
			path = checked // which takes ten times longer
		}
		seed := rapid.Uint64().Draw(rt, "seed")
		kinds := rapid.SampledFrom([]int{1, 5, 768}).Draw(rt, "kinds")
		events := rapid.IntRange(0, 1000).Draw(rt, "events")
		env := []string{"WHYSLOW_BUFFER=" + rapid.SampledFrom([]string{"1k", "16k", "1m"}).Draw(rt, "buffer"),
			"WHYSLOW_LEVEL=" + rapid.SampledFrom([]string{"-1", "1"}).Draw(rt, "level")}
		res := run(t, path, env, fmt.Sprint(seed), fmt.Sprint(kinds), fmt.Sprint(events))
		defer os.RemoveAll(res.trace)
		if res.code != 0 || res.stderr != "" {
			rt.Fatalf("%d %s", res.code, res.stderr)
		}
		r, err := trace.Open(res.trace)
		if err != nil {
			rt.Fatal(err)
		}
		defer r.Close()
		checkRandom(rt, r, generator(seed), kinds, events)
		for _, p := range r.Problems() {
			if events > 0 {
				rt.Errorf("problem: %s", p)
			}
		}
	})
}

func checkRandom(rt *rapid.T, r *trace.Reader, g generator, kinds, events int) {
	specs := make([][]trace.FieldType, kinds)
	for k := range specs {
		n := int(g.next() % 17)
		for f := range n {
			m := uint64(12)
			if f == n-1 {
				m = 14
			}
			specs[k] = append(specs[k], trace.FieldType(g.next()%m+1))
		}
		spec := r.Defs(0).Kind(trace.FirstUserKind + trace.Kind(k))
		if spec == nil || spec.Name != fmt.Sprintf("on%d", k) {
			rt.Fatalf("kind %d is %v", k, spec)
		}
		var types []string
		for i, f := range spec.Fields {
			types = append(types, fmt.Sprintf("f%d %s", i, specs[k][i]))
			if f.Type != specs[k][i] {
				rt.Errorf("field %d of %s is %s", i, spec, f.Type)
			}
		}
		if got := spec.Signature(); got != "("+strings.Join(types, ", ")+")" {
			rt.Errorf("%s%s", spec, got)
		}
	}
	var b trace.Batch
	c := r.Stream(0, 0)
	i := 0
	for e := range events {
		if i == b.N {
			if !c.Next(&b) {
				rt.Fatalf("the trace ends before event %d of %d", e, events)
			}
			i = 0
		}
		k := g.next() % uint64(kinds)
		at := int64(g.next()<<10) >> 10
		at >>= g.next() % 54
		var want []uint64
		types := specs[k]
		list := len(types) > 0 && types[len(types)-1].List()
		for f, ty := range types {
			if list && f == len(types)-1 {
				n := uint64(6)
				if g.next()%8 == 0 {
					n = 60
				}
				n = g.next() % n
				want = append(want, n)
				for range n {
					want = append(want, g.value(ty))
				}
				break
			}
			want = append(want, g.value(ty))
		}
		if b.Time[i] != at || b.Kind[i] != trace.FirstUserKind+trace.Kind(k) || !slices.Equal(b.Args(i), want) {
			rt.Fatalf("event %d: %d kind %d %v, want %d kind %d %v", e, b.Time[i], b.Kind[i], b.Args(i), at,
				256+k, want)
		}
		i++
	}
	if i != b.N || c.Next(&b) {
		rt.Fatalf("more than %d events", events)
	}
}
