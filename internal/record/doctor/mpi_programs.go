package doctor

import (
	"context"
	"os/exec"

	"github.com/whyslow/whyslow/internal/record/pgas/collectors"
	"github.com/whyslow/whyslow/internal/record/pgas/launch"
)

// trialMPI is the program that doctor records: each rank sends a number to the next one.
const trialMPI = `#include <mpi.h>
int main(int argc, char **argv) {
    int me, n, got = 0, one = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_Sendrecv(&one, 1, MPI_INT, (me + 1) % n, 0, &got, 1, MPI_INT, (me + n - 1) % n, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Finalize();
    return got != 1;
}
`

// examineMPIPrograms tries to compile, start and record an MPI program. A machine may do without.
func examineMPIPrograms(ctx context.Context) []Finding {
	f := Finding{What: "MPI programs", OK: true}
	mpirun, err := exec.LookPath("mpirun")
	if err != nil {
		f.Value = "mpirun not found: MPI programs cannot be started here"
		f.Advice = "to run them, install openmpi-bin and libopenmpi-dev, or load the module of your cluster" +
			" that has MPI"
		return []Finding{f}
	}
	l, err := launch.NewMPI(ctx, []string{mpirun, "--allow-run-as-root"})
	if err != nil {
		return []Finding{f.bad(err.Error(), "")}
	}
	compiler := l.MPICompiler()
	if _, err := exec.LookPath(compiler[0]); err != nil {
		f.Value = "not tried: " + compiler[0] + " not found"
		f.Advice = "'whyslow mpi' needs the compiler of your MPI: install libopenmpi-dev, or" +
			" name it in " + launch.MPICC
		return []Finding{f}
	}
	library, err := collectors.BuildMPI(ctx, compiler, false)
	if err != nil {
		return []Finding{f.bad(err.Error(), "'whyslow mpi' needs the library that records; name the compiler of"+
			" your MPI in "+launch.MPICC)}
	}
	return []Finding{tryMany(ctx, f, library, trialMPI, compiler[0], mpirun, " (LD_PRELOAD)",
		func(program string) *launch.Launch { return l.Trial(mpirun, triedRanks, program) })}
}
