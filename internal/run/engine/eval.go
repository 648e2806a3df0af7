package engine

// Evaluation of expressions. The actor keeps a fault (a DF of the wrong type, division by zero) in a.err,
// and the value is zero. Callers look at a.err before they act on the value.

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/trace"
)

// env is what an expression can refer to: the frame, the CF's inputs, its outputs once executed, the indices
// of the reference being placed.
type env struct {
	f    *frame
	c    *cf
	outs []cpp.Value
	idx  *ident
	base int32 // idx: number of indices before the reference's own
}

// read returns the DF that the expression node refers to.
func (a *actor) read(e *luna.Expr, v *env) cpp.Value {
	if e.Op == luna.OpOutput {
		if e.K < len(v.outs) {
			return v.outs[e.K]
		}
		return cpp.Value{}
	}
	return v.c.inputs[e.K].val
}

// wrongType reports a DF that does not hold what the expression needs.
func (a *actor) wrongType(e *luna.Expr, v *env, want, got cpp.Type) {
	what := "the expression"
	if v.c != nil {
		switch e.Op {
		case luna.OpInput:
			what = v.c.st.Inputs[e.K].Ref.Src
		case luna.OpOutput:
			what = v.c.st.Outs[e.K].Src
		}
	}
	a.failAt(e.Pos, fmt.Sprintf("%s holds %s, but %s is needed here", what, describe[got], describe[want]),
		fmt.Sprintf("get_%v failed for type %v", want, got))
}

var describe = [...]string{cpp.Unset: "nothing", cpp.Int: "an int", cpp.Real: "a real",
	cpp.String: "a string", cpp.Block: "a block of bytes"}

// typed evaluates to a DF's value, which must be of type want; after a fault it is unset, which reads as 0.
func (a *actor) typed(e *luna.Expr, v *env, want cpp.Type) cpp.Value {
	var d cpp.Value
	if e.Op == luna.OpInput || e.Op == luna.OpOutput {
		d = a.read(e, v)
	} else {
		var own bool
		if d, own = a.evalDyn(e, v); own {
			d.Release() // what it held is no number
		}
	}
	if d.Type != want {
		a.wrongType(e, v, want, d.Type)
		return cpp.Value{}
	}
	return d
}

// branch returns the operand that a conditional expression stands for.
func (a *actor) branch(e *luna.Expr, v *env) *luna.Expr {
	if a.evalInt(e.A, v) != 0 {
		return e.B
	}
	return e.C
}

func (a *actor) evalInt(e *luna.Expr, v *env) int32 {
	switch e.Op {
	case luna.OpInt:
		return int32(e.I)
	case luna.OpValue:
		f := v.f.up(e.Depth)
		if f.vals == nil {
			return f.counter
		}
		s := &f.vals[e.Slot]
		switch {
		case !s.set:
			a.failAt(e.Pos, fmt.Sprintf("the hidden parameter %s has no value: the call does not give it",
				f.block.Values[e.Slot]), "get_int failed for type (unset)")
		case s.typ == luna.Real:
			return toInt(s.f)
		}
		return s.i
	case luna.OpIndex:
		return v.idx.at(int(v.base) + e.K)
	}
	switch e.Type {
	case luna.Real:
		return toInt(a.evalReal(e, v))
	case luna.Long:
		return int32(a.evalLong(e, v))
	case luna.Dyn:
		return a.typed(e, v, cpp.Int).Int()
	}
	switch e.Op {
	case luna.OpInput, luna.OpOutput:
		return a.typed(e, v, cpp.Int).Int()
	case luna.OpNeg:
		return -a.evalInt(e.A, v)
	case luna.OpAdd, luna.OpSub, luna.OpMul, luna.OpDiv, luna.OpMod:
		return arith(a, e, a.evalInt(e.A, v), a.evalInt(e.B, v))
	case luna.OpLT, luna.OpLE, luna.OpGT, luna.OpGE, luna.OpEQ, luna.OpNE:
		return b2i(a.compare(e, v))
	case luna.OpAnd, luna.OpOr:
		return b2i(a.logic(e, v))
	case luna.OpCond:
		return a.evalInt(a.branch(e, v), v)
	case luna.OpToInt:
		return a.evalInt(e.A, v)
	}
	a.failAt(e.Pos, unsetText(e), "get_int failed for type (unset)")
	return 0
}

// evalLong evaluates an expression of Type Int or Long to 64 bits.
func (a *actor) evalLong(e *luna.Expr, v *env) int64 {
	switch {
	case e.Op == luna.OpInt:
		return e.I
	case e.Type != luna.Long:
		return int64(a.evalInt(e, v))
	case e.Op == luna.OpNeg:
		return -a.evalLong(e.A, v)
	case e.Op == luna.OpCond:
		return a.evalLong(a.branch(e, v), v)
	}
	return arith(a, e, a.evalLong(e.A, v), a.evalLong(e.B, v))
}

