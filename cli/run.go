package cli

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/record/modules"
	"github.com/whyslow/whyslow/internal/run/config"
	"github.com/whyslow/whyslow/internal/run/crew"
	"github.com/whyslow/whyslow/internal/words"
)

// Limits of a run; a CF id has 16 bits for its node.
const (
	maxNodes   = 1 << 16
	maxWorkers = 1024
)

// runOptions say which program to run and how.
type runOptions struct {
	nodes, workers int
	out            string // trace folder; "" chooses one
	noTrace        bool
	quiet          bool
	threadClock    string
	linkLatency    time.Duration
	linkBandwidth  string
	hold           []string
	place          string // file that says where CFs and DFs go
	noSteal        bool
	bind           string   // core or none
	priority       []string // code fragments whose CFs come first; see priorities
	balance        string   // which module moves CFs while the program runs; "": none
	stuckAfter     time.Duration
	order          orderOptions
	debug          *debugOptions // nil: the program is not debugged
	debugLive      bool          // --debug of a live run
	trace          traceOptions
	send           sendOptions
	live           liveOptions
	clock          clockOptions
	localDir       string // where each process of many writes its part of the trace; "": where all do
	profile        profileOptions
	explain        bool // print the plan instead of running
	report         reportOptions
	source         sourceOptions

	bandwidth float64                  // linkBandwidth in bytes per second
	holds     map[string]time.Duration // hold by code fragment
}

// sourceOptions say how to compile a program.
type sourceOptions struct {
	file       string
	defines    []string
	cppDirs    []string
	cppSources []string
	optimize   string // 0 to 3
	noWaits    bool
	variables  bool // compile C++ code with the names of variables, for gdb
	verbose    bool
}

func runCommand(io console.IO) *cobra.Command { return newRunCommand(io, &runOptions{}) }

