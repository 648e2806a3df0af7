package engine

// Expressions in the arguments of rules, written as in C:
//
//	or     = and { "||" and }                 sum   = term { ("+" | "-") term }
//	and    = equal { "&&" equal }             term  = unary { ("*" | "/" | "%") unary }
//	equal  = order [ ("==" | "!=") order ]    unary = { "-" | "+" | "!" } basic
//	order  = sum [ ("<"|"<="|">"|">=") sum ]  basic = number | string | name | "(" or ")"
//
// Types are known when the rule is read: whole numbers (64 bits, wrapping), reals, and texts, which can only
// be compared. A comparison gives 1 or 0. Nothing may fail when an event is emitted, so a whole number
// divided by zero is 0.

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/trace"
)

// RuleArgError is what is wrong with an argument of a rule.
type RuleArgError struct {
	Arg, Offset int // which argument, and where in its text, in bytes
	Err         error
}

// Error is the text without the position.
func (e *RuleArgError) Error() string { return e.Err.Error() }

// calc is an argument that is calculated.
type calc struct {
	root   *ruleTerm
	leaves []arg
	late   bool // some are known only when the event is emitted
}

// ruleTerm is a part of an expression: an operation, or without one a leaf.
type ruleTerm struct {
	op   string
	x, y *ruleTerm // y nil: one operand
	leaf int
	typ  trace.FieldType // FieldInt, FieldFloat or FieldName; FieldCF or FieldSite cannot be calculated with
}

// gathered are the leaves of a calc whose CF is here, while others are still missing.
type gathered struct {
	*calc
	vals []any
}

// gather takes the values that the CF has, and calculates if there is nothing else.
func (k *calc) gather(a *actor, c *cf, locked bool) any {
	vals := make([]any, len(k.leaves))
	for i := range k.leaves {
		x := &k.leaves[i]
		if vals[i] = x.v; x.argument != nil && x.of != nil {
			vals[i] = x.of(a, c, locked)
		}
	}
	if k.late {
		return gathered{k, vals}
	}
	return k.root.value(vals)
}

// timed calculates at the time of the emission.
func (g gathered) timed(a *actor, t int64) any {
	for i, x := range g.leaves {
		if x.argument != nil && x.at != nil {
			g.vals[i] = x.at(a, t)
		}
	}
	return g.root.value(g.vals)
}

// value calculates: an int64, a float64 or a string.
func (n *ruleTerm) value(vals []any) any {
	if n.op == "" {
		if u, ok := vals[n.leaf].(uint64); ok {
			return int64(u)
		}
		return vals[n.leaf]
	}
	x := n.x.value(vals)
	switch { // without looking at the other side
	case n.op == "&&" && !isTrue(x), n.op == "||" && isTrue(x):
		return oneIf(n.op == "||")
	case n.op == "!":
		return oneIf(!isTrue(x))
	case n.y == nil:
		if f, ok := x.(float64); ok {
			return -f
		}
		return -x.(int64)
	}
	y := n.y.value(vals)
	if n.op == "&&" || n.op == "||" {
		return oneIf(isTrue(y))
	}
	if s, ok := x.(string); ok {
		return compared(n.op, s, y.(string))
	}
	i, whole := x.(int64)
	j, alsoWhole := y.(int64)
	if whole && alsoWhole {
		switch n.op {
		case "+":
			return i + j
		case "-":
			return i - j
		case "*":
			return i * j
		case "/", "%":
			switch {
			case j == 0:
				return int64(0)
			case n.op == "/":
				return i / j
			}
			return i % j
		}
		return compared(n.op, i, j)
	}
	f, g := real(x), real(y)
	switch n.op {
	case "+":
		return f + g
	case "-":
		return f - g
	case "*":
		return f * g
	case "/":
		return f / g
	}
	return compared(n.op, f, g)
}

func compared[T cmp.Ordered](op string, x, y T) any {
	switch op {
	case "==":
		return oneIf(x == y)
	case "!=":
		return oneIf(x != y)
	case "<":
		return oneIf(x < y)
	case "<=":
		return oneIf(x <= y)
	case ">":
		return oneIf(x > y)
	}
	return oneIf(x >= y)
}

func real(v any) float64 {
	if i, ok := v.(int64); ok {
		return float64(i)
	}
	return v.(float64)
}

