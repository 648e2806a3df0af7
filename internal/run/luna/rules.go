package luna

import (
	"maps"
	"slices"
	"strings"
)

// ruleInfo says in which form and where a rule has an effect: c call, f for, i if, w while, s sub.
type ruleInfo struct {
	form  ruleForm
	where string
	usage string
}

var knownRules = map[string][]ruleInfo{
	"request":       {{ruleEnum, "cfiw", "request a, b[i];"}},
	"req_count":     {{ruleAssign, "cw", "req_count a = 1;"}},
	"req_unlimited": {{ruleEnum, "cw", "req_unlimited a, b[i];"}},
	"drop":          {{ruleEnum, "cw", "drop a, b[i];"}},
	"delete":        {{ruleEnum, "cfiw", "delete a, b[i];"}},
	"wait":          {{ruleEnum, "c", "wait a, b[i];"}},
	"afterpush":     {{ruleMap, "c", "afterpush a => label;"}},
	"locator_cyclic": {{ruleExpr, "cfiw", "locator_cyclic: e;"},
		{ruleMap, "cfiws", "locator_cyclic a[i] => i;"}},
	"locator_replicating": {{ruleMap, "cfiws", "locator_replicating a[i] => all;"}, {ruleExpr, "cfiws", ""}},
	"nfparam":             {{ruleEnum, "s", "nfparam p;"}, {ruleMap, "c", "nfparam p => e;"}},
	"stealable":           {{ruleFlags, "c", "stealable;"}},
	"weight":              {{ruleExpr, "c", "weight: 2.5;"}},
}

var kindNames = map[byte]string{'c': "a call", 'f': "a for", 'i': "an if", 'w': "a while", 's': "a sub"}

// checkRule warns about rules that LuNA silently ignores although they were probably intended. on is the kind
// of construct.
func (c *checker) checkRule(r *rule, on byte) {
	if _, known := knownRules[r.name]; !known {
		if near := nearest(r.name, maps.Keys(knownRules)); near != "" {
			c.warn(StageRecom, r.off, "did you mean "+near+"?", "unknown rule %s is ignored", r.name)
		}
		return
	}
	if ruleApplies(r, on) && (r.form != ruleFlags || len(r.ids) == 0) {
		return
	}
	var usage []string
	for _, i := range knownRules[r.name] {
		if strings.IndexByte(i.where, on) >= 0 && i.usage != "" {
			usage = append(usage, i.usage)
		}
	}
	switch {
	case r.name == "wait" && r.form == ruleEnum:
		c.fault(StageRecom, r.off, "only calls can", "wait: %s cannot obtain data fragments by push", kindNames[on])
	case usage == nil:
		c.warn(StageRecom, r.off, "", "rule %s has no effect on %s", r.name, kindNames[on])
	default:
		c.warn(StageRecom, r.off, "write "+strings.Join(usage, " or "), "rule %s has no effect in this form",
			r.name)
	}
}

func (s *stmt) letter() byte {
	return letters[s.kind]
}

var letters = map[stmtKind]byte{sCall: 'c', sFor: 'f', sWhile: 'w', sIf: 'i'}

// effective returns the rules of s that are called name, in the form, and have an effect on it.
func (s *stmt) effective(name string, form ruleForm) []*rule {
	var list []*rule
	for _, r := range s.rules {
		if r.name == name && r.form == form && ruleApplies(r, s.letter()) {
			list = append(list, r)
		}
	}
	return list
}

func ruleApplies(r *rule, on byte) bool {
	return slices.ContainsFunc(knownRules[r.name], func(i ruleInfo) bool {
		return i.form == r.form && strings.IndexByte(i.where, on) >= 0
	})
}

// rules checks the rules of a construct and returns those that apply inside it.
func (c *checker) rules(rules []*rule, on byte, env *ruleEnv) *ruleEnv {
	for _, r := range rules {
		c.checkRule(r, on)
	}
	return c.maps(rules, env)
}

