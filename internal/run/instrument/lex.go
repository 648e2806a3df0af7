package instrument

import (
	"bytes"
	"slices"
	"strings"
)

// kind is what a token is.
type kind uint8

const (
	word      kind = iota // identifier or keyword
	number                // a preprocessing number, 1'000.5e+3_km
	text                  // string literal with prefix and suffix, also raw
	char                  // character literal
	punct                 // operator or bracket; digraphs are given their ordinary spelling
	directive             // a whole preprocessor line, from # to before the line's end
	mark                  // the comment that stands before every insertion
	bad                   // a literal or comment that does not end; spelling says which
)

// token is one token of a source: text[start:end]; spelling is the same without line continuations.
type token struct {
	kind       kind
	pragma     pragma // the line before it, if it holds for the statement that begins here
	start, end int
	spelling   string
}

func (t token) is(spelling string) bool {
	return t.spelling == spelling && (t.kind == word || t.kind == punct)
}

// pragma is a preprocessor line that holds for the statement after it.
type pragma uint8

const (
	noPragma     pragma = iota
	pragmaBlock         // of OpenMP or OpenACC: braces make one statement of several
	pragmaSingle        // atomic: no other statement is allowed
)

// markText is the comment that marks what was inserted.
const markText = "/*whyslow*/"

// lexer cuts C++ text into tokens, byte for byte: what is between them is white space and comments. It
// accepts every input; what it cannot read becomes a token of kind bad, which matters only where it is
// compiled.
type lexer struct {
	src  []byte
	toks []token
}

// lex returns the tokens of src[from:to].
func lex(src []byte, from, to int) []token {
	l := &lexer{src: src[:to]}
	p := from
	if p == 0 && bytes.HasPrefix(l.src, []byte("\xef\xbb\xbf")) {
		p = 3
	}
	first := from == 0 // nothing but white space and comments since the line began
	for {
		p = l.splices(p)
		if p >= len(l.src) {
			return l.toks
		}
		c, q := l.at(p)
		d, _ := l.at(q)
		switch {
		case c == '\n':
			first, p = true, q
			continue
		case c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f':
			p = q
			continue
		case c == '/' && (d == '/' || d == '*'):
			p = l.comment(p)
			continue
		case first && (c == '#' || c == '%' && d == ':'):
			p = l.directive(p)
		case isDigit(c) || c == '.' && isDigit(d):
			p = l.number(p)
		case isWord(c) || c == '\\' && (d == 'u' || d == 'U'):
			p = l.word(p)
		case c == '"' || c == '\'':
			p = l.literal(p, p)
		default:
			p = l.punct(p)
		}
		first = false
	}
}

func isDigit(c int) bool { return '0' <= c && c <= '9' }

// isWord tells whether c may stand in an identifier; bytes outside ASCII may, whatever their encoding.
func isWord(c int) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || isDigit(c) || c == '_' || c == '$' || c >= 0x80
}

// splices returns the place after line continuations that begin at p.
func (l *lexer) splices(p int) int {
	for p < len(l.src) && l.src[p] == '\\' {
		q := p + 1
		for q < len(l.src) && (l.src[q] == ' ' || l.src[q] == '\t' || l.src[q] == '\r') {
			q++
		}
		if q >= len(l.src) || l.src[q] != '\n' {
			break
		}
		p = q + 1
	}
	return p
}

// at returns the character at p, past line continuations, and the place after it; -1 at the end.
func (l *lexer) at(p int) (c, next int) {
	p = l.splices(p)
	if p >= len(l.src) {
		return -1, len(l.src)
	}
	return int(l.src[p]), p + 1
}

func (l *lexer) add(k kind, start, end int, spelling string) int {
	l.toks = append(l.toks, token{kind: k, start: start, end: end, spelling: spelling})
	return end
}

// plain is the text from start to end without line continuations.
func (l *lexer) plain(start, end int) string {
	if bytes.IndexByte(l.src[start:end], '\\') < 0 {
		return string(l.src[start:end])
	}
	var b strings.Builder
	for p := l.splices(start); p < end; p = l.splices(p) {
		b.WriteByte(l.src[p])
		p++
	}
	return b.String()
}

// comment passes over the comment at p.
func (l *lexer) comment(p int) int {
	start := p
	_, p = l.at(p)
	c, p := l.at(p)
	if c == '/' {
		return l.lineEnd(p)
	}
	for {
		c, next := l.at(p)
		if c < 0 {
			return l.add(bad, start, len(l.src), "the comment /* does not end")
		}
		p = next
		if d, after := l.at(p); c == '*' && d == '/' {
			if string(l.src[start:after]) == markText {
				l.add(mark, start, after, markText)
			}
			return after
		}
	}
}

// lineEnd is where the line of p ends, continuations counted in; a carriage return before it belongs to
// the line.
func (l *lexer) lineEnd(p int) int {
	for {
		c, next := l.at(p)
		if c < 0 {
			return next
		}
		if c == '\n' {
			return next - 1
		}
		p = next
	}
}

