package foreign

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
)

// longestLine is how long a line may be. That of a task which waits for a million others has 10 MB.
const longestLine = 1 << 26

// Lines reads a text line by line.
type Lines struct {
	ctx    context.Context
	in     *bufio.Reader
	file   string // as Error has it
	number int
	at     int64 // where the line begins, in bytes
	next   int64
	long   []byte
}

// NewLines makes a reader of in; file is what its errors call it.
func NewLines(ctx context.Context, in io.Reader, file string) *Lines {
	return &Lines{ctx: ctx, in: bufio.NewReaderSize(in, 1<<16), file: file}
}

// Read gives the next line without its end; io.EOF after the last.
func (l *Lines) Read() ([]byte, error) {
	if l.number++; l.number%4096 == 0 && l.ctx.Err() != nil {
		return nil, context.Cause(l.ctx)
	}
	l.at = l.next
	line, err := l.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		l.long = append(l.long[:0], line...)
		for errors.Is(err, bufio.ErrBufferFull) {
			if len(l.long) > longestLine {
				return nil, l.Fail("the line is longer than %d MB", longestLine>>20)
			}
			line, err = l.in.ReadSlice('\n')
			l.long = append(l.long, line...)
		}
		line = l.long
	}
	l.next += int64(len(line))
	switch {
	case err == nil:
		line = line[:len(line)-1]
	case !errors.Is(err, io.EOF):
		return nil, err
	case len(line) == 0:
		return nil, io.EOF
	}
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line, nil
}

// Fail says what is wrong with the line.
func (l *Lines) Fail(format string, args ...any) error {
	return &Error{File: l.file, Line: l.number, Offset: l.at, Msg: fmt.Sprintf(format, args...)}
}

// Decimal reads a number such as "-93.856443" as a whole number of 10^-digits. What is beyond that is cut
// off.
func Decimal(text []byte, digits int) (n int64, ok bool) {
	negative := len(text) > 0 && text[0] == '-'
	if negative {
		text = text[1:]
	}
	const most = 1 << 59
	point, some := false, false
	for _, c := range text {
		switch {
		case c == '.' && !point:
			point = true
		case c < '0' || c > '9' || n > most/10:
			return 0, false
		case !point:
			n, some = n*10+int64(c-'0'), true
		case digits > 0:
			n, some = n*10+int64(c-'0'), true
			digits--
		}
	}
	for ; digits > 0; digits-- {
		if n > most/10 {
			return 0, false
		}
		n *= 10
	}
	if negative {
		n = -n
	}
	return n, some
}

// Peek gives the next n bytes, or what is left, without reading them.
func (l *Lines) Peek(n int) []byte {
	head, _ := l.in.Peek(n) // what is there
	return head
}

// Offset is how much was read, in bytes.
func (l *Lines) Offset() int64 { return l.next }
