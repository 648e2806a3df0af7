package instrument

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/whyslow/whyslow/internal/run/config"
)

// Insertion is one EMIT_EVENT that is in the result.
type Insertion struct {
	Event    string `json:"event"`    // "Namespace::onName"
	Rule     string `json:"rule"`     // "before return EXIT"
	Function string `json:"function"` // the function around it, "ns::A::f"
	Line     int    `json:"line"`     // from 1; the same before and after
	Col      int    `json:"col"`      // from 1, in characters of the text without insertions
	Text     string `json:"-"`        // "EMIT_EVENT(...);"
}

// file is a source without insertions, and what its variants hold.
type file struct {
	name     string
	given    []byte
	text     []byte
	cuts     []cut // what was taken out of given
	readings []*reading
	forks    []int   // where conditional directives are
	macros   []macro // bodies of #define
	toks     []token
	problem  *Warning // why it cannot be instrumented
}

// macro is the body of a #define.
type macro struct {
	name string
	toks []token
}

// open reads a source; parse comes next.
func open(name string, given []byte) *file {
	f := &file{name: name, given: given}
	var err *problem
	if f.text, f.cuts, err = strip(given); err != nil {
		f.text, f.cuts = given, nil
		f.skip(*err, "")
		return f
	}
	if zero := bytes.IndexByte(f.text, 0); zero >= 0 {
		f.skip(problem{zero, "a zero byte: this is not text in UTF-8 or another extension of ASCII"}, "")
		return f
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
	uses := map[string][]string{} // by word: macros that it is in
	constexpr, linkage := []string{"constexpr", "consteval"}, []string(nil)
	for _, f := range files {
		for _, m := range f.macros {
			if slices.ContainsFunc(m.toks, func(t token) bool { return t.is("{") || t.is(";") }) {
				continue
			}
			for i, t := range m.toks {
				if t.kind != word {
					continue
				}
				uses[t.spelling] = append(uses[t.spelling], m.name)
				if t.is("extern") && i+1 < len(m.toks) && m.toks[i+1].spelling == `"C"` {
					linkage = append(linkage, m.name)
				}
			}
		}
	}
	return &vocabulary{meaning(uses, constexpr), meaning(uses, linkage)}
}

// meaning is the words and the macros that stand for them, directly or through other macros.
func meaning(uses map[string][]string, words []string) map[string]bool {
	names := map[string]bool{}
	for len(words) > 0 {
		name := words[len(words)-1]
		words = words[:len(words)-1]
		if !names[name] {
			names[name] = true
			words = append(words, uses[name]...)
		}
	}
	return names
}

// parse finds what the source holds, and adds the functions that are foreign or blocks in any reading.
func (f *file) parse(v *vocabulary, foreign, blocks names) {
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
		foreign.add(r.foreign)
		blocks.add(r.blocks)
		return true
	})
	if !complete {
		f.skip(problem{0, "too many branches of #if"}, "")
	}
	f.toks = nil
	var functions []*function
	fixed := map[int]bool{} // bodies of functions that are constexpr in some variant
	for _, r := range f.readings {
		functions = append(functions, r.functions...)
	}
	for _, fn := range functions {
		fixed[fn.start] = fixed[fn.start] || fn.constexpr
	}
	for _, fn := range functions {
		fn.constexpr = fixed[fn.start]
	}
}

// skip gives up the file.
func (f *file) skip(p problem, where string) {
	f.problem = &Warning{Pos: f.pos(&walker{text: f.given}, p.at), Skipped: true,
		Text: p.what + where + "; the file is left as it is"}
}

// walker finds the lines and columns of bytes that come in ascending order, and reads a text only once for
// all of them: a file may have millions of places on one line.
type walker struct {
	text          []byte
	at, line, col int // how far it got; lines and columns from 0, columns in characters
}

// place is the line and the column, from 1, of a byte that is not before the last one.
func (w *walker) place(at int) (line, col int) {
	passed := w.text[w.at:at]
	if n := bytes.Count(passed, []byte("\n")); n > 0 {
		w.line, w.col = w.line+n, 0
		passed = passed[bytes.LastIndexByte(passed, '\n')+1:]
	}
	w.at, w.col = at, w.col+utf8.RuneCount(passed)
	return w.line + 1, w.col + 1
}

// pos is the place of a byte of f.text in the file as it was given, along which w walks.
func (f *file) pos(w *walker, at int) string {
	if n := sort.Search(len(f.cuts), func(i int) bool { return f.cuts[i].at > at }); n > 0 {
		at += f.cuts[n-1].shift
	}
	line, col := w.place(at)
	return fmt.Sprintf("%s:%d:%d", f.name, line, col)
}

// Pieces at one place are inserted in this order.
const (
	behind  = iota // an event at the start of a body, or after a statement
	closing        // } of a statement that got braces
	opening        // its {
	ahead          // an event before a statement
)

// insert is a text to be inserted.
type insert struct {
	at    int
	order int
	rule  int // of events
	other int // of braces: where the statement begins
}

