//go:build cgo && linux

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/whyslow/whyslow/internal/analysis/lifecycle"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/files"
	"github.com/whyslow/whyslow/internal/record/modules/native"
	"github.com/whyslow/whyslow/internal/record/pgas/symbols"
	"github.com/whyslow/whyslow/internal/record/recording"
	"github.com/whyslow/whyslow/internal/run/config"
	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/internal/run/crew"
	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/internal/run/placement"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// canRun tells whether the engine is built in.
const canRun = true

var threadClocks = map[string]engine.ThreadClock{"auto": engine.ClockAuto, "on": engine.ClockOn,
	"off": engine.ClockOff}

// compile turns the source into a program, telling the user what is wrong with it.
func compile(io console.IO, src *sourceOptions) (*luna.Program, error) {
	text, err := readSource(src.file)
	if err != nil {
		return nil, err
	}
	prog, err := luna.Compile(luna.Options{File: src.file, Source: text, Defines: luna.Defines(src.defines)})
	var faults *luna.Error
	if errors.As(err, &faults) {
		for _, d := range faults.Diags {
			luna.Format(io.Err, d, io.ErrColor())
		}
		return nil, console.Exit(console.BadUsage, nil)
	}
	if err != nil {
		return nil, badInput(err)
	}
	for _, d := range prog.Warnings {
		luna.Format(io.Err, d, io.ErrColor())
	}
	return prog, nil
}

// buildLibrary compiles the C++ of a program, or finds it compiled already.
func buildLibrary(ctx context.Context, io console.IO, prog *luna.Program, src *sourceOptions) (*cpp.Built,
	error) {
	line := console.StartProgress(io)
	spec := cpp.Spec{
		Prog: prog, Dir: filepath.Dir(
			src.file), CppDirs: src.cppDirs, Sources: src.cppSources, Optimize: "-O" + src.optimize,
		NoWaits: src.noWaits, Debug: src.variables,
		Progress: func(done, total int, file string) {
			line.Set("compiling C++: %s (%d of %d done)", file, done, total)
		},
	}
	if src.verbose {
		spec.Verbose = io.Err
	}
	built, err := cpp.Build(ctx, spec)
	line.End()
	var faults *cpp.CompileError
	switch {
	case err == nil:
		if built.Note != "" {
			io.Say("warning: %s", built.Note)
		}
		for _, m := range built.Misfits {
			io.Say("warning: %s", m)
		}
		return built, nil
	case ctx.Err() != nil:
		return nil, console.Exit(console.Interrupted, errors.New("interrupted while compiling C++"))
	case errors.As(err, &faults):
		fmt.Fprintln(io.Err, strings.TrimRight(faults.Error(), "\n"))
		return nil, console.Exit(console.BadUsage, nil)
	}
	return nil, console.Exit(console.BadUsage, err)
}

// maxPlacement is how many bytes of a placement are read at most.
const maxPlacement = 256 << 20

// readPlacement reads what says where CFs and DFs of the program go; nil where that is left to locators.
func readPlacement(io console.IO, prog *luna.Program, o *runOptions) (*placement.Bound, error) {
	if o.place == "" {
		return nil, nil
	}
	text, err := files.Read(o.place, maxPlacement)
	if err != nil {
		return nil, badInput(err)
	}
	wrong := func(err error) error { return badInput(fmt.Errorf("%s: %w", o.place, err)) }
	file, err := placement.Parse(text)
	if err != nil {
		return nil, wrong(err)
	}
	if last := file.LastNode(); last >= o.nodes {
		return nil, wrong(fmt.Errorf("it names node %d, the run has nodes 0 to %d: use -n %d", last, o.nodes-1,
			max(file.Nodes, last+1)))
	}
	bound, err := file.Bind(prog)
	if err != nil {
		return nil, wrong(err)
	}
	if bound.Unknown != "" {
		io.Say("warning: %s: %s", o.place, bound.Unknown)
	}
	return bound, nil
}

