package twin

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/trace"
)

// The words of the text twin. All methods read at p.at and leave it behind what they read, or at the mistake.

// maxStream is the highest number of a stream.
const maxStream = 1<<31 - 1

func (p *textParser) end() bool { return p.at >= len(p.text) }

// peek is the next byte, 0 at the end of the line.
func (p *textParser) peek() byte {
	if p.end() {
		return 0
	}
	return p.text[p.at]
}

func (p *textParser) space() {
	for p.peek() == ' ' || p.peek() == '\t' {
		p.at++
	}
}

func (p *textParser) eat(c byte) bool {
	if p.peek() != c || p.end() {
		return false
	}
	p.at++
	return true
}

func (p *textParser) done() {
	if p.space(); !p.end() {
		p.fail("unexpected %q", p.text[p.at:])
	}
}

// take reads bytes as long as ok holds.
func (p *textParser) take(ok func(c byte) bool) string {
	start := p.at
	for !p.end() && ok(p.text[p.at]) {
		p.at++
	}
	return p.text[start:p.at]
}

// word is an identifier, "" if there is none.
func (p *textParser) word() string {
	start := p.at
	s := p.take(wordByte)
	if !identifier(s) {
		p.at = start
		return ""
	}
	return s
}

// key reads "name=".
func (p *textParser) key(name string) bool {
	if !strings.HasPrefix(p.text[p.at:], name+"=") {
		return false
	}
	p.at += len(name) + 1
	return true
}

// eventName reads "Namespace.onName" or "Namespace::onName".
func (p *textParser) eventName() (name [2]string) {
	name[0] = p.word()
	if !p.eat('.') && p.eat(':') {
		p.eat(':')
	}
	name[1] = p.word()
	return name
}

// number reads an unsigned number of at most max.
func (p *textParser) number(max uint64) uint64 {
	start := p.at
	v, err := strconv.ParseUint(p.take(digit), 10, 64)
	if err != nil || v > max {
		p.failAt(start, "expected a number from 0 to %d", max)
		return 0
	}
	return v
}

func (p *textParser) signed() uint64 {
	start := p.at
	v, err := strconv.ParseInt(p.take(func(c byte) bool { return digit(c) || c == '-' || c == '+' }), 10, 64)
	if err != nil {
		p.failAt(start, "expected an integer")
	}
	return uint64(v)
}

// units of times, in nanoseconds.
var units = map[string]float64{"us": 1e3, "ms": 1e6, "s": 1e9}

// time reads a number of nanoseconds, or a number and a unit.
func (p *textParser) time() int64 {
	start := p.at
	num := p.take(func(c byte) bool { return digit(c) || c == '-' || c == '+' || c == '.' })
	unit := p.take(func(c byte) bool { return c == 'n' || c == 'u' || c == 'm' || c == 's' })
	if unit == "" || unit == "ns" {
		if v, err := strconv.ParseInt(num, 10, 64); err == nil {
			return v
		}
	} else if scale := units[unit]; scale > 0 {
		if v, err := strconv.ParseFloat(num, 64); err == nil && math.Abs(v*scale) < 1<<62 {
			return int64(math.Round(v * scale))
		}
	}
	p.failAt(start, "expected a time: nanoseconds, or a number with ns, us, ms or s")
	return 0
}

// prefixed reads "n3 " or "s1 ". An event's name, which may begin alike, has no digit in second place or does
// not end after it.
func (p *textParser) prefixed(c byte, max uint64) (int, bool) {
	start := p.at
	digits := ""
	if p.eat(c) {
		digits = p.take(digit)
	}
	if digits == "" || p.peek() != ' ' && p.peek() != '\t' {
		p.at = start
		return 0, false
	}
	v, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || v > max {
		p.failAt(start, "expected %c and a number from 0 to %d", c, max)
		return 0, false
	}
	p.space()
	return int(v), true
}

func (p *textParser) quoted() string {
	q, err := strconv.QuotedPrefix(p.text[p.at:])
	if err != nil || q[0] != '"' {
		p.fail("expected a string in double quotes")
		return ""
	}
	s, _ := strconv.Unquote(q)
	if len(s) > maxString {
		p.fail("a string of %d bytes is too long: %d are possible", len(s), maxString)
		return ""
	}
	p.at += len(q)
	return s
}

