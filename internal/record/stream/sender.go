package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/trace"
)

// Config says what a Sender sends where. Zero values mean the defaults.
type Config struct {
	Target Target
	Source Source
	// Name names the sender, the same after a new start, unlike all others'. Default: host and source. At most
	// 256 bytes.
	Name    string
	Version string        // of whyslow, shown at the collector
	Window  int64         // bytes of memory for what is read and not acknowledged; default 4 MiB
	Poll    time.Duration // how often the source is looked at; default 100 ms
	Within  time.Duration // for connecting, until the welcome; default 10 s
	Retry   time.Duration // the first wait before connecting again, doubled each time; default 100 ms
	Longest time.Duration // the longest such wait; default 15 s
	// Notify gets a line when the collector cannot be reached, can be reached again, or refuses.
	Notify func(line string)
}

// Amount is a number of blocks with what is in them. Definitions count as blocks, not as events.
type Amount struct {
	Blocks uint64
	Bytes  uint64
	Events uint64
}

// add adds what an item holds times n, which is 1 or -1.
func (a *Amount) add(it *item, n int) {
	a.Blocks += uint64(n)
	a.Bytes += uint64(n * (len(it.frame) - frameHeader - 4))
	a.Events += uint64(n * it.events)
}

// Stats is how a Sender is doing.
type Stats struct {
	Connected bool
	Connects  int    // how often it connected
	Folder    string // name of the trace's folder at the collector, "" before the first welcome
	Sent      Amount // acknowledged by the collector
	Unsent    Amount // read from the source and not acknowledged
	// Dropped is what a Queue that was full dropped, what is longer than the collector takes, and blocks that
	// are damaged at the source, or that the collector has lost for good. Bytes is 0.
	Dropped Amount
	// Lag is the age of the newest moment until which everything recorded is at the collector.
	Lag  time.Duration
	Err  error // why it is not connected, nil if it is or was not yet tried
	Done bool  // everything is at the collector, it has said so
	Over bool  // no more is sent: done, refused for good, or ended
}

// Sender sends a source to a collector over any number of connections. Many goroutines may use it.
type Sender struct {
	cfg      Config
	draining chan struct{}
	drain    sync.Once
	done     chan struct{} // Run has returned
	ready    chan struct{} // there is something to send
	space    chan struct{} // the window got smaller

	mu       sync.Mutex
	items    []item // the window
	size     int64  // bytes of it
	passed   int    // items of it sent, or found not to be needed, in this connection
	counted  uint64 // counted frames of this connection
	acked    uint64 // of these, acknowledged
	maxFrame int
	nodes    map[int]bool // met in the source
	opened   map[int]bool // asked for in this connection
	have     map[int]tracefile.Have
	there    map[int]tracefile.Have // what the collector has acknowledged
	lost     map[int]Lost           // dropped by the source
	long     map[int]Lost           // dropped here, or gone at the collector
	lostSent map[int]Lost
	info     *trace.RunInfo
	caught   time.Time
	up       bool
	heard    bool // of the collector, after its welcome
	connects int
	folder   string
	sent     Amount
	waiting  Amount
	lastErr  error
	told     string // the trouble Notify was told of last
	ended    bool
	result   error // of Run
}

// NewSender returns a sender; Run makes it send.
func NewSender(cfg Config) *Sender {
	if cfg.Window <= 0 {
		cfg.Window = 4 << 20
	}
	cfg.Poll = cmp.Or(cfg.Poll, 100*time.Millisecond)
	cfg.Within = cmp.Or(cfg.Within, 10*time.Second)
	cfg.Retry = cmp.Or(cfg.Retry, 100*time.Millisecond)
	cfg.Longest = cmp.Or(cfg.Longest, 15*time.Second)
	cfg.Name = cmp.Or(cfg.Name, hostName()+":"+cfg.Source.name())
	if len(cfg.Name) > maxName {
		cfg.Name = cfg.Name[len(cfg.Name)-maxName:]
	}
	return &Sender{cfg: cfg, draining: make(chan struct{}), done: make(chan struct{}),
		ready: make(chan struct{}, 1), space: make(chan struct{}, 1), caught: time.Now(),
		nodes: map[int]bool{}, opened: map[int]bool{},
		have: map[int]tracefile.Have{}, there: map[int]tracefile.Have{},
		lost: map[int]Lost{}, long: map[int]Lost{}, lostSent: map[int]Lost{}}
}

var (
	errRewind = errors.New("the collector lost what it had")
	errNoRun  = errors.New("the source ended without a run in it")
)

