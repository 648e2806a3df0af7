package luna

import (
	"slices"
	"sort"
)

// stmtCtx lowers one statement.
//
// Inputs are numbered as they appear; an input comes after those that its indices and its placement need.
// They come in three phases: inputs that decide where the CF goes (Home), those of a while's start, and the
// others. A reference needed again in a later phase is requested again. (For Home LuNA even requests once per
// occurrence. The number of requests matters, since programs count them.) In the last phase explicit requests
// form their own groups, in order, before the automatic ones. Each group is divided into waves by
// dependencies.
type stmtCtx struct {
	c       *checker
	st      *Stmt
	sc      *scope
	frame   *Block // whose frame the expressions are evaluated in
	env     *ruleEnv
	counter string // of a for

	keys    map[string]int // inputs of this phase by text; nil: every occurrence is an input of its own
	waits   map[string]bool
	starts  []int          // where groups of inputs begin
	data    bool           // the lowered value goes to user code
	placing bool           // a Loc is lowered: index variables are OpIndex
	outs    map[string]int // outputs by text
	useOuts bool           // outputs may be read (values of req_count)
	homeEnd int            // number of the first input that is not for Home

	outExprs  []*expr // of st.Outs
	posted    []*expr
	dropped   map[string]bool // by text
	inputSyms []*symbol
	locating  []string // references whose placement is being lowered
}

// put is m[key] = v, which makes the map when it is first needed: most statements need none.
func put[V any](m *map[string]V, key string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[key] = v
}

// ruleEnv is a behaviour block's locator maps; parent is the one of the enclosing construct.
type ruleEnv struct {
	parent *ruleEnv
	maps   map[string]*mapRule
}

type mapRule struct {
	r           *rule
	replicating bool
	used        bool
	bad         bool
	told        *LocRule // see checker.locRule
}

// find returns the rule for a name: the innermost one.
func (env *ruleEnv) find(name string) *mapRule {
	for ; env != nil; env = env.parent {
		if m := env.maps[name]; m != nil {
			m.used = true
			return m
		}
	}
	return nil
}

func (x *stmtCtx) resolver(stage Stage) *resolver {
	return &resolver{c: x.c, sc: x.sc, stage: stage, owner: x.counter, at: -1}
}

// value resolves an expression; rule says that it stands in a behaviour block.
func (x *stmtCtx) value(e *expr, rule bool) *expr {
	r := x.resolver(StageRecom)
	r.rule = rule
	return r.resolve(e)
}

// df resolves an id that must be a data fragment: a declared name, label or name parameter. It returns nil
// after a fault.
func (x *stmtCtx) df(e *expr, rule bool, what string) *expr {
	r := x.resolver(StageCPP)
	r.rule = rule
	n := r.resolve(e)
	switch {
	case n.op == xBad:
		return nil
	case n.op != xID:
		x.c.fault(StageCPP, e.off, "", "%s is %s, not a data fragment, and cannot be %s", srcText(e), describe(n),
			what)
		return nil
	case !n.sym.isDF():
		x.c.fault(StageCPP, e.off, "only data fragments can",
			"%s is a value, not a data fragment, and cannot be %s", n.name, what)
		return nil
	}
	return n
}

// dfs is df for a list; it leaves out what is faulty.
func (x *stmtCtx) dfs(ids []*expr, rule bool, what string) (found []*expr) {
	for _, id := range ids {
		if e := x.df(id, rule, what); e != nil {
			found = append(found, e)
		}
	}
	return found
}

func describe(e *expr) string {
	switch e.op {
	case xInt, xReal, xString:
		return "a constant"
	}
	return "an expression"
}

// nameRef makes the reference to the name of a resolved id.
func (x *stmtCtx) nameRef(e *expr) *NameRef {
	n := &NameRef{Param: e.sym.kind == symParam, Name: e.name}
	e.sym.used = true
	x.env.find(e.name) // a rule for an existing name is deliberate
	x.c.fixes = append(x.c.fixes, fix{x.frame, e.sym, &n.Depth, &n.Slot})
	return n
}

// control lowers a resolved expression that must be an int and does not go to user code.
func (x *stmtCtx) control(e *expr) *Expr {
	data := x.data
	x.data = false
	v := x.int(e)
	x.data = data
	return v
}

func (x *stmtCtx) indices(idx []*expr) []*Expr {
	var out []*Expr
	placing := x.placing
	x.placing = false // in indices an index variable is the actual index
	for _, i := range idx {
		out = append(out, x.control(i))
	}
	x.placing = placing
	return out
}

// ref makes a DFRef of a resolved id, without placement.
func (x *stmtCtx) ref(e *expr) *DFRef {
	return &DFRef{Name: x.nameRef(e), Idx: x.indices(e.idx), Text: canonText(e), Src: srcText(e),
		Pos: x.c.pos(e.off), off: e.off}
}

// placed makes a DFRef with its placement.
func (x *stmtCtx) placed(e *expr) *DFRef {
	r := x.ref(e)
	x.place(r, e)
	return r
}

