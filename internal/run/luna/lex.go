package luna

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

type tokKind uint8

const (
	tokEOF tokKind = iota
	tokName
	tokKey // reserved word, and "C++"
	tokInt
	tokReal
	tokString
	tokPunct
)

// token is a lexeme; off and end are offsets into the preprocessed text.
type token struct {
	kind     tokKind
	text     string
	off, end int32
	line     int32 // in the preprocessed text, from 1
}

var reserved = map[string]bool{}

func init() {
	for _, w := range strings.Fields("as cf df import for if else let in out SIZE sub while int real string " +
		"name value " +
		"rush static static_for unrolling CUDA NOCPU __block") {
		reserved[w] = true
	}
}

// Operators by length; the longest match wins.
var puncts = [4][]string{
	3: {"-->", "<--"},
	2: {"..", "==", "<=", "=>", ">=", "!=", "&&", "||", "<<", ">>"},
	1: {"$", "&", "=", "<", ">", ";", ":", "?", ",", ".", "{", "}", "(", ")", "[", "]", "+", "-", "*", "/", "%",
		"#", "@"},
}

// source is the preprocessed text, with the places that its characters came from.
type source struct {
	*reporter
	*preprocessed
}

func (s *source) pos(off int32) Pos {
	c := s.org[off]
	p := Pos{File: s.files[c.file], Line: int(c.line), Col: int(c.col)}
	if p.Line == 0 {
		p.Line, p.Col = 1, 1
	}
	return p
}

// after is the position just behind the character at off.
func (s *source) after(off int32) Pos {
	p := s.pos(off)
	p.Col++
	return p
}

func (s *source) diag(stage Stage, off int32, msg, hint string) Diag {
	if e := s.org[off].exp; e != 0 {
		msg += " (in expansion of macro $" + s.exps[e].name + ")"
	}
	return Diag{Stage: stage, Pos: s.pos(off), Msg: msg, Hint: hint}
}

func (s *source) fault(stage Stage, off int32, hint, format string, args ...any) {
	s.add(s.diag(stage, off, fmt.Sprintf(format, args...), hint))
}

func (s *source) warn(stage Stage, off int32, hint, format string, args ...any) {
	d := s.diag(stage, off, fmt.Sprintf(format, args...), hint)
	d.Warn = true
	s.add(d)
}

func lex(s *source) []token {
	t := s.text
	toks := make([]token, 0, len(t)/3)
	line := int32(1)
	for i := 0; i < len(t); {
		r := t[i]
		start := i
		kind := tokPunct
		switch {
		case r == '\n':
			line++
			i++
			continue
		case r == ' ' || r == '\t':
			i++
			continue
		case isLetter(r):
			for i < len(t) && isWord(t[i]) {
				i++
			}
			kind = tokName
			if i == start+1 && r == 'C' && i+1 < len(t) && t[i] == '+' && t[i+1] == '+' {
				i += 2
				kind = tokKey
			}
		case isDigit(r):
			kind = tokInt
			for i < len(t) && isDigit(t[i]) {
				i++
			}
			if i+1 < len(t) && t[i] == '.' && isDigit(t[i+1]) {
				kind = tokReal
				for i++; i < len(t) && isDigit(t[i]); i++ {
				}
			}
			if r == '0' && i > start+1 && isDigit(t[start+1]) {
				s.fault(StageParse, int32(start), "drop the leading zeros", "number with a leading zero: %s",
					string(t[start:i]))
			}
		case r == '"':
			kind = tokString
			for i++; i < len(t) && t[i] != '"'; i++ {
				if t[i] == '\\' && i+1 < len(t) {
					i++
				}
			}
			i = min(i+1, len(t))
		default:
			i += punct(t[i:])
			if i == start {
				hint := ""
				if r == '!' {
					hint = "there is no operator !; write == 0"
				} else if r == '|' {
					hint = "write ||"
				}
				d := s.diag(StageParse, int32(start), fmt.Sprintf("invalid symbol: %c", r), hint)
				d.After = s.after(int32(start))
				s.add(d)
				i++
				continue
			}
		}
		text := encode(t[start:i])
		if kind == tokName && reserved[text] {
			kind = tokKey
		}
		toks = append(toks, token{kind, text, int32(start), int32(i), line})
		if kind == tokString {
			line += int32(strings.Count(text, "\n"))
		}
	}
	return append(toks, token{kind: tokEOF, off: int32(len(t)), end: int32(len(t)), line: line})
}

