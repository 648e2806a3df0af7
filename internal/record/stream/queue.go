package stream

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/trace"
)

// DefaultQueue is the size of a Queue in bytes.
const DefaultQueue = 64 << 20

// Queue is a Source of a run that keeps no trace on disk: blocks wait in memory until they
// are sent. Where they come faster than they can be sent, the oldest data blocks are
// dropped and counted. Definitions, which later blocks need, are dropped only when the
// queue holds nothing else. Its methods may be used by many goroutines; none waits.
type Queue struct {
	limit int64

	mu      sync.Mutex
	waiting []queued
	size    int64 // bytes of it
	lost    map[int]Lost
	info    *trace.RunInfo
	wake    chan struct{}
}

// queued is a block that waits, or, without raw, the end of a node.
type queued struct {
	node int
	raw  []byte
	head queuedHead
}

// queuedHead is what the header of a block that waits tells. An entry is no longer than the shortest block:
// the queue takes at most twice its size, however short the blocks are.
type queuedHead struct {
	Defs   bool
	Stream int
	Number uint32
	Count  int
}

func (e queued) isData() bool { return e.raw != nil && !e.head.Defs }

// NewQueue returns a queue of so many bytes (0: DefaultQueue) for a run. Nothing is sent before it is known
// what run that is: info may be nil until SetInfo is called. It must not be changed later.
func NewQueue(limit int64, info *trace.RunInfo) *Queue {
	if limit <= 0 {
		limit = DefaultQueue
	}
	return &Queue{limit: limit, info: info, lost: map[int]Lost{}, wake: make(chan struct{}, 1)}
}

// Put copies a block of a node, in the order of its file: header and payload, whose sums are checked.
func (q *Queue) Put(node int, block []byte) error {
	if node < 0 || node > trace.MaxNode {
		return fmt.Errorf("node %d is not in 0 to %d", node, trace.MaxNode)
	}
	head, size, err := tracefile.ParseBlockHeader(block)
	if err == nil && size != len(block) {
		err = fmt.Errorf("a block of %d bytes is given with %d", size, len(block))
	}
	if err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	n := int64(len(block))
	for q.size+n > q.limit && n <= q.limit {
		at := slices.IndexFunc(q.waiting, queued.isData)
		if at < 0 {
			break
		}
		old := q.remove(at)
		q.drop(old.node, old.head.Count)
	}
	if q.size+n > q.limit {
		events := head.Count
		if head.Defs {
			events = 0
		}
		q.drop(node, events)
		return nil
	}
	q.size += n
	q.put(queued{node, slices.Clone(block), queuedHead{head.Defs, head.Stream, head.Number, head.Count}})
	return nil
}

// put adds to what waits; q.mu is held.
func (q *Queue) put(e queued) {
	q.waiting = append(q.waiting, e)
	signal(q.wake)
}

// remove removes one that waits, which is near the front; q.mu is held.
func (q *Queue) remove(at int) queued {
	e := q.waiting[at]
	copy(q.waiting[1:], q.waiting[:at])
	q.waiting[0] = queued{} // what it holds is not kept
	q.waiting = q.waiting[1:]
	q.size -= int64(len(e.raw))
	return e
}

func (q *Queue) drop(node, events int) {
	l := q.lost[node]
	q.lost[node] = Lost{node, l.Blocks + 1, l.Events + uint64(events)}
	signal(q.wake)
}

// CloseNode says that no more blocks of a node come.
func (q *Queue) CloseNode(node int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.put(queued{node: node})
}

// SetInfo replaces what is known of the run; info must not be changed later.
func (q *Queue) SetInfo(info *trace.RunInfo) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.info = info
	signal(q.wake)
}

// Dropped is what was dropped so far, by node.
func (q *Queue) Dropped() []Lost {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.SortedFunc(maps.Values(q.lost), func(a, b Lost) int { return a.Node - b.Node })
}

// Waiting is how many blocks, and bytes of them, wait to be sent.
func (q *Queue) Waiting() (blocks int, bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, e := range q.waiting {
		if e.raw != nil {
			blocks++
		}
	}
	return blocks, q.size
}

// The queue is gone with its process: so another process is another sender.
func (q *Queue) name() string  { return fmt.Sprintf("process %d", os.Getpid()) }
func (q *Queue) rewinds() bool { return false }

// take removes the oldest that waits.
func (q *Queue) take() (e queued, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		return e, false
	}
	return q.remove(0), true
}

func (q *Queue) follow(ctx context.Context, s *Sender) error {
	var sent *trace.RunInfo
	for {
		draining, start := s.isDraining(), time.Now()
		q.mu.Lock()
		info := q.info
		q.mu.Unlock()
		if info != sent {
			sent = info
			if err := s.putInfo(ctx, info); err != nil {
				return err
			}
		}
		// Nothing is taken before it is known what run this is: until then there is no connection, and the window,
		// once full, would stay full.
		e, ok := queued{}, false
		if info != nil {
			e, ok = q.take()
		}
		for _, l := range q.Dropped() { // after taking: what was dropped before e is told before it
			s.setLost(l)
		}
		var err error
		switch {
		case ok && e.raw == nil:
			err = s.putClose(ctx, e.node)
		case ok:
			err = s.putBlock(ctx, &tracefile.RawBlock{Node: e.node, Defs: e.head.Defs, Stream: e.head.Stream,
				Number: e.head.Number, Count: e.head.Count, Bytes: e.raw})
		case draining:
			return nil
		default:
			if info != nil {
				s.mark(start)
			}
			select {
			case <-q.wake:
			case <-s.draining:
			case <-time.After(s.cfg.Poll):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if err != nil {
			return err
		}
	}
}

// signal wakes the one who waits on a channel of capacity 1.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
