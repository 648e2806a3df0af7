package fragments

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/whyslow/whyslow/internal/show/view/eventlist"
	"github.com/whyslow/whyslow/trace"
)

// Statistics of user events.
//
// Numbers are counted by value, rounded to eleven significant bits, so that any number of them takes little
// memory and counts of several goroutines can be added: quantiles and bins are within 0.1 %, those of whole
// numbers up to 2048 exact, as are count, min, max, mean and sum always. Of other values the most
// frequent are listed; beyond maxValues different ones, later ones are not counted.

const (
	maxValues = 1 << 16
	topValues = 10
	userBins  = 20
)

// UserEventStats is the statistics of a kind of event of a user namespace.
type UserEventStats struct {
	Event   string       `json:"event"`
	Doc     string       `json:"doc"`
	Count   int64        `json:"count"`
	PerNode []NodeCount  `json:"per_node"`
	Fields  []FieldStats `json:"fields"`
}

// NodeCount is a number of events of a node.
type NodeCount struct {
	Node  int   `json:"node"`
	Count int64 `json:"count"`
}

// FieldStats is the statistics of a field. Numbers, which lists of integers hold too, have Min to Bins,
// others Top; a list's elements count one by one. Numbers that are infinite or none are left out.
type FieldStats struct {
	Name  string       `json:"name"`
	Type  string       `json:"type"`  // a trace.FieldType
	Count int64        `json:"count"` // of values
	Min   *float64     `json:"min,omitempty"`
	Max   *float64     `json:"max,omitempty"`
	Mean  *float64     `json:"mean,omitempty"`
	Sum   *float64     `json:"sum,omitempty"`
	P50   *float64     `json:"p50,omitempty"`
	P90   *float64     `json:"p90,omitempty"`
	P99   *float64     `json:"p99,omitempty"`
	Bins  []NumberBin  `json:"bins,omitempty"` // of equal lengths; the last one includes its end
	Top   []ValueCount `json:"top,omitempty"`  // most first
}

// NumberBin counts the values from From up to but not including To.
type NumberBin struct {
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Count int64   `json:"count"`
}

// ValueCount is how often a field has a value.
type ValueCount struct {
	Value string `json:"value"`
	Count int64  `json:"count"`
}

// UserEvents returns the statistics of the events of user namespaces in an interval, most frequent kinds
// first. Kinds of the same name that nodes declare with other fields are kept apart.
func UserEvents(ctx context.Context, l *eventlist.List, from, to int64) ([]UserEventStats, error) {
	parts := make([]map[userKey]*userKind, eventlist.Workers())
	for i := range parts {
		parts[i] = map[userKey]*userKind{}
	}
	err := l.UserEvents(ctx, from, to, func(worker int, e *eventlist.UserEvent) {
		key := userKey{e.Node, e.Spec.Kind}
		k := parts[worker][key]
		if k == nil {
			k = &userKind{spec: e.Spec, defs: e.Defs, fields: newUserFields(len(e.Spec.Fields))}
			parts[worker][key] = k
		}
		k.add(e.Args)
	})
	if err != nil {
		return nil, err
	}
	return join(parts), nil
}

type userKey struct {
	node int
	kind trace.Kind
}

// userKind collects the events of one kind on one node.
type userKind struct {
	spec   *trace.KindSpec
	defs   *trace.Defs
	count  int64
	fields []userField
}

type userField struct {
	count         int64
	min, max, sum float64
	finite        int64
	numbers       map[int32]int64  // by bucket
	values        map[uint64]int64 // that are no numbers
	texts         map[string]int64 // the same in words, of all nodes
}

func newUserFields(n int) []userField {
	list := make([]userField, n)
	for i := range list {
		list[i] = userField{min: math.Inf(1), max: math.Inf(-1), numbers: map[int32]int64{},
			values: map[uint64]int64{}, texts: map[string]int64{}}
	}
	return list
}

func isNumber(t trace.FieldType) bool {
	switch t {
	case trace.FieldInt, trace.FieldUint, trace.FieldFloat, trace.FieldNS, trace.FieldBytes, trace.FieldInts:
		return true
	}
	return false
}

func (k *userKind) add(args []uint64) {
	k.count++
	for i, f := range k.spec.Fields {
		words := args[i : i+1]
		if f.Type.List() {
			words = args[i+1:]
		}
		for _, w := range words {
			k.fields[i].add(f.Type, w)
		}
	}
}

func (f *userField) add(t trace.FieldType, w uint64) {
	f.count++
	if !isNumber(t) {
		if _, known := f.values[w]; known || len(f.values) < maxValues {
			f.values[w]++
		}
		return
	}
	v := number(t, w)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return
	}
	f.finite++
	f.min, f.max, f.sum = min(f.min, v), max(f.max, v), f.sum+v
	f.numbers[bucket(v)]++
}

// number reads a value of a field of numbers.
func number(t trace.FieldType, w uint64) float64 {
	switch t {
	case trace.FieldFloat:
		return math.Float64frombits(w)
	case trace.FieldUint:
		return float64(w)
	}
	return float64(int64(w))
}

