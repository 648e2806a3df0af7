package collect

import (
	"bytes"
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
	"github.com/whyslow/whyslow/internal/tracefile"
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
		answer(http.StatusUpgradeRequired, "this collector speaks %s: use the same version of whyslow on"+
			" both sides", stream.Protocol)
		return
	}
	free, ok := c.seats.take(host(r.RemoteAddr), 1)
	if !ok {
		w.Header().Set("Retry-After", "5")
		answer(http.StatusServiceUnavailable, "too many streams at once: at most %d, %d from one address",
			c.cfg.Limits.Connections, c.cfg.Limits.PerAddress)
		return
	}
	defer free()
	raw, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		answer(http.StatusInternalServerError, "this server takes no streams: %v", err)
		return
	}
	defer func() { _ = raw.Close() }()
	if err := raw.SetDeadline(time.Now().Add(c.cfg.Limits.Handshake)); err != nil {
		return
	}
	// The number is given before the answer: a sender that has given this connection up gets a higher one next.
	number := c.numbers.Add(1)
	head := "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " + stream.Protocol + "\r\n\r\n"
	if _, err := io.WriteString(raw, head); err != nil {
		return
	}
	c.serve(raw, buffered, r.RemoteAddr, number)
}

// connBytes is about how many bytes of memory a connection takes by itself.
const connBytes = 48 << 10

// conn is a connection of a sender.
type conn struct {
	*stream.Conn
	c      *Collector
	number uint64 // connections are numbered as they come
	addr   string
	run    *run
	sender *sender // guarded by run.mu
	files  map[int]*file
	reason atomic.Pointer[stream.Refusal] // why it was cut

	missing        map[int]uint64 // blocks by node, as the sender said
	short, long    int64          // bytes that count: of the buffer between frames, of a long frame
	counted, acked uint64
	behind         int // bytes that came since the last ack
}

// host is whom what the connection takes is counted for.
func (k *conn) host() string { return host(k.addr) }

func noMemory() *stream.Refusal {
	return limit(false, "it has no memory left for what senders say, or your address has had its share")
}

// admit is called before a frame of so many bytes is read: its memory counts, and that of the buffer which is
// kept between short ones.
func (k *conn) admit(n int) error {
	k.c.memory.add(k.host(), -k.long)
	k.long = 0
	need := int64(n) - k.short
	if n > stream.ShortFrame {
		need = 2 * int64(n) // a buffer that grows is there twice
	}
	if need <= 0 {
		return nil
	}
	if _, ok := k.c.memory.take(k.host(), need); !ok {
		return noMemory()
	}
	if n > stream.ShortFrame {
		k.long = need
	} else {
		k.short += need
	}
	return nil
}

// read reads JSON of a run.json. Much of it is read by few at a time: what that takes is a multiple of it.
func (k *conn) read(b []byte, parse func() (*trace.RunInfo, error)) (info *trace.RunInfo, free func(),
	err error) {
	if commas := bytes.Count(b, []byte{','}); commas > k.c.cfg.Limits.infoFrame()/8 {
		return nil, nil, fmt.Errorf("%w: a run.json of %d values", stream.ErrProtocol, commas)
	}
	if len(b) > stream.ShortFrame/4 {
		select {
		case k.c.reading <- struct{}{}:
			defer func() { <-k.c.reading }()
		case <-k.c.ctx.Done():
			return nil, nil, stream.ErrCut
		}
	}
	if info, err = parse(); err != nil {
		return nil, nil, err
	}
	if refusal := k.c.room(k.run, int64(len(b))); refusal != nil {
		return nil, nil, refusal
	}
	free, ok := k.c.memory.take(k.host(), weight(info, len(b)))
	if !ok {
		return nil, nil, noMemory()
	}
	return info, free, nil
}

// weight is about how many bytes of memory a run.json takes whose text has so many.
func weight(info *trace.RunInfo, text int) int64 {
	n := text + 160*len(info.Symbols) + 96*(len(info.Nodes)+len(info.Processes)) +
		128*(len(info.Versions)+len(info.Settings)) +
		16*(len(info.Hosts)+len(info.Off)+len(info.Args)+len(info.CommandLine))
	for _, p := range info.Processes {
		n += 24 * len(p.Monotonic)
	}
	return int64(n)
}

// cut ends a connection from another goroutine.
func (k *conn) cut(why *stream.Refusal) {
	k.reason.CompareAndSwap(nil, why)
	k.Cut()
}

