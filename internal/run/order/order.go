// Package order decides in which order the CFs of a program go on: in the order that a trace recorded
// (Recorded), or in one chosen at random (Fuzz). Both are gates of the engine. Results notes what each
// execution got and made, so that two runs can be compared.
//
// # The recorded order
//
// A trace tells when each execution requested its inputs, and when each atomic one started and ended. Those
// are the steps of the order, sorted by time. A step is taken when all before it have been: so what ran at
// the same time may do so again, and what followed follows. An execution whose turn has not come is kept; the
// worker goes on. Executions are known by their statement, the iterations and calls they are in, and their
// number, which do not depend on who created what first.
//
// If nothing moves, the steps that are next do not come: the program no longer does what it did. They
// are passed over, and counted.
package order

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/internal/run/placement"
	"github.com/whyslow/whyslow/trace"
)

// ErrOther says that a trace was not recorded from the program as it is now.
var ErrOther = errors.New("it was recorded from another program")

// Kinds of steps.
const (
	requests = iota // sends the requests for its inputs
	starts
	ends
)

// step is something that happened in the recorded run.
type step struct {
	time   int64
	key    uint64
	kind   uint8
	worker uint16
	node   uint16
	site   uint32 // from 0
	mate   int32  // starts: the step that ends it, -1 for none
}

// Recorded is a gate that has CFs go on in the order of a trace.
type Recorded struct {
	Nodes, Workers int // that the trace has; Workers at each node
	// Places are where the CFs ran, for Config.Place; nil: there is one node
	Places  *placement.Bound
	prog    *luna.Program
	steps   []step
	at      [2]map[uint64][]int32 // requests and starts by key, in order
	taken   []bool
	next    int // the first step that was not taken
	waiting map[int32]*engine.Execution
	begun   map[trace.CF]int32 // the step that a CF is in
	count   Count
}

// Count says how well an order was kept.
type Count struct {
	Executions int    // of atomic CFs that the trace has
	Missing    int    // that did not come in their turn, or at all
	First      string // the statement of the first of those, and its place
	New        int    // executions of atomic CFs that the trace does not have
	Elsewhere  int    // executions on another node than recorded
}

// Read takes the order of a trace of a program. It fails with ErrOther if that has changed since.
func Read(r *trace.Reader, p *luna.Program) (*Recorded, error) {
	if err := sameProgram(r, p); err != nil {
		return nil, err
	}
	o := &Recorded{prog: p, waiting: map[int32]*engine.Execution{}, begun: map[trace.CF]int32{}}
	for _, n := range r.AllNodes() {
		o.Nodes = max(o.Nodes, n+1)
	}
	for _, n := range r.Run().Nodes {
		o.Workers = max(o.Workers, n.Workers)
	}
	if o.Workers == 0 {
		return nil, errors.New("its run.json is missing: it does not say how many workers there were")
	}
	facts := &facts{made: map[trace.CF]made{}, first: map[birth]trace.CF{}, paths: map[trace.CF]uint64{},
		prog: p, offsets: map[uint16]int64{}}
	if err := r.EachStream(1, func(c *trace.Cursor) error { return facts.read(c) }); err != nil {
		return nil, err
	}
	if len(facts.list) == 0 || len(facts.made) == 0 {
		return nil, errors.New("it has no CF: CFEvents.onCreated or CFEvents.onStarted was off")
	}
	o.arrange(facts)
	return o, nil
}

// sameProgram compares the statements of a trace with those of the program.
func sameProgram(r *trace.Reader, p *luna.Program) (err error) {
	seen := 0
	for _, n := range r.Nodes() {
		d := r.Defs(n)
		d.EachSite(func(s trace.SiteDef) {
			seen++
			text := d.Name(s.Text)
			switch {
			case err != nil:
			case int(s.Site) > len(p.Stmts) || s.Site == 0:
				err = fmt.Errorf("%w: there %s:%d was %s", ErrOther, filepath.Base(d.Name(s.File)), s.Line, text)
			case p.Stmts[s.Site-1].Text != text:
				st := p.Stmts[s.Site-1]
				err = fmt.Errorf("%w: %s:%d is %s, there it was %s", ErrOther, filepath.Clean(st.Pos.File), st.Pos.Line,
					st.Text, text)
			}
		})
		if err == nil && seen < len(p.Stmts) {
			st := p.Stmts[seen]
			err = fmt.Errorf("%w, without %s at %s:%d", ErrOther, st.Text, filepath.Clean(st.Pos.File), st.Pos.Line)
		}
		if err != nil {
			return err
		}
		seen = 0
	}
	return nil
}

