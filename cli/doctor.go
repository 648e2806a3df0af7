package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/whyslow/whyslow/internal/clock"
)

// A finding is one thing that doctor looked at.
type finding struct {
	What   string `json:"what"`
	OK     bool   `json:"ok"`
	Value  string `json:"value"`
	Advice string `json:"advice,omitempty"`
}

func doctorCommand(io stdio) *cobra.Command {
	var asJSON, ranks bool
	cmd := &cobra.Command{
		Use:   "doctor [TRACE]",
		Short: "Tell what this machine can do, or whether a trace is whole and consistent",
		Long: `Without a trace: look at what running and measuring programs needs: the C++ compiler, the cores, the clock, the cache of
compiled code, MPI and OpenSHMEM, by starting two processes of each. Started by mpirun itself it tells where the ranks are. With a trace: read all of it and tell whether it is whole and does not contradict itself.

Exit codes:
  0  programs can be run and measured here; the trace is whole and consistent
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
				return printRanks(io)
			}
			if len(args) == 1 {
				return examineTrace(cmd.Context(), io, args[0], asJSON)
			}
			found, err := examine(cmd.Context())
			if err != nil || found == nil {
				return err
			}
			if asJSON {
				if err := writeJSON(io.out, found); err != nil {
					return err
				}
			} else {
				printFindings(io, found)
			}
			for _, f := range found {
				if !f.OK {
					return exitWith(exitFailed, nil)
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&ranks, "ranks", false, "join the other ranks and print what each sees")
	cmd.Flags().Lookup("ranks").Hidden = true // doctor starts itself with it
	return cmd
}

func printFindings(io stdio, found []finding) {
	for _, f := range found {
		mark := "ok"
		if !f.OK {
			mark = "MISSING"
		}
		fmt.Fprintf(io.out, "%-8s %-14s %s\n", mark, f.What, f.Value)
		if f.Advice != "" {
			fmt.Fprintf(io.out, "%-8s %-14s -> %s\n", "", "", f.Advice)
		}
	}
}

// examine looks at everything. Started on several ranks it returns nil at all but the first.
func examine(ctx context.Context) ([]finding, error) {
	var mpi []finding
	if mpiRanks() > 1 {
		var err error
		if mpi, err = examineRanks(); err != nil || mpi == nil {
			return nil, err
		}
	} else {
		mpi = append(examineMPI(ctx), examineShmem(ctx)...) // a rank of a job cannot start another one
	}
	return append([]finding{examineEngine(), examineCompiler(ctx), examineCores(), examineClock(), examineCache()}, mpi...), nil
}

func examineEngine() finding {
	f := finding{What: "engine", OK: canRun, Value: "built in"}
	if !canRun {
		f.Value = "not built in: this whyslow reads traces and runs nothing"
		f.Advice = "build with a C compiler and CGO_ENABLED=1"
	}
	return f
}

func examineCompiler(ctx context.Context) finding {
	name := os.Getenv("CXX")
	if name == "" {
		name = "g++"
	}
	f := finding{What: "C++ compiler", Value: name}
	out, err := exec.CommandContext(ctx, name, "--version").Output()
	if err != nil {
		f.Value += ": " + err.Error()
		f.Advice = "install g++, or name a compiler in the environment variable CXX"
		return f
	}
	first, _, _ := strings.Cut(string(out), "\n")
	f.OK, f.Value = true, first
	return f
}

func examineCores() finding {
	available, total := availableCores(), onlineCores()
	f := finding{What: "cores", OK: true, Value: fmt.Sprintf("%d available", available)}
	if total > available {
		f.Value += fmt.Sprintf(" of %d (affinity %s)", total, affinity())
	}
	if available == 1 {
		f.Advice = "with one core several workers only take turns: O.preempt will be large"
	}
	return f
}

// onlineCores is the number of cores of the machine, at least the available ones.
func onlineCores() int {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.NumCPU()
	}
	return max(runtime.NumCPU(), strings.Count(string(text), "\nprocessor")+1)
}

func examineClock() finding {
	f := finding{What: "clock", OK: true, Value: clock.Name()}
	if clock.Name() != "tsc" {
		f.Advice = "no steady time stamp counter: reading the time takes longer, so recording costs more"
	}
	return f
}

func examineCache() finding {
	f := finding{What: "code cache"}
	dir, err := os.UserCacheDir()
	if err == nil {
		dir = filepath.Join(dir, "whyslow")
		if err = os.MkdirAll(dir, 0o777); err == nil {
			var probe *os.File
			if probe, err = os.CreateTemp(dir, "probe-*"); err == nil {
				probe.Close()
				os.Remove(probe.Name())
			}
		}
	}
	if err != nil {
		f.Value = err.Error()
		f.Advice = "set XDG_CACHE_HOME to a folder that can be written"
		return f
	}
	f.OK, f.Value = true, dir
	return f
}
