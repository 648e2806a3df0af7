//go:build cgo

package cli

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
	"time"

	"github.com/whyslow/whyslow/internal/clock"
	"github.com/whyslow/whyslow/internal/record/modules"
	"github.com/whyslow/whyslow/internal/record/stream"
	"github.com/whyslow/whyslow/internal/run/engine"
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
	folder  string           // of the trace; "": there is none
	local   string           // folder of this process's part of it, where that is another one
	old     string           // that folder once the part was gathered
	source  *stream.NodeFile // what this process of many sends; nil: nothing, or a queue
	group   []int            // nodes that are sent to the same collector as that of this process
}

// startProfiling starts the modules that the plan switches on; terminal is where they write if they are not told where to. All processes of a run of many call it.
func startProfiling(io stdio, terminal io.Writer, c *crew, o *runOptions, args []string, plan *config.Plan) (*profiling, error) {
	p := &profiling{}
	if c != nil && len(o.send.targets) > 1 {
		p.group = o.send.sharing(c.Rank(), c.Size())
	}
	var uses []prof.Use
	for _, m := range plan.Modules {
		if !m.On {
			continue
		}
		u := prof.Use{Info: m.Info, Priority: m.Priority, Params: m.Params}
		if m.Name == modules.TraceWriterName {
			if err := p.prepareTrace(io, c, o, &u); err != nil {
				return nil, err
			}
		}
		uses = append(uses, u)
	}
	if len(uses) == 0 {
		return p, nil
	}
	p.session = prof.New()
	p.session.Report(func(message string) { io.say("warning: %s", message) })
	p.session.Choose(plan.On)
	p.rules = engineRules(plan)
	facts := prof.RunFacts{
		Program: filepath.Base(o.source.file), Args: args, Nodes: o.nodes, Workers: o.workers, PID: os.Getpid(), Host: hostName(),
		Started: time.Now(), StartNS: prof.Now(), Out: terminal,
	}
	if c != nil {
		facts.Nodes, facts.Node, facts.Processes = 1, c.node(), c.Size()
	}
	var err error
	if p.run, err = p.session.StartModules(uses, facts); err != nil {
		err = exitWith(exitUsage, err)
	}
	err = c.agree(err)
	if err == nil {
		if w, ok := p.run.Get(modules.TraceWriterName).(*modules.TraceWriter); ok {
			p.trace = w
			err = p.begin(io, c, o, args, facts.Started, plan)
		}
	}
	if err == nil {
		return p, nil
	}
	if p.run != nil {
		if err := p.run.Finish(); err != nil {
			io.say("warning: %v", err)
		}
	}
	if err := p.removeFolders(c); err != nil {
		io.say("warning: %v", err)
	}
	return nil, err
}

// begin tells whoever reads or gets the trace what run it is of.
func (p *profiling) begin(io stdio, c *crew, o *runOptions, args []string, started time.Time, plan *config.Plan) error {
	if c.speaks() {
		p.describe(c, o, args, started, plan)
	}
	err := p.shareInfo(c)
	if err == nil {
		err = badInput(p.writeInfo(c.speaks()))
	}
	if err == nil && o.live.on && c.speaks() {
		p.live, err = startLive(io, &o.live, p.folder)
	}
	if err = c.agree(err); err == nil && o.send.on() {
		p.startSending(io, c, &o.send)
	}
	return err
}

// followedFlush is how soon what was recorded is written where somebody looks on.
const followedFlush = "200ms"

// prepareTrace tells the trace writer where to write, and how soon.
func (p *profiling) prepareTrace(io stdio, c *crew, o *runOptions, u *prof.Use) error {
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
	var err error
	if c.speaks() {
		p.folder, err = makeFolder(io, o.source.file, u)
	}
	if err = c.agree(badInput(err)); err != nil {
		return err
	}
	if c == nil {
		u.Params["dir"] = p.folder
		return nil
	}
	if err = c.agree(badInput(p.shareFolder(c, o.localDir))); err != nil {
		return errors.Join(err, p.removeFolders(c))
	}
	u.Params["dir"] = cmp.Or(p.local, p.folder)
	return nil
}