// prepare compiles the program into cfg. All processes of a run of many call it.
func prepare(ctx context.Context, io console.IO, c *crew.Crew, o *runOptions, cfg *engine.Config) error {
	prog, err := compile(io, &o.source)
	for name := range o.holds {
		if err == nil && !slices.ContainsFunc(prog.Codes, func(c luna.Code) bool { return c.Name == name }) {
			err = console.Misuse("run: --hold=%s: the program has no such code fragment", name)
		}
	}
	if err == nil {
		o.priority, err = priorities(ctx, prog, o.priority)
		cfg.Priority = o.priority
	}
	if err == nil {
		err = badInput(cmp.Or(engine.CheckArgs(prog, cfg.Args), engine.CheckNoMoreArgs(prog, cfg.Args)))
	}
	if err == nil {
		cfg.Place, err = readPlacement(io, prog, o)
	}
	if err == nil {
		err = o.order.steer(prog, cfg)
	}
	if err = c.Agree(err); err != nil {
		return err
	}
	// One process of each host compiles the C++; the others find it compiled.
	var built *cpp.Built
	for _, first := range []bool{true, false} {
		if first == (c.HostRank() == 0) {
			built, err = buildLibrary(ctx, io, prog, &o.source)
		}
		if err = c.Agree(err); err != nil {
			return err
		}
	}
	warning, err := c.SameCode(crew.ProgramText(prog), built.Path, crew.Sources(built.Read))
	if err = c.Agree(err); err != nil {
		return err
	}
	if warning != "" {
		io.Say("warning: %s", warning)
	}
	cfg.Program = prog
	cfg.Library, err = cpp.Open(built.Path, prog)
	return c.Agree(badInput(err))
}

var clockSyncTimes = map[string]engine.ClockSyncTime{
	"periodic": engine.ClockSyncPeriodic, "start": engine.ClockSyncEnds, "off": engine.ClockSyncOff,
}

