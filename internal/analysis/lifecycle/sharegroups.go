package lifecycle

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// keyedGroup is a Group of one process, with what orders it among those of others.
type keyedGroup struct {
	sameGroup
	Count, Bytes, HeldNS, UnusedNS int64

	First    string // the least key of any of it
	Examples []keyedExample
}

// sameGroup tells groups apart.
type sameGroup struct {
	Name, Why string
	Site      uint32
	Second    uint32 // 1 + statement; 0 none
}

type keyedExample struct {
	Key string
	Example
	CFs [2]trace.CF // whose names are to be filled in as Example.CF and Second; 0 none
}

// keyed collects what one process found, in the order of keys.
type keyed struct {
	s     *sharing
	index map[sameGroup]*keyedGroup
	list  []*keyedGroup
}

func (s *sharing) keyed() *keyed { return &keyed{s: s, index: map[sameGroup]*keyedGroup{}} }

// key makes a string that compares as the numbers do.
func key(numbers ...uint64) string {
	var b strings.Builder
	for _, n := range numbers {
		fmt.Fprintf(&b, "%016x", n)
	}
	return b.String()
}

// add counts something of a group. example is asked for if there is room for it.
func (k *keyed) add(same sameGroup, key string, bytes int64, example func() Example) *keyedGroup {
	g := k.index[same]
	if g == nil {
		g = &keyedGroup{sameGroup: same, First: key}
		k.index[same] = g
		k.list = append(k.list, g)
	}
	g.Count++
	g.Bytes += bytes
	if len(g.Examples) < k.s.opt.Examples {
		g.Examples = append(g.Examples, keyedExample{Key: key, Example: example()})
	}
	return g
}

// named is add of something that CFs have done of which this process may know no more than the ids.
func (k *keyed) named(same sameGroup, key string, bytes int64, cfs [2]trace.CF, example func() Example) *keyedGroup {
	g := k.add(same, key, bytes, example)
	if last := len(g.Examples) - 1; g.Examples[last].Key == key {
		g.Examples[last].CFs = cfs
	}
	return g
}

// finding joins what all processes found; at rank 0 it is that of one process.
func (k *keyed) finding() (*Finding, error) {
	b, err := json.Marshal(k.list)
	if err != nil {
		return nil, err
	}
	in, err := procs.Gather(k.s.g, 0, b)
	if err != nil {
		return nil, err
	}
	if k.s.g.Rank() != 0 {
		_, err := k.s.titles(nil)
		return nil, err
	}
	all := k.s.keyed()
	for _, b := range in {
		var list []*keyedGroup
		if err := json.Unmarshal(b, &list); err != nil {
			return nil, errShare
		}
		for _, g := range list {
			all.join(g)
		}
	}
	slices.SortFunc(all.list, func(a, b *keyedGroup) int { return cmp.Compare(a.First, b.First) })
	var ids []trace.CF
	for _, g := range all.list {
		slices.SortFunc(g.Examples, func(a, b keyedExample) int { return cmp.Compare(a.Key, b.Key) })
		g.Examples = g.Examples[:min(len(g.Examples), k.s.opt.Examples)]
		for _, e := range g.Examples {
			for _, id := range e.CFs {
				if id != 0 {
					ids = append(ids, id)
				}
			}
		}
	}
	titles, err := k.s.titles(ids)
	if err != nil {
		return nil, err
	}
	out := k.s.groups()
	for _, g := range all.list {
		x := &Group{Name: g.Name, By: k.s.placeOf(int(g.Site)), Why: g.Why, Count: g.Count, Bytes: g.Bytes, HeldNS: g.HeldNS, UnusedNS: g.UnusedNS, Examples: []Example{}}
		if g.Second != 0 {
			p := k.s.placeOf(int(g.Second - 1))
			x.Second = &p
		}
		for _, e := range g.Examples {
			e.CF, e.Example.Second = cmp.Or(titles[e.CFs[0]], e.CF), cmp.Or(titles[e.CFs[1]], e.Example.Second)
			x.Examples = append(x.Examples, e.Example)
		}
		out.list = append(out.list, x)
		out.count += g.Count
		out.bytes += g.Bytes
	}
	return out.finding(), nil
}

func (k *keyed) join(o *keyedGroup) {
	g := k.index[o.sameGroup]
	if g == nil {
		k.index[o.sameGroup] = o
		k.list = append(k.list, o)
		return
	}
	g.Count += o.Count
	g.Bytes += o.Bytes
	g.HeldNS += o.HeldNS
	g.UnusedNS += o.UnusedNS
	g.First = min(g.First, o.First)
	g.Examples = append(g.Examples, o.Examples...)
}
