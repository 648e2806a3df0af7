package luna

import "cmp"

func (p *parser) statement() *stmt {
	t := p.cur()
	s := &stmt{off: t.off, line: t.line}
	switch {
	case p.accept("let"):
		s.kind = sLet
		p.commas(func() {
			n := p.name("name after let")
			p.expect("=", "after the name")
			s.lets = append(s.lets, letDef{n, p.expr()})
		})
		s.body = p.block("let")
	case p.accept("for"):
		s.kind = sFor
		p.pragma()
		p.counter(s)
		s.e1 = p.expr()
		p.expect("..", "between the bounds")
		s.e2 = p.expr()
		s.body = p.block("for " + s.name)
		s.rules = s.body.rules
	case p.accept("while"):
		s.kind = sWhile
		p.pragma()
		s.e1 = p.expr()
		p.expect(",", "after the condition")
		p.counter(s)
		s.e2 = p.expr()
		p.expect("..", "before out")
		p.expect("out", "after ..")
		s.out = p.id("name after out")
		s.body = p.block("while " + s.name)
		s.rules = s.body.rules
	case p.accept("if"):
		s.kind = sIf
		s.e1 = p.expr()
		s.body = p.block("if")
		s.rules = s.body.rules
	case p.is("cf") || t.kind == tokName:
		p.call(s)
	default:
		p.badStatement(t)
	}
	return s
}

func (p *parser) counter(s *stmt) {
	n := p.name("loop counter")
	s.name, s.nameOff = n.name, n.off
	p.expect("=", "after the counter")
}

func (p *parser) badStatement(t *token) {
	hint, known := map[string]string{
		"else": "there is no else; write a second if with the opposite condition",
		";":    "no ';' stands after a closing brace, and there is no empty statement",
		"{":    "a block stands only after sub, for, while, if or let",
		"df":   "df stands once, at the beginning of a block",
		"}":    "a block needs at least one statement",
	}[t.text]
	if !known {
		hint = t.reservedHint()
	}
	p.failAt(t, hint, "statement expected, not %s", t.describe())
}

func (p *parser) call(s *stmt) {
	if p.accept("cf") {
		s.label = p.id("label")
		p.expect(":", "after the label")
		if p.cur().kind != tokName {
			p.fail("only calls can have a label", "name of a routine or sub expected, not %s", p.cur().describe())
		}
	}
	n := p.name("name of a routine or sub")
	s.name, s.nameOff = n.name, n.off
	if !p.is("(") {
		hint := ""
		if p.is("=") {
			hint = "there is no assignment; data fragments get values from routines with name parameters"
		}
		p.fail(hint, "'(' expected after %s, not %s", n.name, p.cur().describe())
	}
	p.at++
	s.args = p.list(")", p.expr)
	ids := func() *expr { return p.id("name of a data fragment") }
	if p.accept(">>") {
		p.expect("(", "after >>")
		s.tokens = p.list(")", ids)
		s.both = true
	}
	if p.accept("-->") {
		p.expect("(", "after -->")
		s.deletes = p.list(")", ids)
	} else {
		s.both = false
	}
	if p.is("@") {
		s.rules, s.open = p.behaviour()
	}
	p.expect(";", "after the call of "+s.name)
	s.end = p.toks[p.at-1].off
}

// commas reads one item or more, with commas between them.
func (p *parser) commas(item func()) {
	for item(); p.accept(","); {
		item()
	}
}

// list reads items separated by commas up to end.
func (p *parser) list(end string, item func() *expr) []*expr {
	var list []*expr
	for !p.accept(end) {
		if len(list) > 0 {
			p.expect(",", "or "+end+" in the list")
		}
		list = append(list, item())
	}
	return list
}

func (p *parser) id(what string) *expr {
	n := p.name(what)
	e := &expr{op: xID, off: n.off, name: n.name}
	for p.accept("[") {
		e.idx = append(e.idx, p.expr())
		p.expect("]", "after the index")
	}
	return e
}

// behaviour parses "@ { rules }". inside is the place behind its opening brace.
func (p *parser) behaviour() (rules []*rule, inside int32) {
	p.at++
	open := p.expect("{", "after @")
	inside = p.toks[p.at-1].end
	for !p.accept("}") {
		if p.cur().kind == tokEOF {
			p.failAt(open, "", "'{' is never closed (rules)")
		}
		rules = append(rules, p.rule())
	}
	if len(rules) == 0 {
		p.failAt(&p.toks[p.at-1], "", "a behaviour block needs at least one rule")
	}
	return rules, inside
}

