package eventlist

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// segment is a piece of a parsed sentence: text, a field, or a group that may be left out.
type segment struct {
	text  string
	field int // -1: none
	typ   trace.FieldType
	form  string
	usual uint64 // the field's value that says nothing
	group []segment
}

// parse splits a sentence into segments. The sentences are constants, so any test reveals a wrong one.
func parse(spec *trace.KindSpec, s string) ([]segment, string) {
	var out []segment
	for s != "" {
		switch s[0] {
		case '[':
			var group []segment
			group, s = parse(spec, s[1:])
			out = append(out, segment{field: -1, group: group})
		case ']':
			return out, s[1:]
		case '{':
			name, rest, ok := strings.Cut(s[1:], "}")
			name, form, _ := strings.Cut(name, ":")
			i := slices.IndexFunc(spec.Fields, func(f trace.Field) bool { return f.Name == name })
			if !ok || i < 0 {
				panic(fmt.Sprintf("%s has no field %q", spec, name))
			}
			out = append(out, segment{field: i, typ: spec.Fields[i].Type, form: form, usual: spec.Fields[i].Default})
			s = rest
		default:
			n := strings.IndexAny(s, "[]{")
			if n < 0 {
				n = len(s)
			}
			out = append(out, segment{text: s[:n], field: -1})
			s = s[n:]
		}
	}
	return out, ""
}

// sentences are those of kindTexts, parsed.
var sentences = func() (list [trace.FirstUserKind][2][]segment) {
	for k, texts := range kindTexts {
		for lang, text := range texts {
			list[k][lang], _ = parse(k.Spec(), text)
		}
	}
	return list
}()

// writer writes sentences.
type writer struct {
	l *List
	*node
	lang words.Lang
	b    []byte
}

func (w *writer) text(s string) { w.b = append(w.b, s...) }

// sentence appends what an event says.
func (w *writer) sentence(k trace.Kind, args []uint64) {
	if k < trace.FirstUserKind && sentences[k][w.lang] != nil {
		w.segments(sentences[k][w.lang], args)
		return
	}
	s := w.shape(k)
	if s == nil {
		w.b = strconv.AppendUint(append(w.b, kindWord[w.lang]...), uint64(k), 10)
		for i, v := range args {
			w.b = append(w.b, ':', ' ')
			if i > 0 {
				w.b = append(w.b[:len(w.b)-2], ',', ' ')
			}
			w.b = strconv.AppendInt(w.b, int64(v), 10)
		}
		return
	}
	w.text(s.spec.Name)
	for i, f := range s.spec.Fields {
		sep := ", "
		if i == 0 {
			sep = ": "
		}
		w.b = append(w.b, sep...)
		w.text(f.Name)
		w.b = append(w.b, '=')
		w.value(f.Type, "", args[i:])
	}
}

func (w *writer) segments(list []segment, args []uint64) {
	for i := range list {
		s := &list[i]
		switch {
		case s.group != nil:
			if tells(s.group, args) {
				w.segments(s.group, args)
			}
		case s.field >= 0:
			w.value(s.typ, s.form, args[s.field:])
		default:
			w.b = append(w.b, s.text...)
		}
	}
}

// tells reports whether any field of a group has something to say.
func tells(group []segment, args []uint64) bool {
	for i := range group {
		if s := &group[i]; s.field >= 0 && args[s.field] != 0 && args[s.field] != s.usual {
			return true
		}
	}
	return false
}

// listed is how many elements of a list a sentence shows.
const listed = 4

// value appends the value of a field; that of a list takes all of args.
func (w *writer) value(t trace.FieldType, form string, args []uint64) {
	v := args[0]
	switch t {
	case trace.FieldCF:
		w.cf(trace.CF(v))
	case trace.FieldDF:
		w.df(trace.DF(v))
	case trace.FieldMessage:
		w.b = trace.CF(v).Append(w.b)
	case trace.FieldSite:
		w.site(v)
	case trace.FieldName:
		w.text(oneLine(w.defs.Name(trace.Name(v))))
	case trace.FieldReason:
		if v < uint64(len(reasons)) {
			w.b = append(w.b, reasons[v][w.lang]...)
		} else {
			w.b = strconv.AppendUint(w.b, v, 10)
		}
	case trace.FieldFloat:
		w.text(strconv.FormatFloat(math.Float64frombits(v), 'g', -1, 64)) // NaN, Inf
	case trace.FieldBytes:
		w.text(w.lang.Bytes(int64(v)))
	case trace.FieldUint, trace.FieldNode:
		w.b = strconv.AppendUint(w.b, v, 10)
	case trace.FieldInts, trace.FieldDFs:
		w.list(t, args)
	case trace.FieldNS, trace.FieldInt:
		w.int(t, form, int64(v))
	}
}

func (w *writer) int(t trace.FieldType, form string, v int64) {
	switch {
	case form == "time":
		w.b = strconv.AppendFloat(w.b, float64(model.Common(v, w.clock)-w.l.m.Start)/1e9, 'f', 9, 64)
		w.b = append(append(w.b, ' '), seconds[w.lang]...)
	case t == trace.FieldNS || form == "ns":
		w.text(w.lang.Duration(v))
	default:
		if form == "sign" && v >= 0 {
			w.b = append(w.b, '+')
		}
		w.b = strconv.AppendInt(w.b, v, 10)
	}
}

