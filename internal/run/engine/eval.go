package engine

// Evaluation of expressions. A fault (a DF of the wrong type, division by zero) is kept in the actor (a.err)
// and a zero value returned; callers look at a.err before they act on what they computed.

import (
	"fmt"
	"math"
	"strconv"

	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/internal/run/luna"
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

var typeNames = [...]string{cpp.Unset: "(unset)", cpp.Int: "int", cpp.Real: "real", cpp.String: "string",
	cpp.Block: "value"}

// wrongType reports a DF that does not hold what the expression needs.
func (a *actor) wrongType(e *luna.Expr, v *env, want string, got cpp.Type) {
	what := "the expression"
	if v.c != nil {
		switch e.Op {
		case luna.OpInput:
			what = v.c.st.Inputs[e.K].Ref.Src
		case luna.OpOutput:
			what = v.c.st.Outs[e.K].Src
		}
	}
	a.failAt(e.Pos, fmt.Sprintf("%s holds %s, but %s is needed here", what, describe[got],
		describe[wantType[want]]), "get_"+want+" failed for type "+typeNames[got])
}

var (
	describe = [...]string{cpp.Unset: "nothing", cpp.Int: "an int", cpp.Real: "a real",
		cpp.String: "a string", cpp.Block: "a block of bytes"}
	wantType = map[string]cpp.Type{"int": cpp.Int, "real": cpp.Real, "string": cpp.String}
)

func (a *actor) evalInt(e *luna.Expr, v *env) int32 {
	switch e.Op {
	case luna.OpInt:
		return e.I
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
	case luna.OpInput, luna.OpOutput:
		d := a.read(e, v)
		if d.Type != cpp.Int {
			a.wrongType(e, v, "int", d.Type)
			return 0
		}
		return d.Int()
	}
	switch e.Type {
	case luna.Real:
		return toInt(a.evalReal(e, v))
	case luna.Dyn:
		d, own := a.evalDyn(e, v)
		if own {
			d.Release() // what it held is no number
		}
		if d.Type != cpp.Int {
			a.wrongType(e, v, "int", d.Type)
			return 0
		}
		return d.Int()
	}
	switch e.Op {
	case luna.OpNeg:
		return -a.evalInt(e.A, v)
	case luna.OpAdd:
		return a.evalInt(e.A, v) + a.evalInt(e.B, v)
	case luna.OpSub:
		return a.evalInt(e.A, v) - a.evalInt(e.B, v)
	case luna.OpMul:
		return a.evalInt(e.A, v) * a.evalInt(e.B, v)
	case luna.OpDiv, luna.OpMod:
		x, y := a.evalInt(e.A, v), a.evalInt(e.B, v)
		if y == 0 {
			a.divZero(e.Pos)
			return 0
		}
		if e.Op == luna.OpDiv {
			return int32(int64(x) / int64(y))
		}
		return int32(int64(x) % int64(y))
	case luna.OpLT, luna.OpLE, luna.OpGT, luna.OpGE, luna.OpEQ, luna.OpNE:
		return b2i(a.compare(e, v))
	case luna.OpAnd:
		return b2i(a.evalInt(e.A, v) != 0 && a.evalInt(e.B, v) != 0)
	case luna.OpOr:
		return b2i(a.evalInt(e.A, v) != 0 || a.evalInt(e.B, v) != 0)
	case luna.OpCond:
		if a.evalInt(e.A, v) != 0 {
			return a.evalInt(e.B, v)
		}
		return a.evalInt(e.C, v)
	case luna.OpToInt:
		switch e.A.Type {
		case luna.Real:
			return toInt(a.evalReal(e.A, v))
		default:
			return a.evalInt(e.A, v)
		}
	}
	a.failAt(e.Pos, unsetText(e), "get_int failed for type (unset)")
	return 0
}

func (a *actor) evalReal(e *luna.Expr, v *env) float64 {
	switch e.Op {
	case luna.OpReal:
		return e.F
	case luna.OpInput, luna.OpOutput:
		d := a.read(e, v)
		if d.Type != cpp.Real {
			a.wrongType(e, v, "real", d.Type)
			return 0
		}
		return d.Real()
	}
	switch e.Type {
	case luna.Int:
		return float64(a.evalInt(e, v))
	case luna.Dyn:
		d, own := a.evalDyn(e, v)
		if own {
			d.Release() // what it held is no number
		}
		if d.Type != cpp.Real {
			a.wrongType(e, v, "real", d.Type)
			return 0
		}
		return d.Real()
	}
	switch e.Op {
	case luna.OpValue:
		s := &v.f.up(e.Depth).vals[e.Slot]
		if s.typ == luna.Int {
			return float64(s.i)
		}
		return s.f
	case luna.OpNeg:
		return -a.evalReal(e.A, v)
	case luna.OpAdd:
		return a.evalReal(e.A, v) + a.evalReal(e.B, v)
	case luna.OpSub:
		return a.evalReal(e.A, v) - a.evalReal(e.B, v)
	case luna.OpMul:
		return a.evalReal(e.A, v) * a.evalReal(e.B, v)
	case luna.OpDiv:
		return a.evalReal(e.A, v) / a.evalReal(e.B, v)
	case luna.OpCond:
		if a.evalInt(e.A, v) != 0 {
			return a.evalReal(e.B, v)
		}
		return a.evalReal(e.C, v)
	case luna.OpToReal:
		return a.evalReal(e.A, v)
	}
	a.failAt(e.Pos, unsetText(e), "get_real failed for type (unset)")
	return 0
}

// evalString evaluates in string context.
func (a *actor) evalString(e *luna.Expr, v *env) string {
	switch e.Op {
	case luna.OpString:
		return e.S
	case luna.OpConcat:
		return a.evalString(e.A, v) + a.evalString(e.B, v)
	case luna.OpToStr:
		return a.evalString(e.A, v)
	case luna.OpInput, luna.OpOutput:
		// To string context a DF converts, whatever it holds; only where a string is demanded it must be one.
		return a.text(a.read(e, v), e, v)
	case luna.OpCond:
		if a.evalInt(e.A, v) != 0 {
			return a.evalString(e.B, v)
		}
		return a.evalString(e.C, v)
	}
	switch e.Type {
	case luna.Int:
		return strconv.Itoa(int(a.evalInt(e, v)))
	case luna.Real:
		return formatReal(a.evalReal(e, v))
	case luna.Dyn:
		d, own := a.evalDyn(e, v)
		text := a.text(d, e, v)
		if own {
			d.Release()
		}
		return text
	}
	if e.Op == luna.OpValue {
		return v.f.up(e.Depth).vals[e.Slot].s
	}
	a.failAt(e.Pos, unsetText(e), "get_string failed for type (unset)")
	return ""
}

func formatReal(f float64) string { return strconv.FormatFloat(f, 'f', 6, 64) }

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
	a.wrongType(e, v, "string", d.Type)
	if first && d.Type == cpp.Block {
		a.err.LunaLine = "cast to string failed: " + d.String()
	}
	return ""
}

