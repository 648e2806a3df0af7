package trace

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// The words of the text twin. All methods read at p.at and leave it behind what they
// read, or at the mistake.

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

func (p *textParser) done() error {
	if p.space(); !p.end() {
		return p.fail("unexpected %q", p.text[p.at:])
	}
	return nil
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
func (p *textParser) number(max uint64) (uint64, error) {
	start := p.at
	s := p.take(digit)
	v, err := strconv.ParseUint(s, 10, 64)
	if err != nil || v > max {
		return 0, p.failAt(start, "expected a number from 0 to %d", max)
	}
	return v, nil
}

func (p *textParser) signed() (int64, error) {
	start := p.at
	s := p.take(func(c byte) bool { return digit(c) || c == '-' || c == '+' })
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, p.failAt(start, "expected an integer")
	}
	return v, nil
}

// time reads a number of nanoseconds, or a number and a unit.
func (p *textParser) time() (int64, error) {
	start := p.at
	num := p.take(func(c byte) bool { return digit(c) || c == '-' || c == '+' || c == '.' })
	unit := p.take(func(c byte) bool { return c == 'n' || c == 'u' || c == 'm' || c == 's' })
	var scale float64
	switch unit {
	case "", "ns":
		if v, err := strconv.ParseInt(num, 10, 64); err == nil {
			return v, nil
		}
	case "us":
		scale = 1e3
	case "ms":
		scale = 1e6
	case "s":
		scale = 1e9
	}
	if scale > 0 {
		if v, err := strconv.ParseFloat(num, 64); err == nil && math.Abs(v*scale) < 1<<62 {
			return int64(math.Round(v * scale)), nil
		}
	}
	return 0, p.failAt(start, "expected a time: nanoseconds, or a number with ns, us, ms or s")
}

// prefixed reads "n3 " or "s1 ". An event's name, which may begin alike, has no digit
// in second place or does not end after it.
func (p *textParser) prefixed(c byte, max uint64) (int, bool, error) {
	start := p.at
	if !p.eat(c) || !digit(p.peek()) {
		p.at = start
		return 0, false, nil
	}
	digits := p.take(digit)
	if p.peek() != ' ' && p.peek() != '\t' {
		p.at = start
		return 0, false, nil
	}
	v, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || v > max {
		return 0, false, p.failAt(start, "expected %c and a number from 0 to %d", c, max)
	}
	p.space()
	return int(v), true, nil
}

func (p *textParser) quoted() (string, error) {
	q, err := strconv.QuotedPrefix(p.text[p.at:])
	if err != nil || q[0] != '"' {
		return "", p.fail("expected a string in double quotes")
	}
	s, _ := strconv.Unquote(q)
	if len(s) > maxString {
		return "", p.fail("a string of %d bytes is too long: %d are possible", len(s), maxString)
	}
	p.at += len(q)
	return s, nil
}

// name reads a string, in quotes or a word, or "#7": the number of one not defined.
func (p *textParser) name(n *textNode) (Name, error) {
	switch {
	case p.peek() == '#':
		p.at++
		v, err := p.number(math.MaxUint32)
		return Name(v), err
	case p.peek() == '"':
		s, err := p.quoted()
		if err != nil {
			return 0, err
		}
		return n.w.Name(s), nil
	}
	start := p.at
	s := p.take(func(c byte) bool { return bareByte(c, false) })
	if !bareWord(s) {
		return 0, p.failAt(start, "expected a name; one that is not letters, digits and ._/+- needs quotes")
	}
	return n.w.Name(s), nil
}

// place reads "file:line:col".
func (p *textParser) place(n *textNode) (file Name, line, col int, err error) {
	file, err = p.name(n)
	var v uint64
	if err == nil && p.eat(':') {
		v, err = p.number(math.MaxInt32)
		line = int(v)
		if err == nil && p.eat(':') {
			v, err = p.number(math.MaxInt32)
			col = int(v)
		}
	}
	return file, line, col, err
}

// enum reads one of names, or a number.
func (p *textParser) enum(names []string) (uint64, error) {
	if digit(p.peek()) {
		return p.number(math.MaxUint8)
	}
	start := p.at
	word := p.word()
	if i := slices.Index(names, word); i >= 0 && word != "" {
		return uint64(i), nil
	}
	known := slices.DeleteFunc(slices.Clone(names), func(s string) bool { return s == "" })
	return 0, p.failAt(start, "expected one of %s", strings.Join(known, ", "))
}

// list reads "[1 2 3]"; commas are as good as spaces.
func (p *textParser) list(words []uint64, t FieldType) ([]uint64, error) {
	if !p.eat('[') {
		return nil, p.fail("expected a list: [1 2 3]")
	}
	for {
		for p.peek() == ' ' || p.peek() == '\t' || p.peek() == ',' {
			p.at++
		}
		if p.eat(']') {
			return words, nil
		}
		if p.end() {
			return nil, p.fail("list does not end: expected ]")
		}
		if len(words) == MaxList {
			return nil, p.fail("list is too long: at most %d elements", MaxList)
		}
		var v uint64
		var err error
		if t == FieldDFs {
			v, err = p.number(math.MaxUint32)
		} else {
			var i int64
			i, err = p.signed()
			v = uint64(i)
		}
		if err != nil {
			return nil, err
		}
		words = append(words, v)
	}
}

// value reads the value of a fixed field.
func (p *textParser) value(n *textNode, t FieldType) (uint64, error) {
	start := p.at
	switch t {
	case FieldCF, FieldMessage:
		if p.eat('-') {
			return 0, nil
		}
		node, err := p.number(MaxNode)
		if err == nil && p.eat('.') {
			var counter uint64
			counter, err = p.number(1<<counterBits - 1)
			return node<<counterBits | counter, err
		}
		if err != nil || node != 0 {
			return 0, p.failAt(start, "expected node.counter, or - for none")
		}
		return 0, nil
	case FieldNS:
		v, err := p.time()
		return uint64(v), err
	case FieldInt, FieldBytes:
		v, err := p.signed()
		return uint64(v), err
	case FieldFloat:
		s := p.take(func(c byte) bool { return c != ' ' && c != '\t' })
		if strings.HasPrefix(s, "0x") {
			if v, err := strconv.ParseUint(s[2:], 16, 64); err == nil {
				return v, nil
			}
		}
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return 0, p.failAt(start, "expected a number")
		}
		return math.Float64bits(f), nil
	case FieldName:
		v, err := p.name(n)
		return uint64(v), err
	case FieldReason:
		return p.enum(reasonNames)
	case FieldNode:
		return p.number(MaxNode)
	case FieldUint:
		return p.number(math.MaxUint64)
	}
	return p.number(math.MaxUint32)
}
