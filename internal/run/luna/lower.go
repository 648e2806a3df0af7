package luna

import (
	"strconv"
)

var binaryOps = map[string]Op{"+": OpAdd, "-": OpSub, "*": OpMul, "/": OpDiv, "%": OpMod, "<": OpLT,
	"<=": OpLE, ">": OpGT, ">=": OpGE, "==": OpEQ, "!=": OpNE, "&&": OpAnd, "||": OpOr}

// unset replaces a faulty expression. The compilation fails, so it never runs.
func unset(pos Pos) *Expr { return &Expr{Op: OpUnset, Type: Int, Pos: pos} }

// lower turns a numeric or run-time expression into an Expr. A data fragment on its own is read as read says
// (Int, Real, or Dyn: as it is). The result has the Type that C++ would give it.
func (x *stmtCtx) lower(e *expr, read Type) *Expr {
	pos := x.c.pos(e.off)
	switch e.op {
	case xInt:
		return literal(e.i, pos)
	case xReal:
		v, err := strconv.ParseFloat(e.name, 64)
		if err != nil {
			x.c.fault(StageCPP, e.off, "", "real %s is too large", e.name)
		}
		return realConst(round6(v), pos)
	case xString:
		return x.str(e)
	case xID:
		return x.ident(e, read)
	case xIndexVar:
		if x.placing {
			return &Expr{Op: OpIndex, Type: Int, K: int(e.i), Pos: pos}
		}
		return x.int(e.a)
	case xToInt:
		return x.cast(e, Int)
	case xToReal:
		return x.cast(e, Real)
	case xToString:
		return x.text(e)
	case xNeg:
		if e.a.kind == kString || e.a.kind == kNone {
			return x.badString(e)
		}
		if e.a.op == xCond {
			read = Int
		} else if e.a.op != xID {
			read = Dyn
		}
		return neg(x.asKind(e.a, x.lower(e.a, read)), pos)
	case xBinary:
		return x.binary(e)
	case xCond:
		return x.conditional(e, read)
	}
	return unset(pos)
}

func (x *stmtCtx) str(e *expr) *Expr {
	v, cut, err := unquote(e.name)
	if err != nil {
		x.c.fault(StageCPP, e.off, "escapes are decoded twice: by JSON's rules, then by C++'s", "%s", err)
	}
	if cut {
		x.c.warn(StageCPP, e.off, "", "the string ends at the NUL in it")
	}
	return stringConst(v, x.c.pos(e.off))
}

// scalarTypes are the types of what is no DF; the others are Int.
var scalarTypes = map[symKind]Type{symReal: Real, symString: String}

// ident lowers a name: a value, or a data fragment read as read.
func (x *stmtCtx) ident(e *expr, read Type) *Expr {
	pos := x.c.pos(e.off)
	if !e.sym.isDF() {
		if len(e.idx) > 0 {
			x.c.fault(StageCPP, e.off, "", "%s is a value, not a data fragment, and cannot be indexed", e.name)
			return unset(pos)
		}
		v := &Expr{Op: OpValue, Type: scalarTypes[e.sym.kind], Pos: pos}
		x.c.fixes = append(x.c.fixes, fix{x.frame, e.sym, &v.Depth, &v.Slot})
		return v
	}
	if e.sym.kind == symLabel && !x.labelAsValue(e) {
		return unset(pos)
	}
	if x.useOuts {
		if k, ok := x.outs[keyText(e)]; ok {
			return &Expr{Op: OpOutput, Type: read, K: k, Pos: pos}
		}
	}
	k := x.input(e)
	if k < 0 {
		return unset(pos)
	}
	if x.data {
		x.st.Inputs[k].Control = false
	}
	return &Expr{Op: OpInput, Type: read, K: k, Pos: pos}
}

