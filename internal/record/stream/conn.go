package stream

import (
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// slowest is the least speed at which a long frame must arrive, in bytes a second.
const slowest = 16 << 10

// Conn is one end of a stream: frames over a connection, with time limits. One goroutine reads, one writes.
type Conn struct {
	net  net.Conn
	r    *FrameReader
	idle time.Duration
	cut  atomic.Bool
	// Admit, where set, is called before the body of a frame of so many bytes is read; Next returns its error.
	Admit func(length int) error
}

// NewConn returns an end of a stream. r is where to read from (c, or what holds bytes of it already), idle
// the silence after which the other end is taken for gone, maxFrame the longest body that is taken.
func NewConn(c net.Conn, r io.Reader, idle time.Duration, maxFrame int) *Conn {
	conn := &Conn{net: c, r: NewFrameReader(r, maxFrame), idle: idle}
	conn.r.Begin = func(n int) error {
		if n > conn.r.Buffered() {
			conn.readBy(conn.idle + time.Duration(n)*time.Second/slowest)
		}
		if conn.Admit != nil {
			return conn.Admit(n)
		}
		return nil
	}
	return conn
}

// SetIdle sets the silence after which the other end is taken for gone.
func (c *Conn) SetIdle(d time.Duration) { c.idle = d }

// SetMaxFrame sets the longest body of a frame that is taken, in bytes.
func (c *Conn) SetMaxFrame(n int) { c.r.Max = n }

// Buffered is the number of bytes that arrived and are not read.
func (c *Conn) Buffered() int { return c.r.Buffered() }

func (c *Conn) readBy(d time.Duration) {
	// An error means that the connection is closed: reading tells.
	_ = c.net.SetReadDeadline(time.Now().Add(d))
	if c.cut.Load() {
		_ = c.net.SetReadDeadline(time.Unix(1, 0))
	}
}

// ErrCut is returned by Next after Cut.
var ErrCut = errors.New("the stream has ended")

// Cut makes Next and Write return ErrCut, now and from then on. Any goroutine may call it.
func (c *Conn) Cut() {
	c.cut.Store(true)
	_ = c.net.SetDeadline(time.Unix(1, 0))
}

// Next reads a frame.
func (c *Conn) Next() (Frame, error) {
	if c.r.Buffered() < frameHeader {
		c.readBy(c.idle)
	}
	f, err := c.r.Next()
	switch {
	case err != nil && c.cut.Load():
		err = ErrCut
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = errorText{"no data for too long", err}
	}
	return f, err
}

// chunk is how much is written within one time limit. It tells a slow connection from a dead one.
const chunk = 32 << 10

// Write writes whole frames. It fails where the other end takes nothing for too long, and after Cut.
func (c *Conn) Write(b []byte) (int, error) {
	done := 0
	for done < len(b) {
		// An error means that the connection is closed: writing tells.
		_ = c.net.SetWriteDeadline(time.Now().Add(c.idle))
		if c.cut.Load() {
			return done, ErrCut
		}
		n, err := c.net.Write(b[done:min(done+chunk, len(b))])
		done += n
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = errorText{"the other side accepted nothing for too long", err}
		}
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// Refuse ends the stream from the collector's side: it says why within a second, and waits as long for the
// other end to hang up. Unread data would otherwise take the answer with it.
func (c *Conn) Refuse(r *Refusal) {
	b, err := AppendJSON(nil, TypeRefuse, r)
	if err != nil {
		return
	}
	by := time.Now().Add(time.Second)
	if c.net.SetDeadline(by) != nil {
		return
	}
	if _, err := c.net.Write(b); err != nil {
		return
	}
	if half, ok := c.net.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		// How it ends does not matter.
		_, _ = io.Copy(io.Discard, io.LimitReader(c.net, 64<<20))
	}
}

// Close closes the connection.
func (c *Conn) Close() error { return c.net.Close() }
