package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/whyslow/whyslow/internal/record/modules"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// recording is what is done with the events of a run.
type recording int

const (
	nothing         recording = iota
	fragments                 // CFEvents and DFEvents to a trace
	everything                // all events to a trace
	naive                     // all events as text, by a file opened, written and closed for each
	functions                 // calls of user code, by the module that times them
	memory                    // DFs created and destroyed, by the module that sums their sizes
	both                      // functions and memory
	standard                  // all events, to all standard modules at once, the trace among them
	lockedFunctions           // as functions, memory and both in the design of the papers, see papers.go
	lockedMemory
	lockedBoth
	byKind // only counts the events by kind
)

// mode tells which modules run for a recording, and which events are on.
type mode struct {
	name    string   // in tables
	modules []string // "*": all
	events  []string // "Namespace.onName" or "Namespace.*"; none: all
	goal    string   // most CPU time that it may cost
	papers  string   // what the papers measured
}

var (
	foreignEvents = []string{"GlobalEvents.onForeignStarted", "GlobalEvents.onForeignEnded"}
	dfEvents      = []string{"DFEvents.onCreate", "DFEvents.onDestroy"}
)

const (
	timerModule = "foreign_block_timer_module"
	sizerModule = "df_sizer_events_module"
)

var modes = [...]mode{
	nothing: {name: "no events"},
	fragments: {name: "CF and DF events, trace", modules: []string{modules.TraceWriterName},
		events: []string{"CFEvents.*", "DFEvents.*", "GlobalEvents.onProgramStarted",
			"GlobalEvents.onProgramFinished"}},
	everything: {name: "all events, trace", modules: []string{modules.TraceWriterName}, goal: "1 %",
		papers: "154.6 %"},
	naive: {name: "all events, naive logging", modules: []string{modules.NaiveName}, papers: "698.3 %"},
	functions: {name: "functions", modules: []string{timerModule}, events: foreignEvents, goal: "0.5 %",
		papers: "2-3 %"},
	memory: {name: "memory", modules: []string{sizerModule}, events: dfEvents, goal: "0.5 %",
		papers: "8-11 %"},
	both: {name: "functions and memory", modules: []string{timerModule, sizerModule},
		events: slices.Concat(foreignEvents, dfEvents), papers: "9-13 %"},
	standard:        {name: "all events, all standard modules, trace", modules: []string{"*"}},
	lockedFunctions: {name: "functions, the papers' design", events: foreignEvents, papers: "2-3 %"},
	lockedMemory:    {name: "memory, the papers' design", events: dfEvents, papers: "8-11 %"},
	lockedBoth: {name: "functions and memory, the papers' design", events: slices.Concat(foreignEvents,
		dfEvents), papers: "9-13 %"},
	byKind: {},
}

// on reports whether the event is on.
func (m *mode) on(namespace, name string) bool {
	return len(m.events) == 0 || slices.Contains(m.events, namespace+"."+name) || slices.Contains(m.events,
		namespace+".*")
}

// count is how many of the events of a run, given by name, are on.
func (m *mode) count(events map[string]uint64) (n uint64) {
	for title, times := range events {
		if namespace, name, _ := strings.Cut(title, "."); m.on(namespace, name) {
			n += times
		}
	}
	return n
}

// profiled is a session that is set up for a recording.
type profiled struct {
	ses     *prof.Session // nil: nothing is recorded
	run     *prof.ModuleRun
	writers []*trace.Writer
	counts  *[256]atomic.Uint64 // by kind
}

// setup says what a session is set up for.
type setup struct {
	recording
	dir            string // for files
	program        string
	nodes, workers int
	sites          []string // names of the functions, by number of the statement
	bufferBytes    int      // of the trace writer; 0: its default
	sync           bool     // synchronous writing
}

func newProfiled(s *setup) (*profiled, error) {
	r := &profiled{}
	if s.recording == nothing {
		return r, nil
	}
	m := &modes[s.recording]
	r.ses = prof.New()
	r.ses.Choose(m.on)
	var err error
	switch s.recording {
	case byKind:
		r.counts = new([256]atomic.Uint64)
		err = r.ses.ConnectMatching([]string{"*"}, "count", 0,
			func(_ *prof.Stream, a *prof.Any) { r.counts[a.Spec.Kind].Add(1) })
	case lockedFunctions, lockedMemory, lockedBoth:
		d := &dispatcher{}
		if s.recording != lockedMemory {
			err = errors.Join(new(lockedTimer).connect(d), d.emitFunctions(r.ses, s.sites))
		}
		if s.recording != lockedFunctions {
			err = errors.Join(err, new(lockedSizer).connect(d), d.emitMemory(r.ses))
		}
	default:
		err = r.start(s, m)
	}
	return r, err
}

// start starts the modules of a mode as the command does, except that what they write goes to files in s.dir.
func (r *profiled) start(s *setup, m *mode) error {
	var uses []prof.Use
	for _, info := range prof.Modules() {
		// Balancers change the run, and naive logging is a mode of its own.
		apart := info.Name == modules.CentralName || info.Name == modules.DiffusionName ||
			info.Name == modules.NaiveName
		if !slices.Contains(m.modules, info.Name) && (apart || !slices.Contains(m.modules, "*")) {
			continue
		}
		u := prof.Use{Info: info, Priority: prof.DefaultPriority, Params: map[string]any{}}
		for _, name := range []string{"file", "dir"} {
			if info.Param(name) != nil {
				u.Params[name] = filepath.Join(s.dir, info.Name)
			}
		}
		if info.Name == modules.TraceWriterName {
			u.Priority = 0 // it wants an empty folder
			u.Params["dir"], u.Params["sync"] = s.dir, s.sync
			if s.bufferBytes > 0 {
				u.Params["buffer"] = strconv.Itoa(s.bufferBytes)
			}
		}
		uses = append(uses, u)
	}
	if len(uses) < len(m.modules) {
		return errors.New("not all of its modules are compiled in")
	}
	var err error
	r.run, err = r.ses.StartModules(uses, prof.RunFacts{
		Program: s.program, Nodes: s.nodes, Workers: s.workers, PID: os.Getpid(), Host: "localhost",
		Started: time.Now(), StartNS: prof.Now(), Out: io.Discard,
	})
	if err != nil {
		return err
	}
	if w, ok := r.run.Get(modules.TraceWriterName).(*modules.TraceWriter); ok {
		r.writers = w.Writers()
	}
	return nil
}

// close lets the modules finish.
func (r *profiled) close() error {
	var errs []error
	if r.run != nil {
		errs = append(errs, r.run.Finish())
	}
	for _, w := range r.writers {
		if n := w.Lost(); n > 0 {
			errs = append(errs, errors.New("events were lost"))
		}
	}
	return errors.Join(errs...)
}
