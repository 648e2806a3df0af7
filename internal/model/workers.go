package model

import (
	"context"

	"github.com/whyslow/whyslow/trace"
)

// Nodes that run.json does not tell of. Streams 0 to W-1 are workers, and W must follow from what they
// recorded. Every worker begins with onProgramStarted, whether it then does anything or not; but the engine
// records it on two streams of its run-time system too, W and W+1. Those serve: they compare clocks, receive
// and count, and never work. So W is the first stream that serves and does not work, even if its
// onProgramStarted is lost; where none does, all streams with onProgramStarted are workers. Not told apart:
// run-time streams of which nothing else was recorded.

// role is what a stream shows itself to be.
type role uint8

const (
	roleUnknown role = iota
	roleServes       // it has events of run-time systems, and none of workers
	roleWorks
)

// roleOf is the role that an event of a kind shows. Streams that are no workers, and have no
// onProgramStarted, may wait or have regions too.
func roleOf(k trace.Kind, started bool) role {
	switch k {
	case trace.KindCFStarted, trace.KindCFFinished, trace.KindIdle, trace.KindBusy:
		return roleWorks
	case trace.KindEntered, trace.KindExited, trace.KindWaitStarted, trace.KindWaitEnded:
		if started {
			return roleWorks
		}
	case trace.KindClockSync, trace.KindDFReceived, trace.KindDFRequestReceived, trace.KindCFReceived,
		trace.KindSendQueue, trace.KindReadyQueue, trace.KindRelations:
		return roleServes
	}
	return roleUnknown
}

// role is what the events of the stream that were read show, or others of it.
func (s *stream) role() role {
	r := s.Role
	for k, n := range s.Count {
		if n > 0 {
			r = max(r, roleOf(trace.Kind(k), s.Started != None))
		}
	}
	return r
}

// streamCount counts the workers of one node.
type streamCount struct{ working, started, serving int }

func (c *streamCount) add(id int, r role, started bool) {
	switch {
	case r == roleWorks:
		c.working = max(c.working, id+1)
	case r == roleServes && (c.serving == 0 || id < c.serving):
		c.serving = id
	}
	if started {
		c.started = max(c.started, id+1)
	}
}

func (c *streamCount) workers() int {
	if c.serving > 0 {
		return max(c.working, c.serving)
	}
	return max(c.working, c.started)
}

// countWorkers finds how many workers the nodes have that run.json does not tell of.
func (b *builder) countWorkers() {
	counts := map[int]*streamCount{}
	for _, s := range b.streams {
		if b.m.Info.Node(s.Node) != nil {
			continue
		}
		if counts[s.Node] == nil {
			counts[s.Node] = new(streamCount)
		}
		counts[s.Node].add(s.ID, s.role(), s.Started != None)
	}
	for node, c := range counts {
		b.m.Nodes[node].Workers = make([]Worker, c.workers())
	}
}

// CountWorkers returns how many workers those nodes have that run.json does not tell of, as Build counts
// them. It fails only when ctx ends.
func CountWorkers(ctx context.Context, r *trace.Reader) (map[int]int, error) {
	roles, err := findRoles(ctx, r)
	if err != nil {
		return nil, err
	}
	counts, workers := map[int]*streamCount{}, map[int]int{}
	for _, s := range r.Streams() {
		if r.Run().Node(s.Node) != nil {
			continue
		}
		if counts[s.Node] == nil {
			counts[s.Node] = new(streamCount)
		}
		counts[s.Node].add(s.Stream, roles[streamKey{s.Node, s.Stream}], s.Started)
		workers[s.Node] = counts[s.Node].workers()
	}
	return workers, nil
}

// findRoles finds the roles of the streams, as far as they matter, of nodes that run.json does not tell of:
// of the last that works, and those after it. Mostly a worker's first block shows what it is.
func findRoles(ctx context.Context, r *trace.Reader) (map[streamKey]role, error) {
	roles, known := map[streamKey]role{}, map[int]bool{}
	streams := r.Streams()
	for i := len(streams) - 1; i >= 0; i-- {
		s := streams[i]
		if known[s.Node] || r.Run().Node(s.Node) != nil {
			continue
		}
		var batch trace.Batch
		found := roleUnknown
		for c := r.Stream(s.Node, s.Stream); found != roleWorks && c.Next(&batch); {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			for _, k := range batch.Kind {
				found = max(found, roleOf(k, s.Started))
			}
		}
		roles[streamKey{s.Node, s.Stream}] = found
		known[s.Node] = found == roleWorks
	}
	return roles, nil
}
