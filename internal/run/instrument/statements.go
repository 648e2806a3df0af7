package instrument

import "slices"

var (
	statementWords = set("return if for while do switch break continue goto case default try co_return throw")
	// Of these, those that may only begin a statement: met within one, they end a macro that has no ; of its
	// own.
	beginners       = set("return if for while do switch break continue goto case default try else")
	expressionWords = set("return else do case throw co_return co_yield co_await and or not xor")
	// What continues a statement behind a block that belongs to a macro, and what does not behind any block.
	afterBlock    = set(". -> , ; =")
	notAfterBlock = set("{ ++ -- :: ~")
	unevaluated   = set("sizeof decltype noexcept typeid alignof static_assert _Static_assert alignas " +
		"__attribute__ __attribute __declspec typeof __typeof__")
	lambdaWords = set("mutable constexpr consteval static noexcept throw __attribute__ const")
)

// block reads the statements between { at i and its partner.
func (p *parser) block(i int, fn *function) {
	end := p.match[i]
	for i++; i < end; {
		i = p.statement(i, i, end, false, fn)
	}
}

// statement reads the one at i, whose text begins at token start (attributes), and returns the place after
// it. sub: something before it governs this one statement only.
func (p *parser) statement(i, start, end int, sub bool, fn *function) int {
	if i >= end {
		p.fail(i, "a statement is missing")
	}
	if p.depth++; p.depth > 5*maxDepth {
		p.fail(i, "statements are nested too deep")
	}
	defer func() { p.depth-- }()
	if p.is(i, "[") && p.is(i+1, "[") {
		return p.statement(p.match[i]+1, start, end, sub || p.toks[i].pragma != noPragma, fn)
	}
	if start == i && p.toks[i].pragma != noPragma {
		sub = true
	}
	st := &statement{start: p.toks[start].start, sub: sub, only: p.toks[start].pragma == pragmaSingle, fn: fn}
	in := scope{path: fn.path, fn: fn}
	done := func(j int) int {
		st.end = p.toks[j-1].end
		st.beforeElse = p.is(j, "else")
		return j
	}
	t := p.toks[i]
	if t.kind == word && p.is(i+1, ":") && (t.spelling == "default" || !statementWords[t.spelling]) {
		return p.labelled(i+2, end, sub, fn)
	}
	switch {
	case t.is(";"):
		return i + 1
	case t.is("{"):
		p.block(i, fn)
		return p.match[i] + 1
	case t.kind != word:
	case t.spelling == "case":
		for k, questions := i+1, 0; k < end && !p.is(k, ";"); k = p.over(k) {
			if p.is(k, "?") {
				questions++
			} else if p.is(k, ":") {
				if questions == 0 {
					return p.labelled(k+1, end, sub, fn)
				}
				questions--
			}
		}
		p.fail(i, "`case` without `:`")
	case t.spelling == "if" || t.spelling == "for" || t.spelling == "while" || t.spelling == "switch":
		st.form = headed
		if t.spelling == "for" || t.spelling == "while" {
			st.form = looping
		}
		j := i + 1
		for p.word(j) || p.is(j, "!") { // constexpr, consteval, each, co_await
			j++
		}
		if j < end && p.is(j, "(") {
			st.headEnd = p.toks[p.match[j]].end
			p.expression(j+1, p.match[j], st, in)
			j = p.match[j] + 1
		} else if t.spelling != "if" || !p.is(j, "{") { // if consteval {
			p.fail(i, "`"+t.spelling+"` without `(`")
		}
		j = p.statement(j, j, end, true, fn)
		if t.spelling == "if" && j < end && p.is(j, "else") {
			j = p.statement(j+1, j+1, end, true, fn)
		}
		return done(j)
	case t.spelling == "else": // of an if that a macro hides
		return p.statement(i+1, i+1, end, true, fn)
	case t.spelling == "do":
		j := p.statement(i+1, i+1, end, true, fn)
		if !p.is(j, "while") || !p.is(j+1, "(") || !p.is(p.match[j+1]+1, ";") {
			p.fail(i, "`do` without `while (...);`")
		}
		st.form = looping
		p.expression(j+2, p.match[j+1], st, in)
		return done(p.match[j+1] + 2)
	case t.spelling == "try" && p.is(i+1, "{"):
		p.block(i+1, fn)
		return p.handlers(p.match[i+1]+1, end, fn)
	case t.spelling == "catch" && p.is(i+1, "("): // of a try that a macro hides
		return p.handlers(i, end, fn)
	case (t.spelling == "asm" || t.spelling == "__asm" || t.spelling == "__asm__") && p.is(i+1, "{"):
		return p.match[i+1] + 1
	case t.spelling == "return":
		j := p.find(i+1, end, ";")
		if j == end {
			p.fail(i, "`return` without `;`")
		}
		st.form = leaving
		p.returns = append(p.returns, returning{st, p.toks[i+1 : j]})
		p.expression(i+1, j, st, in)
		return done(j + 1)
	case t.spelling == "throw" || t.spelling == "co_return":
		st.form = leaving
	case t.spelling == "break" || t.spelling == "continue" || t.spelling == "goto":
		j, _ := p.simple(i+1, end)
		return j
	}
	for k := i; k < end && p.word(k); k++ {
		in.constexpr = in.constexpr || p.in(k, p.constexpr)
	}
	j, ended := p.simple(i, end)
	if j > i {
		if !ended {
			st.form = headed
			st.headEnd = p.toks[j-1].end
		}
		p.expression(i, j, st, in)
	}
	if !ended && j < end && !p.is(j, "else") {
		j = p.statement(j, j, end, true, fn) // a macro before it may be an if
	}
	return done(j)
}

