package fragments

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/whyslow/whyslow/internal/model/query"
	"github.com/whyslow/whyslow/internal/show/view/eventlist"
)

// UserCurves are user events over time.
type UserCurves struct {
	From     int64       `json:"from"`
	To       int64       `json:"to"`
	WindowNS int64       `json:"window_ns"`
	Curves   []UserCurve `json:"curves"` // by name, then node
}

// UserCurve is how often a node told an event of a name, or the mean of a field of it, by window.
type UserCurve struct {
	Name  string     `json:"name"` // "ns.event" or "ns.event.field"
	Node  int        `json:"node"`
	Count []int64    `json:"count"`
	Mean  []*float64 `json:"mean"` // of a field; null where none was told; empty for the event itself
}

// maxCurves bounds an answer; with it names are refused where there are more.
const maxCurves = 1 << 12

// Curves gives events of user namespaces, and their fields of single numbers, over time: those of some names,
// or all. There are at most points windows, from 1 to 4096.
func Curves(ctx context.Context, l *eventlist.List, names []string, from, to int64, points int) (*UserCurves,
	error) {
	if from >= to {
		return nil, query.Bad("the interval from %d to %d ns is empty", from, to)
	}
	width := max((to-from+int64(points)-1)/int64(points), 1)
	windows := int((to - from + width - 1) / width)
	type key struct {
		name string
		node int
	}
	type curve struct {
		count []int64
		sum   []float64
		field bool
	}
	var mu sync.Mutex
	all := map[key]*curve{}
	var many bool
	add := func(k key, at int, field bool, v float64) {
		if names != nil && !slices.Contains(names, k.name) {
			return
		}
		c := all[k]
		if c == nil {
			if many = many || len(all) == maxCurves; many {
				return
			}
			c = &curve{count: make([]int64, windows), sum: make([]float64, windows), field: field}
			all[k] = c
		}
		c.count[at]++
		c.sum[at] += v
	}
	err := l.UserEvents(ctx, from, to, func(_ int, e *eventlist.UserEvent) {
		at := int(min(max((e.T-from)/width, 0), int64(windows-1)))
		mu.Lock()
		defer mu.Unlock()
		add(key{e.Spec.String(), e.Node}, at, false, 0)
		for i, f := range e.Spec.Fields {
			if !isNumber(f.Type) || f.Type.List() {
				continue
			}
			if v := number(f.Type, e.Args[i]); !math.IsNaN(v) && !math.IsInf(v, 0) {
				add(key{e.Spec.String() + "." + f.Name, e.Node}, at, true, v)
			}
		}
	})
	if err != nil {
		return nil, err
	}
	if many {
		return nil, query.Bad("there are more than %d curves: ask for some names", maxCurves)
	}
	out := &UserCurves{From: from, To: to, WindowNS: width, Curves: []UserCurve{}}
	for _, k := range slices.SortedFunc(maps.Keys(all), func(a, b key) int {
		return cmp.Or(strings.Compare(a.name, b.name), cmp.Compare(a.node, b.node))
	}) {
		c, u := all[k], UserCurve{Name: k.name, Node: k.node, Mean: []*float64{}}
		u.Count = c.count
		for i, n := range c.count {
			if !c.field {
				break
			}
			var mean *float64
			if n > 0 {
				v := c.sum[i] / float64(n)
				mean = &v
			}
			u.Mean = append(u.Mean, mean)
		}
		out.Curves = append(out.Curves, u)
	}
	return out, nil
}

// Tell calls tell with every number of a field, "ns.event.field", of the whole run: the stream that told it,
// when, and what. There must be such a field somewhere.
func Tell(ctx context.Context, l *eventlist.List, name string, wall int64,
	tell func(node, stream int, at int64, v float64)) error {
	var mu sync.Mutex
	return l.UserEvents(ctx, 0, wall, func(_ int, e *eventlist.UserEvent) {
		field, ok := strings.CutPrefix(name, e.Spec.String()+".")
		if !ok {
			return
		}
		for i, f := range e.Spec.Fields {
			if f.Name != field || !isNumber(f.Type) || f.Type.List() {
				continue
			}
			mu.Lock()
			tell(e.Node, e.Stream, e.T, number(f.Type, e.Args[i]))
			mu.Unlock()
		}
	})
}
