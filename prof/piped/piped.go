// Package piped makes a Go program a profiling module: whyslow starts it as a process, writes events to its
// standard input, and reads what it prints. Neither whyslow nor the program that is profiled is built again.
//
//	func main() {
//		piped.Serve(piped.Module{Name: "my_module", Events: []string{"CFEvents.onStarted"}, Event: count})
//	}
//
// Both directions are lines of JSON; docs/extending.md describes them for other languages. Events come in
// order of time, later than they happen. A module in a process cannot emit events of its own, ask other
// modules or move work; for these, link it into a whyslow (prof.RegisterModule) or write a shared library.
package piped

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"sync"

	"github.com/whyslow/whyslow/prof"
)

// Version is that of the lines between whyslow and a module.
const Version = 1

// Variable is the variable of the environment that whyslow sets, to Version, in a module's process.
const Variable = "WHYSLOW_MODULE"

// Module is what a program tells of itself, and what it does with events. All functions are called one after
// the other, in one goroutine. An error ends the module's work: whyslow prints it, and the run goes on.
type Module struct {
	Name   string       // letters, digits and _, as that of the program's file
	Doc    string       // one line: what it does
	Output string       // one line: what it writes and where
	Cost   string       // one line: what it costs
	Events []string     // what it gets: "CFEvents.onStarted", "DFEvents.*", "*"
	Params []prof.Param // what users can set; one called file says where Host.Print goes, as for all modules
	Start  func(h *Host) error
	Event  func(h *Host, e *Event) error
	Finish func(h *Host) error // after the last event
}

// Run tells about the run.
type Run struct {
	Program   string   `json:"program"`
	Args      []string `json:"args"`
	Nodes     int      `json:"nodes"`   // of the process of whyslow that started this one
	Node      int      `json:"node"`    // number of the first of them
	Workers   int      `json:"workers"` // of each node; streams from this number on are the run-time system's
	Processes int      `json:"processes"`
	StartNS   int64    `json:"start_ns"` // on the clock of events
}

// Host is whyslow, as a module sees it.
type Host struct {
	Run    Run
	params map[string]any
	mu     sync.Mutex
	out    *bufio.Writer
}

// Param is the value of a parameter, of the type of its default: string, int, float64, bool or []string. It
// is nil if the module has none of that name.
func (h *Host) Param(name string) any { return h.params[name] }

// Print writes text where the parameter file says, or on the terminal.
func (h *Host) Print(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); text != "" {
		_ = h.tell(Reply{Print: text}) // if whyslow is gone, the next read tells
	}
}

func (h *Host) tell(what any) error {
	line, err := json.Marshal(what)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, err = h.out.Write(append(line, '\n')); err != nil {
		return err
	}
	return h.out.Flush()
}

// Event is an event.
type Event struct {
	Time   int64                      `json:"time"` // ns, on the clock of Run.StartNS
	Node   int                        `json:"node"`
	Stream int                        `json:"stream"` // the worker
	Name   string                     `json:"event"`  // "CFEvents.onStarted"
	Fields map[string]json.RawMessage `json:"fields"`
}

// Int is a field of numbers; 0 if the event has no such field.
func (e *Event) Int(field string) int64 { return number[int64](e, field) }

// Float is a field of numbers; 0 if the event has no such field.
func (e *Event) Float(field string) float64 {
	var text string
	if json.Unmarshal(e.Fields[field], &text) == nil {
		switch text {
		case "+Inf":
			return math.Inf(1)
		case "-Inf":
			return math.Inf(-1)
		case "NaN":
			return math.NaN()
		}
	}
	return number[float64](e, field)
}

func number[T int64 | float64](e *Event, field string) (n T) {
	_ = json.Unmarshal(e.Fields[field], &n) // else 0
	return n
}

// String is a field as people read it: a statement's code fragment, a DF with its indices, a CF as
// node.number; "" if the event has no such field.
func (e *Event) String(field string) string {
	raw := e.Fields[field]
	var text string
	var named struct{ Code, Name string }
	switch {
	case json.Unmarshal(raw, &text) == nil:
		return text
	case json.Unmarshal(raw, &named) == nil && named.Code+named.Name != "":
		return named.Code + named.Name
	}
	return string(raw)
}

// Description is the first line of a module.
type Description struct {
	Version int              `json:"whyslow_module"`
	Name    string           `json:"name"`
	Doc     string           `json:"doc,omitempty"`
	Output  string           `json:"output,omitempty"`
	Cost    string           `json:"cost,omitempty"`
	Events  []string         `json:"events"`
	Params  []DescribedParam `json:"params,omitempty"`
}

// DescribedParam is a parameter in a Description.
type DescribedParam struct {
	Name    string          `json:"name"`
	Type    string          `json:"type"` // string, int, float, bool or list
	Default json.RawMessage `json:"default"`
	Choices []string        `json:"choices,omitempty"`
	Doc     string          `json:"doc,omitempty"`
}

