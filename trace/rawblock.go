package trace

import (
	"errors"
	"fmt"
	"io"
)

// RawBlock is a block of definitions or of events as it is in a file, for those who pass
// blocks on rather than look into them.
type RawBlock struct {
	Node   int
	Defs   bool   // definitions, else events
	Stream int    // of events
	Number uint32 // among the blocks of its stream, or the definition blocks, of the node
	Needs  uint32 // how many definition blocks come before it; it uses no others
	Count  int    // events or definitions
	First  int64  // least and greatest time of the events
	Last   int64
	Offset int64  // where it is in its file
	Bytes  []byte // header and payload; the Follower's: valid during the call that gives it

	blk  block
	defs *Defs
	note func(*block, error)
}

// BlockHeaderSize is the length of a block's header in bytes.
const BlockHeaderSize = blockHeader

// MaxBlockSize is the greatest length of a block, header included, in bytes.
const MaxBlockSize = blockHeader + maxRaw + 1<<20

func newRawBlock(node int, b *block) RawBlock {
	return RawBlock{
		Node: node, Defs: b.Kind == blockDefs, Stream: int(
			b.Stream), Number: b.Seq, Needs: b.Defs, Count: int(b.Count),
		First: b.First, Last: b.Last, Offset: b.at, blk: *b, defs: &Defs{},
	}
}

var errNoRawBlock = errors.New("not a block of definitions or events")

// ParseBlockHeader reads the header at the start of b, which must hold all of it
// (BlockHeaderSize bytes), and returns what it tells and the length of the whole block.
// Where b holds the whole block, the payload's sum is checked too and Bytes is set. Node is
// -1: a block does not tell it. Blocks of other kinds than definitions and events are an
// error.
func ParseBlockHeader(b []byte) (RawBlock, int, error) {
	var blk block
	if err := blk.parse(b); err != nil {
		return RawBlock{}, 0, err
	}
	if blk.Kind != blockDefs && blk.Kind != blockData {
		return RawBlock{}, 0, errNoRawBlock
	}
	size := int(blk.end())
	if size > MaxBlockSize {
		return RawBlock{}, 0, fmt.Errorf("a block of %d bytes is longer than any", size)
	}
	r := newRawBlock(-1, &blk)
	if len(b) >= size {
		r.Bytes = b[:size]
		if checksum(r.payload()) != blk.Sum {
			return RawBlock{}, 0, errChecksum
		}
	}
	return r, size, nil
}

func (b *RawBlock) payload() []byte { return b.Bytes[blockHeader:] }

// Read decodes a block of events. One that cannot be decoded, though it is what was
// written, is an error, which a Follower also notes among its problems.
func (b *RawBlock) Read(dst *Batch) error {
	if b.Defs || b.Bytes == nil {
		return errors.New("trace: not a whole block of events")
	}
	err := dst.take(b.Node, &b.blk, b.payload(), b.defs)
	if err != nil && b.note != nil {
		b.note(&b.blk, err)
	}
	return err
}

// readRaw reads a block with its header into buf and checks its sum.
func readRaw(f io.ReaderAt, buf []byte, b *block) ([]byte, error) {
	buf = resize(buf, blockHeader+int(b.Packed))
	b.append(buf[:0])
	_, err := readPayload(f, buf[blockHeader:], b.at, &b.header)
	return buf, err
}
