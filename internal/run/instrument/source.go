package instrument

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/whyslow/whyslow/prof/config"
)

// Insertion is one EMIT_EVENT that is in the result.
type Insertion struct {
	Event    string // "Namespace::onName"
	Rule     string // "before return EXIT"
	Function string // the function around it, "ns::A::f"
	Line     int    // from 1; the same before and after
	Col      int    // from 1, in characters of the text without insertions
	Text     string // "EMIT_EVENT(...);"
}

// file is a source without insertions, and what its variants hold.
type file struct {
	name     string
	given    []byte
	text     []byte
	cuts     []cut // what was taken out of given
	lines    []int // where the lines of text begin
	readings []*reading
	forks    []int   // where conditional directives are
	macros   []macro // bodies of #define
	toks     []token
	problem  *Warning // why it cannot be instrumented
	foreign  names    // of all readings
	blocks   names
}

// macro is the body of a #define.
type macro struct {
	name string
	toks []token
}

// Source inserts what the rules ask for into C++ text; name is used in messages. Earlier insertions are
// taken out first, so that the result is the same whatever was inserted before, and the text without
// insertions if there are no rules. Functions that other files declare extern "C" are not known to it:
// see Run.
//
// Where the text cannot be understood it is returned as it is, with one warning that is Skipped.
func Source(name string, text []byte, rules []Rule) (out []byte, insertions []Insertion, warnings []Warning) {
	list, warnings := compile(rules)
	f := open(name, text)
	f.parse(readMacros([]*file{f}))
	out, insertions, more := f.apply(list, f.foreign, f.blocks)
	return out, insertions, append(warnings, more...)
}

// open reads a source; parse comes next.
func open(name string, given []byte) *file {
	f := &file{name: name, given: given, foreign: names{}, blocks: names{}}
	var err *problem
	if f.text, f.cuts, err = strip(given); err != nil {
		f.text, f.cuts = given, nil
		f.skip(*err, "")
		return f
	}
	if zero := bytes.IndexByte(f.text, 0); zero >= 0 {
		f.skip(problem{zero, "a zero byte: this is no text in UTF-8 or another extension of ASCII"}, "")
		return f
	}
	f.lines = []int{0}
	for i, b := range f.text {
		if b == '\n' {
			f.lines = append(f.lines, i+1)
		}
	}
	f.toks = lex(f.text, 0, len(f.text))
	for _, t := range f.toks {
		if t.kind != directive {
			continue
		}
		line := directiveTokens(f.text, t)
		if len(line) == 0 {
			continue
		}
		switch line[0].spelling {
		case "if", "ifdef", "ifndef", "elif", "elifdef", "elifndef", "else", "endif":
			f.forks = append(f.forks, t.start)
		case "define":
			if len(line) > 2 {
				f.macros = append(f.macros, macro{line[1].spelling, line[2:]})
			}
		}
	}
	return f
}

// vocabulary is what macros of the files stand for.
type vocabulary struct {
	constexpr map[string]bool // constexpr, perhaps with attributes
	linkage   map[string]bool // extern "C", perhaps with attributes
}

func readMacros(files []*file) *vocabulary {
	v := &vocabulary{set("constexpr consteval"), map[string]bool{}}
	for more := true; more; { // macros of macros
		more = false
		for _, f := range files {
			for _, m := range f.macros {
				if slices.ContainsFunc(m.toks, func(t token) bool { return t.is("{") || t.is(";") }) {
					continue
				}
				more = learn(v.constexpr, m, func(i int) bool { return v.constexpr[m.toks[i].spelling] }) || more
				more = learn(v.linkage, m, func(i int) bool {
					return v.linkage[m.toks[i].spelling] || m.toks[i].is("extern") && i+1 < len(m.toks) &&
						m.toks[i+1].spelling == `"C"`
				}) || more
			}
		}
	}
	return v
}

// learn adds the macro to the names if a word of it means the same.
func learn(names map[string]bool, m macro, means func(i int) bool) bool {
	if names[m.name] {
		return false
	}
	for i, t := range m.toks {
		if t.kind == word && means(i) {
			names[m.name] = true
			return true
		}
	}
	return false
}