// name reads a string, in quotes or a word, or "#7": the number of one not defined.
func (p *textParser) name(n *textNode) trace.Name {
	start := p.at
	var s string
	switch p.peek() {
	case '#':
		p.at++
		return trace.Name(p.number(math.MaxUint32))
	case '"':
		s = p.quoted()
	default:
		if s = p.take(func(c byte) bool { return bareByte(c, false) }); !bareWord(s) {
			p.failAt(start, "expected a name; one that is not letters, digits and ._/+- needs quotes")
		}
	}
	if p.err != nil {
		return 0
	}
	return n.name(s)
}

// place reads "file:line:col".
func (p *textParser) place(n *textNode) (file trace.Name, line, col int) {
	file = p.name(n)
	if p.eat(':') {
		line = int(p.number(math.MaxInt32))
		if p.eat(':') {
			col = int(p.number(math.MaxInt32))
		}
	}
	return file, line, col
}

// enum reads one of names, or its number.
func (p *textParser) enum(names []string, expected string) uint64 {
	start := p.at
	word := p.take(func(c byte) bool { return wordByte(c) || c == '-' })
	if i := slices.Index(names, word); i >= 0 && word != "" {
		return uint64(i)
	}
	v, err := strconv.ParseUint(word, 10, 8)
	if err != nil {
		p.failAt(start, "%s", expected)
	}
	return v
}

// list reads "[1 2 3]"; commas are as good as spaces.
func (p *textParser) list(t trace.FieldType) (words []uint64) {
	if !p.eat('[') {
		p.fail("expected a list: [1 2 3]")
	}
	for p.err == nil {
		for p.peek() == ' ' || p.peek() == '\t' || p.peek() == ',' {
			p.at++
		}
		switch {
		case p.eat(']'):
			return words
		case p.end():
			p.fail("list does not end: expected ]")
		case len(words) == trace.MaxList:
			p.fail("list is too long: at most %d elements", trace.MaxList)
		case t == trace.FieldDFs:
			words = append(words, p.number(math.MaxUint32))
		default:
			words = append(words, p.signed())
		}
	}
	return nil
}

// value reads the value of a fixed field.
func (p *textParser) value(n *textNode, t trace.FieldType) uint64 {
	switch t {
	case trace.FieldCF, trace.FieldMessage:
		return p.cf()
	case trace.FieldNS:
		return uint64(p.time())
	case trace.FieldInt, trace.FieldBytes:
		return p.signed()
	case trace.FieldFloat:
		return p.float()
	case trace.FieldName:
		return uint64(p.name(n))
	case trace.FieldReason:
		if digit(p.peek()) {
			return p.number(math.MaxUint8)
		}
		return p.enum(reasons, "expected one of "+strings.Join(reasons, ", "))
	case trace.FieldNode:
		return p.number(trace.MaxNode)
	case trace.FieldUint:
		return p.number(math.MaxUint64)
	}
	return p.number(math.MaxUint32)
}

// cf reads "node.counter", or "-" or 0 for none.
func (p *textParser) cf() uint64 {
	start := p.at
	if p.eat('-') {
		return 0
	}
	node, err := strconv.ParseUint(p.take(digit), 10, 16)
	switch {
	case err == nil && p.eat('.'):
		return uint64(trace.MakeCF(int(node), p.number(1<<48-1)))
	case err != nil || node != 0:
		p.failAt(start, "expected node.counter, or - for none")
	}
	return 0
}

func (p *textParser) float() uint64 {
	start := p.at
	s := p.take(func(c byte) bool { return c != ' ' && c != '\t' })
	if bits, ok := strings.CutPrefix(s, "0x"); ok {
		if v, err := strconv.ParseUint(bits, 16, 64); err == nil {
			return v
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		p.failAt(start, "expected a number")
	}
	return math.Float64bits(f)
}

// maxString is the longest string that a trace keeps whole, in bytes.
const maxString = 1 << 16

var reasons = []string{trace.Expired.String(), trace.Deleted.String(), trace.End.String()}

// fieldTypes are the names of the types of fields, by number; there is none of number 0.
func fieldTypes() []string {
	names := []string{""}
	for t := trace.FieldType(1); t.Valid(); t++ {
		names = append(names, t.String())
	}
	return names
}

// codeKinds are the names of the kinds of code fragments, by number.
func codeKinds() []string {
	names := make([]string, trace.IO+1)
	for k := range names {
		names[k] = trace.CodeKind(k).String()
	}
	return names
}

func identifier(s string) bool {
	for i := range len(s) {
		if !wordByte(s[i]) || i == 0 && digit(s[i]) {
			return false
		}
	}
	return s != "" && len(s) <= 256
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || digit(c)
}
