package eventlist

import (
	"cmp"
	"context"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// block describes a block without reading it.
type block struct {
	stream  int32 // index into List.streams
	ordinal int32 // in its stream
	n       int32
	lo, hi  int64 // the first and last time of its events, on the common clock
	kinds   kindSet
	at      trace.Cursor // is before it
}

// kindSet holds standard kinds, and in bit 0 whether there is any other.
type kindSet [trace.FirstUserKind / 64]uint64

func (s *kindSet) add(k trace.Kind) {
	if k >= trace.FirstUserKind {
		k = 0
	}
	s[k/64] |= 1 << (k % 64)
}

func (s *kindSet) has(k trace.Kind) bool {
	if k >= trace.FirstUserKind {
		k = 0
	}
	return s[k/64]&(1<<(k%64)) != 0
}

func (s *kindSet) meets(o *kindSet) bool {
	for i := range s {
		if s[i]&o[i] != 0 {
			return true
		}
	}
	return false
}

// within reports whether a set has all kinds of s.
func (s *kindSet) within(o *kindSet) bool {
	for i := range s {
		if s[i]&^o[i] != 0 {
			return false
		}
	}
	return true
}

type stream struct{ node, stream int }

// node holds the part of a node's definitions that the list needs.
type node struct {
	number int
	defs   *trace.Defs
	clock  []model.ClockSync // of its times: the model's own correction
	user   map[trace.Kind]*shape
}

func (n *node) shape(k trace.Kind) *shape {
	if k < trace.FirstUserKind {
		return standard[k]
	}
	return n.user[k]
}

// ready reads the whole trace once: its blocks, their contents, and the clock comparisons.
func (l *List) ready(ctx context.Context) error {
	select {
	case l.building <- struct{}{}:
		defer func() { <-l.building }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if l.all != nil {
		return nil
	}
	l.nodes = map[int]*node{}
	for _, n := range l.r.Nodes() {
		own := &node{number: n, clock: l.m.Clock(n), defs: l.r.Defs(n), user: map[trace.Kind]*shape{}}
		for _, s := range own.defs.UserKinds() {
			own.user[s.Kind] = newShape(s)
		}
		l.nodes[n] = own
	}
	type found struct {
		stream
		blocks []block
	}
	var mu sync.Mutex
	var streams []found
	err := l.r.EachStream(runtime.GOMAXPROCS(0), func(c *trace.Cursor) error {
		f := found{stream: stream{c.Node, c.Stream}}
		var b trace.Batch
		for at := *c; c.Next(&b); at = *c {
			if err := ctx.Err(); err != nil {
				return err
			}
			if b.N == 0 {
				continue
			}
			blk := block{ordinal: int32(len(f.blocks)), n: int32(b.N), at: at, lo: b.First, hi: b.Last}
			for _, k := range b.Kind {
				blk.kinds.add(k)
			}
			if clock := l.nodes[c.Node].clock; len(clock) > 0 {
				blk.lo, blk.hi = maxTime, minTime
				for _, t := range b.Time {
					t = model.Common(t, clock)
					blk.lo, blk.hi = min(blk.lo, t), max(blk.hi, t)
				}
			}
			f.blocks = append(f.blocks, blk)
		}
		mu.Lock()
		defer mu.Unlock()
		streams = append(streams, f)
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(streams, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.stream.stream, b.stream.stream))
	})
	var blocks []block
	for i, f := range streams {
		l.streams = append(l.streams, f.stream)
		for k := range f.blocks {
			f.blocks[k].stream = int32(i)
		}
		blocks = append(blocks, f.blocks...)
	}
	slices.SortStableFunc(blocks, func(a, b block) int { return cmp.Compare(a.lo, b.lo) })
	l.blocks = blocks
	parts := make([]blockEvents, len(blocks))
	for i := range parts {
		parts[i] = blockEvents{block: int32(i), n: blocks[i].n}
	}
	l.all = newView(l, parts)
	return nil
}

const (
	minTime = int64(math.MinInt64)
	maxTime = int64(math.MaxInt64)
)
