package modules

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/tracefile/eventjson"
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
		return r <= ' ' || r == '"' || !strconv.IsPrint(r)
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

// csvFormat is for tables: types that most kinds have get a column of their own, the other fields share the
// last.
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

// jsonFormat is for programs: what whyslow dump --json prints, see eventjson.Append.
type jsonFormat struct{}

func (jsonFormat) header(dst []byte) []byte { return dst }

func (jsonFormat) event(dst []byte, _ *eventLog, s *prof.Stream, a *prof.Any) []byte {
	return append(eventjson.AppendFields(dst, a.Time, s.Node(), s.ID(), a.Spec, a.Words, (*jsonNames)(a)), '\n')
}

func (jsonFormat) message(dst []byte, _ *eventLog, s *prof.Stream, t int64, text string) []byte {
	quoted, _ := json.Marshal(text) // strings can always be written
	return fmt.Appendf(dst, `{"time":%d,"node":%d,"stream":%d,"event":"`+messageEvent+`","fields":{"text":%s}}`+
		"\n", t, s.Node(), s.ID(), quoted)
}

// jsonNames are the names that the session knows.
type jsonNames prof.Any

func (n *jsonNames) stream() *prof.Stream { return (*prof.Any)(n).Stream() }

func (n *jsonNames) Text(field int, _ trace.Name) string { return (*prof.Any)(n).Text(field) }

func (n *jsonNames) DF(df trace.DF) (name string, identity []int64, known bool) {
	name, identity = n.stream().Session().Describe().DF(n.stream().Node(), df)
	return name, identity, len(identity) >= 2
}

func (n *jsonNames) Site(s trace.Site) eventjson.SiteText {
	return eventjson.SiteText(n.stream().Session().Describe().Site(n.stream().Node(), s))
}
