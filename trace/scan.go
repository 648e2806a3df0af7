package trace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/whyslow/whyslow/internal/files"
)

// Finding the blocks of a file. Where the index at the end is whole, it tells. Otherwise headers are followed
// from one to the next; where that leads to no valid header, the next place that has one is searched for byte
// by byte. What is missing is known from the numbers that blocks have in their streams.

// nodeFile is one file of a trace.
type nodeFile struct {
	path   string
	name   string // for messages
	node   int
	run    runMark // zero: not told
	size   int64
	file   io.ReaderAt // nil while closed
	defs   Defs
	blocks []block // data blocks in the order of the file
	defsAt []block // definition blocks
	scanned
	defined uint32 // definition blocks up to the last one there is
	need    uint32 // as many does an event need
	closed  bool   // has its index: the writer finished it
	found   []Problem
	// byStream are the blocks of each stream, once somebody has asked: a file may have as many streams as
	// blocks.
	byStream map[int][]*block
	arrange  sync.Once
}

// block is a block and its place.
type block struct {
	header
	at int64
}

// openFile looks at a file and its header. A problem returned instead means that nothing can be read from it.
func openFile(path string) (f *nodeFile, unreadable *Problem) {
	f = &nodeFile{path: path, name: filepath.Base(path), node: -1}
	kind := Damaged
	err := f.opened(func() error {
		if f.size == 0 && f.nodeByName() >= 0 {
			kind = Missing
			return fmt.Errorf("the file of node %d is empty", f.nodeByName())
		}
		return f.readFileHeader()
	})
	if err != nil {
		return nil, &Problem{Kind: kind, File: f.name, What: err.Error(), Node: f.nodeByName(), Stream: -1}
	}
	return f, nil
}

// opened calls do while the file is open.
func (f *nodeFile) opened(do func() error) error {
	file, err := files.Open(f.path)
	if err != nil {
		return plain(err)
	}
	defer file.Close()
	st, err := file.Stat()
	if err != nil {
		return plain(err)
	}
	f.file, f.size = file, st.Size()
	defer func() { f.file = nil }()
	return do()
}

// plain is the error of opening a file without the file's name.
func plain(err error) error {
	if odd, ok := errors.AsType[files.Odd](err); ok {
		return odd
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("cannot be opened: %w", p.Err)
	}
	return err
}

// nodeByName is the node that the name of the file tells, -1 for any other name.
func (f *nodeFile) nodeByName() int {
	var n int
	if _, err := fmt.Sscanf(f.name, "%d.wst", &n); err != nil || n < 0 || n > MaxNode || FileName(n) != f.name {
		return -1
	}
	return n
}

// load finds the blocks and reads the definitions.
func (f *nodeFile) load() error {
	if blocks, ok := f.readIndex(); ok {
		f.closed = true
		for _, b := range blocks {
			f.addBlock(b)
		}
	} else {
		f.scan()
	}
	f.loadDefs()
	f.findGaps()
	return nil
}

// maxProblems bounds what is told of one file.
const maxProblems = 1000

func (f *nodeFile) problem(kind ProblemKind, at int64, format string, args ...any) *Problem {
	if len(f.found) == maxProblems {
		return new(Problem)
	}
	f.found = append(f.found, Problem{Kind: kind, File: f.name, Offset: at, Node: f.node, Stream: -1,
		What: fmt.Sprintf(format, args...)})
	return &f.found[len(f.found)-1]
}

// readFileHeader reads the node's number and the run. Where the header is damaged, the name of the
// file tells the node, and nothing the run.
func (f *nodeFile) readFileHeader() error {
	byName := f.nodeByName()
	b := make([]byte, fileHeader)
	n, err := f.file.ReadAt(b, 0)
	if err != nil && err != io.EOF {
		return err
	}
	whole := n == fileHeader && checksum(b[:fileHeader-4]) == binary.LittleEndian.Uint32(b[fileHeader-4:])
	switch {
	case whole && string(b[:len(fileMagic)]) == fileMagic:
		if v := binary.LittleEndian.Uint16(b[8:]); v != version {
			return fmt.Errorf("written in version %d of the format, this program reads version %d: a newer"+
				" whyslow is needed", v, version)
		}
		node := binary.LittleEndian.Uint32(b[12:])
		if node > MaxNode {
			return fmt.Errorf("node %d is out of range", node)
		}
		f.node, f.run = int(node), runMark(b[16:28])
	case byName < 0, !strings.HasPrefix(fileMagic, string(b[:min(n, len(fileMagic))])) && !f.hasBlocks():
		return errors.New("not a whyslow trace")
	default:
		f.node = byName
		f.problem(Damaged, 0, "file header is damaged; node %d is taken from the name of the file", f.node)
	}
	return nil
}