// makeFolder makes the folder for the trace: that of the configuration, or a new one beside the program.
func makeFolder(io stdio, program string, u *prof.Use) (string, error) {
	if dir, _ := u.Params["dir"].(string); dir != "" {
		return dir, makeTraceDir(dir)
	}
	dir, note, err := newTraceDir(program)
	if note != "" {
		io.say("%s", note)
	}
	return dir, err
}

// startSending sends what is recorded while it is.
func (p *profiling) startSending(io stdio, c *crew, o *sendOptions) {
	tell := func(line string) { io.say("warning: %s", line) }
	switch {
	case c == nil && p.queue != nil:
		p.send = startSending(o, o.targets[0], p.queue, tell)
	case c == nil:
		p.send = startSending(o, o.targets[0], stream.Folder(p.folder), tell)
	default:
		p.sendPart(c, o, tell)
	}
}

// dir is the folder of the trace, "" if there is none.
func (p *profiling) dir() string {
	if p.trace == nil {
		return ""
	}
	return p.folder
}

// writeInfo tells what is known of the run to whoever reads or gets the trace. Of many processes one has the folder.
func (p *profiling) writeInfo(mine bool) error {
	switch {
	case p.queue != nil:
		p.queue.SetInfo(p.copyInfo())
		return nil
	case p.source != nil:
		p.source.SetInfo(p.copyInfo())
	}
	var err error
	if p.local != "" { // a part that is never gathered can be read as well
		err = trace.WriteRunInfo(p.local, &p.info)
	}
	if mine {
		err = errors.Join(err, trace.WriteRunInfo(p.folder, &p.info))
	}
	return err
}

// copyInfo is what is known of the run now, for those to whom it is sent: one collector of several gets some nodes only.
func (p *profiling) copyInfo() *trace.RunInfo {
	info := p.info
	info.Processes = slices.Clone(info.Processes)
	info.Nodes = slices.DeleteFunc(slices.Clone(info.Nodes), func(n trace.NodeInfo) bool { return p.group != nil && !slices.Contains(p.group, n.Node) })
	return &info
}

// removeFolders removes what was made for the trace of a run that did not start. It was new or empty.
func (p *profiling) removeFolders(c *crew) error {
	var errs []error
	if p.local != "" {
		errs = append(errs, os.RemoveAll(p.local))
	}
	if p.folder != "" && c.speaks() {
		errs = append(errs, os.RemoveAll(p.folder))
	}
	return errors.Join(errs...)
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
func (p *profiling) describe(c *crew, o *runOptions, args []string, started time.Time, plan *config.Plan) {
	v := readVersion()
	p.info = trace.RunInfo{
		ID: trace.NewRunID(), Program: filepath.Base(o.source.file), Args: args, CommandLine: os.Args, Started: started,
		Hosts: []string{hostName()}, Processes: []trace.ProcessInfo{processInfo()},
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
		p.info.Nodes = append(p.info.Nodes, trace.NodeInfo{Node: node, Host: hostName(), Workers: o.workers})
	}
	if c != nil {
		p.describeMany(c, o)
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
	lost := p.countLost(p.info.Nodes)
	p.noteEnd(runErr, outcome)
	if infoErr := p.writeInfo(true); err == nil {
		err = infoErr
	}
	p.endSource()
	if lost > 0 {
		io.say("warning: %d events were not recorded", lost)
	}
	return incomplete(err)
}

// incomplete is the end of a run of which not everything is in the trace.
func incomplete(err error) error {
	if err == nil {
		return nil
	}
	return exitWith(exitDamaged, fmt.Errorf("the trace is not complete: %w", fileError(err)))
}

// countLost says of the nodes of this process what could not be written, and returns how many events were lost.
func (p *profiling) countLost(nodes []trace.NodeInfo) (lost uint64) {
	for i, w := range p.trace.Writers() {
		lost += w.Lost()
		if n := &nodes[i]; w.Err() != nil {
			n.Unwritten, n.Error = w.Unwritten(), w.Err().Error()
		}
	}
	return lost
}

// noteEnd says how the run ended.
func (p *profiling) noteEnd(runErr, outcome error) {
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
}

// endSource tells those who follow the trace that it is whole.
func (p *profiling) endSource() {
	if p.queue != nil {
		for _, w := range p.trace.Writers() {
			p.queue.CloseNode(w.Node())
		}
	}
	p.send.ended()
	if p.live != nil {
		p.live.ended()
	}
}