func (p *parser) rule() *rule {
	n := p.name("rule")
	r := &rule{name: n.name, off: n.off}
	switch {
	case p.accept(":"):
		r.form = ruleExpr
		r.e = p.expr()
	case p.cur().kind == tokName:
		r.ids = []*expr{p.id("name")}
		switch {
		case p.accept("="):
			r.form = ruleAssign
			r.e = p.expr()
		case p.accept("=>"):
			r.form = ruleMap
			r.e = p.expr()
		default:
			r.form = ruleEnum
			for p.accept(",") {
				r.ids = append(r.ids, p.id("name"))
			}
		}
	default:
		r.form = ruleFlags
		for p.accept(",") {
			m := p.name("name")
			r.ids = append(r.ids, &expr{op: xID, off: m.off, name: m.name})
		}
	}
	p.expect(";", "after the rule "+r.name)
	r.end = p.toks[p.at-1].end
	return r
}

// levels are the precedences of the binary operators; all are left associative.
var levels = map[string]int{"||": 2, "&&": 3, "<": 4, "<=": 4, ">": 4, ">=": 4, "==": 4, "!=": 4,
	"+": 5, "-": 5, "*": 6, "/": 6, "%": 6}

// expr reads an expression. The conditional operator is left associative: a?b:c?d:e is (a?b:c)?d:e.
func (p *parser) expr() *expr {
	p.deeper()
	defer func() { p.nest-- }()
	e := p.binary(2)
	for p.is("?") {
		op := p.cur()
		p.at++
		mid := p.expr()
		p.expect(":", "in the conditional expression")
		e = &expr{op: xCond, off: e.off, opOff: op.off, a: e, b: mid, c: p.binary(2)}
	}
	return e
}

func (p *parser) binary(level int) *expr {
	if level > 6 {
		return p.unary()
	}
	e := p.binary(level + 1)
	for n := 0; p.cur().kind == tokPunct && levels[p.cur().text] == level; n++ {
		if n > 100*maxNest {
			p.fail("", "expression too long")
		}
		op := p.cur()
		p.at++
		e = &expr{op: xBinary, name: op.text, off: e.off, opOff: op.off, a: e, b: p.binary(level + 1)}
	}
	return e
}

func (p *parser) unary() *expr {
	t := p.cur()
	if p.is("-") {
		p.deeper()
		defer func() { p.nest-- }()
		p.at++
		return &expr{op: xNeg, off: t.off, opOff: t.off, a: p.unary()}
	}
	return p.primary()
}

var casts = map[string]exprOp{"int": xToInt, "real": xToReal, "string": xToString}

func (p *parser) primary() *expr {
	t := p.cur()
	e := &expr{off: t.off, opOff: t.off, name: t.text}
	switch t.kind {
	case tokInt:
		e.op, e.i = xInt, p.intLiteral(t)
	case tokReal:
		e.op = xReal
	case tokString:
		e.op = xString
	case tokName:
		return p.id("name")
	default:
		cast := casts[t.text]
		if t.kind == tokKey && cast != 0 {
			p.at++
			p.expect("(", "after "+t.text)
			e.op, e.a = cast, p.expr()
			p.expect(")", "after the expression")
			return e
		}
		if p.accept("(") {
			e = p.expr()
			if !p.is(")") && p.cur().kind == tokEOF {
				p.failAt(t, "", "'(' is never closed")
			}
			p.expect(")", "after the expression")
			return e
		}
		hints := map[string]string{"+": "there is no unary +", "&": "write &&", "=": "write == to compare"}
		p.fail(cmp.Or(t.reservedHint(), hints[t.text]), "expression expected, not %s", t.describe())
	}
	p.at++
	return e
}

// intLiteral returns the value of an integer; what does not fit 32 bits is judged where it is used.
func (p *parser) intLiteral(t *token) int64 {
	var v int64
	for _, d := range t.text {
		if v > (1<<62)/10 {
			p.fault(StageCPP, t.off, "", "integer %s is too large", t.text)
			return 0
		}
		v = v*10 + int64(d-'0')
	}
	return v
}