// arith applies an operator to ints. Arithmetic wraps; division truncates toward zero.
func arith[T int32 | int64](a *actor, e *luna.Expr, x, y T) T {
	if y == 0 && (e.Op == luna.OpDiv || e.Op == luna.OpMod) {
		if a.err == nil {
			a.failAt(e.Pos, "division by zero", "division by zero")
			a.err.Signal = 8
		}
		return 0
	}
	return luna.Arith(e.Op, x, y)
}

// logic evaluates && and ||; the right operand only where the left one leaves it open.
func (a *actor) logic(e *luna.Expr, v *env) bool {
	if or := e.Op == luna.OpOr; (a.evalInt(e.A, v) != 0) == or {
		return or
	}
	return a.evalInt(e.B, v) != 0
}

func (a *actor) evalReal(e *luna.Expr, v *env) float64 {
	switch e.Type {
	case luna.Int, luna.Long:
		return float64(a.evalLong(e, v))
	case luna.Dyn:
		return a.typed(e, v, cpp.Real).Real()
	}
	switch e.Op {
	case luna.OpReal:
		return e.F
	case luna.OpInput, luna.OpOutput:
		return a.typed(e, v, cpp.Real).Real()
	case luna.OpValue:
		s := &v.f.up(e.Depth).vals[e.Slot]
		if s.typ == luna.Int {
			return float64(s.i)
		}
		return s.f
	case luna.OpNeg:
		return -a.evalReal(e.A, v)
	case luna.OpAdd, luna.OpSub, luna.OpMul, luna.OpDiv:
		return luna.Arith(e.Op, a.evalReal(e.A, v), a.evalReal(e.B, v))
	case luna.OpCond:
		return a.evalReal(a.branch(e, v), v)
	case luna.OpToReal:
		return a.evalReal(e.A, v)
	}
	a.failAt(e.Pos, unsetText(e), "get_real failed for type (unset)")
	return 0
}

// evalString evaluates in string context.
func (a *actor) evalString(e *luna.Expr, v *env) string {
	return strings.Clone(a.lookString(e, v))
}

// lookString is evalString for a look: what it gives may be memory of the CF's inputs.
func (a *actor) lookString(e *luna.Expr, v *env) string {
	list := a.evalPieces(e, v, a.room())
	defer a.roomAgain(list)
	return strings.Join(list, "") // of one piece no copy
}

// room is room for pieces, which roomAgain takes back: a condition inside may need room, too.
func (a *actor) room() []string {
	list := a.pieces
	a.pieces = nil
	return list
}

func (a *actor) roomAgain(list []string) {
	clear(list)
	a.pieces = list[:0]
}

// newString is evalString for a value: a long text is copied only once.
func (a *actor) newString(e *luna.Expr, v *env) cpp.Value {
	list := a.evalPieces(e, v, a.room())
	defer a.roomAgain(list)
	return cpp.NewString(list...)
}

// textArg is newString for an argument, of which code fragments get a copy: a DF's text is lent. own tells
// that the caller must release it.
func (a *actor) textArg(e *luna.Expr, v *env) (text cpp.Value, own bool) {
	for e.Op == luna.OpToStr {
		e = e.A
	}
	if e.Op == luna.OpInput {
		if d, own := a.evalDyn(e, v); d.Type == cpp.String {
			return d, own
		}
	}
	return a.newString(e, v), true
}

// evalPieces appends what evalString would join. Some pieces are memory of the CF's inputs.
func (a *actor) evalPieces(e *luna.Expr, v *env, list []string) []string {
	switch e.Op {
	case luna.OpString:
		return append(list, e.S)
	case luna.OpConcat:
		return a.evalPieces(e.B, v, a.evalPieces(e.A, v, list))
	case luna.OpToStr:
		return a.evalPieces(e.A, v, list)
	case luna.OpCond:
		return a.evalPieces(a.branch(e, v), v, list)
	}
	switch {
	case e.Type == luna.Dyn: // converts, whatever it holds
		d, own := a.evalDyn(e, v)
		if !own && d.Type == cpp.String {
			return append(list, d.Look())
		}
		text := a.text(d, e, v)
		if own {
			d.Release()
		}
		return append(list, text)
	case e.Type == luna.Int, e.Type == luna.Long:
		return append(list, strconv.FormatInt(a.evalLong(e, v), 10))
	case e.Type == luna.Real:
		return append(list, formatReal(a.evalReal(e, v)))
	case e.Op == luna.OpValue:
		return append(list, v.f.up(e.Depth).vals[e.Slot].s)
	}
	a.failAt(e.Pos, unsetText(e), "get_string failed for type (unset)")
	return list
}

