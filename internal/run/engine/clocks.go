package engine

// The clocks of nodes in different processes. Every process but that of node 0 asks node 0 what time it is
// there, several times in a row; the answer that came back soonest counts (clock.Estimate). At the start and
// at the end nothing else goes on, and the processes take turns, so that none waits because node 0 is
// answering another. In between they ask at different times.
//
// Questions are answered by node 0's message goroutine at once, and asked by the asker's, which also reads
// the time when the answer comes: no other goroutine has to be woken, which would take longer than the
// message.
//
// The results are events of the run-time system's stream: the first one at the start of the program, the last
// one after its end. What a clock may have drifted between the measurement and the event is added to the
// error.

import (
	"encoding/binary"
	"sync"
	"time"

	"github.com/whyslow/whyslow/internal/clock"
	"github.com/whyslow/whyslow/internal/run/transport"
)

// ClockSync says how the clocks of nodes in different processes are compared with node 0's.
type ClockSync struct {
	When ClockSyncTime
	// wanted, for ClockSyncPeriodic: the clocks are compared every Precision / 2 Drift; 0: 10 us
	Precision time.Duration
	// how far two clocks drift apart at most, in seconds a second; 0: 20e-6, which is usual
	Drift float64
}

// ClockSyncTime says when clocks are compared.
type ClockSyncTime int

// Clock comparison settings.
const (
	// at the start, at the end and as often as the wanted precision takes
	ClockSyncPeriodic ClockSyncTime = iota
	ClockSyncEnds                   // at the start and at the end
	ClockSyncOff
)

const (
	usualPrecision = 10 * time.Microsecond
	usualDrift     = 20e-6
	shortestPeriod = time.Millisecond
	// while nothing else goes on: the more the better, and they take a millisecond or less
	pingsAlone   = 50
	fewestPings  = 10 // where many processes take turns, and while the program runs
	pingsOfAll   = 5000
	largestDrift = 100e-6 // of clocks that are not broken
)

// clocks compares the clock of a process with node 0's.
type clocks struct {
	p         *process
	precision time.Duration
	drift     float64
	first     measured
	last      measured // the last event; belongs to who owns the run-time system's stream
	quit      chan struct{}

	mu      sync.Mutex
	number  uint64 // of the question that is out; answers to other ones come too late
	asked   int64
	asking  bool
	left    int // questions still to ask
	samples []clock.Sample
	result  chan measured // nil: it becomes an event at once
}

// measured is the outcome of a comparison.
type measured struct {
	time, offset, bound int64 // at that time of this clock it is offset behind node 0's, give or take bound
	ok                  bool
}

func (c *clocks) init(p *process) {
	c.p, c.quit = p, make(chan struct{})
	c.precision, c.drift = p.cfg.Clock.Precision, p.cfg.Clock.Drift
	if c.precision <= 0 {
		c.precision = usualPrecision
	}
	if c.drift <= 0 {
		c.drift = usualDrift
	}
}

// compared tells whether processes take turns in comparing their clocks.
func (c *clocks) compared() bool { return c.p.cfg.Clock.When != ClockSyncOff && c.p.nodes > 1 }

// atStart compares the clock before the program starts.
func (c *clocks) atStart() (err error) {
	c.first, err = c.inTurn()
	return err
}

// inTurn compares the clock when the processes before this one have compared theirs.
func (c *clocks) inTurn() (m measured, err error) {
	p := c.p
	if !c.compared() || p.node == 0 {
		return m, nil
	}
	if p.node > 1 {
		select {
		case <-p.turn:
		case <-p.ctx.Done():
			return m, ErrInterrupted
		case <-p.interrupted:
			return m, ErrInterrupted
		}
	}
	if p.eng.ses.ClockSync.On() {
		result := make(chan measured, 1)
		c.ask(max(fewestPings, min(pingsAlone, pingsOfAll/p.nodes)), result)
		select {
		case m = <-result:
		case <-p.ctx.Done():
			return m, ErrInterrupted
		case <-p.interrupted:
			return m, ErrInterrupted
		}
	}
	if p.node+1 < p.nodes {
		p.tell(p.node+1, msgTurn, nil)
	}
	return m, nil
}

