package cli

import (
	"cmp"
	"context"
	"errors"
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

// What the verbs have in common that record programs through a library: shmem, mpi and omp.

// collectedOptions say how a program that a library records is recorded.
type collectedOptions struct {
	verb   string
	out    string // trace folder; "" chooses one
	quiet  bool
	trace  traceOptions
	live   liveOptions
	send   sendOptions
	report reportOptions

	settings map[string]string // WHYSLOW_* variables for the program
}

// largestBuffer of a collector, in bytes.
const largestBuffer = 64 << 20

func (o *collectedOptions) addTo(cmd *cobra.Command) {
	f := cmd.Flags()
	f.SetInterspersed(false) // what follows the program is its own
	f.StringVarP(&o.out, "output", "o", "", "`folder` for the trace; must be new or empty (default:"+
		" $WHYSLOW_TRACE, or PROGRAM.NNN.trace)")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "no report on standard error")
	o.trace.addTo(f)
	// Where nothing is said the library's own defaults hold, which are made for this.
	f.Lookup("trace-buffer").Usage = "`size` of a buffer in which a thread collects events, 1Ki to 64Mi bytes"
	f.Lookup("trace-pool").Usage = "`number` of buffers of a process beyond one per thread"
	f.Lookup("trace-sync").Usage = "threads write their full buffers themselves, and wait for the disk"
	f.Lookup("trace-flush").Usage = "write events after this `time` even if no buffer is full; 0: never" +
		" (with --live: 200ms)"
	f.Lookup("trace-buffer").DefValue, f.Lookup("trace-pool").DefValue = "1Mi", "16"
	o.live.addTo(f)
	o.send.addTo(f)
	f.Lookup("to").Usage = "send the run, as it executes, to the collector at `HOST:PORT` (whyslow serve;" +
		" default: $WHYSLOW_TO)"
	o.report.addTo(cmd)
	completeWords(cmd, "trace-full", []string{"wait", "drop"})
}

// check finds what is wrong with the flags, and turns them into settings. more are flags of a verb, each with
// its variable and value.
func (o *collectedOptions) check(f *pflag.FlagSet, more ...[3]string) error {
	o.send.takeFromEnvironment()
	o.live.page.memory.text = o.report.memory.text
	return cmp.Or(o.checkTrace(f, more), o.checkEnvironment(), o.live.check(o.verb, f),
		o.send.check(o.verb, f, 1), o.report.check(o.verb))
}

// checkEnvironment refuses what the library would refuse.
func (o *collectedOptions) checkEnvironment() error {
	if err := launch.CheckSettings(o.settings); err != nil {
		return console.Misuse("%s: %v", o.verb, err)
	}
	return nil
}

// checkTrace turns the flags that say how the trace is written into settings.
func (o *collectedOptions) checkTrace(f *pflag.FlagSet, more [][3]string) error {
	t := &o.trace
	buffer, bufferErr := words.ParseBytes(t.buffer)
	flush, flushErr := time.ParseDuration(t.flush)
	full := checkChoice(o.verb, "trace-full", t.full, "wait", "drop")
	switch {
	case f.Changed("trace-buffer") && (bufferErr != nil || buffer < 1<<10 || buffer > largestBuffer):
		return console.Misuse("%s: --trace-buffer=%s: give 1Ki to 64Mi bytes", o.verb, t.buffer)
	case t.pool < 1 || t.pool > 1<<16:
		return console.Misuse("%s: --trace-pool=%d: give 1 to 65536 buffers", o.verb, t.pool)
	case t.level < 0 || t.level > 4:
		return console.Misuse("%s: --trace-level=%d: give 0 to 4", o.verb, t.level)
	case full != nil:
		return full
	case t.flush != "0" && (flushErr != nil || flush < time.Millisecond || flush > 1000*time.Second):
		return console.Misuse("%s: --trace-flush=%s: give 1ms to 1000s, or 0", o.verb, t.flush)
	}
	o.settings = map[string]string{"WHYSLOW_RUN_ID": trace.NewRunID()} // all PEs must have the same
	if o.live.on {
		o.settings["WHYSLOW_FLUSH"] = "200"
	}
	level := t.level
	if level == 0 {
		level = -1
	}
	for _, set := range append(more, [][3]string{
		{"trace-buffer", "WHYSLOW_BUFFER", strconv.Itoa(int(buffer))},
		{"trace-pool", "WHYSLOW_POOL", strconv.Itoa(t.pool)},
		{"trace-level", "WHYSLOW_LEVEL", strconv.Itoa(level)},
		{"trace-sync", "WHYSLOW_SYNC", map[bool]string{true: "1", false: "0"}[t.sync]},
		{"trace-full", "WHYSLOW_FULL", t.full},
		{"trace-flush", "WHYSLOW_FLUSH", strconv.FormatInt(flush.Milliseconds(), 10)},
	}...) {
		if f.Changed(set[0]) {
			o.settings[set[1]] = set[2]
		}
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

// builder compiles a library that records, or finds it.
type builder func(ctx context.Context) (string, error)

// ofName makes a library that needs the C compiler only.
func ofName(name string) builder {
	return func(ctx context.Context) (string, error) { return collectors.Build(ctx, name) }
}

// run runs a program, records it with a library, and reports.
func (o *collectedOptions) run(ctx context.Context, io console.IO, l *launch.Launch, build builder) error {
	line := console.StartProgress(io)
	line.Set("compiling the library that records")
	library, err := build(ctx)
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
		if page, err = startLive(io, &o.live, dir, nil); err != nil {
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
	tellTrace(io, dir, o.quiet)
	return result
}

// makeDir makes the folder for the trace, unless there is an empty one; made: it did.
func (o *collectedOptions) makeDir(io console.IO, l *launch.Launch) (dir string, made bool, err error) {
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
	dir, err = recording.NewFolder(program)
	return dir, true, err
}
