package instrument

import "strings"

// problem is why a source, or a rule at a place of it, is not understood: what, and the byte where.
type problem struct {
	at   int
	what string
}

// function is a function's body that was found.
type function struct {
	path      []string // namespaces, classes and the name; "operator()" last for a lambda
	start     int      // byte after its {
	block     bool     // its result is a BlockRetStatus
	lambda    bool
	constexpr bool // also: with other conditions of #if
}

// form tells what may be done around a statement.
type form uint8

const (
	simple  form = iota // ends with its ;
	leaving             // return, throw, goto ...: nothing comes after it
	headed              // what is looked at is in its head: if, switch, a macro before another statement
	looping             // what is looked at is in the head of a loop
	nowhere             // no statement: an initialiser outside functions, a constructor's list
)

// statement is where something may be inserted.
type statement struct {
	form       form
	start, end int  // bytes; end is after the ;
	headEnd    int  // byte after the head of a headed one
	sub        bool // the branch of an if, the body of a loop ...: it stays one statement
	beforeElse bool // the next word is else
	only       bool // a #pragma allows no other statement with it
	fn         *function
}

// returning is a return statement with its expression.
type returning struct {
	st   *statement
	expr []token
}

// calling is a call by name.
type calling struct {
	st   *statement
	path []string
	at   int
}

// reading is what one variant of a file holds.
type reading struct {
	functions []*function
	returns   []returning
	calls     []calling
	foreign   [][]string // functions declared extern "C" without a body
	blocks    [][]string // functions declared or defined with result BlockRetStatus
}

// maxDepth bounds the nesting of brackets.
const maxDepth = 2000

type parser struct {
	toks  []token
	match []int // of a bracket: the index of its partner
	depth int   // of statements
	steps int   // that are left
	*vocabulary
	reading
}

// Looking ahead (for the end of template arguments, say) may read tokens again and again. No code that people
// write comes near stepsPerToken; more than that would take minutes for a file of a few MB.
const stepsPerToken = 1000

func newParser(toks []token) *parser {
	return &parser{toks: toks, steps: stepsPerToken * (len(toks) + stepsPerToken)}
}

// step is called for every look at a token.
func (p *parser) step(i int) {
	if p.steps--; p.steps < 0 {
		p.fail(i, "too many ways to read the code")
	}
}

// scope is what declarations are in.
type scope struct {
	path    []string
	class   bool
	linkage bool // extern "C"
	fn      *function
	// In the initialiser of something constexpr: lambdas there may be executed by the compiler.
	constexpr bool
}

func (s scope) named(name ...string) []string {
	return append(s.path[:len(s.path):len(s.path)], name...)
}

// parse reads one variant.
func parse(toks []token, v *vocabulary) (r *reading, err *problem) {
	p := newParser(toks)
	p.vocabulary = v
	if err := p.pair(); err != nil {
		return nil, err
	}
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *problem:
			r, err = nil, e
		default:
			panic(e)
		}
	}()
	p.declarations(0, len(toks), scope{})
	return &p.reading, nil
}

// pair finds each bracket's partner.
func (p *parser) pair() *problem {
	p.match = make([]int, len(p.toks))
	var open []int
	for i, t := range p.toks {
		if t.kind == bad {
			return &problem{t.start, t.spelling}
		}
		if t.kind != punct {
			continue
		}
		switch t.spelling {
		case "(", "[", "{":
			if open = append(open, i); len(open) > maxDepth {
				return &problem{t.start, "brackets are nested too deep"}
			}
		case ")", "]", "}":
			if len(open) == 0 {
				return &problem{t.start, "`" + t.spelling + "` closes nothing"}
			}
			j := open[len(open)-1]
			open = open[:len(open)-1]
			if want := map[string]string{"(": ")", "[": "]", "{": "}"}[p.toks[j].spelling]; want != t.spelling {
				return &problem{p.toks[j].start, "`" + p.toks[j].spelling + "` is closed by `" + t.spelling + "`"}
			}
			p.match[i], p.match[j] = j, i
		}
	}
	if len(open) > 0 {
		t := p.toks[open[len(open)-1]]
		return &problem{t.start, "`" + t.spelling + "` is not closed"}
	}
	return nil
}