// facts are what is read of a trace.
type facts struct {
	prog  *luna.Program
	made  map[trace.CF]made
	first map[birth]trace.CF // the first CF that an execution created
	paths map[trace.CF]uint64
	list  []fact
	// offsets puts the times of nodes on one clock, as the first comparison says.
	offsets map[uint16]int64
}

// made is how a CF came to be.
type made struct {
	site uint32
	birth
}

// birth is an execution that creates CFs.
type birth struct {
	parent trace.CF
	number uint32
}

// fact is an event of an execution.
type fact struct {
	time   int64
	cf     trace.CF
	number uint32 // of the execution; of requests 0
	kind   uint8
	node   uint16
	worker uint16
}

// read reads a stream.
func (f *facts) read(c *trace.Cursor) error {
	var b trace.Batch
	for c.Next(&b) {
		for i, k := range b.Kind {
			var x fact
			args := b.Args(i)
			switch k {
			case trace.KindCFCreated:
				cf, m := trace.CF(args[0]), made{uint32(args[1]) - 1, birth{trace.CF(args[2]), uint32(args[3])}}
				f.made[cf] = m
				if first, ok := f.first[m.birth]; !ok || cf < first {
					f.first[m.birth] = cf
				}
				continue
			case trace.KindClockSync:
				if _, known := f.offsets[uint16(c.Node)]; !known {
					f.offsets[uint16(c.Node)] = int64(args[0])
				}
				continue
			case trace.KindDFRequested:
				x = fact{cf: trace.CF(args[1]), kind: requests}
			case trace.KindCFStarted:
				x = fact{cf: trace.CF(args[0]), number: uint32(args[1]), kind: starts}
			case trace.KindCFFinished:
				x = fact{cf: trace.CF(args[0]), number: uint32(args[1]), kind: ends}
			default:
				continue
			}
			x.time, x.node, x.worker = b.Time[i], uint16(c.Node), uint16(c.Stream)
			f.list = append(f.list, x)
		}
	}
	return nil
}

// path is that of a CF, as the engine has it.
func (f *facts) path(cf trace.CF) uint64 {
	if cf == 0 {
		return placement.Start
	}
	if key, ok := f.paths[cf]; ok {
		return key
	}
	m := f.made[cf]
	key := f.path(m.parent)
	if up, ok := f.made[m.parent]; ok && int(up.site) < len(f.prog.Stmts) {
		switch st := f.prog.Stmts[up.site]; st.Kind {
		case luna.SubCall:
			key = placement.Add(key, placement.CallNumber(st))
		case luna.ForLoop:
			key = placement.Add(key, int32((cf-f.first[m.birth])/trace.CF(len(st.Body.Stmts))))
		case luna.WhileLoop:
			key = placement.Add(key, int32(m.number-1))
		}
	}
	f.paths[cf] = key
	return key
}

// life is what is known of a CF while the facts are gone through.
type life struct {
	started  uint32
	requests int   // since the last start
	step     int32 // of the last start
}

// arrange makes steps of the facts, in the order of their times.
func (o *Recorded) arrange(f *facts) {
	for i := range f.list {
		f.list[i].time += f.offsets[f.list[i].node]
	}
	slices.SortStableFunc(f.list, func(a, b fact) int { return cmp.Compare(a.time, b.time) })
	o.at = [2]map[uint64][]int32{{}, {}}
	if o.Nodes > 1 {
		o.Places = &placement.Bound{CFs: make([]placement.Table, len(o.prog.Stmts)),
			DFs: make([]placement.Table, len(o.prog.Decls))}
	}
	lives := map[trace.CF]*life{}
	for i := range f.list {
		x := &f.list[i]
		m, ok := f.made[x.cf]
		if !ok || int(m.site) >= len(o.prog.Stmts) {
			continue
		}
		st, l := o.prog.Stmts[m.site], lives[x.cf]
		if l == nil {
			l = &life{step: -1}
			lives[x.cf] = l
		}
		s := step{time: x.time, kind: x.kind, node: x.node, worker: x.worker, site: m.site, mate: -1}
		at := int32(len(o.steps))
		switch x.kind {
		case requests:
			l.requests++
			if !engine.Requests(st) || l.requests != before(st, l.started == 0)+1 {
				continue
			}
			x.number = l.started + 1
		case starts:
			l.started, l.requests, l.step = x.number, 0, at
			o.place(st, f.path(x.cf), x)
			if st.Kind != luna.Atomic {
				continue
			}
			o.count.Executions++
		case ends:
			if st.Kind != luna.Atomic || l.step < 0 {
				continue
			}
			o.steps[l.step].mate = at
		}
		s.key = engine.ExecutionKey(st, f.path(x.cf), x.number)
		if s.kind != ends {
			o.at[s.kind][s.key] = append(o.at[s.kind][s.key], at)
		}
		o.steps = append(o.steps, s)
	}
	o.taken = make([]bool, len(o.steps))
}

