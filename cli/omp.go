package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/record/pgas/launch"
)

func ompCommand(io console.IO) *cobra.Command {
	o := collectedOptions{verb: "omp"}
	cmd := &cobra.Command{
		Use:   "omp [flags] -- PROGRAM [argument]...",
		Short: "Run a program with OpenMP or threads, record a trace, report where the time went",
		Long: `Run an OpenMP program and record what its threads do: parallel regions, tasks and their
dependences, chunks of loops, single and sections, barriers and taskwait, critical and locks. You need not
change or recompile the program: its run-time system reports to a library (OMPT, the tools interface
of OpenMP 5). Programs compiled by gcc run on LLVM's run-time system instead of gcc's. The
library is compiled on first use, which needs a C compiler.

Threads that the program creates itself (pthread_create, std::thread) are recorded too, with or
without OpenMP: mutexes and their holders, condition variables, semaphores, joins, files and sleeps.

Compile with -g to get source lines. Standard input and output belong to the program. whyslow writes
to standard error: the report, and as the last line the path of the trace. The trace goes to
PROGRAM.NNN.trace in the current folder; whyslow never overwrites one. Environment variables that begin
with OMP_ and WHYSLOW_ reach the program; flags override WHYSLOW_.

Exit codes:
  0    done
  1    the program failed: it returned a non-zero exit code
  2    usage, no compiler, no run-time system that can be recorded; or nothing was recorded, because
       the program uses neither OpenMP nor threads
  4    the trace is damaged or ends early (what could be read was used)
  130  interrupted`,
		Example: `  whyslow omp -- ./prog 100
  OMP_NUM_THREADS=4 whyslow omp -o four.trace -- ./prog
  whyslow omp --live -- ./prog
  whyslow omp -q --json=report.json -- ./run.sh`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return console.Misuse("omp: no program given; give the command that starts it, such as ./prog 100")
			}
			if err := o.check(cmd.Flags()); err != nil {
				return err
			}
			return runOMP(cmd.Context(), io, &o, args)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveDefault
		},
	}
	o.addTo(cmd)
	return cmd
}

// runOMP runs, records and reports.
func runOMP(ctx context.Context, io console.IO, o *collectedOptions, words []string) error {
	l, note, err := launch.NewOpenMP(words)
	if err != nil {
		return badInput(err)
	}
	if note != "" && !o.quiet {
		io.Say("%s", note)
	}
	return o.run(ctx, io, l, ofName("omp"))
}
