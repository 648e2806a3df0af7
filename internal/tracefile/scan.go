package tracefile

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

	"github.com/whyslow/whyslow/internal/files"
)

// Finding the blocks of a file. Where the index at the end is whole, it tells. Otherwise headers are followed
// from one to the next; where that leads to no valid header, the next place that has one is searched for byte
// by byte. What is missing is known from the numbers that blocks have in their streams.

// File is one file of a trace. Its owner opens it and sets Bytes and Size.
type File struct {
	Path   string
	Name   string // for messages
	Node   int
	Run    RunMark // zero: not told
	Size   int64
	Bytes  io.ReaderAt // nil while closed
	Blocks []Block     // data blocks in the order of the file: see Find
	DefsAt []Block     // definition blocks
	Closed bool        // has its index: the writer finished it
	Found  []Problem   // at most MaxProblems
	Scan
	defined uint32 // definition blocks up to the last one there is
	need    uint32 // as many does an event need
	ends    map[uint32]streamEnd
}

// Block is a block and its place.
type Block struct {
	Header
	At int64
}

// End is where the block ends.
func (b *Block) End() int64 { return b.At + b.Size() }

// Size is the length of a block in the file.
func (h *Header) Size() int64 { return BlockHeaderSize + int64(h.Packed) }

// FileName is the name of a node's file within a trace: "00012.wst".
func FileName(node int) string { return fmt.Sprintf("%05d.wst", node) }

// Open looks at a file and its header. A problem returned instead means that nothing can be read from it.
func Open(path string) (f *File, unreadable *Problem) {
	f = &File{Path: path, Name: filepath.Base(path), Node: -1}
	kind := Damaged
	err := f.While(func() error {
		if f.Size == 0 && f.NodeByName() >= 0 {
			kind = Missing
			return fmt.Errorf("the file of node %d is empty", f.NodeByName())
		}
		return f.ReadHeader()
	})
	if err != nil {
		return nil, &Problem{Kind: kind, File: f.Name, What: err.Error(), Node: f.NodeByName(), Stream: -1}
	}
	return f, nil
}

// While calls do while the file is open.
func (f *File) While(do func() error) error {
	file, err := files.Open(f.Path)
	if err != nil {
		return Plain(err)
	}
	defer file.Close()
	st, err := file.Stat()
	if err != nil {
		return Plain(err)
	}
	f.Bytes, f.Size = file, st.Size()
	defer func() { f.Bytes = nil }()
	return do()
}

// Plain is the error of opening a file without the file's name.
func Plain(err error) error {
	if odd, ok := errors.AsType[files.Odd](err); ok {
		return odd
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("cannot be opened: %w", p.Err)
	}
	return err
}

// NodeByName is the node that the name of the file tells, -1 for any other name.
func (f *File) NodeByName() int {
	var n int
	if _, err := fmt.Sscanf(f.Name, "%d.wst", &n); err != nil || n < 0 || n > MaxNode || FileName(n) != f.Name {
		return -1
	}
	return n
}

// Find finds the blocks.
func (f *File) Find() {
	if blocks, ok := f.ReadIndex(); ok {
		f.Closed = true
		for _, b := range blocks {
			f.add(b)
		}
		return
	}
	if f.Size < HeaderSize {
		f.Note(Truncated, f.Size, "file ends within its header")
		return
	}
	f.At = HeaderSize
	for b, ok := f.Next(true); ok; b, ok = f.Next(true) {
		f.add(b)
	}
}

func (f *File) add(b Block) {
	switch b.Kind {
	case DataBlock:
		f.Blocks = append(f.Blocks, b)
	case DefsBlock:
		f.DefsAt = append(f.DefsAt, b)
	}
}

// MaxProblems bounds the problems listed for one file.
const MaxProblems = 1000

// Note notes a problem of the file, and returns it for its details to be filled in.
func (f *File) Note(kind ProblemKind, at int64, format string, args ...any) *Problem {
	if len(f.Found) == MaxProblems {
		return new(Problem)
	}
	f.Found = append(f.Found, Problem{Kind: kind, File: f.Name, Offset: at, Node: f.Node, Stream: -1,
		What: fmt.Sprintf(format, args...)})
	return &f.Found[len(f.Found)-1]
}

