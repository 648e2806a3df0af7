package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/record/pgas/collectors"
	"github.com/whyslow/whyslow/internal/record/pgas/launch"
)

// mpiOptions say how an MPI program is recorded.
type mpiOptions struct {
	launchedOptions
	omp bool // and its OpenMP
}

func mpiCommand(io console.IO) *cobra.Command {
	o := mpiOptions{launchedOptions: launchedOptions{collectedOptions: collectedOptions{verb: "mpi"},
		process: "rank"}}
	cmd := &cobra.Command{
		Use:   "mpi [flags] -- mpirun [option]... PROGRAM [argument]...",
		Short: "Run an MPI program, record a trace, report where the time went",
		Long: `Run an MPI program with mpirun or another launcher, and record what each rank does: messages,
collectives, one-sided transfers, files. You need not change or recompile the program: a library
is loaded before the MPI library (LD_PRELOAD) and passes on every call. The library is compiled on first
use for the MPI of the program, which needs its compiler (mpicc, or the one that MPICC names).

--omp also records the threads of each rank, as 'whyslow omp' does. In the trace, ranks are nodes and
threads are workers.

Compile with -g to get source lines, and with -finstrument-functions to see the functions of the
program. Standard input and output belong to the program. whyslow writes to standard error: the
report, and as the last line the path of the trace. The trace goes to PROGRAM.NNN.trace in the
program; whyslow never overwrites one. Environment variables that begin with WHYSLOW_ reach the
program, on other hosts too; flags override them.

To run LuNA programs on several processes, see 'whyslow run'.

Exit codes:
  0    done
  1    the program failed: its launcher returned a non-zero exit code
  2    usage; no launcher or compiler; nothing was recorded, because the program does not use MPI
       or is linked statically
  4    the trace is damaged or ends early (what could be read was used)
  130  interrupted`,
		Example: `  whyslow mpi -- mpirun -n 8 ./prog 100
  whyslow mpi --instrument functions -o first.trace -- mpirun -n 4 ./prog
  whyslow mpi --live -- mpirun -n 4 ./prog
  OMP_NUM_THREADS=4 whyslow mpi --omp -- mpirun -n 2 ./hybrid
  whyslow mpi -q --json=report.json -- srun -n 64 ./prog
  MPICC=mpicc.mpich whyslow mpi -- mpiexec.mpich -n 4 ./prog`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(cmd.Flags(), args, "mpirun -n 4 ./prog"); err != nil {
				return err
			}
			return runMPI(cmd.Context(), io, &o, args)
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return []string{"mpirun", "srun"}, cobra.ShellCompDirectiveDefault
			}
			return nil, cobra.ShellCompDirectiveDefault
		},
	}
	o.addTo(cmd)
	cmd.Flags().BoolVar(&o.omp, "omp", false, "record OpenMP, too: threads, parallel regions, tasks")
	return cmd
}

// runMPI runs, records and reports.
func runMPI(ctx context.Context, io console.IO, o *mpiOptions, words []string) error {
	l, err := launch.NewMPI(ctx, words)
	if err != nil {
		return badInput(err)
	}
	note := ""
	if o.omp {
		if note, err = l.WithThreads(); err != nil {
			return badInput(err)
		}
	} else if l.Threaded() {
		note = l.Program + " uses OpenMP, too: --omp records its threads"
	}
	if note != "" && !o.quiet {
		io.Say("%s", note)
	}
	return o.run(ctx, io, l, func(ctx context.Context) (string, error) {
		return collectors.BuildMPI(ctx, l.MPICompiler(), o.omp)
	})
}