func (f *nodeFile) hasBlocks() bool {
	_, ok := f.search(0, f.size)
	return ok
}

// readIndex returns the blocks that the index tells of, and whether there is a whole one.
func (f *nodeFile) readIndex() (blocks []block, whole bool) {
	var t [trailerLength]byte
	if _, err := f.file.ReadAt(t[:], f.size-trailerLength); err != nil || string(t[8:]) != trailerMagic {
		return nil, false
	}
	at := int64(binary.LittleEndian.Uint64(t[:]))
	h, ok := f.headerAt(at)
	if !ok || h.Kind != blockIndex || at+h.size()+trailerLength != f.size {
		return nil, false
	}
	raw, err := readPayload(f.file, nil, at, &h)
	if err == nil {
		raw, err = unpack(nil, &h, raw)
	}
	const entry = 8 + blockHeader
	if err != nil || len(raw) != int(h.Count)*entry {
		return nil, false
	}
	end := int64(fileHeader)
	for entry := range slices.Chunk(raw, entry) {
		b := block{at: int64(binary.LittleEndian.Uint64(entry))}
		if b.parse(entry[8:]) != nil || b.at != end || b.end() > at {
			return nil, false // something is between the blocks: let the scan look at it
		}
		end = b.end()
		blocks = append(blocks, b)
	}
	return blocks, end == at
}

func (b *block) end() int64 { return b.at + b.size() }

// size is the length of a block in the file.
func (h *header) size() int64 { return blockHeader + int64(h.Packed) }

// blocksOf returns the data blocks of a stream, in the order of the file, when all blocks are known.
func (f *nodeFile) blocksOf(stream int) []*block {
	f.arrange.Do(func() {
		f.byStream = map[int][]*block{}
		for i := range f.blocks {
			b := &f.blocks[i]
			f.byStream[int(b.Stream)] = append(f.byStream[int(b.Stream)], b)
		}
	})
	return f.byStream[stream]
}

func (f *nodeFile) addBlock(b block) {
	switch b.Kind {
	case blockData:
		f.blocks = append(f.blocks, b)
	case blockDefs:
		f.defsAt = append(f.defsAt, b)
	}
}

// headerAt reads the header at an offset.
func (f *nodeFile) headerAt(at int64) (h header, ok bool) {
	var b [blockHeader]byte
	if at < 0 || at > f.size-blockHeader {
		return h, false
	}
	if _, err := f.file.ReadAt(b[:], at); err != nil {
		return h, false
	}
	return h, h.parse(b[:]) == nil
}

// scan finds the blocks without the index.
func (f *nodeFile) scan() {
	if f.size < fileHeader {
		f.problem(Truncated, f.size, "file ends within its header")
		return
	}
	f.scanned = scanned{at: fileHeader}
	for {
		b, ok := f.next(true)
		if !ok {
			return
		}
		f.addBlock(b)
	}
}

// scanned is how far a scan got.
type scanned struct {
	at       int64  // here the next block should begin
	prev     header // of the block before, if there is no gap between
	joined   bool   // there is none
	searched int64  // up to here no header of a later block was found
}

