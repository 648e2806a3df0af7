package prof

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/trace"
)

// Any is an event of any kind, as handlers see it that treat all kinds alike. It is
// valid during the call only.
type Any struct {
	// Spec describes the kind. Kinds of user namespaces have no number here: Spec.Kind is 0 for them.
	Spec *trace.KindSpec
	// Time is when it happened, see Now.
	Time int64
	// Words are the fields in their order, one word each as in a trace; a list is the
	// number of its elements and the elements. Only Text resolves a Name word.
	Words []uint64

	stream *Stream
	texts  []string // strings of a user event; its Name words are indices of them
}

// begin gives the Any that the next generic handler of the stream looks at. Handlers may
// emit in turn, hence a stack.
func (s *Stream) begin(spec *trace.KindSpec, t int64) *Any {
	if s.depth == len(s.anys) {
		s.anys = append(s.anys, &Any{stream: s})
	}
	a := s.anys[s.depth]
	s.depth++
	a.Spec, a.Time, a.Words, a.texts = spec, t, a.Words[:0], a.texts[:0]
	return a
}

func (s *Stream) end() { s.depth-- }

// Stream is the stream that emits the event.
func (a *Any) Stream() *Stream { return a.stream }

// Fixed is the number of fields that are not lists.
func (a *Any) Fixed() int {
	n, _ := a.Spec.List()
	return n
}

// List returns the elements of the list that is the last field, nil if there is none.
func (a *Any) List() []uint64 {
	n, list := a.Spec.List()
	if !list || len(a.Words) <= n {
		return nil
	}
	return a.Words[n+1:]
}

// Text is the string of field i, which is of type Name.
func (a *Any) Text(i int) string {
	if a.Spec.Kind == 0 {
		return a.texts[a.Words[i]]
	}
	return a.stream.ses.Describe().Name(a.stream.node, trace.Name(a.Words[i]))
}

// AppendField appends field i as people read it: CFs and messages as node.number, DFs
// by name and indices, statements by their code fragment, lists in brackets.
func (a *Any) AppendField(dst []byte, i int) []byte {
	f := a.Spec.Fields[i]
	if !f.Type.List() {
		return a.appendWord(dst, f.Type, i, a.Words[i])
	}
	elem := trace.FieldInt
	if f.Type == trace.FieldDFs {
		elem = trace.FieldDF
	}
	dst = append(dst, '[')
	for k, w := range a.List() {
		if k > 0 {
			dst = append(dst, ' ')
		}
		dst = a.appendWord(dst, elem, i, w)
	}
	return append(dst, ']')
}

func (a *Any) appendWord(dst []byte, t trace.FieldType, i int, w uint64) []byte {
	d, node := a.stream.ses.Describe(), a.stream.node
	switch t {
	case trace.FieldName:
		return append(dst, a.Text(i)...)
	case trace.FieldCF, trace.FieldMessage:
		return trace.CF(w).Append(dst)
	case trace.FieldDF:
		return appendDF(dst, d, node, trace.DF(w))
	case trace.FieldSite:
		return append(dst, d.Site(node, trace.Site(w)).Code...)
	case trace.FieldReason:
		return append(dst, trace.Reason(w).String()...)
	case trace.FieldFloat:
		return strconv.AppendFloat(dst, math.Float64frombits(w), 'g', -1, 64)
	case trace.FieldUint:
		return strconv.AppendUint(dst, w, 10)
	}
	return strconv.AppendInt(dst, int64(w), 10)
}

// ConnectAny adds a handler that takes an event of any kind to the event of that
// namespace and name or alias; a user event is made if there is none yet.
func (s *Session) ConnectAny(ns, name, handler string, priority int, f func(s *Stream, a *Any)) error {
	if k, ok := trace.KindByName(ns, name); ok {
		for _, h := range s.standard {
			if h.core().kind == k {
				return h.connectAny(handler, priority, f)
			}
		}
	}
	u, err := s.User(ns, name)
	if err != nil {
		return err
	}
	return u.connectAny(handler, priority, f)
}

// ConnectMatching adds the handler to every event that one of the patterns matches, also to those of user
// namespaces that are defined later. In a pattern, which is "Namespace.onName" or "Namespace::onName", "*"
// stands for any text.
func (s *Session) ConnectMatching(patterns []string, handler string, priority int,
	f func(s *Stream, a *Any)) error {
	connect := func(h hub, spec *trace.KindSpec) error {
		for _, name := range append([]string{spec.Name}, spec.Alias...) {
			for _, p := range patterns {
				if matches(strings.Replace(p, "::", ".", 1), spec.Namespace+"."+name) {
					return h.connectAny(handler, priority, f)
				}
			}
		}
		return nil
	}
	for _, h := range s.standard {
		if err := connect(h, h.core().kind.Spec()); err != nil {
			return err
		}
	}
	user := func(u *UserEvent) error { return connect(u, &u.spec) }
	s.mu.Lock()
	known := slices.Collect(maps.Values(s.users))
	s.later = append(s.later, user)
	s.mu.Unlock()
	for _, u := range known {
		if err := user(u); err != nil {
			return err
		}
	}
	return nil
}

// matches reports whether text is what pattern says, in which "*" is any text.
func matches(pattern, text string) bool {
	first, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, first)
	if !ok {
		return false
	}
	for i := 0; i <= len(text); i++ {
		if matches(rest, text[i:]) {
			return true
		}
	}
	return false
}
