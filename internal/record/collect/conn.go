package collect

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/whyslow/whyslow/internal/record/stream"
	"github.com/whyslow/whyslow/trace"
)

// ServeHTTP takes streams; it belongs at stream.Path.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := func(code int, format string, args ...any) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Connection", "close")
		w.WriteHeader(code)
		fmt.Fprintf(w, format+"\n", args...)
	}
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case !TokenOK(token, c.cfg.Token):
		w.Header().Set("WWW-Authenticate", "Bearer")
		answer(http.StatusUnauthorized, "wrong token, or none")
		return
	case r.Method != http.MethodGet || r.ProtoMajor != 1:
		answer(http.StatusMethodNotAllowed, "streams come by GET and HTTP/1.1")
		return
	case r.Header.Get("Upgrade") != stream.Protocol:
		w.Header().Set("Upgrade", stream.Protocol)
		answer(http.StatusUpgradeRequired, "this collector speaks %s; for what speaks another version use"+
			" the same version of whyslow on both sides", stream.Protocol)
		return
	}
	free, ok := c.seats.take(r.RemoteAddr)
	if !ok {
		w.Header().Set("Retry-After", "5")
		answer(http.StatusServiceUnavailable, "too many streams at once: at most %d, %d from one address",
			c.cfg.Limits.Connections, c.cfg.Limits.PerAddress)
		return
	}
	defer free()
	raw, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		answer(http.StatusInternalServerError, "streams cannot be taken here: %v", err)
		return
	}
	defer func() { _ = raw.Close() }()
	if err := raw.SetDeadline(time.Now().Add(c.cfg.Limits.Handshake)); err != nil {
		return
	}
	head := "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " + stream.Protocol +
		"\r\n\r\n"
	if _, err := io.WriteString(raw, head); err != nil {
		return
	}
	c.serve(raw, buffered, r.RemoteAddr)
}

// conn is a connection of a sender.
type conn struct {
	*stream.Conn
	c      *Collector
	addr   string
	run    *run
	sender *sender // guarded by run.mu
	files  map[int]*file
	reason atomic.Pointer[stream.Refusal] // why it was cut

	counted, acked uint64
	behind         int // bytes that came since the last ack
}

func (k *conn) name() string {
	if host, _, err := net.SplitHostPort(k.addr); err == nil {
		return host
	}
	return k.addr
}

// cut ends a connection from another goroutine.
func (k *conn) cut(why *stream.Refusal) {
	k.reason.CompareAndSwap(nil, why)
	k.Cut()
}

// serve talks with a sender until one of them has enough.
func (c *Collector) serve(raw net.Conn, r io.Reader, addr string) {
	k := &conn{Conn: stream.NewConn(raw, r, c.cfg.Limits.Handshake, c.cfg.Limits.infoFrame()), c: c,
		addr: addr, files: map[int]*file{}}
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	c.conns[k] = true
	c.work.Add(1)
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.conns, k)
		c.mu.Unlock()
		c.work.Done()
	}()

	err := k.talk()
	var refusal *stream.Refusal
	switch {
	case errors.Is(err, stream.ErrCut):
		refusal = k.reason.Load()
	case errors.As(err, &refusal):
	case errors.Is(err, stream.ErrProtocol):
		refusal = &stream.Refusal{Code: stream.RefusedFrame, Text: err.Error()}
	case errors.Is(err, os.ErrDeadlineExceeded):
		refusal = &stream.Refusal{Code: stream.RefusedIdle, Text: err.Error()}
	}
	if refusal != nil {
		k.Refuse(refusal)
	}
}

// talk deals with one frame after the other; it ends with an error.
func (k *conn) talk() error {
	defer k.leave()
	if err := k.greet(); err != nil {
		return err
	}
	for {
		f, err := k.Next()
		if err != nil {
			return err
		}
		if err := k.take(f); err != nil {
			return err
		}
		if f.Type.Counted() {
			k.counted++
			k.behind += len(f.Body)
		}
		due := k.counted > k.acked && (k.Buffered() == 0 || k.behind > 256<<10)
		if due || f.Type == stream.TypePing || f.Type == stream.TypeEnd {
			if _, err := k.Write(stream.AppendNumber(nil, stream.TypeAck, k.counted)); err != nil {
				return err
			}
			k.acked, k.behind = k.counted, 0
		}
	}
}

// leave gives back what the connection holds.
func (k *conn) leave() {
	if k.run != nil {
		k.run.leave(k)
	}
}

