// Package traceevents reads traces in the Trace Event Format: the JSON of chrome://tracing, Perfetto,
// PyTorch, Dask, Ray, Bazel, Ninja and many others.
//
// # What becomes what
//
// A thread is one of package tracks. "X", or "B" and "E", are slices; "s", "t", "f", and "bind_id" are flows;
// "C" are counters. "b" and "e", or of old "S" and "F", are asynchronous slices. All else is counted and left
// out.
package traceevents

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/whyslow/whyslow/internal/convert/foreign"
	"github.com/whyslow/whyslow/internal/convert/foreign/tracks"
)

// Format is the Trace Event Format.
var Format = foreign.Format{Name: "chrome", Is: is, Read: read}

func is(head []byte) bool {
	head = bytes.TrimLeft(head, "\ufeff \t\r\n")
	switch {
	case bytes.HasPrefix(head, []byte("{")):
		return bytes.Contains(head, []byte(`"traceEvents"`))
	case bytes.HasPrefix(head, []byte("[")):
		return bytes.Contains(head, []byte(`"ph"`)) && bytes.Contains(head, []byte("{"))
	}
	return false
}

// The members of an event that are read.
const (
	ph = iota
	name
	ts  // in microseconds
	dur // likewise
	pid // a number or a text, like the other ids
	tid
	id
	bindID
	flowIn
	flowOut
	bp
	cat
	scope
	id2
	args
	members
)

var memberOf = map[string]int{"ph": ph, "name": name, "ts": ts, "dur": dur, "pid": pid, "tid": tid, "id": id,
	"bind_id": bindID, "flow_in": flowIn, "flow_out": flowOut, "bp": bp, "cat": cat, "scope": scope, "id2": id2,
	"args": args}

// record is an event of the file: the values of its members, as they stand there. Those it does not have are
// empty, and so are those that are null.
type record [members][]byte

// read reads an event whose brace was read.
func (r *record) read(d *jsontext.Decoder) error {
	for i := range r {
		r[i] = r[i][:0] // it keeps its room
	}
	var room [32]byte
	for d.PeekKind() != '}' {
		key, err := d.ReadValue()
		if err != nil {
			return err
		}
		key, _ = jsontext.AppendUnquote(room[:0], key)
		member, ok := memberOf[string(key)]
		if !ok || member == args && len(r[ph]) > 0 && string(r[ph]) != `"C"` {
			if err := d.SkipValue(); err != nil {
				return err
			}
			continue
		}
		v, err := d.ReadValue()
		if err != nil {
			return err
		}
		switch kind := v.Kind(); {
		case kind == 'n':
			v = v[:0]
		case (member == ph || member == name || member == bp || member == cat || member == scope) && kind != '"':
			return fmt.Errorf("%q is no text", key)
		case (member == ts || member == dur) && kind != '0' && kind != '"':
			return fmt.Errorf("%q is not a time in microseconds", v)
		}
		r[member] = append(r[member][:0], v...)
	}
	_, err := d.ReadToken()
	return err
}

// text gives a member that is a text.
func (r *record) text(member int) string {
	var room [64]byte
	text, _ := jsontext.AppendUnquote(room[:0], r[member]) // what it has is a valid text, or none
	return string(text)
}

// decoder reads JSON and is not strict: others are not either.
func decoder(in io.Reader) *jsontext.Decoder {
	return jsontext.NewDecoder(in, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

func read(ctx context.Context, in io.Reader, to *foreign.Run) error {
	d := decoder(in)
	f := &file{File: tracks.New(to), to: to, counters: map[string]string{}}
	err := f.events(ctx, d)
	var told *foreign.Error
	var syntax *jsontext.SyntacticError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		err = &foreign.Error{Offset: d.InputOffset(), Msg: "the file ends within the list of events"}
	case errors.As(err, &syntax):
		err = &foreign.Error{Offset: syntax.ByteOffset, Msg: syntax.Err.Error()}
	case err != nil && !errors.As(err, &told):
		err = &foreign.Error{Offset: d.InputOffset(), Msg: err.Error()}
	case err == nil && f.Empty():
		err = &foreign.Error{Offset: d.InputOffset(), Msg: "there are no slices in it"}
	}
	return cmp.Or(f.Write(), err)
}

// file is what was read.
type file struct {
	*tracks.File
	to       *foreign.Run
	counters map[string]string // by name: the process that had it first
	series   []series
}

// events reads the list of events: the whole file, which may lack its end, or a member of an object.
func (f *file) events(ctx context.Context, d *jsontext.Decoder) error {
	first, err := d.ReadToken()
	if err != nil {
		return err
	}
	bare := first.Kind() == '['
	if !bare {
		for {
			name, err := d.ReadToken()
			if err != nil || name.Kind() == '}' {
				return err
			}
			if name.String() == "traceEvents" {
				break
			}
			if err := d.SkipValue(); err != nil {
				return err
			}
		}
		if begin, err := d.ReadToken(); err != nil {
			return err
		} else if begin.Kind() != '[' {
			return errors.New("traceEvents is no list")
		}
	}
	var r record
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		begin, err := d.ReadToken()
		switch {
		case bare && errors.Is(err, io.ErrUnexpectedEOF):
			return nil // the format allows that
		case err != nil:
			return err
		}
		switch begin.Kind() {
		case ']':
			return nil
		case 'n':
			continue
		case '{':
		default:
			return errors.New("an event is no object")
		}
		at := d.InputOffset() - 1
		if err := r.read(d); err != nil {
			return err
		}
		if err := f.event(&r); err != nil {
			return &foreign.Error{Offset: at, Msg: err.Error()}
		}
	}
}