// next finds the next block and passes over what is none. Where the file is still growing (final is false) it
// says no, and can be asked again, while what is missing of the next block may come.
func (f *nodeFile) next(final bool) (block, bool) {
	s := &f.scanned
	for s.at < f.size {
		if s.joined && s.prev.Kind == blockIndex {
			var t [trailerLength]byte
			if _, err := f.file.ReadAt(t[:], s.at); err == nil && string(t[8:]) == trailerMagic {
				s.at += trailerLength
				s.joined = false
				f.closed = s.at >= f.size
				continue
			}
		}
		h, ok := f.headerAt(s.at)
		b := block{h, s.at}
		switch {
		case ok && b.end() <= f.size:
			s.prev, s.joined, s.at = h, true, b.end()
			return b, true
		case ok:
			// An index is made of headers: none of them is a later block.
			if !final && h.Kind == blockIndex {
				return block{}, false
			}
			// Whole blocks may follow if the file was damaged rather than cut.
			next, found := f.searchOn(s.at+1, final)
			if !found && !final {
				return block{}, false
			}
			f.cut(&b)
			if !found {
				return block{}, false
			}
			s.at, s.joined = next, false
		case !final && f.size-s.at < blockHeader:
			return block{}, false
		default:
			from := s.at
			if s.joined {
				at := s.at - s.prev.size()
				if _, err := readPayload(f.file, nil, at, &s.prev); err != nil {
					// The block before is damaged as well, and bytes may be missing from
					// it: the next one may begin inside what it claims to be.
					from = at + blockHeader
				}
			}
			next, found := f.searchOn(from, final)
			switch {
			case !found && !final:
				return block{}, false
			case !found:
				next = f.size
				f.problem(Truncated, s.at, "%d bytes at the end of the file are no whole block", next-s.at)
			case next > s.at:
				f.problem(Damaged, s.at, "%d bytes are no valid block", next-s.at)
			}
			s.at, s.joined = next, false
		}
	}
	return block{}, false
}

// searchOn is search up to the end of the file, without what was searched before it grew.
func (f *nodeFile) searchOn(from int64, final bool) (int64, bool) {
	next, found := f.search(max(from, f.searched), f.size)
	f.searched = 0
	if !found && !final {
		f.searched = f.size - blockHeader + 1 // the header of a block may lack its end
	}
	return next, found
}

// cut notes a block whose end is missing.
func (f *nodeFile) cut(b *block) {
	p := f.problem(Truncated, b.at, "file ends within a block")
	if b.Kind == blockData {
		p.Stream, p.From, p.To, p.Timed, p.Events = int(b.Stream), b.First, b.Last, true, uint64(b.Count)
	}
}

// search finds the first valid block header from an offset on.
func (f *nodeFile) search(from, to int64) (int64, bool) {
	// Portions grow: the next block is usually near.
	size := int64(4 << 10)
	var buf []byte
	for at := from; at < to; size = min(2*size, 1<<20) {
		buf = resize(buf, int(min(size, to-at)))
		n, err := f.file.ReadAt(buf, at)
		for i := 0; ; i++ {
			j := bytes.Index(buf[i:n], []byte(blockMagic))
			if j < 0 {
				break
			}
			i += j
			if _, ok := f.headerAt(at + int64(i)); ok {
				return at + int64(i), true
			}
		}
		if err != nil {
			break
		}
		at += max(int64(n)-int64(len(blockMagic)-1), 1)
	}
	return 0, false
}

// loadDefs reads all definitions.
func (f *nodeFile) loadDefs() {
	var buf, raw []byte
	for i := range f.defsAt {
		b := &f.defsAt[i]
		var err error
		if buf, err = readPayload(f.file, buf, b.at, &b.header); err == nil {
			raw, err = f.addDefs(raw, buf, b)
		}
		if err != nil {
			f.badDefs(b, err)
		}
	}
	for i := range f.defsAt {
		f.defsGap(&f.defsAt[i])
	}
	for i := range f.blocks {
		f.need = max(f.need, f.blocks[i].Defs)
	}
	if f.need > f.defined {
		f.found = append(f.found, f.lostDefs())
	}
}

// addDefs takes in the payload of a definition block; raw is space for it.
func (f *nodeFile) addDefs(raw, payload []byte, b *block) ([]byte, error) {
	raw, err := unpack(raw, &b.header, payload)
	if err == nil {
		err = f.defs.add(raw)
	}
	return raw, err
}

func (f *nodeFile) badDefs(b *block, err error) {
	f.problem(Damaged, b.at, "definition block %d: %v; what it defines is shown by number", b.Seq, err)
}

// defsGap reports definition blocks that are missing before b.
func (f *nodeFile) defsGap(b *block) {
	if b.Seq > f.defined {
		f.problem(Damaged, b.at, "%d definition blocks before this one are lost; what they define is shown"+
			" by number", b.Seq-f.defined)
	}
	f.defined = b.Seq + 1
}