func (p *parser) fail(i int, what string) {
	at := 0
	if i < len(p.toks) {
		at = p.toks[i].start
	} else if len(p.toks) > 0 {
		at = p.toks[len(p.toks)-1].end
	}
	panic(&problem{at, what})
}

func (p *parser) is(i int, spelling string) bool {
	p.step(i)
	return i >= 0 && i < len(p.toks) && p.toks[i].is(spelling)
}

func (p *parser) word(i int) bool {
	p.step(i)
	return i >= 0 && i < len(p.toks) && p.toks[i].kind == word
}

// in tells whether token i is one of the words.
func (p *parser) in(i int, words map[string]bool) bool {
	p.step(i)
	return i >= 0 && i < len(p.toks) && (p.toks[i].kind == word || p.toks[i].kind == punct) &&
		words[p.toks[i].spelling]
}

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

var (
	classKeys  = set("class struct union")
	specifiers = set("static inline extern virtual explicit friend constexpr consteval constinit " +
		"thread_local mutable register typedef export")
	// Words before a parenthesis that is no parameter list.
	withParens = set("decltype alignas noexcept throw __attribute__ __attribute __declspec requires " +
		"explicit asm __asm__ static_assert _Static_assert typeof __typeof__ sizeof alignof typeid")
	// What may stand after a parameter list, before the body.
	trailing = set("const volatile & && noexcept override final try mutable throw __attribute__ " +
		"__attribute constexpr consteval static")
	types = set("void bool char short int long float double signed unsigned auto wchar_t char8_t " +
		"char16_t char32_t const volatile")
)

// angles returns the place after the template arguments that < at i opens, or 0 if they are none.
func (p *parser) angles(i int) int {
	depth := 0
	for ; i < len(p.toks); i++ {
		p.step(i)
		if p.toks[i].kind != punct {
			continue
		}
		switch p.toks[i].spelling {
		case "<":
			depth++
		case ">":
			if depth--; depth == 0 {
				return i + 1
			}
		case "(", "[", "{":
			i = p.match[i]
		case ")", "]", "}", ";":
			return 0
		}
	}
	return 0
}

// anglesBack returns the index of the < that > at i closes, or -1.
func (p *parser) anglesBack(i int) int {
	depth := 0
	for ; i >= 0; i-- {
		switch {
		case p.is(i, ">"):
			depth++
		case p.is(i, "<"):
			if depth--; depth == 0 {
				return i
			}
		case p.is(i, ")"), p.is(i, "]"), p.is(i, "}"):
			i = p.match[i]
		case p.is(i, "("), p.is(i, "["), p.is(i, "{"), p.is(i, ";"):
			return -1
		}
	}
	return -1
}

// typeEnd returns the place after what may stand in the name of a type: names, template arguments, brackets
// and the given symbols; 0 where template arguments do not end.
func (p *parser) typeEnd(i, end int, symbols map[string]bool) int {
	for i < end {
		switch {
		case p.is(i, "<"):
			if i = p.angles(i); i == 0 {
				return 0
			}
		case p.is(i, "(") && symbols["("]:
			i = p.match[i] + 1
		case p.word(i) || p.in(i, symbols):
			i++
		default:
			return i
		}
	}
	return i
}

// attributes returns the place after [[...]], __attribute__((...)) and the like at i.
func (p *parser) attributes(i int) int {
	for {
		switch {
		case p.is(i, "[") && p.is(i+1, "["):
			i = p.match[i] + 1
		case (p.is(i, "__attribute__") || p.is(i, "__attribute") || p.is(i, "__declspec") ||
			p.is(i, "alignas")) && p.is(i+1, "("):
			i = p.match[i+1] + 1
		default:
			return i
		}
	}
}

// declarations reads what stands outside functions: from i to end.
func (p *parser) declarations(i, end int, in scope) {
	for i < end {
		switch {
		case p.is(i, ";"):
			i++
		case in.class && p.word(i) && (p.is(i+1, ":") || p.word(i+1) && p.is(i+2, ":")) &&
			p.in(i, set("public private protected signals Q_SIGNALS")):
			for !p.is(i, ":") {
				i++
			}
			i++
		default:
			i = p.declaration(i, end, in)
		}
	}
}