// nanoseconds reads microseconds. Floating point has too few digits for those since 1970.
func nanoseconds(number []byte) (int64, error) {
	text := string(bytes.Trim(number, `"`))
	whole, part, _ := strings.Cut(text, ".")
	us, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || strings.ContainsAny(part, "eE") {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || math.Abs(f) > math.MaxInt64/2000 {
			return 0, fmt.Errorf("%q is not a time in microseconds", text)
		}
		return int64(math.Round(f * 1000)), nil
	}
	if us > math.MaxInt64/2000 || us < math.MinInt64/2000 {
		return 0, fmt.Errorf("%q is not a time in microseconds", text)
	}
	ns, err := strconv.ParseInt((part + "000")[:3], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a time in microseconds", text)
	}
	if strings.HasPrefix(whole, "-") {
		ns = -ns
	}
	return us*1000 + ns, nil
}

// left says what becomes of events that are not read, by words.NotRead.
var left = map[string]string{"i": "instants", "I": "instants", "R": "instants", "n": "instants", "T": "steps",
	"p": "steps", "M": "names", "P": "samples", "N": "objects", "O": "objects", "D": "objects", "v": "objects",
	"V": "objects"}

// event takes an event in.
func (f *file) event(r *record) error {
	phase := r.text(ph)
	switch phase {
	case "X", "B", "E", "s", "t", "f", "C", "b", "e", "S", "F":
	default:
		f.to.Skip(cmp.Or(left[phase], "others"))
		return nil
	}
	at, err := nanoseconds(r[ts])
	if err != nil {
		return err
	}
	switch phase {
	case "C":
		return f.counter(r, at)
	case "b":
		return f.AsyncBegin(r.async(true), r.text(name), at)
	case "S":
		return f.AsyncBegin(r.async(false), r.text(name), at)
	case "e":
		return f.AsyncEnd(r.async(true), at)
	case "F":
		return f.AsyncEnd(r.async(false), at)
	}
	t, err := f.Thread(string(r[pid]) + "/" + string(r[tid]))
	if err != nil {
		return err
	}
	end := func(at int64, inside bool) tracks.End { return tracks.End{Thread: t, At: at, Inside: inside} }
	switch phase {
	case "X":
		lasts := int64(0)
		if len(r[dur]) > 0 {
			if lasts, err = nanoseconds(r[dur]); err != nil {
				return err
			}
		}
		to, name := at+max(lasts, 0), r.text(name)
		if len(r[bindID]) > 0 {
			if string(r[flowIn]) == "true" {
				f.Enters(r[bindID], end(at, true))
			}
			if string(r[flowOut]) == "true" {
				f.Leaves(r[bindID], name, end(to, true))
			}
		}
		return f.Add(t, at, to, name)
	case "B":
		return f.Begin(t, at, r.text(name))
	case "E":
		return f.End(t, at)
	case "s":
		f.Leaves(r[id], r.text(name), end(at, true))
	case "t":
		f.Enters(r[id], end(at, true))
	case "f":
		f.Enters(r[id], end(at, string(r[bp]) == `"e"`))
	}
	return nil
}

// async is what the ends of an asynchronous slice, and of those inside of it, have in common. Of old there
// were none inside.
func (r *record) async(nested bool) string {
	key, process := r[id], ""
	if len(key) == 0 {
		key = r[id2]
	}
	if bytes.Contains(r[id2], []byte(`"local"`)) {
		process = string(r[pid])
	}
	text := string(key) + process + " " + r.text(cat) + " " + r.text(scope)
	if !nested {
		text += " " + r.text(name)
	}
	return text
}

// series is a value of a counter.
type series struct {
	name  string
	value string
}

// readSeries reads the values of a counter, if args has some.
func readSeries(list []series, args []byte) []series {
	list = list[:0]
	if len(args) == 0 || args[0] != '{' {
		return list
	}
	d := decoder(bytes.NewReader(args))
	_, err := d.ReadToken()
	for err == nil && d.PeekKind() == '"' {
		var key jsontext.Token
		var v jsontext.Value
		if key, err = d.ReadToken(); err == nil {
			name := key.String()
			if v, err = d.ReadValue(); err == nil {
				list = append(list, series{name, strings.Trim(string(v), `"`)})
			}
		}
	}
	return list
}

// counter takes in the values of a counter: a number for each of its series.
func (f *file) counter(r *record, at int64) error {
	f.series = readSeries(f.series, r[args])
	of := cmp.Or(r.text(name), "counter")
	if len(r[id]) > 0 {
		of += " " + strings.Trim(string(r[id]), `"`)
	}
	if first, ok := f.counters[of]; !ok {
		f.counters[of] = string(r[pid])
	} else if first != string(r[pid]) {
		of += " of process " + strings.Trim(string(r[pid]), `"`)
	}
	some := false
	for _, x := range f.series {
		v, err := strconv.ParseFloat(x.value, 64)
		if err != nil {
			continue
		}
		some = true
		as := of
		if x.name != "value" || len(f.series) > 1 {
			as += "." + x.name
		}
		if err := f.Counter(as, at, v); err != nil {
			return err
		}
	}
	if !some {
		f.to.Skip("counters")
	}
	return nil
}
