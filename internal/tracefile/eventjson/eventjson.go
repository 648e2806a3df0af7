// Package eventjson writes events as JSON.
package eventjson

import (
	"bufio"
	"encoding/json"
	"io"
	"math"
	"strconv"

	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/trace"
)

// Dump writes the events that the options name, each on a line, in the order of twin.Dump.
func Dump(w io.Writer, r *trace.Reader, o *twin.Options) error {
	out := bufio.NewWriterSize(w, 64<<10)
	var line []byte
	if err := twin.EachEvent(r, o, func(d *trace.Defs, b *trace.Batch, i int) error {
		line = append(Append(line[:0], d, b, i), '\n')
		_, err := out.Write(line)
		return err
	}); err != nil {
		return err
	}
	return out.Flush()
}

// Append appends event i of a batch as a JSON object:
//
//	{"time":1000,"node":0,"stream":1,"event":"CFEvents.onStarted",
//	 "fields":{"cf":"0.1","execution":1,"inputs":[{"df":3,"name":"a[2]"}]}}
//
// without a line break. Times are nanoseconds; a CF, message or request is a string "node.counter", null for
// none; a DF is its number in the node's file and its name with indices, null for none; a site has "site",
// its number, and "code", "label", "at" (file:line:column) and "text" as far as they are known. A float that
// is no number, or infinite, is a string. An event whose kind is not defined has "kind", its number, instead
// of "event", and its words as "fields".
func Append(line []byte, d *trace.Defs, b *trace.Batch, i int) []byte {
	if spec := d.Kind(b.Kind[i]); spec != nil {
		return AppendFields(line, b.Time[i], b.Node, b.Stream, spec, b.Args(i), (*defNames)(d))
	}
	line = appendPlace(line, b.Time[i], b.Node, b.Stream)
	line = strconv.AppendInt(append(line, `,"kind":`...), int64(b.Kind[i]), 10)
	line = append(line, `,"fields":[`...)
	for j, v := range b.Args(i) {
		line = strconv.AppendInt(comma(line, j), int64(v), 10)
	}
	return append(line, "]}"...)
}

// Names knows what the words of one event stand for.
type Names interface {
	// Text is the string of a field of type trace.Name, n its word.
	Text(field int, n trace.Name) string
	// DF is the name of a DF and its identity list.
	DF(df trace.DF) (name string, identity []int64, known bool)
	// Site is a statement; what is not known of it is zero.
	Site(s trace.Site) SiteText
}

// SiteText tells what a statement of the program is.
type SiteText struct {
	Code      string         // name of the code fragment it runs
	Kind      trace.CodeKind // of the code fragment
	Label     string         // name of its label, without indices; "" for none
	File      string
	Line, Col int    // from 1; 0: unknown
	Text      string // as it stands in the source
}

// defNames are the names that a trace defines.
type defNames trace.Defs

func (d *defNames) Text(_ int, n trace.Name) string { return (*trace.Defs)(d).Name(n) }

func (d *defNames) DF(df trace.DF) (string, []int64, bool) {
	n, identity, ok := (*trace.Defs)(d).DF(df, nil)
	return (*trace.Defs)(d).Name(n), identity, ok
}

func (d *defNames) Site(number trace.Site) (t SiteText) {
	defs := (*trace.Defs)(d)
	s, ok := defs.Site(number)
	if !ok {
		return t
	}
	t = SiteText{Label: defs.Name(s.Label), File: defs.Name(s.File), Line: s.Line, Col: s.Col,
		Text: defs.Name(s.Text)}
	if c, ok := defs.Code(s.Code); ok {
		t.Code = defs.Name(c.Name)
	}
	return t
}

// AppendFields appends an event of a defined kind as Append does. words are its fields.
func AppendFields(line []byte, t int64, node, stream int, spec *trace.KindSpec, words []uint64,
	names Names) []byte {
	line = append(appendPlace(line, t, node, stream), `,"event":"`...)
	line = append(append(append(line, spec.Namespace...), '.'), spec.Name...)
	return append(appendArgs(append(line, `","fields":`...), spec, words, names), '}')
}

// AppendArgs appends the fields of an event of a defined kind as an object, as Append does.
func AppendArgs(line []byte, spec *trace.KindSpec, words []uint64, d *trace.Defs) []byte {
	return appendArgs(line, spec, words, (*defNames)(d))
}

