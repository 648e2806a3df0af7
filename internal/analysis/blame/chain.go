package blame

import (
	"sort"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
)

// What was the one doing that was waited for?
//
// Problem. A worker starved from s to e because the CF it ran next, or the run, needed what P made. "S
// because of P" is true but not enough: P may have been running all the time, waiting for Q itself, or ready
// in a queue. All of S is given to what was really going on, in integer nanoseconds, without remainder.
//
// Plan. [s, e] is walked backwards along P's life with one position, pos, which only decreases from e to s.
// So what is given away tiles [s, e] by construction:
//
//   - While P was executed, the part of [s, pos] after P's start is P's own: running, preempted, waiting for
//     a lock, as the pieces of P's worker say. A structured CF that posted the DF was running.
//   - slou.Divide, the rule itself, divides what lies before P's start: why had P not been started since s?
//     What it calls O and L is P's: create, request, send, link, deliver, steal. During its O.dispatch P was
//     ready. That time is queued where P's worker executed another atomic CF, by the name of that CF, and
//     dispatch otherwise.
//   - What it calls S, P spent waiting for the last producer Q of its own inputs: the walk goes on along Q's
//     life.
//
// The tree. Each step along the chain of producers goes down a tree of code fragments, P's below the root,
// Q's below P's. Where Q's code fragment is already on the way down, the walk goes back up to it: a chain of
// a thousand CFs of two code fragments is a tree of two nodes. Depth bounds the number of different code
// fragments behind one another.
//
// Cost. Each step passes an execution that ended within [s, e], each later one earlier; it costs a few
// look-ups. Where many workers starve for the same long chain there could be as many steps as workers times
// executions, so each worker has a budget of steps in proportion to the trace. Beyond depth and budget the
// activity is "further".
//
// Several processes. Only the process that has an execution's node knows all about it, so the walk goes on
// there: a traveller takes the rest of the wait along, with the way down the tree (travel.go).

// The budget of steps of one worker: some, and so many for each of its pieces, and so many for each execution
// of the run, shared between the workers. Each wait has some steps, and its share of these by its length, so
// that it does not matter in which order waits are followed, and where.
const (
	waitSteps  = 256
	someSteps  = 1 << 16
	pieceSteps = 4
	execSteps  = 8
)

// maxStalls ends a walk that goes round in circles without getting earlier, which only a damaged trace makes
// it do.
const maxStalls = 64

// chaser walks along chains of producers.
type chaser struct {
	*blamer
	tree  *tree
	parts []slou.Piece
	at    [][]int // by node and worker: the piece that was looked at last
	waits int32   // followed so far
	away  [][]traveller
	walk
}

// walk is what is left of a wait.
type walk struct {
	// Hole are the times of S in the wait that have not been given away, in order; between them are W and
	// losses, which are no S. From is where the first one begins.
	Hole   []model.Interval
	From   int64
	Pos    int64 // from here on all has been given away
	Steps  int   // that are left
	Stalls int
	at     int32   // place in the tree
	been   []int32 // places in the tree where it has been counted
}

func newChaser(b *blamer) *chaser {
	c := &chaser{blamer: b, tree: newTree(b.m), at: make([][]int, len(b.pieces)),
		away: make([][]traveller, b.g.Size())}
	for n := range b.pieces {
		c.at[n] = make([]int, len(b.pieces[n]))
	}
	return c
}

// budget is how many steps a worker's waits have by the nanosecond.
func (b *blamer) budget(pieces []slou.Piece) float64 {
	var ns int64
	for i := range pieces {
		if pieces[i].Factor == slou.FactorS {
			ns += pieces[i].To - pieces[i].From
		}
	}
	steps := someSteps + pieceSteps*len(pieces) + int(execSteps*b.executions/int64(max(b.m.Workers(), 1)))
	return float64(steps) / float64(max(ns, 1))
}