// ReadHeader reads the node's number and the run. Where the header is damaged, the name of the
// file tells the node, and nothing the run.
func (f *File) ReadHeader() error {
	byName := f.NodeByName()
	b := make([]byte, HeaderSize)
	n, err := f.Bytes.ReadAt(b, 0)
	if err != nil && err != io.EOF {
		return err
	}
	whole := n == HeaderSize && Checksum(b[:HeaderSize-4]) == binary.LittleEndian.Uint32(b[HeaderSize-4:])
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
		f.Node, f.Run = int(node), RunMark(b[16:28])
	case byName < 0, !strings.HasPrefix(fileMagic, string(b[:min(n, len(fileMagic))])) && !f.hasBlocks():
		return errors.New("not a whyslow trace")
	default:
		f.Node = byName
		f.Note(Damaged, 0, "file header is damaged; node %d is taken from the name of the file", f.Node)
	}
	return nil
}

func (f *File) hasBlocks() bool {
	_, ok := f.search(0, f.Size)
	return ok
}

// ReadIndex returns the blocks that the index tells of, and whether there is a whole one.
func (f *File) ReadIndex() (blocks []Block, whole bool) {
	var t [TrailerSize]byte
	if _, err := f.Bytes.ReadAt(t[:], f.Size-TrailerSize); err != nil || string(t[8:]) != trailerMagic {
		return nil, false
	}
	at := int64(binary.LittleEndian.Uint64(t[:]))
	h, ok := f.headerAt(at)
	if !ok || h.Kind != IndexBlock || at+h.Size()+TrailerSize != f.Size {
		return nil, false
	}
	raw, err := ReadPayload(f.Bytes, nil, at, &h)
	if err == nil {
		raw, err = Unpack(nil, &h, raw)
	}
	const entry = 8 + BlockHeaderSize
	if err != nil || len(raw) != int(h.Count)*entry {
		return nil, false
	}
	end := int64(HeaderSize)
	for entry := range slices.Chunk(raw, entry) {
		b := Block{At: int64(binary.LittleEndian.Uint64(entry))}
		if b.Parse(entry[8:]) != nil || b.At != end || b.End() > at {
			return nil, false // something is between the blocks: let the scan look at it
		}
		end = b.End()
		blocks = append(blocks, b)
	}
	return blocks, end == at
}

// headerAt reads the header at an offset.
func (f *File) headerAt(at int64) (h Header, ok bool) {
	var b [BlockHeaderSize]byte
	if at < 0 || at > f.Size-BlockHeaderSize {
		return h, false
	}
	if _, err := f.Bytes.ReadAt(b[:], at); err != nil {
		return h, false
	}
	return h, h.Parse(b[:]) == nil
}

// Scan is how far Next got.
type Scan struct {
	At       int64  // here the next block should begin
	prev     Header // of the block before, if there is no gap between
	joined   bool   // there is none
	searched int64  // up to here no header of a later block was found
}

// Next finds the next block and passes over what is none. Where the file is still growing (final is false) it
// says no, and can be asked again, while what is missing of the next block may come.
func (f *File) Next(final bool) (Block, bool) {
	s := &f.Scan
	for s.At < f.Size {
		if s.joined && s.prev.Kind == IndexBlock {
			var t [TrailerSize]byte
			if _, err := f.Bytes.ReadAt(t[:], s.At); err == nil && string(t[8:]) == trailerMagic {
				s.At += TrailerSize
				s.joined = false
				f.Closed = s.At >= f.Size
				continue
			}
		}
		h, ok := f.headerAt(s.At)
		b := Block{h, s.At}
		switch {
		case ok && b.End() <= f.Size:
			s.prev, s.joined, s.At = h, true, b.End()
			return b, true
		case ok:
			// An index is made of headers: none of them is a later block.
			if !final && h.Kind == IndexBlock {
				return Block{}, false
			}
			// Whole blocks may follow if the file was damaged rather than cut.
			next, found := f.searchOn(s.At+1, final)
			if !found && !final {
				return Block{}, false
			}
			f.cut(&b)
			if !found {
				return Block{}, false
			}
			s.At, s.joined = next, false
		case !final && f.Size-s.At < BlockHeaderSize:
			return Block{}, false
		default:
			from := s.At
			if s.joined {
				at := s.At - s.prev.Size()
				if _, err := ReadPayload(f.Bytes, nil, at, &s.prev); err != nil {
					// The block before is damaged as well, and bytes may be missing from
					// it: the next one may begin inside what it claims to be.
					from = at + BlockHeaderSize
				}
			}
			next, found := f.searchOn(from, final)
			switch {
			case !found && !final:
				return Block{}, false
			case !found:
				next = f.Size
				f.Note(Truncated, s.At, "%d bytes at the end of the file are not a whole block", next-s.At)
			case next > s.At:
				f.Note(Damaged, s.At, "%d bytes are not a valid block", next-s.At)
			}
			s.At, s.joined = next, false
		}
	}
	return Block{}, false
}

