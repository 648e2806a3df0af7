//go:build cgo

package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/whyslow/whyslow/internal/clock"
	"github.com/whyslow/whyslow/internal/engine"
	"github.com/whyslow/whyslow/internal/modules"
	"github.com/whyslow/whyslow/internal/stream"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/prof/config"
	"github.com/whyslow/whyslow/trace"
)

// profiling is what happens to the events of a run: a session with modules, one of which writes the trace.
type profiling struct {
	session *prof.Session // nil: no module runs
	run     *prof.ModuleRun
	trace   *modules.TraceWriter // nil: nothing is recorded
	queue   *stream.Queue        // holds what is recorded and not yet sent, where there is no trace on disk; else nil
	send    *sending             // nil: to nobody
	live    *livePage            // nil: there is none
	info    trace.RunInfo
	rules   []engine.Rule
}

// startProfiling starts the modules that the plan switches on.
func startProfiling(io stdio, o *runOptions, args []string, plan *config.Plan) (*profiling, error) {
	p := &profiling{}
	var uses []prof.Use
	for _, m := range plan.Modules {
		if !m.On {
			continue
		}
		u := prof.Use{Info: m.Info, Priority: m.Priority, Params: m.Params}
		if m.Name == modules.TraceWriterName {
			if err := p.prepareTrace(io, o, &u); err != nil {
				return nil, err
			}
		}
		uses = append(uses, u)
	}
	if len(uses) == 0 {
		return p, nil
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	p.session = prof.New()
	p.session.Report(func(message string) { io.say("warning: %s", message) })
	p.session.Choose(plan.On)
	p.rules = engineRules(plan)
	started := time.Now()
	p.run, err = p.session.StartModules(uses, prof.RunFacts{
		Program: filepath.Base(o.source.file), Args: args, Nodes: o.nodes, Workers: o.workers, PID: os.Getpid(), Host: host,
		Started: started, StartNS: prof.Now(), Out: io.err,
	})
	if err != nil {
		return nil, exitWith(exitUsage, errors.Join(err, removeTrace(uses)))
	}
	if w, ok := p.run.Get(modules.TraceWriterName).(*modules.TraceWriter); ok {
		p.trace = w
		p.describe(o, args, host, started, plan)
		if err := p.writeInfo(); err != nil {
			return nil, badInput(err)
		}
		if o.live.on {
			if p.live, err = startLive(io, &o.live, p.dir()); err != nil {
				if err := errors.Join(p.run.Finish(), os.RemoveAll(p.dir())); err != nil {
					io.say("warning: %v", err)
				}
				return nil, err
			}
		}
		if o.send.on() {
			p.startSending(io, &o.send)
		}
	}
	return p, nil
}

// followedFlush is how soon what was recorded is written where somebody looks on.
const followedFlush = "200ms"

// prepareTrace tells the trace writer where to write, and how soon.
func (p *profiling) prepareTrace(io stdio, o *runOptions, u *prof.Use) error {
	u.Params = maps.Clone(u.Params)
	if u.Params == nil {
		u.Params = map[string]any{}
	}
	if _, given := u.Params["flush"]; (o.send.on() || o.live.on) && !given {
		u.Params["flush"] = followedFlush
	}
	if o.noTrace {
		p.queue = stream.NewQueue(0, nil)
		u.Info.New = func() prof.Module {
			return &modules.TraceWriter{Sink: func(b *trace.RawBlock) error { return p.queue.Put(b.Node, b.Bytes) }}
		}
		return nil
	}
	if dir, _ := u.Params["dir"].(string); dir != "" {
		return badInput(makeTraceDir(dir))
	}
	dir, note, err := newTraceDir(o.source.file)
	if err != nil {
		return badInput(err)
	}
	if note != "" {
		io.say("%s", note)
	}
	u.Params["dir"] = dir
	return nil
}

// startSending sends what is recorded while it is.
func (p *profiling) startSending(io stdio, o *sendOptions) {
	var source stream.Source = stream.Folder(p.dir())
	if p.queue != nil {
		source = p.queue
	}
	p.send = startSending(io, o, source)
}

// dir is the folder of the trace, "" if there is none.
func (p *profiling) dir() string {
	if p.trace == nil {
		return ""
	}
	return p.trace.Dir()
}

// writeInfo tells what is known of the run to whoever reads or gets the trace.
func (p *profiling) writeInfo() error {
	if p.queue == nil {
		return trace.WriteRunInfo(p.dir(), &p.info)
	}
	info := p.info
	info.Nodes = slices.Clone(info.Nodes)
	p.queue.SetInfo(&info)
	return nil
}

// removeTrace removes the folder of the trace of a run that did not start. It was new or empty.
func removeTrace(uses []prof.Use) error {
	for _, u := range uses {
		if dir, _ := u.Params["dir"].(string); u.Info.Name == modules.TraceWriterName && dir != "" {
			return os.RemoveAll(dir)
		}
	}
	return nil
}

// engineRules are the events that the engine is to emit at places the configuration names. Rules it cannot follow are
// left out: checkRules has told.
func engineRules(plan *config.Plan) (rules []engine.Rule) {
	for i := range plan.Events {
		if r := engineRule(&plan.Events[i]); r.Point != "" && engine.CheckRule(r) == nil {
			rules = append(rules, r)
		}
	}
	return rules
}

// checkRules adds warnings about rules that the engine cannot follow.
func checkRules(plan *config.Plan) {
	for i := range plan.Events {
		e := &plan.Events[i]
		if r := engineRule(e); r.Point != "" {
			if err := engine.CheckRule(r); err != nil {
				plan.Warnings = append(plan.Warnings, config.Warning{Pos: e.Pos, Text: fmt.Sprintf("%v; the rule is skipped", err)})
			}
		}
	}
}

// engineRule is the rule of an event, without a point if it has none or is off.
func engineRule(e *config.EventState) engine.Rule {
	if !e.On || e.Rule == nil {
		return engine.Rule{}
	}
	return engine.Rule{Namespace: e.Namespace, Name: e.Name, Before: e.Rule.Before, Point: e.Rule.Point, Functions: e.Functions, Args: e.Args, Pos: e.Pos.String()}
}

func (p *profiling) writers() []*trace.Writer {
	if p.trace == nil {
		return nil
	}
	return p.trace.Writers()
}

// describe fills in what run.json tells about the run.
func (p *profiling) describe(o *runOptions, args []string, host string, started time.Time, plan *config.Plan) {
	v := readVersion()
	p.info = trace.RunInfo{
		ID: trace.NewRunID(), Program: filepath.Base(o.source.file), Args: args, CommandLine: os.Args, Started: started, Hosts: []string{host},
		Processes: []trace.ProcessInfo{{
			PID: os.Getpid(), Host: host, Cores: availableCores(), Affinity: affinity(), GOMAXPROCS: availableCores(),
		}},
		Clock: clock.Name(), ThreadClock: threadClockNames[o.threadClock],
		Versions: map[string]string{"whyslow": v.Version, "go": v.Go, "os": v.Platform},
		Settings: map[string]string{}, Off: p.session.Off(),
	}
	if v.Revision != "" {
		p.info.Versions["revision"] = v.Revision
	}
	s := p.info.Settings
	if o.linkLatency > 0 {
		s["link_latency"] = o.linkLatency.String()
	}
	if o.bandwidth > 0 {
		s["link_bandwidth"] = o.linkBandwidth
	}
	if o.noSteal {
		s["steal"] = "off"
	}
	for code, d := range o.holds {
		s["hold "+code] = d.String()
	}
	for name, file := range map[string]string{"events": plan.EventsFile, "modules": plan.ModulesFile} {
		if file != "" {
			s[name] = file
		}
	}
	for _, m := range plan.Modules {
		if !m.On {
			continue
		}
		for param, v := range m.Params {
			if param != "dir" {
				s[m.Name+"."+param] = fmt.Sprint(v)
			}
		}
	}
	for node := range o.nodes {
		p.info.Nodes = append(p.info.Nodes, trace.NodeInfo{Node: node, Host: host, Workers: o.workers})
	}
}

var threadClockNames = map[string]string{"auto": "auto", "on": "always", "off": "never"}

// end lets the modules finish, and notes in the trace how the run ended.
func (p *profiling) end(io stdio, runErr, outcome error) error {
	if p.session == nil {
		return nil
	}
	var traceErr error
	if p.trace != nil {
		traceErr = p.endTrace(io, runErr, outcome)
	}
	if err := p.run.Finish(); err != nil {
		io.say("%s", strings.ReplaceAll(err.Error(), "\n", "\nwhyslow: "))
		return cmp.Or(traceErr, exitWith(exitDamaged, nil))
	}
	return traceErr
}

func (p *profiling) endTrace(io stdio, runErr, outcome error) error {
	err := p.trace.Finish()
	lost := uint64(0)
	for i, w := range p.trace.Writers() {
		lost += w.Lost()
		if n := &p.info.Nodes[i]; w.Err() != nil {
			n.Unwritten, n.Error = w.Unwritten(), w.Err().Error()
		}
	}
	p.info.Ended = trace.EndedDone
	var exit *exitError
	if errors.As(outcome, &exit) {
		p.info.Exit = exit.code
		p.info.Message = runErr.Error()
		p.info.Ended = map[int]string{exitStuck: trace.EndedStuck, exitInterrupted: trace.EndedInterrupted}[exit.code]
		if p.info.Ended == "" {
			p.info.Ended = trace.EndedFailed
		}
	}
	if infoErr := p.writeInfo(); err == nil {
		err = infoErr
	}
	if p.queue != nil {
		for _, n := range p.info.Nodes {
			p.queue.CloseNode(n.Node)
		}
	}
	p.send.ended()
	if p.live != nil {
		p.live.ended()
	}
	if lost > 0 {
		io.say("warning: %d events were not recorded", lost)
	}
	if err != nil {
		return exitWith(exitDamaged, fmt.Errorf("the trace is not complete: %w", fileError(err)))
	}
	return nil
}
