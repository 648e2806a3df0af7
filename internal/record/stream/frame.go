package stream

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/whyslow/whyslow/internal/tracefile"
)

// Protocol is the name and version of the protocol in the Upgrade header.
const Protocol = "whyslow-stream/1"

// Path is where a collector takes streams.
const Path = "/stream"

// Type is the type of a frame.
type Type byte

// The types of frames; the package comment says what each holds.
const (
	TypeHello   Type = 1
	TypeOpen    Type = 2
	TypeBlock   Type = 3
	TypeInfo    Type = 4
	TypeClose   Type = 5
	TypeEnd     Type = 6
	TypeLost    Type = 7
	TypePing    Type = 8
	TypeWelcome Type = 16
	TypeHave    Type = 17
	TypeAck     Type = 18
	TypeRefuse  Type = 19
)

// Counted says whether acks count frames of the type.
func (t Type) Counted() bool { return t >= TypeBlock && t <= TypeEnd }

var typeNames = map[Type]string{
	TypeHello: "hello", TypeOpen: "open", TypeBlock: "block", TypeInfo: "info", TypeClose: "close",
	TypeEnd: "end", TypeLost: "lost", TypePing: "ping",
	TypeWelcome: "welcome", TypeHave: "have", TypeAck: "ack", TypeRefuse: "refuse",
}

func (t Type) String() string {
	if name, ok := typeNames[t]; ok {
		return name
	}
	return fmt.Sprintf("type %d", byte(t))
}

const frameHeader = 5

// DefaultMaxFrame is the longest frame in bytes: the longest block of the format, and its node.
const DefaultMaxFrame = tracefile.MaxBlockSize + 4<<10

// MinMaxFrame is the least that a collector may allow: every frame but block, hello and info fits in it.
const MinMaxFrame = 4 << 10

// Frame is one frame; Body is valid until the next one is read.
type Frame struct {
	Type Type
	Body []byte
}

// ErrProtocol is in the error of everything that is no proper frame.
var ErrProtocol = errors.New("violates the protocol")

func protocolError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrProtocol, fmt.Sprintf(format, args...))
}

// FrameReader reads frames. What it allocates is bounded by what has arrived, not by what frames claim.
type FrameReader struct {
	r   *bufio.Reader
	buf []byte
	// Max is the longest body it takes, in bytes; a longer one is an error.
	Max int
	// Begin, where set, is called when the header of a frame is there, before its body of so many bytes is read.
	// With an error the body is not read.
	Begin func(length int) error
}

// NewFrameReader returns a reader of frames of up to max bytes.
func NewFrameReader(r io.Reader, max int) *FrameReader {
	return &FrameReader{r: bufio.NewReaderSize(r, 32<<10), Max: max}
}

// Buffered is the number of bytes that arrived and are not read.
func (r *FrameReader) Buffered() int { return r.r.Buffered() }

// ShortFrame is the length up to which a frame is short, in bytes: as large a buffer is kept between frames.
const ShortFrame = 256 << 10

// Next reads a frame. At the end of the input between two frames the error is io.EOF.
func (r *FrameReader) Next() (Frame, error) {
	var head [frameHeader]byte
	if _, err := io.ReadFull(r.r, head[:]); err != nil {
		return Frame{}, err
	}
	n, t := binary.LittleEndian.Uint32(head[:]), Type(head[4])
	if cap(r.buf) > ShortFrame {
		r.buf = nil
	}
	if int64(n) > int64(r.Max) {
		return Frame{}, protocolError("a %v frame of %d bytes, %d are allowed", t, n, r.Max)
	}
	if r.Begin != nil {
		if err := r.Begin(int(n)); err != nil {
			return Frame{}, err
		}
	}
	b := r.buf[:0]
	for len(b) < int(n) {
		part := min(int(n)-len(b), max(len(b), 16<<10))
		b = slices.Grow(b, part)
		m, err := io.ReadFull(r.r, b[len(b):len(b)+part])
		b = b[:len(b)+m]
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return Frame{}, err
		}
	}
	r.buf = b
	return Frame{t, b}, nil
}

// appendFrame appends a frame whose body is made of parts: numbers of a fixed size, and bytes.
func appendFrame(b []byte, t Type, parts ...any) []byte {
	at := len(b)
	b = append(b, 0, 0, 0, 0, byte(t))
	for _, part := range parts {
		b, _ = binary.Append(b, binary.LittleEndian, part) // it can append such parts
	}
	binary.LittleEndian.PutUint32(b[at:], uint32(len(b)-at-frameHeader))
	return b
}

// AppendJSON appends a hello (Hello), info (trace.RunInfo), welcome (Welcome) or refuse (Refusal) frame.
func AppendJSON(b []byte, t Type, v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return b, fmt.Errorf("%v frame: %w", t, err)
	}
	return appendFrame(b, t, text), nil
}

// AppendBlock appends a block frame: a block of the node's file, header and payload.
func AppendBlock(b []byte, node int, block []byte) []byte {
	return appendFrame(b, TypeBlock, uint32(node), block)
}

// AppendNode appends an open or close frame.
func AppendNode(b []byte, t Type, node int) []byte { return appendFrame(b, t, uint32(node)) }

// AppendEnd appends an end frame.
func AppendEnd(b []byte) []byte { return appendFrame(b, TypeEnd) }

// AppendNumber appends an ack or ping frame.
func AppendNumber(b []byte, t Type, v uint64) []byte { return appendFrame(b, t, v) }

// Lost is what a sender had to drop of a node since it began.
type Lost struct {
	Node   int
	Blocks uint64
	Events uint64
}

// AppendLost appends a lost frame.
func AppendLost(b []byte, l Lost) []byte {
	return appendFrame(b, TypeLost, uint32(l.Node), l.Blocks, l.Events)
}

// AppendHave appends a have frame.
func AppendHave(b []byte, node int, h tracefile.Have) []byte {
	parts := []any{uint32(node), h.Defs}
	for s, n := range h.Streams {
		parts = append(parts, uint32(s), n)
	}
	return appendFrame(b, TypeHave, parts...)
}
