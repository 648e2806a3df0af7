package luna

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
)

// Rules for the same DFs in several subs. A sub that is given a DF does not know its caller's rules: without
// one of its own it looks on node 0. Where the rules disagree the program waits for ever on more than one
// node.

// LocRule is a locator map as written: locator_cyclic a[i][j] => i + 1.
type LocRule struct {
	Pos         Pos
	span        span
	replicating bool
	vars        []string // i, j
	expr        string
	uses        []string // names in expr
}

// For is the rule for a name with so many indices, the last of those that the rule has; "" where the rule
// needs what is not known there.
func (r *LocRule) For(name string, indices int) string {
	vars := make([]string, indices)
	for i := range vars {
		if k := len(r.vars) - indices + i; k >= 0 {
			vars[i] = r.vars[k]
		}
	}
	for _, u := range r.uses {
		if !slices.Contains(vars, u) {
			return ""
		}
	}
	for i := range vars {
		for n := 0; vars[i] == ""; n++ {
			if v := "n" + strconv.Itoa(n); !slices.Contains(vars, v) {
				vars[i] = v
			}
		}
		name += "[" + vars[i] + "]"
	}
	keyword := "locator_cyclic "
	if r.replicating {
		keyword = "locator_replicating "
	}
	return keyword + name + " => " + r.expr
}

// locRule is a map rule as kept with the references that it places.
func (c *checker) locRule(m *mapRule) *LocRule {
	if m.told == nil {
		m.told = &LocRule{Pos: c.pos(m.r.off), span: c.span(m.r.off, m.r.end), replicating: m.replicating,
			expr: srcText(m.r.e)}
		for _, v := range m.r.ids[0].idx {
			m.told.vars = append(m.told.vars, v.name)
		}
		var walk func(e *expr)
		walk = func(e *expr) {
			if e == nil {
				return
			}
			if e.op == xID && !(m.replicating && e.name == "all") {
				m.told.uses = append(m.told.uses, e.name)
			}
			for _, x := range append([]*expr{e.a, e.b, e.c}, e.idx...) {
				walk(x)
			}
		}
		walk(m.r.e)
	}
	return m.told
}

// placing is a reference to DFs of a declared name, by a statement.
type placing struct {
	st    *Stmt
	ref   *DFRef
	fixed int // indices that its name stands for already
}

// SubOf is the sub in which a statement stands.
func (st *Stmt) SubOf() *Sub {
	if st.Block == nil {
		return st.Sub
	}
	return st.Block.Sub
}

// use is a reference to DFs of a declared name: for what it is used.
type use struct {
	how useHow
	at  int // order
	placing
	lost *Lost
}

type useHow uint8

const (
	usePost useHow = iota
	useRead
	usePush
	useWait // for a push
	useLost // made, and not stored
)

// warnUses warns about reads of DFs that are made and never come.
func (c *checker) warnUses() {
	uses, n := map[origin][]use{}, 0
	for _, st := range c.prog.Stmts {
		add := func(how useHow, b *Block, r *DFRef, l *Lost) {
			if o, ok := originFrom(b, r.Name); ok {
				uses[o] = append(uses[o], use{how, n, placing{st: st, ref: r}, l})
				n++
			}
		}
		for i := range st.Effects {
			switch f := &st.Effects[i]; f.Kind {
			case Post:
				add(usePost, st.frame(), f.Ref, nil)
			case Push:
				add(usePush, st.frame(), f.Ref, nil)
			}
		}
		for _, l := range st.Lost {
			add(useLost, st.frame(), l.Ref, l)
		}
		for k, in := range st.Inputs {
			if in.Push {
				add(useWait, st.frame(), in.Ref, nil)
			} else {
				add(useRead, st.asksIn(k), in.Ref, nil)
			}
		}
	}
	misplaced, lost, passes := map[*DFRef]bool{}, map[any]bool{}, c.prog.passes()
	for decl := range c.prog.Decls {
		var all []use
		for o, fixed := range passes.slices(DeclID(decl)) {
			for _, u := range uses[o] {
				u.fixed = fixed
				all = append(all, u)
			}
		}
		slices.SortFunc(all, func(a, b use) int { return cmp.Compare(a.at, b.at) })
		notePlaces(all)
		c.warnMisplaced(all, misplaced)
		c.warnLost(all, lost)
	}
}

