package collect

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/whyslow/whyslow/internal/record/stream"
)

// Limits bound what others can make a collector do. DefaultLimits has good ones.
type Limits struct {
	Sockets     int // connections of any kind at once, pages included; Listener
	Connections int // streams at once
	PerAddress  int // streams at once from one address; of Sockets twice as many
	// length of a frame, bytes; at least stream.DefaultMaxFrame takes every block there may be
	Frame     int
	Nodes     int           // nodes of a run
	Streams   int           // streams of a node
	Runs      int           // runs kept in the folder
	RunBytes  int64         // bytes kept of a run
	AllBytes  int64         // bytes kept in the folder
	Handshake time.Duration // from connecting to the hello
	Idle      time.Duration // silence after which a connection is given up
}

// DefaultLimits are for a machine that collects from a cluster.
func DefaultLimits() Limits {
	return Limits{
		Sockets:     4096,
		Connections: 1024,
		PerAddress:  512,
		Frame:       stream.DefaultMaxFrame,
		Nodes:       4096,
		Streams:     4096,
		Runs:        10_000,
		RunBytes:    256 << 30,
		AllBytes:    1 << 40,
		Handshake:   10 * time.Second,
		Idle:        15 * time.Second,
	}
}

// check fills in defaults for what is 0.
func (l *Limits) check() error {
	d := DefaultLimits()
	for _, f := range []struct{ v, def *int }{{&l.Sockets, &d.Sockets}, {&l.Connections, &d.Connections},
		{&l.PerAddress, &d.PerAddress},
		{&l.Frame, &d.Frame}, {&l.Nodes, &d.Nodes}, {&l.Streams, &d.Streams}, {&l.Runs, &d.Runs}} {
		if *f.v < 0 {
			return errors.New("limits are positive")
		}
		if *f.v == 0 {
			*f.v = *f.def
		}
	}
	for _, f := range []struct{ v, def *int64 }{{&l.RunBytes, &d.RunBytes}, {&l.AllBytes, &d.AllBytes},
		{(*int64)(&l.Handshake), (*int64)(&d.Handshake)}, {(*int64)(&l.Idle), (*int64)(&d.Idle)}} {
		if *f.v < 0 {
			return errors.New("limits are positive")
		}
		if *f.v == 0 {
			*f.v = *f.def
		}
	}
	if l.Frame < stream.MinMaxFrame {
		return errors.New("frames of 4 KiB at least must be allowed")
	}
	if l.Idle < 50*time.Millisecond {
		return errors.New("connections must be allowed to be silent for 50 ms at least")
	}
	return nil
}

// infoFrame is how long a frame with a run.json may be, in bytes: as JSON it takes many
// times its length when it is read.
func (l *Limits) infoFrame() int { return min(l.Frame, 64<<10+512*l.Nodes) }

// TokenOK reports whether the token that was given is the one wanted, in a time that tells
// nothing of it. Without one wanted any is right.
func TokenOK(given, wanted string) bool {
	if wanted == "" {
		return true
	}
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(wanted))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// counter counts holders, in all and by address.
type counter struct {
	all, each int

	mu sync.Mutex
	n  int
	by map[string]int
}

// take counts one more, unless there are too many; free is called when it is over.
func (c *counter) take(addr string) (free func(), ok bool) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = addr
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n >= c.all || c.by[host] >= c.each {
		return nil, false
	}
	if c.by == nil {
		c.by = map[string]int{}
	}
	c.n++
	c.by[host]++
	return sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.n--
		if c.by[host]--; c.by[host] == 0 {
			delete(c.by, host)
		}
	}), true
}

// Listener limits the connections of a listener, in all and from one address. Those
// beyond are closed at once: senders try again.
func Listener(l net.Listener, limits Limits) (net.Listener, error) {
	if err := limits.check(); err != nil {
		return nil, err
	}
	return &listener{Listener: l, counter: counter{all: limits.Sockets, each: 2 * limits.PerAddress}}, nil
}

type listener struct {
	net.Listener
	counter
}

func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if free, ok := l.take(c.RemoteAddr().String()); ok {
			return &limited{c, free}, nil
		}
		_ = c.Close()
	}
}

// limited is a connection that is counted until it is closed.
type limited struct {
	net.Conn
	free func()
}

func (c *limited) Close() error {
	defer c.free()
	return c.Conn.Close()
}

// CloseWrite closes the connection in one direction.
func (c *limited) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// Server returns an HTTP server for streams and pages with time limits on what comes
// before a handler: slow headers, idle connections, TLS that does not come about. notify,
// if not nil, is told in one line of a handler that panics.
func Server(h http.Handler, limits Limits, notify func(line string)) (*http.Server, error) {
	if err := limits.check(); err != nil {
		return nil, err
	}
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: limits.Handshake,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog: log.New(panics(func(line string) {
			if notify != nil {
				notify(line)
			}
		}), "", 0),
	}, nil
}

// panics passes on the first line of what an HTTP server logs about a panic. All else is
// of those who send garbage: nothing for the user to act on.
type panics func(line string)

func (p panics) Write(b []byte) (int, error) {
	if line, _, _ := bytes.Cut(b, []byte("\n")); bytes.Contains(line, []byte("panic serving")) {
		p(string(line))
	}
	return len(b), nil
}