const bucketShift = 52 - 10

// bucket rounds a number towards 0; value gives it back.
func bucket(v float64) int32 {
	if v == 0 {
		return 0 // and not that of -0
	}
	return int32(math.Float64bits(v) >> bucketShift)
}

func value(bucket int32) float64 { return math.Float64frombits(uint64(uint32(bucket)) << bucketShift) }

// join adds up what the goroutines have collected.
func join(parts []map[userKey]*userKind) []UserEventStats {
	type joined struct {
		stats  UserEventStats
		fields []userField
		nodes  map[int]int64
	}
	all := map[string]*joined{}
	for _, part := range parts {
		for key, k := range part {
			name := k.spec.String()
			for _, f := range k.spec.Fields {
				name += " " + f.Name + ":" + f.Type.String()
			}
			j := all[name]
			if j == nil {
				j = &joined{UserEventStats{Event: k.spec.String(), Doc: k.spec.Doc, PerNode: []NodeCount{},
					Fields: []FieldStats{}}, newUserFields(len(k.fields)), map[int]int64{}}
				for _, f := range k.spec.Fields {
					j.stats.Fields = append(j.stats.Fields, FieldStats{Name: f.Name, Type: f.Type.String()})
				}
				all[name] = j
			}
			j.stats.Count += k.count
			j.nodes[key.node] += k.count
			for i := range k.fields {
				j.fields[i].join(&k.fields[i])
				for w, n := range k.fields[i].values {
					j.fields[i].texts[valueText(k.defs, k.spec.Fields[i].Type, w)] += n
				}
			}
		}
	}
	out := []UserEventStats{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		j := all[name]
		for _, n := range slices.Sorted(maps.Keys(j.nodes)) {
			j.stats.PerNode = append(j.stats.PerNode, NodeCount{n, j.nodes[n]})
		}
		for i := range j.stats.Fields {
			j.fields[i].finish(&j.stats.Fields[i])
		}
		out = append(out, j.stats)
	}
	slices.SortStableFunc(out, func(a, b UserEventStats) int { return cmp.Compare(b.Count, a.Count) })
	return out
}

func (f *userField) join(o *userField) {
	f.count += o.count
	f.finite += o.finite
	f.min, f.max, f.sum = min(f.min, o.min), max(f.max, o.max), f.sum+o.sum
	for b, n := range o.numbers {
		f.numbers[b] += n
	}
}

// valueText writes a value that is not a number.
func valueText(d *trace.Defs, t trace.FieldType, w uint64) string {
	switch t {
	case trace.FieldCF, trace.FieldMessage:
		return trace.CF(w).String()
	case trace.FieldDF, trace.FieldDFs:
		if w == 0 {
			return "-"
		}
		if name, ok := d.DFName(trace.DF(w)); ok {
			return name
		}
		return "#" + strconv.FormatUint(w, 10)
	case trace.FieldSite:
		site, ok := d.Site(trace.Site(w))
		if code, known := d.Code(site.Code); ok && known {
			return d.Name(code.Name)
		}
		return "#" + strconv.FormatUint(w, 10)
	case trace.FieldName:
		return d.Name(trace.Name(w))
	case trace.FieldReason:
		return trace.Reason(w).String()
	}
	return strconv.FormatUint(w, 10)
}

func (f *userField) finish(s *FieldStats) {
	s.Count = f.count
	for v, n := range f.texts {
		s.Top = append(s.Top, ValueCount{v, n})
	}
	slices.SortFunc(s.Top, func(a, b ValueCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value, b.Value))
	})
	s.Top = s.Top[:min(len(s.Top), topValues)]
	if f.finite == 0 {
		return
	}
	sum := max(min(f.sum, math.MaxFloat64), -math.MaxFloat64)
	mean := min(max(sum/float64(f.finite), f.min), f.max)
	s.Min, s.Max, s.Sum, s.Mean = &f.min, &f.max, &sum, &mean
	type counted struct {
		v float64
		n int64
	}
	var list []counted
	for b, n := range f.numbers {
		list = append(list, counted{min(max(value(b), f.min), f.max), n})
	}
	slices.SortFunc(list, func(a, b counted) int { return cmp.Compare(a.v, b.v) })
	quantile := func(p float64) *float64 {
		k := int64(rank(p, int(f.finite)))
		for _, c := range list {
			if k < c.n {
				return &c.v
			}
			k -= c.n
		}
		return nil
	}
	s.P50, s.P90, s.P99 = quantile(0.5), quantile(0.9), quantile(0.99)
	bins := userBins
	if f.min == f.max {
		bins = 1
	}
	edge := func(i int) float64 {
		if i == bins {
			return f.max
		}
		share := float64(i) / float64(bins)
		return f.min*(1-share) + f.max*share // max - min may be too much for a float64
	}
	for i := range bins {
		s.Bins = append(s.Bins, NumberBin{From: edge(i), To: edge(i + 1)})
	}
	i := 0
	for _, c := range list {
		for i < bins-1 && c.v >= s.Bins[i].To {
			i++
		}
		s.Bins[i].Count += c.n
	}
}
