package twin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/trace"
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
func Parse(text io.Reader, dir string) error { return ParseFew(text, dir, 1) }

// ParseFew is Parse of a text with about so many streams: many share the memory for what is not written yet.
func ParseFew(text io.Reader, dir string, streams int) error {
	data, err := io.ReadAll(text)
	if err != nil {
		return err
	}
	p := &textParser{dir: dir, buffer: min(buffers/max(streams, 1), trace.DefaultBuffer),
		reserved: reservedNames(data), nodes: map[int]*textNode{}}
	p.parse(data)
	err = p.err
	for _, n := range p.order {
		if cerr := n.w.Close(); err == nil {
			err = cerr
		}
	}
	if err == nil && p.run != nil {
		err = trace.WriteRunInfo(dir, p.run)
	}
	if err == nil && len(p.order) == 0 {
		err = &SyntaxError{1, 1, "the text has no events and no #node line: there is nothing to make a trace of"}
	}
	if err != nil {
		for _, n := range p.order {
			os.Remove(filepath.Join(dir, tracefile.FileName(n.w.Node())))
		}
	}
	return err
}

// buffers is how many bytes of memory there are for events that are not written yet.
const buffers = 16 << 20

type textParser struct {
	dir      string
	buffer   int                 // bytes of a stream
	reserved map[trace.Name]bool // numbers that the text uses without defining them
	run      *trace.RunInfo
	nodes    map[int]*textNode
	order    []*textNode
	node     int // of the last headings
	stream   int

	line int
	text string // the line
	at   int    // position in it
	args []uint64
	set  []bool
	err  error // the first; nothing is read after it
}

// textNode is a node's file being written.
type textNode struct {
	w     *trace.Writer
	run   string
	kinds map[[2]string]*trace.KindSpec

	names    map[string]trace.Name
	next     trace.Name          // number of the next string
	reserved map[trace.Name]bool // numbers that strings get by "#string N" only
}

// name is the number of a string.
func (n *textNode) name(s string) trace.Name {
	v, ok := n.names[s]
	if !ok {
		for n.reserved[n.next] {
			n.next++
		}
		v = n.next
		n.next++
		n.names[s] = v
		n.w.DefineName(v, s)
	}
	return v
}

// nameAs gives a string a certain number and reports whether that was free.
func (n *textNode) nameAs(v trace.Name, s string) bool {
	old, known := n.names[s]
	switch {
	case known && old == v:
		return true
	case v == 0, v < n.next && !n.reserved[v]:
		return false
	}
	n.reserved[v] = true
	if !known {
		n.names[s] = v
	}
	n.w.DefineName(v, s)
	return true
}

// reservedNames finds the numbers of strings that are not defined ("#7"), so that no
// string that is gets one of them. It may find more, which does no harm.
func reservedNames(data []byte) map[trace.Name]bool {
	found := map[trace.Name]bool{}
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
			found[trace.Name(v)] = true
		}
	}
}

func (p *textParser) fail(format string, args ...any) { p.failAt(p.at, format, args...) }

func (p *textParser) failAt(at int, format string, args ...any) {
	p.stop(&SyntaxError{p.line, at + 1, fmt.Sprintf(format, args...)})
}

// stop keeps the first error. The line is then at its end for further reads.
func (p *textParser) stop(err error) {
	if p.err == nil {
		p.err = err
	}
	p.at = len(p.text)
}

func (p *textParser) parse(data []byte) {
	for line := range bytes.Lines(data) {
		p.line++
		p.text, p.at = strings.TrimRight(string(line), " \t\r\n"), 0
		p.space()
		switch {
		case p.end():
		case p.peek() != '#':
			p.event()
		default:
			p.definition()
		}
		if p.err != nil {
			return
		}
	}
}

// in returns the file of a node, starting it at first use; nil after an error.
func (p *textParser) in(node int) *textNode {
	if n := p.nodes[node]; n != nil || p.err != nil {
		return n
	}
	return p.begin(node, "")
}