// notePlaces notes at references to DFs of a declared name where the other side places them by other rules:
// the makers, for those that read, and the readers, for those that make.
func notePlaces(all []use) {
	rules := map[useHow]map[*LocRule]bool{usePost: {}, useRead: {}}
	other := map[useHow]useHow{usePost: useRead, useRead: usePost}
	for _, u := range all {
		if rules[u.how] != nil {
			rules[u.how][u.ref.Loc.Rule] = true
		}
	}
	for _, u := range all {
		theirs, own := rules[other[u.how]], u.ref.Loc.Rule
		if rules[u.how] == nil || len(theirs) == 0 || len(theirs) == 1 && theirs[own] {
			continue
		}
		if u.ref.Places == nil {
			u.ref.Places = map[*LocRule]bool{}
		}
		maps.Copy(u.ref.Places, theirs)
	}
}

// Missing is the rule to add where a reference has none and those of the other side come to one; ""
// otherwise.
func (r *DFRef) Missing() (rule string) {
	if r.Loc.Rule != nil {
		return ""
	}
	for other := range r.Places {
		if other == nil {
			continue
		}
		x := other.For(r.Name.Name, len(r.Idx))
		if x == "" || rule != "" && x != rule {
			return ""
		}
		rule = x
	}
	return rule
}

// warnMisplaced warns about references that look for DFs on another node than where every statement that
// makes them stores them. It is silent where a rule needs more than indices and constants. all are the
// references to DFs of a declared name.
func (c *checker) warnMisplaced(all []use, warned map[*DFRef]bool) {
	var makers, readers []placing
	for _, u := range all {
		switch u.how {
		case usePost:
			makers = append(makers, u.placing)
		case useRead:
			readers = append(readers, u.placing)
		}
	}
	for _, r := range readers {
		if m := apartFromAll(makers, &r); m != nil && !warned[r.ref] {
			warned[r.ref] = true
			c.warnApart(m, &r)
		}
	}
}

// apartFromAll gives one of the makers if a reader looks elsewhere than each of those that may make its DFs
// stores them; nil if that is not so, or not sure.
func apartFromAll(makers []placing, reader *placing) (first *placing) {
	for i := range makers {
		m := &makers[i]
		switch {
		case !meet(m, reader):
			continue
		case !apart(m, reader):
			return nil
		case first == nil:
			first = m
		}
	}
	return first
}

// constant gives an index of a DF, counted from the first of its declared name, where the source tells it.
func (p *placing) constant(k int) (int32, bool) {
	if k -= p.fixed; k < 0 || p.ref.Idx[k].Op != OpInt {
		return 0, false
	}
	return int32(p.ref.Idx[k].I), true
}

func (p *placing) indices() int { return p.fixed + len(p.ref.Idx) }

// meet tells whether two references may be to the same DF.
func meet(x, y *placing) bool {
	if x.fixed == several || y.fixed == several || x.indices() != y.indices() {
		return true // what is not understood must not lead to a warning
	}
	for k := range x.indices() {
		a, known := x.constant(k)
		if b, too := y.constant(k); known && too && a != b {
			return false
		}
	}
	return true
}

// maxIndices bounds for how many indices a place is worked out, each from 0 to mostIndex, on up to mostNodes.
const (
	maxIndices = 4
	mostIndex  = 4
	mostNodes  = 5
)

