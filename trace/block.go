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
	// A block unpacks to at most ratioFree + ratio times its length in the file, so
	// that a small file cannot ask for much memory. The writer pads where zstd does
	// better.
	ratio     = 64
	ratioFree = 4 << 10
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// header is the fixed header of a block.
type header struct {
	kind, codec byte
	flags       uint16
	stream      uint32
	count       uint32 // events, definitions or index entries
	base        int64  // time of the first event
	first, last int64  // least and greatest time
	seq         uint32 // number of the block in its stream; of a definition block: among those
	defs        uint32 // definition blocks written before
	packed, raw uint32 // length in the file, unpacked
	sum         uint32 // CRC-32C of the payload as it is in the file
}

func (h *header) append(b []byte) []byte {
	at := len(b)
	le := binary.LittleEndian
	b = append(b, blockMagic...)
	b = append(b, h.kind, h.codec)
	b = le.AppendUint16(b, h.flags)
	b = le.AppendUint32(b, h.stream)
	b = le.AppendUint32(b, h.count)
	b = le.AppendUint64(b, uint64(h.base))
	b = le.AppendUint64(b, uint64(h.first))
	b = le.AppendUint64(b, uint64(h.last))
	b = le.AppendUint32(b, h.seq)
	b = le.AppendUint32(b, h.defs)
	b = le.AppendUint32(b, h.packed)
	b = le.AppendUint32(b, h.raw)
	b = le.AppendUint32(b, h.sum)
	return le.AppendUint32(b, checksum(b[at:]))
}

var errHeader = errors.New("no valid block header")

// parse reads a header and checks everything that can be checked without the payload.
func (h *header) parse(b []byte) error {
	le := binary.LittleEndian
	if len(b) < blockHeader || string(b[:4]) != blockMagic ||
		checksum(b[:blockHeader-4]) != le.Uint32(b[blockHeader-4:]) {
		return errHeader
	}
	*h = header{
		kind: b[4], codec: b[5], flags: le.Uint16(b[6:]),
		stream: le.Uint32(b[8:]), count: le.Uint32(b[12:]),
		base: int64(le.Uint64(b[16:])), first: int64(le.Uint64(b[24:])), last: int64(le.Uint64(b[32:])),
		seq: le.Uint32(b[40:]), defs: le.Uint32(b[44:]),
		packed: le.Uint32(b[48:]), raw: le.Uint32(b[52:]), sum: le.Uint32(b[56:]),
	}
	switch {
	case h.raw > maxRaw || uint64(h.raw) > ratioFree+ratio*uint64(h.packed):
		return errors.New("block claims to unpack to an impossible length")
	case h.codec == codecStored && h.raw != h.packed:
		return errors.New("stored block with two lengths")
	case h.count > h.raw:
		return errors.New("block claims more entries than bytes")
	case h.first > h.last:
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

func newBlockFile(out output, node, level int) (*blockFile, error) {
	f := &blockFile{out: out, seqs: map[int]uint32{}}
	if level >= 0 {
		f.zstd = encoders[min(max(level, 1), len(encoders))-1]()
	}
	le := binary.LittleEndian
	b := append(f.block, fileMagic...)
	b = le.AppendUint16(b, version)
	b = le.AppendUint16(b, fileHeader)
	b = le.AppendUint32(b, uint32(node))
	b = append(b, make([]byte, fileHeader-4-len(b))...)
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
	h.raw = uint32(len(f.raw))
	h.codec = codecStored
	if f.zstd != nil && len(f.raw) > 32 {
		b = f.zstd.EncodeAll(f.raw, b)
		h.codec = codecZstd
	}
	if h.codec == codecStored || len(b)-blockHeader >= len(f.raw) {
		h.codec = codecStored
		b = append(b[:blockHeader], f.raw...)
	}
	if short := (len(f.raw)-ratioFree+ratio-1)/ratio - (len(b) - blockHeader); short > 0 {
		b = appendSkippable(b, short)
	}
	h.packed = uint32(len(b) - blockHeader)
	h.sum = checksum(b[blockHeader:])
	h.append(b[:0:blockHeader])
	f.block = b
	if err := f.flush(); err != nil {
		f.failed = true
		return err
	}
	if h.kind != blockIndex {
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
		h := header{kind: blockData, stream: uint32(stream), defs: f.defs, seq: f.seqs[stream]}
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
	h := header{kind: blockDefs, count: uint32(p.nrows + p.ndfs), seq: f.defs, defs: f.defs}
	f.raw = f.pack.packDefs(f.raw[:0], p)
	f.defs++
	return f.put(&h)
}

// close writes the index, unless an earlier block could not be written: then there
// is no room for it either, and a reader finds out by itself what is there.
func (f *blockFile) close() error {
	var err error
	if !f.failed {
		at := f.at
		f.raw = append(f.raw[:0], f.index...)
		h := header{kind: blockIndex, count: f.entries, defs: f.defs}
		if len(f.raw) <= maxRaw {
			if err = f.put(&h); err == nil {
				f.block = binary.LittleEndian.AppendUint64(f.block[:0], uint64(at))
				f.block = append(f.block, trailerMagic...)
				err = f.flush()
			}
		}
	}
	if cerr := f.out.Close(); err == nil {
		err = cerr
	}
	return err
}
