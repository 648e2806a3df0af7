package tracefile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Sizes and names of the format; doc.go draws them.
const (
	fileMagic    = "WSTRACE\x01"
	BlockMagic   = "\xabWSB"
	trailerMagic = "WSINDEX\x01"

	version         = 1
	HeaderSize      = 32 // of a file
	BlockHeaderSize = 64
	TrailerSize     = 16
)

// Kinds of blocks.
const (
	DefsBlock  = 1
	DataBlock  = 2
	IndexBlock = 3
)

// Codecs.
const (
	codecStored = 0
	codecZstd   = 1
)

// Flags of a data block.
const (
	FlagStarted  = 1 // holds an onProgramStarted
	FlagFinished = 2 // holds an onProgramFinished
	FlagSync     = 4 // holds an onClockSync
)

// Limits that a reader may rely on: what claims to be beyond them is damaged.
const (
	MaxRaw = 16 << 20 // unpacked length of a block
	// MaxBlockSize is the greatest length of a block in a file, header included.
	MaxBlockSize = BlockHeaderSize + MaxRaw + 1<<20
	// MaxNode is the highest node number.
	MaxNode = 1<<16 - 1
	// A block unpacks to at most ratioFree + ratio times its length in the file, so that a small file cannot ask
	// for much memory. The writer pads where zstd does better.
	ratio     = 64
	ratioFree = 4 << 10
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Checksum is the sum of the format.
func Checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// Header is the fixed header of a block, as it is in the file between magic and its own checksum.
type Header struct {
	Kind, Codec byte
	Flags       uint16
	Stream      uint32
	Count       uint32 // events, definitions or index entries
	Base        int64  // time of the first event
	First, Last int64  // least and greatest time
	Seq         uint32 // number of the block in its stream; of a definition block: among those
	Defs        uint32 // definition blocks written before
	Packed, Raw uint32 // length in the file, unpacked
	Sum         uint32 // CRC-32C of the payload as it is in the file
}

// Append appends the header with magic and sum.
func (h *Header) Append(b []byte) []byte {
	at := len(b)
	b, _ = binary.Append(append(b, BlockMagic...), binary.LittleEndian, h) // its fields are of fixed sizes
	return binary.LittleEndian.AppendUint32(b, Checksum(b[at:]))
}

var errHeader = errors.New("no valid block header")

// Parse reads a header and checks everything that can be checked without the payload.
func (h *Header) Parse(b []byte) error {
	if len(b) < BlockHeaderSize || string(b[:4]) != BlockMagic ||
		Checksum(b[:BlockHeaderSize-4]) != binary.LittleEndian.Uint32(b[BlockHeaderSize-4:]) {
		return errHeader
	}
	_, err := binary.Decode(b[4:], binary.LittleEndian, h)
	switch {
	case err != nil:
		return err
	case h.Raw > MaxRaw || uint64(h.Raw) > ratioFree+ratio*uint64(h.Packed):
		return errors.New("block claims to unpack to an impossible length")
	case h.Codec == codecStored && h.Raw != h.Packed:
		return errors.New("stored block with two lengths")
	case h.Count > h.Raw:
		return errors.New("block claims more entries than bytes")
	case h.First > h.Last:
		return errors.New("block ends before it starts")
	}
	return nil
}

// Output is what a BlockFile needs of a file.
type Output interface {
	Write([]byte) (int, error)
	Truncate(size int64) error
	Seek(offset int64, whence int) (int64, error)
	Close() error
}

// BlockFile writes blocks to a file. Failed returns its first error.
type BlockFile struct {
	Failed  bool
	out     Output
	at      int64 // length of the file up to the last whole block
	zstd    *zstd.Encoder
	seqs    map[uint32]uint32
	defs    uint32
	index   []byte // entries of the index so far
	entries uint32
	block   []byte
}

// CheckFile finds what is wrong with what the header of a file is to tell.
func CheckFile(node int, run string) error {
	if node < 0 || node > MaxNode {
		return fmt.Errorf("trace: node %d is not in 0 to %d", node, MaxNode)
	}
	_, err := MarkOf(run)
	return err
}

// NewBlockFile begins the file of a node of the run with an id, see CheckFile. level is that of zstd, from 1;
// below 0 blocks are stored as they are.
func NewBlockFile(out Output, node int, id string, level int) (*BlockFile, error) {
	run, err := MarkOf(id)
	if err != nil {
		return nil, err
	}
	f := &BlockFile{out: out, seqs: map[uint32]uint32{}}
	if level >= 0 {
		f.zstd = encoders[min(max(level, 1), len(encoders))-1]()
	}
	le := binary.LittleEndian
	b := append(f.block, fileMagic...)
	b = le.AppendUint16(b, version)
	b = le.AppendUint16(b, HeaderSize)
	b = le.AppendUint32(b, uint32(node))
	b = append(b, run[:]...)
	b = le.AppendUint32(b, Checksum(b))
	f.block = b
	return f, f.flush()
}

// encoders by level, from 1. Each serves all writers of the process: an encoder's tables
// are larger than everything else that a writer needs.
var encoders = [...]func() *zstd.Encoder{
	encoder(zstd.SpeedFastest), encoder(zstd.SpeedDefault), encoder(zstd.SpeedBetterCompression),
	encoder(zstd.SpeedBestCompression),
}

func encoder(level zstd.EncoderLevel) func() *zstd.Encoder {
	return sync.OnceValue(func() *zstd.Encoder {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithWindowSize(512<<10),
			zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
		if err != nil {
			panic(err) // the options are constants
		}
		return e
	})
}

// flush writes f.block as a whole, or leaves the file as it was.
func (f *BlockFile) flush() error {
	n, err := f.out.Write(f.block)
	if err == nil && n < len(f.block) {
		err = io.ErrShortWrite
	}
	if err != nil {
		// What was written of it would only have to be skipped by readers.
		if terr := f.out.Truncate(f.at); terr == nil {
			_, terr = f.out.Seek(f.at, io.SeekStart)
			err = errors.Join(err, terr)
		}
		return err
	}
	f.at += int64(n)
	return nil
}

// Put writes a block with the payload raw. It numbers the block and fills in lengths and sums. The number is
// used up even if the block does not get into the file: the gap shows a reader what is missing.
func (f *BlockFile) Put(h *Header, raw []byte) error {
	h.Defs = f.defs
	switch h.Kind {
	case DefsBlock:
		h.Seq = f.defs
		f.defs++
	case DataBlock:
		h.Seq = f.seqs[h.Stream]
		f.seqs[h.Stream]++
	}
	b := append(f.block[:0], make([]byte, BlockHeaderSize)...)
	h.Raw = uint32(len(raw))
	h.Codec = codecStored
	if f.zstd != nil && len(raw) > 32 {
		b = f.zstd.EncodeAll(raw, b)
		h.Codec = codecZstd
	}
	if h.Codec == codecStored || len(b)-BlockHeaderSize >= len(raw) {
		h.Codec = codecStored
		b = append(b[:BlockHeaderSize], raw...)
	}
	if short := (len(raw)-ratioFree+ratio-1)/ratio - (len(b) - BlockHeaderSize); short > 0 {
		b = appendSkippable(b, short)
	}
	h.Packed = uint32(len(b) - BlockHeaderSize)
	h.Sum = Checksum(b[BlockHeaderSize:])
	h.Append(b[:0:BlockHeaderSize])
	f.block = b
	if err := f.flush(); err != nil {
		f.Failed = true
		return err
	}
	if h.Kind != IndexBlock {
		f.enter(f.at-int64(len(b)), b[:BlockHeaderSize])
	}
	return nil
}

// mostEntries is how many blocks an index has at most. Without one readers scan, and see from the trailer
// that nothing is missing.
const mostEntries = MaxRaw / (8 + BlockHeaderSize)

// enter notes a block for the index.
func (f *BlockFile) enter(at int64, header []byte) {
	if f.entries++; f.entries > mostEntries {
		f.index = nil
		return
	}
	f.index = binary.LittleEndian.AppendUint64(f.index, uint64(at))
	f.index = append(f.index, header...)
}

// appendSkippable appends at least n bytes that zstd decoders pass over.
func appendSkippable(b []byte, n int) []byte {
	n = max(n-8, 0)
	b = binary.LittleEndian.AppendUint32(b, 0x184D2A50)
	b = binary.LittleEndian.AppendUint32(b, uint32(n))
	return append(b, make([]byte, n)...)
}

// Close writes the index and the trailer, and closes the file. If an earlier block could not be written,
// there is no room for them either: readers scan such a file.
func (f *BlockFile) Close() error {
	var err error
	if !f.Failed {
		at := f.at
		if f.entries > mostEntries {
			f.entries = 0
		}
		h := Header{Kind: IndexBlock, Count: f.entries}
		if err = f.Put(&h, f.index); err == nil {
			f.block = binary.LittleEndian.AppendUint64(f.block[:0], uint64(at))
			f.block = append(f.block, trailerMagic...)
			err = f.flush()
		}
	}
	if cerr := f.out.Close(); err == nil {
		err = cerr
	}
	return err
}
