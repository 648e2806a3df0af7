package luna

import (
	"fmt"
	"maps"

	"github.com/whyslow/whyslow/internal/words"
)

// block lowers a block into b. env holds the rules in force in it.
func (c *checker) block(in *block, sc *scope, env *ruleEnv, b *Block) {
	c.declare(in, sc)
	c.stmts(in, sc, env, b)
}

func (c *checker) stmts(in *block, sc *scope, env *ruleEnv, b *Block) {
	for _, s := range in.stmts {
		switch s.kind {
		case sLet:
			inner := c.newScope(c.lets(s, sc), b)
			if hasDF(s.body) {
				c.declare(s.body, inner)
			}
			for _, r := range s.body.rules {
				c.warn(StageLet, r.off, "", "rules after a let have no effect")
			}
			c.stmts(s.body, inner, env, b)
		case sCall:
			c.call(s, sc, env, b)
		case sFor, sIf:
			c.loopOrIf(s, sc, env, b)
		case sWhile:
			c.while(s, sc, env, b)
		}
	}
}

// begin creates the statement and the context to lower it in.
func (c *checker) begin(s *stmt, kind CodeKind, sc *scope, env *ruleEnv, b *Block) *stmtCtx {
	st := c.newStmt(kind, s.off, s.line, s.text(), b)
	b.Stmts = append(b.Stmts, st)
	return &stmtCtx{c: c, st: st, sc: sc, frame: b, env: c.rules(s.rules, s.letter(), env)}
}

func (c *checker) loopOrIf(s *stmt, sc *scope, env *ruleEnv, b *Block) {
	kind, name := IfCond, "if"
	if s.kind == sFor {
		kind, name = ForLoop, "for "+s.name
	}
	x := c.begin(s, kind, sc, env, b)
	x.counter = s.name
	st := x.st
	st.Code = c.code(kind, st, name, st.Pos)
	x.home(s, nil)
	x.requests(s)
	if s.kind == sFor {
		x.noteShadow(s)
		st.Lo = x.wantInt(s.e1, false, "bound of for")
		st.Hi = x.wantInt(s.e2, false, "bound of for")
	} else {
		st.Cond = x.wantInt(s.e1, false, "condition of if")
	}
	x.effects(s)
	st.Waves = x.grouped(x.homeEnd)
	st.Body = c.newBlock(b, b.Sub, st)
	inner := c.newScope(sc, st.Body)
	if s.kind == sFor {
		c.counter(s, inner, st.Body)
	}
	c.block(s.body, inner, x.env, st.Body)
	x.warnRules(env)
}

// counter declares a loop's counter in the scope of its body.
func (c *checker) counter(s *stmt, sc *scope, b *Block) {
	sc.syms[s.name] = c.newSymbol(symInt, nameAt{s.name, s.nameOff}, b, 0)
	b.Values = []string{s.name}
	b.Frame = true
}

// noteShadow warns if LuNA would have substituted a let variable for a counter.
func (x *stmtCtx) noteShadow(s *stmt) {
	if l := x.sc.find(s.name, nil); l != nil && l.kind == symLet {
		x.c.warn(StageLet, s.nameOff, "choose another name for one of them",
			"counter %s hides the let variable at %s; LuNA would substitute that inside the loop", s.name,
			x.c.pos(l.off))
	}
}

func (c *checker) while(s *stmt, sc *scope, env *ruleEnv, b *Block) {
	x := c.begin(s, WhileLoop, sc, env, b)
	st := x.st
	st.Code = c.code(WhileLoop, st, "while "+s.name, st.Pos)
	st.Body = c.newBlock(b, b.Sub, st)
	x.noteShadow(s)
	// Everything except the start is evaluated in an iteration, where the counter is known but the names of the
	// body are not.
	outside := x.sc
	inner := c.newScope(sc, st.Body)
	c.counter(s, inner, st.Body)
	x.sc, x.frame = inner, st.Body
	x.home(s, nil)
	x.sc, x.frame = outside, b
	st.Start = x.wantInt(s.e2, false, "start of while")
	st.StartWaves = x.waves(x.homeEnd, len(st.Inputs))
	start := len(st.Inputs)
	x.sc, x.frame = inner, st.Body
	x.keys = map[string]int{}
	x.requests(s)
	st.Cond = x.wantInt(s.e1, false, "condition of while")
	if out := x.df(s.out, false, "the result of while"); out != nil {
		x.output(out)
	} else {
		st.Outs, x.outExprs = append(st.Outs, &DFRef{Name: &NameRef{}}), append(x.outExprs, nil)
	}
	x.effects(s)
	st.Waves = x.grouped(start)
	// The names of the body get their own scope, so that they cannot be confused with those of the condition.
	body := c.newScope(sc, st.Body)
	body.syms[s.name] = inner.syms[s.name]
	c.block(s.body, body, x.env, st.Body)
	x.warnRules(env)
}

// wantInt lowers an expression as written for control; rule says that it stands in a behaviour block.
func (x *stmtCtx) wantInt(e *expr, rule bool, where string) *Expr {
	r := x.value(e, rule)
	if r.text {
		x.c.fault(StageCPP, e.off, "", "a string stands where an int is wanted (%s)", where)
		return unset(x.c.pos(e.off))
	}
	return x.control(r)
}

