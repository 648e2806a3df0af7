package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/run/crew"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// Many processes do verbsOfMany together; verbsOfUserCode run the user's code, here or in a child process.
var (
	verbsOfMany     = []string{"run", "report", "debug", "experiment", "doctor", "luna", "rts"}
	verbsOfUserCode = []string{"run", "debug", "luna", "rts"}
)

// badInput is about a file that cannot be used; nil stays nil.
func badInput(err error) error {
	if errors.Is(err, trace.ErrNothingWhole) {
		return console.Exit(console.Damaged, console.FileError(err))
	}
	return console.BadInput(err)
}

// signalsAfter is how long after the first signal to end others do not count under mpirun.
const signalsAfter = 5 * time.Second

// sameSignal is how long after the first signal another one does not count as a second. On a busy machine the
// copy of a signal may come late.
const sameSignal = time.Second

// execute is the whole program: argv with the name it was called by, the exit code as the answer.
func execute(argv []string, io console.IO) int {
	io = crew.Mute(io)
	io.Out, io.Err = words.Foreign(io.Out), words.Foreign(io.Err)
	switch strings.TrimSuffix(filepath.Base(argv[0]), ".exe") {
	case "luna":
		return runLuna(argv[1:], io)
	case "rts", "rts.dbg":
		return runRTS(argv[1:], io)
	}
	ctx, stop := console.Asked(context.Background())
	// A second signal ends the process at once, but not under mpirun: there the ranks get a second one anyway,
	// first from the terminal or the batch system, then from mpirun, which also kills them if need be. Nor does
	// one that comes right after the first, or while the process ends: timeout, and others that pass signals on,
	// send one to the program and one to its group.
	context.AfterFunc(ctx, func() {
		if crew.Ranks() > 1 {
			time.Sleep(signalsAfter)
		} else {
			time.Sleep(sameSignal)
		}
		stop()
		console.AskedAgain()
	})

	out := &console.Output{W: io.Out}
	io.Out = out
	root := rootCommand(io)
	root.SetArgs(joinJSON(argv[1:]))
	cmd, err := root.ExecuteContextC(ctx)
	if out.Err != nil && (err == nil || errors.Is(err, out.Err)) { // nobody looked at it, or knew what it is
		err = badInput(out.Err)
	}
	err = console.OutputError(err)
	if err == nil {
		return console.Done
	}
	if rank, _ := crew.Place(); rank > 0 {
		if crew.Joined() || errors.Is(err, crew.ErrElsewhere) || !slices.Contains(verbsOfMany, cmd.Name()) {
			return console.Done // rank 0 says it, and gives the exit code
		}
		crew.CannotJoin(ctx, err)
	}
	var exit *console.Error
	if !errors.As(err, &exit) {
		// What cobra itself finds wrong is always a mistake in the command line.
		exit = &console.Error{Code: console.BadUsage, Err: err, Help: true}
	}
	if exit.Err != nil {
		io.Say("%v", exit.Err)
	}
	if exit.Help {
		fmt.Fprintf(io.Err, "See '%s --help'.\n", cmd.CommandPath())
	}
	return exit.Code
}

// verbsThatReport may write their report as JSON to a file.
var verbsThatReport = []string{"run", "report", "shmem", "mpi", "omp", "debug"}

// joinJSON makes "--json FILE.json" one word: the file may be left out, so pflag takes only --json=FILE. No
// program is called so. What follows a program is its own.
func joinJSON(args []string) (joined []string) {
	if len(args) == 0 || !slices.Contains(verbsThatReport, args[0]) {
		return args
	}
	for i := 0; i < len(args); i++ {
		word := args[i]
		if word == "--" || strings.HasSuffix(word, ".fa") {
			return append(joined, args[i:]...)
		}
		if word == "--json" && i+1 < len(args) && strings.HasSuffix(args[i+1], ".json") {
			i++
			word += "=" + args[i]
		}
		joined = append(joined, word)
	}
	return joined
}

// about is the title of the commands about whyslow itself.
const about = "About whyslow"

