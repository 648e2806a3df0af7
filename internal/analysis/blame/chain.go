package blame

import (
	"slices"
	"sort"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// What was the producer doing that a worker waited for?
//
// A worker starved from s to e because the CF it ran next, or the run, needed what P made. P may have been
// running all the time, waiting for another CF Q, or ready in a queue. All of S is given to what was really
// going on, in integer nanoseconds, without remainder: [s, e] is walked backwards along P's life with one
// position, pos, which only decreases from e to s.
//
//   - While P was executed, the part of [s, pos] after P's start is P's own: running, waiting for a lock or
//     the processor, as the pieces of P's worker say. A structured CF that posted the DF was running.
//   - slou.Divide divides what lies before P's start. What it calls O and L is P's. During its O.dispatch P
//     was ready: queued while P's worker executed another atomic CF, by the name of that CF, else dispatch.
//   - What it calls S, P spent waiting for the last producer Q of its inputs: the walk goes on along Q's
//     life.
//
// Each step along the chain of producers goes down a tree of code fragments. Where Q's code fragment is
// already on the way down, the walk goes back up to it: a chain of a thousand CFs of two code fragments is a
// tree of two nodes. Depth bounds the number of different code fragments behind one another.
//
// Each step costs a few look-ups. Where many workers starve for the same long chain there could be as many
// steps as workers times executions, so each worker has a budget of steps in proportion to the trace. Beyond
// depth and budget the activity is "further".
//
// Only the process that has an execution's node knows all about it. The walk goes on there: a traveller takes
// the rest of the wait along, with the way down the tree.

// The budget of steps of one worker: some, so many for each of its pieces, and so many for each execution of
// the run, shared between the workers. Each wait has some steps, and a share of these by its length, so that
// the order in which waits are followed does not matter.
const (
	waitSteps  = 256
	someSteps  = 1 << 16
	pieceSteps = 4
	execSteps  = 8
)

// maxStalls ends a walk that goes round in circles, as in damaged traces.
const maxStalls = 64

// chaser walks along chains of producers.
type chaser struct {
	*blamer
	tree  *tree
	parts []slou.Piece
	waits int32 // followed so far
	away  [][]traveller
	// near is, by number of a worker, which of its pieces was looked at last: the next is mostly close to it.
	near []uint32
	pursuit
}

// pursuit is what is left of a wait that is being followed.
type pursuit struct {
	// Hole are the times of S that have not been given away, in order; between them are W and losses. From is
	// where the first one begins.
	Hole   []model.Interval
	From   int64
	Pos    int64 // from here on all has been given away
	Steps  int   // that are left
	Stalls int
	at     int32   // place in the tree
	been   []int32 // places in the tree where it has been counted
}

func newChaser(b *blamer, near []uint32) *chaser {
	return &chaser{blamer: b, tree: newTree(b.m), away: make([][]traveller, b.g.Size()), near: near}
}

// budget is how many steps a worker's waits have by the nanosecond.
func (b *blamer) budget(pieces []piece) float64 {
	var ns int64
	for i := range pieces {
		if pieces[i].Factor == slou.FactorS {
			ns += pieces[i].To - pieces[i].From
		}
	}
	steps := someSteps + pieceSteps*len(pieces) + int(execSteps*b.executions/b.many)
	return float64(steps) / float64(max(ns, 1))
}

// follow gives the time of the pieces of S in a wait, all with the same producer and consumer, to what the
// producer was doing. start is when the worker started the CF it starved for; the end of the run in the tail.
// budget is of the worker.
func (c *chaser) follow(wait []piece, start int64, budget float64) {
	p := &wait[0]
	until, ns := wait[len(wait)-1].To, int64(0)
	c.pursuit = pursuit{Hole: c.Hole[:0], From: p.From, Pos: until, been: c.been[:0]}
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

// give gives what of the wait lies between a time and Pos to an activity, and goes back to that time.
func (c *chaser) give(what Activity, with, from int64) {
	if from = max(from, c.From); from >= c.Pos {
		return
	}
	var ns int64
	for n := len(c.Hole); n > 0; n-- {
		s := &c.Hole[n-1]
		if s.To <= from {
			break
		}
		ns += max(min(s.To, c.Pos)-max(s.From, from), 0)
		if s.From < from {
			break
		}
		c.Hole = c.Hole[:n-1]
	}
	c.tree.take(c.pursuit.at, what, with, ns)
	c.Pos = from
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
		pos, code := c.Pos, int32(-1)
		if cf != 0 {
			code = int32(m.CodeOf(cf))
		}
		var ok bool
		c.Steps--
		if c.pursuit.at, ok = c.tree.enter(c.pursuit.at, code, int32(c.opt.Depth)); !ok || c.Steps < 0 ||
			c.Stalls > maxStalls {
			c.give(Further, 0, c.From)
			return
		}
		if n := &c.tree.Nodes[c.pursuit.at]; n.mark != c.waits {
			n.mark = c.waits
			n.Count++
			c.been = append(c.been, c.pursuit.at)
		}
		if e < 0 {
			c.give(Unknown, 0, c.From)
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
	m := c.m
	start := m.ExecStart[e]
	c.give(Ended, 0, m.EndOf(e))
	id, isWorker := m.WorkerIDOf(e)
	if isWorker && m.Atomic(cf) {
		c.executed(id, start)
	} else {
		c.give(Running, 0, start)
	}
	if !isWorker { // in damaged traces only
		c.give(Unknown, 0, c.From)
	}
	if c.Pos <= c.From {
		return 0, source
	}
	c.parts = slou.Divide(c.look, slou.Gap{Node: int32(id.Node), CF: cf, Execution: e, A: c.From, D: start},
		c.opt.Rule, c.parts[:0])
	for i := range c.parts {
		switch q := &c.parts[i]; {
		case q.From >= c.Pos:
		case q.Factor == slou.FactorS:
			next, source = q.Producer, c.look.Made(q.DF, start) // all before the end of it is what that did
		case q.Factor == slou.FactorL:
			c.give(Link, int64(q.Link.From)<<32|int64(q.Link.To), q.From)
		case q.Part == slou.PartDispatch:
			c.queued(id, q.From)
		default:
			c.give(activityOf[q.Part], 0, q.From)
		}
	}
	return next, source
}

// executed gives the time of an execution, from a time to Pos, to what its worker did.
func (c *chaser) executed(id model.WorkerID, from int64) {
	c.each(id, from, func(p *piece) (Activity, int64) {
		switch {
		case p.Factor.Info().CutOut:
			return Waiting, c.tree.name(c.waiting(p))
		case p.Part.Info().Inside:
			return activityOf[p.Part], 0
		}
		return Running, 0
	})
}

// queued gives the time that a CF was ready to what its worker executed meanwhile.
func (c *chaser) queued(id model.WorkerID, from int64) {
	c.each(id, from, func(p *piece) (Activity, int64) {
		if p.Factor == slou.FactorU || p.Part.Info().Inside || p.Factor.Info().CutOut && p.Consumer != 0 {
			return Queued, int64(c.m.CodeOf(p.Consumer))
		}
		return activityOf[slou.PartDispatch], 0
	})
}

// each gives the pieces of a worker to activities, latest first. What there is no piece of is lost.
func (c *chaser) each(id model.WorkerID, from int64, what func(p *piece) (Activity, int64)) {
	if from = max(from, c.From); from >= c.Pos {
		return
	}
	var list []piece
	i := -1
	if id.Node < len(c.first) && c.first[id.Node]+id.Worker < len(c.pieces) {
		k := c.first[id.Node] + id.Worker
		list = c.pieces[k]
		i = seek(list, int(c.near[k]), c.Pos)
		c.near[k] = uint32(max(i, 0))
	}
	for ; c.Pos > from && i >= 0; i-- {
		p := &list[i]
		c.give(Lost, 0, max(p.To, from))
		activity, with := Lost, int64(0)
		if p.Factor != slou.FactorLoss {
			activity, with = what(p)
		}
		c.give(activity, with, max(p.From, from))
	}
	c.give(Lost, 0, from)
}

// seek gives the last piece that begins before a time, -1 for none. It widens the search from a piece near
// it.
func seek(list []piece, near int, t int64) int {
	from, to := near, near // the piece is in [from-1, to)
	for step := 1; from > 0 && list[from-1].From >= t; step *= 2 {
		from = max(from-step, 0)
	}
	for step := 1; to < len(list) && list[to].From < t; step *= 2 {
		to = min(to+step, len(list))
	}
	return from + sort.Search(to-from, func(i int) bool { return list[from+i].From >= t }) - 1
}

// Waits whose chains of producers lead from process to process. All processes exchange the waits that left
// them and go on with those that came, until none is under way.

// traveller is a wait on its way to the process that knows more of a CF.
type traveller struct {
	Walk   pursuit
	CF     trace.CF
	Site   uint32
	Until  int64   // it had started by then
	Come   int     // how many processes have been asked for it
	Codes  []int32 // the places in the tree where the wait was counted, by code fragment
	Behind []int32 // and 1 + the one each is below; 0 none
	At     int32   // likewise: where it is
}

// leave sends the rest of the present wait to another process.
func (c *chaser) leave(to int, cf model.CF, until int64, come int) {
	t := traveller{Walk: c.pursuit, CF: c.m.CFID(cf), Site: c.m.SiteOf[cf], Until: until, Come: come}
	t.Walk.Hole = append([]model.Interval(nil), c.Hole...)
	place := func(n int32) int32 {
		for i, b := range c.been {
			if b == n {
				return int32(i) + 1
			}
		}
		return 0
	}
	for _, n := range c.been {
		t.Codes, t.Behind = append(t.Codes, c.tree.Nodes[n].Code),
			append(t.Behind, place(c.tree.Nodes[n].Parent))
	}
	t.At = place(c.pursuit.at)
	c.away[to] = append(c.away[to], t)
}

// come goes on with a wait from elsewhere.
func (c *chaser) come(t *traveller) {
	c.pursuit = t.Walk
	c.waits++
	places := []int32{0}
	for i, code := range t.Codes {
		n := c.tree.child(places[t.Behind[i]], code)
		c.tree.Nodes[n].mark = c.waits
		places = append(places, n)
	}
	c.pursuit.at, c.been = places[t.At], places[1:]
	if cf := c.m.FindCF(t.CF); cf != 0 {
		c.begin(cf, t.Until, t.Come+1)
	} else {
		c.follows(c.m.Learn(t.CF, t.Site), -1, t.Until)
	}
}

// departures are what one process sends another.
type departures struct {
	Under int // way, to all processes
	List  []traveller
}

// travel lets all waits go to where their chains lead; from knows of waits that have left.
func (b *blamer) travel(from []*chaser) (*chaser, error) {
	guest := newChaser(b, make([]uint32, len(b.pieces)))
	for _, c := range from {
		for k, list := range c.away {
			guest.away[k] = append(guest.away[k], list...)
		}
		c.away = nil
	}
	for {
		under := len(slices.Concat(guest.away...))
		out := make([]departures, b.g.Size())
		for k, list := range guest.away {
			out[k] = departures{under, list}
			guest.away[k] = nil
		}
		came, err := procs.Swap(b.g, out)
		if err != nil {
			return nil, err
		}
		under = 0
		for k := range came {
			under += came[k].Under
		}
		if under == 0 {
			return guest, nil
		}
		for k := range came {
			for i := range came[k].List {
				guest.come(&came[k].List[i])
			}
		}
	}
}