// lostDefs is the problem of definition blocks that events need and that are nowhere.
func (f *nodeFile) lostDefs() Problem {
	return Problem{Kind: Damaged, File: f.name, Offset: f.size, Node: f.node, Stream: -1,
		What: fmt.Sprintf("%d definition blocks are lost; what they define is shown by number", f.need-f.defined)}
}

// findGaps reports blocks that are missing between others of their stream.
func (f *nodeFile) findGaps() {
	ends := streamEnds{}
	for i := range f.blocks {
		f.gapBefore(&f.blocks[i], ends)
	}
}

// streamEnds is how far each stream got.
type streamEnds map[uint32]streamEnd

type streamEnd struct {
	next uint32 // number of the next block
	last int64  // time
}

// gapBefore reports blocks of b's stream that are missing before it.
func (f *nodeFile) gapBefore(b *block, ends streamEnds) {
	s, ok := ends[b.Stream]
	if !ok {
		s.last = math.MinInt64
	}
	if b.Seq > s.next && !f.cutEarlier(b) {
		p := f.problem(Damaged, b.at, "%d blocks of stream %d before this one are lost", b.Seq-s.next, b.Stream)
		p.Stream, p.From, p.To, p.Timed = int(b.Stream), s.last, b.First, true
	}
	ends[b.Stream] = streamEnd{b.Seq + 1, max(s.last, b.Last)}
}

// cutEarlier reports whether the blocks missing before b are told of already.
func (f *nodeFile) cutEarlier(b *block) bool {
	return slices.ContainsFunc(f.found, func(p Problem) bool {
		return p.Kind == Truncated && p.Stream == int(b.Stream) && p.Offset < b.at && p.To <= b.First && p.Timed
	})
}

// findUnfinished reports streams that end before the program did: those with a start and no end. If the
// writer did not finish the file, it reports all streams without an end, and otherwise the file. workers is
// how many streams there should be at least.
func (f *nodeFile) findUnfinished(workers int) {
	ended := map[int]bool{}
	for _, s := range f.streams() {
		ended[s.Stream] = true
		if !s.Finished && (!f.closed || s.Started) {
			f.unfinished(s.Stream, s.Last)
		}
	}
	if f.closed {
		return
	}
	for _, p := range slices.Clone(f.found) {
		if p.Kind == Truncated && p.Timed && !ended[p.Stream] {
			ended[p.Stream] = true
			f.unfinished(p.Stream, math.MinInt64)
		}
	}
	for s := range min(workers, maxProblems) {
		if !ended[s] {
			f.unfinished(s, math.MinInt64)
		}
	}
	switch {
	case len(f.blocks) == 0:
		f.problem(Unfinished, f.size, "file was not finished and holds no events")
	case !slices.ContainsFunc(f.found, func(p Problem) bool { return p.Kind == Truncated || p.Kind == Unfinished }):
		// All streams ended before, or their last blocks are missing without a trace of them.
		f.problem(Truncated, f.size, "file ends without its index: what came last may be missing")
	}
}

func (f *nodeFile) unfinished(stream int, last int64) {
	p := f.problem(Unfinished, f.size, "stream %d ends without onProgramFinished", stream)
	p.Stream, p.From, p.To, p.Timed = stream, last, math.MaxInt64, true
}

// streams sums up the blocks of each stream, in the order of their numbers.
func (f *nodeFile) streams() []StreamInfo {
	var list []StreamInfo
	at := map[uint32]int{}
	for i := range f.blocks {
		b := &f.blocks[i]
		j, ok := at[b.Stream]
		if !ok {
			j = len(list)
			at[b.Stream] = j
			list = append(list, StreamInfo{Node: f.node, Stream: int(b.Stream), First: b.First, Last: b.Last})
		}
		s := &list[j]
		s.Blocks++
		s.Events += int(b.Count)
		s.First, s.Last = min(s.First, b.First), max(s.Last, b.Last)
		s.Started = s.Started || b.Flags&flagStarted != 0
		s.Finished = s.Finished || b.Flags&flagFinished != 0
	}
	slices.SortFunc(list, func(a, b StreamInfo) int { return a.Stream - b.Stream })
	return list
}

// errNoTrace is returned where there is nothing to open.
var errNoTrace = errors.New("no *.wst file in it: not a trace")
