package instrument

import "strings"

// condition is a formula over names whose truth is not known: defined X, and comparisons as they are written.
type condition struct {
	op   byte // one of those below
	l, r *condition
	name string
}

const (
	isTrue  = '1'
	isFalse = '0'
	isFact  = 'n' // true if name is
	isNot   = '!' // of l
	isAnd   = '&'
	isOr    = '|'
)

// maxCondition bounds the tokens of a condition that is looked into.
const maxCondition = 500

// always is the condition of #else. "#if 1" is another one, which #else may follow.
var always = &condition{op: isTrue}

// readCondition reads what follows #if, #ifdef or #ifndef.
func readCondition(name string, expr []token) *condition {
	var toks []token
	for _, t := range expr {
		if t.kind != mark {
			toks = append(toks, t)
		}
	}
	p := newParser(toks)
	if name != "if" {
		c := fact(append([]string{"defined"}, texts(p.toks)...))
		if name == "ifndef" {
			c = &condition{op: isNot, l: c}
		}
		return c
	}
	if p.pair() != nil || len(toks) > maxCondition {
		return fact(texts(p.toks))
	}
	return p.formula(0, len(p.toks))
}

func texts(toks []token) (list []string) {
	for _, t := range toks {
		list = append(list, t.spelling)
	}
	return list
}

// fact is a condition that is not looked into.
func fact(words []string) *condition {
	switch name := strings.Join(words, " "); name {
	case "0", "false":
		return &condition{op: isFalse}
	case "1", "true", "defined __cplusplus", "__cplusplus":
		return &condition{op: isTrue}
	default:
		return &condition{op: isFact, name: name}
	}
}

// formula reads the tokens from i to end.
func (p *parser) formula(i, end int) *condition {
	for _, op := range []string{"?", "||", "&&"} {
		switch j := p.find(i, end, op); {
		case j == end:
		case op == "?":
			return fact(texts(p.toks[i:end]))
		default:
			return &condition{op: op[0], l: p.formula(i, j), r: p.formula(j+1, end)}
		}
	}
	switch {
	case p.is(i, "!") && (end == i+2 || p.is(i+1, "defined") || p.is(i+1, "(") && p.match[i+1] == end-1):
		return &condition{op: isNot, l: p.formula(i+1, end)}
	case p.is(i, "(") && p.match[i] == end-1:
		return p.formula(i+1, end-1)
	case end == i+4 && p.is(i, "defined") && p.is(i+1, "("):
		return fact([]string{"defined", p.toks[i+2].spelling})
	}
	return fact(texts(p.toks[i:end]))
}

// value is the truth of c, known only if it follows from what is assigned.
func (a assignment) value(c *condition) (value, known bool) {
	switch c.op {
	case isTrue, isFalse:
		return c.op == isTrue, true
	case isFact:
		value, known = a[c.name]
		return value, known
	case isNot:
		value, known = a.value(c.l)
		return !value, known
	}
	l, lk := a.value(c.l)
	r, rk := a.value(c.r)
	decides := c.op == isOr // the value of one side that decides
	if lk && l == decides || rk && r == decides {
		return decides, true
	}
	return !decides, lk && rk
}

// force makes c what it should be; false: what is assigned already does not allow it.
func (a assignment) force(c *condition, value bool) bool {
	if v, known := a.value(c); known {
		return v == value
	}
	switch c.op {
	case isFact:
		a[c.name] = value
		return true
	case isNot:
		return a.force(c.l, !value)
	}
	if decides := c.op == isOr; value != decides {
		return a.force(c.l, value) && a.force(c.r, value)
	}
	if v, known := a.value(c.l); known && v != value {
		return a.force(c.r, value)
	}
	return a.force(c.l, value)
}
