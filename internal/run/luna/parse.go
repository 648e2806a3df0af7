package luna

import (
	"fmt"
	"slices"
	"strconv"
)

// The parser uses plain recursive descent. A syntax error abandons the statement (by panic with bailout,
// caught by the loop over statements or definitions). Parsing resumes after the next ';' or '}' of the same
// depth.

type parser struct {
	*source
	toks  []token
	at    int
	nest  int
	fails int
	ended bool // the premature end was reported
}

type bailout struct{}

// maxNest bounds the nesting of expressions and blocks; maxFails ends a hopeless parse.
const (
	maxNest  = 400
	maxFails = 25
)

func (p *parser) cur() *token { return &p.toks[p.at] }

func (p *parser) peekTok(n int) *token { return &p.toks[min(p.at+n, len(p.toks)-1)] }

func (p *parser) is(text string) bool {
	t := p.cur()
	return t.text == text && (t.kind == tokPunct || t.kind == tokKey)
}

func (p *parser) accept(text string) bool {
	if p.is(text) {
		p.at++
		return true
	}
	return false
}

// reservedHint tells of a reserved word that it is one.
func (t *token) reservedHint() string {
	if t.kind != tokKey {
		return ""
	}
	return t.text + " is a reserved word of the language"
}

func (t *token) describe() string {
	switch t.kind {
	case tokEOF:
		return "end of file"
	case tokKey:
		return "the reserved word " + t.text
	case tokString:
		return "a string"
	}
	return "'" + t.text + "'"
}

// fail reports a syntax error at the current token and abandons the statement.
func (p *parser) fail(hint, format string, args ...any) {
	p.failAt(p.cur(), hint, format, args...)
}

func (p *parser) failAt(t *token, hint, format string, args ...any) {
	if p.cur().kind == tokEOF {
		if p.ended { // once is enough, although every enclosing block is unfinished as well
			panic(bailout{})
		}
		p.ended = true
	}
	d := p.diag(StageParse, t.off, fmt.Sprintf(format, args...), hint)
	d.After = d.Pos
	if t.end > t.off {
		d.After = p.after(t.end - 1)
	}
	p.add(d)
	p.fails++
	panic(bailout{})
}

func (p *parser) expect(text, where string) *token {
	t := p.cur()
	if p.accept(text) {
		return t
	}
	hint := ""
	switch {
	case t.text == "<--":
		hint = "<-- is one symbol; put a blank between < and --"
	case t.kind == tokEOF:
	case text == ";" && (p.toks[p.at-1].line < t.line || t.text == "}"):
		// Report it where it is missing and continue as if it were there.
		prev := p.toks[p.at-1]
		d := p.diag(StageParse, prev.end-1, "';' expected "+where, "")
		d.After = p.after(prev.end - 1)
		p.add(d)
		p.fails++
		return nil
	}
	p.fail(hint, "'%s' expected %s, not %s", text, where, t.describe())
	return nil
}

func (p *parser) name(what string) nameAt {
	t := p.cur()
	if t.kind != tokName {
		p.fail(t.reservedHint(), "%s expected, not %s", what, t.describe())
	}
	p.at++
	return nameAt{t.text, t.off}
}

// sync skips to behind the ';' or '}' that ends the abandoned statement, or to the '}' that closes the
// enclosing block.
func (p *parser) sync(top bool) {
	depth := 0
	for ; p.cur().kind != tokEOF; p.at++ {
		switch {
		case p.is("{"):
			depth++
		case p.is("}"):
			if depth == 0 && !top {
				return
			}
			if depth--; depth <= 0 {
				depth = 0
				p.at++
				if p.is("@") {
					continue
				}
				if !top {
					return
				}
				p.at--
			}
		case p.is(";") && depth == 0 && !top:
			p.at++
			return
		case top && depth == 0 && (p.is("sub") || p.is("import") || p.is("C++") && (p.peekTok(1).kind == tokName ||
			p.peekTok(1).text == "sub")):
			return
		}
	}
}

// try runs f; after a syntax error in it, it resynchronises and reports false.
func (p *parser) try(top bool, f func()) (ok bool) {
	start, nest := p.at, p.nest
	defer func() {
		if r := recover(); r != nil {
			if _, mine := r.(bailout); !mine {
				panic(r)
			}
			p.nest = nest
			if p.fails > maxFails {
				p.at = len(p.toks) - 1
			}
			if top && p.at == start && p.cur().kind != tokEOF {
				p.at++
			}
			p.sync(top)
			if p.at == start && p.cur().kind != tokEOF && !p.is("}") {
				p.at++
			}
		}
	}()
	f()
	return true
}

func (p *parser) deeper() {
	if p.nest++; p.nest > maxNest {
		p.fail("", "nested too deeply")
	}
}

