package modules

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// TraceWriterName is the name of the module that writes the trace.
const TraceWriterName = "trace_writer_module"

func init() {
	prof.RegisterModule(prof.ModuleInfo{
		Name:   TraceWriterName,
		Doc:    "writes the trace for report, dump and doctor",
		Output: "one file per node and run.json in a folder, PROGRAM.NNN.trace unless dir says otherwise",
		Cost:   "12 to 20 ns per event, no lock; a goroutine per node packs and writes",
		Events: []string{"*"},
		Params: []prof.Param{
			{Name: "dir", Default: "", Doc: "folder of the trace, new or empty (run -o)"},
			{Name: "buffer", Default: "128Ki", Doc: "size of a worker's event buffer, 1Ki to 4Mi bytes (run " +
				"--trace-buffer)"},
			{Name: "pool", Default: trace.DefaultPool, Doc: "buffers per node in addition to one per worker, 1 to " +
				"65536 (run --trace-pool)"},
			{Name: "level", Default: 1, Doc: "compression, 1 (fastest) to 4 (best); 0: none (run --trace-level)"},
			{Name: "sync", Default: false, Doc: "workers write their full buffers themselves, and wait for the disk " +
				"(run --trace-sync)"},
			{Name: "full", Default: "wait", Choices: []string{"wait", "drop"}, Doc: "when all buffers are full: " +
				"wait for the disk, or drop events, which are counted (run --trace-full)"},
			{Name: "flush", Default: "1s", Doc: "write events after this long even if no buffer is full: 2ms to 1h, " +
				"or 0 for never (run --trace-flush)"},
		},
		New: func() prof.Module { return &TraceWriter{} },
	})
}

// Limits of the parameters of TraceWriter; those of trace.Options.
const (
	minTraceBuffer = 1 << 10
	maxTraceBuffer = 4 << 20
	maxTracePool   = 1 << 16
	minTraceFlush  = 2 * time.Millisecond
	maxTraceFlush  = time.Hour
)

// TraceOptions turns the trace writer's parameters into trace.Options. Errors begin with "NAME=VALUE: ".
func TraceOptions(buffer string, pool, level int, sync bool, full, flush string) (trace.Options, error) {
	size, err := words.ParseBytes(buffer)
	every, flushErr := time.ParseDuration(flush)
	switch {
	case err != nil || size < minTraceBuffer || size > maxTraceBuffer:
		err = fmt.Errorf("buffer=%s: give 1Ki to 4Mi bytes", buffer)
	case pool < 1 || pool > maxTracePool:
		err = fmt.Errorf("pool=%d: give 1 to %d", pool, maxTracePool)
	case level < 0 || level > 4:
		err = fmt.Errorf("level=%d: give 1 (fastest) to 4 (best), or 0 for none", level)
	case full != "wait" && full != "drop":
		err = fmt.Errorf("full=%s: use wait or drop", full)
	case flushErr != nil || every != 0 && (every < minTraceFlush || every > maxTraceFlush):
		err = fmt.Errorf("flush=%s: give %v to 1h, such as 200ms, or 0 for never", flush, minTraceFlush)
	}
	opt := trace.Options{BufferBytes: int(size), Pool: pool, Level: level, Sync: sync, FlushEvery: every}
	if level == 0 {
		opt.Level = -1
	}
	if full == "drop" {
		opt.Full = trace.Drop
	}
	return opt, err
}

// TraceWriter is the module trace_writer_module. Its work is done where events are emitted: a stream made
// with one of its writers records every event that is on, before any handler sees it.
type TraceWriter struct {
	Run string // id of the run; "": the files do not tell it
	// Sink, if set, gets the blocks of all nodes instead of files: see trace.CreateSink. Calls may overlap.
	Sink func(node int, block []byte) error

	dir      string
	writers  []*trace.Writer
	finished bool
}

// Start makes the folder and a writer for each node.
func (w *TraceWriter) Start(h *prof.Host) error {
	opt, err := TraceOptions(h.String("buffer"), h.Int("pool"), h.Int("level"), h.Bool("sync"), h.String("full"),
		h.String("flush"))
	if err != nil {
		return err
	}
	opt.Run = w.Run
	create := func(node int) (*trace.Writer, error) {
		return trace.CreateSink(node, opt, func(block []byte) error { return w.Sink(node, block) })
	}
	if w.Sink == nil {
		if w.dir = h.String("dir"); w.dir == "" {
			return errors.New("dir: no folder for the trace is given")
		}
		// Each of several processes finds files of the others; the process that made the folder has looked.
		if entries, err := os.ReadDir(w.dir); err == nil && len(entries) > 0 && h.Run().Processes < 2 {
			return fmt.Errorf("%s: already there and not empty; choose another name or remove it", w.dir)
		}
		create = func(node int) (*trace.Writer, error) { return trace.Create(w.dir, node, opt) }
	}
	var once sync.Once
	opt.OnError = func(err error) {
		once.Do(func() {
			h.Warn(fmt.Sprintf("%v; the program goes on, and what it does from now on is not recorded", err))
		})
	}
	for i := range h.Run().Nodes {
		tw, err := create(h.Run().Node + i)
		if err != nil {
			return errors.Join(err, w.Finish())
		}
		w.writers = append(w.writers, tw)
	}
	return nil
}

// Finish closes the files; only the first call does, and returns the first error there was.
func (w *TraceWriter) Finish() error {
	var errs []error
	if !w.finished {
		for _, tw := range w.writers {
			errs = append(errs, tw.Close())
		}
	}
	w.finished = true
	return cmp.Or(errs...)
}

// Dir is the folder of the trace, "" where a Sink gets it.
func (w *TraceWriter) Dir() string { return w.dir }

// Writers are the writers of the nodes of this process.
func (w *TraceWriter) Writers() []*trace.Writer { return w.writers }
