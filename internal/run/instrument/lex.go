package instrument

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"sort"
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
	text string // src without line continuations
	at   []int  // by byte of text: where it is in src; one more for the end
	toks []token
}

var (
	splice = regexp.MustCompile(`\\[ \t\r]*\n`) // a line continuation
	// Bytes outside ASCII may stand in an identifier, whatever their encoding.
	wordText   = regexp.MustCompile(`^(?:[\w$]|[^\x00-\x7f]|\\[uU])*`)
	numberText = regexp.MustCompile(`^(?:[eEpP][+-]|'?(?:[\w$]|[^\x00-\x7f])|\.)*`)
	// Literals without prefix and suffix.
	stringText = regexp.MustCompile(`^"(?:[^"\\\n]|\\[^\n])*"`)
	charText   = regexp.MustCompile(`^'(?:[^'\\\n]|\\[^\n])*'`)
)

// lex returns the tokens of src[from:to].
func lex(src []byte, from, to int) []token {
	first := from == 0 // nothing but white space and comments since the line began
	if first && bytes.HasPrefix(src, []byte("\xef\xbb\xbf")) {
		from = 3
	}
	l := &lexer{src: src[:to]}
	l.join(from)
	for p := 0; p < len(l.text); {
		c, d := l.char(p), l.char(p+1)
		switch {
		case c == '\n':
			first = true
			p++
			continue
		case c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f':
			p++
			continue
		case c == '/' && (d == '/' || d == '*'):
			p = l.comment(p)
			continue
		case first && (c == '#' || c == '%' && d == ':'):
			p = l.directive(p)
		case isDigit(c) || c == '.' && isDigit(d):
			p = l.add(number, p, p+len(numberText.FindString(l.text[p:])))
		case isWord(c) || c == '\\' && (d == 'u' || d == 'U'):
			p = l.word(p)
		case c == '"' || c == '\'':
			p = l.literal(p, p)
		default:
			p = l.punct(p)
		}
		first = false
	}
	return l.toks
}

// join reads src from a place on into text.
func (l *lexer) join(from int) {
	var text []byte
	take := func(to int) {
		text = append(text, l.src[from:to]...)
		for i := from; i < to; i++ {
			l.at = append(l.at, i)
		}
	}
	start := from
	for _, cut := range splice.FindAllIndex(l.src[start:], -1) {
		take(start + cut[0])
		from = start + cut[1]
	}
	take(len(l.src))
	l.text, l.at = string(text), append(l.at, len(l.src))
}

// char is the byte at p of text; 0 after the end.
func (l *lexer) char(p int) byte {
	if p >= len(l.text) {
		return 0
	}
	return l.text[p]
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isWord tells whether c may stand in an identifier.
func isWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || isDigit(c) || c == '_' || c == '$' || c >= 0x80
}

// add adds text[p:q] as a token and returns q.
func (l *lexer) add(k kind, p, q int) int {
	l.toks = append(l.toks, token{kind: k, start: l.at[p], end: l.at[q-1] + 1, spelling: l.text[p:q]})
	return q
}

// bad adds text[p:q] as what cannot be read.
func (l *lexer) bad(p, q int, why string) int {
	l.toks = append(l.toks, token{kind: bad, start: l.at[p], end: l.at[q], spelling: why})
	return q
}

// comment passes over the comment at p.
func (l *lexer) comment(p int) int {
	if l.text[p+1] == '/' {
		return l.lineEnd(p)
	}
	n := strings.Index(l.text[p+2:], "*/")
	if n < 0 {
		return l.bad(p, len(l.text), "the comment /* does not end")
	}
	q := p + n + 4
	if string(l.src[l.at[p]:l.at[q-1]+1]) == markText {
		l.add(mark, p, q)
	}
	return q
}

// lineEnd is where the line of p ends; a carriage return before it belongs to the line.
func (l *lexer) lineEnd(p int) int {
	if n := strings.IndexByte(l.text[p:], '\n'); n >= 0 {
		return p + n
	}
	return len(l.text)
}

func (l *lexer) wordEnd(p int) int { return p + len(wordText.FindString(l.text[p:])) }

