package luna

import (
	"cmp"
	"iter"
	"slices"
)

// symKind is what a name means.
type symKind uint8

const (
	symInt symKind = iota // counters and value parameters
	symReal
	symString
	symNF    // hidden int parameter, for locator maps only
	symParam // name parameter
	symDF
	symLabel
	symLet
)

type symbol struct {
	id    int
	kind  symKind
	name  string
	off   int32
	block *Block
	slot  int
	used  bool
	let   *expr  // symLet: the definition without let variables
	def   *scope // symLet: where the definition stands

	// For the warning about names that nothing initialises.
	read, init bool
	readOff    int32
}

func (s *symbol) isDF() bool { return s.kind == symParam || s.kind == symDF || s.kind == symLabel }

// edge says that sym was passed for a name parameter.
type edge struct {
	sym, param *symbol
	off        int32
}

// scope is where names are looked up. A block has one, and so does a let, which has no frame of its own.
type scope struct {
	parent *scope
	syms   map[string]*symbol
	block  *Block
}

func (c *checker) newScope(parent *scope, b *Block) *scope {
	return &scope{parent, map[string]*symbol{}, b}
}

func (c *checker) newSymbol(kind symKind, n nameAt, b *Block, slot int) *symbol {
	c.symbols++
	return &symbol{id: c.symbols, kind: kind, name: n.name, off: n.off, block: b, slot: slot}
}

// find returns the nearest declaration that ok accepts, or nil.
func (sc *scope) find(name string, ok func(*symbol) bool) *symbol {
	for ; sc != nil; sc = sc.parent {
		if s := sc.syms[name]; s != nil && (ok == nil || ok(s)) {
			return s
		}
	}
	return nil
}

// visible lists the names the user may have meant.
func (sc *scope) visible() iter.Seq[string] {
	return func(yield func(string) bool) {
		for s := sc; s != nil; s = s.parent {
			for n := range s.syms {
				if !yield(n) {
					return
				}
			}
		}
	}
}

// declare enters the names of a block: its df line, then the labels of its calls, which are names like any
// others.
func (c *checker) declare(b *block, sc *scope) {
	for _, n := range b.df {
		if old := sc.syms[n.name]; old != nil {
			what := map[bool]string{true: "name", false: "parameter or counter"}[old.kind == symDF]
			c.fault(StageRecom, n.off, "the other one is at "+c.pos(old.off).String(),
				"%s is already a %s of this block", n.name, what)
		}
		s := c.newSymbol(symDF, n, sc.block, -1)
		sc.syms[n.name] = s
		c.names = append(c.names, s)
		c.dfs = append(c.dfs, s)
	}
	c.declareLabels(b, sc)
}

// declareLabels also looks into lets: their statements belong to the block around them.
func (c *checker) declareLabels(b *block, sc *scope) {
	for _, st := range b.stmts {
		if st.kind == sLet && !hasDF(st.body) {
			c.declareLabels(st.body, sc)
		}
		if st.kind != sCall || st.label == nil {
			continue
		}
		name := st.label.name
		switch old := sc.syms[name]; {
		case old == nil:
			s := c.newSymbol(symLabel, nameAt{name, st.label.off}, sc.block, -1)
			sc.syms[name] = s
			c.names = append(c.names, s)
		case !old.isDF():
			c.fault(StageRecom, st.label.off, "labels are names; choose another one",
				"label %s has the name of a parameter or counter", name)
		}
	}
}

func hasDF(b *block) bool { return len(b.df) > 0 }

// resolver makes resolved copies of expressions.
type resolver struct {
	c     *checker
	sc    *scope
	stage Stage // stage of messages about unknown names
	ivars map[string]indexVar
	nf    bool    // hidden parameters may be used (locator maps)
	rule  bool    // in a place where LuNA does not substitute let variables
	let   *symbol // the let variable whose definition is resolved: only declarations count in it
	owner string  // the counter of the loop to which a rule belongs
	at    int32   // if not negative, the position that all nodes get
}

type indexVar struct {
	k      int
	actual *expr
}

// resolve copies e with names bound and let variables replaced.
func (r *resolver) resolve(e *expr) *expr {
	if e == nil {
		return nil
	}
	n := *e
	if r.at >= 0 {
		n.off, n.opOff = r.at, r.at
	}
	if r.let != nil && !r.c.mayExpand(n.off) {
		return badExpr(n.off)
	}
	if e.op == xID {
		return r.id(&n)
	}
	n.a, n.b, n.c = r.resolve(e.a), r.resolve(e.b), r.resolve(e.c)
	return n.seal()
}

func (r *resolver) list(es []*expr) []*expr {
	inner := *r
	inner.stage = StageRecom
	return each(es, inner.resolve)
}

// each is what f makes of a list.
func each(es []*expr, f func(*expr) *expr) (out []*expr) {
	for _, e := range es {
		out = append(out, f(e))
	}
	return out
}

// maxExpandedLets bounds the growth of let variables that use each other.
const maxExpandedLets = 200_000

// mayExpand counts a node created by substitution.
func (c *checker) mayExpand(off int32) bool {
	if c.expanded++; c.expanded == maxExpandedLets {
		c.fault(StageLet, off, "", "let variables expand to more than %d operations", maxExpandedLets)
	}
	return c.expanded < maxExpandedLets
}

