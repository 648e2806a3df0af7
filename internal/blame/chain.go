package blame

import (
	"sort"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/slou"
)

// What was the one doing that was waited for?
//
// Problem. A worker starved from s to e, because the CF it ran next, or the run, needed what P made. To say "S because of P"
// is true and not enough: P may have been running all the time, or waiting itself for Q, or have been ready in a queue. All
// of S is to be given to what was really going on, in integer nanoseconds, without remainder.
//
// Plan. [s, e] is walked backwards along P's life with one position, pos, that only decreases from e to s, so that what is
// given away tiles [s, e] by construction:
//
//   - While P was executed, [s, pos] or as much of it as lies after P's start is P's own: running, preempted, waiting for a
//     lock, as the pieces of P's worker say. A structured CF that posted the DF was running.
//   - What lies before P's start is divided by slou.Divide, the rule itself, asked why P had not been started since s. What
//     it calls O and L is P's: create, request, send, link, deliver, steal; its O.dispatch, the time P was ready, is
//     queued where P's worker executed another atomic CF meanwhile, by the name of that, and dispatch otherwise.
//   - What it calls S was waiting for the last producer Q of P's own inputs: the walk goes on along Q's life.
//
// The tree. Each step along the chain of producers goes down a tree of code fragments, P's below that of the root, Q's
// below P's; but where Q's code fragment is already on the way down, the walk goes back up to it: a chain of a thousand
// CFs of two code fragments is a tree of two nodes, which is what "collapsed by code fragment" means here. Depth bounds
// the number of different code fragments behind one another.
//
// Cost. Each step passes an execution that ended within [s, e], each later one earlier; it costs a few look-ups. Where many
// workers starve for the same long chain the steps could be as many as workers times executions, so each worker has a
// budget of steps in proportion to the trace. Depth and budget that are used up leave the activity "further".

// step budget of one worker: some, and so many for each of its pieces, and so many for each execution of the run, shared
// between the workers.
const (
	someSteps  = 1 << 16
	pieceSteps = 4
	execSteps  = 8
)

// maxStalls ends a walk that goes round in circles without getting earlier, which only a damaged trace makes it do.
const maxStalls = 64

// chaser walks along the chains of producers for one worker that starves.
type chaser struct {
	*blamer
	tree   *tree
	steps  []slou.Piece
	budget int
	at     [][]int // by node and worker: the piece that was looked at last
	waits  int32   // followed so far
	// hole are the pieces of the present wait: of S, and of W and losses between them, which are no S. Those after the first
	// left have been given away.
	hole []slou.Piece
	left int
}

func newChaser(b *blamer, worker int) *chaser {
	c := &chaser{blamer: b, tree: newTree(b.m), at: make([][]int, len(b.pieces))}
	for n := range b.pieces {
		c.at[n] = make([]int, len(b.pieces[n]))
	}
	c.budget = someSteps + pieceSteps*len(b.opt.Pieces[worker].Pieces) + execSteps*b.m.Executions()/len(b.opt.Pieces)
	return c
}

// follow gives the time of the pieces of S in hole, all with the same producer and consumer, to what the producer was doing.
// start is when the worker started the CF it starved for; the end of the run in the tail.
func (c *chaser) follow(hole []slou.Piece, start int64) {
	c.hole, c.left = hole, len(hole)
	c.waits++
	c.tree.nodes[0].count++
	p := &hole[0]
	until := hole[len(hole)-1].To
	if p.DF != 0 {
		if s := c.look.Made(p.DF, start); s.Known {
			until = s.End
		}
	}
	e, ok := c.m.ExecutionAt(p.Producer, until)
	if !ok && p.Producer != 0 {
		// In the tail, what the run waited for may not have started yet.
		e, ok = int(c.m.ExecOf[p.Producer])-1, c.m.ExecOf[p.Producer] != 0
	}
	c.walk(p.Producer, e, ok)
}

// give gives what of the wait lies in an interval to an activity. Intervals come latest first.
func (c *chaser) give(at int32, what Activity, with, from, to int64) {
	var ns int64
	for c.left > 0 {
		p := &c.hole[c.left-1]
		if p.To <= from {
			break
		}
		if p.Factor == slou.FactorS {
			ns += max(min(p.To, to)-max(p.From, from), 0)
		}
		if p.From < from {
			break
		}
		c.left--
	}
	c.tree.take(at, what, with, ns)
}

