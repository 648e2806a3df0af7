package collect

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"log"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/whyslow/whyslow/internal/record/stream"
)

// Limits bound what others can make a collector do. DefaultLimits has good ones.
type Limits struct {
	Sockets     int // connections of any kind at once, pages included; Listener
	Connections int // streams at once; as many runs of which nothing is kept yet
	PerAddress  int // streams at once from one address; of Sockets twice as many
	// length of a frame, bytes; at least stream.DefaultMaxFrame takes every block there may be
	Frame    int
	Nodes    int   // nodes of a run
	Streams  int   // streams of a node
	Runs     int   // runs kept in the folder
	RunBytes int64 // bytes kept of a run
	AllBytes int64 // bytes kept in the folder
	// What one address may take of it: runs that it began, and their bytes.
	AddressRuns  int
	AddressBytes int64
	// Bytes in memory of what senders say: of a run until nobody has sent it for a while, and of long frames
	// while they arrive. One address may take a quarter.
	Memory    int64
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
		Streams:     8192, // sdk: workers, and from 4096 on those that are none
		Runs:        10_000,
		RunBytes:    256 << 30,
		AllBytes:    1 << 40,
		Handshake:   10 * time.Second,
		Idle:        15 * time.Second,

		AddressRuns:  5_000,
		AddressBytes: 512 << 30,
		Memory:       512 << 20,
	}
}

// check fills in defaults for what is 0.
func (l *Limits) check() error {
	d := DefaultLimits()
	l.Sockets, l.Connections = cmp.Or(l.Sockets, d.Sockets), cmp.Or(l.Connections, d.Connections)
	l.PerAddress, l.Frame = cmp.Or(l.PerAddress, d.PerAddress), cmp.Or(l.Frame, d.Frame)
	l.Nodes, l.Streams, l.Runs = cmp.Or(l.Nodes, d.Nodes), cmp.Or(l.Streams, d.Streams), cmp.Or(l.Runs, d.Runs)
	l.RunBytes, l.AllBytes = cmp.Or(l.RunBytes, d.RunBytes), cmp.Or(l.AllBytes, d.AllBytes)
	l.Handshake, l.Idle = cmp.Or(l.Handshake, d.Handshake), cmp.Or(l.Idle, d.Idle)
	l.AddressRuns = cmp.Or(l.AddressRuns, d.AddressRuns)
	l.AddressBytes, l.Memory = cmp.Or(l.AddressBytes, d.AddressBytes), cmp.Or(l.Memory, d.Memory)
	if min(l.Sockets, l.Connections, l.PerAddress, l.Frame, l.Nodes, l.Streams, l.Runs, l.AddressRuns) < 0 ||
		min(l.RunBytes, l.AllBytes, l.AddressBytes, l.Memory) < 0 || min(l.Handshake, l.Idle) < 0 {
		return errors.New("limits must be positive")
	}
	if l.Frame < stream.MinMaxFrame {
		return errors.New("frames of at least 4 KiB must be allowed")
	}
	if l.Idle < 50*time.Millisecond {
		return errors.New("connections must be allowed at least 50 ms of silence")
	}
	return nil
}

// infoFrame is the longest frame with a run.json, in bytes: read, its JSON takes many times its length.
func (l *Limits) infoFrame() int { return min(l.Frame, 64<<10+512*l.Nodes, 8<<20) }

// TokenOK compares tokens in a time that tells nothing of the wanted one. "" wanted: any is right.
func TokenOK(given, wanted string) bool {
	if wanted == "" {
		return true
	}
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(wanted))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// counter counts what is taken, in all and by address: connections, runs, bytes.
type counter struct {
	all, each int64 // 0: any number

	mu sync.Mutex
	n  int64
	by map[string]int64
}

// host is whom a counter counts for an address. The owner of an IPv6 address has the 2^64 of its network too.
func host(addr string) string {
	name, _, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	if ip, err := netip.ParseAddr(name); err == nil && ip.Unmap().Is6() {
		if network, err := ip.Prefix(64); err == nil {
			return network.String()
		}
	}
	return name
}

// fits tells whether a host may take n more.
func (c *counter) fits(host string, n int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.room(host, n)
}

// room is fits for those who hold c.mu.
func (c *counter) room(host string, n int64) bool {
	return (c.all == 0 || c.n+n <= c.all) && (c.each == 0 || c.by[host]+n <= c.each)
}

// add counts n more of a host, whether they fit or not; less if n is negative.
func (c *counter) add(host string, n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count(host, n)
}

// count is add for those who hold c.mu.
func (c *counter) count(host string, n int64) {
	if c.by == nil {
		c.by = map[string]int64{}
	}
	c.n += n
	if c.by[host] += n; c.by[host] == 0 {
		delete(c.by, host)
	}
}

// take counts n more of a host, unless there are too many; free is called when they are given back.
func (c *counter) take(host string, n int64) (free func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.room(host, n) {
		return nil, false
	}
	c.count(host, n)
	return sync.OnceFunc(func() { c.add(host, -n) }), true
}

// Listener limits a listener's connections, in all and from one address. It closes others: senders try again.
func Listener(l net.Listener, limits Limits) (net.Listener, error) {
	if err := limits.check(); err != nil {
		return nil, err
	}
	return &listener{Listener: l, counter: counter{all: int64(limits.Sockets),
		each: 2 * int64(limits.PerAddress)}}, nil
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
		if free, ok := l.take(host(c.RemoteAddr().String()), 1); ok {
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

// Server returns an HTTP server with time limits on what comes before a handler: slow headers, idle
// connections, TLS. notify, if not nil, gets a line about each handler that panics.
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

// panics passes on the first line of a logged panic. All else comes from those who send garbage.
type panics func(line string)

func (p panics) Write(b []byte) (int, error) {
	if line, _, _ := bytes.Cut(b, []byte("\n")); bytes.Contains(line, []byte("panic serving")) {
		p(string(line))
	}
	return len(b), nil
}