// Begin is the first line to a module: the run has begun.
type Begin struct {
	Run    Run                        `json:"run"`
	Params map[string]json.RawMessage `json:"params"`
}

// Reply is any further line of a module. One of its fields is set.
type Reply struct {
	Ready bool   `json:"ready,omitempty"` // it has started
	Print string `json:"print,omitempty"` // text for its output
	Error string `json:"error,omitempty"` // it works no more
	Done  bool   `json:"done,omitempty"`  // it has finished
}

// FinishLine is the last line to a module.
const FinishLine = `{"finish":true}`

// Serve is all that the main function of such a program does: it tells whyslow what the module is, runs it,
// and ends the process, with exit code 1 after an error and 2 if whyslow has not started it.
func Serve(m Module) {
	if os.Getenv(Variable) == "" {
		fmt.Fprintf(os.Stderr, "%s is a module: whyslow run --modules=+%s starts it\n", os.Args[0], m.Name)
		os.Exit(2)
	}
	out := os.Stdout
	os.Stdout = os.Stderr // what the program prints must not get between the lines
	if err := serve(m, os.Stdin, out); err != nil {
		os.Exit(1) // whyslow knows why
	}
	os.Exit(0)
}

func serve(m Module, from io.Reader, to io.Writer) error {
	h := &Host{out: bufio.NewWriter(to)}
	d, err := m.describe()
	if err == nil {
		err = h.tell(d)
	}
	in := bufio.NewReaderSize(from, 1<<16)
	if err == nil {
		err = m.start(h, in)
	}
	if errors.Is(err, io.EOF) {
		return nil // only the description was asked for
	}
	if err == nil {
		err = m.handle(h, in)
	}
	if err == nil && m.Finish != nil {
		err = m.Finish(h)
	}
	if err != nil {
		_ = h.tell(Reply{Error: err.Error()}) // nobody else can be told
		return err
	}
	return h.tell(Reply{Done: true})
}

var typeNames = map[string]any{"string": "", "int": 0, "float": 0.0, "bool": false, "list": []string(nil)}

// describe is the module's first line.
func (m *Module) describe() (*Description, error) {
	d := &Description{Version: Version, Name: m.Name, Doc: m.Doc, Output: m.Output, Cost: m.Cost,
		Events: m.Events}
	for _, p := range m.Params {
		known := false
		for name, example := range typeNames {
			if fmt.Sprintf("%T", example) == fmt.Sprintf("%T", p.Default) {
				value, err := json.Marshal(p.Default)
				if err != nil {
					return nil, err
				}
				d.Params = append(d.Params, DescribedParam{p.Name, name, value, p.Choices, p.Doc})
				known = true
			}
		}
		if !known {
			return nil, fmt.Errorf("parameter %s is %T: use string, int, float64, bool or []string", p.Name, p.Default)
		}
	}
	return d, nil
}

// Value reads a value of a parameter of that type.
func (d *DescribedParam) Value(text json.RawMessage) (any, error) {
	switch d.Type {
	case "string":
		return value[string](text)
	case "int":
		return value[int](text)
	case "float":
		return value[float64](text)
	case "bool":
		return value[bool](text)
	case "list":
		return value[[]string](text)
	}
	return nil, fmt.Errorf("parameter %s has the type %q: use string, int, float, bool or list", d.Name, d.Type)
}

func value[T any](text json.RawMessage) (any, error) {
	var v T
	err := json.Unmarshal(text, &v)
	return v, err
}

// start waits for the run to begin; io.EOF: there is none.
func (m *Module) start(h *Host, in *bufio.Reader) error {
	line, err := in.ReadBytes('\n')
	if err != nil {
		return err
	}
	var begin Begin
	if err := json.Unmarshal(line, &begin); err != nil {
		return fmt.Errorf("the first line of whyslow is not understood: %w", err)
	}
	h.Run, h.params = begin.Run, map[string]any{}
	d, err := m.describe()
	if err != nil {
		return err
	}
	for i := range d.Params {
		p := &d.Params[i]
		given, set := begin.Params[p.Name]
		if !set {
			given = p.Default
		}
		if h.params[p.Name], err = p.Value(given); err != nil {
			return fmt.Errorf("parameter %s: %w", p.Name, err)
		}
	}
	if m.Start != nil {
		if err := m.Start(h); err != nil {
			return err
		}
	}
	return h.tell(Reply{Ready: true})
}

// handle passes events on until the run has ended.
func (m *Module) handle(h *Host, in *bufio.Reader) error {
	for {
		line, err := in.ReadBytes('\n')
		switch {
		case err != nil:
			return fmt.Errorf("whyslow is gone: %w", err)
		case strings.TrimSpace(string(line)) == FinishLine:
			return nil
		case m.Event == nil:
			continue
		}
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("a line of whyslow is not understood: %w", err)
		}
		if err := m.Event(h, &e); err != nil {
			return err
		}
	}
}