// apart tells whether two references give different nodes for one of the DFs that they may share; false where
// the source does not tell.
func apart(x, y *placing) bool {
	if x.fixed == several || y.fixed == several || x.indices() != y.indices() || x.indices() > maxIndices {
		return false
	}
	idx, differ := make([]int32, x.indices()), false
	var try func(k int) bool // false where a place cannot be worked out
	try = func(k int) bool {
		if k < len(idx) {
			first, last := int32(0), int32(mostIndex)
			for _, p := range []*placing{x, y} {
				if v, known := p.constant(k); known {
					first, last = v, v
				}
			}
			for idx[k] = first; idx[k] <= last; idx[k]++ {
				if !try(k + 1) {
					return false
				}
			}
			return true
		}
		a, ok := x.place(idx)
		b, too := y.place(idx)
		for nodes := int32(2); nodes <= mostNodes; nodes++ {
			differ = differ || (a-b)%nodes != 0
		}
		return ok && too
	}
	return try(0) && differ
}

// place is the number that gives the node of a DF; false where only a run tells.
func (p *placing) place(idx []int32) (int32, bool) {
	switch l := &p.ref.Loc; l.Kind {
	case LocZero:
		return 0, true
	case LocCyclic:
		return l.Expr.of(idx[p.fixed:])
	}
	return 0, false
}

// of is the value of an expression that has nothing but indices and constants.
func (e *Expr) of(idx []int32) (int32, bool) {
	if e.Type == Long { // rare: asked at run time
		return 0, false
	}
	switch e.Op {
	case OpInt:
		return int32(e.I), true
	case OpIndex:
		return idx[e.K], true
	case OpNeg:
		v, ok := e.A.of(idx)
		return -v, ok
	case OpAdd, OpSub, OpMul, OpDiv, OpMod:
		if e.Type != Int {
			return 0, false
		}
		x, ok := e.A.of(idx)
		y, too := e.B.of(idx)
		if !ok || !too || y == 0 && (e.Op == OpDiv || e.Op == OpMod) {
			return 0, false
		}
		return Arith(e.Op, x, y), true
	}
	return 0, false
}

func (c *checker) warnApart(maker, reader *placing) {
	without, by := reader, maker
	if reader.ref.Loc.Rule != nil {
		without, by = maker, reader
	}
	hint := ""
	if without.ref.Loc.Rule == nil {
		if rule := by.ref.Loc.Rule.For(without.ref.Name.Name, len(without.ref.Idx)); rule != "" {
			hint = "add " + rule + "; to " + without.st.SubOf().Name
		}
	}
	where := func(p *placing) string {
		if r := p.ref.Loc.Rule; r != nil {
			return "by the rule at " + r.Pos.String()
		}
		return "on node 0, for lack of a rule"
	}
	c.warn(StageRecom, reader.ref.off, hint, "sub %s looks for %s %s, but %s at %s stores it %s",
		reader.st.SubOf().Name, reader.ref.Src, where(reader), maker.st.Text, maker.st.Pos, where(maker))
}

// references gives all references by which the program makes, reads and deletes DFs, each with the block in
// whose frame its name is looked up.
func (p *Program) references(yield func(st *Stmt, b *Block, r *DFRef)) {
	for _, st := range p.Stmts {
		for k, in := range st.Inputs {
			if !in.Push {
				yield(st, st.asksIn(k), in.Ref)
			}
		}
		for i := range st.Effects {
			yield(st, st.frame(), st.Effects[i].Ref)
		}
	}
}

// Replicated gives the names whose DFs are on several nodes, by some of the rules for them.
func (p *Program) Replicated() map[DeclID]bool {
	rules, all := map[origin]bool{}, map[DeclID]bool{}
	p.references(func(_ *Stmt, b *Block, r *DFRef) {
		if k := r.Loc.Kind; k == LocReplicating || k == LocReplicatingAll {
			if o, ok := originFrom(b, r.Name); ok {
				rules[o] = true
			}
		}
	})
	if len(rules) == 0 {
		return all
	}
	passes := p.passes()
	for decl := range p.Decls {
		for o := range passes.slices(DeclID(decl)) {
			all[DeclID(decl)] = all[DeclID(decl)] || rules[o]
		}
	}
	return all
}
