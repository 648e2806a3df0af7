package prof

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/whyslow/whyslow/internal/clock"
	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/trace"
)

// Recording is a program that traces itself: a session whose events go to a trace with one node. Programs of
// several nodes or processes use trace.Create and Session.Stream themselves.
type Recording struct {
	*Session
	writer  *trace.Writer
	dir     string
	info    trace.RunInfo
	workers []*Stream
	system  *Stream
	cfs     atomic.Uint64
	dfs     atomic.Uint32
	closed  bool
	sending *Sending // to the collector that WHYSLOW_TO names

	mu    sync.Mutex
	codes []Site // by NewCode, for modules
}

// Record starts a trace in the folder dir, which must not exist or be empty. workers
// is the number of goroutines that execute CFs, 1 or more; the program starts now for
// all of them. opt may say how the trace is written.
//
// WHYSLOW_TO=HOST:PORT also sends the trace, while it is written, to a collector: see SendTo.
func Record(dir string, workers int, opt ...trace.Options) (*Recording, error) {
	if workers < 1 {
		return nil, fmt.Errorf("recording %d workers: there must be one at least", workers)
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return nil, fmt.Errorf("%s: already there and not empty; choose another name or remove it", dir)
	}
	var o trace.Options
	if len(opt) > 0 {
		o = opt[0]
	}
	o.Run = cmp.Or(o.Run, trace.NewRunID())
	if os.Getenv(collectorVariable) != "" {
		o.FlushEvery = cmp.Or(o.FlushEvery, time.Second)
	}
	w, err := trace.Create(dir, 0, o)
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil { // the program may change its directory
		return nil, errors.Join(err, w.Close())
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	r := &Recording{Session: New(), writer: w, dir: dir, info: trace.RunInfo{
		ID: o.Run, Program: filepath.Base(os.Args[0]), Args: tracefile.Redact(os.Args[1:]),
		CommandLine: tracefile.Redact(os.Args), Started: time.Now(), Hosts: []string{host},
		Processes: []trace.ProcessInfo{{PID: os.Getpid(), Host: host, Cores: runtime.NumCPU(),
			GOMAXPROCS: runtime.GOMAXPROCS(0)}},
		Nodes: []trace.NodeInfo{{Node: 0, Host: host, Workers: workers}},
		Clock: clock.Name(), ThreadClock: "never",
		Versions: map[string]string{"go": runtime.Version(), "os": runtime.GOOS + "/" + runtime.GOARCH},
	}}
	if err := trace.WriteRunInfo(dir, &r.info); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	r.SetDescriber(recordingNames{r})
	for i := range workers {
		r.workers = append(r.workers, r.Session.Stream(0, i, w.Stream(i)))
	}
	r.system = r.Session.Stream(0, workers, w.Stream(workers))
	t, cpu := Now(), clock.ProcessCPU()
	for _, s := range r.workers {
		r.ProgramStarted.EmitAt(s, t, 0, cpu)
	}
	r.send()
	return r, nil
}

// Workers is the number of workers.
func (r *Recording) Workers() int { return len(r.workers) }

// Worker returns the stream of a worker, 0 or more. One goroutine at a time may use it.
func (r *Recording) Worker(i int) *Stream { return r.workers[i] }

// System returns the stream of whatever is no worker: a scheduler, main. One goroutine at a time may use it.
func (r *Recording) System() *Stream { return r.system }

// Writer returns what the trace is written with.
func (r *Recording) Writer() *trace.Writer { return r.writer }

// NewCode defines a code fragment and returns the statement that CFs of it come from.
// Its place in the source is where NewCode is called.
func (r *Recording) NewCode(name string) trace.Site {
	site := Site{Code: name, Kind: trace.Atomic}
	if _, file, line, ok := runtime.Caller(1); ok {
		site.File, site.Line = filepath.Base(file), line
	}
	r.mu.Lock()
	r.codes = append(r.codes, site)
	n := uint32(len(r.codes))
	r.mu.Unlock()
	code := trace.CodeDef{Code: n, Name: r.writer.Name(name), Kind: trace.Atomic}
	if site.Line > 0 {
		code.File, code.Line = r.writer.Name(site.File), site.Line
	}
	r.writer.DefineCode(code)
	r.writer.DefineSite(trace.SiteDef{Site: trace.Site(n), Code: n, File: code.File, Line: code.Line})
	return trace.Site(n)
}

// NewCF returns the id of a CF that is going to be created.
func (r *Recording) NewCF() trace.CF { return trace.MakeCF(0, r.cfs.Add(1)) }

// NewDF defines a DF. A name and indices must not be used twice.
func (r *Recording) NewDF(name string, indices ...int64) trace.DF {
	df, n := trace.DF(r.dfs.Add(1)), r.writer.Name(name)
	r.writer.DefineDF(df, n, append([]int64{0, int64(n)}, indices...))
	return df
}

// recordingNames tells modules of a recording the names of its code fragments; DFs are numbers.
type recordingNames struct{ r *Recording }

func (d recordingNames) Site(node int, s trace.Site) Site {
	d.r.mu.Lock()
	defer d.r.mu.Unlock()
	if s == 0 || int(s) > len(d.r.codes) {
		return numbers{}.Site(node, s)
	}
	return d.r.codes[s-1]
}
func (d recordingNames) DF(node int, df trace.DF) (string, []int64) { return numbers{}.DF(node, df) }
func (d recordingNames) Name(node int, n trace.Name) string         { return numbers{}.Name(node, n) }

// Close ends the program's trace. No stream may be in use. It returns the first error
// met in writing; closing again does nothing.
func (r *Recording) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	t, cpu := Now(), clock.ProcessCPU()
	for _, s := range r.workers {
		r.ProgramFinished.EmitAt(s, t, cpu)
	}
	err := r.writer.Close()
	r.info.Ended = trace.EndedDone
	r.info.Off = r.Off()
	if n := &r.info.Nodes[0]; err != nil {
		n.Unwritten, n.Error = r.writer.Unwritten(), err.Error()
	}
	err = errors.Join(err, trace.RewriteRunInfo(r.dir, &r.info))
	if r.sending != nil {
		err = errors.Join(err, r.sending.Close())
	}
	return err
}