func (l *lexer) word(p int) int {
	q := l.wordEnd(p)
	c, s := l.char(q), l.text[p:q]
	switch {
	case c == '"' && slices.Contains([]string{"R", "LR", "uR", "UR", "u8R"}, s):
		return l.raw(p, q)
	case (c == '"' || c == '\'') && slices.Contains([]string{"L", "u", "U", "u8"}, s):
		return l.literal(p, q)
	}
	return l.add(word, p, q)
}

// literal reads a string or character literal that begins at start with its prefix and whose quote is at p,
// with its suffix.
func (l *lexer) literal(start, p int) int {
	k := text
	if l.text[p] == '\'' {
		k = char
	}
	q, ok := l.quoted(p)
	if !ok {
		return l.bad(start, q, "the literal "+l.text[p:p+1]+" does not end on its line")
	}
	return l.add(k, start, l.wordEnd(q))
}

// quoted returns the place after the literal whose quote is at p; not ok: its line ends before it does.
func (l *lexer) quoted(p int) (q int, ok bool) {
	re := stringText
	if l.text[p] == '\'' {
		re = charText
	}
	if s := re.FindString(l.text[p:]); s != "" {
		return p + len(s), true
	}
	return l.lineEnd(p), false
}

// raw reads a raw string that begins at start with its prefix and whose quote is at p. Line continuations do
// not count in it.
func (l *lexer) raw(start, p int) int {
	q, ok := l.rawEnd(p)
	if !ok {
		return l.bad(start, q, "the raw string does not end")
	}
	q = l.add(text, start, l.wordEnd(q))
	t := &l.toks[len(l.toks)-1]
	t.spelling = string(l.src[t.start:t.end])
	return q
}

func (l *lexer) rawEnd(p int) (q int, ok bool) {
	from := l.at[p] + 1
	n := bytes.IndexByte(l.src[from:min(from+17, len(l.src))], '(')
	if n < 0 || bytes.ContainsAny(l.src[from:from+n], " )\\\t\v\f\r\n\"") {
		return p + 1, false
	}
	closing := ")" + string(l.src[from:from+n]) + `"`
	m := bytes.Index(l.src[from+n+1:], []byte(closing))
	if m < 0 {
		return len(l.text), false
	}
	return sort.SearchInts(l.at, from+n+1+m+len(closing)), true
}

// directive reads a preprocessor line. A comment or raw string may carry it over several lines; an apostrophe
// in #error is none of our business.
func (l *lexer) directive(start int) int {
	p := start
	for p < len(l.text) && l.text[p] != '\n' {
		c, d := l.text[p], l.char(p+1)
		switch {
		case c == '/' && d == '/':
			p = l.lineEnd(p)
		case c == '/' && d == '*':
			n := len(l.toks)
			p = l.comment(p)
			if len(l.toks) > n && l.toks[n].kind == bad {
				return p
			}
			l.toks = l.toks[:n] // a mark in a directive is only a comment
		case isWord(c):
			if p = l.wordEnd(p); l.char(p) == '"' && l.text[p-1] == 'R' {
				p, _ = l.rawEnd(p)
			}
		case c == '"' || c == '\'':
			p, _ = l.quoted(p)
		default:
			p++
		}
	}
	l.toks = append(l.toks, token{kind: directive, start: l.at[start], end: l.at[p]})
	return p
}

// Operators that are one token. But >> is two, since they may close template arguments.
var operators = strings.Fields(">>= >= <<= <=> ... ->* :: -> << <= && || == != += -= *= /= %= ^= &= |= " +
	"++ -- .* ## <% %> <: :>")

var digraphs = map[string]string{"<%": "{", "%>": "}", "<:": "[", ":>": "]"}

func (l *lexer) punct(p int) int {
	rest := l.text[p:]
	n := 1
	for _, op := range operators {
		// <:: is < and ::
		if strings.HasPrefix(rest, op) && (op != "<:" || l.char(p+2) != ':' || strings.IndexByte(":>",
			l.char(p+3)) >= 0) {
			n = len(op)
			break
		}
	}
	q := l.add(punct, p, p+n)
	t := &l.toks[len(l.toks)-1]
	t.spelling = cmp.Or(digraphs[t.spelling], t.spelling)
	return q
}