// formatReal is what C's printf makes of %f.
func formatReal(f float64) string {
	text := strconv.FormatFloat(f, 'f', 6, 64)
	switch {
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case math.IsNaN(f) && math.Signbit(f):
		return "-nan"
	case math.IsNaN(f):
		return "nan"
	}
	return text
}

func (a *actor) text(d cpp.Value, e *luna.Expr, v *env) string {
	switch d.Type {
	case cpp.Int:
		return strconv.Itoa(int(d.Int()))
	case cpp.Real:
		return formatReal(d.Real())
	case cpp.String:
		return d.Str()
	}
	first := a.err == nil
	a.wrongType(e, v, cpp.String, d.Type)
	if first && d.Type == cpp.Block {
		a.err.LunaLine = "cast to string failed: " + d.String()
	}
	return ""
}

// evalDyn evaluates to a DF's value. own tells that the caller must release it; otherwise it is lent.
func (a *actor) evalDyn(e *luna.Expr, v *env) (d cpp.Value, own bool) {
	if e.Op == luna.OpCond {
		return a.evalDyn(a.branch(e, v), v)
	}
	switch e.Type {
	case luna.Int, luna.Long:
		return cpp.IntValue(int32(a.evalLong(e, v))), false
	case luna.Real:
		return cpp.RealValue(a.evalReal(e, v)), false
	case luna.String:
		return a.newString(e, v), true
	}
	switch e.Op {
	case luna.OpInput, luna.OpOutput:
		return a.read(e, v), false
	case luna.OpNeg:
		x, _ := a.evalDyn(e.A, v)
		switch x.Type {
		case cpp.Int:
			return cpp.IntValue(-x.Int()), false
		case cpp.Real:
			return cpp.RealValue(-x.Real()), false
		}
		a.failAt(e.Pos, "- needs a number, not "+describe[x.Type], "Unsupported operand types: - "+x.Type.String())
	default:
		if opText[e.Op] != "" {
			return a.dynBinary(e, v), false
		}
		a.failAt(e.Pos, unsetText(e), "get_value failed for type (unset)")
	}
	return cpp.Value{}, false
}

// dynBinary applies an operator to operands whose types are known only now.
func (a *actor) dynBinary(e *luna.Expr, v *env) cpp.Value {
	x, ownX := a.evalDyn(e.A, v)
	y, ownY := a.evalDyn(e.B, v)
	if ownX {
		x.Release() // what it held is no number
	}
	if ownY {
		y.Release()
	}
	p, isNumber := asReal(x)
	q, both := asReal(y)
	ints := x.Type == cpp.Int && y.Type == cpp.Int
	switch {
	case !isNumber || !both || e.Op == luna.OpMod && !ints:
		op := opText[e.Op]
		a.failAt(e.Pos, fmt.Sprintf("%s cannot be applied to %s and %s", op, describe[x.Type], describe[y.Type]),
			fmt.Sprintf("Unsupported operand types: %v %s %v", x.Type, op, y.Type))
		return cpp.Value{}
	case e.Op >= luna.OpLT:
		return cpp.IntValue(b2i(luna.Holds(e.Op, p, q))) // an int is a real exactly
	case ints:
		return cpp.IntValue(arith(a, e, x.Int(), y.Int()))
	}
	return cpp.RealValue(luna.Arith(e.Op, p, q))
}

// asReal is the number that a value holds.
func asReal(v cpp.Value) (f float64, ok bool) {
	if v.Type == cpp.Int {
		return float64(v.Int()), true
	}
	return v.Real(), v.Type == cpp.Real
}

func (a *actor) compare(e *luna.Expr, v *env) bool {
	switch {
	case e.A.Type == luna.String || e.B.Type == luna.String:
		return luna.Holds(e.Op, a.lookString(e.A, v), a.lookString(e.B, v))
	case e.A.Type == luna.Real || e.B.Type == luna.Real:
		return luna.Holds(e.Op, a.evalReal(e.A, v), a.evalReal(e.B, v))
	case e.A.Type == luna.Dyn:
		return a.dynBinary(e, v).Int() != 0
	}
	return luna.Holds(e.Op, a.evalLong(e.A, v), a.evalLong(e.B, v))
}

