package luna

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
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
	for _, w := range strings.Fields("as cf df import for if else let in out SIZE sub while " +
		"int real string name value rush static static_for unrolling CUDA NOCPU __block") {
		reserved[w] = true
	}
}

// Operators; the longest match wins.
var puncts = strings.Fields("--> <-- .. == <= => >= != && || << >> " +
	"$ & = < > ; : ? , . { } ( ) [ ] + - * / % # @")

// source is the preprocessed text, with the places that its characters came from.
type source struct {
	*reporter
	*preprocessed
}

func (s *source) pos(off int32) Pos { return s.posOf(s.org[off]) }

// after is the position just behind the character at off.
func (s *source) after(off int32) Pos {
	p := s.pos(off)
	p.Col++
	return p
}

func (s *source) diag(stage Stage, off int32, msg, hint string) Diag {
	return s.diagAt(stage, s.org[off], msg, hint)
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
		over := func(in func(rune) bool) {
			for i < len(t) && in(t[i]) {
				i++
			}
		}
		switch {
		case r == '\n':
			line++
			i++
			continue
		case r == ' ' || r == '\t':
			i++
			continue
		case isLetter(r):
			over(isWord)
			kind = tokName
			if i == start+1 && r == 'C' && i+1 < len(t) && t[i] == '+' && t[i+1] == '+' {
				i += 2
				kind = tokKey
			}
		case isDigit(r):
			kind = tokInt
			over(isDigit)
			if i+1 < len(t) && t[i] == '.' && isDigit(t[i+1]) {
				kind = tokReal
				i++
				over(isDigit)
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
	head := string(t[:min(len(t), 3)])
	for _, p := range puncts {
		if p[0] == head[0] && strings.HasPrefix(head, p) {
			return len(p)
		}
	}
	return 0
}

// unquote decodes a string literal with its quotes: first by the rules of JSON, then by those of C++, as LuNA
// does, which passes literals through both. Real newlines, tabs and characters beyond ASCII stand for
// themselves. A NUL ends the string, as it does in C++; cut says so.
func unquote(lit string) (val string, cut bool, err error) {
	if len(lit) < 2 || lit[len(lit)-1] != '"' {
		return "", false, errors.New("string without closing quote")
	}
	val, err = unescape(lit[1:len(lit)-1], jsonEscape)
	if err == nil {
		val, err = unescape(val, cppEscape)
	}
	val, _, cut = strings.Cut(val, "\x00")
	return val, cut, err
}

// unescape decodes what follows each backslash in s: one returns what it stands for, and its length.
func unescape(s string, one func(s string) (text string, n int, err error)) (string, error) {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "\\")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		if after == "" {
			return "", errors.New("backslash at the end of a string")
		}
		text, n, err := one(after)
		if err != nil {
			return "", err
		}
		b.WriteString(text)
		s = after[n:]
	}
}

func jsonEscape(s string) (string, int, error) {
	if k := strings.IndexByte(`"/\bfnrt`, s[0]); k >= 0 {
		return "\"/\\\b\f\n\r\t"[k : k+1], 1, nil
	}
	if s[0] != 'u' {
		r, _ := utf8.DecodeRuneInString(s)
		return "", 0, fmt.Errorf("unknown escape \\%c in a string", r)
	}
	r, ok := hex4(s[1:])
	if !ok {
		return "", 0, errors.New("\\u needs four hexadecimal digits")
	}
	if rest, more := strings.CutPrefix(s[5:], "\\u"); more {
		low, ok := hex4(rest)
		if pair := utf16.DecodeRune(r, low); ok && pair != utf8.RuneError {
			return string(pair), 11, nil
		}
	}
	return string(r), 5, nil
}

func hex4(s string) (rune, bool) {
	v, err := strconv.ParseUint(s[:min(4, len(s))], 16, 32)
	return rune(v), err == nil && len(s) >= 4
}

func cppEscape(s string) (string, int, error) {
	if k := strings.IndexByte("abfnrtv", s[0]); k >= 0 {
		return "\a\b\f\n\r\t\v"[k : k+1], 1, nil
	}
	digits := func(s, set string) int { return len(s) - len(strings.TrimLeft(s, set)) }
	from, n, base := 1, 0, 16
	switch c := s[0]; {
	case c >= '0' && c <= '7':
		from, n, base = 0, min(3, digits(s, "01234567")), 8
	case c == 'x':
		n = digits(s[1:], "0123456789abcdefABCDEF")
	case c == 'u' || c == 'U':
		n = min(map[byte]int{'u': 4, 'U': 8}[c], len(s)-1)
		v, err := strconv.ParseUint(s[1:1+n], 16, 32)
		if err != nil || n < 4 || !utf8.ValidRune(rune(v)) {
			return "", 0, fmt.Errorf("bad \\\\%c escape in a string", c)
		}
		return string(rune(v)), 1 + n, nil
	default:
		return s[:1], 1, nil // \\q is q, with a warning of g++
	}
	v, err := strconv.ParseUint(s[from:from+n], base, 8)
	if err != nil {
		return "", 0, errors.New("bad numeric escape in a string")
	}
	return string([]byte{byte(v)}), from + n, nil
}
