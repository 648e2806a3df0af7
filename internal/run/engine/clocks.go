package engine

// The clocks of nodes in different processes. Each process asks node 0 several times in a row what time it is
// there; the answer that came back soonest counts (clock.Estimate). At the start and at the end nothing else
// runs, and the processes take turns, so that none waits while node 0 answers another. While the program runs
// they ask at different times.
//
// The goroutines that handle messages ask and answer, and read the clock: waking another goroutine would take
// longer than the message. The results are events of the run-time system's stream. The error includes what a
// clock may have drifted between the measurement and the event.

import (
	"cmp"
	"encoding/binary"
	"sync"
	"time"

	"github.com/whyslow/whyslow/internal/clock"
	"github.com/whyslow/whyslow/internal/run/transport"
)

// ClockSync says how the clocks of nodes in different processes are compared with node 0's.
type ClockSync struct {
	When ClockSyncTime
	// ClockSyncPeriodic compares the clocks every Precision / 2 Drift; 0: 10 us
	Precision time.Duration
	// how far two clocks drift apart at most, in seconds a second; 0: 20e-6, which is usual
	Drift float64
}

// ClockSyncTime says when clocks are compared.
type ClockSyncTime int

// Clock comparison settings.
const (
	ClockSyncPeriodic ClockSyncTime = iota // at the start, at the end and as often as the precision takes
	ClockSyncEnds                          // at the start and at the end
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
	c.precision = cmp.Or(max(0, p.cfg.Clock.Precision), usualPrecision)
	c.drift = cmp.Or(max(0, p.cfg.Clock.Drift), usualDrift)
}

// atStart compares the clock before the program starts.
func (c *clocks) atStart() (err error) {
	c.first, err = c.inTurn()
	return err
}

// inTurn compares the clock when the processes before this one have compared theirs.
func (c *clocks) inTurn() (m measured, err error) {
	p := c.p
	if c.p.cfg.Clock.When == ClockSyncOff || p.node == 0 {
		return m, nil
	}
	if p.node > 1 {
		if _, err := receive(p, p.turn); err != nil {
			return m, err
		}
	}
	if p.eng.ses.ClockSync.On() {
		result := make(chan measured, 1)
		c.ask(max(fewestPings, min(pingsAlone, pingsOfAll/p.nodes)), result)
		if m, err = receive(p, result); err != nil {
			return m, err
		}
	}
	if p.node+1 < p.nodes {
		p.tell(p.node+1, msgTurn, nil)
	}
	return m, nil
}

// receive waits for what comes on a channel, or an interrupt.
func receive[T any](p *process, from chan T) (v T, err error) {
	select {
	case v = <-from:
	case <-p.ctx.Done():
		err = ErrInterrupted
	case <-p.interrupted:
		err = ErrInterrupted
	}
	return v, err
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
	k := packing(nil)
	count(k, &c.number)
	c.asked = clock.Now()
	c.p.tell(0, msgPing, k.b)
}

// pong answers a question that came at the time t.
func (p *process) pong(m *transport.Message, t int64) {
	p.tell(m.From, msgPong, binary.AppendVarint(m.Head[:len(m.Head):len(m.Head)], t))
}

// answered takes an answer that came at the time t.
func (c *clocks) answered(m *transport.Message, t int64) {
	d := unpacking(nil, m.Head)
	var number uint64
	var there int64
	count(d, &number)
	signed(d, &there)
	c.mu.Lock()
	defer c.mu.Unlock()
	if number != c.number {
		return
	}
	c.samples = append(c.samples, clock.Sample{Asked: c.asked, There: there, Answered: t})
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

// after takes into account what was known before: while the network is busy, an old comparison may tell more
// than a new one. Where they contradict each other, the clocks drift faster than assumed, and the new one
// counts. In any case the offset changes more slowly than time passes.
func (m measured) after(last measured, drift float64) measured {
	known := last.at(m.time, drift)
	low := max(m.offset-m.bound, known.offset-known.bound)
	high := min(m.offset+m.bound, known.offset+known.bound)
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
		wait := time.NewTimer(period * time.Duration(p.node) / time.Duration(p.nodes))
		defer wait.Stop()
		for {
			select {
			case <-wait.C:
				c.ask(fewestPings, nil)
				wait.Reset(period)
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
