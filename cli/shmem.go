package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/record/pgas/collectors"
	"github.com/whyslow/whyslow/internal/record/pgas/launch"
	"github.com/whyslow/whyslow/internal/record/recording"
	"github.com/whyslow/whyslow/internal/record/stream"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// shmemOptions say how an OpenSHMEM program is recorded.
type shmemOptions struct {
	out        string // trace folder; "" chooses one
	quiet      bool
	library    string // write the libraries to this folder, and run nothing
	instrument string
	clockSync  string
	trace      traceOptions
	live       liveOptions
	send       sendOptions
	report     reportOptions

	settings map[string]string // WHYSLOW_* variables for the program
}

// Words that flags take, and docs/c-sdk.md explains as values of WHYSLOW_INSTRUMENT and WHYSLOW_CLOCK_SYNC.
var (
	instrumentLevels = []string{"auto", "sync", "calls", "local", "functions"}
	whenSyncs        = []string{"auto", "off", "always"}
)

// largestBuffer of a collector, in bytes.
const largestBuffer = 64 << 20

func shmemCommand(io console.IO) *cobra.Command {
	var o shmemOptions
	cmd := &cobra.Command{
		Use:   "shmem [flags] -- oshrun [option]... PROGRAM [argument]...",
		Short: "Run an OpenSHMEM program, record a trace, report where the time went",
		Long: `Run an OpenSHMEM program with oshrun or another launcher, and record what each PE does: barriers,
broadcasts, reductions, puts and gets, locks, memory. The program needs no change and no
recompilation: a library is loaded before OpenSHMEM's own (LD_PRELOAD) and passes every call on. The
library is compiled at first use, which needs a C compiler.

Standard input and output belong to the program. whyslow writes to standard error: the report, and
as the last line the path of the trace. The trace goes to PROGRAM.NNN.trace beside the program;
whyslow never overwrites one. Environment variables that begin with WHYSLOW_ reach the program, on
other hosts too; flags override them.

--library writes the libraries that record OpenSHMEM and UPC programs to a folder, for linking.

Exit codes:
  0    done
  1    the program failed: its launcher returned a non-zero exit code
  2    usage, no launcher, no compiler; or nothing was recorded, because the program does not use
       OpenSHMEM or is linked statically
  4    the trace is damaged or ends early (what could be read was used)
  130  interrupted`,
		Example: `  whyslow shmem -- oshrun -np 4 ./prog 100
  whyslow shmem --instrument functions -o first.trace -- oshrun -np 4 ./prog
  whyslow shmem --live -- oshrun -np 2 ./prog
  whyslow shmem --to head:7568 -- oshrun -np 4 ./prog
  whyslow shmem -q --json=report.json -- srun -n 64 ./prog
  whyslow shmem --library lib`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(cmd.Flags(), args); err != nil {
				return err
			}
			if o.library != "" {
				return writeLibraries(cmd.Context(), io, o.library)
			}
			return runShmem(cmd.Context(), io, &o, args)
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return []string{"oshrun", "srun"}, cobra.ShellCompDirectiveDefault
			}
			return nil, cobra.ShellCompDirectiveDefault
		},
	}
	f := cmd.Flags()
	f.SetInterspersed(false) // what follows the launcher is its own
	f.StringVarP(&o.out, "output", "o", "", "`folder` for the trace; must be new or empty (default:"+
		" $WHYSLOW_TRACE, or PROGRAM.NNN.trace)")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "no report on standard error")
	f.StringVar(&o.instrument, "instrument", "auto", "`what` to record: sync (barriers, collectives,"+
		" locks, memory), calls (and transfers), local (and those to the PE itself), functions (and"+
		" functions of the program compiled with -finstrument-functions), auto (calls, and such functions)")
	f.StringVar(&o.clockSync, "clock-sync", "auto", "compare the clocks of hosts at the start and the end:"+
		" `when` is auto (PEs are on several), off or always")
	f.StringVar(&o.library, "library", "", "write the libraries for linking, and their headers, to this"+
		" `folder`; run nothing")
	o.trace.addTo(f)
	// Where nothing is said the library's own defaults hold, which are made for this.
	f.Lookup("trace-buffer").Usage = "`size` of a buffer in which a thread collects events, 1Ki to 64Mi bytes"
	f.Lookup("trace-pool").Usage = "`number` of buffers of a PE beyond one per thread"
	f.Lookup("trace-sync").Usage = "threads write their full buffers themselves, and wait for the disk"
	f.Lookup("trace-flush").Usage = "write events after this `time` even if no buffer is full; 0: never" +
		" (with --live: 200ms)"
	f.Lookup("trace-buffer").DefValue, f.Lookup("trace-pool").DefValue = "1Mi", "16"
	o.live.addTo(f)
	o.send.addTo(f)
	f.Lookup("to").Usage = "send the run, as it executes, to the collector at `HOST:PORT` (whyslow serve;" +
		" default: $WHYSLOW_TO)"
	o.report.addTo(cmd)
	for _, name := range []string{"inputs", "rule", "all"} { // are about CFs
		f.Lookup(name).Hidden = true
	}
	f.Lookup("by").Usage = "split the factors by `what`: node (PE), worker, or code (function or operation)"
	f.Lookup("csv").Usage = "write factors over time, and all metrics by call path and PE, as a table to" +
		" `FILE`; - is standard output"
	for flag, values := range map[string][]string{"instrument": instrumentLevels, "clock-sync": whenSyncs,
		"trace-full": {"wait", "drop"}} {
		completeWords(cmd, flag, values)
	}
	if err := cmd.MarkFlagDirname("library"); err != nil {
		panic(err)
	}
	return cmd
}

