package launch

import (
	"context"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/whyslow/whyslow/internal/files"
)

// mpiProgram is what is known of an MPI program before it runs.
type mpiProgram struct {
	library  string   // of MPI that it links, "libmpi.so.40"; "": not known
	compiler []string // that compiles for its MPI
}

// MPICC is the variable of the environment that names the compiler of MPI programs.
const MPICC = "MPICC"

// NewMPI looks at the command of a user who wants an MPI program recorded: which MPI does it link?
func NewMPI(ctx context.Context, words []string) (*Launch, error) {
	l := &Launch{mpi: &mpiProgram{}}
	if err := l.look(ctx, words); err != nil {
		return nil, err
	}
	l.mpi.library = mpiLibrary(l.programPath())
	names := []string{"mpicc"} // Debian has those of several implementations under names of their own
	switch {
	case strings.HasPrefix(l.mpi.library, "libmpich") || l.mpi.library == "libmpi.so.12":
		names = []string{"mpicc.mpich", "mpicc"}
	case l.mpi.library != "" || l.openMPI != (Version{}):
		names = []string{"mpicc.openmpi", "mpicc"}
	}
	l.mpi.compiler = names[len(names)-1:]
	for _, name := range names {
		if _, err := exec.LookPath(name); err == nil {
			l.mpi.compiler = []string{name}
			break
		}
	}
	if named := strings.Fields(os.Getenv(MPICC)); len(named) > 0 {
		l.mpi.compiler = named
	}
	return l, nil
}

// programPath is the file of the program, or its name where there is none.
func (l *Launch) programPath() string {
	if found, err := exec.LookPath(l.Program); err == nil {
		return found
	}
	return l.Program
}

// WithThreads has the threads of an MPI program's ranks recorded, too. note says what is done about its
// OpenMP, "" if nothing needs to be.
func (l *Launch) WithThreads() (note string, err error) { return l.WithOpenMP(l.programPath()) }

// Threaded tells whether the program links OpenMP.
func (l *Launch) Threaded() bool {
	runtime, err := runtimeOf(l.programPath())
	return err == nil && runtime != Unknown
}

// MPICompiler is the command that compiles for the MPI of the program.
func (l *Launch) MPICompiler() []string { return l.mpi.compiler }

// mpiLibrary is the library of MPI that a program links, "" if that is not known: as for scripts.
func mpiLibrary(path string) string {
	f, err := files.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	program, err := elf.NewFile(f)
	if err != nil {
		return ""
	}
	needed, err := program.ImportedLibraries()
	if err != nil {
		return ""
	}
	// Programs in Fortran may link only a library that links it in turn.
	for i, name := range needed {
		base, version, _ := strings.Cut(name, ".so")
		switch {
		case base == "libmpichfort":
			needed[i] = "libmpich.so" + version
		case base == "libmpifort", strings.HasPrefix(base, "libmpi_"):
			needed[i] = "libmpi.so" + version
		case base != "libmpi" && base != "libmpich":
			continue
		}
		return needed[i]
	}
	return ""
}

// fits finds out whether a library that records uses the MPI of the program.
func (m *mpiProgram) fits(library, program string) error {
	own := mpiLibrary(library)
	if m.library == "" || own == "" || own == m.library {
		return nil
	}
	return fmt.Errorf("%s uses %s, but %s compiles for %s: name the compiler of the program's MPI in the"+
		" environment variable %s", program, m.library, filepath.Base(m.compiler[0]), own, MPICC)
}

// nothing says why a program that ended well may have left no trace.
func (m *mpiProgram) nothing(program string) string {
	return fmt.Sprintf("nothing was recorded: %s never called MPI_Init, or MPI is linked into it statically",
		program)
}

// Trial is the command that starts another program of the same MPI so many times.
func (l *Launch) Trial(launcher string, ranks int, program string) *Launch {
	t := Trial(launcher, l.openMPI, ranks, program)
	t.mpi = &mpiProgram{compiler: l.mpi.compiler}
	return t
}
