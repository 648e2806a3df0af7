package luna

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/whyslow/whyslow/internal/files"
)

// The preprocessor walks over the characters once. What a macro expands to is put in front of the reading
// position and read again, so the unread text is kept as a stack (last character first): pushing an expansion
// costs its own length only. Every character carries the place it came from and the macro expansion it stems
// from (0: none); characters of a macro's body get the place of use, since that is where the user has to
// look; characters of arguments keep theirs.
//
// Where LuNA's own preprocessor crashes or loops, this one reports or does what was evidently meant: comments
// in a macro's body belong to the line of the definition, a backslash at the line end continues a body, a
// file may end with a directive, a macro that expands to itself is an error.

// ch is a character with its origin.
type ch struct {
	r         rune
	file      int32
	line, col int32
	exp       int32 // index into pp.exps
}

// expansion is one use of a macro; parent is the expansion in which the use stands.
type expansion struct {
	name   string
	parent int32
}

type macro struct {
	name   string
	params []string // nil: object-like
	body   []rune
	pos    Pos // zero for -D
}

// maxDepth bounds nesting of includes and of conditionals, as LuNA does; maxExpanded bounds the characters
// that all macros together may produce, so that macros which double themselves end in a message; maxOpened
// (characters) and maxIncluded (files) do that for includes.
const (
	maxDepth    = 64
	maxExpanded = 2 << 20
	maxOpened   = 16 << 20
	maxIncluded = 10_000
)

type pp struct {
	*reporter
	readFile func(string) ([]byte, error)
	macros   map[string]*macro
	stack    []ch // unread characters, next one last
	last     ch   // the character read last
	depth    int
	expanded int
	included int  // files
	opened   int  // characters of all files so far
	dead     bool // a fault after which reading on makes no sense
	blocks   []Foreign
}

// preprocessed is the text after preprocessing; org has an entry more than text, for the end.
type preprocessed struct {
	text   []rune
	org    []ch
	blocks []Foreign
}

func preprocess(o Options, rep *reporter) *preprocessed {
	rep.exps, rep.seen = []expansion{{}}, map[string]bool{}
	p := &pp{reporter: rep, readFile: o.ReadFile, macros: map[string]*macro{}}
	if p.readFile == nil {
		p.readFile = ReadInclude
	}
	whole := func(hint, format string, args ...any) *preprocessed {
		p.add(Diag{Stage: StagePreprocess, Msg: fmt.Sprintf(format, args...), Hint: hint})
		return nil
	}
	for _, d := range o.Defines {
		switch {
		case !isName(d.Name):
			whole("", "-D %s: not a name", d.Name)
		case p.macros[d.Name] != nil:
			whole("-D gives it twice", "duplicate definition: %s", d.Name)
		default:
			p.macros[d.Name] = &macro{name: d.Name, body: decode([]byte(d.Text))}
		}
	}
	src := o.Source
	if src == nil {
		var err error
		if src, err = p.readFile(o.File); err != nil {
			return whole(reason(err), "failed to read '%s'", o.File)
		}
	}
	p.open(o.File, src)
	out := p.scan(make([]ch, 0, len(p.stack)+len(p.stack)/4+16))
	end := p.last
	end.exp = 0
	if end.line == 0 {
		end.line, end.col = 1, 1
	} else if end.r == '\n' {
		end.line, end.col = end.line+1, 1
	} else {
		end.col++
	}
	res := &preprocessed{text: make([]rune, len(out)), org: append(out, end), blocks: p.blocks}
	for i, c := range out {
		res.text[i] = c.r
	}
	return res
}

// ReadInclude reads a file that a program includes.
func ReadInclude(path string) ([]byte, error) { return files.Read(path, maxOpened) }

func reason(err error) string {
	var e *os.PathError
	if errors.As(err, &e) {
		return e.Err.Error()
	}
	return err.Error()
}

// Bytes that are not UTF-8 are kept as code points from invalidByte on, so that C++ blocks reach the compiler
// unchanged.
const invalidByte = 0xDC00

func decode(b []byte) []rune {
	out := make([]rune, 0, len(b))
	for i := 0; i < len(b); {
		r, n := rune(b[i]), 1
		if r >= utf8.RuneSelf {
			if r, n = utf8.DecodeRune(b[i:]); r == utf8.RuneError && n == 1 {
				r = invalidByte + rune(b[i])
			}
		}
		i += n
		if r == '\r' {
			if i < len(b) && b[i] == '\n' {
				i++
			}
			r = '\n'
		}
		out = append(out, r)
	}
	return out
}

