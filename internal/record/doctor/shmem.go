package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/whyslow/whyslow/internal/record/pgas/collectors"
	"github.com/whyslow/whyslow/internal/record/pgas/launch"
)

// trialSource is the program that doctor records: each PE puts a number into the next one's memory.
const trialSource = `#include <shmem.h>
static long got;
int main(void) {
    shmem_init();
    shmem_long_p(&got, 1, (shmem_my_pe() + 1) % shmem_n_pes());
    shmem_barrier_all();
    int failed = got != 1;
    shmem_finalize();
    return failed;
}
`

// examineShmem tries to compile, start and record an OpenSHMEM program. A machine may do without.
func examineShmem(ctx context.Context) []Finding {
	f := Finding{What: "OpenSHMEM", OK: true}
	oshrun, err := exec.LookPath("oshrun")
	if err != nil {
		f.Value = "oshrun not found: OpenSHMEM programs cannot be started here"
		f.Advice = "to run them, install openmpi-bin and libopenmpi-dev, or load the module of your cluster" +
			" that has OpenSHMEM"
		return []Finding{f}
	}
	v := launch.OpenMPI(ctx, oshrun)
	f.Value = oshrun
	if v != (launch.Version{}) {
		f.Value = fmt.Sprintf("Open MPI %v, %s", v, oshrun)
	}
	if v.Crashes() {
		f.Advice = fmt.Sprintf("programs of this version crash in shmem_finalize unless %s=%s is set;"+
			" 'whyslow shmem' sets it", launch.CrashVariable, launch.CrashRemedy)
	}
	found := []Finding{f}
	library, err := collectors.Build(ctx, "shmem")
	if err != nil {
		return append(found, Finding{What: "OpenSHMEM PEs", Value: err.Error(),
			Advice: "'whyslow shmem' needs the library that records; 'whyslow shmem --library DIR' on a" +
				" machine with a compiler makes one to link with"})
	}
	if _, err := exec.LookPath("oshcc"); err != nil {
		return append(found, Finding{What: "OpenSHMEM PEs", OK: true, Value: "not tried: oshcc not found",
			Advice: "to compile programs, install libopenmpi-dev"})
	}
	return append(found, tryShmem(ctx, oshrun, v, library))
}

// tryShmem compiles a program, starts it and looks whether it was recorded.
func tryShmem(ctx context.Context, oshrun string, v launch.Version, library string) Finding {
	return tryMany(ctx, Finding{What: "OpenSHMEM PEs"}, library, trialSource, []string{"oshcc"}, oshrun,
		" (LD_PRELOAD): link them with it ('whyslow shmem --library DIR')",
		func(program string) *launch.Launch { return launch.Trial(oshrun, v, triedRanks, program) })
}

// tryMany is tryShmem for a program that a launcher starts as several processes. loading ends a sentence
// about libraries that are not loaded.
func tryMany(ctx context.Context, f Finding, library, source string, compiler []string,
	launcher, loading string, trialOf func(program string) *launch.Launch) Finding {
	failed := func(err error) Finding { return f.bad(err.Error(), "") }
	dir, err := os.MkdirTemp("", "whyslow-doctor-*")
	if err != nil {
		return failed(err)
	}
	defer os.RemoveAll(dir)
	program, traceDir, wrong, err := trial(ctx, dir, source, compiler...)
	if err != nil {
		return failed(err)
	}
	name := filepath.Base(launcher)
	if wrong != "" {
		return f.bad(compiler[0]+" cannot compile: "+wrong,
			"install gcc and libopenmpi-dev, of the same version as "+name)
	}
	l := trialOf(program)
	if err := l.Prepare(library, traceDir, nil); err != nil {
		return failed(err)
	}
	_, stderr, took, advice, err := try(ctx, l.Env, l.Path, l.Words[1:]...)
	if err != nil {
		return f.bad(fmt.Sprintf("cannot be started: %v", cmp.Or(complaint(stderr), err.Error())),
			fmt.Sprintf("to see all of it start a program of yours: %s -np %d ./prog", name, triedRanks))
	}
	files, err := launch.NodeFiles(traceDir)
	if err != nil {
		return failed(err)
	}
	if files != triedRanks {
		return f.bad(fmt.Sprintf("%d started, %d recorded", triedRanks, files), "the library cannot be loaded into"+
			" programs"+loading)
	}
	f.OK, f.Value, f.Advice = true, fmt.Sprintf("%d started and recorded in %v", triedRanks,
		took.Round(10*time.Millisecond)), strings.ReplaceAll(strings.Join(advice, "; "), "mpirun", name)
	return f
}

// trial compiles a program in C into a folder, where it also makes one for the trace. wrong is the compiler's
// complaint, "" if there is none.
func trial(ctx context.Context, dir, text string, compiler ...string) (
	program, traceDir, wrong string, err error) {
	source := filepath.Join(dir, "trial.c")
	program, traceDir = filepath.Join(dir, "trial"), filepath.Join(dir, "trace")
	if err = errors.Join(os.WriteFile(source, []byte(text), 0o666), os.Mkdir(traceDir, 0o777)); err != nil {
		return "", "", "", err
	}
	args := append(compiler[1:len(compiler):len(compiler)], "-o", program, source)
	if _, stderr, err := launch.Briefly(ctx, tryTimeout, nil, compiler[0], args...); err != nil {
		wrong = cmp.Or(collectors.FirstError(stderr), err.Error())
	}
	return program, traceDir, wrong, nil
}

func firstLine(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return first
}
