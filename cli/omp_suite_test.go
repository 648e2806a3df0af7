package cli

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/testkit/cctest"
	"github.com/whyslow/whyslow/internal/testkit/effort"
)

// suiteProgram compiles a program of testdata/openmp/suite.
func suiteProgram(t *testing.T, compiler, name string) string {
	t.Helper()
	if compiler == "" {
		t.Skip("no compiler of OpenMP programs here")
	}
	dir, err := filepath.Abs("../testdata/openmp/suite")
	if err != nil {
		t.Fatal(err)
	}
	return cctest.Make(t, cctest.Program{Name: name, Dir: dir, Compiler: []string{compiler},
		Sources: []string{name + ".c"}, Flags: []string{"-g", "-O2", "-fopenmp"}})
}

// tasksOf counts the explicit tasks of a report.
func tasksOf(t *testing.T, text []byte) (tasks int64) {
	t.Helper()
	var r ompReport
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Fragments {
		if strings.HasPrefix(f.Code, "task ") {
			tasks += f.Count
		}
	}
	return tasks
}

// TestOpenMPSuite: programs in the manner of the Barcelona tasks suite compute the same whether they are
// recorded or not, and the report has as many tasks as they have created.
func TestOpenMPSuite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, compiler := range []string{clang(), "gcc"}[:effort.Times(1, 2)] {
		for _, name := range []string{"fib", "sparselu", "nqueens", "sort", "strassen", "health", "alignment"} {
			program := suiteProgram(t, compiler, name)
			for _, threads := range []int{2, 1, 4, 8}[:effort.Times(1, 4)] {
				set := fmt.Sprintf("OMP_NUM_THREADS=%d ", threads)
				alone, said, code, err := shell(dir, "", set+program)
				if err != nil || code != 0 {
					t.Fatalf("%s: exit code %d, %v\n%s", name, code, err, said)
				}
				stdout, report := recordedBy(t, set+"whyslow omp -q --json=report.json -o run.trace -- "+program)
				if stdout != alone {
					t.Errorf("%s, %s, %d threads: recorded, it prints %q, else %q", compiler, name, threads, stdout,
						alone)
				}
				var made int64
				if _, err := fmt.Sscanf(stdout, name+": %d tasks,", &made); err != nil {
					t.Fatalf("%s: %v: %q", name, err, stdout)
				}
				if got := tasksOf(t, report); got != made || made < 20 {
					t.Errorf("%s, %s, %d threads: %d tasks recorded, it created %d", compiler, name, threads, got, made)
				}
			}
		}
	}
}