// editor collects what all readings of a file ask for.
type editor struct {
	*file
	rules    []*compiled
	pieces   map[insert]*function
	warnings map[problem]bool
}

// apply returns the text with insertions.
func (f *file) apply(rules []*compiled, foreign, blocks names) (out []byte, insertions []Insertion,
	warnings []Warning) {
	if f.problem != nil {
		return f.given, nil, []Warning{*f.problem}
	}
	e := &editor{file: f, rules: rules, pieces: map[insert]*function{}, warnings: map[problem]bool{}}
	for i, c := range rules {
		for _, r := range f.readings {
			e.read(i, c, r, foreign, blocks)
		}
		e.defined(c, foreign, blocks)
	}
	out, insertions = e.write()
	places := walker{text: f.given}
	for _, w := range slices.SortedFunc(maps.Keys(e.warnings), func(a, b problem) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.what, b.what))
	}) {
		warnings = append(warnings, Warning{Pos: f.pos(&places, w.at), Text: w.what})
	}
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
	e.warnings[problem{at, fmt.Sprintf("no %s %q here: %s", c.Event, c.At, why)}] = true
}

// enter puts rule i at the start of a body.
func (e *editor) enter(i int, f *function) {
	if f.constexpr {
		e.warn(i, f.start, "the function is constexpr")
		return
	}
	e.pieces[insert{at: f.start, order: behind, rule: i}] = f
}

// whole tells whether #if does not cut text[from:to], otherwise rule i does nothing there.
func (e *editor) whole(i, from, to, at int) bool {
	if n := sort.SearchInts(e.forks, from); n < len(e.forks) && e.forks[n] < to {
		e.warn(i, at, "#if cuts the statement")
		return false
	}
	return true
}

// barred tells why nothing can be inserted beside a statement, "" if something can.
func (st *statement) barred() string {
	switch {
	case st.form == nowhere:
		return "it is in no statement"
	case st.fn.constexpr:
		return "the function is constexpr"
	case st.only:
		return "the #pragma before it allows this statement only"
	case st.form == looping:
		return "a loop's head is executed again and again"
	}
	return ""
}

// barredBehind tells why nothing can be inserted behind a statement.
func (st *statement) barredBehind() string {
	switch why := st.barred(); {
	case why != "":
		return why
	case st.form == headed:
		return "what follows the head depends on it"
	case st.form == leaving:
		return "the statement leaves the function"
	case st.beforeElse && !st.sub:
		return "an else follows that no if is seen for"
	}
	return ""
}

func (e *editor) before(i int, st *statement, at int) {
	to := st.end
	if st.form == headed && !st.sub {
		to = st.headEnd
	}
	if why := st.barred(); why != "" {
		e.warn(i, at, why)
	} else if e.whole(i, st.start, to, at) {
		e.braces(st)
		e.pieces[insert{at: st.start, order: ahead, rule: i}] = st.fn
	}
}

func (e *editor) after(i int, st *statement, at int) {
	if why := st.barredBehind(); why != "" {
		e.warn(i, at, why)
	} else if e.whole(i, st.start, st.end, at) {
		e.braces(st)
		e.pieces[insert{at: st.end, order: behind, rule: i}] = st.fn
	}
}

// braces makes room for another statement.
func (e *editor) braces(st *statement) {
	if st.sub {
		e.pieces[insert{at: st.start, order: opening, other: st.end}] = st.fn
		e.pieces[insert{at: st.end, order: closing, other: st.start}] = st.fn
	}
}

// defined warns of macros whose bodies hold what rule c looks for.
func (e *editor) defined(c *compiled, foreign, blocks names) {
	for _, m := range e.macros {
		p := newParser(m.toks)
		for j, t := range p.toks {
			fits := false
			switch {
			case c.At.Point == config.PointForeign || c.At.Point == config.PointBlock && c.At.Before:
				functions := foreign
				if c.At.Point == config.PointBlock {
					functions = blocks
				}
				path := []string{t.spelling}
				fits = t.kind == word && p.is(j+1, "(") && functions.has(path) && c.allows(path)
			case c.result != nil && t.is("return"):
				k := j + 1
				for k < len(p.toks) && !p.is(k, ";") && !p.is(k, "}") && !p.is(k, "return") {
					k++
				}
				fits = len(c.Functions) == 0 && k > j+1 && c.returns(p.toks[j+1:k])
			}
			if fits {
				e.warnings[problem{t.start, fmt.Sprintf("no %s %q in the macro %s: macros are left as they are",
					c.Event, c.At, m.name)}] = true
			}
		}
	}
}

// write makes the result.
func (e *editor) write() (out []byte, insertions []Insertion) {
	list := slices.SortedFunc(maps.Keys(e.pieces), func(a, b insert) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.order, b.order), cmp.Compare(a.rule, b.rule),
			cmp.Compare(b.other, a.other))
	})
	from := 0
	places := walker{text: e.text}
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
			line, col := places.place(p.at)
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
