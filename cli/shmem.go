package cli

import (
	"cmp"
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
	collectedOptions
	library    string // write the libraries to this folder, and run nothing
	instrument string
	clockSync  string
	localDir   string
}

// Words that flags take, and docs/c-sdk.md explains as values of WHYSLOW_INSTRUMENT and WHYSLOW_CLOCK_SYNC.
var (
	instrumentLevels = []string{"auto", "sync", "calls", "local", "functions"}
	whenSyncs        = []string{"auto", "off", "always"}
)

func shmemCommand(io console.IO) *cobra.Command {
	o := shmemOptions{collectedOptions: collectedOptions{verb: "shmem"}}
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
	f.StringVar(&o.instrument, "instrument", "auto", "`what` to record: sync (barriers, collectives,"+
		" locks, memory), calls (and transfers), local (and those to the PE itself), functions (and"+
		" functions of the program compiled with -finstrument-functions), auto (calls, and such functions)")
	f.StringVar(&o.clockSync, "clock-sync", "auto", "compare the clocks of hosts at the start and the end:"+
		" `when` is auto (PEs are on several), off or always")
	f.StringVar(&o.localDir, "local-dir", "", "each PE writes its events below this `folder` of its host, and"+
		" moves them to the trace when it ends")
	f.StringVar(&o.library, "library", "", "write the libraries for linking, and their headers, to this"+
		" `folder`; run nothing")
	o.collectedOptions.addTo(cmd)
	for _, name := range []string{"inputs", "rule", "all"} { // are about CFs
		f.Lookup(name).Hidden = true
	}
	f.Lookup("by").Usage = "split the factors by `what`: node (PE), worker, or code (function or operation)"
	f.Lookup("csv").Usage = "write factors over time, and all metrics by call path and PE, as a table to" +
		" `FILE`; - is standard output"
	for flag, values := range map[string][]string{"instrument": instrumentLevels, "clock-sync": whenSyncs} {
		completeWords(cmd, flag, values)
	}
	for _, flag := range []string{"library", "local-dir"} {
		if err := cmd.MarkFlagDirname(flag); err != nil {
			panic(err)
		}
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
	var local error
	if o.localDir != "" {
		if o.localDir, local = filepath.Abs(o.localDir); local == nil && (o.live.on || f.Changed("to")) {
			local = console.Misuse("shmem: --local-dir keeps the events on the hosts until the run ends: leave it" +
				" out, or --live and --to")
		}
	}
	return cmp.Or(local, checkChoice("shmem", "instrument", o.instrument, instrumentLevels...),
		checkChoice("shmem", "clock-sync", o.clockSync, whenSyncs...),
		o.collectedOptions.check(f, [3]string{"instrument", "WHYSLOW_INSTRUMENT", o.instrument},
			[3]string{"clock-sync", "WHYSLOW_CLOCK_SYNC", o.clockSync},
			[3]string{"local-dir", "WHYSLOW_LOCAL_DIR", o.localDir}))
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
	return o.run(ctx, io, l, "shmem")
}
