package engine

// When a run of many processes is over.
//
// A process is passive while engine.busy is 0: no worker runs, no message is being handled, no CF is held
// back. Only a message makes it active again, and it sends only while it is active. The run is over when all
// processes are passive and no message is under way, which nobody sees directly. So each process counts the
// program's messages that it sent (before they go out) and received (before it handles them), and node 0 asks
// twice (Mattern's four counters):
//
//  1. A passive process reports both counts to node 0 whenever they have changed since its last report. Both
//     belong to one passive moment (counts).
//  2. When all have reported, and the sums of sent and received agree, node 0 asks everybody for new counts.
//     If none has changed, the run is over; otherwise those that were wrong will report again.
//
// Why this is right: let t be the moment when node 0 begins to ask. All reports are from before t, all
// answers from after t, and counts only grow. Let R and S be the reported sums of received and sent messages,
// R = S. At t at least R were received, at most S were sent (the sum of the answers), and nobody receives
// what was not sent. So exactly R = S were sent and received at t: none was under way. And no process
// received any since its report, when it was passive: all were passive at t, and nothing can happen any more.
//
// Why it ends: once nothing happens any more, every process reports its last counts. Then the sums agree,
// node 0 asks, and nothing has changed.
//
// Where a gate keeps CFs (gate_many.go), it may make a process active again, too: by letting one go. Each
// process counts these acts, and reports them with its counts: then R = S at t as before, and no process has
// let a CF go since its report. But its gate may do so at any moment after t. So node 0 does not end the run;
// it tells its gate, which asks the others.
//
// A process that reported a moment ago waits for a pause before it does so again: otherwise those that are
// passive only for moments would report all the time. The waits grow with the number of processes, since one
// of them reads all reports.

import (
	"sync"
	"time"

	"github.com/whyslow/whyslow/internal/run/transport"
)

// counts are the messages that a process has sent and received, and how often its gate has let CFs go.
type counts struct{ sent, received, acts int64 }

// quiet is what a process knows of who is passive. Node 0 keeps all but pause.
type quiet struct {
	rested chan struct{} // the process has become passive
	often  time.Duration // reports that follow each other sooner wait for a pause
	pause  time.Duration

	mu      sync.Mutex
	reports []report // by node
	asked   int      // answers that are still to come
	changed bool     // something is not as it was when node 0 began to ask
}

type report struct {
	counts
	known bool
}

// rests are the shortest times, and what they are for each process where there are many; a variable for
// tests.
var rests = struct{ often, oftenEach, pause, pauseEach time.Duration }{
	5 * time.Millisecond, 100 * time.Microsecond, 200 * time.Microsecond, 20 * time.Microsecond,
}

func (q *quiet) init(nodes int) {
	q.rested = make(chan struct{}, 1)
	q.often = max(rests.often, time.Duration(nodes)*rests.oftenEach)
	q.pause = max(rests.pause, time.Duration(nodes)*rests.pauseEach)
	q.reports = make([]report, nodes)
}

// rest says that the process has become passive.
func (p *process) rest() {
	select {
	case p.quiet.rested <- struct{}{}:
	default:
	}
}

// counts reads the counts. passive tells that they belong to one moment at which the process was passive:
// when busy was read. A message received between the two readings of received would make them differ; without
// one the process was passive from that moment until sent was read.
func (p *process) counts() (c counts, passive bool) {
	e := p.eng
	c.received, c.acts = p.received.Load(), e.acts.Load()
	passive = e.busy.Load() == 0
	c.sent = e.sent.Load()
	return c, passive && p.received.Load() == c.received && e.acts.Load() == c.acts && !e.stopping.Load()
}

// watch reports to node 0 until the run ends.
func (p *process) watch() {
	var told report
	var last time.Time
	for {
		select {
		case <-p.quiet.rested:
		case <-p.eng.done:
			return
		}
		before := p.received.Load()
		if time.Since(last) < p.quiet.often {
			select {
			case <-time.After(p.quiet.pause):
			case <-p.eng.done:
				return
			}
		}
		// If it was active in between it will say again that it rests, or has.
		c, passive := p.counts()
		if !passive || c.received != before || told == (report{c, true}) {
			continue
		}
		told, last = report{c, true}, time.Now()
		if p.node == 0 {
			p.reported(0, c)
		} else {
			p.tellCounts(msgRests, c)
		}
	}
}

func (k *codec) counts(c *counts) {
	count(k, &c.sent)
	count(k, &c.received)
	count(k, &c.acts)
}

// tellCounts tells node 0 the counts of this process.
func (p *process) tellCounts(kind uint8, c counts) {
	k := packing(nil)
	k.counts(&c)
	p.tell(0, kind, k.b)
}

// reported notes, at node 0, the report of a node.
func (p *process) reported(node int, c counts) {
	q := &p.quiet
	q.mu.Lock()
	defer q.mu.Unlock()
	q.reports[node] = report{c, true}
	q.changed = true
	if q.asked == 0 {
		p.ask()
	}
}

// answered notes, at node 0, the counts that a node has when asked.
func (p *process) answered(node int, c counts) {
	q := &p.quiet
	q.mu.Lock()
	defer q.mu.Unlock()
	p.compare(node, c)
	if q.asked--; q.asked == 0 {
		p.decide()
	}
}

func (p *process) compare(node int, c counts) {
	if r := &p.quiet.reports[node]; r.counts != c {
		r.known, p.quiet.changed = false, true // its report is still to come
	}
}

// ask asks all nodes for their counts if, by their reports, the run may be over. The lock is held.
func (p *process) ask() {
	q := &p.quiet
	var sum counts
	for i := range q.reports {
		r := &q.reports[i]
		if !r.known {
			return
		}
		sum.sent += r.sent
		sum.received += r.received
	}
	if sum.sent != sum.received {
		return
	}
	q.changed, q.asked = false, len(q.reports)-1
	for to := 1; to < len(q.reports); to++ {
		p.tell(to, msgAsks, nil)
	}
	if q.asked == 0 {
		p.decide()
	}
}

// decide ends the run, or tells its gate that nothing moves, if all have answered what they had reported,
// node 0 too. The lock is held.
func (p *process) decide() {
	c, _ := p.counts()
	p.compare(0, c)
	if p.quiet.changed {
		p.ask()
		return
	}
	if g, ok := p.eng.cfg.Gate.(ManyGate); ok {
		acts := make([]int64, len(p.quiet.reports))
		for i, r := range p.quiet.reports {
			acts[i] = r.acts
		}
		g.AllQuiet(acts)
		return
	}
	p.eng.finish(nil)
}

// tell sends a message about the run itself.
func (p *process) tell(to int, kind uint8, head []byte) {
	p.eng.net.Send(&transport.Message{Kind: kind, From: p.node, To: to, Head: head})
}