func isTrue(v any) bool { return v != int64(0) && v != 0.0 }

func oneIf(b bool) any {
	if b {
		return int64(1)
	}
	return int64(0)
}

// argParser reads one argument.
type argParser struct {
	text  string
	at    int // what follows
	depth int
	calc  calc
	field trace.Field // of the last leaf
}

// deepest is how deeply expressions may be nested.
const deepest = 100

// parseArg reads an argument and gives the event's field for it. An error is an *RuleArgError without its
// Arg.
func parseArg(text string) (f trace.Field, a arg, err error) {
	p := &argParser{text: text}
	defer func() {
		if x := recover(); x != nil {
			bad, ok := x.(*RuleArgError)
			if !ok {
				panic(x)
			}
			err = bad
		}
	}()
	root := p.binary(0)
	if p.blanks(); p.at < len(text) {
		p.fail(p.at, "argument %s: there is no operator %s", text, firstOf(text[p.at:]))
	}
	if root.op == "" { // a leaf: as it is
		return p.field, p.calc.leaves[0], nil
	}
	p.calc.root = root
	f = trace.Field{Name: "value", Type: root.typ}
	if !slices.ContainsFunc(p.calc.leaves, func(a arg) bool { return a.argument != nil }) {
		return f, arg{v: p.calc.gather(nil, nil, false)}, nil
	}
	p.calc.late = slices.ContainsFunc(p.calc.leaves,
		func(a arg) bool { return a.argument != nil && a.at != nil })
	return f, arg{calc: &p.calc}, nil
}

func (p *argParser) fail(at int, format string, args ...any) {
	panic(&RuleArgError{Offset: at, Err: fmt.Errorf(format, args...)})
}

// firstOf is the beginning of a text, for messages.
func firstOf(s string) string {
	for i := range s {
		if i >= 1 && !(i == 1 && strings.ContainsRune("=&|<>", rune(s[1]))) {
			return s[:i]
		}
	}
	return s
}

func (p *argParser) blanks() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
}

// accept takes the first of the texts that follows.
func (p *argParser) accept(texts ...string) string {
	p.blanks()
	for _, t := range texts {
		if strings.HasPrefix(p.text[p.at:], t) {
			p.at += len(t)
			return t
		}
	}
	return ""
}

// operators by how tightly they bind; longer ones before those that they begin with. Those of one comparison
// do not follow each other: in C, a < b < c is not what it seems.
var operators = [][]string{{"||"}, {"&&"}, {"==", "!="}, {"<=", ">=", "<", ">"}, {"+", "-"}, {"*", "/", "%"}}

// binary reads operations that bind at least so tightly.
func (p *argParser) binary(level int) *ruleTerm {
	if level == len(operators) {
		return p.unary()
	}
	x := p.binary(level + 1)
	for {
		p.blanks()
		at := p.at
		op := p.accept(operators[level]...)
		if op == "" {
			return x
		}
		y := p.binary(level + 1)
		x = p.operation(at, op, x, y)
		if level == 2 || level == 3 {
			return x
		}
	}
}

// operation checks the types of an operation.
func (p *argParser) operation(at int, op string, x, y *ruleTerm) *ruleTerm {
	n := &ruleTerm{op: op, x: x, y: y, typ: trace.FieldInt}
	comparison := slices.Contains(operators[2], op) || slices.Contains(operators[3], op)
	texts := 0
	for _, s := range []*ruleTerm{x, y} {
		switch {
		case s == nil:
		case s.typ == trace.FieldCF || s.typ == trace.FieldSite:
			p.fail(at, "argument %s: %s needs numbers, but one side is a %v", p.text, op, s.typ)
		case s.typ == trace.FieldName:
			texts++
		case s.typ == trace.FieldFloat && op == "%":
			p.fail(at, "argument %s: %% needs whole numbers", p.text)
		case s.typ == trace.FieldFloat && !comparison && !slices.Contains([]string{"!", "&&", "||"}, op):
			n.typ = trace.FieldFloat
		}
	}
	if texts > 0 && (!comparison || texts < 2) {
		if comparison {
			p.fail(at, "argument %s: %s compares a text with a number", p.text, op)
		}
		p.fail(at, "argument %s: %s needs numbers, but one side is a text", p.text, op)
	}
	return n
}

