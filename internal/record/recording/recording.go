// Package recording records a run: a session with modules, of which one writes the trace, and a connection to
// a collector. Every process of a run has a Recording.
package recording

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/whyslow/whyslow/internal/clock"
	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/record/modules"
	"github.com/whyslow/whyslow/internal/record/stream"
	"github.com/whyslow/whyslow/internal/run/config"
	"github.com/whyslow/whyslow/internal/run/crew"
	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// Options say what is recorded of a run and where it goes.
type Options struct {
	Program        string // its file
	Args           []string
	Nodes, Workers int
	NoTrace        bool // nothing is written; what is sent waits in memory
	// folder below which each of many processes writes its part; "": all write to one folder
	LocalDir string
	Send     *Send // nil: to nobody
	// Live shows the trace in a folder while it is written; nil: nobody looks on.
	Live  func(folder string) (Page, error)
	Asked <-chan struct{} // closed when the user asks the run to end
	// Describe adds what run.json tells of the settings of the run.
	Describe func(info *trace.RunInfo)
}

// Page shows a trace that is being written.
type Page interface {
	Ended() // the trace is whole
}

// Recording is the recording of a run, in one of its processes.
type Recording struct {
	Session *prof.Session // nil: no module runs

	opt   *Options
	crew  *crew.Crew
	io    console.IO
	run   *prof.ModuleRun
	trace *modules.TraceWriter // nil: nothing is recorded
	// holds what is recorded and not yet sent, where there is no trace on disk; else nil
	queue *stream.Queue
	send  *sending // nil: to nobody
	live  Page     // nil: there is none
	info  trace.RunInfo
	// insideMu orders what is written of CFs that do not come back while the program runs, and when it is over.
	insideMu sync.Mutex
	over     bool
	folder   string           // of the trace; "": there is none
	local    string           // folder of this process's part of it, where that is another one
	old      string           // that folder once the part was gathered
	source   *stream.NodeFile // what this process of many sends; nil: nothing, or a queue
	group    []int            // nodes that are sent to the same collector as that of this process
	left     bool             // a module did not return when it was to finish
	load     crew.Load        // at the start
}

// Start starts the modules that the plan switches on. All processes of a run call it.
func Start(v *crew.Voice, c *crew.Crew, o *Options, plan *config.Plan) (*Recording, error) {
	r := &Recording{opt: o, crew: c, io: v.IO}
	if o.Send != nil && len(o.Send.Targets) > 1 {
		r.group = o.Send.sharing(c.Rank(), c.Size())
	}
	err := r.agreeOnRun()
	if err != nil {
		return nil, err
	}
	var uses []prof.Use
	for _, m := range plan.Modules {
		if !m.On {
			continue
		}
		u := prof.Use{Info: m.Info, Priority: m.Priority, Params: m.Params}
		if m.Name == modules.TraceWriterName {
			if err := r.prepareTrace(&u); err != nil {
				return nil, err
			}
		}
		uses = append(uses, u)
	}
	if len(uses) == 0 {
		return r, nil
	}
	if err = r.startModules(v.Terminal, uses, plan); err == nil {
		r.load = crew.LoadNow()
		return r, nil
	}
	if r.run != nil {
		if err := r.run.Finish(); err != nil {
			r.io.Say("warning: %v", err)
		}
	}
	if err := r.removeFolders(); err != nil {
		r.io.Say("warning: %v", err)
	}
	return nil, err
}

// agreeOnRun gives the run an id, the same in all processes.
func (r *Recording) agreeOnRun() error {
	id, err := procs.Broadcast(r.crew.Group(), 0, []byte(trace.NewRunID()))
	r.info.ID = string(id)
	return err
}