// check finds what is wrong with the flags, and turns them into settings.
func (o *shmemOptions) check(f *pflag.FlagSet, args []string) error {
	if o.library != "" {
		if len(args) > 0 {
			return console.Misuse("shmem: --library runs nothing: leave out %q", args[0])
		}
		return nil
	}
	if len(args) == 0 {
		return console.Misuse("shmem: no program given; give the command that starts it, such as" +
			" oshrun -np 4 ./prog")
	}
	o.send.takeFromEnvironment()
	o.live.page.memory.text = o.report.memory.text
	return cmp.Or(checkChoice("shmem", "instrument", o.instrument, instrumentLevels...),
		checkChoice("shmem", "clock-sync", o.clockSync, whenSyncs...),
		o.checkTrace(f), o.checkEnvironment(), o.live.check("shmem", f), o.send.check("shmem", f, 1), o.report.check("shmem"))
}

// checkEnvironment refuses what the library would refuse.
func (o *shmemOptions) checkEnvironment() error {
	if err := launch.CheckSettings(o.settings); err != nil {
		return console.Misuse("shmem: %v", err)
	}
	return nil
}

// checkTrace turns the flags that say how the trace is written into settings.
func (o *shmemOptions) checkTrace(f *pflag.FlagSet) error {
	t := &o.trace
	buffer, bufferErr := words.ParseBytes(t.buffer)
	flush, flushErr := time.ParseDuration(t.flush)
	full := checkChoice("shmem", "trace-full", t.full, "wait", "drop")
	switch {
	case f.Changed("trace-buffer") && (bufferErr != nil || buffer < 1<<10 || buffer > largestBuffer):
		return console.Misuse("shmem: --trace-buffer=%s: give 1Ki to 64Mi bytes", t.buffer)
	case t.pool < 1 || t.pool > 1<<16:
		return console.Misuse("shmem: --trace-pool=%d: give 1 to 65536 buffers", t.pool)
	case t.level < 0 || t.level > 4:
		return console.Misuse("shmem: --trace-level=%d: give 0 to 4", t.level)
	case full != nil:
		return full
	case t.flush != "0" && (flushErr != nil || flush < time.Millisecond || flush > 1000*time.Second):
		return console.Misuse("shmem: --trace-flush=%s: give 1ms to 1000s, or 0", t.flush)
	}
	o.settings = map[string]string{"WHYSLOW_RUN_ID": trace.NewRunID()} // all PEs must have the same
	if o.live.on {
		o.settings["WHYSLOW_FLUSH"] = "200"
	}
	level := t.level
	if level == 0 {
		level = -1
	}
	for _, set := range [][3]string{
		{"instrument", "WHYSLOW_INSTRUMENT", o.instrument},
		{"clock-sync", "WHYSLOW_CLOCK_SYNC", o.clockSync},
		{"trace-buffer", "WHYSLOW_BUFFER", strconv.Itoa(int(buffer))},
		{"trace-pool", "WHYSLOW_POOL", strconv.Itoa(t.pool)},
		{"trace-level", "WHYSLOW_LEVEL", strconv.Itoa(level)},
		{"trace-sync", "WHYSLOW_SYNC", map[bool]string{true: "1", false: "0"}[t.sync]},
		{"trace-full", "WHYSLOW_FULL", t.full},
		{"trace-flush", "WHYSLOW_FLUSH", strconv.FormatInt(flush.Milliseconds(), 10)},
	} {
		if f.Changed(set[0]) {
			o.settings[set[1]] = set[2]
		}
	}
	return nil
}

