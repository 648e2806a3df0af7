package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/whyslow/whyslow/internal/record/pgas/collectors"
)

// trialSource is the program that doctor compiles and records: each PE puts a number into the next one's memory.
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

// examineShmem tells whether OpenSHMEM programs can be compiled, started and recorded, by doing so. A machine without OpenSHMEM lacks
// nothing that other programs need.
func examineShmem(ctx context.Context) []finding {
	f := finding{What: "OpenSHMEM", OK: true}
	oshrun, err := exec.LookPath("oshrun")
	if err != nil {
		f.Value = "oshrun not found: OpenSHMEM programs cannot be started here"
		f.Advice = "to run them install openmpi-bin and libopenmpi-dev, or load the module of your cluster that has OpenSHMEM"
		return []finding{f}
	}
	v := openMPIVersion(ctx, oshrun)
	f.Value = oshrun
	if v != (openVersion{}) {
		f.Value = fmt.Sprintf("Open MPI %v, %s", v, oshrun)
	}
	if v.crashes() {
		f.Advice = fmt.Sprintf("programs of this version crash in shmem_finalize unless %s=%s is set; 'whyslow shmem' sets it", crashVariable, crashRemedy)
	}
	found := []finding{f}
	library, err := collectors.Build(ctx, "shmem")
	if err != nil {
		return append(found, finding{What: "OpenSHMEM PEs", Value: err.Error(), Advice: "'whyslow shmem' needs the library that records; 'whyslow shmem --library DIR' on a machine with a compiler makes one to link with"})
	}
	if _, err := exec.LookPath("oshcc"); err != nil {
		return append(found, finding{What: "OpenSHMEM PEs", OK: true, Value: "not tried: oshcc not found", Advice: "to compile programs install libopenmpi-dev"})
	}
	return append(found, tryShmem(ctx, oshrun, v, library))
}

// tryShmem compiles a program, starts it and looks whether it was recorded.
func tryShmem(ctx context.Context, oshrun string, v openVersion, library string) finding {
	f := finding{What: "OpenSHMEM PEs"}
	failed := func(err error) finding {
		f.Value = err.Error()
		return f
	}
	dir, err := os.MkdirTemp("", "whyslow-doctor-*")
	if err != nil {
		return failed(err)
	}
	defer os.RemoveAll(dir)
	source, program, traceDir := filepath.Join(dir, "trial.c"), filepath.Join(dir, "trial"), filepath.Join(dir, "trace")
	if err := errors.Join(os.WriteFile(source, []byte(trialSource), 0o666), os.Mkdir(traceDir, 0o777)); err != nil {
		return failed(err)
	}
	if _, stderr, err := runBriefly(ctx, tryTimeout, nil, "oshcc", "-o", program, source); err != nil {
		f.Value = fmt.Sprintf("oshcc cannot compile: %v", cmp.Or(firstLine(stderr), err.Error()))
		f.Advice = "install gcc and libopenmpi-dev, of the same version as oshrun"
		return f
	}
	l := &launch{words: []string{oshrun, "-np", strconv.Itoa(triedRanks), program}, path: oshrun, openMPI: v, program: program}
	if err := l.prepare(library, traceDir, new(shmemOptions)); err != nil {
		return failed(err)
	}
	var env, advice []string
	var start time.Time
	for tried := 0; ; tried++ {
		start = time.Now()
		_, stderr, err := runBriefly(ctx, tryTimeout, append(l.env, env...), l.path, l.words[1:]...)
		if err == nil {
			break
		}
		known := false
		for _, r := range remedies {
			if tried < len(remedies) && r.complaint.MatchString(stderr) {
				known, env, advice = true, append(env, r.env...), append(advice, strings.ReplaceAll(r.advice, "mpirun", "oshrun"))
			}
		}
		if !known {
			f.Value = fmt.Sprintf("cannot be started: %v", cmp.Or(complaint(stderr), err.Error()))
			f.Advice = fmt.Sprintf("to see all of it start a program of yours: oshrun -np %d ./prog", triedRanks)
			return f
		}
	}
	took := time.Since(start)
	entries, err := os.ReadDir(traceDir)
	if err != nil {
		return failed(err)
	}
	files := 0
	for _, e := range entries {
		if filepath.Ext(e.Name()) == ".wst" {
			files++
		}
	}
	if files != triedRanks {
		f.Value = fmt.Sprintf("%d started, %d recorded", triedRanks, files)
		f.Advice = "the library cannot be loaded into programs (LD_PRELOAD): link them with it ('whyslow shmem --library DIR')"
		return f
	}
	f.OK, f.Value, f.Advice = true, fmt.Sprintf("%d started and recorded in %v", triedRanks, took.Round(10*time.Millisecond)), strings.Join(advice, "; ")
	return f
}

func firstLine(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return first
}