// newRunCommand makes a command that runs a program with these options, whose flags set them.
func newRunCommand(io console.IO, o *runOptions) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run [flags] PROGRAM.fa [argument]...",
		Short: "Run a LuNA program, record a trace, report where the time went",
		Long: `Run a LuNA program. Standard input and output belong to the program. whyslow writes to standard
error: the report, and as the last line the path of the trace. The trace goes to PROGRAM.NNN.trace
in the current folder; whyslow never overwrites one.

All nodes share this process. --link-latency and --link-bandwidth make the links between them as
slow as a network. Under mpirun (with a whyslow built by 'make mpi') each rank is a node, and the
links are real.
` + exitCodes(1, 2, 3, 4),
		Example: `  whyslow run prog.fa 100
  whyslow run -n 2 -w 1 --link-latency=50us --by node prog.fa 100
  whyslow run --json=report.json -o first.trace prog.fa
  whyslow run --live prog.fa 100
  whyslow run --to head:7568 prog.fa 100
  mpirun -n 4 --bind-to none whyslow run prog.fa 100`,
		Args: someArgs("program"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if err := o.clock.spoil(); err != nil {
				return err
			}
			started := crew.EndAtOnce(cmd.Context(), func() { io.Say("interrupted") })
			defer started()
			c, err := crew.Join(buildName())
			if err != nil {
				return err
			}
			defer c.LeaveUnlessInterrupted(cmd.Context(), &err)
			io := c.Hush(io)
			if err := c.Meet(); err != nil {
				return badInput(err)
			}
			var plan *config.Plan
			if err = o.check(cmd.Flags(), args, c); err == nil {
				plan, err = o.plan(io, cmd.Flags())
			}
			if err = c.Agree(err); err != nil || o.explain {
				return err
			}
			started()
			if o.order.repeat > 0 {
				return repeatRun(cmd.Context(), io, cmd.Flags(), o, args)
			}
			return runProgram(cmd.Context(), io, c, o, plan, args[1:])
		},
	}
	f := cmd.Flags()
	f.SetInterspersed(false) // what follows the program is its own
	f.IntVarP(&o.nodes, "nodes", "n", 1, "`number` of nodes (under mpirun: of ranks)")
	f.IntVarP(&o.workers, "workers", "w", 0, "`number` of workers of each node (default: available cores"+
		" / nodes)")
	f.StringVarP(&o.out, "output", "o", "", "`folder` for the trace; must be new or empty")
	f.BoolVar(&o.noTrace, "no-trace", false, "record nothing: no trace, no report")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "no report on standard error")
	f.StringVar(&o.threadClock, "thread-clock", "auto", "measure the CPU time of CFs: `when` is auto (for"+
		" each CF over 50 µs, for shorter ones together), on (for each) or off")
	f.BoolVar(&o.source.noWaits, "no-waits", false, "do not record where C++ code waits for locks, files and"+
		" timers: link it without the wrappers that record that")
	f.DurationVar(&o.linkLatency, "link-latency", 0, "time that a message takes, such as 50us")
	f.StringVar(&o.linkBandwidth, "link-bandwidth", "", "`bytes` per second of each link, such as 1G or"+
		" 200M (default: unlimited)")
	f.StringArrayVar(&o.hold, "hold", nil, "hold each CF of a code fragment before it may start:"+
		" `CODE=DURATION` (repeatable)")
	f.StringVar(&o.place, "place", "", "place CFs and DFs as this `file` says, which balance -o wrote, not by"+
		" the program's locators")
	f.StringSliceVar(&o.priority, "priority", nil, "take CFs of these code fragments first: `CODE,...`, or"+
		" critical-path=TRACE for those on the longest chain of a recorded run")
	f.StringVar(&o.bind, "bind", "none", "give each worker its own core, which no worker of another rank"+
		" has: `to` core, or none")
	f.BoolVar(&o.noSteal, "no-steal", false, "idle nodes do not take stealable CFs from others")
	f.StringVar(&o.balance, "balance", "", "move CFs between nodes while the program runs: `how` is central,"+
		" diffusion, or your own balancer module")
	f.DurationVar(&o.stuckAfter, "stuck-after", 10*time.Second, "`time` without progress after which whyslow"+
		" says which CF does not return from C++ code, and where it is; 0: never")
	o.order.addTo(f)
	o.clock.addTo(f)
	f.StringVar(&o.localDir, "local-dir", "", "under mpirun, write each node's file below this `folder`,"+
		" on a disk of each host, and gather the files at the end")
	o.trace.addTo(f)
	o.live.addTo(f)
	if o.debug == nil {
		f.BoolVar(&o.debugLive, "debug", false, "with --live, stop the program before it begins, and debug it from"+
			" the page, like 'whyslow debug --page'")
	}
	o.send.addTo(f)
	o.profile.addTo(cmd)
	completeBalance(cmd)
	f.BoolVar(&o.explain, "explain-config", false, "say for every event and module whether it is on, and"+
		" which line or flag decides that; run nothing (--json: as JSON)")
	o.report.addTo(cmd)
	f.StringArrayVarP(&o.source.defines, "define", "D", nil, "define a macro, `NAME[=TEXT]` (repeatable)")
	f.StringArrayVar(&o.source.cppDirs, "cpp-dir", nil, "take *.cpp from this `folder` instead of the program's"+
		" (repeatable)")
	f.StringArrayVar(&o.source.cppSources, "cpp-source", nil, "one more C++ `file` (repeatable)")
	f.StringVarP(&o.source.optimize, "optimize", "O", "3", "`level` of optimisation of C++, 0 to 3: -O0"+
		" compiles fast")
	f.BoolVar(&o.source.verbose, "build-verbose", false, "print the commands that compile C++")
	return cmd
}

