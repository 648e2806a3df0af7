package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/convert/otf2"
	"github.com/whyslow/whyslow/internal/record/doctor"
)

func doctorCommand(io console.IO) *cobra.Command {
	var asJSON, ranks bool
	var memory memoryBudget
	cmd := &cobra.Command{
		Use:   "doctor [TRACE]",
		Short: "Check what this machine can do, or whether a trace is complete and consistent",
		Long: `Without a trace: check what is needed to run and measure programs: the C++ compiler, the cores, the
clock, the cache of compiled code, MPI, OpenSHMEM and OpenMP. For the last three, a small program is
compiled, run and recorded. Under mpirun, show where the ranks run.

With a trace: read all of it and check that it is complete and consistent.

Exit codes:
  0  programs can be run and measured here; the trace is complete and consistent
  1  something is missing, the line says what to do; the trace contradicts itself
  2  usage or bad input
  4  the trace is damaged or ends early`,
		Example: `  whyslow doctor
  whyslow doctor prog.001.trace
  mpirun -n 4 whyslow doctor`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeTrace,
		RunE: func(cmd *cobra.Command, args []string) error {
			if ranks {
				found, err := doctor.Ranks(buildName())
				if err != nil || found == nil {
					return err
				}
				return writeJSON(io.Out, found)
			}
			if len(args) == 1 {
				if err := memory.check("doctor", 1); err != nil {
					return err
				}
				return examineTrace(cmd.Context(), io, wholeTrace(io, args[0]), asJSON, &memory)
			}
			found, err := doctor.Examine(cmd.Context(), canRun, buildName())
			if err != nil || found == nil {
				return err
			}
			found = append(found, examineOTF2())
			if asJSON {
				if err := writeJSON(io.Out, found); err != nil {
					return err
				}
			} else {
				printFindings(io, found)
			}
			for _, f := range found {
				if !f.OK {
					return console.Exit(console.Failed, nil)
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	memory.addTo(cmd.Flags())
	cmd.Flags().BoolVar(&ranks, "ranks", false, "join the other ranks and print what each sees")
	cmd.Flags().Lookup("ranks").Hidden = true // doctor starts itself with it
	return cmd
}

// examineOTF2 tells whether OTF2 archives can be read and written.
func examineOTF2() doctor.Finding {
	if otf2.HasOTF2() {
		return doctor.Finding{What: "OTF2", OK: true, Value: "built in: archives are read and written"}
	}
	return doctor.Finding{What: "OTF2", OK: true, Value: "not built in",
		Advice: "to read archives of Score-P, TAU and" +
			" others, install libotf2-trace-dev and build whyslow with 'make otf2' (go build -tags otf2)"}
}

func printFindings(io console.IO, found []doctor.Finding) {
	for _, f := range found {
		mark := "ok"
		if !f.OK {
			mark = "MISSING"
		}
		fmt.Fprintf(io.Out, "%-8s %-14s %s\n", mark, f.What, f.Value)
		if f.Advice != "" {
			fmt.Fprintf(io.Out, "%-8s %-14s -> %s\n", "", "", f.Advice)
		}
	}
}
