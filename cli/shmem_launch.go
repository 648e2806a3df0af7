package cli

import (
	"bytes"
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

	"golang.org/x/sys/unix"
)

// launchers start programs on many PEs. The value tells whether it may be Open MPI's, which passes a variable of the environment to other
// hosts only where -x names it; the others pass all.
var launchers = map[string]bool{
	"oshrun": true, "shmemrun": true, "mpirun": true, "mpiexec": true, "orterun": true, "prterun": true, "prun": true,
	"oshexec": false, "srun": false, "aprun": false, "jsrun": false, "ibrun": false, "mpiexec.hydra": false, "mpirun_rsh": false,
}

// launch is a command that starts an OpenSHMEM program.
type launch struct {
	words    []string
	launcher int         // which of the words that is; -1: the program is started by itself
	path     string      // of the first word
	openMPI  openVersion // zero where it is not Open MPI's
	program  string      // as it is named; "": not found
	env      []string
}

// openVersion is a version of Open MPI.
type openVersion [3]int

func (v openVersion) String() string { return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]) }

// crashes tells whether this version crashes in shmem_finalize: it unloads a component (osc/rdma) whose hook it calls afterwards.
func (v openVersion) crashes() bool { return v == openVersion{4, 1, 4} || v == openVersion{4, 1, 5} }

// What keeps such a version from crashing.
const (
	crashVariable = "OMPI_MCA_osc"
	crashRemedy   = "^rdma"
)

const versionTimeout = 10 * time.Second

var versionNumber = regexp.MustCompile(`\((?:Open MPI|OpenRTE|PRRTE)\) v?(\d+)\.(\d+)\.(\d+)`)

// openMPIVersion asks a launcher for its version; zero where it is not one of Open MPI's.
func openMPIVersion(ctx context.Context, launcher string) (v openVersion) {
	out, _, err := runBriefly(ctx, versionTimeout, nil, launcher, "--version")
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

// newLaunch looks at the command of the user.
func newLaunch(ctx context.Context, words []string) (*launch, error) {
	l := &launch{words: slices.Clone(words), launcher: slices.IndexFunc(words, isLauncher)}
	var err error
	if l.path, err = exec.LookPath(words[0]); err != nil {
		return nil, noCommand(words[0], err)
	}
	if l.launcher < 0 {
		l.program = words[0]
	} else {
		l.program = programOf(words[l.launcher+1:])
		if path, err := exec.LookPath(words[l.launcher]); err != nil {
			return nil, noCommand(words[l.launcher], err)
		} else if launchers[filepath.Base(path)] {
			l.openMPI = openMPIVersion(ctx, path)
		}
	}
	if l.openMPI != (openVersion{}) && os.Geteuid() == 0 && !slices.Contains(words, "--allow-run-as-root") && !(isSet("OMPI_ALLOW_RUN_AS_ROOT") && isSet("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")) {
		name := words[l.launcher]
		return nil, fmt.Errorf("%s does not run as root unless told to: say %s --allow-run-as-root, or set OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", name, name)
	}
	return l, ctx.Err()
}

func isSet(variable string) bool { return os.Getenv(variable) != "" }

func isLauncher(word string) bool {
	_, ok := launchers[filepath.Base(word)]
	return ok
}

func noCommand(name string, err error) error {
	switch {
	case !errors.Is(err, exec.ErrNotFound):
		return err // a path
	case !isLauncher(name):
		return fmt.Errorf("%s: no such command", name)
	}
	return fmt.Errorf("%s was not found: install OpenSHMEM (Open MPI has it: apt-get install openmpi-bin libopenmpi-dev), or load the module of your cluster that has it; 'whyslow doctor' tells more", name)
}

// programOf finds the program among what follows the launcher: the first word that names a file that can be executed.
func programOf(words []string) string {
	for _, word := range words {
		if st, err := os.Stat(word); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return word
		}
	}
	return ""
}

