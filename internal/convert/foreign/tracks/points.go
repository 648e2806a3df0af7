package tracks

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/convert/foreign"
	"github.com/whyslow/whyslow/trace"
)

// What no thread executes: values of counters, and asynchronous slices. They become events of user
// namespaces, "Counter.NAME" with the value and "Async.NAME" with the length, at its end. The page shows
// these as curves and counts, and the table of events has them.

// point is such an event.
type point struct {
	at   int64
	kind int32
	word uint64 // its only field
}

// mark is where an asynchronous slice begins or ends. Slices of one key are nested.
type mark struct {
	at   int64
	key  int32
	name int32 // of what begins; -1: it is an end
}

// points are those of a file.
type points struct {
	list       []point
	marks      []mark
	keys       map[string]int32
	specs      []trace.KindSpec
	kinds      map[[2]string]int32 // by namespace and name, as the file has it
	identifier map[string]bool     // names of kinds that are taken
}

// mostKinds is how many counters, and names of asynchronous slices, there may be together.
const mostKinds = 512

// kind gives the kind of a name; false if there are too many.
func (p *points) kind(namespace, name, doc string, field trace.Field) (int32, bool) {
	if p.kinds == nil {
		p.kinds, p.identifier = map[[2]string]int32{}, map[string]bool{}
	}
	key := [2]string{namespace, name}
	k, ok := p.kinds[key]
	if !ok && len(p.specs) < mostKinds {
		k, ok = int32(len(p.specs)), true
		p.kinds[key] = k
		p.specs = append(p.specs, trace.KindSpec{Namespace: namespace, Name: p.unique(namespace, name),
			Doc: doc + " " + name, Fields: []trace.Field{field}})
	}
	return k, ok
}

// unique makes an identifier of a name, which no other one of the namespace has.
func (p *points) unique(namespace, name string) string {
	const longest = 200
	base := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, name)
	base = base[:min(len(base), longest)]
	if base == "" || base[0] <= '9' {
		base = "_" + base
	}
	for n, id := 2, base; ; n++ {
		if !p.identifier[namespace+"."+id] {
			p.identifier[namespace+"."+id] = true
			return id
		}
		id = fmt.Sprintf("%s_%d", base, n)
	}
}

// Counter takes in a value of a counter.
func (f *File) Counter(name string, at int64, v float64) error {
	k, ok := f.points.kind("Counter", name, "The counter", trace.Field{Name: "value", Type: trace.FieldFloat})
	if !ok {
		f.to.Skip("counters")
		return nil
	}
	if err := f.room(); err != nil {
		return err
	}
	f.points.list = append(f.points.list, point{at, k, math.Float64bits(v)})
	return nil
}

// AsyncBegin begins an asynchronous slice, inside of those of the same key that are open then.
func (f *File) AsyncBegin(key, name string, at int64) error {
	return f.mark(key, at, int32(f.name(name)))
}

// AsyncEnd ends the innermost asynchronous slice of a key.
func (f *File) AsyncEnd(key string, at int64) error { return f.mark(key, at, -1) }

func (f *File) mark(key string, at int64, name int32) error {
	p := &f.points
	if p.keys == nil {
		p.keys = map[string]int32{}
	}
	k, ok := p.keys[key]
	if !ok {
		k = int32(len(p.keys))
		p.keys[key] = k
	}
	p.marks = append(p.marks, mark{at, k, name})
	return f.room()
}

// pair makes points of the asynchronous slices.
func (f *File) pair() {
	p := &f.points
	slices.SortStableFunc(p.marks, func(a, b mark) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.at, b.at))
	})
	var open []mark
	for i, m := range p.marks {
		if i == 0 || m.key != p.marks[i-1].key {
			f.skip("beginnings", len(open))
			open = open[:0]
		}
		n := len(open) - 1
		switch {
		case m.name >= 0:
			open = append(open, m)
		case n < 0:
			f.skip("ends", 1)
		default:
			name := cmp.Or(f.texts[open[n].name], "slice")
			if k, ok := p.kind("Async", name, "The asynchronous slice",
				trace.Field{Name: "ns", Type: trace.FieldNS}); ok {
				p.list = append(p.list, point{m.at, k, uint64(m.at - open[n].at)})
			} else {
				f.skip("others", 1)
			}
			open = open[:n]
		}
	}
	f.skip("beginnings", len(open))
	p.marks, p.keys = nil, nil
}

func (f *File) skip(what string, n int) {
	for range n {
		f.to.Skip(what)
	}
}

// writePoints writes the points in order of time.
func (f *File) writePoints(node *foreign.Node) error {
	f.pair()
	p := &f.points
	kinds := make([]trace.Kind, len(p.specs))
	for i, spec := range p.specs {
		var err error
		if kinds[i], err = node.Kind(spec); err != nil {
			return err
		}
	}
	slices.SortStableFunc(p.list, func(a, b point) int { return cmp.Compare(a.at, b.at) })
	for _, x := range p.list {
		node.System().Emit(x.at, kinds[x.kind], x.word)
	}
	return nil
}