// maps gathers the locator maps of a behaviour block; without any the result is env itself.
func (c *checker) maps(rules []*rule, env *ruleEnv) *ruleEnv {
	var own *ruleEnv
	for _, r := range rules {
		replicating := r.name == "locator_replicating"
		if r.form != ruleMap || r.name != "locator_cyclic" && !replicating {
			continue
		}
		if own == nil {
			own = &ruleEnv{env, map[string]*mapRule{}}
		}
		id := r.ids[0]
		m := &mapRule{r: r, replicating: replicating}
		if old := own.maps[id.name]; old != nil {
			c.fault(StageRecom, r.off, "the other one is at "+c.pos(old.r.off).String(), "two locators for %s",
				id.name)
			continue
		}
		seen := map[string]bool{}
		for _, v := range id.idx {
			if v.op != xID || len(v.idx) > 0 || seen[v.name] {
				c.fault(StageRecom, v.off, "write locator_cyclic a[i][j] => i + j;",
					"indices of a locator's left side must be different plain names")
				m.bad = true
			}
			seen[v.name] = true
		}
		own.maps[id.name] = m
	}
	if own == nil {
		return env
	}
	return own
}

// home lowers the placement of the CF: its own locator_cyclic, or the map rule for its label.
func (x *stmtCtx) home(s *stmt, label *expr) {
	h := &x.st.Home
	own := s.effective("locator_cyclic", ruleExpr)
	if x.st.rules = x.c.blank(s.open, s.end); len(own) > 0 {
		x.st.rules = blank{at: x.c.span(own[0].off, own[0].end)}
	}
	if len(own) > 1 {
		x.c.fault(StageRecom, own[1].off, "the other one is at "+x.c.pos(own[0].off).String(),
			"two locators for one fragment")
	}
	if len(own) > 0 {
		h.Expr = x.wantInt(own[0].e, true, "locator")
	}
	if label != nil && len(own) == 0 {
		x.keys = map[string]int{}
		h.Expr, h.Replicating = x.labelHome(label)
	}
	h.Waves = x.waves(0, len(x.st.Inputs))
	x.homeEnd = len(x.st.Inputs)
	if x.keys == nil {
		x.keys = map[string]int{}
	}
	for _, r := range s.rules {
		if r.form == ruleFlags && r.name == "stealable" && len(r.ids) == 0 && s.kind == sCall {
			x.st.Stealable = true
		}
	}
	for _, r := range s.effective("weight", ruleExpr) {
		x.weight(r.e)
	}
}

// labelHome finds the node of the CF with a label by the map rule for it; nil: none.
func (x *stmtCtx) labelHome(label *expr) (e *Expr, replicating bool) {
	m := x.env.find(label.name)
	if m == nil || m.bad {
		return nil, false
	}
	v := x.mapped(m, label)
	if v == nil {
		return nil, false
	}
	if m.replicating {
		return nil, v.op == xInt && v.i == -1
	}
	return x.control(v), false
}

// weight lowers the weight of a call. It is evaluated when the CF is created, so it cannot depend on data
// fragments.
func (x *stmtCtx) weight(e *expr) {
	r := x.value(e, true)
	if usesDF(r) || r.text {
		x.c.warn(StageRecom, e.off, "use constants, counters and parameters",
			"weight is ignored: it must be a number known when the call is made")
		return
	}
	x.st.Weight = x.number(r, Real)
}

func usesDF(e *expr) bool {
	return e != nil && (e.op == xID && e.sym.isDF() || slices.ContainsFunc(e.idx, usesDF) ||
		usesDF(e.a) || usesDF(e.b) || usesDF(e.c))
}

// requests lowers request and wait rules, each a group of its own.
func (x *stmtCtx) requests(s *stmt) {
	waits := map[*rule][]*expr{}
	for _, r := range s.effective("wait", ruleEnum) {
		if s.label == nil {
			x.c.warn(StageRecom, r.off, "write cf label: before the call",
				"wait on a call without label: nothing can be pushed to it")
		}
		waits[r] = x.dfs(r.ids, true, "waited for")
		for _, e := range waits[r] {
			put(&x.waits, keyText(e), true)
		}
	}
	for _, r := range s.rules {
		ids := waits[r]
		if r.name == "request" && r.form == ruleEnum {
			ids = x.dfs(r.ids, true, "requested")
		}
		if ids == nil {
			continue
		}
		x.group()
		for _, e := range ids {
			x.input(e)
		}
	}
	x.group()
}