// declaration reads the one at start and returns the place after it.
func (p *parser) declaration(start, end int, in scope) int {
	if next, ok := p.group(start, in); ok {
		return next
	}
	outside := &statement{form: nowhere, fn: in.fn}
	for j := start; j < end; {
		t := p.toks[j]
		in.constexpr = in.constexpr || p.in(j, p.constexpr)
		switch {
		case t.is(";"):
			p.prototype(start, j, in)
			return j + 1
		case t.is("template") && p.is(j+1, "<"):
			if k := p.angles(j + 1); k > 0 && k <= end {
				j = k
				continue
			}
			j++
		case j > start && (t.is("namespace") || t.is("extern")): // after a macro
			if next, ok := p.group(j, in); ok {
				return next
			}
			j++
		case t.is("operator"):
			j = p.operatorName(j)
		case t.is("=") || t.is("asm") || t.is("using") && j == start:
			if p.prototype(start, j, in); t.is("=") {
				j++
			}
			k := p.find(j, end, ";")
			p.expression(j, k, outside, in)
			return min(k+1, end)
		case t.is("(") || t.is("["):
			p.expression(j+1, p.match[j], outside, in)
			j = p.match[j] + 1
		case t.is("enum"):
			k := j + 1
			for p.word(k) || p.is(k, "::") || p.is(k, ":") {
				k++
			}
			if j++; p.is(k, "{") {
				j = p.match[k] + 1
			}
		case classKeys[t.spelling] && t.kind == word:
			if body, path := p.classBody(j, end, in); body > 0 {
				p.declarations(body+1, p.match[body], scope{path: path, class: true, fn: in.fn})
				j = p.match[body] + 1
				continue
			}
			j++
		case t.is(":"):
			if body := p.initialisers(start, j, end, in); body > 0 {
				p.expression(j+1, body, outside, in)
				d, _ := p.declarator(start, j, in)
				return p.definition(start, j, body, end, d, in)
			}
			j++
		case t.is("{"):
			if p.isRequires(j) {
				j = p.match[j] + 1
				continue
			}
			if d, ok := p.declarator(start, j, in); ok {
				return p.definition(start, j, j, end, d, in)
			}
			switch {
			case !p.holdsStatements(j): // int x{5}
				p.expression(j+1, p.match[j], outside, in)
			case p.in(j+1, statementWords):
				p.block(j, &function{path: in.named("?"), start: p.toks[j].end, constexpr: in.constexpr})
			default: // NAMESPACE_MACRO {
				p.declarations(j+1, p.match[j], in)
			}
			if j = p.match[j] + 1; !p.is(j, ",") && !p.is(j, ";") && !p.is(j, "=") {
				return j
			}
			if p.is(j, ",") {
				start = j + 1
			}
		default:
			j++
		}
	}
	return end
}

// find returns the place of a token in [i, end), outside brackets that open there; end if there is none.
func (p *parser) find(i, end int, spelling string) int {
	for i < end && !p.is(i, spelling) {
		i = p.over(i)
	}
	return min(i, end)
}

// over returns the place after token i, or after the group that it opens.
func (p *parser) over(i int) int {
	if p.is(i, "(") || p.is(i, "[") || p.is(i, "{") {
		return p.match[i] + 1
	}
	return i + 1
}

// group reads a namespace or a linkage group at i.
func (p *parser) group(i int, in scope) (next int, ok bool) {
	if p.is(i, "extern") && i+2 < len(p.toks) && p.toks[i+1].kind == text && p.is(i+2, "{") {
		in.linkage = p.toks[i+1].spelling == `"C"`
		p.declarations(i+3, p.match[i+2], in)
		return p.match[i+2] + 1, true
	}
	if p.is(i, "inline") && p.is(i+1, "namespace") {
		i++
	}
	if !p.is(i, "namespace") {
		return 0, false
	}
	for j := i + 1; j < len(p.toks); {
		switch {
		case p.is(j, "{"):
			p.declarations(j+1, p.match[j], in)
			return p.match[j] + 1, true
		case p.is(j, "[") || p.is(j, "("):
			j = p.match[j] + 1
		case p.word(j) && p.is(j+1, "("): // a macro, an attribute
			j++
		case p.word(j) || p.is(j, "::"):
			if p.word(j) && !p.is(j, "inline") {
				in.path = in.named(p.toks[j].spelling)
			}
			j++
		default:
			return 0, false
		}
	}
	return 0, false
}

