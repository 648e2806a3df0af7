package engine

// When a run of many processes is over.
//
// A process is passive while engine.busy is 0: no worker runs, no message is being handled, no CF is held
// back. It becomes active by receiving a message only, and sends only while it is active. The run is over
// when all processes are passive and no message is under way; nobody sees that directly. So each process
// counts the program's messages that it has sent (before they go out) and received (before it deals with
// them), and node 0 asks twice (Mattern's four counters):
//
//  1. A passive process reports both counts to node 0 whenever they have changed since its last report. It
//     reads them so that they belong to one passive moment (counts).
//  2. When all have reported, and as many messages were received as sent, node 0 asks everybody for new
//     counts. If none has changed, the run is over; else those who were wrong report again in time.
//
// Why that is right: let t be the moment at which node 0 begins to ask. All reports are of moments before t,
// all answers of moments after t, and counts only grow. Let R be the sum of the received and S that of the
// sent messages reported, R = S. At t, at least R were received; at most the sum of the answers were sent,
// which is S; and nobody receives what was not sent. So exactly R = S were sent and received at t: none was
// under way. And no process had received any since its report, when it was passive: so all were passive at t,
// and nothing can happen any more.
//
// Why it ends: when nothing happens any more, every process has reported its last counts or will, since it
// reports whenever it has become passive and its counts are others; then the sums agree, node 0 asks, and
// nothing has changed.
//
// A process that has reported not long ago does so again only when it has been passive for a pause: else
// those that are passive for moments would report all the time. Both times grow with the number of processes,
// since one has to read all reports.

import (
	"encoding/binary"
	"sync"
	"time"

	"github.com/whyslow/whyslow/internal/run/transport"
)

// counts are the messages that a process has sent and received.
type counts struct{ sent, received int64 }

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

// counts reads the counts. passive tells that they are those of one moment at which the process was passive:
// the moment at which busy was read. Had it received a message between the two readings of received, they
// would differ; had it not, it was passive from that moment until sent was read.
func (p *process) counts() (c counts, passive bool) {
	e := p.eng
	c.received = p.received.Load()
	passive = e.busy.Load() == 0
	c.sent = e.sent.Load()
	return c, passive && p.received.Load() == c.received && !e.stopping.Load()
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
			p.tell(0, msgRests, appendCounts(nil, c))
		}
	}
}

func appendCounts(b []byte, c counts) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, uint64(c.sent)), uint64(c.received))
}

func (d *decoder) counts() counts { return counts{int64(d.uint()), int64(d.uint())} }

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

// decide ends the run if all have answered what they had reported, node 0 too. The lock is held.
func (p *process) decide() {
	c, _ := p.counts()
	p.compare(0, c)
	if p.quiet.changed {
		p.ask()
		return
	}
	p.eng.finish(nil)
}

// tell sends a message about the run itself.
func (p *process) tell(to int, kind uint8, head []byte) {
	p.eng.net.Send(&transport.Message{Kind: kind, From: p.node, To: to, Head: head})
}
