package trace

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
)

// Span is a stretch of time, From <= To, both ends included.
type Span struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// Always is all of time.
var Always = Span{math.MinInt64, math.MaxInt64}

// Size returns the length of all data blocks in bytes, as they are in the files.
func (r *Reader) Size() int64 {
	n := int64(0)
	for _, f := range r.files {
		for i := range f.blocks {
			n += blockHeader + int64(f.blocks[i].packed)
		}
	}
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
		for failed.Load() == nil {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			if err := f(worker, i); err != nil {
				failed.CompareAndSwap(nil, &err)
			}
		}
	}
	if workers == 1 {
		work(0)
	} else {
		var wg sync.WaitGroup
		for w := range workers {
			wg.Go(func() { work(w) })
		}
		wg.Wait()
	}
	if p := failed.Load(); p != nil {
		return *p
	}
	return nil
}

// Each calls f for every block that can be read, from up to workers goroutines at
// once, in no particular order; with one worker it is the order of the files. It stops
// at the first error of f and returns it. Damaged blocks are left out and noted.
func (r *Reader) Each(workers int, f func(b *Batch) error) error {
	return r.EachIn(workers, Always, f)
}

// EachIn is Each for the blocks that hold events of a time in the span, and reads no
// others. Such a block may hold events of other times too.
func (r *Reader) EachIn(workers int, in Span, f func(b *Batch) error) error {
	type job struct {
		f   *nodeFile
		blk *block
	}
	var jobs []job
	for _, file := range r.files {
		for i := range file.blocks {
			if blk := &file.blocks[i]; blk.within(in) {
				jobs = append(jobs, job{file, blk})
			}
		}
	}
	batches := make([]Batch, max(1, min(workers, len(jobs))))
	return each(workers, len(jobs), func(w, i int) error {
		b := &batches[w]
		if r.read(jobs[i].f, jobs[i].blk, b) != nil {
			return nil
		}
		return f(b)
	})
}

// within reports whether the block may hold events of a time in the span.
func (h *header) within(in Span) bool { return h.last >= in.From && h.first <= in.To }

// EachMark calls f for the blocks that hold an onProgramStarted, onProgramFinished or
// onClockSync, in the order of the files, and reads no others: with the headers of the
// blocks they tell when the run was, and what time it is on each node. It stops at the
// first error of f and returns it. Damaged blocks are left out and noted.
func (r *Reader) EachMark(f func(b *Batch) error) error {
	var b Batch
	for _, file := range r.files {
		for i := range file.blocks {
			blk := &file.blocks[i]
			if blk.flags&(flagStarted|flagFinished|flagSync) == 0 || r.read(file, blk, &b) != nil {
				continue
			}
			if err := f(&b); err != nil {
				return err
			}
		}
	}
	return nil
}

// EachStream calls f with a cursor for every stream, from up to workers goroutines at
// once. It stops at the first error of f and returns it.
func (r *Reader) EachStream(workers int, f func(c *Cursor) error) error {
	return r.EachStreamIn(workers, Always, f)
}

// EachStreamIn is EachStream with the cursors of StreamIn.
func (r *Reader) EachStreamIn(workers int, in Span, f func(c *Cursor) error) error {
	streams := r.Streams()
	return each(workers, len(streams), func(_, i int) error {
		return f(r.StreamIn(streams[i].Node, streams[i].Stream, in))
	})
}

// Verify reads everything, so that Problems is complete.
func (r *Reader) Verify(workers int) {
	_ = r.Each(workers, func(*Batch) error { return nil }) // what fails is noted
}

// Cursor goes through the blocks of one stream in the order they were recorded.
type Cursor struct {
	Node, Stream int

	r      *Reader
	f      *nodeFile
	blocks []*block
}

// Stream returns a cursor for a stream; for one that does not exist it is at its end.
func (r *Reader) Stream(node, stream int) *Cursor { return r.StreamIn(node, stream, Always) }

// StreamIn is Stream for the blocks that hold events of a time in the span, and reads
// no others. Such a block may hold events of other times too.
func (r *Reader) StreamIn(node, stream int, in Span) *Cursor {
	c := &Cursor{Node: node, Stream: stream, r: r, f: r.nodeFile(node)}
	if c.f != nil {
		for i := range c.f.blocks {
			if b := &c.f.blocks[i]; int(b.stream) == stream && b.within(in) {
				c.blocks = append(c.blocks, b)
			}
		}
	}
	return c
}

// Within passes over all blocks to come that hold no events of a time in the span, without
// reading them.
func (c *Cursor) Within(in Span) {
	c.blocks = slices.DeleteFunc(c.blocks, func(b *block) bool { return !b.within(in) })
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

// Skip passes over all blocks that end before t, without reading them.
func (c *Cursor) Skip(t int64) {
	for len(c.blocks) > 0 && c.blocks[0].last < t {
		c.blocks = c.blocks[1:]
	}
}