// evalDyn evaluates to a DF's value. own tells that the caller must release it; otherwise it is lent.
func (a *actor) evalDyn(e *luna.Expr, v *env) (d cpp.Value, own bool) {
	switch e.Op {
	case luna.OpInput, luna.OpOutput:
		return a.read(e, v), false
	case luna.OpCond:
		if a.evalInt(e.A, v) != 0 {
			return a.evalDyn(e.B, v)
		}
		return a.evalDyn(e.C, v)
	}
	switch e.Type {
	case luna.Int:
		return cpp.IntValue(a.evalInt(e, v)), false
	case luna.Real:
		return cpp.RealValue(a.evalReal(e, v)), false
	case luna.String:
		return cpp.NewString(a.evalString(e, v)), true
	}
	switch e.Op {
	case luna.OpNeg:
		x, _ := a.evalDyn(e.A, v)
		switch x.Type {
		case cpp.Int:
			return cpp.IntValue(-x.Int()), false
		case cpp.Real:
			return cpp.RealValue(-x.Real()), false
		}
		a.failAt(e.Pos, "- needs a number, not "+describe[x.Type], "Unsupported operand types: - "+
			typeNames[x.Type])
		return cpp.Value{}, false
	case luna.OpAdd, luna.OpSub, luna.OpMul, luna.OpDiv, luna.OpMod,
		luna.OpLT, luna.OpLE, luna.OpGT, luna.OpGE, luna.OpEQ, luna.OpNE:
		x, ox := a.evalDyn(e.A, v)
		y, oy := a.evalDyn(e.B, v)
		r := a.dynBinary(e, x, y)
		if ox {
			x.Release()
		}
		if oy {
			y.Release()
		}
		return r, false
	case luna.OpAnd, luna.OpOr:
		return cpp.IntValue(a.evalInt(&luna.Expr{Op: e.Op, Type: luna.Int, A: e.A, B: e.B, Pos: e.Pos},
			v)), false
	}
	a.failAt(e.Pos, unsetText(e), "get_value failed for type (unset)")
	return cpp.Value{}, false
}