// parse finds what the source holds.
func (f *file) parse(v *vocabulary) {
	if f.problem != nil {
		return
	}
	top, all, err := conditionals(f.text, f.toks)
	if err != nil {
		f.skip(*err, "")
		return
	}
	complete := variants(top, all, func(toks []token, where string) bool {
		r, err := parse(toks, v)
		if err != nil {
			f.skip(*err, where)
			return false
		}
		f.readings = append(f.readings, r)
		f.foreign.add(r.foreign)
		f.blocks.add(r.blocks)
		return true
	})
	if !complete {
		f.skip(problem{0, "too many branches of #if"}, "")
	}
	f.toks = nil
	fixed := map[int]bool{} // bodies of functions that are constexpr in some variant
	for _, r := range f.readings {
		for _, fn := range r.functions {
			fixed[fn.start] = fixed[fn.start] || fn.constexpr
		}
	}
	for _, r := range f.readings {
		for _, fn := range r.functions {
			fn.constexpr = fixed[fn.start]
		}
	}
}

// skip gives up the file.
func (f *file) skip(p problem, where string) {
	f.problem = &Warning{Pos: f.pos(p.at), Text: p.what + where + "; the file is left as it is", Skipped: true}
}

// lineCol is the place of a byte of f.text. Insertions do not change lines.
func (f *file) lineCol(at int) (line, col int) {
	line = sort.SearchInts(f.lines, at+1)
	return line, 1 + utf8.RuneCount(f.text[f.lines[line-1]:at])
}

// pos is the place of a byte of f.text in the file as it was given.
func (f *file) pos(at int) string {
	for _, c := range slices.Backward(f.cuts) {
		if c.at <= at {
			at += c.shift
			break
		}
	}
	start := bytes.LastIndexByte(f.given[:at], '\n') + 1
	return fmt.Sprintf("%s:%d:%d", f.name, 1+bytes.Count(f.given[:at], []byte("\n")),
		1+utf8.RuneCount(f.given[start:at]))
}

// Pieces at one place are inserted in this order.
const (
	behind  = iota // an event at the start of a body, or after a statement
	closing        // } of a statement that got braces
	opening        // its {
	ahead          // an event before a statement
)

// piece is a text to be inserted.
type piece struct {
	at    int
	order int
	rule  int // of events
	other int // of braces: where the statement begins
}

// editor collects what all readings of a file ask for.
type editor struct {
	*file
	rules    []*compiled
	pieces   map[piece]*function
	warnings map[Warning]int // at which byte
}

// apply returns the text with insertions.
func (f *file) apply(rules []*compiled, foreign, blocks names) (out []byte, insertions []Insertion,
	warnings []Warning) {
	if f.problem != nil {
		return f.given, nil, []Warning{*f.problem}
	}
	e := &editor{file: f, rules: rules, pieces: map[piece]*function{}, warnings: map[Warning]int{}}
	for i, c := range rules {
		for _, r := range f.readings {
			e.read(i, c, r, foreign, blocks)
		}
		e.defined(c, foreign, blocks)
	}
	out, insertions = e.write()
	for w := range e.warnings {
		warnings = append(warnings, w)
	}
	sort.Slice(warnings, func(i, j int) bool {
		a, b := warnings[i], warnings[j]
		return cmp.Or(cmp.Compare(e.warnings[a], e.warnings[b]), cmp.Compare(a.Text, b.Text)) < 0
	})
	if again, _, err := strip(out); err != nil || !bytes.Equal(again, f.text) {
		f.skip(problem{0, "what would be inserted could not be found again"}, "")
		return f.given, nil, []Warning{*f.problem}
	}
	return out, insertions, warnings
}

// read finds the places of one rule in one reading.
func (e *editor) read(i int, c *compiled, r *reading, foreign, blocks names) {
	switch c.At.Point {
	case config.PointEntry:
		for _, f := range r.functions {
			if c.allows(f.path) && (!f.lambda || len(c.Functions) > 0) {
				e.enter(i, f)
			}
		}
	case config.PointForeign:
		e.called(i, r, foreign)
	case config.PointBlock:
		if c.At.Before {
			e.called(i, r, blocks)
			return
		}
		for _, f := range r.functions {
			if f.block && c.allows(f.path) {
				e.enter(i, f)
			}
		}
	default:
		for _, ret := range r.returns {
			if c.returns(ret.expr) && c.allows(ret.st.fn.path) {
				e.before(i, ret.st, ret.st.start)
			}
		}
	}
}

// called puts rule i around calls of the functions; its patterns are for these.
func (e *editor) called(i int, r *reading, functions names) {
	for _, c := range r.calls {
		if !functions.has(c.path) || !e.rules[i].allows(c.path) {
			continue
		}
		if e.rules[i].At.Before {
			e.before(i, c.st, c.at)
		} else {
			e.after(i, c.st, c.at)
		}
	}
}

