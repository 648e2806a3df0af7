package eventlist

import (
	"cmp"
	"context"
	"slices"
	"sort"
)

// blockEvents is a block of a view: how many of its events belong to it, and which.
type blockEvents struct {
	block int32 // index into List.blocks
	n     int32
	bits  []uint64 // of its events in order of recording; nil: all
}

// view is a list of events in order: all of them, or those that pass a filter. It is immutable.
type view struct {
	l     *List
	parts []blockEvents // by lo; each has events
	total int
	loSum []int // events of the parts before the i-th
	byHi  []int // parts by hi
	hiSum []int
}

func newView(l *List, parts []blockEvents) *view {
	v := &view{l: l, parts: parts, loSum: make([]int, len(parts)+1), hiSum: make([]int, len(parts)+1),
		byHi: make([]int, len(parts))}
	for i := range parts {
		v.byHi[i] = i
		v.loSum[i+1] = v.loSum[i] + int(parts[i].n)
	}
	v.total = v.loSum[len(parts)]
	slices.SortFunc(v.byHi, func(a, b int) int { return cmp.Compare(v.hi(a), v.hi(b)) })
	for i, p := range v.byHi {
		v.hiSum[i+1] = v.hiSum[i] + int(parts[p].n)
	}
	return v
}

func (v *view) lo(p int) int64 { return v.l.blocks[v.parts[p].block].lo }
func (v *view) hi(p int) int64 { return v.l.blocks[v.parts[p].block].hi }

// timeOrder is the events of a part in order of time.
type timeOrder struct {
	d     *decoded
	times []int64
	index []uint32 // in d; nil: all as recorded
}

// at returns the index, in the block, of the i-th event.
func (r *timeOrder) at(i int) int {
	if r.index == nil {
		return i
	}
	return int(r.index[i])
}

// before counts the events before t.
func (r *timeOrder) before(t int64) int {
	return sort.Search(len(r.times), func(i int) bool { return r.times[i] >= t })
}

func allBefore(runs []timeOrder, t int64) (n int) {
	for i := range runs {
		n += runs[i].before(t)
	}
	return n
}

func newRun(d *decoded, p *blockEvents) timeOrder {
	if p.bits == nil && d.order == nil {
		return timeOrder{d: d, times: d.time}
	}
	r := timeOrder{d: d, times: make([]int64, 0, p.n), index: make([]uint32, 0, p.n)}
	for i := range d.time {
		k := uint32(i)
		if d.order != nil {
			k = d.order[i]
		}
		if p.bits == nil || p.bits[k/64]&(1<<(k%64)) != 0 {
			r.times, r.index = append(r.times, d.time[k]), append(r.index, k)
		}
	}
	return r
}

// runs loads parts.
func (v *view) runs(ctx context.Context, parts []int) ([]timeOrder, error) {
	blocks := make([]int, len(parts))
	for i, p := range parts {
		blocks[i] = int(v.parts[p].block)
	}
	ds, err := v.l.load(ctx, blocks)
	if err != nil {
		return nil, err
	}
	out := make([]timeOrder, len(parts))
	for i, p := range parts {
		out[i] = newRun(ds[i], &v.parts[p])
	}
	return out, nil
}

// around lists the parts that may have events at a time from a to b, and counts the events of those before.
func (v *view) around(a, b int64) (before int, parts []int) {
	before = v.hiSum[sort.Search(len(v.byHi), func(i int) bool { return v.hi(v.byHi[i]) >= a })]
	end := sort.Search(len(v.parts), func(i int) bool { return v.lo(i) > b })
	for p := range end {
		if v.hi(p) >= a {
			parts = append(parts, p)
		}
	}
	return before, parts
}

// rank counts the events before t.
func (v *view) rank(ctx context.Context, t int64) (int, error) {
	if t == minTime {
		return 0, nil
	}
	before, parts := v.around(t, t-1)
	runs, err := v.runs(ctx, parts)
	return before + allBefore(runs, t), err
}

// find returns the time of row k, 0 <= k < total, and how many rows of that time come before it.
//
// The blocks' bounds alone tell between which times it is: not before a, as blocks that begin before a have
// at most k events in all, and not after b, as those that end by b have more than k. Only blocks that overlap
// [a, b] are read.
func (v *view) find(ctx context.Context, k int) (t int64, skip int, err error) {
	a := v.lo(sort.Search(len(v.parts), func(i int) bool { return v.loSum[i+1] > k }))
	b := v.hi(v.byHi[sort.Search(len(v.parts), func(i int) bool { return v.hiSum[i+1] > k })])
	before, parts := v.around(a, b)
	runs, err := v.runs(ctx, parts)
	if err != nil {
		return 0, 0, err
	}
	rank := func(t int64) int { return before + allBefore(runs, t) }
	for a < b { // the last time with at most k events before it
		wide := uint64(b) - uint64(a)
		mid := a + int64(wide/2+wide%2)
		if rank(mid) <= k {
			a = mid
		} else {
			b = mid - 1
		}
	}
	return a, k - rank(a), nil
}

// source is a run being merged with others.
type source struct {
	timeOrder
	stream, ordinal int32
	next            int
}

func (s *source) time() int64 { return s.times[s.next] }

func (s *source) compare(o *source) int {
	return cmp.Or(cmp.Compare(s.time(), o.time()), cmp.Compare(s.stream, o.stream),
		cmp.Compare(s.ordinal, o.ordinal))
}

// merge returns the events of several runs in order: the run with the next one is first.
type merge []*source

func (m *merge) add(s *source) {
	i, _ := slices.BinarySearchFunc(*m, s, (*source).compare)
	*m = slices.Insert(*m, i, s)
}

// again puts the first run where it belongs once its next event is another one.
func (m merge) again() {
	s := m[0]
	i, _ := slices.BinarySearchFunc(m[1:], s, (*source).compare)
	copy(m, m[1:i+1])
	m[i] = s
}

// atOnce is how many blocks a walk reads ahead at most.
const atOnce = 64

// walk calls f for the events at or after t, in order, until it returns false. want is how many are probably
// needed; that many blocks are read together.
func (v *view) walk(ctx context.Context, t int64, want int, f func(d *decoded, i int) (bool, error)) error {
	var m merge
	next, opened := 0, 0
	open := func(until int64) error {
		var parts []int
		ahead := 0
		for next < len(v.parts) && (v.lo(next) <= until || ahead < want-opened && len(parts) > 0 &&
			len(parts) < atOnce) {
			if v.hi(next) >= t {
				parts = append(parts, next)
				ahead += int(v.parts[next].n)
			}
			next++
		}
		opened += ahead
		runs, err := v.runs(ctx, parts)
		if err != nil {
			return err
		}
		for i, p := range parts {
			b := &v.l.blocks[v.parts[p].block]
			s := &source{timeOrder: runs[i], stream: b.stream, ordinal: b.ordinal}
			if s.next = s.before(t); s.next < len(s.times) {
				m.add(s)
			}
		}
		return nil
	}
	if err := open(t); err != nil {
		return err
	}
	for {
		for next < len(v.parts) && (len(m) == 0 || v.lo(next) <= m[0].time()) {
			if err := open(v.lo(next)); err != nil {
				return err
			}
		}
		if len(m) == 0 {
			return nil
		}
		s := m[0]
		if more, err := f(s.d, s.at(s.next)); err != nil || !more {
			return err
		}
		if s.next++; s.next == len(s.times) {
			m = slices.Delete(m, 0, 1)
			if err := ctx.Err(); err != nil {
				return err
			}
		} else {
			m.again()
		}
	}
}
