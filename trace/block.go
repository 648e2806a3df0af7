package trace

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
	blockMagic   = "\xabWSB"
	trailerMagic = "WSINDEX\x01"

	version       = 1
	fileHeader    = 32
	blockHeader   = 64
	trailerLength = 16
)

// Kinds of blocks.
const (
	blockDefs  = 1
	blockData  = 2
	blockIndex = 3
)

// Codecs.
const (
	codecStored = 0
	codecZstd   = 1
)

// Flags of a data block.
const (
	flagStarted  = 1 // holds an onProgramStarted
	flagFinished = 2 // holds an onProgramFinished
	flagSync     = 4 // holds an onClockSync
)

// Limits that a reader may rely on: what claims to be beyond them is damaged.
const (
	maxRaw = 16 << 20 // unpacked length of a block
	// A block unpacks to at most ratioFree + ratio times its length in the file, so that a small file cannot ask
	// for much memory. The writer pads where zstd does better.
	ratio     = 64
	ratioFree = 4 << 10
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// header is the fixed header of a block, as it is in the file between magic and its own checksum.
type header struct {
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

func (h *header) append(b []byte) []byte {
	at := len(b)
	b, _ = binary.Append(append(b, blockMagic...), binary.LittleEndian, h) // its fields are of fixed sizes
	return binary.LittleEndian.AppendUint32(b, checksum(b[at:]))
}

var errHeader = errors.New("no valid block header")

// parse reads a header and checks everything that can be checked without the payload.
func (h *header) parse(b []byte) error {
	if len(b) < blockHeader || string(b[:4]) != blockMagic ||
		checksum(b[:blockHeader-4]) != binary.LittleEndian.Uint32(b[blockHeader-4:]) {
		return errHeader
	}
	_, err := binary.Decode(b[4:], binary.LittleEndian, h)
	switch {
	case err != nil:
		return err
	case h.Raw > maxRaw || uint64(h.Raw) > ratioFree+ratio*uint64(h.Packed):
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

// blockFile writes blocks to a file.
type blockFile struct {
	out     output
	at      int64 // length of the file up to the last whole block
	zstd    *zstd.Encoder
	seqs    map[int]uint32
	defs    uint32
	index   []byte // entries of the index so far
	entries uint32
	pack    packer
	raw     []byte
	block   []byte
	failed  bool
}

func newBlockFile(out output, node int, run runMark, level int) (*blockFile, error) {
	f := &blockFile{out: out, seqs: map[int]uint32{}}
	if level >= 0 {
		f.zstd = encoders[min(max(level, 1), len(encoders))-1]()
	}
	le := binary.LittleEndian
	b := append(f.block, fileMagic...)
	b = le.AppendUint16(b, version)
	b = le.AppendUint16(b, fileHeader)
	b = le.AppendUint32(b, uint32(node))
	b = append(b, run[:]...)
	b = le.AppendUint32(b, checksum(b))
	f.block = b
	return f, f.flush()
}

// encoders by level, from 1. Each serves all writers of the process: an encoder's tables
// are larger than everything else that a writer needs.
var encoders = [...]func() *zstd.Encoder{
	encoder(zstd.SpeedFastest), encoder(zstd.SpeedDefault), encoder(zstd.SpeedBetterCompression), encoder(
		zstd.SpeedBestCompression),
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
func (f *blockFile) flush() error {
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

// put writes a block with the payload f.raw.
func (f *blockFile) put(h *header) error {
	b := append(f.block[:0], make([]byte, blockHeader)...)
	h.Raw = uint32(len(f.raw))
	h.Codec = codecStored
	if f.zstd != nil && len(f.raw) > 32 {
		b = f.zstd.EncodeAll(f.raw, b)
		h.Codec = codecZstd
	}
	if h.Codec == codecStored || len(b)-blockHeader >= len(f.raw) {
		h.Codec = codecStored
		b = append(b[:blockHeader], f.raw...)
	}
	if short := (len(f.raw)-ratioFree+ratio-1)/ratio - (len(b) - blockHeader); short > 0 {
		b = appendSkippable(b, short)
	}
	h.Packed = uint32(len(b) - blockHeader)
	h.Sum = checksum(b[blockHeader:])
	h.append(b[:0:blockHeader])
	f.block = b
	if err := f.flush(); err != nil {
		f.failed = true
		return err
	}
	if h.Kind != blockIndex {
		f.enter(f.at-int64(len(b)), b[:blockHeader])
	}
	return nil
}

// enter notes a block for the index.
func (f *blockFile) enter(at int64, header []byte) {
	f.index = binary.LittleEndian.AppendUint64(f.index, uint64(at))
	f.index = append(f.index, header...)
	f.entries++
}

// appendSkippable appends at least n bytes that zstd decoders pass over.
func appendSkippable(b []byte, n int) []byte {
	n = max(n-8, 0)
	b = binary.LittleEndian.AppendUint32(b, 0x184D2A50)
	b = binary.LittleEndian.AppendUint32(b, uint32(n))
	return append(b, make([]byte, n)...)
}

// data writes the events of a buffer and returns what could not be written of it.
func (f *blockFile) data(w *Writer, stream int, buf []uint64) (rest []uint64, err error) {
	for len(buf) > 0 {
		h := header{Kind: blockData, Stream: uint32(stream), Defs: f.defs, Seq: f.seqs[stream]}
		var n int
		f.raw, n = f.pack.pack(f.raw[:0], w, buf, &h)
		if n == 0 {
			return buf, fmt.Errorf("stream %d: an event of kind %d has other arguments than its kind; those"+
				" after it are dropped", stream, headerKind(buf[0]))
		}
		// The number is used up even if the block does not get into the file: the
		// gap shows a reader what is missing.
		f.seqs[stream]++
		if err := f.put(&h); err != nil {
			return buf, err
		}
		buf = buf[n:]
	}
	return nil, nil
}

func (f *blockFile) definitions(p *pending) error {
	h := header{Kind: blockDefs, Count: uint32(p.nrows + p.ndfs), Seq: f.defs, Defs: f.defs}
	f.raw = f.pack.packDefs(f.raw[:0], p)
	f.defs++
	return f.put(&h)
}

// close writes the index and the trailer. If an earlier block could not be written, there is no room for them
// either: readers scan such a file.
func (f *blockFile) close() error {
	var err error
	if !f.failed {
		at := f.at
		if len(f.index) > maxRaw { // readers scan, and see from the trailer that nothing is missing
			f.index, f.entries = nil, 0
		}
		f.raw = append(f.raw[:0], f.index...)
		h := header{Kind: blockIndex, Count: f.entries, Defs: f.defs}
		if err = f.put(&h); err == nil {
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