// searchOn is search up to the end of the file, without what was searched before it grew.
func (f *File) searchOn(from int64, final bool) (int64, bool) {
	next, found := f.search(max(from, min(f.searched, f.Size)), f.Size)
	f.searched = 0
	if !found && !final {
		f.searched = f.Size - BlockHeaderSize + 1 // the header of a block may lack its end
	}
	return next, found
}

// cut notes a block whose end is missing.
func (f *File) cut(b *Block) {
	p := f.Note(Truncated, b.At, "file ends within a block")
	if b.Kind == DataBlock {
		p.Stream, p.From, p.To, p.Timed, p.Events = int(b.Stream), b.First, b.Last, true, uint64(b.Count)
	}
}

// search finds the first valid block header from an offset on.
func (f *File) search(from, to int64) (int64, bool) {
	// Portions grow: the next block is usually near.
	size := int64(4 << 10)
	var buf []byte
	for at := from; at < to; size = min(2*size, 1<<20) {
		buf = Resize(buf, int(min(size, to-at)))
		n, err := f.Bytes.ReadAt(buf, at)
		for i := 0; ; i++ {
			j := bytes.Index(buf[i:n], []byte(BlockMagic))
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
		at += max(int64(n)-int64(len(BlockMagic)-1), 1)
	}
	return 0, false
}

// NoteBad notes a block that cannot be read.
func (f *File) NoteBad(b *Block, err error) {
	if b.Kind == DefsBlock {
		f.Note(Damaged, b.At, "definition block %d: %v; what it defines is shown by number", b.Seq, err)
	} else {
		*f.Note(Damaged, b.At, "") = f.BadBlock(b, err)
	}
}

// BadBlock is the problem of a block of events that cannot be read.
func (f *File) BadBlock(b *Block, err error) Problem {
	return Problem{Kind: Damaged, File: f.Name, Offset: b.At, What: "block " + err.Error(), Node: f.Node,
		Stream: int(b.Stream), Timed: true, From: b.First, To: b.Last, Events: uint64(b.Count)}
}

// NoteGaps notes which blocks are missing among those that Find found.
func (f *File) NoteGaps() {
	for i := range f.DefsAt {
		f.NoteGap(&f.DefsAt[i])
	}
	for i := range f.Blocks {
		f.need = max(f.need, f.Blocks[i].Defs)
	}
	f.Found = append(f.Found, f.LostDefs()...)
	for i := range f.Blocks {
		f.NoteGap(&f.Blocks[i])
	}
}

// NoteGap notes the blocks that are missing before b: of definitions if b is one, else of its stream. It
// returns how many they are.
func (f *File) NoteGap(b *Block) (missing uint32) {
	if b.Kind == DefsBlock {
		if missing = max(b.Seq, f.defined) - f.defined; missing > 0 {
			f.Note(Damaged, b.At, "%d definition blocks before this one are lost; what they define is shown"+
				" by number", missing)
		}
		f.defined = b.Seq + 1
		return missing
	}
	s, ok := f.ends[b.Stream]
	if !ok {
		s.last = math.MinInt64
	}
	if missing = max(b.Seq, s.next) - s.next; missing > 0 && !f.cutEarlier(b) {
		p := f.Note(Damaged, b.At, "%d blocks of stream %d before this one are lost", missing, b.Stream)
		p.Stream, p.From, p.To, p.Timed = int(b.Stream), s.last, b.First, true
	}
	if f.ends == nil {
		f.ends = map[uint32]streamEnd{}
	}
	f.ends[b.Stream] = streamEnd{b.Seq + 1, max(s.last, b.Last)}
	f.need = max(f.need, b.Defs)
	return missing
}

// streamEnd is how far a stream got.
type streamEnd struct {
	next uint32 // number of the next block
	last int64  // time
}

// cutEarlier reports whether the blocks missing before b are listed already.
func (f *File) cutEarlier(b *Block) bool {
	return slices.ContainsFunc(f.Found, func(p Problem) bool {
		return p.Kind == Truncated && p.Stream == int(b.Stream) && p.Offset < b.At && p.To <= b.First && p.Timed
	})
}

// MissingDefs is how many definition blocks are nowhere though events need them.
func (f *File) MissingDefs() uint32 { return max(f.need, f.defined) - f.defined }

// LostDefs is the problem that some are, if so.
func (f *File) LostDefs() []Problem {
	if f.MissingDefs() == 0 {
		return nil
	}
	return []Problem{{Kind: Damaged, File: f.Name, Offset: f.Size, Node: f.Node, Stream: -1, What: fmt.Sprintf(
		"%d definition blocks are lost; what they define is shown by number", f.MissingDefs())}}
}
