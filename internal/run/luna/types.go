package luna

import (
	"fmt"
	"math"
	"strconv"
)

// LuNA gives every expression a static type ("kind" here), which decides how its data fragments are read and
// what is rejected. The C++ that LuNA generates then follows C++'s own types. These differ from the kinds in
// one case: a conditional has kind int whatever its branches are. Expr.Type is the C++ type; kinds are only
// used while lowering.
type kind uint8

const (
	kInt kind = iota
	kReal
	kString
	kValue // known at run time
	kNone  // operands without a common kind
	kBad   // already reported
)

// join is the kind of an operation on a and b; it is not symmetric for values.
func join(a, b kind) kind {
	switch {
	case a == kBad || b == kBad:
		return kBad
	case a == b:
		return a
	case a == kNone || b == kNone:
		return kNone
	case b == kValue:
		return a
	case a == kValue && b != kString:
		return b
	case a != kString && b != kString:
		return kReal
	}
	return kNone
}

// seal sets the kind of a resolved expression whose operands are sealed.
func (e *expr) seal() *expr {
	e.kind = e.kindOf()
	e.text = e.isText()
	return e
}

func badExpr(off int32) *expr { return (&expr{op: xBad, off: off}).seal() }

// scalars are the kinds of what is no DF.
var scalars = map[symKind]kind{symInt: kInt, symNF: kInt, symReal: kReal, symString: kString}

func (e *expr) kindOf() kind {
	for _, o := range []*expr{e.a, e.b, e.c} {
		if o != nil && o.kind == kBad {
			return kBad
		}
	}
	switch e.op {
	case xCond:
		if e.b.text || e.c.text { // rejected by LuNA; here it is text
			return kString
		}
		return kInt
	case xInt, xToInt, xIndexVar:
		return kInt
	case xReal, xToReal:
		return kReal
	case xString, xToString:
		return kString
	case xNeg:
		return e.a.kind
	case xBinary:
		switch e.name {
		case "+", "-", "*", "/":
			return join(e.a.kind, e.b.kind)
		}
		return kInt
	case xID:
		k, scalar := scalars[e.sym.kind]
		if scalar && len(e.idx) == 0 {
			return k
		}
		return kValue
	}
	return kBad
}

// isText reports whether e is a string, or a + or a conditional with a string in it.
func (e *expr) isText() bool {
	switch e.op {
	case xBinary:
		return e.name == "+" && (e.a.text || e.b.text)
	case xNeg:
		return false
	}
	return e.kind == kString
}

// The constructors below fold constants.

func intConst(v int32, pos Pos) *Expr { return &Expr{Op: OpInt, Type: Int, I: int64(v), Pos: pos} }

// literal has the type that C++ gives an integer literal.
func literal(v int64, pos Pos) *Expr {
	if v == int64(int32(v)) {
		return intConst(int32(v), pos)
	}
	return &Expr{Op: OpInt, Type: Long, I: v, Pos: pos}
}

func realConst(v float64, pos Pos) *Expr {
	return &Expr{Op: OpReal, Type: Real, F: v, Pos: pos}
}
func stringConst(v string, pos Pos) *Expr {
	return &Expr{Op: OpString, Type: String, S: v, Pos: pos}
}

// round6 rounds a real literal the way LuNA prints it into C++.
func round6(v float64) float64 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'f', 6, 64), 64)
	return r
}

func toInt(e *Expr) *Expr {
	if e.Type == Int {
		return e
	}
	if e.Op == OpInt {
		return intConst(int32(e.I), e.Pos)
	}
	if e.Op == OpReal && e.F > math.MinInt32-1.0 && e.F < math.MaxInt32+1.0 {
		return intConst(int32(e.F), e.Pos)
	}
	return &Expr{Op: OpToInt, Type: Int, A: e, Pos: e.Pos}
}

func toReal(e *Expr) *Expr {
	if e.Type == Real {
		return e
	}
	if e.Op == OpInt {
		return realConst(float64(e.I), e.Pos)
	}
	return &Expr{Op: OpToReal, Type: Real, A: e, Pos: e.Pos}
}

func toStr(e *Expr) *Expr {
	switch {
	case e.Type == String && e.Op != OpInput && e.Op != OpOutput:
		return e
	case e.Op == OpInt:
		return stringConst(strconv.FormatInt(e.I, 10), e.Pos)
	case e.Op == OpReal:
		return stringConst(fmt.Sprintf("%f", e.F), e.Pos)
	}
	return &Expr{Op: OpToStr, Type: String, A: e, Pos: e.Pos}
}

