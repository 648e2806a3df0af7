//go:build !no_logger_module || !no_df_events_module || !no_cf_events_module || !no_global_events_module

package modules

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// messageEvent stands where the name of an event is in a line that is a message of a module.
const messageEvent = "Log"

// appendSeconds appends nanoseconds as seconds with nine decimals.
func appendSeconds(dst []byte, ns int64) []byte {
	if ns < 0 {
		dst, ns = append(dst, '-'), -ns
	}
	dst = append(strconv.AppendInt(dst, ns/1e9, 10), '.')
	at := len(dst)
	dst = append(dst, "000000000"...)
	for i, rest := at+8, ns%1e9; rest > 0; i, rest = i-1, rest/10 {
		dst[i] = '0' + byte(rest%10)
	}
	return dst
}

func appendTitle(dst []byte, spec *trace.KindSpec) []byte {
	return append(append(append(dst, spec.Namespace...), '.'), spec.Name...)
}

// appendValue appends a field as people read it, quoted as in Go where it would not be one word.
func appendValue(dst []byte, a *prof.Any, i int) []byte {
	at := len(dst)
	dst = a.AppendField(dst, i)
	switch t := a.Spec.Fields[i].Type; {
	case t != trace.FieldName && t != trace.FieldSite && t != trace.FieldDF:
	case len(dst) == at || bytes.ContainsFunc(dst[at:], func(r rune) bool {
		return r <= ' ' || r == '"' ||
			!strconv.IsPrint(r)
	}):
		dst = strconv.AppendQuote(dst[:at], string(dst[at:]))
	}
	return dst
}

// textFormat is for people: seconds, node, worker or stream, event, fields.
type textFormat struct{}

func (textFormat) header(dst []byte) []byte { return dst }

func (textFormat) event(dst []byte, l *eventLog, s *prof.Stream, a *prof.Any) []byte {
	dst = appendTitle(appendPlace(dst, l, s, a.Time), a.Spec)
	for i := range a.Spec.Fields {
		dst = append(append(append(dst, ' '), a.Spec.Fields[i].Name...), '=')
		dst = appendValue(dst, a, i)
	}
	return append(dst, '\n')
}

func (textFormat) message(dst []byte, l *eventLog, s *prof.Stream, t int64, text string) []byte {
	dst = append(append(appendPlace(dst, l, s, t), messageEvent...), ' ')
	return append(append(dst, strings.ReplaceAll(text, "\n", "\\n")...), '\n')
}

// appendPlace appends when and where: "0.000012345 n0 w1 "; streams beyond the workers are "s2".
func appendPlace(dst []byte, l *eventLog, s *prof.Stream, t int64) []byte {
	dst = appendSeconds(dst, t-l.start)
	dst = strconv.AppendInt(append(dst, " n"...), int64(s.Node()), 10)
	if s.ID() < l.workers {
		dst = append(dst, " w"...)
	} else {
		dst = append(dst, " s"...)
	}
	return append(strconv.AppendInt(dst, int64(s.ID()), 10), ' ')
}

// csvFormat is for tables. What events of most kinds have is in columns of its own, filled
// from the first field of that type; all other fields are in the last column.
type csvFormat struct{}

// csvColumns are the columns that are filled by type.
var csvColumns = [...]trace.FieldType{trace.FieldCF, trace.FieldDF, trace.FieldSite, trace.FieldBytes}

func (csvFormat) header(dst []byte) []byte {
	return append(dst, "time,node,stream,event,cf,df,code,bytes,fields\n"...)
}

func (csvFormat) event(dst []byte, l *eventLog, s *prof.Stream, a *prof.Any) []byte {
	dst = appendTitle(appendCSVPlace(dst, l, s, a.Time), a.Spec)
	inColumn := 0 // bits of the fields that have one
	for _, t := range csvColumns {
		dst = append(dst, ',')
		for i := range a.Spec.Fields {
			if a.Spec.Fields[i].Type != t {
				continue
			}
			inColumn |= 1 << i
			if empty := t != trace.FieldBytes && a.Words[i] == 0; !empty {
				at := len(dst)
				dst = quoteCSV(a.AppendField(dst, i), at)
			}
			break
		}
	}
	dst = append(dst, ',')
	at := len(dst)
	for i := range a.Spec.Fields {
		if inColumn&(1<<i) != 0 {
			continue
		}
		if len(dst) > at {
			dst = append(dst, ' ')
		}
		dst = append(append(dst, a.Spec.Fields[i].Name...), '=')
		dst = appendValue(dst, a, i)
	}
	return append(quoteCSV(dst, at), '\n')
}

func (csvFormat) message(dst []byte, l *eventLog, s *prof.Stream, t int64, text string) []byte {
	dst = append(append(appendCSVPlace(dst, l, s, t), messageEvent...), ",,,,,"...)
	at := len(dst)
	return append(quoteCSV(append(dst, text...), at), '\n')
}

func appendCSVPlace(dst []byte, l *eventLog, s *prof.Stream, t int64) []byte {
	dst = append(appendSeconds(dst, t-l.start), ',')
	dst = append(strconv.AppendInt(dst, int64(s.Node()), 10), ',')
	return append(strconv.AppendInt(dst, int64(s.ID()), 10), ',')
}