// handlers reads the catch blocks at i.
func (p *parser) handlers(i, end int, fn *function) int {
	for i < end && p.is(i, "catch") && p.is(i+1, "(") {
		j := p.match[i+1] + 1
		if j >= end || !p.is(j, "{") {
			p.fail(i, "`catch` without `{`")
		}
		p.block(j, fn)
		i = p.match[j] + 1
	}
	return i
}

// labelled reads the statement after a label; at the end of a block there may be none.
func (p *parser) labelled(i, end int, sub bool, fn *function) int {
	if i >= end {
		return i
	}
	return p.statement(i, i, end, sub, fn)
}

// simple returns the place after the statement at i that begins with no word of the language. Not ended: it
// has no ; but a word follows that begins another.
func (p *parser) simple(i, end int) (next int, ended bool) {
	for j := i; j < end; {
		switch {
		case p.is(j, ";"):
			return j + 1, true
		case p.is(j, "["):
			if _, body, _ := p.lambda(j); body > 0 {
				j = body
			}
			j = p.match[j] + 1
		case p.is(j, "("):
			j = p.match[j] + 1
		case p.in(j, classKeys):
			if body, _ := p.classBody(j, end, scope{}); body > 0 {
				j = p.match[body]
			}
			j++
		case p.is(j, "requires") && p.requires(j) > 0:
			j = p.requires(j)
		case p.is(j, "{"):
			macro := p.is(j-1, ")") && p.match[j-1] == i+1 // MACRO(x) {}
			if !macro && !p.holdsStatements(j) {
				j = p.match[j] + 1
				continue
			}
			if j = p.match[j] + 1; j < end && p.toks[j].kind == punct && (!macro || p.in(j, afterBlock)) &&
				!p.in(j, notAfterBlock) {
				continue
			}
			return j, true // a block after a macro
		case p.in(j, beginners):
			if j == i { // for instance a lone else
				p.fail(j, "`"+p.toks[j].spelling+"` is not understood here")
			}
			return j, false
		case p.is(j, "operator"):
			j = max(j+1, min(p.operatorName(j), end))
		default:
			j++
		}
	}
	return end, true
}

// requires returns the place after a requires expression at i, or 0.
func (p *parser) requires(i int) int {
	i++
	if p.is(i, "(") {
		i = p.match[i] + 1
	}
	if p.is(i, "{") {
		return p.match[i] + 1
	}
	return 0
}

// holdsStatements tells a block from an initialiser's list.
func (p *parser) holdsStatements(i int) bool {
	return p.in(i+1, statementWords) || p.find(i+1, p.match[i], ";") < p.match[i]
}