// begin starts the file of a node. run is the id of its run, or how that begins.
func (p *textParser) begin(node int, run string) *textNode {
	w, err := trace.Create(p.dir, node, trace.Options{Sync: true, Run: run, BufferBytes: p.buffer})
	if err != nil {
		p.stop(err)
		return nil
	}
	n := &textNode{w, run, map[[2]string]*trace.KindSpec{}, map[string]trace.Name{"": 0}, 1, p.reserved}
	p.nodes[node] = n
	p.order = append(p.order, n)
	return n
}

func (p *textParser) definition() {
	start := p.at
	p.at++
	word := p.word()
	p.space()
	switch word {
	case "": // a comment
		return
	case "run":
		p.run = new(trace.RunInfo)
		if err := json.NewDecoder(strings.NewReader(p.text[p.at:])).Decode(p.run); err != nil {
			p.fail("run: %v", err)
		}
		return
	case "node":
		p.nodeLine()
	case "stream":
		p.stream = int(p.number(maxStream))
	default:
		parse := map[string]func(*textNode){"kind": p.kind, "string": p.str, "code": p.code, "site": p.site,
			"df": p.df}[word]
		if parse == nil {
			p.failAt(start, "#%s is not a kind of line: expected #run, #node, #stream, #kind, #string,"+
				" #code, #site or #df; a comment starts with \"# \"", word)
		} else if n := p.in(p.node); n != nil {
			parse(n)
		}
	}
	p.done()
}

// nodeLine parses the number of a node, and the run that its file belongs to.
func (p *textParser) nodeLine() {
	p.node, p.stream = int(p.number(trace.MaxNode)), 0
	if p.space(); !p.key("run") || p.err != nil {
		p.in(p.node)
		return
	}
	at := p.at
	run := p.take(wordByte)
	n := p.nodes[p.node]
	if _, err := tracefile.MarkOf(run); err != nil || run == "" {
		p.failAt(at, "run=%s: expected the id of the run, 24 or 32 hexadecimal digits", run)
	} else if n == nil {
		p.begin(p.node, run)
	} else if n.run != run {
		p.failAt(at, "node %d has begun without this run: say run= in the first line about the node", p.node)
	}
}

func (p *textParser) kind(n *textNode) {
	spec := trace.KindSpec{}
	start := p.at
	if digit(p.peek()) {
		spec.Kind = trace.Kind(p.number(uint64(trace.MaxKind)))
		if spec.Kind < trace.FirstUserKind {
			p.failAt(start, "kinds of user namespaces are numbered from %d", trace.FirstUserKind)
		}
		p.space()
	}
	name := p.eventName()
	spec.Namespace, spec.Name = name[0], name[1]
	for p.space(); !p.end() && p.peek() != '"'; p.space() {
		f := trace.Field{Name: p.word()}
		if !p.eat(':') {
			p.fail("expected field:Type")
		}
		at := p.at
		typ := p.word()
		f.Type = trace.FieldType(max(0, slices.Index(fieldTypes(), typ)))
		if typ == "" || !f.Type.Valid() {
			p.failAt(at, "field type %q is not known: the types are %s", typ, strings.Join(fieldTypes()[1:], ", "))
		}
		spec.Fields = append(spec.Fields, f)
	}
	if !p.end() {
		spec.Doc = p.quoted()
	}
	if p.err != nil {
		return
	}
	k, err := n.w.DefineKind(spec)
	if err != nil {
		p.failAt(start, "%v", err)
		return
	}
	spec.Kind = k
	n.kinds[name] = &spec
}

func (p *textParser) str(n *textNode) {
	start, numbered := p.at, digit(p.peek())
	var v uint64
	if numbered {
		v = p.number(math.MaxUint32)
		p.space()
	}
	switch s := p.quoted(); {
	case p.err != nil:
	case !numbered:
		n.name(s)
	case !n.nameAs(trace.Name(v), s):
		p.failAt(start, "string %d is defined already", v)
	}
}

func (p *textParser) code(n *textNode) {
	c := trace.CodeDef{Code: uint32(p.number(math.MaxUint32))}
	p.space()
	c.Name = p.name(n)
	for p.space(); !p.end(); p.space() {
		if p.key("at") {
			c.File, c.Line, c.Col = p.place(n)
		} else {
			c.Kind = trace.CodeKind(p.enum(codeKinds(),
				"expected atomic, sub, call, for, while, if or at=file:line:col"))
		}
	}
	if p.err == nil {
		n.w.DefineCode(c)
	}
}

