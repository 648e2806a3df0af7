// Package traceevents reads traces in the Trace Event Format: the JSON of chrome://tracing, Perfetto, PyTorch,
// Dask, Ray, Bazel, Ninja and many others.
//
// # What becomes what
//
// A thread is one of package tracks. "X", or "B" and "E", are slices; "s", "t", "f", and "bind_id" are flows.
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
}

func read(ctx context.Context, in io.Reader, to *foreign.Run) error {
	d := json.NewDecoder(in)
	f := &file{tracks.New()}
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
	return cmp.Or(f.Write(to), err)
}

// file is what was read.
type file struct{ *tracks.File }

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
	for n := 0; d.More(); n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var r *record
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

// event takes an event in.
func (f *file) event(r *record) error {
	switch r.Ph {
	case "X", "B", "E", "s", "t", "f":
	default:
		return nil
	}
	at, err := nanoseconds(r.Ts)
	if err != nil {
		return err
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