// place notes where an execution ran.
func (o *Recorded) place(st *luna.Stmt, path uint64, x *fact) {
	if o.Places == nil || !placement.Movable(st) {
		return
	}
	if st.Kind == luna.WhileLoop {
		path = placement.Add(path, int32(x.number-1))
	}
	t := &o.Places.CFs[st.ID]
	if *t == nil {
		*t = placement.Table{}
	}
	(*t)[path] = x.node
}

// before is how many inputs an execution requests before those of AtRequest: for its locator, and for the
// first value of a loop's counter.
func before(st *luna.Stmt, first bool) (n int) {
	for _, w := range st.Home.Waves {
		n += len(w)
	}
	for _, w := range st.StartWaves {
		if first {
			n += len(w)
		}
	}
	return n
}

// Begin implements engine.Gate.
func (o *Recorded) Begin(*engine.Control) {}

// Pass implements engine.Gate.
func (o *Recorded) Pass(x *engine.Execution) (pass bool, others []*engine.Execution) {
	kind := starts
	if x.Point == engine.AtRequest {
		kind = requests
	} else if x.Stmt.Kind != luna.Atomic {
		return true, nil
	}
	list := o.at[kind][x.Key()]
	if len(list) == 0 {
		if kind == starts {
			o.count.New++
		}
		return true, nil
	}
	i := list[0]
	o.at[kind][x.Key()] = list[1:]
	o.begun[x.CF] = i
	if o.taken[i] {
		return true, nil // its turn was passed over
	}
	asked := x.Worker
	o.waiting[i] = x
	others = o.advance()
	if k := slices.Index(others, x); k >= 0 && (x.Worker == asked || x.Worker == engine.AnyWorker) {
		return true, slices.Delete(others, k, k+1)
	}
	return false, others
}

// Started implements engine.Gate.
func (o *Recorded) Started(*engine.Execution) {}

// Made implements engine.Gate.
func (o *Recorded) Made(*engine.Execution) {}

// Done implements engine.Gate.
func (o *Recorded) Done(x *engine.Execution) []*engine.Execution {
	i, ok := o.begun[x.CF]
	if !ok {
		return nil
	}
	delete(o.begun, x.CF)
	if x.Point == engine.AtStart {
		i = o.steps[i].mate
	}
	if i < 0 {
		return nil
	}
	o.taken[i] = true
	return o.advance()
}

// Quiet implements engine.Gate.
func (o *Recorded) Quiet() ([]*engine.Execution, bool) {
	if len(o.waiting) == 0 {
		return nil, false
	}
	first := int32(len(o.steps))
	for i := range o.waiting {
		first = min(first, i)
	}
	o.passOver(first)
	return o.advance(), false
}

// passOver takes the steps before one that do not come.
func (o *Recorded) passOver(until int32) {
	for i := o.next; i < int(until); i++ {
		if s := &o.steps[i]; !o.taken[i] {
			o.taken[i] = true
			if s.kind != starts {
				continue
			}
			if o.count.Missing++; o.count.First == "" {
				st := o.prog.Stmts[s.site]
				o.count.First = fmt.Sprintf("%s at %s:%d", st.Text, filepath.Clean(st.Pos.File), st.Pos.Line)
			}
		}
	}
}

// advance takes the steps whose turn has come, and gives the executions that go on.
func (o *Recorded) advance() (list []*engine.Execution) {
	for ; o.next < len(o.steps); o.next++ {
		i := int32(o.next)
		if o.taken[i] {
			continue
		}
		x := o.waiting[i]
		if x == nil {
			return list
		}
		delete(o.waiting, i)
		s := &o.steps[i]
		if x.Worker = int(s.worker); x.Node != int(s.node) {
			x.Worker = engine.AnyWorker
			o.count.Elsewhere++
		}
		list = append(list, x)
		if s.kind == requests {
			return list // until they are sent
		}
		o.taken[i] = true
	}
	return list
}

// Count says, after the run, how well the order was kept.
func (o *Recorded) Count() Count {
	o.passOver(int32(len(o.steps)))
	return o.count
}