// output makes a resolved id an output of the CF.
func (x *stmtCtx) output(e *expr) int {
	e.sym.init = true
	key := keyText(e)
	r := x.ref(e)
	k := len(x.st.Outs)
	if _, twice := x.outs[key]; twice {
		x.c.warn(StageRecom, e.off, "a data fragment gets its value once",
			"this call initialises %s twice; running it will fail", r.Src)
	} else {
		put(&x.outs, key, k)
	}
	x.st.Outs = append(x.st.Outs, r)
	x.outExprs = append(x.outExprs, e)
	return k
}

func (c *checker) call(s *stmt, sc *scope, env *ruleEnv, b *Block) {
	d := c.defs[s.name]
	if d == nil {
		hint := c.didYouMean(s.name, maps.Keys(c.defs))
		if hint == "" {
			hint = "define sub " + s.name + " or import it"
		}
		c.fault(StageRecom, s.nameOff, hint, "unknown sub or routine %s", s.name)
		return
	}
	kind := Atomic
	if d.kind == defSub {
		kind = SubCall
	}
	x := c.begin(s, kind, sc, env, b)
	st := x.st
	if kind == SubCall {
		st.Sub = d.sub
		st.Code = c.code(SubCall, d.sub, d.sub.Name, d.sub.Pos)
	} else {
		st.Routine = d.routine
		if d.routine.ID < 0 {
			d.routine.ID = len(c.prog.Routines)
			c.prog.Routines = append(c.prog.Routines, d.routine)
		}
		st.Code = c.code(Atomic, d.routine, d.routine.Name, d.routine.Pos)
	}
	if len(s.args) != len(d.params) {
		c.fault(StageRecom, s.nameOff, "it is defined at "+c.pos(d.name.off).String(),
			"%s takes %s, %d given", s.name, words.Count(len(d.params), "argument"), len(s.args))
	}
	label := x.label(s)
	x.home(s, label)
	x.requests(s)
	if label != nil {
		st.Label, st.LabelName = x.nameRef(label), label.name
		st.LabelIdx = x.indices(label.idx)
	}
	if len(s.args) == len(d.params) {
		for i, a := range s.args {
			x.arg(d, i, a)
		}
	}
	st.NArgOuts = len(st.Outs)
	for _, id := range x.dfs(s.tokens, false, "initialised") {
		x.output(id)
	}
	x.effects(s)
	if kind == SubCall {
		x.nfArgs(s)
	}
	st.Waves = x.grouped(x.homeEnd)
	x.warnOverlap()
	x.warnRules(env)
}

// label resolves the label of a call, nil without one.
func (x *stmtCtx) label(s *stmt) *expr {
	if s.label == nil {
		return nil
	}
	e := *s.label
	sym := x.sc.find(e.name, (*symbol).isDF)
	e.idx = x.resolver(StageRecom).list(e.idx)
	for _, i := range e.idx {
		if i.kind == kBad {
			return nil
		}
	}
	if sym == nil { // its name was taken; already reported
		return nil
	}
	e.sym = sym
	return &e
}

// arg lowers argument i.
func (x *stmtCtx) arg(d *def, i int, e *expr) {
	q := d.params[i]
	a := Arg{Kind: q.kind, Out: -1}
	where := fmt.Sprintf("argument %d of %s", i+1, d.name.name)
	st := x.st
	switch {
	case q.kind == ValueParam && d.kind == defSub:
		x.c.fault(StageCPP, e.off, "declare the parameter as name",
			"%s: a sub cannot be called with a value parameter", where)
	case q.kind == NameParam:
		if e.op != xID {
			x.c.fault(StageCPP, e.off, "", "%s must be a name, not %s", where, describe(e))
			break
		}
		id := x.df(e, false, "passed as a name")
		if id == nil {
			break
		}
		if d.kind != defSub {
			a.Out = x.output(id)
			a.Name, a.Idx = st.Outs[a.Out].Name, st.Outs[a.Out].Idx
			break
		}
		a.Name, a.Idx = x.nameRef(id), x.indices(id.idx)
		x.c.edges = append(x.c.edges, edge{id.sym, d.syms[i], id.off})
	default:
		r := x.value(e, false)
		x.data = d.kind != defSub
		a.Expr = x.argExpr(r, q.kind, where)
		x.data = false
	}
	st.Args = append(st.Args, a)
}

// argExpr lowers the resolved argument r for a parameter of kind to.
func (x *stmtCtx) argExpr(r *expr, to ParamKind, where string) *Expr {
	switch to {
	case IntParam, RealParam:
		want := Int
		if to == RealParam {
			want = Real
		}
		if r.text {
			x.c.fault(StageCPP, r.off, "", "a string is given where %s is wanted (%s)", article(want), where)
			return unset(x.c.pos(r.off))
		}
		return x.number(r, want)
	case StringParam:
		return x.text(r)
	}
	if r.op == xID && r.sym.isDF() {
		return x.lower(r, Dyn)
	}
	if r.text {
		return x.text(r)
	}
	return x.lower(r, Dyn)
}