// runProgram compiles, runs and reports. All processes call it; rank 0 speaks unless another fails alone.
func runProgram(ctx context.Context, std console.IO, c *crew.Crew, o *runOptions, plan *config.Plan,
	args []string) error {
	voice, err := c.Lead(ctx, std)
	if err = c.Agree(err); err != nil {
		return err
	}
	io := voice.IO
	r := &programRun{crew: c, voice: voice, opt: o}
	say := sayStuck(io)
	cfg := engine.Config{
		Nodes: o.nodes, Workers: o.workers, Args: args, Steal: !o.noSteal,
		ThreadClock: threadClocks[o.threadClock],
		LinkLatency: o.linkLatency, LinkBandwidth: o.bandwidth, Hold: o.holds,
		Warn:       func(text string) { io.Say("warning: %s", text) },
		StuckAfter: o.stuckAfter, Places: places,
		Inside: func(cf trace.InsideInfo, others int) { say(cf, others); r.rec.StayInside(cf) },
	}
	if c.Many() {
		cfg.Part = &engine.Part{
			Node: c.Rank(), Group: c.Group(), Connect: voice.Connect(),
			Clock: engine.ClockSync{
				When: clockSyncTimes[o.clock.sync], Precision: o.clock.precision, Drift: o.clock.drift * 1e-6,
			},
		}
	}
	err = prepare(ctx, std, c, o, &cfg)
	if err == nil && o.bind == "core" {
		err = r.bind(&cfg)
	}
	if err == nil {
		r.warnCores(io)
		r.rec, err = recording.Start(voice, c, r.recorded(ctx, std, args), plan)
	}
	if err != nil {
		return errors.Join(err, voice.End())
	}
	cfg.Session, cfg.Writers, cfg.DescribeDFs = r.rec.Session, r.rec.Writers(), r.rec.WantsDFs()
	cfg.Balancer = r.rec.Balancer()
	if cfg.Session != nil {
		cfg.Rules = engineRules(plan)
	}
	// User code may change the current folder; names of files of ours stand for what they stood for before.
	folder, folderErr := os.Getwd()
	runCtx, quit := context.WithCancel(ctx)
	defer quit()
	var debugged *debugging
	if o.debug != nil {
		if debugged, err = o.debug.begin(runCtx, voice, &cfg, o.source.file, quit); err != nil {
			return errors.Join(err, r.rec.End(err, err), voice.End())
		}
	}
	res, runErr := engine.Run(runCtx, cfg)
	if debugged != nil {
		if settings := debugged.end(); c.Speaks() {
			r.rec.NoteSettings(settings)
		}
	}
	if res != nil {
		r.rec.NoteInside(res.Inside)
	}
	after := afterRun(ctx)
	if c.Many() && errors.Is(runErr, engine.ErrInterrupted) {
		return r.rec.Interrupted(voice, func() { sayInterrupted(io, res) }, func() {
			flush(cfg.Library, recording.Grace)
			debugged.over()
		}, runErr)
	}
	closeLibrary(cfg.Library, runErr, cfg.Warn)
	if folderErr == nil {
		folderErr = os.Chdir(folder)
	}
	if folderErr != nil {
		io.Say("warning: the current folder may have changed: %v", folderErr)
	}
	var outcome error
	if c.Speaks() {
		if err := o.order.tell(io, o.quiet); err != nil {
			_ = io.Tell(err) // the run ended as it did
		}
		if res != nil && res.Unplaced > 0 && o.place != "" {
			io.Say("warning: %s lists no node for %d CFs of its statements: their locators placed them",
				o.place, res.Unplaced)
		}
		if outcome = debugged.wrong(); outcome == nil {
			outcome = runOutcome(io, res, runErr)
		}
	}
	endErr := r.rec.End(runErr, outcome)
	if err := native.Close(); err != nil {
		io.Say("warning: %v", err)
	}
	if folder := r.rec.Folder(); folder != "" && res != nil && len(res.Addresses) > 0 && c.Speaks() {
		endErr = cmp.Or(endErr, console.FileError(symbols.Resolve(res.Addresses).Save(folder)))
	}
	if c.Many() {
		endErr = r.part(ctx, after, std, endErr)
	}
	debugged.over()
	if !c.Speaks() {
		return nil
	}
	if r.rec.Folder() != "" {
		return r.report(ctx, after, std, outcome, endErr)
	}
	r.rec.FinishSending(after, o.quiet)
	if res != nil && !o.quiet {
		std.Say("%v, %d CFs, %d messages between nodes; no trace",
			time.Duration(res.WallNS).Round(time.Microsecond), res.CFs, res.Messages)
	}
	return cmp.Or(outcome, endErr)
}

// programRun is a run of a program, in one of its processes.
type programRun struct {
	crew  *crew.Crew
	voice *crew.Voice
	opt   *runOptions
	rec   *recording.Recording
	live  *livePage // nil: there is none
	bound [][]int   // the cores of workers, by process; nil: they are not bound
}

// recorded says what is recorded.
func (r *programRun) recorded(ctx context.Context, std console.IO, args []string) *recording.Options {
	o := r.opt
	opt := &recording.Options{
		Program: o.source.file, Args: args, Nodes: o.nodes, Workers: o.workers, NoTrace: o.noTrace,
		LocalDir: o.localDir, Asked: ctx.Done(),
		Describe: func(info *trace.RunInfo) { o.describe(info, r.crew.Many()); r.tellBound(info) },
	}
	if o.send.on() {
		opt.Send = o.send.sends()
	}
	if o.live.on {
		opt.Live = func(folder string) (_ recording.Page, err error) {
			r.live, err = startLive(std, &o.live, folder, o.debug.forPage())
			return r.live, err
		}
	}
	return opt
}

// bind gives the workers cores. All processes come to the same result.
func (r *programRun) bind(cfg *engine.Config) error {
	workers := r.opt.nodes * r.opt.workers
	if r.crew.Many() {
		workers = r.opt.workers
	}
	var err error
	if r.bound, err = r.crew.Bind(workers); err != nil {
		return console.Misuse("run: %w", err)
	}
	cfg.Bind = r.bound[r.crew.Rank()]
	return nil
}