// Run sends until all is at the collector after Drain (nil), the collector refuses for good (a *Refusal), or
// ctx ends. It is called once.
func (s *Sender) Run(ctx context.Context) error {
	err := s.run(ctx)
	s.mu.Lock()
	s.result = err
	s.mu.Unlock()
	close(s.done)
	return err
}

func (s *Sender) run(ctx context.Context) error {
	stop := s.startPump(ctx)
	defer func() { stop() }()
	for wait := s.cfg.Retry; ; {
		if !s.hasInfo(ctx) {
			return ctx.Err()
		}
		before := s.Stats().Sent.Blocks
		err := s.connection(ctx)
		var refusal *Refusal
		switch {
		case errors.Is(err, errNoRun), s.isEnded(): // the connection may have broken right after the last ack
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errRewind):
			stop()
			s.rewind()
			stop = s.startPump(ctx)
			// A collector that loses everything over and over must not keep the program reading it again.
			if err := s.sleep(ctx, wait, s.isDraining()); err != nil {
				return err
			}
			wait = min(2*wait, s.cfg.Longest)
			continue
		case errors.As(err, &refusal) && refusal.Final:
			err = fmt.Errorf("collector %s: %w", s.cfg.Target.Addr, refusal)
			s.down(err)
			s.tell(fmt.Sprintf("%v; nothing more is sent to it", err))
			return err
		}
		err = fmt.Errorf("collector %s: %w", s.cfg.Target.Addr, err)
		s.down(err)
		s.tell(fmt.Sprintf("%v; trying again", err))
		if s.Stats().Sent.Blocks > before {
			wait = s.cfg.Retry
		}
		// Many senders that lost the same collector do not come back all at once.
		pause := wait/2 + rand.N(wait/2+1)
		wait = min(2*wait, s.cfg.Longest)
		draining := s.isDraining()
		if draining {
			pause = min(pause, time.Second) // somebody is waiting
		}
		if err := s.sleep(ctx, pause, draining); err != nil {
			return err
		}
	}
}

