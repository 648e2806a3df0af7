package luna

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// define reads "NAME body" or "NAME(p, q) body" up to the newline, which stays.
func (p *pp) define() {
	p.blanks()
	nameAt := p.top()
	if !isLetter(p.peek(0)) {
		p.fault(nameAt, "", "#define: name expected")
		return
	}
	m := &macro{name: p.word(), pos: p.posOf(nameAt)}
	body := p.macroBody()
	m.params, m.body = splitParams(body)
	if old := p.macros[m.name]; old != nil {
		hint := "defined with -D; guard this with #ifndef " + m.name
		if old.pos.Line > 0 {
			hint = fmt.Sprintf("first defined at %s; use #undef before", old.pos)
		}
		p.fault(nameAt, hint, "duplicate definition: %s", m.name)
		return
	}
	p.macros[m.name] = m
}

// macroBody reads to the end of the line without comments.
func (p *pp) macroBody() []rune {
	var body []rune
	for len(p.stack) > 0 && p.peek(0) != '\n' && !p.dead {
		r := p.peek(0)
		switch {
		case r == '\\' && p.peek(1) == '\n':
			p.next()
			p.next()
			body = append(body, '\n')
		case r == '/' && (p.peek(1) == '/' || p.peek(1) == '*'), r == '`':
			p.comment()
		case r == '"':
			body = append(body, p.next().r)
			for r := p.peek(0); r >= 0 && r != '\n'; r = p.peek(0) {
				body = append(body, p.next().r)
				if r == '"' {
					break
				}
				if r == '\\' && p.peek(0) >= 0 && p.peek(0) != '\n' {
					body = append(body, p.next().r)
				}
			}
		default:
			body = append(body, p.next().r)
		}
	}
	return body
}

// splitParams separates a parameter list from the text after a macro's name. "(a, b)" right after the name is
// one. LuNA also accepts blanks before it; here that counts only if the rest uses a parameter, so that
// "#define E (x)" means what it looks like.
func splitParams(text []rune) ([]string, []rune) {
	if m := paramList.FindStringSubmatch(string(text)); m != nil {
		params := strings.FieldsFunc(m[2], func(r rune) bool { return r == ',' || isBlank(r) })
		rest := text[len(m[0]):] // m is ASCII
		if m[1] == "" || slices.ContainsFunc(params, func(q string) bool {
			return strings.Contains(string(rest), "$"+q)
		}) {
			return params, rest
		}
	}
	if len(text) > 0 && isBlank(text[0]) {
		text = text[1:]
	}
	return nil, text
}

var paramList = regexp.MustCompile(`^([ \t]*)\(([ \t]*[A-Za-z_]\w*[ \t]*(?:,[ \t]*[A-Za-z_]\w*[ \t]*)*)\)`)

// use expands the macro whose $ is the next character.
func (p *pp) use(skip bool) {
	at := p.next()
	name := p.word()
	if skip {
		return
	}
	m := p.macros[name]
	if m == nil {
		p.fault(at, p.didYouMean(name, maps.Keys(p.macros)), "undefined identifier: %s", name)
		return
	}
	for e := at.exp; e != 0; e = p.exps[e].parent {
		if p.exps[e].name == name {
			p.fatal(at, "its body leads back to $"+name, "macro %s expands to itself", name)
			return
		}
	}
	var args [][]ch
	if m.params != nil {
		var ok bool
		if args, ok = p.arguments(at, m); !ok {
			return
		}
	}
	p.exps = append(p.exps, expansion{name, at.exp})
	id := int32(len(p.exps) - 1)
	var text []ch
	for i := 0; i < len(m.body); i++ {
		if m.body[i] == '$' && m.params != nil {
			if k, n := p.param(m, m.body[i+1:]); k >= 0 {
				text = append(text, args[k]...)
				i += n
				continue
			}
		}
		text = append(text, ch{m.body[i], at.file, at.line, at.col, id})
	}
	if p.expanded += len(text) + 1; p.expanded > maxExpanded {
		p.fatal(at, "", "macros expand to more than %d characters", maxExpanded)
		return
	}
	p.push(text)
}

// param finds the parameter named after a $ in a body: its index and how many characters name it. A longer
// word that is neither parameter nor macro still names the parameter it begins with ($n_x: parameter n), as
// in LuNA.
func (p *pp) param(m *macro, text []rune) (int, int) {
	n := 0
	for n < len(text) && isWord(text[n]) {
		n++
	}
	word := string(text[:n])
	best := -1
	for k, q := range m.params {
		if q == word {
			return k, n
		}
		if strings.HasPrefix(word, q) && (best < 0 || len(q) > len(m.params[best])) {
			best = k
		}
	}
	if best < 0 || p.macros[word] != nil {
		return -1, 0
	}
	return best, len(m.params[best])
}

// arguments reads "(a, b)" of a use. The list ends at the first ')'; there is no nesting, but "\," and "\)"
// hide the character. Every argument is preprocessed.
func (p *pp) arguments(at ch, m *macro) ([][]ch, bool) {
	if p.peek(0) != '(' {
		p.fault(at, fmt.Sprintf("write $%s(%s)", m.name, strings.Join(m.params, ", ")), "argument(s) expected")
		return nil, false
	}
	open := p.next()
	args := [][]ch{nil}
	nested := 0
	for {
		if len(p.stack) == 0 {
			p.fatal(open, "the arguments begin here; end them with )", "arguments of macro %s reach end of file",
				m.name)
			return nil, false
		}
		c := p.next()
		if c.r == ')' {
			break
		}
		if c.r == ',' {
			args = append(args, nil)
			continue
		}
		if c.r == '\\' && (p.peek(0) == ',' || p.peek(0) == ')') {
			c = p.next()
			if c.r == ')' {
				nested--
			}
		}
		if c.r == '(' {
			nested++
		}
		args[len(args)-1] = append(args[len(args)-1], c)
	}
	if nested > 0 {
		p.add(Diag{Stage: StagePreprocess, Warn: true, Pos: p.posOf(at),
			Hint: "write \\) for a ) that belongs to an argument",
			Msg:  fmt.Sprintf("the arguments of macro %s end at the first ')', inside parentheses", m.name)})
	}
	if len(args) < len(m.params) {
		p.fault(at, "", "more arguments expected (provided: %d, need: %d)", len(args), len(m.params))
		return nil, false
	}
	if len(args) > len(m.params) {
		p.fault(at, "", "unexpected argument (%d expected, got %d)", len(m.params), len(args))
		return nil, false
	}
	rest, last := p.stack, p.last
	if p.depth++; p.depth >= maxDepth {
		p.fatal(at, "", "maximum parse recursion depth reached")
		return nil, false
	}
	for k, a := range args {
		p.stack = p.stack[len(p.stack):]
		p.push(a)
		args[k] = p.scan(nil)
		if p.dead {
			return nil, false
		}
	}
	p.depth--
	p.stack, p.last = rest, last
	return args, true
}
