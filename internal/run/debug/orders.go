package debug

// What faces ask of a debugger is an order. In a run of one process it is obeyed here; in a run of many, the
// debugger of node 0 also has those of others obey it: see ranks.go. Orders and answers go as JSON then.

import (
	"errors"
	"fmt"
	"strings"

	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/internal/run/debug/gdb"
	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/trace"
)

// op is what is to be done.
type op string

const (
	opContinue op = "continue"
	opUntil    op = "until"  // Text
	opStep     op = "step"   // CF, Node, Worker
	opLetGo    op = "let go" // see Debugger.LetGo
	opLet      op = "let"    // CF
	opHold     op = "hold"   // Text
	opRelease  op = "release"
	opFirst    op = "first"
	opMove     op = "move"  // CF, or Text; Node
	opBreak    op = "break" // Text, N, Fleeting
	opClear    op = "clear" // N
	opStates   op = "states"
	opDFs      op = "dfs"    // Text: a name
	opValue    op = "value"  // likewise
	opSet      op = "set"    // Text, Value
	opInput    op = "input"  // CF, Text, Value
	opLook     op = "look"   // CF
	opEvaluate op = "eval"   // CF, Text
	opParent   op = "parent" // CF
	opGDB      op = "gdb"    // CF, Text: commands

	// These are between processes alone.
	opHalt  op = "halt"        // stop without a word; Text: a breakpoint that is there once and was reached
	opClock op = "clock"       // a CF of another process makes a step
	opEnded op = "ended first" // Text: a pattern of First, whose CF has ended elsewhere
	opQuiet op = "quiet"       // nothing moves in any process
	opLeft  op = "left"        // what is left to do
	opHits  op = "hits"        // how often breakpoints were reached
	opSeen  op = "seen"        // CF, which has come from another process; N: breakpoints were looked at there
)

// order is what is to be done.
type order struct {
	Op              op
	Text, Value     string
	CF              trace.CF
	Node, Worker, N int
	Acts            int64 // with opQuiet: what Control.Acts was when nothing moved
	Fleeting        bool
}

// answer is what an order gives.
type answer struct {
	Error, Kind string // text of the error; that of the error it wraps
	Text        string
	N           int    // 1: breakpoints were looked at, for a CF that was moved
	Line        string // of what was changed by hand
	CFs         []CFState
	Stmts       []int // of the CFs, or of the CF
	DFs         []DFState
	Uses        map[string][]string // CFs by the ID of the DFs that they use
	Sight       *Sight
	Frame       *Frame
	Type        cpp.Type // of a value
	Bits        uint64   // of an int or a real
	Raw         []byte   // other values
	Hits        map[int]int64
	Quiet       quietness

	value cpp.Value
}

// quietness is what a process has where nothing moves.
type quietness struct {
	Moved    bool // something has moved since then, or goes on now
	Kept     int  // CFs
	Paused   bool
	Stepping bool // a step was not over, but is now
}

// obey obeys an order here.
func (d *Debugger) obey(o order) (a answer, err error) {
	switch o.Op {
	case opContinue:
		err = d.do(d.goOn)
	case opUntil:
		err = d.goUntil(o.Text)
	case opStep:
		err = d.step(o.CF, o.Node, o.Worker)
	case opLetGo:
		err = d.do(d.forgetAll)
	case opLet:
		err = d.let(o.CF)
	case opHold:
		err = d.hold(o.Text)
	case opRelease:
		err = d.release(o.Text)
	case opFirst:
		err = d.first(o.Text)
	case opMove:
		a.N, err = d.move(o.CF, o.Text, o.Node)
	case opBreak:
		err = d.setBreak(o.Text, o.N, o.Fleeting)
	case opClear:
		err = d.clear(o.N)
	case opStates:
		a.CFs, err = d.states(o.N)
	case opDFs:
		a.DFs, a.Uses, err = d.stores(o.Text, o.N)
	case opValue:
		a.value, err = d.value(o.Text)
	case opSet, opInput:
		if o.Op == opSet {
			a.Line, err = d.setDF(o.Text, o.Value)
		} else {
			a.Line, err = d.setInput(o.CF, o.Text, o.Value)
		}
	case opLook:
		a.Sight, err = d.sight(o.CF)
	case opEvaluate:
		err = d.look(o.CF, true, func(x *engine.Execution) { a.Text = evaluate(x, o.Text) })
	case opParent:
		var f Frame
		f, err = d.frame(o.CF)
		a.Frame = &f
	case opGDB:
		a.Text, err = d.attach(o.CF, o.Text, func() error { return d.step(o.CF, -1, engine.AnyWorker) })
	default:
		a, err = d.obeyOther(o)
	}
	return a, err
}