func encode(rs []rune) string {
	var b strings.Builder
	b.Grow(len(rs))
	for _, r := range rs {
		if r >= invalidByte+0x80 && r <= invalidByte+0xff {
			b.WriteByte(byte(r - invalidByte))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// open makes the file the unread text.
func (p *pp) open(path string, src []byte) {
	rs := decode(src)
	f := p.addFile(path, encode(rs))
	if p.opened += len(rs); p.opened > maxOpened {
		p.fatal(ch{file: f}, "", "the files of the program add up to more than %d characters", maxOpened)
		return
	}
	line, col := int32(1), int32(1)
	p.stack, p.last = make([]ch, len(rs)), ch{file: f}
	for i, r := range rs {
		p.stack[len(rs)-1-i] = ch{r, f, line, col, 0}
		if col++; r == '\n' {
			line, col = line+1, 1
		}
	}
	if p.peek(0) == '\uFEFF' {
		p.next()
	}
	if p.peek(0) == '#' && p.peek(1) == '!' && p.peek(2) == '/' {
		for p.peek(0) >= 0 && p.next().r != '\n' {
		}
	}
}

// peek returns the i-th unread character, -1 after the end.
func (p *pp) peek(i int) rune {
	if n := len(p.stack); i < n {
		return p.stack[n-1-i].r
	}
	return -1
}

func (p *pp) next() ch {
	c := p.stack[len(p.stack)-1]
	p.stack = p.stack[:len(p.stack)-1]
	p.last = c
	return c
}

// push makes text the next to be read.
func (p *pp) push(text []ch) {
	n := len(p.stack)
	p.stack = append(p.stack, text...)
	slices.Reverse(p.stack[n:])
}

// blanks reads over blanks.
func (p *pp) blanks() {
	for isBlank(p.peek(0)) {
		p.next()
	}
}

// top is the next character, or the place after the last one.
func (p *pp) top() ch {
	if n := len(p.stack); n > 0 {
		return p.stack[n-1]
	}
	c := p.last
	c.col++
	return c
}

func (p *pp) fault(at ch, hint, format string, args ...any) {
	p.add(p.diagAt(StagePreprocess, at, fmt.Sprintf(format, args...), hint))
}

// fatal also ends the reading of everything.
func (p *pp) fatal(at ch, hint, format string, args ...any) {
	p.fault(at, hint, format, args...)
	p.stack, p.dead = nil, true
}

func isLetter(r rune) bool { return r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
func isDigit(r rune) bool  { return r >= '0' && r <= '9' }
func isWord(r rune) bool   { return isLetter(r) || isDigit(r) }
func isBlank(r rune) bool  { return r == ' ' || r == '\t' }

func isName(s string) bool {
	for i, r := range s {
		if !isWord(r) || i == 0 && isDigit(r) {
			return false
		}
	}
	return s != ""
}

func (p *pp) word() string {
	var b strings.Builder
	for isWord(p.peek(0)) {
		b.WriteRune(p.next().r)
	}
	return b.String()
}

// cond is an open #ifdef or #ifndef.
type cond struct {
	at     ch
	word   string
	active bool // the part being read is wanted
	els    bool // #else was seen
}

// scan processes all unread text and appends the result to out.
func (p *pp) scan(out []ch) []ch {
	var conds []cond
	skip := false // one of them is inactive
	for len(p.stack) > 0 {
		r := p.peek(0)
		switch {
		case r == '/' && (p.peek(1) == '/' || p.peek(1) == '*'), r == '`':
			p.comment()
			continue
		case r == '"':
			s := p.str()
			if !skip {
				out = append(out, s...)
			}
			continue
		case r == '#' && isLetter(p.peek(1)):
			at := p.next()
			word := p.word()
			switch word {
			case "ifdef", "ifndef":
				name := p.directiveName(at, word, skip)
				active := (p.macros[name] != nil) == (word == "ifdef")
				if p.depth+len(conds) >= maxDepth {
					p.fatal(at, "", "maximum parse recursion depth reached")
					return out
				}
				conds = append(conds, cond{at, word, active, false})
			case "else", "endif":
				switch n := len(conds) - 1; {
				case n < 0:
					p.fault(at, "", "unmatched #%s", word)
				case word == "endif":
					conds = conds[:n]
				case conds[n].els:
					p.fault(at, "", "#endif expected")
				default:
					conds[n].els, conds[n].active = true, !conds[n].active
				}
			default:
				if !skip {
					out = p.directive(at, word, out)
				}
			}
			skip = slices.ContainsFunc(conds, func(c cond) bool { return !c.active })
			continue
		case r == '$' && p.peek(1) == '{' && (p.peek(2) == '<' || p.peek(2) == '{'):
			out = p.foreign(out, skip)
			continue
		case r == '$' && isLetter(p.peek(1)):
			p.use(skip)
			continue
		}
		if c := p.next(); !skip {
			out = append(out, c)
		}
	}
	if len(conds) > 0 && !p.dead {
		c := conds[len(conds)-1]
		p.fatal(c.at, "add #endif", "unmatched #%s", c.word)
	}
	return out
}

// comment reads over the comment that begins here.
func (p *pp) comment() {
	at := p.next()
	if at.r == '`' {
		for {
			if r := p.peek(0); r == '\\' && p.peek(1) >= 0 {
				p.next()
			} else if !isWord(r) {
				return
			}
			p.next()
		}
	}
	if p.next().r == '/' {
		for len(p.stack) > 0 && p.peek(0) != '\n' {
			if p.next().r == '\\' && len(p.stack) > 0 {
				p.next()
			}
		}
		return
	}
	for len(p.stack) > 0 {
		if p.next().r == '*' && p.peek(0) == '/' {
			p.next()
			return
		}
	}
	p.fatal(at, "the comment begins here; end it with */", "multiline comment reaches end of file")
}

// str reads a string with its quotes. A backslash hides the character after it.
func (p *pp) str() []ch {
	out := []ch{p.next()}
	for len(p.stack) > 0 {
		c := p.next()
		out = append(out, c)
		if c.r == '"' {
			return out
		}
		if c.r == '\\' && len(p.stack) > 0 {
			out = append(out, p.next())
		}
	}
	p.fatal(out[0], "the string begins here", "unmatched quote ('\"')")
	return out
}

// directiveName reads " NAME" of a directive; the rest of the line is left.
func (p *pp) directiveName(at ch, word string, quiet bool) string {
	p.blanks()
	if !isLetter(p.peek(0)) {
		if !quiet {
			p.fault(at, "", "#%s: name expected", word)
		}
		return ""
	}
	name := p.word()
	p.blanks()
	if r := p.peek(0); !quiet && r >= 0 && r != '\n' && r != '/' && r != '`' {
		p.fault(p.top(), "write nothing after the name", "#%s %s: end of line expected", word, name)
	}
	return name
}

var directives = []string{"define", "undef", "include", "ifdef", "ifndef", "else", "endif"}

// directive executes an active directive other than a conditional.
func (p *pp) directive(at ch, word string, out []ch) []ch {
	switch word {
	case "define":
		p.define()
	case "undef":
		if name := p.directiveName(at, word, false); name != "" {
			delete(p.macros, name)
		}
	case "include":
		return p.include(at, out)
	default:
		p.fault(at, p.didYouMean(word, slices.Values(directives)),
			"unknown directive: #%s", word)
	}
	return out
}

func (p *pp) include(at ch, out []ch) []ch {
	for isBlank(p.peek(0)) || p.peek(0) == '\n' {
		p.next()
	}
	if p.peek(0) != '"' {
		p.fault(at, "write #include \"path\"", "#include: path in quotes expected")
		return out
	}
	quote := p.next()
	rs, ok := p.until([]rune{'"'})
	if !ok {
		p.fatal(quote, "the path begins here", "unmatched quote ('\"')")
		return out
	}
	path := encode(rs)
	src, err := p.readFile(path)
	if err != nil {
		hint := reason(err) + "; paths are relative to the directory the command is started in"
		if beside := filepath.Join(filepath.Dir(p.files[at.file]), path); beside != filepath.Clean(path) {
			if _, err := p.readFile(beside); err == nil {
				hint = fmt.Sprintf("%s exists: paths are relative to the directory the command is started in", beside)
			}
		}
		p.fault(quote, hint, "failed to read '%s'", path)
		return out
	}
	if p.included++; p.included > maxIncluded {
		p.fatal(at, "do files include each other again and again?", "more than %d files are included", maxIncluded)
		return out
	}
	if p.depth++; p.depth >= maxDepth {
		p.fatal(at, "does the file include itself?", "maximum parse recursion depth reached")
		return out
	}
	rest, last := p.stack, p.last
	p.open(path, src)
	out = p.scan(out)
	p.depth--
	if !p.dead {
		p.stack, p.last = rest, last
	}
	return out
}

// foreign reads a C++ block and leaves __block(N) in its place.
func (p *pp) foreign(out []ch, skip bool) []ch {
	at := p.next()
	p.next()
	term := []rune("$}}")
	braces := p.next().r == '{'
	var ok bool
	if !braces {
		if term, ok = p.until([]rune{'}'}); !ok {
			p.fatal(at, "write ${<END} ... END", "foreign block: '}' expected after the terminator")
			return out
		}
		if len(term) == 0 {
			p.fatal(at, "write ${<END} ... END", "foreign block: empty terminator")
			return out
		}
	}
	first := p.top()
	text, ok := p.until(term)
	if !ok {
		p.fatal(at, "the block begins here", "foreign block reaches end of file: '%s' not found", encode(term))
		return out
	}
	if skip {
		return out
	}
	body := encode(text)
	if braces {
		body = "{" + body + "}"
	}
	for _, r := range fmt.Sprintf("__block(%d)", len(p.blocks)) {
		out = append(out, ch{r, at.file, at.line, at.col, at.exp})
	}
	f := Foreign{Index: len(p.blocks), Text: body, Pos: p.posOf(first)}
	line := []rune(p.lineAt(f.Pos))
	f.Before = string(line[:min(f.Pos.Col-1, len(line))])
	p.blocks = append(p.blocks, f)
	return out
}

// until reads up to the characters term, which are read as well; not ok: they do not come.
func (p *pp) until(term []rune) (text []rune, ok bool) {
	for {
		found := 0
		for found < len(term) && p.peek(found) == term[found] {
			found++
		}
		switch {
		case found == len(term):
			for range term {
				p.next()
			}
			return text, true
		case len(p.stack) == 0:
			return nil, false
		}
		text = append(text, p.next().r)
	}
}
