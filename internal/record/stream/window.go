package stream

import (
	"context"
	"maps"
	"time"
	"unsafe"

	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/trace"
)

// The window: what was read from the source and is not known to be at the collector.

// dropped is the kind of an item that is not sent for good.
const dropped Type = 255

// item is a frame in the window, or, with kind 0, a mark: what was recorded before its time comes before it.
type item struct {
	kind   Type
	frame  []byte
	node   int
	defs   bool
	stream int
	number uint32
	events int
	at     time.Time
	seq    uint64 // counted frames of this connection up to it, it included, once it is passed
}

// bytes is how many bytes of memory an item takes, also without its frame.
func (it *item) bytes() int64 { return int64(len(it.frame)) + int64(unsafe.Sizeof(*it)) }

// put appends an item, waiting for room.
func (s *Sender) put(ctx context.Context, it item) error {
	s.mu.Lock()
	for s.size >= s.cfg.Window {
		s.mu.Unlock()
		select {
		case <-s.space:
		case <-ctx.Done():
			return ctx.Err()
		}
		s.mu.Lock()
	}
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	s.items = append(s.items, it)
	s.size += it.bytes()
	if it.kind == TypeBlock {
		s.waiting.add(&it, 1)
	}
	signal(s.ready)
	return nil
}

func (s *Sender) putBlock(ctx context.Context, b *tracefile.RawBlock) error {
	it := item{kind: TypeBlock, node: b.Node, defs: b.Defs, stream: b.Stream, number: b.Number,
		frame: AppendBlock(nil, b.Node, b.Bytes)}
	if !b.Defs {
		it.events = b.Count
	}
	s.mu.Lock()
	s.nodes[b.Node] = true
	s.mu.Unlock()
	return s.put(ctx, it)
}

func (s *Sender) putClose(ctx context.Context, node int) error {
	s.mu.Lock()
	s.nodes[node] = true
	s.mu.Unlock()
	return s.put(ctx, item{kind: TypeClose, node: node, frame: AppendNode(nil, TypeClose, node)})
}

func (s *Sender) putInfo(ctx context.Context, info *trace.RunInfo) error {
	frame, err := AppendJSON(nil, TypeInfo, info)
	if err != nil {
		s.tell(err.Error())
		return nil
	}
	s.mu.Lock()
	s.info = info
	s.mu.Unlock()
	signal(s.ready)
	return s.put(ctx, item{kind: TypeInfo, frame: frame})
}

// mark notes that everything recorded before a time has been put.
func (s *Sender) mark(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.items)
	switch {
	case n == 0:
		s.caught = at
	case s.items[n-1].kind == 0:
		s.items[n-1].at = at
	default:
		s.items = append(s.items, item{at: at})
		signal(s.ready)
	}
}

// setLost notes what the source had to drop of a node so far.
func (s *Sender) setLost(l Lost) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost[l.Node] != l {
		s.nodes[l.Node] = true
		s.lost[l.Node] = l
		signal(s.ready)
	}
}

// next opens nodes, then appends frames that can be sent now, about a chunk, and passes their items.
func (s *Sender) next(b []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	for node := range s.nodes {
		if !s.opened[node] {
			s.opened[node] = true
			b = AppendNode(b, TypeOpen, node)
		}
	}
	for s.passed < len(s.items) && len(b) < chunk {
		it := &s.items[s.passed]
		send := it.kind != 0 && it.kind != dropped
		if it.kind == TypeBlock || it.kind == TypeClose {
			have, ok := s.have[it.node]
			if !ok {
				break // its answer is on the way
			}
			if it.kind == TypeBlock {
				send = it.number >= Expected(have, it.defs, it.stream)
			}
		}
		if send && len(it.frame)-frameHeader > s.maxFrame {
			send = false
			s.dropLong(it)
		}
		if send {
			// Losses before a block are sent before it: the collector takes no other gaps.
			b = s.tellLost(b, it.node)
			s.counted++
			b = append(b, it.frame...)
		}
		it.seq = s.counted
		s.passed++
	}
	for node := range s.nodes {
		b = s.tellLost(b, node)
	}
	s.pop()
	return b
}