func parse(s *source) (defs []*def, heads []int) {
	p := &parser{source: s, toks: lex(s)}
	if p.cur().kind == tokEOF {
		p.try(true, func() { p.fail("a program needs at least: sub main() ...", "the program defines nothing") })
	}
	for p.cur().kind != tokEOF {
		p.try(true, func() {
			if d := p.def(&heads); d != nil {
				defs = append(defs, d)
			}
		})
	}
	return defs, heads
}

func (p *parser) def(heads *[]int) *def {
	d := &def{off: p.cur().off, line: p.cur().line}
	switch {
	case p.accept("sub"):
		p.pragma()
		d.name = p.name("name of the sub")
		d.params = p.params(false)
		d.body = p.block("sub " + d.name.name)
	case p.accept("C++"):
		if !p.accept("sub") {
			t := p.cur()
			if n := p.name("sub or head"); n.name != "head" {
				p.failAt(t, "write C++ head or C++ sub NAME(...)", "C++ %s is unknown", n.name)
			}
			*heads = append(*heads, p.foreignBlock())
			return nil
		}
		d.kind = defCPP
		d.name = p.name("name of the C++ sub")
		d.params = p.params(false)
		d.foreign = p.foreignBlock()
	case p.accept("import"):
		d.kind = defImport
		d.name = p.name("name of the imported routine")
		d.cname = d.name.name
		d.params = p.params(true)
		if p.accept("as") {
			d.name = p.name("name after as")
		}
		if p.accept(":") {
			p.expect("CUDA", "after ':'")
			if p.accept(",") {
				p.expect("NOCPU", "after ','")
			}
		}
		p.expect(";", "after the import")
	default:
		hint := ""
		if p.is("}") {
			hint = "this '}' closes nothing"
		} else if p.is(";") {
			hint = "no ';' stands after a closing brace"
		}
		p.fail(hint, "sub, import or C++ expected, not %s", p.cur().describe())
	}
	return d
}

func (p *parser) foreignBlock() int {
	if !p.is("__block") {
		p.fail("write ${{ ... $}} or ${<END} ... END", "C++ block expected, not %s", p.cur().describe())
	}
	p.at++
	p.expect("(", "after __block")
	t := p.cur()
	n, err := strconv.Atoi(t.text)
	if t.kind != tokInt || err != nil || n >= len(p.blocks) {
		p.fail("", "number of a C++ block expected")
	}
	p.at++
	p.expect(")", "after the number of a C++ block")
	return n
}

// params reads a parameter list; in an import the names may be missing.
func (p *parser) params(nameless bool) []paramDef {
	p.expect("(", "before the parameters")
	var list []paramDef
	for !p.accept(")") {
		if len(list) > 0 {
			p.expect(",", "between parameters")
		}
		var d paramDef
		t := p.cur()
		k := slices.Index(paramKinds, t.text)
		if k < 0 || t.kind != tokKey {
			p.failAt(t, "types are int, real, string, name and value", "type of a parameter expected, not %s",
				t.describe())
		}
		d.kind = ParamKind(k)
		p.at++
		p.accept("&")
		d.nameAt = nameAt{off: p.cur().off}
		if !nameless || p.cur().kind == tokName {
			d.nameAt = p.name("name of the parameter")
		}
		list = append(list, d)
	}
	return list
}

// pragma reads << ... >>, which has no effect.
func (p *parser) pragma() {
	if !p.accept("<<") {
		return
	}
	if t := p.cur(); t.kind != tokKey || t.text != "rush" && t.text != "static" && t.text != "static_for" &&
		t.text != "unrolling" {
		p.fail("", "rush, static, static_for or unrolling expected after <<, not %s", t.describe())
	}
	p.at++
	for n := 0; n < 2 && p.accept(","); n++ {
		p.expr()
	}
	p.expect(">>", "at the end of the pragma")
}

// block reads the body of what.
func (p *parser) block(what string) *block {
	p.deeper()
	defer func() { p.nest-- }()
	b := &block{off: p.cur().off}
	open := p.cur()
	if !p.accept("{") {
		b.stmts = append(b.stmts, p.statement())
		return b
	}
	b.braced = true
	if p.accept("df") {
		p.commas(func() { b.df = append(b.df, p.name("name of a data fragment")) })
		p.expect(";", "after the list of names")
	}
	clean := true
	for !p.is("}") {
		if p.cur().kind == tokEOF {
			p.failAt(open, "", "'{' is never closed (body of %s)", what)
		}
		if !p.try(false, func() { b.stmts = append(b.stmts, p.statement()) }) {
			clean = false
		}
	}
	if clean && len(b.stmts) == 0 {
		hint := "a block needs at least one statement"
		if len(b.df) > 0 {
			hint += " after df"
		}
		p.fail(hint, "statement expected, not '}'")
	}
	p.at++
	b.end = p.toks[p.at-1].end
	if p.is("@") {
		b.rules, b.open = p.behaviour()
	}
	return b
}