// startModules starts the modules, and writes to which run the trace belongs.
func (r *Recording) startModules(terminal io.Writer, uses []prof.Use, plan *config.Plan) error {
	o, c := r.opt, r.crew
	r.Session = prof.New()
	r.Session.Report(func(message string) { r.io.Say("warning: %s", message) })
	r.Session.Choose(plan.On)
	facts := prof.RunFacts{
		Program: filepath.Base(o.Program), Args: o.Args, Nodes: o.Nodes, Workers: o.Workers, PID: os.Getpid(),
		Host: crew.HostName(), Started: time.Now(), StartNS: prof.Now(), Out: terminal,
		Asked: o.Asked,
	}
	if c.Many() {
		facts.Nodes, facts.Node, facts.Processes = 1, c.Rank(), c.Size()
	}
	var err error
	if r.run, err = r.Session.StartModules(uses, facts); err != nil {
		code := console.BadUsage
		if errors.Is(err, prof.ErrLeft) {
			code = console.Interrupted
		}
		err = console.Exit(code, err)
	}
	if err = c.Agree(err); err != nil {
		return err
	}
	w, ok := r.run.Get(modules.TraceWriterName).(*modules.TraceWriter)
	if !ok {
		return nil
	}
	r.trace = w
	if c.Speaks() {
		r.describe(facts.Started, plan)
	}
	if err = r.shareInfo(); err == nil {
		err = console.BadInput(r.writeInfo(c.Speaks()))
	}
	if err == nil && o.Live != nil && c.Speaks() {
		r.live, err = o.Live(r.folder)
	}
	if err = c.Agree(err); err == nil && o.Send != nil {
		r.startSending()
	}
	return err
}

// followedFlush is how soon what was recorded is written where somebody looks on.
const followedFlush = "200ms"

// prepareTrace tells the trace writer where to write, and how soon.
func (r *Recording) prepareTrace(u *prof.Use) error {
	u.Params = maps.Clone(u.Params)
	if u.Params == nil {
		u.Params = map[string]any{}
	}
	if _, given := u.Params["flush"]; (r.opt.Send != nil || r.opt.Live != nil) && !given {
		u.Params["flush"] = followedFlush
	}
	w := &modules.TraceWriter{Run: r.info.ID}
	u.Info.New = func() prof.Module { return w }
	if r.opt.NoTrace {
		r.queue = stream.NewQueue(0, nil)
		w.Sink = r.queue.Put
		return nil
	}
	var err error
	if r.crew.Speaks() {
		r.folder, err = r.makeFolder(u)
	}
	if err = r.crew.Agree(console.BadInput(err)); err == nil && r.crew.Many() {
		err = r.shareFolder()
	}
	u.Params["dir"] = cmp.Or(r.local, r.folder)
	return err
}

// makeFolder makes the folder for the trace: that of the configuration, or a new one in the current folder.
func (r *Recording) makeFolder(u *prof.Use) (string, error) {
	if dir, _ := u.Params["dir"].(string); dir != "" {
		return dir, MakeFolder(dir)
	}
	return NewFolder(r.opt.Program)
}

// shareFolder tells all processes the trace's folder, and makes that of this process's part.
func (r *Recording) shareFolder() (err error) {
	var local func(folder string) error
	if r.opt.LocalDir != "" {
		local = r.makeLocal
	}
	r.folder, err = r.crew.ShareFolder(r.folder, local)
	if err = r.crew.Agree(console.BadInput(err)); err != nil {
		return errors.Join(err, r.removeFolders())
	}
	return nil
}

// makeLocal makes the folder of this process's part: a trace of one node, until rank 0 gathers them.
func (r *Recording) makeLocal(folder string) error {
	dir, err := filepath.Abs(r.opt.LocalDir)
	if err == nil {
		err = os.MkdirAll(dir, 0o777)
	}
	if err == nil {
		base := strings.TrimSuffix(filepath.Base(folder), ".trace")
		r.local, err = os.MkdirTemp(dir, fmt.Sprintf("%s.node%d.*.trace", base, r.crew.Rank()))
	}
	if err != nil {
		return fmt.Errorf("--local-dir: %w", console.FileError(err))
	}
	return nil
}

// removeFolders removes what was made for the trace of a run that did not start. It was new or empty.
func (r *Recording) removeFolders() error {
	var errs []error
	if r.local != "" {
		errs = append(errs, os.RemoveAll(r.local))
	}
	if r.folder != "" && r.crew.Speaks() {
		errs = append(errs, os.RemoveAll(r.folder))
	}
	return errors.Join(errs...)
}

// Folder is the folder of the trace, "" if there is none.
func (r *Recording) Folder() string {
	if r.trace == nil {
		return ""
	}
	return r.folder
}