// classBody finds the { of the class that the key at i defines, and what its members are in; 0 if it defines
// none.
func (p *parser) classBody(i, end int, in scope) (body int, path []string) {
	path = in.path
	name := path
	j := i + 1
	for j < end {
		if k := p.attributes(j); k > j {
			j = k
			continue
		}
		switch {
		case p.is(j, "{"):
			return j, name
		case p.is(j, ":"):
			if j = p.typeEnd(j+1, end, set("( :: , ...")); p.is(j, "{") {
				return j, name
			}
			return 0, nil
		case p.is(j, "<"):
			if j = p.angles(j); j == 0 {
				return 0, nil
			}
		case p.word(j) && p.is(j+1, "(") && j == i+1 && p.word(p.match[j+1]+1): // class EXPORT(x) Name
			j = p.match[j+1] + 1
		case p.word(j):
			if !p.is(j, "final") {
				if !p.is(j-1, "::") {
					name = path
				}
				name = append(name[:len(name):len(name)], p.toks[j].spelling)
			}
			j++
		case p.is(j, "::"):
			j++
		default:
			return 0, nil
		}
	}
	return 0, nil
}

// isRequires tells whether { at i belongs to a requires expression.
func (p *parser) isRequires(i int) bool {
	return p.is(i-1, "requires") || p.is(i-1, ")") && p.is(p.match[i-1]-1, "requires")
}

// initialisers reads a constructor's list whose colon is at i and returns the { of the body; 0: the colon is
// another one.
func (p *parser) initialisers(start, i, end int, in scope) int {
	if _, ok := p.declarator(start, i, in); !ok {
		return 0
	}
	for j := i + 1; j < end; j++ {
		if j = p.typeEnd(j, end, set("::")); j == 0 || j >= end || !p.is(j, "(") && !p.is(j, "{") {
			return 0
		}
		if j = p.match[j] + 1; p.is(j, "...") {
			j++
		}
		if p.is(j, "{") {
			return j
		}
		if !p.is(j, ",") {
			return 0
		}
	}
	return 0
}

// definition reads the function whose head is [start, headEnd) and whose body begins at body.
func (p *parser) definition(start, headEnd, body, end int, d declarator, in scope) int {
	f := &function{path: in.named(d.name...), start: p.toks[body].end, block: p.givesBlock(start, headEnd, d)}
	for k := start; k < d.start; k++ {
		f.constexpr = f.constexpr || p.in(k, p.constexpr)
	}
	if f.block {
		p.blocks = append(p.blocks, f.path)
	}
	p.functions = append(p.functions, f)
	p.block(body, f)
	return p.handlers(p.match[body]+1, end, f) // of a function that is a try block
}

// prototype notes functions that are declared here without a body: blocks, and what is user code if it has C
// linkage.
func (p *parser) prototype(start, end int, in scope) {
	if p.is(start, "typedef") || p.is(start, "using") || p.is(start, "friend") || in.fn != nil {
		return
	}
	linkage := in.linkage && !in.class || p.in(start, p.linkage)
	if p.is(start, "extern") && start+1 < end && p.toks[start+1].kind == text {
		linkage = p.toks[start+1].spelling == `"C"`
	}
	d, ok := p.declarator(start, end, in)
	if !ok {
		return
	}
	if p.givesBlock(start, end, d) {
		p.blocks = append(p.blocks, in.named(d.name...))
		return
	}
	for i := d.close + 1; linkage; { // int f(int), g(int);
		p.foreign = append(p.foreign, in.named(d.name...))
		if i = p.find(i, end, ",") + 1; i > end {
			break
		}
		if d, linkage = p.declarator(i, end, in); linkage {
			i = d.close + 1
		}
	}
}