// tellLost appends a lost frame if the collector does not know yet what is lost of a node.
func (s *Sender) tellLost(b []byte, node int) []byte {
	if l := s.dropped(node); l != s.lostSent[node] {
		s.lostSent[node] = l
		b = AppendLost(b, l)
	}
	return b
}

// dropLong drops a frame that is longer than the collector takes.
func (s *Sender) dropLong(it *item) {
	if it.kind == TypeBlock {
		l := s.long[it.node]
		s.long[it.node] = Lost{it.node, l.Blocks + 1, l.Events + uint64(it.events)}
		s.waiting.add(it, -1)
	}
	s.size -= int64(len(it.frame)) // the rest is given back when it leaves the window
	it.frame, it.kind = nil, dropped
}

// dropped is what was dropped of a node, for whatever reason; without any the zero Lost.
func (s *Sender) dropped(node int) Lost {
	a, b := s.lost[node], s.long[node]
	return Lost{max(a.Node, b.Node), a.Blocks + b.Blocks, a.Events + b.Events}
}

// Expected is the number of the block that comes next.
func Expected(h tracefile.Have, defs bool, stream int) uint32 {
	if defs {
		return h.Defs
	}
	return h.Streams[stream]
}

// pop removes from the front what was passed and is acknowledged.
func (s *Sender) pop() {
	n := 0
	for ; n < s.passed && s.items[n].seq <= s.acked; n++ {
		it := &s.items[n]
		switch it.kind {
		case 0:
			s.caught = it.at
		case TypeBlock:
			s.waiting.add(it, -1)
			s.sent.add(it, 1)
			follows(s.there, &tracefile.RawBlock{Node: it.node, Defs: it.defs, Stream: it.stream, Number: it.number})
		case TypeEnd:
			s.ended = true
		}
		if it.kind != 0 {
			s.size -= it.bytes()
		}
		*it = item{}
	}
	if n == 0 {
		return
	}
	s.items, s.passed = s.items[n:], s.passed-n
	signal(s.space)
	signal(s.ready)
}

// connected begins a connection: everything in the window is yet to be sent.
func (s *Sender) connected(w *Welcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.items {
		s.items[i].seq = 0
	}
	s.passed, s.counted, s.acked = 0, 0, 0
	clear(s.have)
	clear(s.opened)
	clear(s.lostSent)
	s.maxFrame, s.folder, s.up, s.heard = w.MaxFrame, w.Folder, true, false
	s.connects++
	s.lastErr = nil
}

// setHave notes what the collector has of a node; errRewind: it has less than it acknowledged before.
func (s *Sender) setHave(node int, h tracefile.Have) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.opened[node] {
		return protocolError("it tells of node %d, which it was not asked for", node)
	}
	there := s.there[node]
	less := h.Defs < there.Defs
	for stream, n := range there.Streams {
		less = less || h.Streams[stream] < n
	}
	if less {
		if s.cfg.Source.rewinds() {
			return errRewind
		}
		// It is gone for good; the collector's trace shows the gap.
		gone := max(0, int64(there.Defs)-int64(h.Defs))
		for stream, n := range there.Streams {
			gone += max(0, int64(n)-int64(h.Streams[stream]))
		}
		l := s.long[node]
		s.long[node] = Lost{node, l.Blocks + uint64(gone), l.Events}
		s.there[node] = tracefile.Have{Defs: h.Defs, Streams: maps.Clone(h.Streams)}
	}
	s.have[node] = h
	s.heard = true
	signal(s.ready)
	return nil
}

// setAck takes the collector's word for how many frames it has dealt with.
func (s *Sender) setAck(n uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n < s.acked || n > s.counted {
		return protocolError("it acknowledges %d frames of %d, %d before", n, s.counted, s.acked)
	}
	s.acked = n
	s.heard = true
	s.pop()
	return nil
}

// rewind empties the window; nobody may be putting.
func (s *Sender) rewind() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.items, s.size, s.passed, s.acked, s.counted = nil, 0, 0, 0, 0
	s.waiting = Amount{}
	clear(s.there)
}