// writeLibraries writes what programs are linked with.
func writeLibraries(ctx context.Context, io console.IO, dir string) error {
	written, err := collectors.Write(ctx, dir)
	if err != nil {
		return ofCollectors(ctx, err)
	}
	for _, name := range written {
		fmt.Fprintln(io.Out, filepath.Join(dir, name))
	}
	return nil
}

// ofCollectors is an error of compiling the libraries.
func ofCollectors(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return console.Exit(console.Interrupted, errors.New("interrupted while compiling the library that records"))
	}
	return badInput(err)
}

// besideTrace copies the library to the trace's folder, which all hosts see; remove removes it.
func besideTrace(library, dir string) (path string, remove func(), err error) {
	path = filepath.Join(dir, filepath.Base(library))
	if strings.ContainsAny(path, " :\t\n") { // these end a name in LD_PRELOAD
		return library, func() {}, nil
	}
	b, err := os.ReadFile(library)
	if err == nil {
		err = os.WriteFile(path, b, 0o777)
	}
	return path, func() { _ = os.Remove(path) }, err
}

// runShmem runs, records and reports.
func runShmem(ctx context.Context, io console.IO, o *shmemOptions, words []string) error {
	l, err := launch.New(ctx, words)
	if err != nil {
		return badInput(err)
	}
	line := console.StartProgress(io)
	line.Set("compiling the library that records")
	library, err := collectors.Build(ctx, "shmem")
	line.End()
	if err != nil {
		return ofCollectors(ctx, err)
	}
	dir, made, err := o.makeDir(io, l)
	if err != nil {
		return badInput(err)
	}
	library, remove, err := besideTrace(library, dir)
	unmake := func() {
		remove()
		if made {
			os.Remove(dir) // if it is empty
		}
	}
	if err != nil {
		unmake()
		return badInput(err)
	}
	if err := l.Prepare(library, dir, o.settings); err != nil {
		unmake()
		return badInput(err)
	}
	var page *livePage
	if o.live.on {
		if page, err = startLive(io, &o.live, dir); err != nil {
			unmake()
			return err
		}
		defer page.close()
	}
	var sending *recording.Sending
	if o.send.on() {
		sending = recording.StartSending(io, o.send.sends(), stream.Folder(dir))
		defer sending.Stop()
	}
	outcome := l.Run(ctx, io)
	after := afterRun(ctx)
	endErr := l.End(dir, outcome, func(r *trace.Reader) error { return tellMissing(io, missing(r)) })
	remove()
	if page != nil {
		page.Ended()
	}
	var nothing *launch.NothingRecorded
	if errors.As(endErr, &nothing) {
		unmake()
		if outcome != nil && console.Code(outcome) == console.Interrupted {
			return outcome
		}
		return endErr
	}
	var reportErr error
	if !errors.Is(endErr, launch.ErrNoEvents) {
		reportErr = reportRun(after, io, &o.report, o.quiet, dir, outcome)
	}
	if sending != nil {
		sending.Finish(after, o.quiet)
	}
	var result error // the first; the path is the last line, so that all are told before it
	for _, err := range []error{outcome, reportErr, endErr} {
		err = io.Tell(err)
		result = cmp.Or(result, err)
	}
	if page != nil {
		page.stay(ctx, io)
	}
	fmt.Fprintln(io.Err, dir)
	return result
}

// makeDir makes the folder for the trace, unless there is an empty one; made: it did.
func (o *shmemOptions) makeDir(io console.IO, l *launch.Launch) (dir string, made bool, err error) {
	if o.out == "" {
		o.out = os.Getenv("WHYSLOW_TRACE")
	}
	if o.out != "" {
		_, err := os.Stat(o.out)
		return o.out, errors.Is(err, fs.ErrNotExist), recording.MakeFolder(o.out)
	}
	program := l.Program
	if program == "" {
		program = filepath.Base(l.Words[0])
	}
	if _, err := os.Stat(program); errors.Is(err, fs.ErrNotExist) || !strings.Contains(program, "/") {
		program = filepath.Base(program) // found by its name alone: where that is does not matter
	}
	dir, note, err := recording.NewFolder(program)
	if note != "" {
		io.Say("%s", note)
	}
	return dir, true, err
}
