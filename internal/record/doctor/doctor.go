// Package doctor finds out what this machine can do: it looks, and starts small programs.
package doctor

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/whyslow/whyslow/internal/clock"
	"github.com/whyslow/whyslow/internal/run/compile"
	"github.com/whyslow/whyslow/internal/run/crew"
)

// Finding is one thing that was looked at.
type Finding struct {
	What   string `json:"what"`
	OK     bool   `json:"ok"`
	Value  string `json:"value"`
	Advice string `json:"advice,omitempty"`
}

// bad is a finding that something is not as it should be, and what to do.
func (f Finding) bad(value, advice string) Finding {
	f.OK, f.Value, f.Advice = false, value, advice
	return f
}

// Examine looks at everything. engine: programs can be run at all; build names this whyslow. Only rank 0 gets
// findings.
func Examine(ctx context.Context, engine bool, build string) ([]Finding, error) {
	var mpi []Finding
	if crew.Ranks() > 1 {
		var err error
		if mpi, err = examineRanks(build); err != nil || mpi == nil {
			return nil, err
		}
	} else {
		mpi = slices.Concat(examineMPI(ctx), examineMPIPrograms(ctx), examineShmem(ctx),
			examineOpenMP(ctx)) // a rank starts no other job
	}
	return append([]Finding{examineEngine(engine), examineCompiler(ctx), examineCores(), examineClock(),
		examineCache()}, mpi...), nil
}

func examineEngine(engine bool) Finding {
	f := Finding{What: "engine", OK: engine, Value: "built in"}
	if !engine {
		return f.bad("not built in: this whyslow reads traces and runs nothing",
			"build it on Linux, with a C compiler and CGO_ENABLED=1")
	}
	return f
}

func examineCompiler(ctx context.Context) Finding {
	name := cmp.Or(os.Getenv("CXX"), "g++")
	f := Finding{What: "C++ compiler", Value: name}
	out, err := exec.CommandContext(ctx, name, "--version").Output()
	if err != nil {
		return f.bad(name+": "+err.Error(), "install g++, or name a compiler in the environment variable CXX")
	}
	f.OK, f.Value = true, firstLine(string(out))
	return f
}

func examineCores() Finding {
	available, total := crew.AvailableCores(), crew.OnlineCores()
	f := Finding{What: "cores", OK: true, Value: fmt.Sprintf("%d available", available)}
	if total > available {
		f.Value += fmt.Sprintf(" of %d (affinity %s)", total, crew.Affinity())
	}
	if err := crew.CanBind(); err != nil {
		f.Value += fmt.Sprintf("; workers cannot be bound to them (%v)", err)
	} else {
		f.Value += "; run --bind core can bind workers to them"
	}
	if available == 1 {
		f.Advice = "with one core, several workers only take turns and lose much time to pre-emption"
	}
	return f
}

func examineClock() Finding {
	f := Finding{What: "clock", OK: true, Value: clock.Name()}
	if clock.Name() != "tsc" {
		f.Advice = "no steady time stamp counter: reading the time takes longer, so recording costs more"
	}
	return f
}

func examineCache() Finding {
	f := Finding{What: "code cache"}
	cache, err := compile.Open("", "")
	if err == nil {
		probe := filepath.Join(cache.Dir, fmt.Sprintf("probe-%d", os.Getpid()))
		err = cmp.Or(os.WriteFile(probe, nil, 0o666), os.Remove(probe))
	}
	if err != nil {
		return f.bad(err.Error(), "set XDG_CACHE_HOME to a folder that can be written")
	}
	f.OK, f.Value, f.Advice = true, cache.Dir, cache.Note
	return f
}