// quoteCSV quotes the value that begins at, if it must be.
func quoteCSV(dst []byte, at int) []byte {
	if !bytes.ContainsAny(dst[at:], ",\"\r\n") {
		return dst
	}
	value := strings.ReplaceAll(string(dst[at:]), `"`, `""`)
	return append(append(append(dst[:at], '"'), value...), '"')
}

// jsonFormat is for programs: what whyslow dump --json prints, see trace.AppendEventJSON.
type jsonFormat struct{}

func (jsonFormat) header(dst []byte) []byte { return dst }

func (jsonFormat) event(dst []byte, _ *eventLog, s *prof.Stream, a *prof.Any) []byte {
	dst = appendTitle(appendJSONPlace(dst, s, a.Time), a.Spec)
	dst = append(dst, `","fields":{`...)
	for i := range a.Spec.Fields {
		f := &a.Spec.Fields[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, '"'), f.Name...), `":`...)
		if !f.Type.List() {
			dst = appendJSON(dst, s, a, f.Type, i)
			continue
		}
		dst = append(dst, '[')
		for k, w := range a.List() {
			if k > 0 {
				dst = append(dst, ',')
			}
			if f.Type == trace.FieldDFs {
				dst = appendJSONDF(dst, s, trace.DF(w))
			} else {
				dst = strconv.AppendInt(dst, int64(w), 10)
			}
		}
		dst = append(dst, ']')
	}
	return append(dst, "}}\n"...)
}

func (jsonFormat) message(dst []byte, _ *eventLog, s *prof.Stream, t int64, text string) []byte {
	dst = append(append(appendJSONPlace(dst, s, t), messageEvent...), `","fields":{"text":`...)
	return append(appendJSONString(dst, text), "}}\n"...)
}

// appendJSONPlace appends the beginning, up to the name of the event.
func appendJSONPlace(dst []byte, s *prof.Stream, t int64) []byte {
	dst = strconv.AppendInt(append(dst, `{"time":`...), t, 10)
	dst = strconv.AppendInt(append(dst, `,"node":`...), int64(s.Node()), 10)
	dst = strconv.AppendInt(append(dst, `,"stream":`...), int64(s.ID()), 10)
	return append(dst, `,"event":"`...)
}

func appendJSON(dst []byte, s *prof.Stream, a *prof.Any, t trace.FieldType, i int) []byte {
	w := a.Words[i]
	switch t {
	case trace.FieldName:
		return appendJSONString(dst, a.Text(i))
	case trace.FieldDF:
		return appendJSONDF(dst, s, trace.DF(w))
	case trace.FieldSite:
		return appendJSONSite(dst, s, trace.Site(w))
	case trace.FieldFloat:
		if f := math.Float64frombits(w); !math.IsNaN(f) && !math.IsInf(f, 0) {
			return strconv.AppendFloat(dst, f, 'g', -1, 64)
		}
	case trace.FieldCF, trace.FieldMessage:
		if w == 0 {
			return append(dst, "null"...)
		}
	case trace.FieldReason:
	default:
		return a.AppendField(dst, i)
	}
	return append(a.AppendField(append(dst, '"'), i), '"')
}

func appendJSONDF(dst []byte, s *prof.Stream, df trace.DF) []byte {
	if df == 0 {
		return append(dst, "null"...)
	}
	dst = strconv.AppendUint(append(dst, `{"df":`...), uint64(df), 10)
	if name, identity := s.Session().Describe().DF(s.Node(), df); len(identity) >= 2 {
		dst = appendJSONString(append(dst, `,"name":`...), name)
		dst = dst[:len(dst)-1]
		for _, x := range identity[2:] {
			dst = append(strconv.AppendInt(append(dst, '['), x, 10), ']')
		}
		dst = append(dst, '"')
	}
	return append(dst, '}')
}

func appendJSONSite(dst []byte, s *prof.Stream, number trace.Site) []byte {
	if number == 0 {
		return append(dst, "null"...)
	}
	d := s.Session().Describe().Site(s.Node(), number)
	dst = strconv.AppendUint(append(dst, `{"site":`...), uint64(number), 10)
	dst = appendJSONString(append(dst, `,"code":`...), d.Code)
	if d.Label != "" {
		dst = appendJSONString(append(dst, `,"label":`...), d.Label)
	}
	if d.File != "" {
		dst = appendJSONString(append(dst, `,"at":`...), d.File)
		dst = strconv.AppendInt(append(dst[:len(dst)-1], ':'), int64(d.Line), 10)
		if d.Col != 0 {
			dst = strconv.AppendInt(append(dst, ':'), int64(d.Col), 10)
		}
		dst = append(dst, '"')
	}
	if d.Text != "" {
		dst = appendJSONString(append(dst, `,"text":`...), d.Text)
	}
	return append(dst, '}')
}

// appendJSONString appends a string in quotes, as encoding/json does, which takes over where a string is more
// than what statements of a program mostly are.
func appendJSONString(dst []byte, text string) []byte {
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