func (p *argParser) unary() *ruleTerm {
	if p.depth++; p.depth > deepest {
		p.fail(p.at, "the argument is nested more than %d deep", deepest)
	}
	defer func() { p.depth-- }()
	p.blanks()
	at := p.at
	switch op := p.accept("-", "+", "!"); {
	case op == "":
		return p.basic()
	case op == "-" && p.digits():
		return p.number("-")
	case op == "+":
		return p.operation(at, "-", p.operation(at, "-", p.unary(), nil), nil)
	default:
		return p.operation(at, op, p.unary(), nil)
	}
}

// digits tells whether a number follows at once.
func (p *argParser) digits() bool {
	rest := strings.TrimPrefix(p.text[p.at:], ".")
	return rest != "" && rest[0] >= '0' && rest[0] <= '9'
}

func (p *argParser) leaf(f trace.Field, a arg) *ruleTerm {
	p.field = f
	p.calc.leaves = append(p.calc.leaves, a)
	n := &ruleTerm{leaf: len(p.calc.leaves) - 1, typ: f.Type}
	switch f.Type {
	case trace.FieldFloat, trace.FieldName, trace.FieldCF, trace.FieldSite:
	default:
		n.typ = trace.FieldInt
	}
	return n
}

func (p *argParser) basic() *ruleTerm {
	p.blanks()
	start := p.at
	if p.accept("(") != "" {
		x := p.binary(0)
		if p.accept(")") == "" {
			p.fail(p.at, "argument %s: a ) is missing", p.text)
		}
		return x
	}
	switch {
	case p.at == len(p.text):
		p.fail(p.at, "argument %q: a number, a name or a \"text\" is missing", p.text)
	case p.text[p.at] == '"':
		return p.quoted()
	case p.digits():
		return p.number("")
	}
	p.identifier()
	for p.accept("::", ".") != "" {
		p.blanks()
		p.identifier()
		if end := p.at; p.accept("(") == "" || p.accept(")") == "" {
			p.at = end
		}
	}
	if p.at == start {
		p.fail(start, "argument %s: a number, a name or a \"text\" is missing before %s", p.text,
			firstOf(p.text[start:]))
	}
	f, a, err := named(strings.TrimSpace(p.text[start:p.at]))
	if err != nil {
		p.fail(start, "%w", err)
	}
	return p.leaf(f, a)
}

// identifier takes letters, digits and _, and () if it follows.
func (p *argParser) identifier() {
	for p.at < len(p.text) {
		if c := p.text[p.at]; c != '_' && (c < '0' || c > '9') && (c|32 < 'a' || c|32 > 'z') {
			break
		}
		p.at++
	}
}

func (p *argParser) quoted() *ruleTerm {
	start := p.at
	for p.at++; p.at < len(p.text) && p.text[p.at] != '"'; p.at++ {
		if p.text[p.at] == '\\' {
			p.at++
		}
	}
	p.at = min(p.at+1, len(p.text))
	s, err := strconv.Unquote(p.text[start:p.at])
	if err != nil {
		p.fail(start, "argument %s is not a C string", p.text[start:p.at])
	}
	return p.leaf(trace.Field{Name: "text", Type: trace.FieldName}, arg{v: s})
}

// number reads a constant as written in C.
func (p *argParser) number(sign string) *ruleTerm {
	start := p.at
	for p.at < len(p.text) {
		c, hex := p.text[p.at], strings.HasPrefix(p.text[start:], "0x")
		exponent := (c == '+' || c == '-') && p.at > start && p.text[p.at-1]|32 == 'e' && !hex
		if !exponent && c != '.' && c != '_' && (c < '0' || c > '9') && (c|32 < 'a' || c|32 > 'z') {
			break
		}
		p.at++
	}
	text := sign + p.text[start:p.at]
	i, err := strconv.ParseInt(text, 0, 64)
	if err == nil {
		return p.leaf(trace.Field{Name: "value", Type: trace.FieldInt}, arg{v: i})
	}
	if errors.Is(err, strconv.ErrRange) {
		p.fail(start, "argument %s does not fit 64 bits", text)
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		p.fail(start, "argument %s is not a number", text)
	}
	return p.leaf(trace.Field{Name: "value", Type: trace.FieldFloat}, arg{v: x})
}