func (r *resolver) bad(off int32, stage Stage, hint, format string, args ...any) *expr {
	r.c.fault(stage, off, hint, format, args...)
	return badExpr(off)
}

func notLet(s *symbol) bool { return s.kind != symLet }

// id binds the name of n, which is a copy whose indices are still unresolved.
func (r *resolver) id(n *expr) *expr {
	if v, ok := r.ivars[n.name]; ok {
		if len(n.idx) > 0 {
			return r.bad(n.off, StageCPP, "", "%s is an index variable of the rule and cannot be indexed", n.name)
		}
		return (&expr{op: xIndexVar, off: n.off, i: int64(v.k), a: v.actual}).seal()
	}
	var s *symbol
	if r.let != nil {
		s = r.sc.find(n.name, notLet)
		if there := r.let.def.find(n.name, notLet); there != nil && there != s {
			r.c.warn(StageLet, n.off, "choose different names",
				"in the definition of the let variable %s, %s means the one declared at %s here, not the one at %s",
				r.let.name, n.name, r.c.pos(s.off), r.c.pos(there.off))
		}
	} else if s = r.sc.find(n.name, nil); s != nil && s.kind == symLet {
		if outer := r.sc.find(n.name, notLet); r.rule && outer != nil {
			r.c.warn(StageLet, n.off, "choose another name for the let variable",
				"%s means the name declared at %s here: let variables are not substituted in this place", n.name,
				r.c.pos(outer.off))
			s = outer
		} else {
			return r.substitute(n, s)
		}
	}
	n.idx = r.list(n.idx)
	if s == nil {
		if n.name == "all" && len(n.idx) == 0 {
			return (&expr{op: xInt, off: n.off, name: "all", i: -1}).seal()
		}
		hint := r.c.didYouMean(n.name, r.sc.visible())
		if r.rule && r.owner == n.name {
			hint = "rules after a loop's block belong to the loop, which is outside of its counter; write them on a " +
				"statement of the body"
		} else if r.c.defs[n.name] != nil {
			hint = n.name + " is a sub or routine, not a data fragment"
		} else if hint == "" {
			hint = "declare it with df " + n.name + "; at the beginning of the block"
		}
		return r.bad(n.off, r.stage, hint, "unknown name %s", n.name)
	}
	if s.kind == symNF && !r.nf {
		return r.bad(n.off, StageRecom, "make it an int parameter to use it elsewhere",
			"nfparam %s can be used in locator maps only", n.name)
	}
	n.sym = s
	return n.seal()
}

// substitute replaces a let variable. As in LuNA the names in its definition mean what they mean at the place
// of use.
func (r *resolver) substitute(n *expr, s *symbol) *expr {
	if s.let.op == xBad {
		return badExpr(n.off)
	}
	inner := *r
	inner.let, inner.at = s, n.off
	e := *s.let
	if len(n.idx) == 0 {
		return inner.resolve(&e)
	}
	if e.op != xID {
		kind := cmp.Or(map[exprOp]string{xInt: "iconst", xReal: "rconst", xString: "sconst"}[e.op], "expression")
		return r.bad(n.off, StageLet, n.name+" stands for "+srcText(&e)+", which cannot be indexed",
			"substitution of %s instead of id is not allowed", kind)
	}
	base := inner.resolve(&expr{op: xID, off: n.off, name: e.name, idx: e.idx})
	if base.op == xID {
		base.idx = slices.Concat(base.idx, r.list(n.idx))
		base.seal()
	}
	return base
}

// lets enters the definitions of a let, each of which may use the ones before it.
func (c *checker) lets(st *stmt, outer *scope) *scope {
	sc := outer
	for _, d := range st.lets {
		s := c.newSymbol(symLet, d.nameAt, outer.block, -1)
		s.let, s.def = c.expandLets(d.e, sc), sc
		if l := sc.find(d.name, nil); l != nil && l.kind == symLet {
			c.warn(StageLet, d.off, "choose another name",
				"let variable %s hides the one at %s; LuNA would substitute that one", d.name, c.pos(l.off))
		}
		sc = c.newScope(sc, outer.block)
		sc.syms[d.name] = s
	}
	return sc
}

// expandLets copies e with the let variables visible in sc replaced and all other names left alone.
func (c *checker) expandLets(e *expr, sc *scope) *expr {
	if e == nil {
		return nil
	}
	if !c.mayExpand(e.off) {
		return badExpr(e.off)
	}
	n := *e
	if e.op != xID {
		n.a, n.b, n.c = c.expandLets(e.a, sc), c.expandLets(e.b, sc), c.expandLets(e.c, sc)
		return &n
	}
	n.idx = each(e.idx, func(i *expr) *expr { return c.expandLets(i, sc) })
	s := sc.find(e.name, nil)
	if s == nil || s.kind != symLet {
		return &n
	}
	if len(n.idx) == 0 {
		return c.expandLets(s.let, nil)
	}
	if s.let.op != xID {
		c.fault(StageLet, e.off, "", "substitution of an expression instead of id is not allowed")
		return badExpr(e.off)
	}
	n.name = s.let.name
	n.idx = slices.Concat(s.let.idx, n.idx)
	return &n
}