// follow gives the time of the pieces of S in a wait, all with the same producer and consumer, to what the
// producer was doing. start is when the worker started the CF it starved for; the end of the run in the tail.
// budget is of the worker.
func (c *chaser) follow(wait []slou.Piece, start int64, budget float64) {
	p := &wait[0]
	until, ns := wait[len(wait)-1].To, int64(0)
	c.walk = walk{Hole: c.Hole[:0], From: p.From, Pos: until, been: c.been[:0]}
	for i := range wait {
		if q := &wait[i]; q.Factor == slou.FactorS {
			c.Hole = append(c.Hole, model.Interval{From: q.From, To: q.To})
			ns += q.To - q.From
		}
	}
	c.Steps = waitSteps + int(budget*float64(ns))
	c.waits++
	c.tree.Nodes[0].Count++
	if p.DF != 0 {
		if s := c.look.Made(p.DF, start); s.Known {
			until = s.End
		}
	}
	c.begin(p.Producer, until, 0)
}

// begin follows a wait from the execution of a producer that had started by a time; in the tail, what the run
// waited for may not have started yet. come is how many processes have been asked for it.
func (c *chaser) begin(cf model.CF, until int64, come int) {
	e, ok := c.m.ExecutionAt(cf, until)
	if !ok {
		e, ok = int(c.m.ExecOf[cf])-1, c.m.ExecOf[cf] != 0
	}
	to := c.m.Owner(c.m.CFID(cf).Node())
	if ok {
		to = c.m.ExecutedBy(e)
	}
	if cf != 0 && to != c.g.Rank() {
		c.leave(to, cf, until, come)
		return
	}
	if !ok {
		e = -1
	}
	c.follows(cf, e, until)
}

// give gives what of the wait lies in an interval to an activity. Intervals come latest first.
func (c *chaser) give(what Activity, with, from, to int64) {
	var ns int64
	for n := len(c.Hole); n > 0; n-- {
		s := &c.Hole[n-1]
		if s.To <= from {
			break
		}
		ns += max(min(s.To, to)-max(s.From, from), 0)
		if s.From < from {
			break
		}
		c.Hole = c.Hole[:n-1]
	}
	c.tree.take(c.walk.at, what, with, ns)
}

// follows follows the chain from an execution of the producer, the last that had started by a time; -1 if it
// is not known.
func (c *chaser) follows(cf model.CF, e int, until int64) {
	m, first, last := c.m, c.own[0], c.own[1]
	for c.From < c.Pos {
		if e >= 0 && (e < first || e >= last) {
			c.leave(m.ExecutedBy(e), cf, until, 0)
			return
		}
		from, pos := c.From, c.Pos
		code := int32(-1)
		if cf != 0 {
			code = int32(m.CodeOf(cf))
		}
		var ok bool
		c.Steps--
		if c.walk.at, ok = c.tree.enter(c.walk.at, code, int32(c.opt.Depth)); !ok || c.Steps < 0 ||
			c.Stalls > maxStalls {
			c.give(Further, 0, from, pos)
			return
		}
		if n := &c.tree.Nodes[c.walk.at]; n.mark != c.waits {
			n.mark = c.waits
			n.Count++
			c.been = append(c.been, c.walk.at)
		}
		if e < 0 {
			c.give(Unknown, 0, from, pos)
			return
		}
		next, source := c.back(cf, e)
		if c.Pos == pos {
			c.Stalls++
		}
		if cf, e = next, -1; source.Known && next != 0 {
			if p, ok := m.ExecutionAt(next, source.End); ok {
				e, until = p, source.End
			}
		}
	}
}