// prepare puts together the environment of the program.
func (l *launch) prepare(library, dir string, o *shmemOptions) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if strings.ContainsAny(library, " :") {
		return fmt.Errorf("%s: libraries can be loaded before others only from a folder without blanks and colons in its name: set XDG_CACHE_HOME to another", library)
	}
	if err := l.loadable(); err != nil {
		return err
	}
	settings := map[string]string{"WHYSLOW_SIGNALS": "1"} // so that what ends the program early does not take the end of the trace with it
	for _, variable := range os.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, "WHYSLOW_") && name != tokenVariable {
			settings[name] = value
		}
	}
	if o.live.on {
		settings["WHYSLOW_FLUSH"] = "200"
	}
	maps.Copy(settings, o.settings)
	settings["WHYSLOW_TRACE"] = dir
	settings["LD_PRELOAD"] = strings.TrimRight(library+":"+os.Getenv("LD_PRELOAD"), ":")
	l.env = os.Environ()
	var passed []string
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		if l.openMPI != (openVersion{}) {
			passed = append(passed, "-x", name+"="+settings[name])
		} else {
			l.env = append(l.env, name+"="+settings[name]) // of two the last counts
		}
	}
	if passed != nil {
		l.words = slices.Insert(l.words, l.launcher+1, passed...)
	}
	l.mendCrash()
	return nil
}

// mendCrash keeps Open MPI from crashing at the end, where its version does and the user has not chosen himself.
func (l *launch) mendCrash() {
	v := l.openMPI
	if v == (openVersion{}) {
		if path, err := exec.LookPath("oshrun"); err == nil && (l.launcher < 0 || !launchers[filepath.Base(l.words[l.launcher])]) {
			v = openMPIVersion(context.Background(), path) // another launcher starts programs of the same OpenSHMEM
		}
	}
	for i, word := range l.words[:max(len(l.words)-1, 0)] {
		if (strings.TrimLeft(word, "-") == "mca" || strings.TrimLeft(word, "-") == "gmca") && l.words[i+1] == "osc" {
			return
		}
	}
	if _, set := os.LookupEnv(crashVariable); v.crashes() && !set {
		l.env = append(l.env, crashVariable+"="+crashRemedy)
	}
}

// loadable finds out before the run whether a library can be loaded into the program.
func (l *launch) loadable() error {
	f, err := os.Open(l.program)
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
	if has, err := contains(f, "WHYSLOW_TRACE"); err != nil || has {
		return err // linked with our library
	}
	return fmt.Errorf("%s is linked statically, so that no library can be loaded before OpenSHMEM's: link it dynamically, or with libwhyslow-shmem.a before OpenSHMEM ('whyslow shmem --library DIR' writes that)", l.program)
}

// contains tells whether a file contains a text.
func contains(f *os.File, text string) (bool, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return false, err
	}
	b := make([]byte, 1<<20)
	kept := 0 // of what was read before: the text may lie across
	for {
		n, err := f.Read(b[kept:])
		if bytes.Contains(b[:kept+n], []byte(text)) {
			return true, nil
		}
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		kept = copy(b, b[max(0, kept+n-len(text)):kept+n])
	}
}

const (
	// A launcher of Open MPI that is told twice within five seconds to end kills all at once, and the end of the trace with it.
	foregroundWait = 6 * time.Second
	endWait        = 10 * time.Second // after it was told to end
)

// run runs the command to its end. The error is for the user; nil where it ended well.
func (l *launch) run(ctx context.Context, std stdio) error {
	cmd := exec.Command(l.path, l.words[1:]...)
	cmd.Env = l.env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = std.in, std.out, std.err
	if err := cmd.Start(); err != nil {
		return badInput(fileError(err))
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
		std.say("interrupted")
		return exitWith(exitInterrupted, nil)
	case err == nil:
		return nil
	case errors.As(err, &exit):
		return exitWith(exitFailed, fmt.Errorf("the program failed: %s ended with %w", filepath.Base(l.words[0]), exit))
	}
	return badInput(err)
}

// end ends the command after an interrupt.
func (l *launch) end(cmd *exec.Cmd, ended chan error) error {
	// A Ctrl+C went to all processes in the foreground of the terminal. An interrupt from elsewhere has to be passed on.
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

// inForeground tells whether a terminal sends its signals to this process.
func inForeground() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
