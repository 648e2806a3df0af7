// Package traceevents reads traces in the Trace Event Format: the JSON of chrome://tracing, Perfetto, PyTorch,
// Dask, Ray, Bazel, Ninja and many others.
//
// # What becomes what
//
// A thread is a worker of node 0. A slice ("X", or "B" and "E") that is in no other is a task: a CF, whose code
// fragment has the name of the slice. A flow ("s", "t", "f", or "bind_id") is a DF that leads from a task to one
// that starts later. A task ends where a flow leaves it and goes on as another CF, so that the rest is no
// reason for the wait of others (tasks.go).
//
// A slice inside of another is a region of the thread.
//
// The format does not say why a task without flows starts when it does. Such a task has an input "not told",
// which nobody made: its worker starves until then.
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

// mostSlices is how many slices are read: all must be in memory, because they come in any order.
const mostSlices = 1 << 26

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
	f := newFile()
	err := f.events(ctx, d)
	var told *foreign.Error
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		err = &foreign.Error{Offset: d.InputOffset(), Msg: "the file ends within the list of events"}
	case err != nil && !errors.As(err, &told):
		err = &foreign.Error{Offset: d.InputOffset(), Msg: err.Error()}
	case err == nil && f.slices == 0:
		err = &foreign.Error{Offset: d.InputOffset(), Msg: "there are no slices in it"}
	}
	return cmp.Or(f.write(to), err)
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