// check fills in defaults and finds what is wrong with the flags.
func (o *runOptions) check(f *pflag.FlagSet, args []string, c *crew.Crew) error {
	o.source.file = args[0]
	if o.nodes < 1 || o.nodes > maxNodes {
		return console.Misuse("run: -n %d: the number of nodes must be 1 to %d", o.nodes, maxNodes)
	}
	if err := cmp.Or(o.checkMany(f, c), o.checkOrder(f, c), o.checkDebug(f, c)); err != nil {
		return err
	}
	if !f.Changed("workers") && o.order.trace == "" {
		o.workers = max(1, crew.AvailableCores()/o.nodes)
		if c.Many() {
			o.workers = c.Workers(maxWorkers)
		}
	}
	if o.workers < 1 || o.workers > maxWorkers {
		return console.Misuse("run: -w %d: the number of workers must be 1 to %d", o.workers, maxWorkers)
	}
	if err := cmp.Or(checkChoice("run", "thread-clock", o.threadClock, "auto", "on", "off"),
		checkChoice("run", "bind", o.bind, "none", "core")); err != nil {
		return err
	}
	switch {
	case len(o.source.optimize) != 1 || !strings.Contains("0123", o.source.optimize):
		return console.Misuse("run: -O%s: the level must be 0 to 3", o.source.optimize)
	case o.stuckAfter < 0:
		return console.Misuse("run: --stuck-after=%v: cannot be negative", o.stuckAfter)
	case o.linkLatency < 0:
		return console.Misuse("run: --link-latency=%v: cannot be negative", o.linkLatency)
	}
	if o.linkBandwidth != "" {
		var err error
		if o.bandwidth, err = words.ParseBytes(o.linkBandwidth); err != nil {
			return console.Misuse("run: --link-bandwidth=%s: %v", o.linkBandwidth, err)
		}
	}
	o.holds = map[string]time.Duration{}
	for _, h := range o.hold {
		// The name may hold "=" itself: "while i=..." does not, but nothing forbids it.
		i := strings.LastIndex(h, "=")
		if i < 1 {
			return console.Misuse("run: --hold=%s: use CODE=DURATION, such as mult=5ms", h)
		}
		d, err := time.ParseDuration(h[i+1:])
		if err != nil || d < 0 {
			return console.Misuse("run: --hold=%s: %q is not a duration such as 5ms", h, h[i+1:])
		}
		o.holds[h[:i]] = d
	}
	for _, flag := range []string{"output", "json", "html", "csv", "by", "full", "all", "windows", "window"} {
		if o.noTrace && f.Changed(flag) {
			return console.Misuse("run: --no-trace records nothing: --%s makes no sense with it", flag)
		}
	}
	if err := o.checkBalance(); err != nil {
		return err
	}
	if err := o.trace.check(); err != nil {
		return err
	}
	if o.live.on && o.noTrace {
		return console.Misuse("run: --live shows the trace while it is written: --no-trace makes no sense with it")
	}
	o.live.page.memory.text = o.report.memory.text
	o.send.takeFromEnvironment()
	if err := cmp.Or(o.live.check("run", f), o.send.check("run", f, c.Size())); err != nil {
		return err
	}
	for _, flag := range traceFlags {
		if o.noTrace && !o.send.on() && f.Changed(flag) {
			return console.Misuse("run: --no-trace records nothing: --trace-buffer and the like make no sense with it")
		}
	}
	return o.report.check("run")
}

// checkMany finds what does not go with many processes, or with one.
func (o *runOptions) checkMany(f *pflag.FlagSet, c *crew.Crew) error {
	if err := o.clock.check(f, c.Many()); err != nil {
		return err
	}
	if !c.Many() {
		if o.localDir != "" {
			return console.Misuse("run: --local-dir: one process writes its trace in one place (-o); it is" +
				" for runs started by mpirun")
		}
		return nil
	}
	switch {
	case o.nodes != 1 && o.nodes != c.Size():
		return console.Misuse("run: -n %d: mpirun started %d ranks, each of which is a node; leave out -n",
			o.nodes, c.Size())
	case o.linkLatency > 0 || o.linkBandwidth != "":
		return console.Misuse("run: --link-latency and --link-bandwidth are for links within one process;" +
			" under mpirun links are real")
	case o.localDir != "" && o.noTrace:
		return console.Misuse("run: --no-trace records nothing: --local-dir makes no sense with it")
	case o.localDir != "" && o.live.on:
		return console.Misuse("run: --live shows the folder of the trace while it is written: it makes no" +
			" sense with --local-dir")
	}
	o.nodes = c.Size()
	return nil
}

// plan decides which events are on and which modules run.
func (o *runOptions) plan(io console.IO, f *pflag.FlagSet) (*config.Plan, error) {
	p := o.profile
	if o.balance != "" {
		p.flags.Modules = append(p.flags.Modules, "+"+o.balance)
	}
	p.flags.NoTrace = o.noTrace && !o.send.on() // what is sent must be recorded
	p.flags.Written = o.trace.sets(f)
	p.flags.Sets = append(slices.Sorted(maps.Keys(p.flags.Written)), p.flags.Sets...)
	plan, err := p.load("run", filepath.Dir(o.source.file))
	if err != nil {
		return nil, err
	}
	recorded := slices.ContainsFunc(plan.Modules,
		func(m config.ModuleState) bool { return m.Name == modules.TraceWriterName && m.On })
	if !recorded && (o.send.on() || o.live.on) {
		return nil, console.Misuse("run: the module %s is off: there is nothing for --live to show and --to"+
			" to send", modules.TraceWriterName)
	}
	if err := checkRules(plan); err != nil {
		return nil, err
	}
	switch {
	case !o.explain:
		warn(io, plan.Warnings) // of what has no effect
		return plan, nil
	case o.report.json == "":
		return plan, badInput(plan.Explain(io.Out))
	}
	return plan, writeJSON(io.Out, plan)
}

// maxSource is how many bytes of a program are read at most.
const maxSource = 64 << 20

// readSource reads the program, which may also come through a pipe.
func readSource(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, badInput(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSource+1))
	if err == nil && len(text) > maxSource {
		err = fmt.Errorf("%s: longer than %d bytes", file, maxSource)
	}
	return text, badInput(err)
}
