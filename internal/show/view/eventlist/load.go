package eventlist

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// events are those of one block, in recorded order.
type events struct {
	*node
	time  []int64
	kind  []trace.Kind
	off   []uint32
	words []uint64
}

func (e *events) args(i int) []uint64 { return e.words[e.off[i]:e.off[i+1]] }

// decoded is a block that was read. It does not change.
type decoded struct {
	events
	stream int
	order  []uint32 // its events by time, then as recorded; nil: they are recorded so
}

// batches are for reading blocks, again and again.
var batches = sync.Pool{New: func() any { return new(trace.Batch) }}

// read reads a block into b; the result is valid as long as b is.
func (l *List) read(i int, b *trace.Batch) (events, error) {
	blk := &l.blocks[i]
	at := blk.at
	if !at.Next(b) || b.N != int(blk.n) {
		s := l.streams[blk.stream]
		return events{}, fmt.Errorf("a block of node %d, stream %d can no longer be read: the trace has changed; "+
			"open it again", s.node, s.stream)
	}
	return events{node: l.nodes[b.Node], time: b.Time, kind: b.Kind, off: b.Off, words: b.Words}, nil
}

func (l *List) decode(i int) (*decoded, error) {
	b := batches.Get().(*trace.Batch)
	defer batches.Put(b)
	e, err := l.read(i, b)
	if err != nil {
		return nil, err
	}
	d := &decoded{stream: b.Stream, events: events{node: e.node, time: slices.Clone(e.time),
		kind: slices.Clone(e.kind), off: slices.Clone(e.off), words: slices.Clone(e.words)}}
	if len(e.clock) > 0 {
		for i, t := range d.time {
			d.time[i] = model.Common(t, e.clock)
		}
	}
	if !slices.IsSorted(d.time) {
		d.order = make([]uint32, len(d.time))
		for i := range d.order {
			d.order[i] = uint32(i)
		}
		slices.SortStableFunc(d.order, func(a, b uint32) int { return cmp.Compare(d.time[a], d.time[b]) })
	}
	return d, nil
}

// cacheBlocks is how many decoded blocks are kept: some 25 megabytes.
const cacheBlocks = 128

// load returns decoded blocks, reading those that are not in the cache several at once.
func (l *List) load(ctx context.Context, blocks []int) ([]*decoded, error) {
	out := make([]*decoded, len(blocks))
	var missing []int
	for i, b := range blocks {
		if out[i], _ = l.cache.Get(b); out[i] == nil {
			missing = append(missing, i)
		}
	}
	err := procs.Each(ctx, 0, len(missing), func(_, i int) (err error) {
		k := missing[i]
		if out[k], err = l.decode(blocks[k]); err == nil {
			l.cache.Put(blocks[k], out[k])
		}
		return err
	})
	return out, err
}