// warn notes that rule i could do nothing at a place.
func (e *editor) warn(i, at int, why string) {
	c := e.rules[i]
	e.warnings[Warning{Pos: e.pos(at), Text: fmt.Sprintf("no %s %q here: %s", c.Event, c.At, why)}] = at
}

// enter puts rule i at the start of a body.
func (e *editor) enter(i int, f *function) {
	if f.constexpr {
		e.warn(i, f.start, "the function is constexpr")
		return
	}
	e.pieces[piece{at: f.start, order: behind, rule: i}] = f
}

// whole tells whether #if does not cut text[from:to], otherwise rule i does nothing there.
func (e *editor) whole(i, from, to, at int) bool {
	if n := sort.SearchInts(e.forks, from); n < len(e.forks) && e.forks[n] < to {
		e.warn(i, at, "#if cuts the statement")
		return false
	}
	return true
}

func (e *editor) before(i int, st *statement, at int) {
	to := st.end
	if st.form == headed && !st.sub {
		to = st.headEnd
	}
	switch {
	case st.form == nowhere:
		e.warn(i, at, "it is in no statement")
	case st.fn.constexpr:
		e.warn(i, at, "the function is constexpr")
	case st.only:
		e.warn(i, at, "the #pragma before it allows this statement only")
	case st.form == looping:
		e.warn(i, at, "a loop's head is executed again and again")
	case e.whole(i, st.start, to, at):
		e.braces(st)
		e.pieces[piece{at: st.start, order: ahead, rule: i}] = st.fn
	}
}

func (e *editor) after(i int, st *statement, at int) {
	switch {
	case st.form == nowhere:
		e.warn(i, at, "it is in no statement")
	case st.fn.constexpr:
		e.warn(i, at, "the function is constexpr")
	case st.only:
		e.warn(i, at, "the #pragma before it allows this statement only")
	case st.form == looping:
		e.warn(i, at, "a loop's head is executed again and again")
	case st.form == headed:
		e.warn(i, at, "what follows the head depends on it")
	case st.form == leaving:
		e.warn(i, at, "the statement leaves the function")
	case st.beforeElse && !st.sub:
		e.warn(i, at, "an else follows that no if is seen for")
	case e.whole(i, st.start, st.end, at):
		e.braces(st)
		e.pieces[piece{at: st.end, order: behind, rule: i}] = st.fn
	}
}

// braces makes room for another statement.
func (e *editor) braces(st *statement) {
	if st.sub {
		e.pieces[piece{at: st.start, order: opening, other: st.end}] = st.fn
		e.pieces[piece{at: st.end, order: closing, other: st.start}] = st.fn
	}
}

// defined warns of macros whose bodies hold what rule c looks for.
func (e *editor) defined(c *compiled, foreign, blocks names) {
	for _, m := range e.macros {
		p := &parser{toks: m.toks}
		for j, t := range p.toks {
			found := false
			switch {
			case c.At.Point == config.PointForeign || c.At.Point == config.PointBlock && c.At.Before:
				functions := foreign
				if c.At.Point == config.PointBlock {
					functions = blocks
				}
				path := []string{t.spelling}
				found = t.kind == word && p.is(j+1, "(") && functions.has(path) && c.allows(path)
			case c.result != nil && t.is("return"):
				k := j + 1
				for k < len(p.toks) && !p.is(k, ";") && !p.is(k, "}") {
					k++
				}
				found = len(c.Functions) == 0 && k > j+1 && c.returns(p.toks[j+1:k])
			}
			if found {
				w := Warning{Pos: e.pos(t.start),
					Text: fmt.Sprintf("no %s %q in the macro %s: macros are left as they are", c.Event, c.At, m.name)}
				e.warnings[w] = t.start
			}
		}
	}
}

// write makes the result.
func (e *editor) write() (out []byte, insertions []Insertion) {
	list := make([]piece, 0, len(e.pieces))
	for p := range e.pieces {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b piece) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.order, b.order), cmp.Compare(a.rule, b.rule),
			cmp.Compare(b.other, a.other))
	})
	from := 0
	for _, p := range list {
		out = append(out, e.text[from:p.at]...)
		from = p.at
		s := "{"
		switch p.order {
		case closing:
			s = "}"
		case behind, ahead:
			c := e.rules[p.rule]
			s = c.call
			line, col := e.lineCol(p.at)
			insertions = append(insertions, Insertion{c.Event, c.At.String(),
				strings.Join(e.pieces[p].path, "::"), line, col, s})
		}
		if p.order <= closing {
			out = append(append(out, ' '), marked(s)...)
		} else {
			out = append(append(out, marked(s)...), ' ')
		}
	}
	return append(out, e.text[from:]...), insertions
}