var opText = [...]string{luna.OpAdd: "+", luna.OpSub: "-", luna.OpMul: "*", luna.OpDiv: "/", luna.OpMod: "%",
	luna.OpLT: "<", luna.OpLE: "<=", luna.OpGT: ">", luna.OpGE: ">=", luna.OpEQ: "==", luna.OpNE: "!=",
	luna.OpUnset: ""}

func b2i(b bool) int32 {
	if b {
		return 1
	}
	return 0
}

// toInt converts as the machine does in C++: toward zero; what does not fit gives the smallest int.
func toInt(f float64) int32 {
	if f != f || f >= math.MaxInt32+1.0 || f <= math.MinInt32-1.0 {
		return math.MinInt32
	}
	return int32(f)
}

// identInto evaluates a name and indices into the identity id; base is the number of indices that the name
// brought along.
func (a *actor) identInto(id *ident, name *luna.NameRef, idx []*luna.Expr, v *env) (base int32) {
	f := v.f.up(name.Depth)
	if name.Param {
		*id = *f.vals[name.Slot].id
	} else {
		*id = ident{name: f.base + uint64(name.Slot), decl: f.block.Names[name.Slot]}
	}
	base = id.n
	for _, e := range idx {
		id.push(a.evalInt(e, v))
	}
	return base
}

// identOf is identInto where speed does not matter.
func (a *actor) identOf(name *luna.NameRef, idx []*luna.Expr, v *env) (id ident, base int32) {
	base = a.identInto(&id, name, idx, v)
	return id, base
}

func (a *actor) refIdent(r *luna.DFRef, v *env) (id ident, base int32) {
	return a.identOf(r.Name, r.Idx, v)
}

// homes returns the nodes that store the DF: first, and for replicated DFs the step to the next (0: only
// first).
func (a *actor) homes(r *luna.DFRef, id *ident, base int32, v *env) (first, step int) {
	if len(a.n.eng.nodes) == 1 {
		return 0, 0
	}
	if node, ok := a.storedAt(r, id); ok {
		return node, 0
	}
	at := &env{f: v.f, c: v.c, outs: v.outs, idx: id, base: base}
	switch r.Loc.Kind {
	case luna.LocCyclic:
		return a.modNode(r.Loc.Expr, at), 0
	case luna.LocReplicatingAll:
		return 0, 1
	case luna.LocReplicating:
		return 0, max(1, int(a.evalInt(r.Loc.Expr, at)))
	}
	return 0, 0
}

// askedNode is the node to request a DF from.
func (a *actor) askedNode(r *luna.DFRef, id *ident, base int32, v *env) int {
	first, k := a.homes(r, id, base, v)
	if k == 0 {
		return first
	}
	at := (a.n.id + k/2) / k * k
	if at >= len(a.n.eng.nodes) {
		at -= k
	}
	return at
}

func (a *actor) modNode(e *luna.Expr, v *env) int {
	n := int32(len(a.n.eng.nodes))
	r := a.evalInt(e, v) % n
	if r < 0 {
		r += n
	}
	return int(r)
}

// recordPlace records where the locator of a CF wants it, unless that is here. With one node nobody else has
// asked its expression, so what is wrong with it does not count.
func (w *worker) recordPlace(c *cf) {
	h := &c.st.Home
	if h.Expr == nil || h.Replicating || c.st.Kind == luna.SubBody || !w.n.eng.ses.CFPlaced.On() {
		return
	}
	if _, ok := w.placed(c); ok {
		return
	}
	place := w.evalInt(h.Expr, &env{f: c.ctx(), c: c})
	if w.err != nil {
		w.err = nil
	} else if int(place) != w.n.id {
		w.n.eng.ses.CFPlaced.EmitAt(w.ps, w.now, c.id, int64(place))
	}
}

// recordHome is recordPlace for a DF that is posted to a node.
func (w *worker) recordHome(r *luna.DFRef, id *ident, base int32, v *env, node int) {
	if r.Loc.Kind != luna.LocCyclic || !w.n.eng.ses.DFPlaced.On() {
		return
	}
	if _, ok := w.storedAt(r, id); ok {
		return
	}
	place := w.evalInt(r.Loc.Expr, &env{f: v.f, c: v.c, outs: v.outs, idx: id, base: base})
	if w.err != nil {
		w.err = nil
	} else if int(place) != node {
		num := trace.DF(0) // not by a function value: id would go to the heap for every DF
		if node == w.n.id {
			num = w.homeNumber(id)
		} else {
			num = w.number(id)
		}
		w.n.eng.ses.DFPlaced.EmitAt(w.ps, w.now, num, int64(place))
	}
}

func unsetText(e *luna.Expr) string {
	if e.Op == luna.OpUnset && e.S != "" {
		return e.S
	}
	return "the expression has no value"
}
