package trace

import (
	"encoding/json"
	"math"
	"strconv"
)

// AppendEventJSON appends event i of a batch as a JSON object:
//
//	{"time":1000,"node":0,"stream":1,"event":"CFEvents.onStarted",
//	 "fields":{"cf":"0.1","execution":1,"inputs":[{"df":3,"name":"a[2]"}]}}
//
// without a line break. Times are nanoseconds; a CF, message or request is a string
// "node.counter", null for none; a DF is its number in the node's file and its name
// with indices, null for none; a site has "site", its number, and "code", "label",
// "at" (file:line:column) and "text" as far as they are known. A float that is no
// number, or infinite, is a string. An event whose kind is not defined has "kind", its
// number, instead of "event", and its words as "fields".
func AppendEventJSON(line []byte, d *Defs, b *Batch, i int) []byte {
	spec := d.Kind(b.Kind[i])
	args := b.Args(i)
	line = strconv.AppendInt(append(line, `{"time":`...), b.Time[i], 10)
	line = strconv.AppendInt(append(line, `,"node":`...), int64(b.Node), 10)
	line = strconv.AppendInt(append(line, `,"stream":`...), int64(b.Stream), 10)
	if spec == nil {
		line = strconv.AppendInt(append(line, `,"kind":`...), int64(b.Kind[i]), 10)
		line = append(line, `,"fields":[`...)
		for j, v := range args {
			line = strconv.AppendInt(comma(line, j), int64(v), 10)
		}
		return append(line, "]}"...)
	}
	line = append(append(append(append(line, `,"event":"`...), spec.Namespace...), '.'), spec.Name...)
	line = append(line, `","fields":{`...)
	for f := range spec.Fields {
		fd := &spec.Fields[f]
		line = append(append(append(comma(line, f), '"'), fd.Name...), `":`...)
		if !fd.Type.List() {
			line = appendJSON(line, d, fd.Type, args[f])
			continue
		}
		element := FieldInt
		if fd.Type == FieldDFs {
			element = FieldDF
		}
		line = append(line, '[')
		for j, v := range args[f+1:] {
			line = appendJSON(comma(line, j), d, element, v)
		}
		line = append(line, ']')
	}
	return append(line, "}}"...)
}

// comma separates element i from the one before it.
func comma(line []byte, i int) []byte {
	if i > 0 {
		line = append(line, ',')
	}
	return line
}

func appendJSON(line []byte, d *Defs, t FieldType, v uint64) []byte {
	switch t {
	case FieldCF, FieldMessage, FieldDF, FieldSite:
		if v == 0 {
			return append(line, "null"...)
		}
	}
	switch t {
	case FieldCF, FieldMessage:
		return append(append(append(line, '"'), CF(v).String()...), '"')
	case FieldDF:
		line = strconv.AppendUint(append(line, `{"df":`...), v, 10)
		if name, ok := d.DFName(DF(v)); ok {
			line = appendJSONString(append(line, `,"name":`...), name)
		}
		return append(line, '}')
	case FieldSite:
		return appendJSONSite(line, d, Site(v))
	case FieldFloat:
		f := math.Float64frombits(v)
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return append(strconv.AppendFloat(append(line, '"'), f, 'g', -1, 64), '"')
		}
		return strconv.AppendFloat(line, f, 'g', -1, 64)
	case FieldName:
		return appendJSONString(line, d.Name(Name(v)))
	case FieldReason:
		return append(append(append(line, '"'), Reason(v).String()...), '"')
	case FieldInt, FieldNS, FieldBytes:
		return strconv.AppendInt(line, int64(v), 10)
	}
	return strconv.AppendUint(line, v, 10)
}

func appendJSONSite(line []byte, d *Defs, number Site) []byte {
	line = strconv.AppendUint(append(line, `{"site":`...), uint64(number), 10)
	s, ok := d.Site(number)
	if !ok {
		return append(line, '}')
	}
	if c, ok := d.Code(s.Code); ok {
		line = appendJSONString(append(line, `,"code":`...), d.Name(c.Name))
	}
	if s.Label != 0 {
		line = appendJSONString(append(line, `,"label":`...), d.Name(s.Label))
	}
	if s.File != 0 {
		at := d.Name(s.File) + ":" + strconv.Itoa(s.Line)
		if s.Col != 0 {
			at += ":" + strconv.Itoa(s.Col)
		}
		line = appendJSONString(append(line, `,"at":`...), at)
	}
	if s.Text != 0 {
		line = appendJSONString(append(line, `,"text":`...), d.Name(s.Text))
	}
	return append(line, '}')
}

func appendJSONString(line []byte, s string) []byte {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings can always be written
	}
	return append(line, text...)
}
