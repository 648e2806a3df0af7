package stream

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

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

	mu     sync.Mutex
	data   []queued
	defs   []queued
	others []queued // closes
	next   uint64   // number of the next to come
	size   int64
	lost   map[int]Lost
	info   *trace.RunInfo
	wake   chan struct{}
}

// queued is a block that waits, or the end of a node.
type queued struct {
	seq  uint64 // its place among all
	node int
	raw  []byte
	head trace.RawBlock
}

// NewQueue returns a queue of so many bytes (0: DefaultQueue) for a run. Nothing is sent
// before it is known what run that is: info may be nil until SetInfo is called. It must
// not be changed later.
func NewQueue(limit int64, info *trace.RunInfo) *Queue {
	if limit <= 0 {
		limit = DefaultQueue
	}
	return &Queue{limit: limit, info: info, lost: map[int]Lost{}, wake: make(chan struct{}, 1)}
}

// Put takes a block of a node: header and payload as in a file, whose sums are checked. It
// is copied. Blocks of a node are put in the order of its file.
func (q *Queue) Put(node int, block []byte) error {
	if node < 0 || node > trace.MaxNode {
		return fmt.Errorf("node %d is not in 0 to %d", node, trace.MaxNode)
	}
	head, size, err := trace.ParseBlockHeader(block)
	if err == nil && size != len(block) {
		err = fmt.Errorf("a block of %d bytes is given with %d", size, len(block))
	}
	if err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	n := int64(len(block))
	for q.size+n > q.limit && len(q.data) > 0 && n <= q.limit {
		old := first(&q.data)
		q.size -= int64(len(old.raw))
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
	e := queued{seq: q.next, node: node, raw: slices.Clone(block), head: head}
	q.next++
	q.size += n
	if head.Defs {
		q.defs = append(q.defs, e)
	} else {
		q.data = append(q.data, e)
	}
	signal(q.wake)
	return nil
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
	q.others = append(q.others, queued{seq: q.next, node: node})
	q.next++
	signal(q.wake)
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
	var list []Lost
	for _, l := range q.lost {
		list = append(list, l)
	}
	slices.SortFunc(list, func(a, b Lost) int { return a.Node - b.Node })
	return list
}

// Waiting is how many blocks, and bytes of them, wait to be sent.
func (q *Queue) Waiting() (blocks int, bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.data) + len(q.defs), q.size
}

// The queue is gone with its process: so another process is another sender.
func (q *Queue) name() string  { return fmt.Sprintf("process %d", os.Getpid()) }
func (q *Queue) rewinds() bool { return false }

// first removes the first of a list.
func first(list *[]queued) queued {
	e := (*list)[0]
	(*list)[0] = queued{} // what it holds is not kept
	*list = (*list)[1:]
	return e
}

// take removes the oldest that waits.
func (q *Queue) take() (e queued, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var from *[]queued
	for _, list := range []*[]queued{&q.defs, &q.data, &q.others} {
		if len(*list) > 0 && (from == nil || (*list)[0].seq < (*from)[0].seq) {
			from = list
		}
	}
	if from == nil {
		return e, false
	}
	e = first(from)
	q.size -= int64(len(e.raw))
	return e, true
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
		for _, l := range q.Dropped() {
			s.setLost(l)
		}
		e, ok := q.take()
		var err error
		switch {
		case ok && e.raw == nil:
			err = s.putClose(ctx, e.node)
		case ok:
			e.head.Node, e.head.Bytes = e.node, e.raw
			err = s.putBlock(ctx, &e.head)
		case draining:
			return nil
		default:
			s.mark(start)
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