func (p *textParser) site(n *textNode) {
	s := trace.SiteDef{Site: trace.Site(p.number(math.MaxUint32))}
	for p.space(); !p.end(); p.space() {
		switch {
		case p.key("code"):
			s.Code = uint32(p.number(math.MaxUint32))
		case p.key("label"):
			s.Label = p.name(n)
		case p.key("at"):
			s.File, s.Line, s.Col = p.place(n)
		case p.key("dfs"):
			s.DFs = p.name(n)
		case p.key("stealable"):
			s.Stealable = p.number(1) == 1
		case p.peek() == '"' || p.peek() == '#':
			s.Text = p.name(n)
		default:
			p.fail("expected code=, label=, at=, dfs=, stealable= or the statement in quotes")
		}
	}
	if p.err == nil {
		n.w.DefineSite(s)
	}
}

func (p *textParser) df(n *textNode) {
	v := p.number(math.MaxUint32)
	p.space()
	var name trace.Name
	if p.peek() != '[' {
		name = p.name(n)
		p.space()
	}
	var identity []int64
	for _, w := range p.list(trace.FieldInts) {
		identity = append(identity, int64(w))
	}
	if p.err == nil {
		n.w.DefineDF(trace.DF(v), name, identity)
	}
}

// event parses a line "TIME [nN] [sS] Namespace.onName values".
func (p *textParser) event() {
	t := p.time()
	if t < -trace.TimeLimit || t >= trace.TimeLimit {
		p.failAt(0, "time is out of range: at most 104 days from 0")
	}
	node, stream := p.node, p.stream
	p.space()
	if v, ok := p.prefixed('n', trace.MaxNode); ok {
		if node = v; node != p.node {
			stream = 0
		}
	}
	if v, ok := p.prefixed('s', maxStream); ok {
		stream = v
	}
	n := p.in(node)
	if n == nil {
		return
	}
	start := p.at
	name := p.eventName()
	spec := n.kinds[name]
	if spec == nil {
		k, ok := trace.KindByName(name[0], name[1])
		if !ok {
			k, ok = trace.KindByName(name[0]+"Events", name[1])
		}
		if !ok {
			p.failAt(start, "there is no event %s.%s; one of a user namespace needs a #kind line before",
				name[0], name[1])
			return
		}
		spec = k.Spec()
	}
	if p.values(n, spec); p.err == nil {
		n.w.Stream(stream).Emit(t, spec.Kind, p.args...)
	}
}

// values parses the fields of an event into p.args.
func (p *textParser) values(n *textNode, spec *trace.KindSpec) {
	fixed, list := spec.List()
	p.args = slices.Grow(p.args[:0], trace.MaxFields)
	p.set = slices.Grow(p.set[:0], trace.MaxFields)[:len(spec.Fields)]
	clear(p.set)
	for _, f := range spec.Fields[:fixed] {
		p.args = append(p.args, f.Default)
	}
	var elements []uint64
	for p.space(); !p.end(); p.space() {
		start := p.at
		i := slices.Index(p.set, false)
		word := p.word()
		named := word != "" && p.eat('=')
		if named {
			i = slices.IndexFunc(spec.Fields, func(f trace.Field) bool { return f.Name == word })
		} else {
			p.at = start
		}
		switch {
		case i < 0 && named:
			p.failAt(start, "%s has no field %q: it has %s", spec, word, spec.Signature())
		case i < 0:
			p.failAt(start, "too many values: %s has %s", spec, spec.Signature())
		case p.set[i]:
			p.failAt(start, "field %s is given twice", spec.Fields[i].Name)
		case i == fixed:
			elements = p.list(spec.Fields[i].Type)
		default:
			p.args[i] = p.value(n, spec.Fields[i].Type)
		}
		if p.err != nil {
			return
		}
		p.set[i] = true
		if !p.end() && p.peek() != ' ' && p.peek() != '\t' {
			p.fail("expected a space")
		}
	}
	if list {
		p.args = append(append(p.args, uint64(len(elements))), elements...)
	}
}
