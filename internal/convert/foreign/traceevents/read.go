// Package traceevents reads traces in the Trace Event Format: the JSON of chrome://tracing, Perfetto, PyTorch,
// Dask, Ray, Bazel, Ninja and many others.
//
// # What becomes what
//
// A thread is one of package tracks. "X", or "B" and "E", are slices; "s", "t", "f", and "bind_id" are flows; "C"
// are counters. "b" and "e", or of old "S" and "F", are asynchronous slices. All else is counted and left out.
package traceevents

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

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

// record is an event of the file.
type record struct {
	Ph      string          `json:"ph"`
	Name    string          `json:"name"`
	Ts      json.Number     `json:"ts"`  // microseconds
	Dur     json.Number     `json:"dur"` // likewise
	PID     json.RawMessage `json:"pid"` // a number or a text, like the other ids
	TID     json.RawMessage `json:"tid"`
	ID      json.RawMessage `json:"id"`
	BindID  json.RawMessage `json:"bind_id"`
	FlowIn  bool            `json:"flow_in"`
	FlowOut bool            `json:"flow_out"`
	Bp      string          `json:"bp"`
	Cat     string          `json:"cat"`
	Scope   string          `json:"scope"`
	ID2     json.RawMessage `json:"id2"`
	Args    json.RawMessage `json:"args"`
}

// reset makes it an empty one that keeps its room.
func (r *record) reset() {
	*r = record{PID: r.PID[:0], TID: r.TID[:0], ID: r.ID[:0], BindID: r.BindID[:0], ID2: r.ID2[:0],
		Args: r.Args[:0]}
}

func read(ctx context.Context, in io.Reader, to *foreign.Run) error {
	d := json.NewDecoder(in)
	f := &file{File: tracks.New(to), to: to, counters: map[string]string{}}
	err := f.events(ctx, d)
	var told *foreign.Error
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		err = &foreign.Error{Offset: d.InputOffset(), Msg: "the file ends within the list of events"}
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
}

// events reads the list of events: the whole file, which may lack its end, or a member of an object.
func (f *file) events(ctx context.Context, d *json.Decoder) error {
	first, err := d.Token()
	if err != nil {
		return err
	}
	bare := first == json.Delim('[')
	if !bare {
		for {
			name, err := d.Token()
			if err != nil {
				return err
			}
			if name == json.Delim('}') {
				return nil
			}
			if name == "traceEvents" {
				break
			}
			var skipped json.RawMessage
			if err := d.Decode(&skipped); err != nil {
				return err
			}
		}
		if begin, err := d.Token(); err != nil {
			return err
		} else if begin != json.Delim('[') {
			return errors.New("traceEvents is no list")
		}
	}
	next := &record{}
	for n := 0; d.More(); n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		next.reset()
		r := next // null makes it nil
		at := d.InputOffset()
		switch err := d.Decode(&r); {
		case bare && errors.Is(err, io.EOF):
			return nil // the format allows that
		case err != nil:
			return err
		case r == nil:
			continue
		}
		if err := f.event(r); err != nil {
			return &foreign.Error{Offset: at, Msg: err.Error()}
		}
	}
	_, err = d.Token()
	if bare && errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// nanoseconds reads microseconds. Floating point has too few digits for those since 1970.
func nanoseconds(n json.Number) (int64, error) {
	text := n.String()
	whole, part, _ := strings.Cut(text, ".")
	us, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || strings.ContainsAny(part, "eE") {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || math.Abs(f) > math.MaxInt64/2000 {
			return 0, fmt.Errorf("%q is no time in microseconds", text)
		}
		return int64(math.Round(f * 1000)), nil
	}
	if us > math.MaxInt64/2000 || us < math.MinInt64/2000 {
		return 0, fmt.Errorf("%q is no time in microseconds", text)
	}
	ns, err := strconv.ParseInt((part + "000")[:3], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no time in microseconds", text)
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
	switch r.Ph {
	case "X", "B", "E", "s", "t", "f", "C", "b", "e", "S", "F":
	default:
		f.to.Skip(cmp.Or(left[r.Ph], "others"))
		return nil
	}
	at, err := nanoseconds(r.Ts)
	if err != nil {
		return err
	}
	switch r.Ph {
	case "C":
		return f.counter(r, at)
	case "b", "S":
		return f.AsyncBegin(r.async(), r.Name, at)
	case "e", "F":
		return f.AsyncEnd(r.async(), at)
	}
	t, err := f.Thread(string(r.PID) + "/" + string(r.TID))
	if err != nil {
		return err
	}
	end := func(at int64, inside bool) tracks.End { return tracks.End{Thread: t, At: at, Inside: inside} }
	switch r.Ph {
	case "X":
		dur := int64(0)
		if r.Dur != "" {
			if dur, err = nanoseconds(r.Dur); err != nil {
				return err
			}
		}
		to := at + max(dur, 0)
		if len(r.BindID) > 0 {
			if r.FlowIn {
				f.Enters(r.BindID, end(at, true))
			}
			if r.FlowOut {
				f.Leaves(r.BindID, r.Name, end(to, true))
			}
		}
		return f.Add(t, at, to, r.Name)
	case "B":
		return f.Begin(t, at, r.Name)
	case "E":
		return f.End(t, at)
	case "s":
		f.Leaves(r.ID, r.Name, end(at, true))
	case "t":
		f.Enters(r.ID, end(at, true))
	case "f":
		f.Enters(r.ID, end(at, r.Bp == "e"))
	}
	return nil
}

// async is what the ends of an asynchronous slice, and of those inside of it, have in common.
func (r *record) async() string {
	id, process := r.ID, ""
	if len(id) == 0 {
		id = r.ID2
	}
	if bytes.Contains(r.ID2, []byte(`"local"`)) {
		process = string(r.PID)
	}
	key := string(id) + process + " " + r.Cat + " " + r.Scope
	if r.Ph == "S" || r.Ph == "F" { // these are not nested
		key += " " + r.Name
	}
	return key
}

// counter takes in the values of a counter: a number for each of its series.
func (f *file) counter(r *record, at int64) error {
	var args map[string]json.RawMessage
	if len(r.Args) > 0 && json.Unmarshal(r.Args, &args) != nil {
		args = nil
	}
	name := cmp.Or(r.Name, "counter")
	if len(r.ID) > 0 {
		name += " " + strings.Trim(string(r.ID), `"`)
	}
	if first, ok := f.counters[name]; !ok {
		f.counters[name] = string(r.PID)
	} else if first != string(r.PID) {
		name += " of process " + strings.Trim(string(r.PID), `"`)
	}
	some := false
	for series, text := range args {
		v, err := strconv.ParseFloat(strings.Trim(string(text), `"`), 64)
		if err != nil {
			continue
		}
		if some = true; series != "value" || len(args) > 1 {
			series = name + "." + series
		} else {
			series = name
		}
		if err := f.Counter(series, at, v); err != nil {
			return err
		}
	}
	if !some {
		f.to.Skip("counters")
	}
	return nil
}
