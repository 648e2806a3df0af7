package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// SyntaxError is a mistake in the text of a trace.
type SyntaxError struct {
	Line, Col int // from 1; columns are bytes
	Msg       string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Col, e.Msg) }

// Parse turns the text twin into a trace in the folder dir. It reads more than Dump
// writes, to make texts pleasant to write by hand:
//
//   - Lines may come in any order, but what an event or definition names by namespace
//     and name must be declared before. Empty lines and lines that start with "# " are
//     passed over.
//   - Without nN and sS an event belongs to the node of the last "#node N" line and
//     the stream of the last "#stream S" line after it, or else to node 0, stream 0.
//   - Namespaces may leave off "Events" (CF.onStarted), "::" is as good as ".", and
//     aliases are understood.
//   - Fields may be left out, which gives them their defaults (1 for executions and
//     weights, -1 for CPU times, otherwise 0), and values without a name are taken for
//     the fields in order.
//   - Times and fields that are times may have a unit: 5us, 1.5ms, 2s.
//   - Numbers of codes, sites and DFs need not be defined.
//
// On an error, a *SyntaxError where the text is wrong, no trace is left behind.
func Parse(text io.Reader, dir string) error {
	data, err := io.ReadAll(text)
	if err != nil {
		return err
	}
	p := &textParser{dir: dir, reserved: reservedNames(data), nodes: map[int]*textNode{}}
	err = p.parse(data)
	for _, n := range p.order {
		if cerr := n.w.Close(); err == nil {
			err = cerr
		}
	}
	if err == nil && p.run != nil {
		err = WriteRunInfo(dir, p.run)
	}
	if err == nil && len(p.order) == 0 {
		err = &SyntaxError{1, 1, "the text has no events and no #node line: there is nothing to make a" +
			" trace of"}
	}
	if err != nil {
		for _, n := range p.order {
			os.Remove(filepath.Join(dir, FileName(n.w.Node())))
		}
	}
	return err
}

type textParser struct {
	dir      string
	reserved map[Name]bool // numbers that the text uses without defining them
	run      *RunInfo
	nodes    map[int]*textNode
	order    []*textNode
	node     int // of the last headings
	stream   int

	line int
	text string // the line
	at   int    // position in it
	args []uint64
	set  []bool
}

// textNode is a node's file being written.
type textNode struct {
	w     *Writer
	kinds map[[2]string]*KindSpec
}

// reservedNames finds the numbers of strings that are not defined ("#7"), so that no
// string that is gets one of them. It may find more, which does no harm.
func reservedNames(data []byte) map[Name]bool {
	found := map[Name]bool{}
	for {
		i := bytes.IndexByte(data, '#')
		if i < 0 {
			return found
		}
		data = data[i+1:]
		n := 0
		for n < len(data) && n < 10 && digit(data[n]) {
			n++
		}
		if v, err := strconv.ParseUint(string(data[:n]), 10, 32); err == nil {
			found[Name(v)] = true
		}
	}
}

func (p *textParser) fail(format string, args ...any) error { return p.failAt(p.at, format, args...) }

func (p *textParser) failAt(at int, format string, args ...any) error {
	return &SyntaxError{p.line, at + 1, fmt.Sprintf(format, args...)}
}

