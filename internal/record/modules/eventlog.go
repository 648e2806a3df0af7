package modules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// Logger is what the modules that log events are for other modules: a place for messages of their own.
type Logger interface {
	prof.Module
	// Log writes text, one line, at the present time as if the stream had emitted it.
	Log(s *prof.Stream, text string)
}

// eventLog writes the events that match patterns.
type eventLog struct {
	log     *ordered
	format  format
	start   int64
	workers int
}

// format is a way to write events.
type format interface {
	header(dst []byte) []byte
	event(dst []byte, l *eventLog, s *prof.Stream, a *prof.Any) []byte
	message(dst []byte, l *eventLog, s *prof.Stream, t int64, text string) []byte
}

// formats are the choices of the parameter format.
var formats = map[string]format{"text": textFormat{}, "csv": csvFormat{}, "json": jsonFormat{}}

// logInfo is the registration of a module that logs events.
func logInfo(name, doc, events string) prof.ModuleInfo {
	return prof.ModuleInfo{
		Name:   name,
		Doc:    doc,
		Output: "a line per event, in order of time",
		Cost:   "160 to 250 ns per event, most for csv; a lock only when a full buffer is passed on",
		Events: []string{events},
		Params: []prof.Param{
			{Name: "events", Default: []string{events}, Doc: "which events: Namespace.onName, * matches any text"},
			{Name: "file", Default: "", Doc: outputDoc},
			{Name: "format", Default: "text", Choices: []string{"text", "csv", "json"}, Doc: "format of the lines"},
			{Name: "buffer", Default: 1 << 16, Doc: bufferDoc},
		},
		New: func() prof.Module { return &eventLog{} },
	}
}

// Start connects the module.
func (l *eventLog) Start(h *prof.Host) error {
	h.WantDFs()
	l.format = formats[h.String("format")]
	if l.format == nil {
		return fmt.Errorf("format=%s: use text, csv or json", h.String("format"))
	}
	out, err := h.Open(h.String("file"))
	if err != nil {
		return err
	}
	if head := l.format.header(nil); len(head) > 0 {
		if _, err := out.Write(head); err != nil {
			return err
		}
	}
	l.start, l.workers = h.Run().StartNS, h.Run().Workers
	if l.log, err = openOrdered(h, out); err != nil {
		return err
	}
	return h.ConnectMatching(standardNames(h.Strings("events")), l.handle)
}

// handle appends the event.
func (l *eventLog) handle(s *prof.Stream, a *prof.Any) {
	lane := l.log.lane(s)
	lane.text = l.format.event(lane.text, l, s, a)
	lane.done(a.Time)
}

// standardNames replaces aliases of standard events.
func standardNames(patterns []string) []string {
	patterns = slices.Clone(patterns)
	for i, p := range patterns {
		ns, name, _ := strings.Cut(strings.Replace(p, "::", ".", 1), ".")
		if k, ok := trace.KindByName(ns, name); ok {
			patterns[i] = k.String()
		}
	}
	return patterns
}

// Log implements Logger.
func (l *eventLog) Log(s *prof.Stream, text string) {
	t := prof.Now()
	lane := l.log.lane(s)
	lane.text = l.format.message(lane.text, l, s, t, strings.TrimRight(text, "\r\n"))
	lane.done(t)
}

// Finish writes what is left.
func (l *eventLog) Finish() error {
	l.log.flush()
	return nil
}