// back gives away what was an execution's own, and returns whom it waited for before, and when that was over.
func (c *chaser) back(cf model.CF, e int) (next model.CF, source slou.Source) {
	m, from := c.m, c.From
	start, end := m.ExecStart[e], m.ExecEnd[e]
	if end == model.None {
		end = m.End
	}
	if t := max(end, from); t < c.Pos {
		c.give(Ended, 0, t, c.Pos)
		c.Pos = t
	}
	id, isWorker := m.WorkerIDOf(e)
	if t := max(start, from); t < c.Pos {
		if isWorker && m.Atomic(cf) {
			c.executed(id, t, c.Pos)
		} else {
			c.give(Running, 0, t, c.Pos)
		}
		c.Pos = t
	}
	if c.Pos <= from {
		return 0, source
	}
	if !isWorker { // in damaged traces only
		c.give(Unknown, 0, from, c.Pos)
		c.Pos = from
		return 0, source
	}
	c.parts = slou.Divide(c.look, slou.Gap{Node: int32(id.Node), CF: cf, Execution: e, A: from, D: start},
		c.opt.DataInputsOnly, c.parts[:0])
	for i := range c.parts {
		q := &c.parts[i]
		if q.To = min(q.To, c.Pos); q.From >= q.To {
			continue
		}
		switch {
		case q.Factor == slou.FactorS:
			next, source = q.Producer, c.look.Made(q.DF, start)
			continue // all before the end of it is what that did
		case q.Factor == slou.FactorL:
			c.give(Link, int64(q.Link.From)<<32|int64(q.Link.To), q.From, q.To)
		case q.Part == slou.PartDispatch:
			c.queued(id, q.From, q.To)
		default:
			c.give(activityOf[q.Part], 0, q.From, q.To)
		}
		c.Pos = q.From
	}
	return next, source
}

// executed gives the time of an execution to what its worker did.
func (c *chaser) executed(id model.WorkerID, from, to int64) {
	c.each(id, from, to, func(p *slou.Piece, from, to int64) {
		switch {
		case p == nil || p.Factor == slou.FactorLoss:
			c.give(Lost, 0, from, to)
		case p.Factor == slou.FactorW:
			c.give(Waiting, c.tree.name(p.Name), from, to)
		case p.Part == slou.PartPreempt:
			c.give(Preempted, 0, from, to)
		default:
			c.give(Running, 0, from, to)
		}
	})
}

// queued gives the time that a CF was ready to what its worker executed meanwhile.
func (c *chaser) queued(id model.WorkerID, from, to int64) {
	c.each(id, from, to, func(p *slou.Piece, from, to int64) {
		switch {
		case p == nil || p.Factor == slou.FactorLoss:
			c.give(Lost, 0, from, to)
		case p.Factor == slou.FactorU || p.Part == slou.PartPreempt || p.Factor == slou.FactorW &&
			p.Consumer != 0:
			c.give(Queued, int64(c.m.CodeOf(p.Consumer)), from, to)
		default:
			c.give(Dispatch, 0, from, to)
		}
	})
}

// each gives the pieces of a worker within an interval, latest first, with the part of each in it; nil for
// what there is no piece of.
func (c *chaser) each(id model.WorkerID, from, to int64, f func(p *slou.Piece, from, to int64)) {
	var list []slou.Piece
	i := -1
	if id.Node < len(c.pieces) && id.Worker < len(c.pieces[id.Node]) {
		list = c.pieces[id.Node][id.Worker]
		near := &c.at[id.Node][id.Worker]
		i = seek(list, *near, to)
		*near = max(i, 0)
	}
	for ; to > from; i-- {
		if i < 0 {
			f(nil, from, to)
			return
		}
		p := &list[i]
		if t := max(p.To, from); t < to {
			f(nil, t, to)
			to = t
		}
		if t := max(p.From, from); t < to {
			f(p, t, to)
			to = t
		}
	}
}

// seek gives the last piece that starts before t, -1 for none, searching from a place near it: what is asked
// for is mostly near what was asked for before.
func seek(list []slou.Piece, near int, t int64) int {
	before := func(i int) bool { return i < 0 || i < len(list) && list[i].From < t }
	lo, hi, step := near, near+1, 1 // before(lo) is to hold and before(hi) not
	for !before(lo) {
		lo, hi, step = lo-step, lo, 2*step
	}
	for step = 1; before(hi); step *= 2 {
		lo, hi = hi, hi+step
	}
	lo = max(lo, -1)
	hi = min(hi, len(list))
	return lo + sort.Search(hi-lo-1, func(i int) bool { return !before(lo + 1 + i) })
}
