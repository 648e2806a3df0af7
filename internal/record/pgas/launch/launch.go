// Package launch starts OpenSHMEM, MPI and OpenMP programs by their users' command, records them and
// completes their traces.
package launch

import (
	"bytes"
	"cmp"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/whyslow/whyslow/internal/console"
)

// launchers start programs on many PEs. The value tells whether it may be Open MPI's, which passes a variable
// of the environment to other hosts only where -x names it; the others pass all.
var launchers = map[string]bool{
	"oshrun": true, "shmemrun": true, "mpirun": true, "mpiexec": true, "orterun": true,
	"prterun": true, "prun": true,
	"oshexec": false, "srun": false, "aprun": false, "jsrun": false, "ibrun": false,
	"mpiexec.hydra": false, "mpirun_rsh": false,
	"mpirun.openmpi": true, "mpiexec.openmpi": true, "mpirun.mpich": false, // Debian's names
	"mpiexec.mpich": false,
}

// Launch is a command that starts a program that a library records.
type Launch struct {
	Words    []string // of the command; Prepare adds some
	Path     string   // of the first word
	Program  string   // as it is named; "": not found
	Env      []string
	launcher int     // which of the words that is; -1: the program is started by itself
	openMPI  Version // zero where it is not Open MPI's
	// of an OpenMP or MPI program; both nil: an OpenSHMEM program
	omp *openMP
	mpi *mpiProgram
}

// Version is a version of Open MPI; zero: another MPI.
type Version [3]int

// String is such as 4.1.4.
func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]) }

// Crashes tells whether this version crashes in shmem_finalize, calling a hook of the unloaded osc/rdma.
func (v Version) Crashes() bool { return v == Version{4, 1, 4} || v == Version{4, 1, 5} }

// What keeps such a version from crashing.
const (
	CrashVariable = "OMPI_MCA_osc"
	CrashRemedy   = "^rdma"
)

const versionTimeout = 10 * time.Second

var versionNumber = regexp.MustCompile(`\((?:Open MPI|OpenRTE|PRRTE)\) v?(\d+)\.(\d+)\.(\d+)`)

// OpenMPI asks a launcher for its version; zero where it is not one of Open MPI's.
func OpenMPI(ctx context.Context, launcher string) (v Version) {
	out, _, err := Briefly(ctx, versionTimeout, nil, launcher, "--version")
	if err != nil {
		return v
	}
	if m := versionNumber.FindStringSubmatch(out); m != nil {
		for i := range v {
			v[i], _ = strconv.Atoi(m[i+1]) // digits; a number too large is no version known here
		}
	}
	return v
}

// Trial is the command of a launcher of a known version that starts a program so many times.
func Trial(launcher string, v Version, pes int, program string) *Launch {
	words := []string{launcher, "-np", strconv.Itoa(pes), program}
	return &Launch{Words: words, Path: launcher, Program: program, openMPI: v}
}

// New looks at the command of a user who wants an OpenSHMEM program recorded.
func New(ctx context.Context, words []string) (*Launch, error) {
	l := &Launch{}
	if err := l.look(ctx, words); err != nil {
		return nil, err
	}
	return l, nil
}

// look finds the launcher and the program in the command of the user.
func (l *Launch) look(ctx context.Context, words []string) error {
	l.Words, l.launcher = slices.Clone(words), slices.IndexFunc(words, isLauncher)
	var err error
	if l.Path, err = exec.LookPath(words[0]); err != nil {
		return l.noCommand(words[0], err)
	}
	if l.launcher < 0 {
		l.Program = words[0]
	} else {
		l.Program = programOf(words[l.launcher+1:])
		if path, err := exec.LookPath(words[l.launcher]); err != nil {
			return l.noCommand(words[l.launcher], err)
		} else if launchers[filepath.Base(path)] {
			l.openMPI = OpenMPI(ctx, path)
		}
	}
	if l.openMPI != (Version{}) && os.Geteuid() == 0 && !slices.Contains(words, "--allow-run-as-root") &&
		!(isSet("OMPI_ALLOW_RUN_AS_ROOT") && isSet("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")) {
		name := words[l.launcher]
		return fmt.Errorf("%s does not run as root unless told to: use %s --allow-run-as-root, or set"+
			" OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", name, name)
	}
	return ctx.Err()
}

func isSet(variable string) bool { return os.Getenv(variable) != "" }

func isLauncher(word string) bool {
	_, ok := launchers[filepath.Base(word)]
	return ok
}

func (l *Launch) noCommand(name string, err error) error {
	switch {
	case !errors.Is(err, exec.ErrNotFound):
		return err // a path
	case !isLauncher(name):
		return fmt.Errorf("%s: no such command", name)
	}
	what := "OpenSHMEM (Open MPI has it: "
	if l.mpi != nil {
		what = "MPI ("
	}
	return fmt.Errorf("%s was not found: install %sapt-get install openmpi-bin libopenmpi-dev), or load the"+
		" module of your cluster that has it; 'whyslow doctor' tells more", name, what)
}

// programOf finds the program after the launcher: the first word that names an executable file.
func programOf(words []string) string {
	for _, word := range words {
		if st, err := os.Stat(word); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return word
		}
	}
	return ""
}

