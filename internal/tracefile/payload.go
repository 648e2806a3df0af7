package tracefile

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Resize returns a slice of n elements, s itself where it has room. They are not cleared.
func Resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/8)
	}
	return s[:n]
}

// decoder unpacks; its DecodeAll serves many goroutines.
var decoder = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(MaxRaw), zstd.WithDecodeAllCapLimit(true),
		zstd.IgnoreChecksum(true))
	if err != nil {
		panic(err) // the options are constants
	}
	return d
})

// Unpack returns the payload of a block.
func Unpack(dst []byte, h *Header, payload []byte) ([]byte, error) {
	if h.Codec == codecStored {
		return append(dst[:0], payload...), nil
	}
	if h.Codec != codecZstd {
		return dst, fmt.Errorf("codec %d is unknown", h.Codec)
	}
	dst = Resize(dst, int(h.Raw))
	out, err := decoder().DecodeAll(payload, dst[:0:h.Raw])
	if err != nil {
		return dst, fmt.Errorf("cannot be unpacked: %w", err)
	}
	if len(out) != int(h.Raw) {
		return dst, errors.New("unpacks to another length than it says")
	}
	return out, nil
}

var errChecksum = errors.New("checksum is wrong")

// ReadPayload reads a block's payload and checks its sum.
func ReadPayload(f io.ReaderAt, buf []byte, at int64, h *Header) ([]byte, error) {
	buf = Resize(buf, int(h.Packed))
	if _, err := f.ReadAt(buf, at+BlockHeaderSize); err != nil {
		return buf, fmt.Errorf("cannot be read: %w", err)
	}
	if Checksum(buf) != h.Sum {
		return buf, errChecksum
	}
	return buf, nil
}

// ReadBlock reads a block with its header into buf and checks its sum.
func ReadBlock(f io.ReaderAt, buf []byte, b *Block) ([]byte, error) {
	buf = Resize(buf, BlockHeaderSize+int(b.Packed))
	b.Append(buf[:0])
	_, err := ReadPayload(f, buf[BlockHeaderSize:], b.At, &b.Header)
	return buf, err
}