// effects lowers the effects after execution: deletions by -->, then the rules as written, then the automatic
// posts.
func (x *stmtCtx) effects(s *stmt) {
	st := x.st
	x.destroy(s.deletes, s.both)
	manual := map[*symbol]bool{}
	for _, r := range s.rules {
		if ruleApplies(r, s.letter()) {
			x.ruleEffects(r, manual)
		}
	}
	for k, out := range x.outExprs {
		if (st.Kind == Atomic || st.Kind == WhileLoop) && out != nil && !manual[out.sym] {
			x.place(st.Outs[k], out)
			x.effect(Effect{Kind: Post, Ref: st.Outs[k], Out: k, Pos: st.Outs[k].Pos})
			x.posted = append(x.posted, out)
		}
	}
	x.lost()
}

func (x *stmtCtx) destroy(ids []*expr, rule bool) {
	for _, id := range x.dfs(ids, rule, "deleted") {
		x.effect(Effect{Kind: Destroy, Ref: x.placed(id), Out: -1, Pos: x.c.pos(id.off)})
	}
}

func (x *stmtCtx) effect(e Effect) { x.st.Effects = append(x.st.Effects, e) }

// ruleEffects lowers a rule with effects; manual collects the names that it excludes from the automatic
// posts.
func (x *stmtCtx) ruleEffects(r *rule, manual map[*symbol]bool) {
	switch r.name {
	case "delete":
		x.destroy(r.ids, true)
	case "req_count", "req_unlimited":
		for _, id := range x.dfs(r.ids, true, "posted") {
			manual[id.sym] = true
			x.posted = append(x.posted, id)
			e := Effect{Kind: Post, Ref: x.placed(id), Out: x.outOf(id), Pos: x.c.pos(id.off)}
			if r.form == ruleAssign {
				x.useOuts = true
				e.Count = x.wantInt(r.e, true, "req_count")
				x.useOuts = false
			}
			x.effect(e)
			x.warnUnposted(r, id)
		}
	case "drop":
		for _, id := range x.dfs(r.ids, true, "dropped") {
			manual[id.sym] = true
			put(&x.dropped, keyText(id), true)
		}
	case "afterpush":
		x.push(r, manual)
	}
}

// outOf returns the number of the output with the text of id, or -1.
func (x *stmtCtx) outOf(id *expr) int {
	if k, ok := x.outs[keyText(id)]; ok {
		return k
	}
	return -1
}

func (x *stmtCtx) push(r *rule, manual map[*symbol]bool) {
	id := x.df(r.ids[0], true, "pushed")
	if id == nil {
		return
	}
	manual[id.sym] = true
	if r.e.op != xID {
		x.c.fault(StageCPP, r.e.off, "write afterpush a => label;", "a label must follow =>, not %s", describe(r.e))
		return
	}
	to := x.df(r.e, true, "the target of a push")
	if to == nil {
		return
	}
	e := Effect{Kind: Push, Ref: x.ref(id), Out: x.outOf(id), To: x.nameRef(to), ToIdx: x.indices(to.idx),
		Pos: x.c.pos(r.off)}
	e.ToLoc.Expr, e.ToLoc.Replicating = x.labelHome(to)
	x.effect(e)
	x.warnUnposted(r, id)
}

// nfArgs lowers the hidden arguments of a call of a sub.
func (x *stmtCtx) nfArgs(s *stmt) {
	sub := x.st.Sub
	x.st.NFArgs = make([]*Expr, len(sub.NFParams))
	for _, r := range s.effective("nfparam", ruleMap) {
		for i, p := range sub.NFParams {
			if p == r.ids[0].name && len(r.ids[0].idx) == 0 {
				x.st.NFArgs[i] = x.wantInt(r.e, true, "nfparam")
			}
		}
	}
	for i, a := range x.st.NFArgs {
		if a == nil {
			x.c.warn(StageRecom, s.nameOff, "add @ { nfparam "+sub.NFParams[i]+" => e; }",
				"nfparam %s of %s is not given; a locator that uses it fails", sub.NFParams[i], sub.Name)
		}
	}
}