func rootCommand(io console.IO) *cobra.Command {
	root := &cobra.Command{
		Use:   "whyslow",
		Short: "Say why a parallel program is slow, and what to change",
		Long: `whyslow runs a parallel program (LuNA, OpenMP, MPI, OpenSHMEM) and records what happens to its tasks,
threads and data. It divides all processor time among Useful work, Starvation, Latency, Overhead
and Waiting, names the code, the links and the locks to blame, and predicts what changes would gain.`,
		Example: `  whyslow run prog.fa 100            run, record, report
  whyslow mpi -- mpirun -n 4 ./prog  the same for an MPI program
  whyslow report prog.001.trace      report again, with other options
  whyslow view prog.001.trace        look at it in the browser; or whyslow run --live
  whyslow dump prog.001.trace        every event as text`,
		DisableFlagsInUseLine: true,

		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			var verbs []string
			for _, c := range cmd.Commands() {
				verbs = append(verbs, c.Name())
			}
			return console.Misuse("unknown command %q%s", args[0], words.DidYouMean(args[0], verbs))
		},
		Version: readVersion().name(),
		PersistentPreRunE: func(cmd *cobra.Command, args []string) error {
			if err := applyDefaults(cmd); err != nil {
				return err
			}
			if slices.Contains(verbsOfMany, cmd.Name()) {
				crew.SayIfAlone()
			} else if rank, _ := crew.Place(); rank > 0 {
				return crew.ErrElsewhere
			}
			return openArchives(cmd.Context(), io, cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return cmd.Help()
		},
	}
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.SetIn(io.In)
	root.SetOut(io.Out)
	root.SetErr(io.Err)
	root.SetUsageFunc(showUsage)
	root.SetHelpFunc(showHelp)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		var unknown *pflag.NotExistError
		if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
			var flags []string
			cmd.Flags().VisitAll(func(f *pflag.Flag) {
				if !f.Hidden {
					flags = append(flags, "--"+f.Name)
				}
			})
			return console.Misuse("%w%s", err, words.DidYouMean("--"+unknown.GetSpecifiedName(), flags))
		}
		return console.Misuse("%w", flagError(err))
	})
	for _, g := range []struct {
		title    string
		commands []func(console.IO) *cobra.Command
	}{
		{"Record a program", []func(console.IO) *cobra.Command{runCommand, ompCommand, mpiCommand, shmemCommand,
			debugCommand, lunaCommand, rtsCommand, instrumentCommand}},
		{"Look at a recorded run", []func(console.IO) *cobra.Command{viewCommand, reportCommand, diffCommand,
			sqlCommand, dumpCommand, indexCommand}},
		{"Try changes", []func(console.IO) *cobra.Command{predictCommand, balanceCommand, experimentCommand}},
		{"Exchange traces", []func(console.IO) *cobra.Command{importCommand, convertCommand, sendCommand,
			serveCommand}},
		{"Set up", []func(console.IO) *cobra.Command{doctorCommand, initCommand, configCommand, modulesCommand}},
		{about, []func(console.IO) *cobra.Command{versionCommand, manCommand, licencesCommand, schemaCommand}},
	} {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for _, command := range g.commands {
			c := command(io)
			c.GroupID = g.title
			root.AddCommand(c)
		}
	}
	root.SetHelpCommandGroupID(about)
	root.SetCompletionCommandGroupID(about)
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
		what = "use true or false"
	}
	return fmt.Errorf("--%s=%s: %s", value.GetFlag().Name, value.GetValue(), what)
}

// someArgs demands at least one argument and names it when it is missing.
func someArgs(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return console.Misuse("%s: no %s given", cmd.Name(), what)
		}
		return nil
	}
}

// oneArg demands exactly one argument.
func oneArg(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return console.Misuse("%s: unexpected argument %q after the %s", cmd.Name(), args[1], what)
		}
		return someArgs(what)(cmd, args)
	}
}

// checkChoice demands that a flag has one of some words.
func checkChoice(verb, flag, value string, words ...string) error {
	if slices.Contains(words, value) {
		return nil
	}
	last := len(words) - 1
	return console.Misuse("%s: --%s=%s: use %s or %s", verb, flag, value, strings.Join(words[:last], ", "),
		words[last])
}

// warn tells the user of each thing in a list.
func warn[T any](io console.IO, list []T) {
	for _, w := range list {
		io.Say("warning: %v", w)
	}
}

// completeWords lets shells complete a flag by one of some words.
func completeWords(cmd *cobra.Command, flag string, words []string) {
	if err := cmd.RegisterFlagCompletionFunc(flag,
		cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag was added before
	}
}