// tellBound notes in run.json which cores the workers are bound to.
func (r *programRun) tellBound(info *trace.RunInfo) {
	if r.bound == nil {
		return
	}
	info.Settings["bind"] = r.opt.bind
	all := slices.Concat(r.bound...) // by node and worker
	for i := range info.Nodes {
		w := info.Nodes[i].Workers
		info.Nodes[i].Bound, all = all[:w:w], all[w:]
	}
}

// warnCores warns where there are more workers than cores.
func (r *programRun) warnCores(io console.IO) {
	workers, cores := r.opt.nodes*r.opt.workers, crew.AvailableCores()
	switch {
	case !r.crew.Speaks():
	case r.crew.Many():
		for _, line := range r.crew.CoreWarnings(r.opt.workers, crew.OnlineCores()) {
			io.Say("warning: %s", line)
		}
	case workers > cores:
		io.Say("warning: %d workers share %d available cores: expect pre-emption (-n, -w)", workers, cores)
	}
}

// part ends what many processes do together. The report is rank 0's alone, and may take long.
func (r *programRun) part(ctx, after context.Context, std console.IO, endErr error) error {
	endErr = cmp.Or(endErr, r.rec.Sent(after, r.opt.quiet))
	endErr = cmp.Or(endErr, r.voice.End())
	left := crew.EndAtOnce(ctx, func() {
		std.Say("interrupted")
		if dir := r.rec.Folder(); dir != "" {
			fmt.Fprintln(std.Err, dir)
		}
	})
	r.crew.Leave(&endErr)
	left()
	return endErr
}

// report tells what the user gets after the run: the report, what was sent, and last the trace's path.
func (r *programRun) report(ctx, after context.Context, io console.IO, outcome, endErr error) error {
	reportErr := reportRun(after, io, &r.opt.report, r.opt.quiet, r.rec.Folder(), outcome)
	r.rec.FinishSending(after, r.opt.quiet)
	// Say that a trace is incomplete however the program ended; the report may fail because of it.
	if outcome == nil {
		endErr = cmp.Or(endErr, reportErr)
	}
	outcome = cmp.Or(io.Tell(outcome), io.Tell(endErr))
	if r.live != nil {
		r.live.stay(ctx, io)
		r.live.close()
	}
	tellTrace(io, r.rec.Folder(), r.opt.quiet)
	return outcome
}

// describe tells run.json of the settings of the run.
func (o *runOptions) describe(info *trace.RunInfo, many bool) {
	v := readVersion()
	info.ThreadClock = map[string]string{"auto": "auto", "on": "always", "off": "never"}[o.threadClock]
	info.Versions["whyslow"], info.Versions["go"], info.Versions["os"] = v.Version, v.Go, v.Platform
	if v.Revision != "" {
		info.Versions["revision"] = v.Revision
	}
	s := info.Settings
	if o.linkLatency > 0 {
		s["link_latency"] = o.linkLatency.String()
	}
	if o.bandwidth > 0 {
		s["link_bandwidth"] = o.linkBandwidth
	}
	if o.noSteal {
		s["steal"] = "off"
	}
	if o.place != "" {
		s["place"] = o.place
	}
	if o.order.trace != "" {
		s["order"] = o.order.trace
	}
	if o.order.fuzz != "" {
		s["fuzz_order"] = o.order.fuzz
	}
	if o.balance != "" {
		s["balance"] = o.balance
	}
	if len(o.priority) > 0 {
		s["priority"] = strings.Join(o.priority, ",")
	}
	for code, d := range o.holds {
		s["hold "+code] = d.String()
	}
	if o.source.noWaits {
		s["waits"] = "off"
	}
	if !cpp.TellsQueued() {
		s["core_waits"] = slou.UnknownCoreWaits
	}
	if !many {
		return
	}
	s["clock_sync"] = o.clock.sync
	if o.clock.sync == clockSyncs[0] {
		s["clock_precision"], s["clock_drift"] = o.clock.precision.String(), fmt.Sprintf("%g ppm", o.clock.drift)
	}
	if o.clock.skew != "" {
		s["clock_skew"] = o.clock.skew
	}
}