// serve talks with a sender until one of them has enough.
func (c *Collector) serve(raw net.Conn, r io.Reader, addr string, number uint64) {
	k := &conn{Conn: stream.NewConn(raw, r, c.cfg.Limits.Handshake, c.cfg.Limits.infoFrame()), c: c,
		number: number, addr: addr, files: map[int]*file{}, missing: map[int]uint64{}}
	k.Admit = k.admit
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

	var err error = noMemory()
	if free, ok := c.memory.take(k.host(), connBytes); ok {
		err = k.talk()
		free()
	}
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
		k.c.drop(k.run)
	}
	k.c.memory.add(k.host(), -k.short-k.long)
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
	var h *stream.Hello
	_, free, err := k.read(f.Body, func() (*trace.RunInfo, error) {
		if h, err = stream.ParseHello(f.Body); err != nil {
			return nil, err
		}
		k.run, err = k.c.run(h.Run, k.host(), h.Info)
		return h.Info, err
	})
	if err != nil {
		return err
	}
	r := k.run
	if err := r.join(k, h, free); err != nil {
		free()
		return err
	}
	if r.exists() {
		k.c.arrived(r)
	}
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
		return with(stream.ParseNode, f, k.open)
	case stream.TypeBlock:
		node, block, err := stream.ParseBlock(f.Body)
		if err != nil {
			return err
		}
		return k.block(node, block)
	case stream.TypeInfo:
		if most := k.c.cfg.Limits.infoFrame(); len(f.Body) > most {
			return fmt.Errorf("%w: a run.json of %d bytes, %d are allowed", stream.ErrProtocol, len(f.Body), most)
		}
		info, free, err := k.read(f.Body, func() (*trace.RunInfo, error) { return stream.ParseInfo(f.Body) })
		if err != nil {
			return err
		}
		return k.run.tell(k, func(s *sender) {
			s.forget()
			s.Info, s.free = info, free
		})
	case stream.TypeClose:
		return with(stream.ParseNode, f, k.close)
	case stream.TypeEnd:
		return k.run.tell(k, func(*sender) { k.run.end(k) })
	case stream.TypeLost:
		return with(stream.ParseLost, f, k.lost)
	case stream.TypePing:
		return with(stream.ParseNumber, f, func(ns uint64) error {
			k.run.lag(k, time.Duration(min(ns, 1<<62)))
			return nil
		})
	}
	return fmt.Errorf("%w: a %v frame", stream.ErrProtocol, f.Type)
}

// with deals with what is in a frame.
func with[T any](parse func([]byte) (T, error), f stream.Frame, do func(T) error) error {
	v, err := parse(f.Body)
	if err != nil {
		return err
	}
	return do(v)
}

// open deals with a sender that wants to send a node.
func (k *conn) open(node int) (err error) {
	var have tracefile.Have
	if err := k.during(k.c.cfg.Limits.Idle/4, func() (err error) {
		have, err = k.run.open(k, node)
		return err
	}); err != nil {
		return err
	}
	_, err = k.Write(stream.AppendHave(nil, node, have))
	return err
}

// lost deals with what a sender had to drop.
func (k *conn) lost(l stream.Lost) error {
	if k.files[l.Node] == nil {
		return notOpened(l.Node)
	}
	k.missing[l.Node] = l.Blocks
	return k.run.tell(k, func(s *sender) {
		if s.Lost == nil {
			s.Lost = map[int]stream.Lost{}
		}
		s.Lost[l.Node] = l
	})
}

// during does something that may take long, and meanwhile shows the sender that somebody is there.
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
	head, size, err := tracefile.ParseBlockHeader(block)
	if err == nil && size != len(block) {
		err = fmt.Errorf("%d bytes, %d expected", len(block), size)
	}
	if err != nil {
		return fmt.Errorf("%w: a block of node %d is damaged: %w", stream.ErrProtocol, node, err)
	}
	if !head.Defs && head.Stream >= k.c.cfg.Limits.Streams {
		return limit(true, "node %d has a stream %d, those from %d on are not taken: raise the collector's limit",
			node, head.Stream, k.c.cfg.Limits.Streams)
	}
	if refusal := k.c.room(k.run, int64(len(block))); refusal != nil {
		k.run.full(refusal)
		return refusal
	}
	if err := k.run.make(); err != nil {
		return err
	}
	grown, err := f.append(k, node, k.missing[node], &head, block)
	k.run.grow(grown)
	if err == nil && grown == 0 {
		return nil
	}
	return k.written(node, err)
}

// written deals with how writing to the file of a node went.
func (k *conn) written(node int, err error) error {
	var refusal *stream.Refusal
	switch {
	case errors.Is(err, stream.ErrCut), errors.As(err, &refusal):
		return err
	case k.c.ctx.Err() != nil:
		return stream.ErrCut
	case errors.Is(err, errGap):
		return &stream.Refusal{Code: stream.RefusedFrame, Text: err.Error(), Final: true}
	case err != nil:
		return k.run.fail(k, node, err)
	}
	k.run.written(k, node)
	return nil
}

// close deals with the end of a node.
func (k *conn) close(node int) error {
	f := k.files[node]
	if f == nil {
		return notOpened(node)
	}
	if err := k.run.make(); err != nil {
		return err
	}
	grown, err := f.end(k, node)
	k.run.grow(grown)
	if err != nil || grown != 0 {
		if err := k.written(node, err); err != nil {
			return err
		}
	}
	return k.run.tell(k, func(*sender) {})
}