// labelAsValue says whether a label may be read: as in LuNA, if a data fragment of that name is visible too.
func (x *stmtCtx) labelAsValue(e *expr) bool {
	hidden := x.sc.find(e.name, func(s *symbol) bool { return s.kind == symDF || s.kind == symParam })
	if hidden == nil {
		x.c.fault(StageRecom, e.off, "the label is declared at "+x.c.pos(e.sym.off).String(),
			"%s is a label, not a data fragment", e.name)
		return false
	}
	x.c.warn(StageRecom, e.off, "rename the label; labels are names of their block",
		"%s means the label at %s here, which hides the data fragment declared at %s", e.name, x.c.pos(e.sym.off),
		x.c.pos(hidden.off))
	return true
}

// cast lowers int(e) and real(e): numbers are converted, data fragments must hold that type.
func (x *stmtCtx) cast(e *expr, to Type) *Expr {
	if e.a.text {
		x.c.fault(StageCPP, e.off, "", "a string cannot be converted to %s", to)
		return unset(x.c.pos(e.off))
	}
	return x.number(e.a, to)
}

// number lowers e and converts it to Int or Real, as C++ does.
func (x *stmtCtx) number(e *expr, to Type) *Expr {
	v := x.lower(e, to)
	switch {
	case v.Op == OpUnset:
		return v
	case v.Type == String:
		x.c.fault(StageCPP, e.off, "", "a string stands where %s is wanted", article(to))
		return unset(v.Pos)
	case to == Real:
		return toReal(v)
	case v.Op == OpInt && v.I != int64(int32(v.I)):
		x.c.warn(StageCPP, e.off, "", "%s does not fit 32 bits and becomes %d", srcText(e), int32(v.I))
	}
	return toInt(v)
}

// int lowers e for a place that wants an int.
func (x *stmtCtx) int(e *expr) *Expr { return x.number(e, Int) }

func (t Type) String() string { return [...]string{"int", "real", "string", "value", "long"}[t] }

func article(t Type) string {
	if t == Int {
		return "an int"
	}
	return "a " + t.String()
}

// operand lowers an operand of an operation whose operands have the common kind k.
func (x *stmtCtx) operand(e *expr, k kind) *Expr {
	if k == kInt || k == kReal {
		read := Int
		if k == kReal && e.op != xCond {
			read = Real
		}
		v := x.asKind(e, x.lower(e, read))
		if v.Type != Dyn {
			return v
		} else if read == Int || e.kind == kInt {
			return toInt(v)
		}
		return toReal(v)
	}
	return x.lower(e, Dyn)
}

// asKind converts a conditional that is an operand to its kind: int, whatever its branches are. v is e,
// lowered.
func (x *stmtCtx) asKind(e *expr, v *Expr) *Expr {
	if e.op == xCond && v.Type == Real {
		x.c.warn(StageCPP, e.off, "as an operand, a conditional is an int in LuNA", "%s is truncated to an int",
			srcText(e))
		return toInt(v)
	}
	return v
}

// promote makes both Real if one is.
func promote(a, b *Expr) (*Expr, *Expr) {
	isInt := func(t Type) bool { return t == Int || t == Long }
	if a.Type == Real && isInt(b.Type) {
		return a, toReal(b)
	} else if isInt(a.Type) && b.Type == Real {
		return toReal(a), b
	}
	return a, b
}

func (x *stmtCtx) badString(e *expr) *Expr {
	op := e.name
	if e.op == xNeg {
		op = "-"
	}
	x.c.fault(StageCPP, e.opOff, "", badStringOp+"%s", op)
	return unset(x.c.pos(e.off))
}

