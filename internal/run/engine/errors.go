package engine

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/trace"
)

// ProgramError says that the program failed while it ran: user code crashed, aborted or ended the process,
// or a rule of the language was broken.
type ProgramError struct {
	Msg  string   // what happened, one line
	Stmt string   // statement of the CF it happened in; "" where there was none
	CF   trace.CF // 0 where there was none
	Node int
	Pos  luna.Pos
	// Values are those of the loops and subs around that CF, inner ones first: "i = 3, n = 10"; "" for none.
	Values string
	// Signal is the signal that user code died of, 0 if none.
	Signal int
	// Exited tells that user code called exit(ExitCode).
	Exited   bool
	ExitCode int
	// LunaLine is the message in LuNA's own words.
	LunaLine string
}

func (e *ProgramError) Error() string {
	s := e.Msg
	if e.Stmt != "" {
		s += ", in CF " + e.Stmt
		if e.Pos.File != "" {
			s += " at " + posText(e.Pos)
		}
		s += fmt.Sprintf(" (node %d", e.Node)
		if e.Values != "" {
			s += ", " + e.Values
		}
		s += ")"
	}
	return s
}

// posText is a position for messages.
func posText(p luna.Pos) string {
	if p.File == "" {
		return "unknown position"
	}
	return fmt.Sprintf("%s:%d:%d", filepath.Clean(p.File), p.Line, p.Col)
}

// fail keeps the first fault of a step.
func (a *actor) fail(msg, lunaLine string) { a.failAt(luna.Pos{}, msg, lunaLine) }

// failAt is fail for a fault in an expression.
func (a *actor) failAt(pos luna.Pos, msg, lunaLine string) {
	if a.err != nil {
		return
	}
	a.err = &ProgramError{Msg: msg, Node: a.n.id, LunaLine: lunaLine}
	if c := a.cur; c != nil {
		a.err.CF, a.err.Stmt, a.err.Pos = c.id, c.st.Text, c.st.Pos
		a.err.Values = c.valuesText()
	}
	if pos.File != "" {
		a.err.Pos = pos
	}
}

// mostValues is how many values a message names.
const mostValues = 6

// valuesText is ProgramError.Values.
func (c *cf) valuesText() string {
	var list []string
	for _, v := range c.scalars() {
		if len(list) == mostValues {
			list = append(list, "...")
			break
		}
		text := strconv.Itoa(int(v.Value.Int()))
		if v.Value.Type == cpp.Real {
			text = strconv.FormatFloat(v.Value.Real(), 'g', -1, 64)
		}
		list = append(list, v.Name+" = "+text)
	}
	return strings.Join(list, ", ")
}

// blame names the CF at fault where it happened on another node.
func (a *actor) blame(m maker) {
	if a.err != nil && a.err.CF == 0 && int(m.site) < len(a.n.eng.prog.Stmts) {
		st := a.n.eng.prog.Stmts[m.site]
		a.err.CF, a.err.Stmt, a.err.Pos = m.id, st.Text, st.Pos
	}
}

// crashed turns the outcome of a call into the error that ends the run.
func (w *worker) crashed(c *cf, o cpp.Outcome) {
	name := w.n.eng.prog.Codes[c.st.Code].Name
	switch o.Kind {
	case cpp.Exited:
		w.fail(fmt.Sprintf("%s called exit(%d)", name, o.Code), "")
		w.err.Exited, w.err.ExitCode = true, o.Code
	case cpp.Aborted:
		w.fail(name+": "+o.Msg, o.Msg)
		w.err.Signal = int(syscall.SIGABRT)
	case cpp.Threw:
		w.fail(name+" threw an exception that nothing catches: "+o.Msg, "terminate called after throwing an"+
			" exception: "+o.Msg)
		w.err.Signal = int(syscall.SIGABRT)
	case cpp.Signalled:
		if o.Code == int(syscall.SIGABRT) {
			w.fail(name+" "+o.Msg, "")
		} else {
			w.fail(name+" crashed: "+o.Msg, "")
		}
		w.err.Signal = o.Code
	}
}

// heapDamaged ends the run if the C library has found its heap damaged; what says when. It was user code:
// any that has run so far.
func (a *actor) heapDamaged(what string) {
	if sig := cpp.HeapDamaged(); sig != 0 && a.err == nil {
		a.fail(cpp.Damaged+", found when "+what, "")
		a.err.Signal = sig
	}
}

// overwritten is the error of a worker that has lost its stack.
func (e *engine) overwritten(sig int) *ProgramError {
	err := &ProgramError{Node: e.here[0].id, Msg: cpp.Overwritten, Signal: sig}
	calls := 0
	for w := range e.workers() {
		if c := w.calling.Load(); c != nil && c != frozen && c != taken {
			calls++
			err.Node, err.CF, err.Stmt, err.Pos = w.n.id, c.id, c.st.Text, c.st.Pos
		}
	}
	if calls != 1 { // whichever it was
		err.Node, err.CF, err.Stmt, err.Pos = e.here[0].id, 0, "", luna.Pos{}
	}
	return err
}

// foreignCrash is the error of a thread that user code started itself: it belongs to no CF. The node is one
// of its process.
func foreignCrash(node, sig int, msg string) *ProgramError {
	return &ProgramError{Node: node, Msg: "a thread started by the program's C++ code ended the program: " +
		msg, Signal: sig}
}