// punct returns the length of the operator that t begins with, 0 if none.
func punct(t []rune) int {
	for n := 3; n > 0; n-- {
		if len(t) < n {
			continue
		}
		for _, p := range puncts[n] {
			if rune(p[0]) == t[0] && p == string(t[:n]) {
				return n
			}
		}
	}
	return 0
}

// unquote decodes a string literal with its quotes: first by the rules of JSON, then by those of C++, as LuNA
// does, which passes literals through both. Real newlines, tabs and characters beyond ASCII stand for
// themselves. A NUL ends the string, as it does in C++; cut says so.
func unquote(lit string) (val string, cut bool, err error) {
	if len(lit) < 2 || lit[len(lit)-1] != '"' {
		return "", false, fmt.Errorf("string without closing quote")
	}
	s, err := jsonUnescape(lit[1 : len(lit)-1])
	if err != nil {
		return "", false, err
	}
	if s, err = cppUnescape(s); err != nil {
		return "", false, err
	}
	if i := strings.IndexByte(s, 0); i >= 0 {
		return s[:i], true, nil
	}
	return s, false, nil
}

func jsonUnescape(s string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		i++
		if i == len(s) {
			return "", fmt.Errorf("backslash at the end of a string")
		}
		switch s[i] {
		case '"', '/':
			b.WriteByte(s[i])
		case '\\':
			b.WriteByte('\\')
		case 'b':
			b.WriteByte('\b')
		case 'f':
			b.WriteByte('\f')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 't':
			b.WriteByte('\t')
		case 'u':
			r, ok := hex4(s, i+1)
			if !ok {
				return "", fmt.Errorf("\\u needs four hexadecimal digits")
			}
			i += 4
			if r >= 0xD800 && r < 0xDC00 && strings.HasPrefix(s[i+1:], "\\u") {
				if lo, ok := hex4(s, i+3); ok && lo >= 0xDC00 && lo < 0xE000 {
					r = 0x10000 + (r-0xD800)<<10 + lo - 0xDC00
					i += 6
				}
			}
			b.WriteRune(r)
		default:
			r, _ := utf8.DecodeRuneInString(s[i:])
			return "", fmt.Errorf("unknown escape \\%c in a string", r)
		}
	}
	return b.String(), nil
}

func hex4(s string, i int) (rune, bool) {
	if i+4 > len(s) {
		return 0, false
	}
	v, err := strconv.ParseUint(s[i:i+4], 16, 32)
	return rune(v), err == nil
}

func cppUnescape(s string) (string, error) {
	if !strings.Contains(s, "\\") {
		return s, nil
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		i++
		if i == len(s) {
			return "", fmt.Errorf("backslash at the end of a string")
		}
		if k := strings.IndexByte("abfnrtv", s[i]); k >= 0 {
			b.WriteByte("\a\b\f\n\r\t\v"[k])
			continue
		}
		n, base := 0, 8
		switch c := s[i]; {
		case c >= '0' && c <= '7':
			for n < 3 && i+n < len(s) && s[i+n] >= '0' && s[i+n] <= '7' {
				n++
			}
		case c == 'x':
			i++
			for base = 16; i+n < len(s) && strings.IndexByte("0123456789abcdefABCDEF", s[i+n]) >= 0; n++ {
			}
		case c == 'u' || c == 'U':
			i, n = i+1, 4
			if c == 'U' {
				n = 8
			}
			n = min(n, len(s)-i)
			v, err := strconv.ParseUint(s[i:i+n], 16, 32)
			if err != nil || n < 4 || !utf8.ValidRune(rune(v)) {
				return "", fmt.Errorf("bad \\\\%c escape in a string", c)
			}
			b.WriteRune(rune(v))
			i += n - 1
			continue
		default:
			b.WriteByte(c) // \\q is q, with a warning of g++
			continue
		}
		v, err := strconv.ParseUint(s[i:i+n], base, 8)
		if err != nil {
			return "", fmt.Errorf("bad numeric escape in a string")
		}
		b.WriteByte(byte(v))
		i += n - 1
	}
	return b.String(), nil
}
