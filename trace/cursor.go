package trace

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/whyslow/whyslow/internal/tracefile"
)

// Span is a stretch of time, From <= To, both ends included.
type Span struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// Always is all of time.
var Always = Span{math.MinInt64, math.MaxInt64}

// Size returns the length of all data blocks in bytes, as they are in the files.
func (r *Reader) Size() (n int64) {
	_ = r.eachBlock(1, Always, func(_ int, _ *nodeFile, blk *tracefile.Block) error {
		n += blk.Size()
		return nil
	})
	return n
}

// BytesRead returns how many bytes of data blocks have been read so far, in the
// measure of Size: a block counts each time it is read.
func (r *Reader) BytesRead() int64 { return r.bytesRead.Load() }

// each calls f(worker, i) for i from 0 to n-1 in several goroutines until one fails.
func each(workers, n int, f func(worker, i int) error) error {
	workers = max(1, min(workers, n))
	var next atomic.Int64
	var failed atomic.Pointer[error]
	work := func(worker int) {
		for i := int(next.Add(1)) - 1; i < n && failed.Load() == nil; i = int(next.Add(1)) - 1 {
			if err := f(worker, i); err != nil {
				failed.CompareAndSwap(nil, &err)
			}
		}
	}
	var wg sync.WaitGroup
	for worker := 1; worker < workers; worker++ {
		wg.Go(func() { work(worker) })
	}
	work(0)
	wg.Wait()
	if p := failed.Load(); p != nil {
		return *p
	}
	return nil
}

// eachBlock calls f in the same way for the data blocks that may hold events of a span, in the order of the
// files.
func (r *Reader) eachBlock(workers int, in Span, f func(worker int, file *nodeFile,
	blk *tracefile.Block) error) error {
	type place struct {
		f   *nodeFile
		blk *tracefile.Block
	}
	var list []place
	for _, file := range r.files {
		for i := range file.Blocks {
			if blk := &file.Blocks[i]; within(blk, in) {
				list = append(list, place{file, blk})
			}
		}
	}
	return each(workers, len(list), func(w, i int) error { return f(w, list[i].f, list[i].blk) })
}

// EventsIn is at most how many events there are of the times in a span, according to the headers of the
// blocks: events of blocks that reach beyond it count as well.
func (r *Reader) EventsIn(in Span) (n int) {
	_ = r.eachBlock(1, in, func(_ int, _ *nodeFile, blk *tracefile.Block) error {
		n += int(blk.Count)
		return nil
	})
	return n
}

// Each calls f for every block that can be read, from up to workers goroutines at once, in no particular
// order; with one worker it is the order of the files. It stops at the first error of f and returns it.
// Damaged blocks are left out and noted.
func (r *Reader) Each(workers int, f func(b *Batch) error) error {
	batches := make([]Batch, max(1, workers))
	return r.eachBlock(workers, Always, func(w int, file *nodeFile, blk *tracefile.Block) error {
		if r.read(file, blk, &batches[w]) != nil {
			return nil
		}
		return f(&batches[w])
	})
}

// within reports whether a block may hold events of a time in the span.
func within(b *tracefile.Block, in Span) bool { return b.Last >= in.From && b.First <= in.To }

// EachMark calls f for the blocks that hold an onProgramStarted, onProgramFinished or onClockSync, in the
// order of the files, and reads no others: with the headers of the blocks they tell when the run was, and
// what time it is on each node. It stops at the first error of f and returns it. Damaged blocks are left out
// and noted.
func (r *Reader) EachMark(f func(b *Batch) error) error {
	var b Batch
	return r.eachBlock(1, Always, func(_ int, file *nodeFile, blk *tracefile.Block) error {
		if blk.Flags&(tracefile.FlagStarted|tracefile.FlagFinished|tracefile.FlagSync) == 0 || r.read(file, blk,
			&b) != nil {
			return nil
		}
		return f(&b)
	})
}

// EachStream calls f with a cursor for every stream, from up to workers goroutines at once. It stops at the
// first error of f and returns it.
func (r *Reader) EachStream(workers int, f func(c *Cursor) error) error {
	streams := r.Streams()
	return each(workers, len(streams), func(_, i int) error {
		return f(r.StreamIn(streams[i].Node, streams[i].Stream, Always))
	})
}

// Verify reads everything, so that Problems is complete.
func (r *Reader) Verify(workers int) { _ = r.Each(workers, func(*Batch) error { return nil }) }

// Cursor goes through the blocks of one stream in the order they were recorded.
type Cursor struct {
	Node, Stream int

	r      *Reader
	f      *nodeFile
	blocks []*tracefile.Block
}

// Stream returns a cursor for a stream; for one that does not exist it is at its end.
func (r *Reader) Stream(node, stream int) *Cursor { return r.StreamIn(node, stream, Always) }

// StreamIn is Stream for the blocks that hold events of a time in the span, and reads
// no others. Such a block may hold events of other times too.
func (r *Reader) StreamIn(node, stream int, in Span) *Cursor {
	c := &Cursor{Node: node, Stream: stream, r: r, f: r.nodeFile(node)}
	if c.f != nil {
		for _, b := range c.f.blocksOf(stream) {
			if within(b, in) {
				c.blocks = append(c.blocks, b)
			}
		}
	}
	return c
}

// Within passes over all blocks to come that hold no events of a time in the span, without reading them.
func (c *Cursor) Within(in Span) {
	c.blocks = slices.DeleteFunc(c.blocks, func(b *tracefile.Block) bool { return !within(b, in) })
}

// Next reads the next whole block into b and reports whether there was one. Damaged
// blocks are passed over and noted.
func (c *Cursor) Next(b *Batch) bool {
	for len(c.blocks) > 0 {
		blk := c.blocks[0]
		c.blocks = c.blocks[1:]
		if c.r.read(c.f, blk, b) == nil {
			return true
		}
	}
	return false
}