// Prepare makes the program's environment: library records it into dir. settings prevail over WHYSLOW_* here.
func (l *Launch) Prepare(library, dir string, settings map[string]string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if strings.ContainsAny(library, " :") {
		return fmt.Errorf("%s: libraries can be loaded before others only from a folder without blanks and"+
			" colons in its name: set XDG_CACHE_HOME to another", library)
	}
	if l.omp == nil { // else NewOpenMP has looked
		if err := l.loadable(); err != nil {
			return err
		}
	}
	if l.mpi != nil {
		if err := l.mpi.fits(library, l.Program); err != nil {
			return err
		}
	}
	// so that what ends the program early does not take the end of the trace with it
	all := map[string]string{"WHYSLOW_SIGNALS": "1"}
	for _, variable := range os.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, "WHYSLOW_") && name != console.Tokens && name != console.Collectors {
			all[name] = value
		}
	}
	maps.Copy(all, settings)
	all["WHYSLOW_TRACE"] = dir
	if l.omp != nil {
		library = l.omp.preloaded(library)
		all["OMP_TOOL"] = "enabled"
	}
	all["LD_PRELOAD"] = strings.TrimRight(library+":"+os.Getenv("LD_PRELOAD"), ":")
	l.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool {
		// The verb sends the trace, not the library.
		return strings.HasPrefix(variable, console.Collectors+"=")
	})
	var passed []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if l.openMPI != (Version{}) {
			passed = append(passed, "-x", name+"="+all[name])
		} else {
			l.Env = append(l.Env, name+"="+all[name]) // of two the last counts
		}
	}
	if passed != nil {
		l.Words = slices.Insert(l.Words, l.launcher+1, passed...)
	}
	if l.omp == nil && l.mpi == nil {
		l.mendCrash()
	}
	return nil
}

// mendCrash keeps Open MPI versions that crash at the end from it, unless the user has chosen.
func (l *Launch) mendCrash() {
	v := l.openMPI
	if v == (Version{}) {
		if path, err := exec.LookPath("oshrun"); err == nil &&
			(l.launcher < 0 || !launchers[filepath.Base(l.Words[l.launcher])]) {
			v = OpenMPI(context.Background(), path) // another launcher starts programs of the same OpenSHMEM
		}
	}
	for i, word := range l.Words[:max(len(l.Words)-1, 0)] {
		if (strings.TrimLeft(word, "-") == "mca" || strings.TrimLeft(word, "-") == "gmca") &&
			l.Words[i+1] == "osc" {
			return
		}
	}
	if _, set := os.LookupEnv(CrashVariable); v.Crashes() && !set {
		l.Env = append(l.Env, CrashVariable+"="+CrashRemedy)
	}
}

// loadable finds out before the run whether a library can be loaded into the program.
func (l *Launch) loadable() error {
	f, err := os.Open(l.Program)
	if err != nil {
		return nil // a name that the launcher looks for
	}
	defer f.Close()
	program, err := elf.NewFile(f)
	if err != nil || program.Type != elf.ET_EXEC && program.Type != elf.ET_DYN {
		return nil // a script
	}
	for _, p := range program.Progs {
		if p.Type == elf.PT_INTERP {
			return nil
		}
	}
	for _, p := range program.Progs {
		if p.Type != elf.PT_LOAD {
			continue
		}
		loaded, err := io.ReadAll(p.Open())
		if err != nil || bytes.Contains(loaded, []byte("WHYSLOW_TRACE")) {
			return err // linked with our library
		}
	}
	if l.mpi != nil {
		return fmt.Errorf("%s is linked statically, so that no library can be loaded before MPI's: link it"+
			" dynamically (without -static)", l.Program)
	}
	return fmt.Errorf("%s is linked statically, so that no library can be loaded before OpenSHMEM's: link"+
		" it dynamically, or with libwhyslow-shmem.a before OpenSHMEM ('whyslow shmem --library DIR'"+
		" writes that)", l.Program)
}

const (
	// A launcher of Open MPI told twice within five seconds to end kills all at once, before the trace ends.
	foregroundWait = 6 * time.Second
	endWait        = 10 * time.Second // after it was told to end
)

// Run runs the command to its end. The error is for the user; nil where it ended well.
func (l *Launch) Run(ctx context.Context, std console.IO) error {
	cmd := exec.Command(l.Path, l.Words[1:]...)
	cmd.Env = l.Env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = std.In, console.Beneath(std.Out), console.Beneath(std.Err)
	if err := cmd.Start(); err != nil {
		return console.BadInput(console.FileError(err))
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		err = l.end(cmd, ended)
	}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		std.Say("interrupted")
		return console.Exit(console.Interrupted, nil)
	case err == nil:
		return nil
	case errors.As(err, &exit):
		return console.Exit(console.Failed, fmt.Errorf("the program failed: %s ended with %w",
			filepath.Base(l.Words[0]), exit))
	}
	return console.BadInput(err)
}

// end ends the command after an interrupt.
func (l *Launch) end(cmd *exec.Cmd, ended chan error) error {
	// Ctrl+C goes to all processes in the foreground of the terminal; other interrupts must be passed on.
	if inForeground() {
		select {
		case err := <-ended:
			return err
		case <-time.After(foregroundWait):
		}
	}
	_ = cmd.Process.Signal(syscall.SIGTERM) // it may just have ended
	select {
	case err := <-ended:
		return err
	case <-time.After(endWait):
	}
	_ = cmd.Process.Kill()
	return <-ended
}

// Briefly runs a command and asks it to end when it takes too long: context.DeadlineExceeded.
func Briefly(ctx context.Context, limit time.Duration, env []string, name string, args ...string) (stdout,
	stderr string, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), cmp.Or(ctx.Err(), err)
}
