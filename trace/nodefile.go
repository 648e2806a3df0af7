package trace

import (
	"math"
	"slices"
	"sync"

	"github.com/whyslow/whyslow/internal/tracefile"
)

// nodeFile is one file of a trace.
type nodeFile struct {
	*tracefile.File
	defs Defs
	// byStream are the blocks of each stream, once somebody has asked: a file may have as many streams as
	// blocks.
	byStream map[int][]*tracefile.Block
	arrange  sync.Once
}

// load finds the blocks and reads the definitions. refused is why there is no room for them.
// room is asked first for as many bytes as they have unpacked, which is the least they take; read is which
// part of them that is for, from 0 to 1. nil: there is room for any.
func (f *nodeFile) load(room func(bytes int64, read float64) error) (refused error) {
	f.Find()
	defer f.NoteGaps()
	total, read := int64(0), int64(0)
	for i := range f.DefsAt {
		total += int64(f.DefsAt[i].Raw)
	}
	if room != nil {
		if err := room(total, 1); err != nil {
			return err
		}
		_ = room(-total, 1) // each block asks for its own
		f.defs.room = func(bytes int64) error { return room(bytes, float64(read)/float64(max(total, 1))) }
	}
	var buf, raw []byte
	for i := range f.DefsAt {
		b := &f.DefsAt[i]
		read += int64(b.Raw)
		var err error
		if buf, err = tracefile.ReadPayload(f.Bytes, buf, b.At, &b.Header); err == nil {
			raw, err = f.defs.take(raw, &b.Header, buf)
		}
		if f.defs.refused != nil {
			return f.defs.refused
		}
		if err != nil {
			f.NoteBad(b, err)
		}
	}
	return nil
}

// blocksOf returns the data blocks of a stream, in the order of the file, when all blocks are known.
func (f *nodeFile) blocksOf(stream int) []*tracefile.Block {
	f.arrange.Do(func() {
		f.byStream = map[int][]*tracefile.Block{}
		for i := range f.Blocks {
			b := &f.Blocks[i]
			f.byStream[int(b.Stream)] = append(f.byStream[int(b.Stream)], b)
		}
	})
	return f.byStream[stream]
}

// findUnfinished reports streams that end before the program did: those with a start and no end. If the
// writer did not finish the file, it reports all streams without an end, and otherwise the file. workers is
// how many streams there should be at least.
func (f *nodeFile) findUnfinished(workers int) {
	ended := map[int]bool{}
	for _, s := range f.streams() {
		ended[s.Stream] = true
		if !s.Finished && (!f.Closed || s.Started) {
			f.unfinished(s.Stream, s.Last)
		}
	}
	if f.Closed {
		return
	}
	for _, p := range slices.Clone(f.Found) {
		if p.Kind == Truncated && p.Timed && !ended[p.Stream] {
			ended[p.Stream] = true
			f.unfinished(p.Stream, math.MinInt64)
		}
	}
	for s := range min(workers, tracefile.MaxProblems) {
		if !ended[s] {
			f.unfinished(s, math.MinInt64)
		}
	}
	switch {
	case len(f.Blocks) == 0:
		f.Note(Unfinished, f.Size, "file was not finished and holds no events")
	case !slices.ContainsFunc(f.Found, func(p Problem) bool {
		return p.Kind == Truncated ||
			p.Kind == Unfinished
	}):
		// All streams ended before, or their last blocks are missing without a trace of them.
		f.Note(Truncated, f.Size, "file ends without its index: what came last may be missing")
	}
}

func (f *nodeFile) unfinished(stream int, last int64) {
	p := f.Note(Unfinished, f.Size, "stream %d ends without onProgramFinished", stream)
	p.Stream, p.From, p.To, p.Timed = stream, last, math.MaxInt64, true
}

// streams sums up the blocks of each stream, in the order of their numbers.
func (f *nodeFile) streams() []StreamInfo {
	var list []StreamInfo
	at := map[uint32]int{}
	for i := range f.Blocks {
		b := &f.Blocks[i]
		j, ok := at[b.Stream]
		if !ok {
			j = len(list)
			at[b.Stream] = j
			list = append(list, StreamInfo{Node: f.Node, Stream: int(b.Stream), First: b.First, Last: b.Last})
		}
		s := &list[j]
		s.Blocks++
		s.Events += int(b.Count)
		s.First, s.Last = min(s.First, b.First), max(s.Last, b.Last)
		s.Started = s.Started || b.Flags&tracefile.FlagStarted != 0
		s.Finished = s.Finished || b.Flags&tracefile.FlagFinished != 0
	}
	slices.SortFunc(list, func(a, b StreamInfo) int { return a.Stream - b.Stream })
	return list
}
