package cli

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/record/pgas/collectors"
	"github.com/whyslow/whyslow/internal/record/pgas/launch"
)

// shmemOptions say how an OpenSHMEM program is recorded.
type shmemOptions struct {
	launchedOptions
	library string // write the libraries to this folder, and run nothing
}

func shmemCommand(io console.IO) *cobra.Command {
	o := shmemOptions{launchedOptions: launchedOptions{collectedOptions: collectedOptions{verb: "shmem"},
		process: "PE"}}
	cmd := &cobra.Command{
		Use:   "shmem [flags] -- oshrun [option]... PROGRAM [argument]...",
		Short: "Run an OpenSHMEM program, record a trace, report where the time went",
		Long: `Run an OpenSHMEM program with oshrun or another launcher, and record what each PE does: barriers,
broadcasts, reductions, puts and gets, locks, memory. You need not change or recompile the
program: a library is loaded before the OpenSHMEM library (LD_PRELOAD) and passes on every call. The
library is compiled at first use, which needs a C compiler.

Standard input and output belong to the program. whyslow writes to standard error: the report, and
as the last line the path of the trace. The trace goes to PROGRAM.NNN.trace in the current folder;
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
	o.launchedOptions.addTo(cmd)
	f.StringVar(&o.library, "library", "", "write the libraries for linking, and their headers, to this"+
		" `folder`; run nothing")
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
	return o.launchedOptions.check(f, args, "oshrun -np 4 ./prog")
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

// runShmem runs, records and reports.
func runShmem(ctx context.Context, io console.IO, o *shmemOptions, words []string) error {
	l, err := launch.New(ctx, words)
	if err != nil {
		return badInput(err)
	}
	return o.run(ctx, io, l, ofName("shmem"))
}