// closeLibrary ends the program's C++ side: what it printed comes out. After a failure some of its code may
// still be running or hold a lock, so then nothing is unloaded and the output is waited for only a moment.
func closeLibrary(library *cpp.Library, runErr error, warn func(string)) {
	var stuck *engine.StuckError
	if runErr == nil || errors.As(runErr, &stuck) {
		closed := make(chan error)
		go func() { closed <- library.Close() }() // user code ends: not on the main thread, see main.go
		if err := <-closed; err != nil {
			warn(err.Error())
		}
		return
	}
	flush(library, time.Second)
}

// flush brings out what user code has printed, and waits for that so long.
func flush(library *cpp.Library, long time.Duration) {
	flushed := make(chan struct{})
	go func() { library.Flush(); close(flushed) }()
	select {
	case <-flushed:
	case <-time.After(long):
	}
}

// runOutcome tells the user how a run ended, except where it ended well, and gives the exit code.
func runOutcome(io console.IO, res *engine.Result, err error) error {
	var stuck *engine.StuckError
	var failed *engine.ProgramError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &stuck):
		io.Say("%v", stuck)
		lifecycle.Explain(io.Err, &stuck.Stuck, false)
		return console.Exit(console.Stuck, nil)
	case errors.As(err, &failed):
		io.Say("%v", failed)
		if failed.Exited && failed.ExitCode == 0 {
			return nil
		}
		return console.Exit(console.Failed, nil)
	case errors.Is(err, engine.ErrInterrupted), errors.Is(err, engine.ErrQuit):
		sayInterrupted(io, res)
		return console.Exit(console.Interrupted, nil)
	}
	return badInput(err)
}

// sayInterrupted says that the run was interrupted, and where CFs were that did not come back from user
// code.
func sayInterrupted(io console.IO, res *engine.Result) {
	io.Say("interrupted")
	for i := 0; res != nil && i < min(len(res.Inside), mostLeft); i++ {
		io.Say("%s", lifecycle.StayedInside(&res.Inside[i]).In(words.English))
	}
	if res != nil && len(res.Inside) > mostLeft {
		io.Say("%s inside CFs, too", words.Plural(int64(len(res.Inside)-mostLeft), "other worker was",
			"other workers were"))
	}
}

// mostLeft is how many CFs are named after an interrupt.
const mostLeft = 4

// sayStuck says where a CF is that does not come back, while nothing else happens.
func sayStuck(io console.IO) func(cf trace.InsideInfo, others int) {
	return func(cf trace.InsideInfo, others int) {
		text := lifecycle.StaysInside(&cf).In(words.English)
		if others > 0 {
			text += fmt.Sprintf("; %s inside CFs, too", words.Plural(int64(others), "other worker is",
				"other workers are"))
		}
		io.Say("%s", text)
	}
}

// places tells the engine where addresses are in the source.
func places(addresses []string) map[string]engine.Place {
	found := map[string]engine.Place{}
	for text, p := range symbols.Resolve(addresses) {
		found[text] = engine.Place{Function: p.Function, File: p.File, Line: p.Line}
	}
	return found
}

// engineRules are the rules of the configuration that the engine can follow; checkRules warns of the others.
func engineRules(plan *config.Plan) (rules []config.EventState) {
	for _, e := range plan.Events {
		if e.On && e.Rule != nil && engine.CheckRule(e) == nil {
			rules = append(rules, e)
		}
	}
	return rules
}

// checkRules adds warnings about rules that the engine cannot follow. An expression that it cannot calculate
// is an error.
func checkRules(plan *config.Plan) error {
	for _, e := range plan.Events {
		if !e.On || e.Rule == nil {
			continue
		}
		err := engine.CheckRule(e)
		if bad := (*engine.RuleArgError)(nil); errors.As(err, &bad) {
			return badInput(fmt.Errorf("%v: %w", e.ArgAt(bad.Arg, bad.Offset), err))
		}
		if err != nil {
			plan.Warnings = append(plan.Warnings,
				config.Warning{Pos: e.Pos, Text: fmt.Sprintf("%v; the rule is skipped", err)})
		}
	}
	return nil
}
