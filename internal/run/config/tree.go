package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tailscale/hujson"

	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/prof"
)

// Bounds of what is taken for a configuration file. The parser is recursive.
const (
	maxText  = 1 << 20
	maxDepth = 1000
)

// file is a configuration file being read: its text, the last position, the warnings so far.
type file struct {
	name     string
	text     []byte
	warnings []Warning

	// The last place asked for, from which the next one is counted: most ask in order.
	lastAt  int
	lastPos Pos
}

// member is a key of an object with its value.
type member struct {
	key   string
	at    int // offset of the key
	value hujson.Value
}

// open parses the text of a file. It has to be an object.
func open(name string, text []byte) (*file, *hujson.Object, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	f := &file{name: name, text: text, lastPos: Pos{name, 1, 1}}
	if err := f.bounds(); err != nil {
		return nil, nil, err
	}
	// A comment in the last line need not end with a new line.
	v, err := hujson.Parse(append(bytes.Clone(text), '\n'))
	if err != nil {
		return nil, nil, f.syntax(err)
	}
	o, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil, nil, fmt.Errorf("%s: the file must be a JSON object, { ... }, not %s", f.pos(v.StartOffset),
			what(v))
	}
	return f, o, nil
}

// bounds refuses what would overflow the parser's stack, and text that is not UTF-8.
func (f *file) bounds() error {
	if len(f.text) > maxText {
		return fmt.Errorf("%s: the file is too long for a configuration: it has more than %d bytes", f.pos(0),
			maxText)
	}
	if start := f.text[:min(len(f.text), 2)]; bytes.Contains(start, []byte{0}) ||
		string(start) == "\xff\xfe" || string(start) == "\xfe\xff" {
		return fmt.Errorf("%s: the file is UTF-16: save it as UTF-8", f.pos(0))
	}
	for at := 0; at < len(f.text); {
		r, size := utf8.DecodeRune(f.text[at:])
		if r == utf8.RuneError && size == 1 {
			return fmt.Errorf("%s: the file is not UTF-8: save it as UTF-8", f.pos(at))
		}
		at += size
	}
	depth := 0
	for i, c := range f.text {
		switch c {
		case '{', '[':
			depth++
		case '}', ']':
			depth = max(0, depth-1)
		}
		if depth > maxDepth {
			return fmt.Errorf("%s: objects or lists are nested more than %d deep", f.pos(i), maxDepth)
		}
	}
	return nil
}

// syntax words an error of the parser, which has the place in its text only.
func (f *file) syntax(err error) error {
	var line, col int
	if _, e := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &col); e != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	at := 0
	for range line - 1 {
		_, rest, _ := bytes.Cut(f.text[at:], []byte{'\n'})
		at = len(f.text) - len(rest)
	}
	at = min(at+col-1, len(f.text))
	reason := errors.Unwrap(err)
	text := reason.Error()
	trimmed := bytes.TrimSpace(f.text)
	switch {
	case len(trimmed) == 0:
		text = "the file is empty; it must be a JSON object, { ... }"
	case strings.HasSuffix(text, "after top-level value") && trimmed[0] == '"':
		at, text = bytes.IndexByte(f.text, '"'), "the file must be a JSON object: put { before this and }"+
			" at the end"
	case strings.HasPrefix(text, "invalid literal: \""):
		text = `this string is not valid: line breaks and tabs in it are written as \n and \t, and a \ as \\`
	case strings.HasPrefix(text, "invalid literal: "):
		text = fmt.Sprintf(
			`%.40q is no value: there are true, false, null, numbers, "strings", [lists] and {objects}`,
			strings.TrimPrefix(text, "invalid literal: "))
	case errors.Is(reason, io.ErrUnexpectedEOF):
		what := "an object or list is not closed"
		if strings.Contains(text, "string") {
			what = "a string is not closed"
		} else if strings.Contains(text, "comment") {
			what = "a comment is not closed"
		}
		text = "the file ends too early: " + what
	}
	return fmt.Errorf("%s: %s", f.pos(at), text)
}

// pos is the place of an offset. A column counts characters.
func (f *file) pos(offset int) Pos {
	if offset < f.lastAt {
		f.lastAt, f.lastPos = 0, Pos{f.name, 1, 1}
	}
	between := f.text[f.lastAt:offset]
	if i := bytes.LastIndexByte(between, '\n'); i >= 0 {
		f.lastPos.Line += bytes.Count(between, []byte{'\n'})
		f.lastPos.Col, between = 1, between[i+1:]
	}
	f.lastPos.Col += utf8.RuneCount(between)
	f.lastAt = offset
	return f.lastPos
}

func (f *file) warn(at int, format string, args ...any) {
	f.warnings = append(f.warnings, Warning{f.pos(at), fmt.Sprintf(format, args...)})
}

