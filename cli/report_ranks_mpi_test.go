package cli

import (
	"fmt"
	"testing"

	"github.com/whyslow/whyslow/internal/testkit/cctest"
)

// TestMPIReportRanks analyses a recorded MPI program with several processes: messages, signals and
// non-blocking collectives cross from one's ranks to another's.
func TestMPIReportRanks(t *testing.T) {
	needMPI(t)
	t.Parallel()
	if !hasMPICC() {
		t.Skip("no compiler of MPI programs here")
	}
	home, dir := lunaHome(t), t.TempDir()
	run := func(command string) string {
		t.Helper()
		stdout, stderr, code, err := shell(dir, home, mpiEnvironment+command)
		if err != nil || code != 0 {
			t.Fatalf("%s: exit code %d, %v\n%s%s", command, code, err, stdout, stderr)
		}
		return stdout
	}
	for _, name := range []string{"patterns", "waits"} {
		program := cctest.Make(t, mpiProgram(t, "../testdata/mpi/"+name+".c"))
		run(fmt.Sprintf("whyslow mpi -q -o %s.trace -- mpirun -n 3 %s", name, program))
		one := run("whyslow report --json " + name + ".trace")
		for _, n := range []int{2, 3} {
			if many := run(fmt.Sprintf("mpirun -n %d whyslow report --json %s.trace", n, name)); one != many {
				t.Errorf("%s, %d processes:\n%s\none:\n%s", name, n, many, one)
			}
		}
	}
}