// walk follows the chain from an execution of the producer.
func (c *chaser) walk(cf model.CF, e int, known bool) {
	m := c.m
	from, pos := c.hole[0].From, c.hole[len(c.hole)-1].To
	var at int32
	for stalls := 0; from < pos; {
		before := pos
		code := int32(-1)
		if cf != 0 {
			code = int32(m.CodeOf(cf))
		}
		var ok bool
		c.budget--
		if at, ok = c.tree.enter(at, code, int32(c.opt.Depth)); !ok || c.budget < 0 || stalls > maxStalls {
			c.give(at, Further, 0, from, pos)
			return
		}
		if n := &c.tree.nodes[at]; n.mark != c.waits {
			n.mark = c.waits
			n.count++
		}
		if !known {
			c.give(at, Unknown, 0, from, pos)
			return
		}
		start, end := m.ExecStart[e], m.ExecEnd[e]
		if end == model.None {
			end = m.End
		}
		if t := max(end, from); t < pos {
			c.give(at, Ended, 0, t, pos)
			pos = t
		}
		id, isWorker := m.WorkerIDOf(e)
		if t := max(start, from); t < pos {
			if isWorker && m.Atomic(cf) {
				c.executed(at, id, t, pos)
			} else {
				c.give(at, Running, 0, t, pos)
			}
			pos = t
		}
		if pos <= from {
			return
		}
		node := int32(id.Node)
		if !isWorker {
			node = int32(m.CFID(cf).Node())
		}
		c.steps = slou.Divide(c.look, slou.Gap{Node: node, CF: cf, Execution: e, A: from, D: start}, c.opt.DataInputsOnly, c.steps[:0])
		next := model.CF(0)
		known = false
		for i := range c.steps {
			q := &c.steps[i]
			if q.To = min(q.To, pos); q.From >= q.To {
				continue
			}
			switch {
			case q.Factor == slou.FactorS:
				next = q.Producer
				if s := c.look.Made(q.DF, start); s.Known && next != 0 {
					e, known = m.ExecutionAt(next, s.End)
				}
				continue // pos stays at the end of it
			case q.Factor == slou.FactorL:
				c.give(at, Link, int64(q.Link.From)<<32|int64(q.Link.To), q.From, q.To)
			case q.Part == slou.PartDispatch && isWorker:
				c.queued(at, id, q.From, q.To)
			default:
				c.give(at, activityOf[q.Part], 0, q.From, q.To)
			}
			pos = q.From
		}
		cf = next
		if pos == before {
			stalls++
		}
	}
}

// executed gives the time of an execution to what its worker did.
func (c *chaser) executed(at int32, id model.WorkerID, from, to int64) {
	c.each(id, from, to, func(p *slou.Piece, from, to int64) {
		switch {
		case p == nil || p.Factor == slou.FactorLoss:
			c.give(at, Lost, 0, from, to)
		case p.Factor == slou.FactorW:
			c.give(at, Waiting, c.tree.name(p.Name), from, to)
		case p.Part == slou.PartPreempt:
			c.give(at, Preempted, 0, from, to)
		default:
			c.give(at, Running, 0, from, to)
		}
	})
}

// queued gives the time that a CF was ready to what its worker executed meanwhile.
func (c *chaser) queued(at int32, id model.WorkerID, from, to int64) {
	c.each(id, from, to, func(p *slou.Piece, from, to int64) {
		switch {
		case p == nil || p.Factor == slou.FactorLoss:
			c.give(at, Lost, 0, from, to)
		case p.Factor == slou.FactorU || p.Part == slou.PartPreempt || p.Factor == slou.FactorW && p.Consumer != 0:
			c.give(at, Queued, int64(c.m.CodeOf(p.Consumer)), from, to)
		default:
			c.give(at, Dispatch, 0, from, to)
		}
	})
}

// each gives the pieces of a worker within an interval, latest first, with the part of each in it; nil for what there is no
// piece of.
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

// seek gives the last piece that starts before t, -1 for none, searching from a place near it: what is asked for is mostly
// near what was asked for before.
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
