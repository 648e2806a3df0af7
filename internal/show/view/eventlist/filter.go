package eventlist

import (
	"bytes"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/whyslow/whyslow/internal/model/query"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// shape says what the fields of a kind refer to.
type shape struct {
	spec           *trace.KindSpec
	cfs, dfs, site []uint8 // fields of these types
	dfList         bool    // the list holds DFs
	fixed          int     // fields before the list
	peer           int8    // the field with the other end of a link; -1: none
	out            bool    // this node is the link's beginning
}

func newShape(spec *trace.KindSpec) *shape {
	s := &shape{spec: spec, peer: -1}
	s.fixed, _ = spec.List()
	for i, f := range spec.Fields {
		switch f.Type {
		case trace.FieldCF:
			s.cfs = append(s.cfs, uint8(i))
		case trace.FieldDF:
			s.dfs = append(s.dfs, uint8(i))
		case trace.FieldSite:
			s.site = append(s.site, uint8(i))
		case trace.FieldDFs:
			s.dfList = true
		}
		// A node in an event of a standard kind is always the other end of a link.
		if f.Type == trace.FieldNode && spec.Kind < trace.FirstUserKind {
			s.peer = int8(i)
		}
	}
	switch spec.Kind {
	case trace.KindCFReceived, trace.KindDFRequestReceived, trace.KindDFReceived, trace.KindGet,
		trace.KindReceived:
	default:
		s.out = true
	}
	return s
}

// standard has the shapes of the standard kinds; nil if a number is unused.
var standard = func() (list [trace.FirstUserKind]*shape) {
	kinds := trace.Kinds()
	for i := range kinds {
		list[kinds[i].Kind] = newShape(&kinds[i])
	}
	return list
}()

// filter says which events pass. It is immutable.
type filter struct {
	l      *List
	kinds  kindSet
	user   map[string]bool // names of the kinds of user namespaces that pass; nil: all
	nodes  map[int]bool    // nil: all
	link   *query.Link
	code   int // 0: any
	cf     trace.CF
	df     [][]uint64 // by node: its numbers in the file; nil: any
	text   []byte     // in small letters
	hints  *hints     // of text; nil: none
	lang   words.Lang
	needed bool // an event must be inspected; kind and node are not enough
}

// key identifies a filter. The interval is not part of it.
func (q *Query) key() string {
	lang := words.LangOf(q.Lang)
	if q.Text == "" {
		lang = words.English
	}
	kinds, nodes := slices.Clone(q.Kinds), slices.Clone(q.Nodes)
	slices.Sort(kinds)
	slices.Sort(nodes)
	return fmt.Sprintf("%q %v %q %d %q %q %q %d", kinds, nodes, q.Link, q.Code, q.CF, q.DF,
		strings.ToLower(q.Text), lang)
}

// unfiltered reports whether every event passes, whatever its time.
func (q *Query) unfiltered() bool {
	return q.key() == new(Query).key()
}

// compile turns a query into a filter.
func (l *List) compile(q *Query) (*filter, error) {
	f := &filter{l: l, code: q.Code, lang: words.LangOf(q.Lang), text: []byte(strings.ToLower(q.Text))}
	if err := f.setKinds(q.Kinds); err != nil {
		return nil, err
	}
	if len(q.Nodes) > 0 {
		f.nodes = map[int]bool{}
		for _, n := range q.Nodes {
			if n < 0 || n >= len(l.m.Nodes) {
				return nil, query.Missing("there is no node %d; there are %d, from 0", n, len(l.m.Nodes))
			}
			f.nodes[n] = true
		}
	}
	if q.Link != "" {
		link, err := query.ParseLink(q.Link, len(l.m.Nodes))
		if err != nil {
			return nil, err
		}
		f.link = &link
		f.only(func(s *shape) bool { return s.peer >= 0 })
		ends := map[int]bool{}
		for _, n := range []int{link.From, link.To} {
			if f.nodes == nil || f.nodes[n] {
				ends[n] = true
			}
		}
		f.nodes = ends
	}
	if q.Code < 0 || q.Code >= len(l.m.Codes) {
		return nil, query.Missing("there is no code fragment %d; they are numbered from 1 to %d", q.Code,
			len(l.m.Codes)-1)
	}
	if q.Code > 0 {
		f.only(func(s *shape) bool { return len(s.cfs)+len(s.site) > 0 })
	}
	if q.CF != "" {
		cf, err := query.ParseCF(q.CF)
		if err != nil {
			return nil, err
		}
		f.cf = cf
		f.only(func(s *shape) bool { return len(s.cfs) > 0 })
	}
	if q.DF != "" {
		df, err := l.findDF(q.DF)
		if err != nil {
			return nil, err
		}
		f.df = df
		f.only(func(s *shape) bool { return len(s.dfs) > 0 || s.dfList })
	}
	f.hints = l.newHints(string(f.text), f.lang)
	f.needed = f.user != nil || f.link != nil || f.code != 0 || f.cf != 0 || f.df != nil || len(f.text) > 0
	return f, nil
}

// shapes are those of all kinds: the standard ones, and those that users defined.
func (l *List) shapes() iter.Seq[*shape] {
	return func(yield func(*shape) bool) {
		for _, s := range standard {
			if s != nil && !yield(s) {
				return
			}
		}
		for _, n := range l.nodes {
			for _, s := range n.user {
				if !yield(s) {
					return
				}
			}
		}
	}
}

// only removes the standard kinds that do not meet a condition, and user kinds if none of them does.
func (f *filter) only(ok func(*shape) bool) {
	var left kindSet
	for s := range f.l.shapes() {
		if k := s.spec.Kind; f.kinds.has(k) && ok(s) &&
			(k < trace.FirstUserKind || f.user == nil || f.user[s.spec.String()]) {
			left.add(k)
		}
	}
	f.kinds = left
}

// setKinds accepts names of kinds and of whole namespaces; none means all.
func (f *filter) setKinds(names []string) error {
	if len(names) == 0 {
		for i := range f.kinds {
			f.kinds[i] = math.MaxUint64
		}
		return nil
	}
	f.user = map[string]bool{}
	for _, name := range names {
		known := false
		if ns, event, ok := strings.Cut(name, "."); ok {
			if k, ok := trace.KindByName(ns, event); ok {
				f.kinds.add(k)
				continue
			}
		}
		for s := range f.l.shapes() {
			if s.spec.Namespace == name || s.spec.String() == name {
				f.kinds.add(s.spec.Kind)
				f.user[s.spec.String()] = s.spec.Kind >= trace.FirstUserKind
				known = true
			}
		}
		if !known {
			return query.Bad("there is no event or namespace %q in this trace; write one like CFEvents.onStarted or "+
				"CFEvents", name)
		}
	}
	return nil
}

// match appends the bits of events that pass, and counts them. space is memory for sentences.
func (f *filter) match(e *events, space []byte) (n int32, bits []uint64, _ []byte) {
	bits = make([]uint64, (len(e.time)+63)/64)
	for i, k := range e.kind {
		if !f.kinds.has(k) || f.needed && !f.event(e, i, k, &space) {
			continue
		}
		bits[i/64] |= 1 << (i % 64)
		n++
	}
	switch int(n) {
	case 0, len(e.kind):
		bits = nil
	}
	return n, bits, space
}

// event inspects an event of a kind that passes.
func (f *filter) event(e *events, i int, k trace.Kind, space *[]byte) bool {
	s := e.shape(k)
	if k >= trace.FirstUserKind && f.user != nil && (s == nil || !f.user[s.spec.String()]) {
		return false
	}
	args := e.args(i)
	if s == nil {
		if f.link != nil || f.code != 0 || f.cf != 0 || f.df != nil {
			return false
		}
	} else if !f.fields(e, s, args) {
		return false
	}
	switch {
	case len(f.text) == 0:
		return true
	case f.hints != nil && !f.hints.possible(f.l, e, k, args):
		return false
	}
	w := writer{l: f.l, node: e.node, lang: f.lang, b: (*space)[:0]}
	w.sentence(k, args)
	*space = w.b
	return bytes.Contains(lower(w.b), f.text)
}

// lower is bytes.ToLower, in place where that leaves the length of every letter.
func lower(b []byte) []byte {
	for i := 0; i < len(b); {
		if c := b[i]; c < utf8.RuneSelf {
			if 'A' <= c && c <= 'Z' {
				b[i] += 'a' - 'A'
			}
			i++
			continue
		}
		r, n := utf8.DecodeRune(b[i:])
		if r < 'а' || r > 'я' { // nearly all are small ones of Russian texts
			small := unicode.ToLower(r)
			if utf8.RuneLen(small) != n {
				return bytes.ToLower(b)
			}
			utf8.EncodeRune(b[i:], small)
		}
		i += n
	}
	return b
}

func (f *filter) fields(e *events, s *shape, args []uint64) bool {
	if f.link != nil {
		if s.peer < 0 {
			return false
		}
		from, to := e.number, int(args[s.peer])
		if !s.out {
			from, to = to, from
		}
		if from != f.link.From || to != f.link.To {
			return false
		}
	}
	if f.cf != 0 && !slices.ContainsFunc(s.cfs, func(i uint8) bool { return args[i] == uint64(f.cf) }) {
		return false
	}
	if f.code != 0 && !slices.ContainsFunc(s.cfs,
		func(i uint8) bool { return f.l.codeOf(trace.CF(args[i])) == f.code }) &&
		!slices.ContainsFunc(s.site, func(i uint8) bool { return f.l.m.CodeAt(e.number, args[i]) == f.code }) {
		return false
	}
	if f.df != nil {
		is := func(v uint64) bool { return slices.Contains(f.df[e.number], v) }
		return slices.ContainsFunc(s.dfs, func(i uint8) bool { return is(args[i]) }) ||
			s.dfList && slices.ContainsFunc(args[s.fixed+1:], is)
	}
	return true
}

// codeOf returns the code fragment of a CF, 0 if unknown.
func (l *List) codeOf(id trace.CF) int {
	cf := l.m.FindCF(id)
	if cf == 0 {
		return 0
	}
	return l.m.CodeOf(cf)
}