func (x *stmtCtx) binary(e *expr) *Expr {
	pos := x.c.pos(e.off)
	op := binaryOps[e.name]
	ka, kb := e.a.kind, e.b.kind
	k := join(ka, kb)
	if k == kBad {
		x.lower(e.a, Dyn)
		x.lower(e.b, Dyn)
		return unset(pos)
	}
	if ka == kString || kb == kString || k == kNone {
		return x.stringOp(e, op, ka, kb)
	}
	switch op {
	case OpAnd, OpOr:
		return logic(op, x.truth(e.a, k), x.truth(e.b, k), pos)
	}
	a, b := promote(x.operand(e.a, k), x.operand(e.b, k))
	if op >= OpLT && op <= OpNE {
		return compare(op, a, b, pos)
	}
	if op == OpMod && a.Type == Real {
		x.c.fault(StageCPP, e.opOff, "convert with int(...)", "the operands of %% must be ints")
		return unset(pos)
	}
	v := arith(op, a, b, pos)
	if op == OpMod && v.Type == Dyn {
		return toInt(v)
	}
	return v
}

// stringOp lowers an operation with a string among the operands: + concatenates, == and != compare.
func (x *stmtCtx) stringOp(e *expr, op Op, ka, kb kind) *Expr {
	stringy := func(k kind) bool { return k == kString || k == kValue }
	switch {
	case op == OpAdd:
		return x.text(e)
	case (op == OpEQ || op == OpNE) && stringy(ka) && stringy(kb):
		a := x.text(e.a)
		return compare(op, a, x.text(e.b), x.c.pos(e.off))
	case op == OpEQ || op == OpNE:
		x.c.fault(StageCPP, e.opOff, "convert with string(...)",
			"a string can be compared with a string or a data fragment only")
		return unset(x.c.pos(e.off))
	}
	return x.badString(e)
}

// truth lowers an operand of && or || to an Int that is not 0 if it holds. Unlike the condition of an if or
// of ?:, a real counts as it is, not truncated, as in C++.
func (x *stmtCtx) truth(e *expr, k kind) *Expr {
	v := x.operand(e, k)
	switch {
	case v.Type == Real:
		return compare(OpNE, v, realConst(0, v.Pos), v.Pos)
	case v.Type == Long || v.Type == Dyn && e.kind == kValue:
		return compare(OpNE, v, intConst(0, v.Pos), v.Pos)
	}
	return toInt(v)
}

func (x *stmtCtx) conditional(e *expr, read Type) *Expr {
	pos := x.c.pos(e.off)
	if e.a.text {
		return x.badString(&expr{op: xBinary, name: "?:", off: e.off, opOff: e.opOff})
	}
	var c *Expr
	if e.a.kind == kValue { // a DF counts as it is, even a real below 1; others are wanted as ints
		c = x.truth(e.a, kValue)
	} else if c = x.int(e.a); e.a.kind == kReal {
		x.c.warn(StageCPP, e.a.off, "write "+srcText(e.a)+" != 0.0", "the condition %s is truncated to an int",
			srcText(e.a))
	}
	if e.b.text || e.c.text {
		return conditional(c, x.text(e.b), x.text(e.c), pos)
	}
	kb, kc := e.b.kind, e.c.kind
	k := join(join(kInt, kb), kc)
	if kb == kValue && kc == kValue && read == Real {
		k = kReal // LuNA produces ill-typed C++ here; reading reals is what the place wants
	} else if kb == kValue && kc == kValue && read == Dyn {
		k = kValue
	}
	a, b := promote(x.operand(e.b, k), x.operand(e.c, k))
	return conditional(c, a, b, pos)
}

// text lowers e where a string is wanted: every + in it concatenates.
func (x *stmtCtx) text(e *expr) *Expr {
	pos := x.c.pos(e.off)
	switch {
	case e.op == xString:
		return x.str(e)
	case e.op == xToString && !e.a.text:
		return toStr(x.lower(e.a, Dyn))
	case e.op == xToString:
		return x.text(e.a)
	case e.op == xBinary && e.name == "+":
		a := x.text(e.a)
		return concat(a, x.text(e.b), pos)
	}
	v := x.lower(e, Dyn)
	if v.Op == OpUnset {
		return v
	}
	return toStr(v)
}