// lambda looks at [ at i: body is the { of the lambda that it introduces, or 0; params its parentheses, or 0.
func (p *parser) lambda(i int) (params, body int, f *function) {
	if p.is(i+1, "[") {
		return 0, 0, nil
	}
	if i > 0 {
		switch t := p.toks[i-1]; {
		case t.kind == word && !expressionWords[t.spelling], t.kind == number, t.kind == text,
			t.is("]"), t.is(">"), t.is("*"):
			return 0, 0, nil
		case (t.is("&") || t.is("&&")) && (p.is(i-2, "auto") || p.is(i-2, "const")): // auto &[a, b]
			return 0, 0, nil
		}
	}
	f = &function{lambda: true}
	j := p.match[i] + 1
	if p.is(j, "<") {
		if j = p.angles(j); j == 0 {
			return 0, 0, nil
		}
	}
	for j < len(p.toks) {
		switch {
		case p.is(j, "{"):
			return params, j, f
		case p.is(j, "(") && params == 0:
			params = j
			j = p.match[j] + 1
		case p.is(j, "[") && p.is(j+1, "["):
			j = p.match[j] + 1
		case p.is(j, "requires"):
			if k := p.requires(j); k > 0 && !p.is(k-1, "}") {
				j = k
			} else {
				j++
			}
		case p.in(j, lambdaWords), p.in(j, p.constexpr):
			f.constexpr = f.constexpr || p.in(j, p.constexpr)
			if j++; p.is(j, "(") && params > 0 {
				j = p.match[j] + 1
			}
		case p.is(j, "->"):
			from := j + 1
			if j = p.typeEnd(from, len(p.toks), set("( :: * & &&")); j == 0 || j < len(p.toks) && !p.is(j, "{") {
				return 0, 0, nil
			}
			f.block = p.endsWithBlock(from, j)
		default:
			return 0, 0, nil
		}
	}
	return 0, 0, nil
}

// expression looks for calls and lambdas in [i, end), which belongs to st.
func (p *parser) expression(i, end int, st *statement, in scope) {
	for i < end {
		t := p.toks[i]
		switch {
		case t.kind == word && unevaluated[t.spelling] && p.is(i+1, "("):
			i = p.match[i+1] + 1
		case t.is("requires") && p.requires(i) > 0:
			i = p.requires(i)
		case t.is("["):
			if p.is(i+1, "[") {
				i = p.match[i] + 1
				continue
			}
			params, body, f := p.lambda(i)
			if body == 0 {
				i++
				continue
			}
			p.expression(i+1, p.match[i], st, in)
			if params > 0 {
				p.expression(params+1, p.match[params], st, in)
			}
			f.path = in.named("operator()")
			f.start = p.toks[body].end
			f.constexpr = f.constexpr || in.constexpr || in.fn != nil && in.fn.constexpr
			p.functions = append(p.functions, f)
			p.block(body, f)
			i = p.match[body] + 1
		case t.is("{") && p.holdsStatements(i):
			fn := in.fn
			if fn == nil {
				fn = &function{path: in.named("?"), start: p.toks[i].end, constexpr: in.constexpr}
			}
			p.block(i, fn)
			i = p.match[i] + 1
		case t.kind == word && classKeys[t.spelling]:
			if body, path := p.classBody(i, end, in); body > 0 {
				p.declarations(body+1, p.match[body], scope{path: path, class: true, fn: in.fn})
				i = p.match[body]
			}
			i++
		case t.kind == word && p.is(i+1, "("):
			p.call(i, st)
			i++
		default:
			i++
		}
	}
}

// call notes the call of the name at i, unless that declares something.
func (p *parser) call(i int, st *statement) {
	path := []string{p.toks[i].spelling}
	j := i - 1
	for p.is(j, "::") {
		if j--; !p.word(j) || expressionWords[p.toks[j].spelling] {
			break
		}
		path = append(path, p.toks[j].spelling)
		j--
	}
	slices.Reverse(path)
	if st.form == nowhere && p.is(j, "*") && p.is(j-1, "(") { // int (*f(int x))(double);
		return
	}
	if p.is(j, ".") || p.is(j, "->") || p.word(j) && !expressionWords[p.toks[j].spelling] ||
		p.is(j, "~") && p.is(j-1, "::") {
		return
	}
	p.calls = append(p.calls, calling{st, path, p.toks[i].start})
}