// members are the keys of an object. A key that comes again is skipped with a warning.
func (f *file) members(o *hujson.Object) []member {
	var list []member
	first := map[string]int{}
	for _, m := range o.Members {
		lit, _ := m.Name.Value.(hujson.Literal)
		key, at := lit.String(), m.Name.StartOffset
		if before, twice := first[key]; twice {
			f.warn(at, "%q appears a second time, after %s; skipped", key, f.pos(before))
			continue
		}
		first[key] = at
		list = append(list, member{key, at, m.Value})
	}
	return list
}

// wrong warns of a value of a wrong type.
func (f *file) wrong(m member, want string) {
	f.warn(m.value.StartOffset, "%q must be %s, not %s; skipped", m.key, want, what(m.value))
}

// unknown warns of a key that has no meaning here.
func (f *file) unknown(m member, where string, known []string) {
	hint := "; it can have " + strings.Join(known, ", ")
	if n := words.Nearest(m.key, known); n != "" {
		hint = words.Meant(strconv.Quote(n))
	}
	f.warn(m.at, "unknown key %q in %s%s", m.key, where, hint)
}

// object, boolean, get and strs give the value of a member if it has that type, and warn otherwise.
func (f *file) object(m member) (*hujson.Object, bool) {
	o, ok := m.value.Value.(*hujson.Object)
	if !ok {
		f.wrong(m, "an object, { ... }")
	}
	return o, ok
}

func (f *file) boolean(m member) *Switch {
	on, ok := get[bool](f, m)
	if !ok {
		return nil
	}
	return &Switch{on, f.pos(m.value.StartOffset)}
}

func get[T bool | int | string](f *file, m member) (v T, ok bool) {
	if v, ok = plain(m.value).(T); !ok {
		f.wrong(m, wanted(&prof.Param{Default: v}))
	}
	return v, ok
}

// strs reads a list of strings; what is none is skipped. With single, a string alone is a list too.
func (f *file) strs(m member, single bool) (list []string, ok bool) {
	if s, isStr := plain(m.value).(string); isStr && single {
		return []string{s}, true
	}
	a, isList := m.value.Value.(*hujson.Array)
	if !isList {
		f.wrong(m, "a list of strings")
		return nil, false
	}
	list = []string{}
	for _, e := range a.Elements {
		if s, isStr := get[string](f, member{m.key, m.at, e}); isStr {
			list = append(list, s)
		}
	}
	return list, true
}

// Place is where a string stands in a file, as it is written there.
type Place struct {
	Pos
	raw string
}

// at is where a byte of the string stands; an escape may stand for it.
func (p Place) at(offset int) Pos {
	pos, raw := p.Pos, p.raw
	pos.Col++ // the quotation mark
	for raw = raw[1:]; offset > 0 && len(raw) > 1; {
		var n int
		switch _, size := utf8.DecodeRuneInString(raw); {
		case raw[0] == '\\' && raw[1] == 'u':
			n = min(6, len(raw))
		case raw[0] == '\\':
			n = 2
		default:
			n = size
			offset -= size - 1
		}
		pos.Col += utf8.RuneCountInString(raw[:n])
		raw, offset = raw[n:], offset-1
	}
	return pos
}

// places are those of the strings that strs returns.
func (f *file) places(m member) (list []Place) {
	if a, ok := m.value.Value.(*hujson.Array); ok {
		for _, e := range a.Elements {
			if l, ok := e.Value.(hujson.Literal); ok && l.Kind() == '"' {
				list = append(list, Place{f.pos(e.StartOffset), string(l)})
			}
		}
	}
	return list
}

// plain is a value if it is of a type that parameters have, else nil.
func plain(v hujson.Value) any {
	switch v := v.Value.(type) {
	case hujson.Literal:
		switch v.Kind() {
		case '"':
			return v.String()
		case 't', 'f':
			return v.Bool()
		case '0':
			return number(v)
		}
	case *hujson.Array:
		list := []string{}
		for _, e := range v.Elements {
			s, ok := plain(e).(string)
			if !ok {
				return nil
			}
			list = append(list, s)
		}
		return list
	}
	return nil
}

// number is the value of a number, an int if it is a whole one, nil if it is too large.
func number(lit hujson.Literal) any {
	if n, err := strconv.Atoi(string(lit)); err == nil {
		return n
	}
	x, err := strconv.ParseFloat(string(lit), 64)
	if err != nil || math.IsInf(x, 0) {
		return nil
	}
	if x == math.Trunc(x) && math.Abs(x) < 1<<53 {
		return int(x)
	}
	return x
}

// what names the type of a value.
func what(v hujson.Value) string {
	switch v.Value.Kind() {
	case '"':
		return "a string"
	case '{':
		return "an object"
	case '[':
		return "a list"
	}
	return v.Value.(hujson.Literal).String()
}

// shown is a text in a line for users, quoted if it would break that.
func shown(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}
