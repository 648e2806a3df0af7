package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// Exit codes, the same for all verbs but luna (0 and 1) and rts (the program's own).
const (
	exitDone        = 0
	exitFailed      = 1 // the program under test failed
	exitUsage       = 2 // usage or bad input
	exitStuck       = 3 // CFs left waiting
	exitDamaged     = 4 // a trace is damaged or ends early
	exitCondition   = 5 // a condition of --fail-if holds
	exitInterrupted = 130
)

const exitCodesHelp = `
Exit codes:
  0    done
  1    the program under test failed
  2    usage or bad input
  3    the program cannot finish: CFs are left waiting
  4    a trace is damaged or ends early (what could be read was used)
  130  interrupted`

// stdio is where a verb reads and writes. Tests put buffers here.
type stdio struct {
	in       io.Reader
	out, err io.Writer
	outTerm  bool // out is a terminal
	errTerm  bool
}

func terminal() stdio {
	// Open MPI gives rank 0 a terminal of its own and copies what comes there to wherever mpirun writes.
	_, copied := os.LookupEnv("OMPI_COMM_WORLD_SIZE")
	s := stdio{
		in: os.Stdin, out: os.Stdout, err: os.Stderr,
		outTerm: !copied && term.IsTerminal(int(os.Stdout.Fd())),
		errTerm: term.IsTerminal(int(os.Stderr.Fd())),
	}
	if !words.UTF8(os.Getenv) { // files and pipes get UTF-8 all the same
		if s.outTerm {
			s.out = words.ASCII(s.out)
		}
		if s.errTerm {
			s.err = words.ASCII(s.err)
		}
	}
	return s
}

func (s stdio) outColor() bool { return s.outTerm && os.Getenv("NO_COLOR") == "" }
func (s stdio) errColor() bool { return s.errTerm && os.Getenv("NO_COLOR") == "" }

// say writes one line of ours to standard error.
func (s stdio) say(format string, args ...any) {
	fmt.Fprintf(s.err, "whyslow: "+format+"\n", args...)
}

// An exitError ends the command with a code. The error inside is printed as one line unless it is nil: then everything
// has been said.
type exitError struct {
	code int
	err  error
	help bool // point to --help
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func exitWith(code int, err error) error { return &exitError{code: code, err: err} }

// badInput is a file that cannot be used; nil stays nil.
func badInput(err error) error {
	if err == nil {
		return nil
	}
	code := exitUsage
	if errors.Is(err, trace.ErrNothingWhole) {
		code = exitDamaged
	}
	return &exitError{code: code, err: fileError(err)}
}

// badCommandLine is a mistake in the words of the command; the user is pointed to --help.
func badCommandLine(format string, args ...any) error {
	return &exitError{code: exitUsage, err: fmt.Errorf(format, args...), help: true}
}

// signalsAfter is how long after the first signal to end others do not count under mpirun.
const signalsAfter = 5 * time.Second

// execute is the whole program: argv with the name it was called by, the exit code as the answer.
func execute(argv []string, io stdio) int {
	io = onlyRank0(io)
	switch strings.TrimSuffix(filepath.Base(argv[0]), ".exe") {
	case "luna":
		return runLuna(argv[1:], io)
	case "rts", "rts.dbg":
		return runRTS(argv[1:], io)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second Ctrl+C ends the process at once. Under mpirun a second signal is no wish of the user's: whoever ends a job asks
	// mpirun and the ranks, and mpirun asks the ranks again. It kills them, too, if need be.
	context.AfterFunc(ctx, func() {
		if mpiRanks() > 1 {
			time.Sleep(signalsAfter)
		}
		stop()
	})

	root := rootCommand(io)
	root.SetArgs(argv[1:])
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitDone
	}
	var exit *exitError
	if rank, _ := mpiPlace(); rank > 0 {
		if joined || errors.Is(err, errElsewhere) || !slices.Contains(verbsOfMany, cmd.Name()) {
			return exitDone // rank 0 says it, and gives the exit code
		}
		cannotJoin(ctx, err)
	}
	if !errors.As(err, &exit) {
		// What cobra itself finds wrong is always a mistake in the command line.
		exit = &exitError{code: exitUsage, err: err, help: true}
	}
	if exit.err != nil {
		io.say("%v", exit.err)
	}
	if exit.help {
		fmt.Fprintf(io.err, "See '%s --help'.\n", cmd.CommandPath())
	}
	return exit.code
}

func rootCommand(io stdio) *cobra.Command {
	root := &cobra.Command{
		Use:   "whyslow",
		Short: "Tell why a task-parallel program is slow",
		Long: `whyslow runs a LuNA program, records what happened to every task and every piece of data, and divides all processor
time among Useful work, Starvation, Latency, Overhead and Waiting: what the cores did instead of work, and which code
fragments, links and data fragments are the cause.`,
		Example: `  whyslow run prog.fa 100            run, record, report
  whyslow report prog.001.trace      report again, with other options
  whyslow view prog.001.trace        look at it in the browser; or whyslow run --live
  whyslow dump prog.001.trace        every event as text`,
		DisableFlagsInUseLine: true,

		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		PersistentPreRunE: func(cmd *cobra.Command, args []string) error {
			if slices.Contains(verbsOfMany, cmd.Name()) {
				sayIfAlone()
			} else if rank, _ := mpiPlace(); rank > 0 {
				return errElsewhere
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return cmd.Help()
		},
	}
	root.SetIn(io.in)
	root.SetOut(io.out)
	root.SetErr(io.err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return badCommandLine("%w", flagError(err)) })
	root.AddCommand(
		runCommand(io), reportCommand(io), dumpCommand(io), diffCommand(io), convertCommand(io), experimentCommand(io), lunaCommand(io), rtsCommand(io),
		viewCommand(io), serveCommand(io), initCommand(io), modulesCommand(io), instrumentCommand(io), shmemCommand(io), doctorCommand(io), versionCommand(io),
	)
	return root
}

// flagError words a value that is no number without the function that found so.
func flagError(err error) error {
	var value *pflag.InvalidValueError
	var number *strconv.NumError
	if !errors.As(err, &value) || !errors.As(err, &number) {
		return err
	}
	what := "not a whole number"
	if errors.Is(number.Err, strconv.ErrRange) {
		what = "too large a number"
	} else if kind := value.GetFlag().Value.Type(); strings.HasPrefix(kind, "float") {
		what = "not a number"
	} else if kind == "bool" {
		what = "say true or false"
	}
	return fmt.Errorf("--%s=%s: %s", value.GetFlag().Name, value.GetValue(), what)
}

// oneArg demands exactly one argument and names it when it is missing.
func oneArg(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return badCommandLine("%s: no %s given", cmd.Name(), what)
		case len(args) > 1:
			return badCommandLine("%s: unexpected argument %q after the %s", cmd.Name(), args[1], what)
		}
		return nil
	}
}

// fileError words the errors of opening a file without the system call's name.
func fileError(err error) error {
	if err == nil {
		return nil
	}
	var path *os.PathError
	if errors.As(err, &path) {
		return fmt.Errorf("%s: %w", path.Path, path.Err)
	}
	return err
}