func (l *lexer) wordEnd(p int) int {
	for {
		c, next := l.at(p)
		if c == '\\' {
			if d, after := l.at(next); d == 'u' || d == 'U' {
				p = after
				continue
			}
		}
		if !isWord(c) {
			return p
		}
		p = next
	}
}

func (l *lexer) word(start int) int {
	end := l.wordEnd(start)
	s := l.plain(start, end)
	switch c, next := l.at(end); {
	case c == '"' && slices.Contains([]string{"R", "LR", "uR", "UR", "u8R"}, s):
		return l.raw(start, next)
	case (c == '"' || c == '\'') && slices.Contains([]string{"L", "u", "U", "u8"}, s):
		return l.literal(start, next-1)
	}
	return l.add(word, start, end, s)
}

func (l *lexer) number(start int) int {
	p := start
	for {
		c, next := l.at(p)
		d, after := l.at(next)
		switch {
		case (c == 'e' || c == 'E' || c == 'p' || c == 'P') && (d == '+' || d == '-'):
			p = after
		case isWord(c) || c == '.':
			p = next
		case c == '\'' && isWord(d):
			p = after
		default:
			return l.add(number, start, p, l.plain(start, p))
		}
	}
}

// literal reads a string or character literal whose quote is at p, with its suffix.
func (l *lexer) literal(start, p int) int {
	end, ok := l.quoted(p)
	k := text
	if l.src[p] == '\'' {
		k = char
	}
	if !ok {
		return l.add(bad, start, end, "the literal "+string(l.src[p])+" does not end on its line")
	}
	end = l.wordEnd(end)
	return l.add(k, start, end, l.plain(start, end))
}

// quoted returns the place after the literal whose quote is at p; not ok: its line ends before it does.
func (l *lexer) quoted(p int) (end int, ok bool) {
	quote, p := l.at(p)
	for {
		c, next := l.at(p)
		switch c {
		case -1:
			return next, false
		case '\n':
			return next - 1, false
		case quote:
			return next, true
		case '\\':
			if d, after := l.at(next); d >= 0 && d != '\n' {
				next = after
			}
		}
		p = next
	}
}

// rawEnd returns the place after a raw string whose quote is before p; line continuations do not count in it.
func (l *lexer) rawEnd(p int) (end int, ok bool) {
	n := bytes.IndexByte(l.src[p:], '(')
	if n < 0 || n > 16 || bytes.ContainsAny(l.src[p:p+n], " )\\\t\v\f\r\n\"") {
		return p, false
	}
	closing := ")" + string(l.src[p:p+n]) + `"`
	m := bytes.Index(l.src[p+n+1:], []byte(closing))
	if m < 0 {
		return len(l.src), false
	}
	return p + n + 1 + m + len(closing), true
}

func (l *lexer) raw(start, p int) int {
	end, ok := l.rawEnd(p)
	if !ok {
		return l.add(bad, start, end, "the raw string does not end")
	}
	end = l.wordEnd(end)
	return l.add(text, start, end, string(l.src[start:end]))
}

// directive reads a preprocessor line. A comment or raw string may carry it over several lines; an
// apostrophe in #error is none of our business.
func (l *lexer) directive(start int) int {
	p := start
	for {
		c, next := l.at(p)
		d, after := l.at(next)
		switch {
		case c < 0 || c == '\n':
			end := min(next, len(l.src))
			if c == '\n' {
				end--
			}
			return l.add(directive, start, end, "")
		case c == '/' && d == '/':
			p = l.lineEnd(after)
		case c == '/' && d == '*':
			n := len(l.toks)
			p = l.comment(l.splices(p))
			if len(l.toks) > n && l.toks[n].kind == bad {
				return p
			}
			l.toks = l.toks[:n] // a mark in a directive is only a comment
		case isWord(c):
			p = l.wordEnd(p)
			if q, n := l.at(p); q == '"' && l.src[p-1] == 'R' {
				p, _ = l.rawEnd(n)
			}
		case c == '"' || c == '\'':
			p, _ = l.quoted(p)
		default:
			p = next
		}
	}
}

// Operators that are one token. But >> is two, since they may close template arguments.
var operators = []string{">>=", ">=", "<<=", "<=>", "...", "->*", "::", "->", "<<", "<=", "&&", "||",
	"==", "!=", "+=", "-=", "*=", "/=", "%=", "^=", "&=", "|=",
	"++", "--", ".*", "##", "<%", "%>", "<:", ":>"}

var digraphs = map[string]string{"<%": "{", "%>": "}", "<:": "[", ":>": "]"}

func (l *lexer) punct(start int) int {
	var c [4]int
	var after [4]int
	p := start
	for i := range c {
		c[i], p = l.at(p)
		after[i] = p
	}
	for _, op := range operators {
		if c[0] != int(op[0]) || c[1] != int(op[1]) || len(op) > 2 && c[2] != int(op[2]) {
			continue
		}
		if op == "<:" && c[2] == ':' && c[3] != ':' && c[3] != '>' {
			continue // <:: is < and ::
		}
		s := op
		if d, ok := digraphs[op]; ok {
			s = d
		}
		return l.add(punct, start, after[len(op)-1], s)
	}
	return l.add(punct, start, after[0], string([]byte{byte(c[0])}))
}