func (w *writer) list(t trace.FieldType, args []uint64) {
	list := args[1:]
	n := len(list)
	if n > listed+1 { // "and 1 more" is not shorter than the element
		n = listed
	}
	for i, v := range list[:n] {
		if i > 0 {
			w.b = append(w.b, ", "...)
		}
		if t == trace.FieldDFs {
			w.df(trace.DF(v))
		} else {
			w.b = strconv.AppendInt(w.b, int64(v), 10)
		}
	}
	if more := len(list) - n; more > 0 {
		w.b = strconv.AppendInt(append(w.b, andMore[w.lang][0]...), int64(more), 10)
		w.b = append(w.b, andMore[w.lang][1]...)
	}
}

// cf appends a CF: its label or code fragment and indices, and its number if there are none and many of the
// kind.
func (w *writer) cf(id trace.CF) {
	m := w.l.m
	if id == 0 {
		w.b = append(w.b, '-')
		return
	}
	cf := m.FindCF(id)
	if cf == 0 || m.CodeOf(cf) == 0 {
		w.text(cfWord[w.lang])
		w.b = id.Append(w.b)
		return
	}
	t := &w.l.titles[m.SiteOf[cf]]
	w.b = append(w.b, t.text[w.lang]...)
	indices := m.Label(cf)
	for _, i := range indices {
		w.b = append(strconv.AppendInt(append(w.b, '['), int64(i), 10), ']')
	}
	if len(indices) == 0 && !t.single {
		w.b = append(id.Append(append(w.b, " ("...)), ')')
	}
}

// mostNeighbours is how many are named; there may be thousands.
const mostNeighbours = 8

// neighbours names the DFs that a CF reads and makes, "" where none are known. They stand beside its
// creation, though they are known only later, to show its place in the graph.
func (w *writer) neighbours(id trace.CF) string {
	m := w.l.m
	cf := m.FindCF(id)
	if cf == 0 {
		return ""
	}
	var reads, makes []model.DF
	for e := range m.ExecutionsOf(cf) {
		reads = append(reads, m.Inputs(e)...)
	}
	for _, i := range m.OutputsOf(cf) {
		makes = append(makes, m.DFMade(i))
	}
	var out []string
	for i, list := range [][]model.DF{reads, makes} {
		var names []string
		for _, df := range list {
			if name := m.DFString(df); !slices.Contains(names, name) {
				if names = append(names, name); len(names) > mostNeighbours {
					break
				}
			}
		}
		if len(names) > mostNeighbours {
			names[mostNeighbours] = "…"
		}
		if names != nil {
			out = append(out, neighbourWords[i][w.lang]+" "+strings.Join(names, ", "))
		}
	}
	return strings.Join(out, "; ")
}

// cfTitle is the name of a CF and its indices, "" where its creation was not recorded.
func (w *writer) cfTitle(id trace.CF) string {
	m := w.l.m
	cf := m.FindCF(id)
	if cf == 0 || m.CodeOf(cf) == 0 {
		return ""
	}
	return m.CFTitle(cf)
}

// siteTitle is the title of the CFs of a statement.
type siteTitle struct {
	text   [2]string
	single bool // the name is enough
}

// newTitles names the CFs of all statements of the model.
func (l *List) newTitles() []siteTitle {
	list := make([]siteTitle, len(l.m.Sites))
	for i, s := range l.m.Sites {
		code := l.m.Codes[s.Code]
		name, kind := s.Label, code.Kind.String()+" "
		if name == "" {
			name = code.Name
		}
		if strings.HasPrefix(name, kind) {
			kind = ""
		}
		name = oneLine(name)
		t := &list[i]
		if code.Kind == trace.Atomic {
			kind = cfWord[words.English]
			t.text[words.Russian] = cfWord[words.Russian] + name
		} else {
			t.text[words.Russian] = cfWord[words.Russian] + kind + name
		}
		t.text[words.English] = kind + name
		t.single = code.Kind == trace.Sub
	}
	return list
}

// df appends the name of a DF with its indices.
func (w *writer) df(df trace.DF) {
	var space [8]int64
	name, identity, ok := w.defs.DF(df, space[:0])
	if !ok {
		w.b = strconv.AppendUint(append(w.b, '#'), uint64(df), 10)
		return
	}
	w.text(oneLine(w.defs.Name(name)))
	for _, i := range identity[min(2, len(identity)):] { // after the node and number of the name
		w.b = append(strconv.AppendInt(append(w.b, '['), i, 10), ']')
	}
}

// site appends the function that a statement runs.
func (w *writer) site(v uint64) {
	n := w.l.m.CodeAt(w.number, v)
	code := w.l.m.Codes[n]
	switch {
	case n == 0:
		w.b = strconv.AppendUint(append(w.b, '#'), v, 10)
	case code.Kind == trace.Sub || code.Kind == trace.Call:
		w.text(code.Kind.String() + " " + oneLine(code.Name))
	default:
		w.text(oneLine(code.Name))
	}
}

// oneLine keeps a program's names from breaking lines.
func oneLine(s string) string {
	for i := range len(s) {
		if s[i] < ' ' || s[i] == 0x7f || s[i] >= utf8.RuneSelf && !utf8.ValidString(s) {
			quoted := strconv.Quote(s)
			return quoted[1 : len(quoted)-1]
		}
	}
	return s
}