// dynBinary applies an operator to operands whose types are known only now.
func (a *actor) dynBinary(e *luna.Expr, x, y cpp.Value) cpp.Value {
	num := func(t cpp.Type) bool { return t == cpp.Int || t == cpp.Real }
	if !num(x.Type) || !num(y.Type) || e.Op == luna.OpMod && (x.Type == cpp.Real || y.Type == cpp.Real) {
		if a.err == nil {
			op := opText[e.Op]
			a.failAt(e.Pos, fmt.Sprintf("%s cannot be applied to %s and %s", op, describe[x.Type],
				describe[y.Type]),
				"Unsupported operand types: "+typeNames[x.Type]+" "+op+" "+typeNames[y.Type])
		}
		return cpp.Value{}
	}
	if x.Type == cpp.Int && y.Type == cpp.Int {
		p, q := x.Int(), y.Int()
		switch e.Op {
		case luna.OpAdd:
			return cpp.IntValue(p + q)
		case luna.OpSub:
			return cpp.IntValue(p - q)
		case luna.OpMul:
			return cpp.IntValue(p * q)
		case luna.OpDiv, luna.OpMod:
			if q == 0 {
				a.divZero(e.Pos)
				return cpp.Value{}
			}
			if e.Op == luna.OpDiv {
				return cpp.IntValue(int32(int64(p) / int64(q)))
			}
			return cpp.IntValue(int32(int64(p) % int64(q)))
		}
		return cpp.IntValue(b2i(holds(e.Op, p, q)))
	}
	p, q := number(x), number(y)
	switch e.Op {
	case luna.OpAdd:
		return cpp.RealValue(p + q)
	case luna.OpSub:
		return cpp.RealValue(p - q)
	case luna.OpMul:
		return cpp.RealValue(p * q)
	case luna.OpDiv:
		return cpp.RealValue(p / q)
	}
	return cpp.IntValue(b2i(holds(e.Op, p, q)))
}

func number(v cpp.Value) float64 {
	if v.Type == cpp.Int {
		return float64(v.Int())
	}
	return v.Real()
}

func (a *actor) compare(e *luna.Expr, v *env) bool {
	switch {
	case e.A.Type == luna.String || e.B.Type == luna.String:
		return holds(e.Op, a.stringOperand(e.A, v), a.stringOperand(e.B, v))
	case e.A.Type == luna.Real || e.B.Type == luna.Real:
		return holds(e.Op, a.evalReal(e.A, v), a.evalReal(e.B, v))
	case e.A.Type == luna.Dyn && e.B.Type == luna.Dyn:
		d, _ := a.evalDyn(&luna.Expr{Op: e.Op, Type: luna.Dyn, A: e.A, B: e.B, Pos: e.Pos}, v)
		return d.Type == cpp.Int && d.Int() != 0
	}
	return holds(e.Op, a.evalInt(e.A, v), a.evalInt(e.B, v))
}

// stringOperand is an operand of a comparison of strings: a DF among them must hold a string.
func (a *actor) stringOperand(e *luna.Expr, v *env) string {
	if e.Op == luna.OpInput || e.Op == luna.OpOutput {
		if d := a.read(e, v); d.Type != cpp.String {
			a.wrongType(e, v, "string", d.Type)
			return ""
		}
	}
	return a.evalString(e, v)
}

func holds[T int32 | float64 | string](op luna.Op, x, y T) bool {
	switch op {
	case luna.OpLT:
		return x < y
	case luna.OpLE:
		return x <= y
	case luna.OpGT:
		return x > y
	case luna.OpGE:
		return x >= y
	case luna.OpEQ:
		return x == y
	}
	return x != y
}

var opText = map[luna.Op]string{luna.OpAdd: "+", luna.OpSub: "-", luna.OpMul: "*", luna.OpDiv: "/",
	luna.OpMod: "%", luna.OpLT: "<",
	luna.OpLE: "<=", luna.OpGT: ">", luna.OpGE: ">=", luna.OpEQ: "==", luna.OpNE: "!="}

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

func (a *actor) divZero(pos luna.Pos) {
	if a.err == nil {
		a.failAt(pos, "division by zero", "division by zero")
		a.err.Signal = 8
	}
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
	n := len(a.n.eng.nodes)
	if n == 1 {
		return 0, 0
	}
	switch r.Loc.Kind {
	case luna.LocCyclic:
		return a.modNode(r.Loc.Expr, &env{f: v.f, c: v.c, outs: v.outs, idx: id, base: base}), 0
	case luna.LocReplicatingAll:
		return 0, 1
	case luna.LocReplicating:
		k := int(a.evalInt(r.Loc.Expr, &env{f: v.f, c: v.c, outs: v.outs, idx: id, base: base}))
		if k <= 0 {
			k = 1
		}
		return 0, k
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

func unsetText(e *luna.Expr) string {
	if e.Op == luna.OpUnset && e.S != "" {
		return e.S
	}
	return "the expression has no value"
}