// maxLocating bounds how many references may depend on each other for their placement.
const maxLocating = 20

// place finds the locator of r: the innermost map rule for its name, evaluated at r.
func (x *stmtCtx) place(r *DFRef, e *expr) {
	m := x.env.find(e.name)
	if m == nil || m.bad {
		return
	}
	key := keyText(e)
	if slices.Contains(x.locating, key) || len(x.locating) > maxLocating {
		x.c.fault(StageRecom, m.r.off, "", "the place of %s depends on the place of %s itself", e.name, e.name)
		m.bad = true
		return
	}
	x.locating = append(x.locating, key)
	defer func() { x.locating = x.locating[:len(x.locating)-1] }()
	v := x.mapped(m, e)
	if v == nil {
		return
	}
	r.Loc.Rule = x.c.locRule(m)
	if m.replicating && v.op == xInt && v.i == -1 {
		r.Loc.Kind = LocReplicatingAll
		return
	}
	placing := x.placing
	x.placing = true
	r.Loc.Expr = x.control(v)
	x.placing = placing
	r.Loc.Kind = LocCyclic
	if m.replicating {
		r.Loc.Kind = LocReplicating
		if k := r.Loc.Expr; k.Op == OpInt && k.I <= 0 {
			x.c.fault(StageRecom, m.r.e.off, "write all, or a number from 1", "locator_replicating with %d", k.I)
		}
	}
}

// mapped resolves the expression of map rule m for the reference (or label) e; nil after a fault.
func (x *stmtCtx) mapped(m *mapRule, e *expr) *expr {
	id := m.r.ids[0]
	if len(id.idx) != len(e.idx) {
		x.c.fault(StageRecom, e.off, "the rule is at "+x.c.pos(m.r.off).String(),
			"idx length missmatch: %s has %d indices, its locator %s has %d", srcText(e), len(e.idx), srcText(id),
			len(id.idx))
		return nil
	}
	r := x.resolver(StageRecom)
	r.nf, r.rule = true, true
	r.ivars = map[string]indexVar{}
	for k, v := range id.idx {
		r.ivars[v.name] = indexVar{k, e.idx[k]}
	}
	v := r.resolve(m.r.e)
	if v.kind == kBad {
		m.bad = true
		return nil
	}
	return v
}

// maxInputs bounds how many data fragments one CF may request (locators that depend on each other can
// multiply them).
const maxInputs = 5000

// input makes a resolved id an input, unless it already is one, and returns its number; -1 after a fault.
func (x *stmtCtx) input(e *expr) int {
	key := keyText(e)
	if k, ok := x.keys[key]; ok {
		return k
	}
	if len(x.st.Inputs) >= maxInputs {
		x.c.fault(StageRecom, e.off, "", "the statement needs more than %d data fragments", maxInputs)
		return -1
	}
	if !e.sym.read {
		e.sym.read, e.sym.readOff = true, e.off
	}
	push := x.waits[key]
	useOuts := x.useOuts
	x.useOuts = false // a request's own inputs must come before the outputs
	defer func() { x.useOuts = useOuts }()
	var r *DFRef
	if push {
		r = x.ref(e)
	} else {
		r = x.placed(e)
	}
	k := len(x.st.Inputs)
	x.inputSyms = append(x.inputSyms, e.sym)
	x.st.Inputs = append(x.st.Inputs, &Input{Ref: r, Push: push, Control: true})
	if x.keys != nil {
		x.keys[key] = k
	}
	return k
}

// group begins a group of inputs that is requested after all earlier ones.
func (x *stmtCtx) group() { x.starts = append(x.starts, len(x.st.Inputs)) }

// waves divides the inputs from number lo to hi into waves: an input comes after those that it needs.
func (x *stmtCtx) waves(lo, hi int) [][]int {
	level := make([]int, hi-lo)
	var waves [][]int
	for k := lo; k < hi; k++ {
		need := func(e *Expr) {
			walk(e, func(e *Expr) {
				if e.Op == OpInput && e.K >= lo && e.K < k {
					level[k-lo] = max(level[k-lo], level[e.K-lo]+1)
				}
			})
		}
		r := x.st.Inputs[k].Ref
		for _, i := range r.Idx {
			need(i)
		}
		need(r.Loc.Expr)
		for len(waves) <= level[k-lo] {
			waves = append(waves, nil)
		}
		waves[level[k-lo]] = append(waves[level[k-lo]], k)
	}
	return waves
}

// grouped makes the waves of all groups from input number lo on.
func (x *stmtCtx) grouped(lo int) [][]int {
	var waves [][]int
	bounds := append(x.starts, len(x.st.Inputs))
	sort.Ints(bounds)
	for _, hi := range bounds {
		if hi > lo {
			waves = append(waves, x.waves(lo, hi)...)
			lo = hi
		}
	}
	return waves
}

// walk calls f for e and all below it.
func walk(e *Expr, f func(*Expr)) {
	if e != nil {
		f(e)
		walk(e.A, f)
		walk(e.B, f)
		walk(e.C, f)
	}
}
