package luna

import "slices"

// warnRules warns about locator maps whose name does not occur in their scope.
func (c *checker) warnRules(env *ruleEnv) {
	if env == nil {
		return
	}
	for name, m := range env.maps {
		if !m.used {
			c.warn(StageRecom, m.r.off, "", "this locator matches nothing: %s does not occur here", name)
		}
	}
}

// warnRules is the same for the maps that a statement adds to those around it.
func (x *stmtCtx) warnRules(around *ruleEnv) {
	if x.env != around {
		x.c.warnRules(x.env)
	}
}

// warnUnposted warns about posting or pushing a name that the CF neither produces nor reads, which fails at
// run time.
func (x *stmtCtx) warnUnposted(r *rule, id *expr) {
	if slices.Contains(x.inputSyms, id.sym) ||
		slices.ContainsFunc(x.outExprs, func(out *expr) bool { return out != nil && out.sym == id.sym }) {
		return
	}
	x.c.warn(StageRecom, r.off, "", "%s: this statement neither produces nor reads %s; running it will fail",
		r.name, srcText(id))
}

// warnOverlap warns about a call that reads what it initialises, and so waits for itself.
func (x *stmtCtx) warnOverlap() {
	for key, k := range x.outs {
		if i, ok := x.keys[key]; ok {
			x.c.warn(StageRecom, x.outExprs[k].off, "use another name for the result",
				"the call reads %s and initialises it as well; it will wait for itself or fail", x.st.Inputs[i].Ref.Src)
		}
	}
}

// warnUninitialised warns about names that are read but never initialised. It judges names, not cells, and
// follows names through calls of subs, so it is right whatever the indices are.
func (c *checker) warnUninitialised() {
	for again := true; again; {
		again = false
		for _, e := range c.edges {
			if e.param.init && !e.sym.init {
				e.sym.init, again = true, true
			}
			if e.param.read && !e.sym.read {
				e.sym.read, e.sym.readOff, again = true, e.off, true
			}
		}
	}
	for _, s := range c.dfs {
		if s.read && !s.init {
			c.warn(StageRecom, s.readOff, "it is declared at "+c.pos(s.off).String(),
				"%s is read, but nothing initialises it", s.name)
		}
	}
}
