package eventlist

import (
	"context"
	"math"
	"runtime"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/model/query"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// UserEvent is an event of a user namespace. Args are valid only during the call that receives it.
type UserEvent struct {
	Node int
	// Stream is that of the worker, or of another thread; T is in nanoseconds since the start of the run.
	Stream int
	T      int64
	Spec   *trace.KindSpec
	Defs   *trace.Defs // of the node
	Args   []uint64    // as trace.Batch.Args
}

// Workers is how many goroutines UserEvents uses at most.
func Workers() int { return runtime.GOMAXPROCS(0) }

// UserEvents calls f for the events of user namespaces in [from, to), in nanoseconds since the start of the
// run. It calls from several goroutines, in no order; worker, below Workers(), says which. An interval that
// begins at 0 or ends at the end of the run includes events recorded before or after it. Only blocks that may
// hold such events are read.
func (l *List) UserEvents(ctx context.Context, from, to int64, f func(worker int, e *UserEvent)) error {
	ctx, leave, err := l.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if !slices.ContainsFunc(l.r.Nodes(), func(n int) bool { return len(l.r.Defs(n).UserKinds()) > 0 }) {
		return nil
	}
	if err := l.ready(ctx); err != nil {
		return err
	}
	first, last := minTime, maxTime
	if from > 0 {
		first = query.Shift(from, l.m.Start)
	}
	if to < l.m.Wall() {
		last = query.Shift(to, l.m.Start) - 1
	}
	var blocks []int
	for _, i := range l.blocksOf(first, last) {
		if l.blocks[i].kinds.has(trace.Kind(math.MaxUint16)) {
			blocks = append(blocks, i)
		}
	}
	return procs.Each(ctx, 0, len(blocks), func(worker, at int) error {
		b := batches.Get().(*trace.Batch)
		defer batches.Put(b)
		e, err := l.read(blocks[at], b)
		if err != nil {
			return err
		}
		for i, k := range e.kind {
			if k < trace.FirstUserKind {
				continue
			}
			s := e.shape(k)
			if t := model.Common(e.time[i], e.clock); s != nil && t >= first && t <= last {
				f(worker, &UserEvent{Node: e.number, Stream: l.streams[l.blocks[blocks[at]].stream].stream,
					T: t - l.m.Start, Spec: s.spec, Defs: e.defs, Args: e.args(i)})
			}
		}
		return nil
	})
}
