package doctor

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/whyslow/whyslow/internal/record/pgas/collectors"
	"github.com/whyslow/whyslow/internal/record/pgas/launch"
)

// trialOpenMP is the program that doctor records: each thread of a region executes a task.
const trialOpenMP = `int main(void) {
    int sum = 0;
#pragma omp parallel num_threads(2)
#pragma omp task
#pragma omp atomic
    sum++;
    return sum < 1; /* there may be one thread only, if OMP_THREAD_LIMIT says so */
}
`

// trialThreads is a program without OpenMP whose threads doctor records.
const trialThreads = `#include <pthread.h>
static void *nothing(void *arg) { return arg; }
int main(void) {
    pthread_t id;
    return pthread_create(&id, 0, nothing, 0) || pthread_join(id, 0);
}
`

// examineOpenMP tries to compile, start and record programs with threads, by OpenMP and without. A machine
// may do without.
func examineOpenMP(ctx context.Context) []Finding {
	threads := tryThreads(ctx, "Threads", trialThreads, "-pthread")
	f := Finding{What: "OpenMP", OK: true, Value: launch.FindLibomp()}
	if f.Value == "" {
		f.Value = "LLVM's libomp.so.5 not found: programs of gcc cannot be recorded here"
		f.Advice = "to record them, install libomp5; programs of clang bring theirs"
		return []Finding{f, threads}
	}
	return []Finding{f, tryThreads(ctx, "OpenMP threads", trialOpenMP, "-fopenmp"), threads}
}

// tryThreads compiles a program, runs it and looks whether it was recorded.
func tryThreads(ctx context.Context, what, source, flag string) Finding {
	f := Finding{What: what}
	failed := func(err error) Finding { return f.bad(err.Error(), "") }
	library, err := collectors.Build(ctx, "omp")
	if err != nil {
		return f.bad(err.Error(), "'whyslow omp' needs a C compiler for the library that records")
	}
	dir, err := os.MkdirTemp("", "whyslow-doctor-*")
	if err != nil {
		return failed(err)
	}
	defer os.RemoveAll(dir)
	compiler := cmp.Or(os.Getenv("CC"), "cc")
	program, traceDir, wrong, err := trial(ctx, dir, source, append(strings.Fields(compiler), flag)...)
	if err != nil {
		return failed(err)
	}
	if wrong != "" {
		f.OK, f.Value = true, fmt.Sprintf("not tried: %s %s cannot compile: %s", compiler, flag, wrong)
		f.Advice = "name a compiler that can in the environment variable CC"
		return f
	}
	l, _, err := launch.NewOpenMP([]string{program})
	if err == nil {
		err = l.Prepare(library, traceDir, nil)
	}
	if err != nil {
		return failed(err)
	}
	_, stderr, took, _, err := try(ctx, l.Env, l.Path)
	if err != nil {
		return f.bad(fmt.Sprintf("cannot be started: %v", cmp.Or(complaint(stderr), err.Error())), "")
	}
	switch files, err := launch.NodeFiles(traceDir); {
	case err != nil:
		return failed(err)
	case files != 1:
		return f.bad("a program ran and was not recorded",
			"look whether it is with 'whyslow omp -- ./prog' of yours")
	}
	f.OK, f.Value = true, fmt.Sprintf("a program of %s was recorded in %v", compiler,
		took.Round(10*time.Millisecond))
	return f
}