// obeyOther obeys an order that only another process gives.
func (d *Debugger) obeyOther(o order) (a answer, err error) {
	err = d.do(func() (list []*engine.Execution) {
		switch o.Op {
		case opHalt:
			if o.Text != "" {
				d.dropOnce(o.Text)
			}
			d.halt()
		case opClock:
			d.resumeClock()
		case opQuiet:
			list = d.quiet(&a.Quiet, o.Acts)
		case opSeen:
			if o.N > 0 {
				delete(d.unseen, o.CF)
			}
		case opLeft:
			a.Raw = d.ctl.Remains()
		case opHits:
			a.Hits = map[int]int64{}
			for _, p := range d.points {
				a.Hits[p.ID] = p.hits.Load()
			}
		}
		return list
	})
	if o.Op == opEnded {
		err = d.endedFirst(o.Text)
	}
	return a, err
}

// quiet lets something go on where nothing moves in any process, if it can.
func (d *Debugger) quiet(q *quietness, acts int64) []*engine.Execution {
	if q.Moved = d.ctl.Acts() != acts; q.Moved {
		return nil
	}
	d.stopIfAsked()
	if !d.paused {
		if list := d.next(); len(list) > 0 {
			q.Moved = true
			return list
		}
	}
	if d.stepping != 0 {
		q.Stepping = true
		d.stepWaits()
	}
	q.Kept, q.Paused = d.keeps(), d.paused
	return nil
}

// GDB attaches gdb to a kept CF with its inputs, at the beginning of its C++ function. gdb obeys commands,
// which semicolons separate, or else what people type. It returns what gdb has printed.
func (d *Debugger) GDB(cf trace.CF, commands string) (printed string, err error) {
	if d.ranks != nil {
		s, node, err := d.owner(cf)
		if err != nil {
			return "", err
		}
		if node != 0 {
			return d.gdbElsewhere(cf, commands, node, s.GDB)
		}
	}
	return d.attach(cf, commands, func() error { return d.Step(cf, -1, engine.AnyWorker) })
}

// attach attaches gdb to this process; step has the CF begin.
func (d *Debugger) attach(cf trace.CF, commands string, step func() error) (string, error) {
	o := gdb.Options{Ready: step}
	for _, c := range strings.Split(commands, ";") {
		if c = strings.TrimSpace(c); c != "" {
			o.Commands = append(o.Commands, c)
		}
	}
	function := func(x *engine.Execution) { o.Function = cpp.Symbol(x.Stmt.Routine) }
	if err := d.look(cf, false, function); err != nil {
		return "", err
	}
	return gdb.Attach(o)
}

// notHere are the errors that say that another process may have what is asked for; known, those that others
// look for.
var (
	notHere = []error{ErrNothing, engine.ErrNoDF, errNotKept, errUnseen, errNoFrame}
	known   = append([]error{ErrEnded, engine.ErrStays}, notHere...)
)

// farError is an error of another process.
type farError struct {
	text string
	kind error // nil: nobody looks for it
}

func (e *farError) Error() string { return e.text }
func (e *farError) Unwrap() error { return e.kind }

// pack makes an answer ready for its way.
func (a *answer) pack(err error) {
	if err != nil {
		a.Error = err.Error()
		for _, k := range known {
			if errors.Is(err, k) {
				a.Kind = k.Error()
			}
		}
	}
	for i := range a.CFs {
		a.Stmts = append(a.Stmts, a.CFs[i].Stmt.ID)
	}
	switch {
	case a.Sight != nil:
		a.Stmts = []int{a.Sight.Stmt.ID}
	case a.Frame != nil && a.Frame.Stmt != nil:
		a.Stmts = []int{a.Frame.Stmt.ID}
	}
	if v := a.value; v.Type != cpp.Unset {
		a.Type, a.Bits = v.Type, v.Bits
		if v.Type == cpp.String || v.Type == cpp.Block {
			a.Bits, a.Raw = 0, append([]byte(nil), v.Memory()...)
		}
		v.Release()
	}
}

// unpack makes an answer what it was, and gives its error.
func (d *Debugger) unpack(a *answer) error {
	if a.Error != "" {
		e := &farError{text: a.Error}
		for _, k := range known {
			if k.Error() == a.Kind {
				e.kind = k
			}
		}
		return e
	}
	for i, id := range a.Stmts {
		if id < 0 || id >= len(d.opt.Program.Stmts) {
			return fmt.Errorf("an answer names statement %d, which the program does not have", id)
		}
		st := d.opt.Program.Stmts[id]
		switch {
		case a.Sight != nil:
			a.Sight.Stmt = st
		case a.Frame != nil:
			a.Frame.Stmt = st
		case i < len(a.CFs):
			a.CFs[i].Stmt = st
		}
	}
	switch a.Type {
	case cpp.Int, cpp.Real:
		a.value = cpp.Value{Type: a.Type, Bits: a.Bits}
	case cpp.String, cpp.Block:
		a.value = cpp.Alloc(a.Type, len(a.Raw))
		copy(a.value.Memory(), a.Raw)
	}
	return nil
}