// Writers are those of the trace, by node of this process; nil if nothing is recorded.
func (r *Recording) Writers() []*trace.Writer {
	if r.trace == nil {
		return nil
	}
	return r.trace.Writers()
}

// WantsDFs tells whether a module wants to know the names of DFs.
func (r *Recording) WantsDFs() bool { return r.run.WantsDFs() }

// Balancer is the module that moves work between nodes, nil if none does.
func (r *Recording) Balancer() prof.Balancer { return r.run.Balancer() }

// describe fills in what run.json tells about the run.
func (r *Recording) describe(started time.Time, plan *config.Plan) {
	o, c := r.opt, r.crew
	r.info = trace.RunInfo{
		ID: r.info.ID, Program: filepath.Base(o.Program), Args: tracefile.Redact(o.Args),
		CommandLine: tracefile.Redact(os.Args), Started: started,
		Hosts: c.Hosts(), Processes: c.Processes(), Clock: clock.Name(),
		Versions: map[string]string{}, Settings: map[string]string{}, Off: r.Session.Off(),
	}
	s := r.info.Settings
	for name, file := range map[string]string{"events": plan.EventsFile, "modules": plan.ModulesFile} {
		if file != "" {
			s[name] = file
		}
	}
	for _, m := range plan.Modules {
		for param, v := range m.Params {
			if m.On && param != "dir" {
				s[m.Name+"."+param] = fmt.Sprint(v)
			}
		}
	}
	for node := range o.Nodes {
		process := 0
		if c.Many() {
			process = node
		}
		host := c.Processes()[process].Host
		r.info.Nodes = append(r.info.Nodes, trace.NodeInfo{Node: node, Host: host, Process: process,
			Workers: o.Workers})
	}
	if c.Many() {
		r.info.Versions["mpi"] = crew.MPIVersion()
		s["ranks"], s["mpi_threads"] = fmt.Sprint(c.Size()), c.Threads()
		if o.LocalDir != "" {
			s["local_dir"] = o.LocalDir
		}
	}
	o.Describe(&r.info)
}

// writeInfo tells readers and receivers of the trace what is known of the run. One process has the folder.
func (r *Recording) writeInfo(mine bool) error {
	switch {
	case r.queue != nil:
		r.queue.SetInfo(r.copyInfo())
		return nil
	case r.source != nil:
		r.source.SetInfo(r.copyInfo())
	}
	var err error
	if r.local != "" { // a part that is never gathered can be read as well
		err = trace.RewriteRunInfo(r.local, &r.info)
	}
	if mine {
		err = errors.Join(err, trace.RewriteRunInfo(r.folder, &r.info))
	}
	return err
}

// copyInfo is what is known now, for whom it is sent to: one collector of several gets some nodes only.
func (r *Recording) copyInfo() *trace.RunInfo {
	info := r.info
	info.Processes = slices.Clone(info.Processes)
	info.Nodes = slices.DeleteFunc(slices.Clone(info.Nodes), func(n trace.NodeInfo) bool {
		return r.group != nil && !slices.Contains(r.group, n.Node)
	})
	return &info
}

// shareInfo gives all ranks what rank 0 knows of the run, and rank 0 their folders and clocks.
func (r *Recording) shareInfo() error {
	if !r.crew.Many() {
		return nil
	}
	type beginning struct {
		Part  string
		Clock trace.ClockPair
	}
	own := beginning{Clock: clockPair()}
	if r.local != "" {
		own.Part = crew.HostName() + ":" + r.local
	}
	all, err := procs.AllOf(r.crew.Group(), own)
	if err != nil {
		return err
	}
	if r.crew.Speaks() {
		for i, begun := range all {
			r.info.Nodes[i].Part = begun.Part
			if r.info.Ended == "" {
				r.info.Processes[i].Monotonic = []trace.ClockPair{begun.Clock}
			}
		}
	}
	text, err := procs.Broadcast(r.crew.Group(), 0, procs.Encode(&r.info))
	if err != nil || r.crew.Speaks() {
		return err
	}
	r.info = trace.RunInfo{}
	return procs.Decode(text, &r.info)
}

// clockPair is this moment.
func clockPair() trace.ClockPair {
	own, monotonic, uncertain := clock.Pair()
	return trace.ClockPair{Own: own, Monotonic: monotonic, Uncertainty: uncertain}
}
