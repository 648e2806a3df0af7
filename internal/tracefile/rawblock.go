package tracefile

import (
	"errors"
	"fmt"
)

// RawBlock is a block of definitions or of events as it is in a file, for those who pass blocks on rather
// than look into them.
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
	Bytes  []byte // header and payload
}

// NewRawBlock describes a block of a node; bytes are its header and payload.
func NewRawBlock(node int, b *Block, bytes []byte) RawBlock {
	return RawBlock{Node: node, Defs: b.Kind == DefsBlock, Stream: int(b.Stream), Number: b.Seq, Needs: b.Defs,
		Count: int(b.Count), First: b.First, Last: b.Last, Offset: b.At, Bytes: bytes}
}

// ParseBlockHeader reads the header at the start of b, which must hold all of it (BlockHeaderSize bytes), and
// returns what it tells and the length of the whole block. Where b holds the whole block, the payload's sum
// is checked too and Bytes is set. Node is -1: a block does not tell it. Blocks of other kinds than
// definitions and events are an error.
func ParseBlockHeader(b []byte) (RawBlock, int, error) {
	var blk Block
	if err := blk.Parse(b); err != nil {
		return RawBlock{}, 0, err
	}
	if blk.Kind != DefsBlock && blk.Kind != DataBlock {
		return RawBlock{}, 0, errors.New("not a block of definitions or events")
	}
	size := int(blk.Size())
	if size > MaxBlockSize {
		return RawBlock{}, 0, fmt.Errorf("a block of %d bytes is longer than any", size)
	}
	if len(b) < size {
		return NewRawBlock(-1, &blk, nil), size, nil
	}
	if Checksum(b[BlockHeaderSize:size]) != blk.Sum {
		return RawBlock{}, 0, errChecksum
	}
	return NewRawBlock(-1, &blk, b[:size]), size, nil
}