func (p *textParser) parse(data []byte) error {
	for len(data) > 0 {
		line := data
		if i := bytes.IndexByte(data, '\n'); i >= 0 {
			line, data = data[:i], data[i+1:]
		} else {
			data = nil
		}
		p.line++
		p.text, p.at = strings.TrimRight(string(line), " \t\r"), 0
		p.space()
		var err error
		switch {
		case p.end():
		case p.text[p.at] != '#':
			err = p.event()
		default:
			err = p.definition()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// in returns the file of a node, starting it at first use.
func (p *textParser) in(node int) (*textNode, error) {
	n := p.nodes[node]
	if n != nil {
		return n, nil
	}
	w, err := Create(p.dir, node, Options{Sync: true})
	if err != nil {
		return nil, err
	}
	w.defs.reserved = p.reserved
	n = &textNode{w, map[[2]string]*KindSpec{}}
	p.nodes[node] = n
	p.order = append(p.order, n)
	return n, nil
}

func (p *textParser) definition() error {
	start := p.at
	p.at++
	word := p.word()
	if word == "" {
		return nil // a comment
	}
	p.space()
	switch word {
	case "run":
		p.run = new(RunInfo)
		d := json.NewDecoder(strings.NewReader(p.text[p.at:]))
		if err := d.Decode(p.run); err != nil {
			return p.fail("run: %v", err)
		}
		return nil
	case "node":
		n, err := p.number(MaxNode)
		if err != nil {
			return err
		}
		p.node, p.stream = int(n), 0
		if _, err := p.in(p.node); err != nil {
			return err
		}
		return p.done()
	case "stream":
		n, err := p.number(maxStream)
		p.stream = int(n)
		if err != nil {
			return err
		}
		return p.done()
	}
	parse := map[string]func(*textNode) error{"kind": p.kind, "string": p.str, "code": p.code, "site": p.site,
		"df": p.df}[word]
	if parse == nil {
		return p.failAt(start, "#%s is no kind of line: expected #run, #node, #stream, #kind, #string,"+
			" #code, #site or #df; a comment starts with \"# \"", word)
	}
	n, err := p.in(p.node)
	if err != nil {
		return err
	}
	if err := parse(n); err != nil {
		return err
	}
	return p.done()
}

func (p *textParser) kind(n *textNode) error {
	spec := KindSpec{}
	start := p.at
	if digit(p.peek()) {
		k, err := p.number(uint64(MaxKind))
		if err != nil {
			return err
		}
		if spec.Kind = Kind(k); spec.Kind < FirstUserKind {
			return p.failAt(start, "kinds of user namespaces are numbered from %d", FirstUserKind)
		}
		p.space()
	}
	name := p.eventName()
	spec.Namespace, spec.Name = name[0], name[1]
	for p.space(); !p.end() && p.peek() != '"'; p.space() {
		f := Field{Name: p.word()}
		if !p.eat(':') {
			return p.fail("expected field:Type")
		}
		at := p.at
		typ := p.word()
		f.Type = FieldType(max(0, slices.Index(fieldTypeNames[:], typ)))
		if typ == "" || !f.Type.Valid() {
			return p.failAt(at, "field type %q is not known: the types are %s", typ,
				strings.Join(fieldTypeNames[1:], ", "))
		}
		spec.Fields = append(spec.Fields, f)
	}
	if !p.end() {
		var err error
		if spec.Doc, err = p.quoted(); err != nil {
			return err
		}
	}
	k, err := n.w.defineKind(spec)
	if err != nil {
		return p.failAt(start, "%v", err)
	}
	spec.Kind = k
	n.kinds[name] = &spec
	return nil
}

func (p *textParser) str(n *textNode) error {
	if digit(p.peek()) {
		start := p.at
		v, err := p.number(1<<32 - 1)
		if err != nil {
			return err
		}
		p.space()
		s, err := p.quoted()
		if err == nil && !n.w.nameAs(Name(v), s) {
			err = p.failAt(start, "string %d is defined already", v)
		}
		return err
	}
	s, err := p.quoted()
	n.w.Name(s)
	return err
}

func (p *textParser) code(n *textNode) error {
	v, err := p.number(1<<32 - 1)
	c := CodeDef{Code: uint32(v)}
	p.space()
	if err == nil {
		c.Name, err = p.name(n)
	}
	for p.space(); err == nil && !p.end(); p.space() {
		start := p.at
		if p.key("at") {
			c.File, c.Line, c.Col, err = p.place(n)
			continue
		}
		var kind uint64
		kind, err = p.enum(codeKindNames)
		if c.Kind = CodeKind(kind); err != nil || kind > 255 {
			err = p.failAt(start, "expected atomic, sub, call, for, while, if or at=file:line:col")
		}
	}
	if err == nil {
		n.w.DefineCode(c)
	}
	return err
}

func (p *textParser) site(n *textNode) error {
	v, err := p.number(1<<32 - 1)
	s := SiteDef{Site: Site(v)}
	for p.space(); err == nil && !p.end(); p.space() {
		switch {
		case p.key("code"):
			v, err = p.number(1<<32 - 1)
			s.Code = uint32(v)
		case p.key("label"):
			s.Label, err = p.name(n)
		case p.key("at"):
			s.File, s.Line, s.Col, err = p.place(n)
		case p.key("dfs"):
			s.DFs, err = p.name(n)
		case p.peek() == '"' || p.peek() == '#':
			s.Text, err = p.name(n)
		default:
			err = p.fail("expected code=, label=, at=, dfs= or the statement in quotes")
		}
	}
	if err == nil {
		n.w.DefineSite(s)
	}
	return err
}

func (p *textParser) df(n *textNode) error {
	v, err := p.number(1<<32 - 1)
	if err != nil {
		return err
	}
	p.space()
	var name Name
	if p.peek() != '[' {
		if name, err = p.name(n); err != nil {
			return err
		}
		p.space()
	}
	words, err := p.list(nil, FieldInts)
	if err != nil {
		return err
	}
	identity := make([]int64, len(words))
	for i, w := range words {
		identity[i] = int64(w)
	}
	n.w.DefineDF(DF(v), name, identity)
	return nil
}

// event parses a line "TIME [nN] [sS] Namespace.onName values".
func (p *textParser) event() error {
	t, err := p.time()
	if err != nil {
		return err
	}
	if t < -TimeLimit || t >= TimeLimit {
		return p.failAt(0, "time is out of range: at most 104 days from 0")
	}
	node, stream := p.node, p.stream
	p.space()
	if v, ok, err := p.prefixed('n', MaxNode); err != nil {
		return err
	} else if ok {
		if node = v; node != p.node {
			stream = 0
		}
	}
	if v, ok, err := p.prefixed('s', maxStream); err != nil {
		return err
	} else if ok {
		stream = v
	}
	n, err := p.in(node)
	if err != nil {
		return err
	}
	start := p.at
	name := p.eventName()
	spec := n.kinds[name]
	if spec == nil {
		k, ok := KindByName(name[0], name[1])
		if !ok {
			k, ok = KindByName(name[0]+"Events", name[1])
		}
		if !ok {
			return p.failAt(start, "there is no event %s.%s; one of a user namespace needs a #kind"+
				" line before", name[0], name[1])
		}
		spec = k.Spec()
	}
	if err := p.values(n, spec); err != nil {
		return err
	}
	n.w.Stream(stream).Emit(t, spec.Kind, p.args...)
	return nil
}

// values parses the fields of an event into p.args.
func (p *textParser) values(n *textNode, spec *KindSpec) error {
	fixed, list := spec.List()
	p.args = slices.Grow(p.args[:0], MaxFields)
	p.set = slices.Grow(p.set[:0], MaxFields)[:len(spec.Fields)]
	clear(p.set)
	for _, f := range spec.Fields[:fixed] {
		p.args = append(p.args, f.Default)
	}
	var elements []uint64
	for p.space(); !p.end(); p.space() {
		start := p.at
		i := slices.Index(p.set, false)
		if word := p.word(); word != "" && p.peek() == '=' {
			p.at++
			i = slices.IndexFunc(spec.Fields, func(f Field) bool { return f.Name == word })
			if i < 0 {
				return p.failAt(start, "%s has no field %q: it has %s", spec, word, spec.Signature())
			}
		} else {
			p.at = start
		}
		switch {
		case i < 0:
			return p.failAt(start, "too many values: %s has %s", spec, spec.Signature())
		case p.set[i]:
			return p.failAt(start, "field %s is given twice", spec.Fields[i].Name)
		}
		p.set[i] = true
		var err error
		if f := &spec.Fields[i]; f.Type.List() {
			elements, err = p.list(nil, f.Type)
		} else {
			p.args[i], err = p.value(n, f.Type)
		}
		if err != nil {
			return err
		}
		if !p.end() && p.peek() != ' ' && p.peek() != '\t' {
			return p.fail("expected a space")
		}
	}
	if list {
		p.args = append(append(p.args, uint64(len(elements))), elements...)
	}
	return nil
}
