package doctor

import (
	"context"
	"os/exec"
	"slices"

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

// trialHybrid is a program with two threads in each rank.
const trialHybrid = `#include <mpi.h>
int main(int argc, char **argv) {
    int level, sum = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
#pragma omp parallel num_threads(2)
#pragma omp atomic
    sum++;
    MPI_Finalize();
    return sum < 1;
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
	trialOf := func(program string) *launch.Launch { return l.Trial(mpirun, triedRanks, program) }
	found := tryMany(ctx, f, library, trialMPI, compiler, mpirun, " (LD_PRELOAD)", trialOf)
	if !found.OK {
		return []Finding{found}
	}
	return []Finding{found, examineHybrid(ctx, compiler, mpirun, trialOf)}
}

// examineHybrid tries an MPI program with threads.
func examineHybrid(ctx context.Context, compiler []string, mpirun string,
	trialOf func(program string) *launch.Launch) Finding {
	f := Finding{What: "MPI with OpenMP", OK: true}
	if launch.FindLibomp() == "" {
		f.Value, f.Advice = "not tried: LLVM's libomp.so.5 not found", "for 'whyslow mpi --omp', install libomp5"
		return f
	}
	library, err := collectors.BuildMPI(ctx, compiler, true)
	if err != nil {
		return f.bad(err.Error(), "'whyslow mpi --omp' needs the library that records both")
	}
	var wrong error
	found := tryMany(ctx, f, library, trialHybrid, append(slices.Clone(compiler), "-fopenmp"), mpirun,
		" (LD_PRELOAD)", func(program string) *launch.Launch {
			hybrid := trialOf(program)
			_, wrong = hybrid.WithThreads()
			return hybrid
		})
	if wrong != nil {
		return f.bad(wrong.Error(), "")
	}
	return found
}