// startPump starts the goroutine that reads the source; stop ends it.
func (s *Sender) startPump(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if s.cfg.Source.follow(ctx, s) == nil {
			// An error is that of ctx: then nobody wants the end.
			_ = s.put(ctx, item{kind: TypeEnd, frame: AppendEnd(nil)})
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// hasInfo waits until it is known what run this is.
func (s *Sender) hasInfo(ctx context.Context) bool {
	for {
		s.mu.Lock()
		info, n := s.info, len(s.items)
		ended := n > 0 && s.items[n-1].kind == TypeEnd
		s.mu.Unlock()
		if info != nil || ended {
			return true
		}
		select {
		case <-s.ready:
		case <-ctx.Done():
			return false
		}
	}
}

// connection is one connection from dialling to its end, which is always an error.
func (s *Sender) connection(ctx context.Context) error {
	s.mu.Lock()
	info := s.info
	s.mu.Unlock()
	if info == nil {
		return errNoRun
	}
	conn, err := s.cfg.Target.dial(ctx, s.cfg.Within)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	hello, err := AppendJSON(nil, TypeHello, Hello{FormatVersion, runID(info, s.cfg.Source.name()),
		s.cfg.Name, s.cfg.Version, info})
	if err != nil {
		return err
	}
	conn.SetMaxFrame(maxAnswer)
	_, werr := conn.Write(hello)
	// Even if it took not all of the hello: it may have said why.
	welcome, err := s.welcome(conn)
	var refusal *Refusal
	switch {
	case errors.As(err, &refusal):
		return err
	case werr != nil:
		return plain(werr)
	case err != nil:
		return plain(err)
	}
	conn.SetIdle(welcome.Idle)
	s.connected(welcome)

	heard := make(chan error, 1)
	go func() { heard <- s.listen(conn) }()
	err = s.speak(conn, welcome.Idle/4, heard)
	cancel()
	return plain(err)
}

func (s *Sender) welcome(conn *Conn) (*Welcome, error) {
	f, err := conn.Next()
	if err != nil {
		return nil, err
	}
	if f.Type == TypeWelcome {
		return ParseWelcome(f.Body)
	}
	return nil, refused(f, "greets with")
}

// refused is the error of a frame that is a refusal, or not what is expected.
func refused(f Frame, does string) error {
	if f.Type != TypeRefuse {
		return protocolError("it %s a %v frame", does, f.Type)
	}
	r, err := ParseRefusal(f.Body)
	if err != nil {
		return err
	}
	return r
}

// listen reads what the collector says until the connection ends.
func (s *Sender) listen(conn *Conn) error {
	for {
		f, err := conn.Next()
		if err != nil {
			return err
		}
		switch f.Type {
		case TypeHave:
			var node int
			var h tracefile.Have
			if node, h, err = ParseHave(f.Body); err == nil {
				err = s.setHave(node, h)
			}
		case TypeAck:
			var n uint64
			if n, err = ParseNumber(f.Body); err == nil {
				err = s.setAck(n)
			}
		default:
			err = refused(f, "sends")
		}
		if err != nil {
			return err
		}
	}
}

// speak sends until the connection ends, and waits for listen.
func (s *Sender) speak(conn *Conn, every time.Duration, heard chan error) error {
	ping := time.NewTicker(every)
	defer ping.Stop()
	var b []byte
	for {
		if b = s.next(b[:0]); len(b) == 0 {
			if s.isEnded() {
				conn.Cut()
				return <-heard
			}
			select {
			case err := <-heard:
				return err
			case <-s.ready:
			case <-ping.C:
				if s.lasting() {
					s.tell("")
				}
				b = AppendNumber(b, TypePing, uint64(s.Stats().Lag))
			}
		}
		select {
		case err := <-heard:
			return err
		default:
		}
		if _, err := conn.Write(b); err != nil {
			// What the collector said before it hung up tells more.
			last := time.AfterFunc(time.Second, conn.Cut)
			defer last.Stop()
			if said := <-heard; !errors.Is(said, ErrCut) {
				return said
			}
			return err
		}
		if cap(b) > ShortFrame {
			b = nil
		}
	}
}

// Done is closed when Run has returned.
func (s *Sender) Done() <-chan struct{} { return s.done }

// Drain says that the source gets no more, and waits until everything is at the collector.
// The error says what is not, when ctx ends or the collector refuses.
func (s *Sender) Drain(ctx context.Context) error {
	s.EndSource()
	select {
	case <-s.done:
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.result
	case <-ctx.Done():
	}
	st := s.Stats()
	why := ctx.Err()
	if st.Err != nil {
		why = st.Err
	}
	return fmt.Errorf("collector %s has %d events; at least %d are missing: %w",
		s.cfg.Target.Addr, st.Sent.Events, st.Unsent.Events, why)
}

// EndSource says that the source gets no more: Run returns when all is at the collector. Drain waits too.
func (s *Sender) EndSource() { s.drain.Do(func() { close(s.draining) }) }

// lasting reports whether the collector has said anything after its welcome.
func (s *Sender) lasting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heard
}

func (s *Sender) isEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

func (s *Sender) isDraining() bool { return closed(s.draining) }

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// pause waits until the source is to be looked at again.
func (s *Sender) pause(ctx context.Context, draining bool) error {
	if draining {
		return ctx.Err()
	}
	return s.sleep(ctx, s.cfg.Poll, false)
}

// sleep waits for some time, shorter if draining begins.
func (s *Sender) sleep(ctx context.Context, d time.Duration, draining bool) error {
	wake := s.draining
	if draining {
		wake = nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-wake:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// Stats tells how the sender is doing.
func (s *Sender) Stats() Stats {
	over := closed(s.done)
	s.mu.Lock()
	defer s.mu.Unlock()
	st := Stats{Connected: s.up, Connects: s.connects, Folder: s.folder, Sent: s.sent, Unsent: s.waiting,
		Lag: time.Since(s.caught), Err: s.lastErr, Done: s.ended, Over: over}
	if s.ended {
		st.Lag = 0
	}
	for node := range s.nodes {
		l := s.dropped(node)
		st.Dropped.Blocks += l.Blocks
		st.Dropped.Events += l.Events
	}
	return st
}

// down notes that there is no connection, and why.
func (s *Sender) down(err error) {
	s.mu.Lock()
	s.up, s.lastErr = false, err
	s.mu.Unlock()
}

// tell passes a line to Notify unless it was told last; "" after a line says that all is well again.
func (s *Sender) tell(line string) {
	s.mu.Lock()
	same := s.told == line
	s.told = line
	s.mu.Unlock()
	if same {
		return
	}
	if line == "" {
		line = fmt.Sprintf("collector %s: connected again", s.cfg.Target.Addr)
	}
	s.notify(line)
}

// notify passes a line to Notify.
func (s *Sender) notify(line string) {
	if s.cfg.Notify != nil {
		s.cfg.Notify(line)
	}
}
