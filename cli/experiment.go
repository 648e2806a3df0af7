package cli

import (
	"errors"
	"os"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/run/crew"
	"github.com/whyslow/whyslow/internal/show/experiment"
)

type experimentOptions struct {
	repeats int
	cores   int
	blocks  []string
	quick   bool
	dust    map[string]int
	pgas    map[string]int
	page    string
	json    bool
	memory  memoryBudget
}

func experimentCommand(io console.IO) *cobra.Command {
	var o experimentOptions
	cmd := &cobra.Command{
		Use:   "experiment [flags] [NAME]...",
		Short: "Run programs that test what drives each factor",
		Long: `Run built-in programs many times to check what drives each factor. Starvation should depend on the
number of chains that can run at once, overhead on the number of CFs that share the same work, and
latency on the size of the DFs sent between nodes. A real program, particle in cell, runs on one node
and on four. Every expectation is checked. Points take turns within rounds and are compared within
their round; if other programs disturb that, the answer is 'too busy to say'.

The cost of profiling is measured on a product of block matrices. 'profiling' has the modes
functions, memory and both. 'naive' compares a trace with logging that opens and closes a file for
each event. 'pgas-overhead' records five kernels of PGAS programs with several tracers.
'pgas-buffers' records one of them with buffers of many sizes, written synchronously and
asynchronously, to this computer's disk and to an emulated slow one. Every run is compared with
unrecorded runs beside it, and with a control. Differences below the control's noise are left open.

Names: starvation, overhead, latency, pic run their nodes in one process, with emulated links;
overhead-mpi, latency-shm, latency-tcp, pic-mpi run a process for each node. The latter need mpirun
and a whyslow built with MPI; otherwise they are skipped. Without names all of them run, which takes
minutes.

Exit codes:
  0    everything is as expected, or the machine was too busy to say
  1    something is not
  2    usage, an experiment failed, or none of those named can be run here
  130  interrupted; nothing is written`,
		Example: `  whyslow experiment --quick
  whyslow experiment latency
  whyslow experiment --pic boxes=4,workers=16 --repeats 1 pic
  whyslow experiment profiling naive --blocks=20x200,40x100
  whyslow experiment pgas-buffers --pgas disk=2000
  whyslow experiment --json | jq '.experiments[].checks'`,
		ValidArgs: experiment.Names(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := experiment.CheckNames(args); err != nil {
				return console.Misuse("experiment: %w", err)
			}
			if err := experiment.CheckDust(o.dust); err != nil {
				return console.Misuse("experiment: --pic: %w", err)
			}
			if err := experiment.CheckPGAS(o.pgas); err != nil {
				return console.Misuse("experiment: --pgas: %w", err)
			}
			if o.repeats < 0 || o.cores < 0 {
				return console.Misuse("experiment: --repeats and --cores cannot be negative")
			}
			var blocks []experiment.Blocks
			for _, text := range o.blocks {
				b, err := experiment.ParseBlocks(text)
				if err != nil {
					return console.Misuse("experiment: --blocks: %w", err)
				}
				blocks = append(blocks, b)
			}
			if err := o.memory.check("experiment", 1); err != nil {
				return err
			}
			if !canRun {
				return console.Exit(console.BadUsage, errNoEngine)
			}
			if crew.Ranks() > 1 {
				return console.Misuse("experiment: leave out mpirun: experiments that need it start it themselves")
			}
			self, err := os.Executable()
			if err != nil {
				return badInput(err)
			}
			line := console.StartProgress(io)
			ctx, watched := o.memory.watch(cmd.Context(), io, "a run of an experiment", whole,
				func(error) {}) // runs are to end well
			defer watched()
			r, err := experiment.Execute(ctx, args,
				experiment.Options{Whyslow: self, Repeats: o.repeats, Cores: o.cores, Quick: o.quick, Dust: o.dust,
					NoMPI: whyNoMPI(), Blocks: blocks, PGAS: o.pgas,
					Progress: func(done, all int, what string) {
						line.Set("%d of %d runs done: %s", done, all, what)
					}})
			line.End()
			switch {
			case ctx.Err() != nil:
				return interrupted(ctx)
			case err != nil:
				return console.Exit(console.BadUsage, err)
			}
			if o.page != "" {
				if err := r.WritePage(o.page); err != nil {
					return badInput(err)
				}
			}
			if o.json {
				err = writeJSON(io.Out, r)
			} else {
				err = r.Text(io.Out)
			}
			if err == nil && !r.Holds() {
				return console.Exit(console.Failed, errors.New("not everything is as expected"))
			}
			return badInput(err)
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.repeats, "repeats", 0, "`number` of runs of each point (default: that of the experiment)")
	f.IntVar(&o.cores, "cores", 0, "`number` of cores to use (default: those available)")
	f.StringSliceVar(&o.blocks, "blocks", nil, "`sizes` of the matrices of profiling and naive: 20x200 is"+
		" 20 x 20 blocks of 200 x 200")
	f.BoolVar(&o.quick, "quick", false, "small sizes: only check that everything works")
	f.StringToIntVar(&o.dust, "pic", nil, "shape of pic and pic-mpi, `NAME=N,...`: mesh, particles, slabs"+
		" (or boxes along each axis), steps, workers (of each node); the paper has boxes=4,workers=16")
	f.StringToIntVar(&o.pgas, "pgas", nil, "`NAME=N,...` for pgas-overhead, pgas-buffers: threads, work (times"+
		" as much), disk (KB/s of the slow disk; default: what keeps it busy for half of the run)")
	f.StringVar(&o.page, "page", "", "put the results in this Markdown `file`, between its marks; figures"+
		" go beside it")
	f.BoolVar(&o.json, "json", false, "print all runs as JSON")
	o.memory.addTo(f)
	return cmd
}

// whyNoMPI tells why programs cannot be started by mpirun here, and is empty if they can.
func whyNoMPI() string {
	if !crew.HasMPI() {
		return "this whyslow was built without MPI, build it with 'make mpi'"
	}
	if _, err := exec.LookPath("mpirun"); err != nil {
		return "mpirun is not found, install openmpi-bin or load the module of your cluster that has it"
	}
	return ""
}