func appendArgs(line []byte, spec *trace.KindSpec, words []uint64, names Names) []byte {
	line = append(line, '{')
	for f := range spec.Fields {
		fd := &spec.Fields[f]
		line = append(append(append(comma(line, f), '"'), fd.Name...), `":`...)
		if !fd.Type.List() {
			line = appendValue(line, names, fd.Type, f, words[f])
			continue
		}
		element := trace.FieldInt
		if fd.Type == trace.FieldDFs {
			element = trace.FieldDF
		}
		line = append(line, '[')
		for j, v := range words[f+1:] {
			line = appendValue(comma(line, j), names, element, f, v)
		}
		line = append(line, ']')
	}
	return append(line, '}')
}

func appendPlace(line []byte, t int64, node, stream int) []byte {
	line = strconv.AppendInt(append(line, `{"time":`...), t, 10)
	line = strconv.AppendInt(append(line, `,"node":`...), int64(node), 10)
	return strconv.AppendInt(append(line, `,"stream":`...), int64(stream), 10)
}

// comma separates element i from the one before it.
func comma(line []byte, i int) []byte {
	if i > 0 {
		line = append(line, ',')
	}
	return line
}

// identityHead is how many elements of an identity list come before the indices.
const identityHead = 2

func appendValue(line []byte, names Names, t trace.FieldType, field int, v uint64) []byte {
	switch t {
	case trace.FieldCF, trace.FieldMessage, trace.FieldDF, trace.FieldSite:
		if v == 0 {
			return append(line, "null"...)
		}
	}
	switch t {
	case trace.FieldCF, trace.FieldMessage:
		return append(trace.CF(v).Append(append(line, '"')), '"')
	case trace.FieldDF:
		line = strconv.AppendUint(append(line, `{"df":`...), v, 10)
		if name, identity, ok := names.DF(trace.DF(v)); ok {
			line = AppendString(append(line, `,"name":`...), name)
			line = line[:len(line)-1]
			for _, x := range identity[min(identityHead, len(identity)):] {
				line = append(strconv.AppendInt(append(line, '['), x, 10), ']')
			}
			line = append(line, '"')
		}
		return append(line, '}')
	case trace.FieldSite:
		return appendSite(line, trace.Site(v), names.Site(trace.Site(v)))
	case trace.FieldFloat:
		f := math.Float64frombits(v)
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return append(strconv.AppendFloat(append(line, '"'), f, 'g', -1, 64), '"')
		}
		return strconv.AppendFloat(line, f, 'g', -1, 64)
	case trace.FieldName:
		return AppendString(line, names.Text(field, trace.Name(v)))
	case trace.FieldReason:
		return append(append(append(line, '"'), trace.Reason(v).String()...), '"')
	case trace.FieldInt, trace.FieldNS, trace.FieldBytes:
		return strconv.AppendInt(line, int64(v), 10)
	}
	return strconv.AppendUint(line, v, 10)
}

func appendSite(line []byte, number trace.Site, s SiteText) []byte {
	line = strconv.AppendUint(append(line, `{"site":`...), uint64(number), 10)
	text := func(name, value string) {
		if value != "" {
			line = AppendString(append(append(append(line, `,"`...), name...), `":`...), value)
		}
	}
	text("code", s.Code)
	text("label", s.Label)
	if text("at", s.File); s.File != "" {
		line = strconv.AppendInt(append(line[:len(line)-1], ':'), int64(s.Line), 10)
		if s.Col != 0 {
			line = strconv.AppendInt(append(line, ':'), int64(s.Col), 10)
		}
		line = append(line, '"')
	}
	text("text", s.Text)
	return append(line, '}')
}

// AppendString appends a string in quotes, as encoding/json does, which takes over where a string is more
// than what statements of a program mostly are.
func AppendString(dst []byte, text string) []byte {
	at := len(dst)
	dst = append(dst, '"')
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ' || c >= 0x7f:
			quoted, _ := json.Marshal(text) // strings can always be written
			return append(dst[:at], quoted...)
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '<' || c == '>' || c == '&':
			dst = append(append(dst, `\u00`...), "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}