// ask begins a comparison with n questions. One while the program runs waits until the one before it has
// ended; the last one does not.
func (c *clocks) ask(n int, result chan measured) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if result == nil && c.asking {
		return
	}
	c.asking = true
	c.left, c.samples, c.result = n, c.samples[:0], result
	c.next()
}

// next asks the next question. The lock is held.
func (c *clocks) next() {
	c.number++
	c.left--
	head := binary.AppendUvarint(nil, c.number)
	c.asked = clock.Now()
	c.p.tell(0, msgPing, head)
}

// pong answers a question that came at the time t.
func (p *process) pong(m *transport.Message, t int64) {
	p.tell(m.From, msgPong, binary.AppendVarint(m.Head[:len(m.Head):len(m.Head)], t))
}

// answered takes an answer that came at the time t.
func (c *clocks) answered(m *transport.Message, t int64) {
	d := &decoder{m.Head}
	c.mu.Lock()
	defer c.mu.Unlock()
	if d.uint() != c.number {
		return
	}
	c.samples = append(c.samples, clock.Sample{Asked: c.asked, There: d.int(), Answered: t})
	if c.left > 0 {
		c.next()
		return
	}
	c.asking = false
	var r measured
	r.time, r.offset, r.bound, r.ok = clock.Estimate(c.samples)
	if c.result != nil {
		c.result <- r
		return
	}
	p := c.p
	p.deafMu.Lock()
	defer p.deafMu.Unlock()
	if !p.deaf {
		c.emit(r, clock.Now())
	}
}

// emit records the outcome of a comparison as an event at the time t. The caller owns the run-time system's
// stream.
func (c *clocks) emit(m measured, t int64) {
	if !m.ok {
		return
	}
	m = m.at(t, c.drift)
	if c.last.ok {
		m = m.after(c.last, max(c.drift, largestDrift))
	}
	c.last = m
	c.p.eng.ses.ClockSync.EmitAt(c.p.eng.here[0].rts.ps, t, m.offset, m.bound)
}

// at is what is known at another time of an offset that was measured: the bound grows with what clocks may
// drift.
func (m measured) at(t int64, drift float64) measured {
	m.bound += int64(drift * float64(max(t-m.time, m.time-t)))
	m.time = t
	return m
}

// after takes into account what was known before: where the network is busy, an old comparison tells more
// than a new one. Where they contradict each other the clocks are worse than thought, and the new one counts.
// In any case the offset must change more slowly than time goes by.
func (m measured) after(last measured, drift float64) measured {
	known := last.at(m.time, drift)
	low, high := max(m.offset-m.bound, known.offset-known.bound), min(m.offset+m.bound,
		known.offset+known.bound)
	if low <= high {
		m.offset, m.bound = low+(high-low)/2, (high-low+1)/2
	}
	most := (m.time - last.time) / 4
	change := m.offset - last.offset
	excess := change - max(-most, min(most, change))
	m.offset -= excess
	m.bound += max(excess, -excess)
	return m
}

// goOn compares the clock from time to time while the program runs.
func (c *clocks) goOn() {
	p := c.p
	if p.cfg.Clock.When != ClockSyncPeriodic || p.node == 0 || !p.eng.ses.ClockSync.On() {
		return
	}
	period := max(shortestPeriod, time.Duration(float64(c.precision)/(2*c.drift)))
	go func() {
		select {
		case <-time.After(period * time.Duration(p.node) / time.Duration(p.nodes)):
		case <-c.quit:
			return
		}
		tick := time.NewTicker(period)
		defer tick.Stop()
		for {
			c.ask(fewestPings, nil)
			select {
			case <-tick.C:
			case <-c.quit:
				return
			}
		}
	}()
}

// stop ends the comparisons while the program runs. An answer may still come.
func (c *clocks) stop() { close(c.quit) }

// atEnd compares the clock when the program has ended and its end is recorded.
func (c *clocks) atEnd() error {
	m, err := c.inTurn()
	if err == nil && !c.p.eng.abandoned {
		c.emit(m, clock.Now())
	}
	return err
}