func concat(a, b *Expr, pos Pos) *Expr {
	if a.Op == OpString && b.Op == OpString && len(a.S)+len(b.S) < 1<<16 {
		return stringConst(a.S+b.S, pos)
	}
	return &Expr{Op: OpConcat, Type: String, A: a, B: b, Pos: pos}
}

// common is the Type of an operation on a and b, which have the same Type, or Int and Long.
func common(a, b *Expr) Type {
	if b.Type == Long {
		return Long
	}
	return a.Type
}

// arith makes an arithmetic node; a and b have the same Type, or Int and Long.
func arith(op Op, a, b *Expr, pos Pos) *Expr {
	typ := common(a, b)
	switch {
	case a.Op == OpInt && b.Op == OpInt:
		// Dividing by zero, or the least int by -1, stops the program when it gets there.
		least := typ == Int && a.I == math.MinInt32 || a.I == math.MinInt64
		switch {
		case (op == OpDiv || op == OpMod) && (b.I == 0 || b.I == -1 && least):
		case typ == Int:
			return intConst(Arith(op, int32(a.I), int32(b.I)), pos)
		default:
			return &Expr{Op: OpInt, Type: Long, I: Arith(op, a.I, b.I), Pos: pos}
		}
	case a.Op == OpReal && b.Op == OpReal:
		if op != OpMod && (op != OpDiv || b.F != 0) {
			return realConst(Arith(op, a.F, b.F), pos)
		}
	}
	return &Expr{Op: op, Type: typ, A: a, B: b, Pos: pos}
}

// Arith applies + - * / or, to ints, %. Ints wrap; their division truncates toward zero and must not be by 0.
func Arith[T int32 | int64 | float64](op Op, x, y T) T {
	switch op {
	case OpAdd:
		return x + y
	case OpSub:
		return x - y
	case OpMul:
		return x * y
	case OpDiv:
		return x / y
	}
	return T(int64(x) % int64(y))
}

// Holds tells whether a comparison holds.
func Holds[T int32 | int64 | float64 | string](op Op, x, y T) bool {
	switch op {
	case OpLT:
		return x < y
	case OpLE:
		return x <= y
	case OpGT:
		return x > y
	case OpGE:
		return x >= y
	case OpEQ:
		return x == y
	}
	return x != y
}

// compare makes a comparison; a and b have the same Type, or Int and Long, or one is Dyn.
func compare(op Op, a, b *Expr, pos Pos) *Expr {
	switch {
	case a.Op == OpInt && b.Op == OpInt:
		return boolConst(Holds(op, a.I, b.I), pos)
	case a.Op == OpReal && b.Op == OpReal:
		return boolConst(Holds(op, a.F, b.F), pos)
	}
	return &Expr{Op: op, Type: Int, A: a, B: b, Pos: pos}
}

func boolConst(v bool, pos Pos) *Expr {
	if v {
		return intConst(1, pos)
	}
	return intConst(0, pos)
}

func neg(a *Expr, pos Pos) *Expr {
	switch a.Op {
	case OpInt:
		if a.Type == Int {
			return intConst(-int32(a.I), pos)
		}
		return &Expr{Op: OpInt, Type: Long, I: -a.I, Pos: pos}
	case OpReal:
		return realConst(-a.F, pos)
	}
	return &Expr{Op: OpNeg, Type: a.Type, A: a, Pos: pos}
}

// logic makes a && b or a || b; both are Int.
func logic(op Op, a, b *Expr, pos Pos) *Expr {
	if a.Op == OpInt {
		if (a.I != 0) == (op == OpOr) {
			return boolConst(op == OpOr, pos)
		}
		if b.Op == OpInt {
			return boolConst(b.I != 0, pos)
		}
	}
	return &Expr{Op: op, Type: Int, A: a, B: b, Pos: pos}
}

// conditional makes c ? a : b; c is Int, a and b have the same Type, or Int and Long.
func conditional(c, a, b *Expr, pos Pos) *Expr {
	typ := common(a, b)
	if c.Op == OpInt {
		chosen := b
		if c.I != 0 {
			chosen = a
		}
		switch {
		case chosen.Type == typ:
			return chosen
		case chosen.Op == OpInt: // as wide as the branch that was not chosen
			return &Expr{Op: OpInt, Type: typ, I: chosen.I, Pos: chosen.Pos}
		}
	}
	return &Expr{Op: OpCond, Type: typ, A: c, B: a, C: b, Pos: pos}
}