// greet deals with the hello.
func (k *conn) greet() error {
	// However fast its bytes come, all of it comes within the time of the handshake.
	late := time.AfterFunc(k.c.cfg.Limits.Handshake, func() {
		k.cut(&stream.Refusal{Code: stream.RefusedIdle, Text: "the hello took too long"})
	})
	f, err := k.Next()
	if !late.Stop() {
		return stream.ErrCut
	}
	if err != nil {
		return err
	}
	if f.Type != stream.TypeHello {
		return &stream.Refusal{Code: stream.RefusedHello,
			Text: fmt.Sprintf("the first frame is a %v, not a hello", f.Type), Final: true}
	}
	h, err := stream.ParseHello(f.Body)
	if err != nil {
		return err
	}
	r, err := k.c.run(h.Run, h.Info)
	if err != nil {
		return err
	}
	k.run = r
	if err := r.join(k, h); err != nil {
		return err
	}
	k.c.arrived(r)
	welcome, err := stream.AppendJSON(nil, stream.TypeWelcome,
		stream.Welcome{Collector: k.c.host, Folder: r.name(), Idle: k.c.cfg.Limits.Idle,
			MaxFrame: k.c.cfg.Limits.Frame})
	if err != nil {
		return err
	}
	k.SetIdle(k.c.cfg.Limits.Idle)
	k.SetMaxFrame(k.c.cfg.Limits.Frame)
	_, err = k.Write(welcome)
	return err
}

// take deals with a frame after the hello.
func (k *conn) take(f stream.Frame) error {
	switch f.Type {
	case stream.TypeOpen:
		node, err := stream.ParseNode(f.Body)
		if err != nil {
			return err
		}
		var have trace.Have
		if err := k.during(k.c.cfg.Limits.Idle/4, func() (err error) {
			have, err = k.run.open(k, node)
			return err
		}); err != nil {
			return err
		}
		_, err = k.Write(stream.AppendHave(nil, node, have))
		return err
	case stream.TypeBlock:
		node, block, err := stream.ParseBlock(f.Body)
		if err != nil {
			return err
		}
		return k.block(node, block)
	case stream.TypeInfo:
		if most := k.c.cfg.Limits.infoFrame(); len(f.Body) > most {
			return fmt.Errorf("%w: a run.json of %d bytes, %d are allowed", stream.ErrProtocol, len(f.Body),
				most)
		}
		info, err := stream.ParseInfo(f.Body)
		if err != nil {
			return err
		}
		return k.run.tell(k, func(s *sender) { s.Info = info })
	case stream.TypeClose:
		node, err := stream.ParseNode(f.Body)
		if err != nil {
			return err
		}
		return k.close(node)
	case stream.TypeEnd:
		return k.run.tell(k, func(s *sender) { s.Ended = true })
	case stream.TypeLost:
		l, err := stream.ParseLost(f.Body)
		if err != nil {
			return err
		}
		if k.files[l.Node] == nil {
			return notOpened(l.Node)
		}
		return k.run.tell(k, func(s *sender) {
			if s.Lost == nil {
				s.Lost = map[int]stream.Lost{}
			}
			s.Lost[l.Node] = l
		})
	case stream.TypePing:
		ns, err := stream.ParseNumber(f.Body)
		if err != nil {
			return err
		}
		k.run.lag(k, time.Duration(min(ns, 1<<62)))
		return nil
	}
	return fmt.Errorf("%w: a %v frame", stream.ErrProtocol, f.Type)
}

// during does something that may take long, as looking through a large file does, and shows
// the sender meanwhile that somebody is there.
func (k *conn) during(every time.Duration, do func() error) error {
	stop, stopped := make(chan bool), make(chan bool)
	go func() {
		defer close(stopped)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				// An error comes again at the next frame.
				_, _ = k.Write(stream.AppendNumber(nil, stream.TypeAck, k.acked))
			}
		}
	}()
	defer func() {
		close(stop)
		<-stopped
	}()
	return do()
}

func notOpened(node int) error {
	return fmt.Errorf("%w: node %d was not opened", stream.ErrProtocol, node)
}

// block deals with a block.
func (k *conn) block(node int, block []byte) error {
	f := k.files[node]
	if f == nil {
		return notOpened(node)
	}
	head, size, err := trace.ParseBlockHeader(block)
	if err == nil && size != len(block) {
		err = fmt.Errorf("%d bytes, %d expected", len(block), size)
	}
	if err != nil {
		return fmt.Errorf("%w: a block of node %d is damaged: %w", stream.ErrProtocol, node, err)
	}
	if !head.Defs && head.Stream >= k.c.cfg.Limits.Streams {
		return &stream.Refusal{Code: stream.RefusedLimit, Final: true,
			Text: fmt.Sprintf("node %d has a stream %d, those from %d on are not taken: raise the"+
				" collector's limit", node, head.Stream, k.c.cfg.Limits.Streams)}
	}
	if refusal := k.c.room(k.run, int64(len(block))); refusal != nil {
		k.run.full(refusal)
		return refusal
	}
	fresh, err := f.append(k, k.run.dir, node, &head, block)
	switch {
	case errors.Is(err, stream.ErrCut):
		return err
	case err != nil:
		return k.run.fail(node, err)
	case fresh:
		k.run.bytes.Add(int64(len(block)))
		k.c.bytes.Add(int64(len(block)))
		k.run.mended(node)
	}
	return nil
}

// close deals with the end of a node.
func (k *conn) close(node int) error {
	f := k.files[node]
	if f == nil {
		return notOpened(node)
	}
	err := f.end(k, k.run.dir, node)
	switch {
	case errors.Is(err, stream.ErrCut):
		return err
	case err != nil:
		return k.run.fail(node, err)
	}
	k.run.mended(node)
	return k.run.tell(k, func(*sender) {})
}
