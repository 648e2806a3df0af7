//go:build cgo && linux

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/run/config"
	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/internal/run/crew"
	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/internal/run/luna/bundle"
	"github.com/whyslow/whyslow/internal/run/luna/records"
)

// LuNA's own command. It compiles the program, writes a library that carries it (bundle.go), and starts
// itself as rts to run that: a process of its own, because the program's standard error is shown only when it
// fails.
//
// Started by mpirun, every rank compiles for itself and starts an rts, and these join. What a rank does
// beside that (keeping files, printing) rank 0 does alone.

type lunaCommandLine struct {
	*lunaOptions
	io    console.IO
	shown bool // a line of progress
}

// A fatalError is printed as LuNA does; details follow on lines of their own.
type fatalError struct {
	text, details string
	running       bool // the program failed when it ran
}

func (e *fatalError) Error() string { return e.text }

func detailsOf(err error) string {
	var fatal *fatalError
	if errors.As(err, &fatal) {
		return fatal.details
	}
	return ""
}

func runLuna(words []string, io console.IO) int {
	opt, err := parseLuna(words)
	if err != nil {
		fmt.Fprintf(io.Err, "luna: fatal error: %v\n", err)
		return exitOf(console.Failed)
	}
	if opt.help {
		fmt.Fprint(io.Out, lunaHelp)
		return console.Done
	}
	l := &lunaCommandLine{lunaOptions: opt, io: io}
	if strings.HasPrefix(l.file, "-") && !l.disabled[1] {
		fmt.Fprintf(io.Err, "luna: WARNING#1: suspicious program name: '%s' (mistyped a key?)\n", l.file)
	}
	err = l.run()
	l.clearProgress()
	var faults *luna.Error
	if rank, _ := crew.Place(); rank > 0 && err != nil {
		speakElsewhere(rank, err)
		return console.Failed
	}
	switch {
	case err == nil:
		return console.Done
	case errors.As(err, &faults):
		fmt.Fprintln(io.Err, luna.LunaText(faults.First()))
	default:
		fmt.Fprintf(io.Err, "luna: fatal error: %v\n%s", err, detailsOf(err))
	}
	return console.Failed
}

// exitOf is the exit code where all ranks fail alike: mpirun must not end rank 0 before it says why.
func exitOf(code int) int {
	if rank, _ := crew.Place(); rank > 0 {
		return console.Done
	}
	return code
}

// elsewherePatience is how long a rank that failed waits for rank 0 to fail as well, and mpirun to end all.
const elsewherePatience = 30 * time.Second

// speakElsewhere says what failed at a rank other than 0. Usually that is wrong everywhere (an error in the
// program, no compiler), and rank 0 says it; if rank 0 does not, one rank of each computer does.
func speakElsewhere(rank int, err error) {
	var fatal *fatalError
	if !errors.As(err, &fatal) || !fatal.running {
		time.Sleep(elsewherePatience)
		if os.Getenv("OMPI_COMM_WORLD_LOCAL_RANK") != "0" {
			return
		}
	}
	fmt.Fprintf(os.Stderr, "luna: rank %d (%s): fatal error: %v\n%s", rank, crew.HostName(), err, detailsOf(err))
}

// progress shows where the command is. With -c, standard output is the command that runs the program.
func (l *lunaCommandLine) progress(stage string) {
	if !l.quiet && !l.libraryOnly && !l.compileOnly {
		fmt.Fprintf(l.io.Out, "\x1b[2K\rluna: %s", stage)
		l.shown = true
	}
}

func (l *lunaCommandLine) clearProgress() {
	if l.shown {
		fmt.Fprint(l.io.Out, "\x1b[2K\r")
		l.shown = false
	}
}

func (l *lunaCommandLine) run() error {
	if rank, _ := crew.Place(); rank > 0 {
		if l.libraryOnly || l.compileOnly {
			return nil // rank 0 does it
		}
		l.buildDir = "" // is rank 0's
	}
	l.progress("preprocessing")
	prog, carried, err := l.compile()
	if err != nil {
		return err
	}
	dir, remove, err := l.makeBuildDir()
	if err != nil {
		return err
	}
	if remove {
		defer os.RemoveAll(dir)
	}
	if err := os.WriteFile(filepath.Join(dir, "preprocessed.fa"), []byte(prog.Text), 0o666); err != nil {
		return console.FileError(err)
	}
	if l.debug {
		if err := records.WriteBuild(dir, prog); err != nil {
			return console.FileError(err)
		}
	}

	l.progress("so-build")
	spec := cpp.Spec{Prog: prog, Dir: filepath.Dir(l.file), CppDirs: l.cppDirs, Sources: l.cppSources,
		Optimize: l.optimize, Debug: l.debug}
	if l.verbose {
		spec.Verbose = l.io.Out
	}
	built, err := cpp.Build(context.Background(), spec)
	if err != nil {
		return &fatalError{text: "so-build failed: 2 (see below):",
			details: originalPositions(strings.TrimRight(err.Error(), "\n"), prog, carried) + "\n"}
	}
	library := filepath.Join(dir, "libucodes.so")
	if l.libraryOnly {
		if library = l.libraryFile; !strings.Contains(library, "/") {
			library = "./" + library // LuNA's launcher wants a slash
		}
	}
	carried.Read = crew.Sources(built.Read)
	if err := bundle.Write(library, built.Path, carried); err != nil {
		return console.FileError(err)
	}
	if l.libraryOnly || l.compileOnly {
		if !l.quiet {
			fmt.Fprintln(l.io.Out, strings.Join(append(launcher(), append([]string{library}, l.args...)...), " "))
		}
		return nil
	}
	l.clearProgress()
	return l.execute(library)
}

// compile gives the program, and what is needed to compile it again.
func (l *lunaCommandLine) compile() (*luna.Program, *bundle.Program, error) {
	text, err := readSource(l.file)
	if err != nil {
		return nil, nil, &fatalError{
			text:    "preprocessing failed (see error messages below):",
			details: fmt.Sprintf("pp.py: fatal error: failed to read '%s'\n", l.file),
		}
	}
	carried := &bundle.Program{File: l.file, Source: string(text), Defines: l.defines, Debug: l.debug,
		Includes: map[string]string{}}
	prog, err := luna.Compile(luna.Options{
		File: carried.File, Source: []byte(carried.Source), Defines: luna.Defines(carried.Defines),
		ReadFile: func(path string) ([]byte, error) {
			text, err := luna.ReadInclude(path)
			if err == nil {
				carried.Includes[path] = string(text)
			}
			return text, err
		},
	})
	return prog, carried, err
}

// makeBuildDir gives the folder of intermediate files and whether it is to be removed at the end.
func (l *lunaCommandLine) makeBuildDir() (dir string, remove bool, err error) {
	_, keep := os.LookupEnv("LUNA_NO_CLEANUP")
	rank, _ := crew.Place()
	keep = rank == 0 && (keep || l.noCleanup || l.compileOnly)
	if l.buildDir == "" && !keep {
		dir, err := os.MkdirTemp("", "luna-*")
		return dir, true, err
	}
	dir = l.buildDir
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", false, err
		}
		file, err := filepath.Abs(l.file)
		if err != nil {
			return "", false, err
		}
		dir = filepath.Join(cache, "whyslow", "programs", file)
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return "", false, fmt.Errorf("not a directory at build dir: %s", dir)
	}
	return dir, !keep, console.FileError(os.MkdirAll(dir, 0o777))
}

// configured tells whether there are configuration files for the programs of a folder.
func configured(dir string) bool {
	events, modules := config.Find(dir)
	return events != "" || modules != ""
}

// execute runs the library in a process of its own, and shows its standard error only when it fails.
func (l *lunaCommandLine) execute(library string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	library, err = filepath.Abs(library)
	if err != nil {
		return err
	}
	// Ctrl+C reaches the child, which is in this process's group; its end ends this process too.
	signal.Ignore(syscall.SIGINT)
	var stderr bytes.Buffer
	cmd := &exec.Cmd{
		Path:  self,
		Args:  []string{"rts", fmt.Sprintf("--worker-threads-count=%d", l.workers)},
		Stdin: l.io.In, Stdout: console.Beneath(l.io.Out), Stderr: &stderr,
	}
	if dir := filepath.Dir(l.file); !l.plain && configured(dir) {
		cmd.Args = append(cmd.Args, "--config-dir="+dir, wordsFDFlag+"3")
		cmd.ExtraFiles = []*os.File{os.Stderr}
	}
	cmd.Args = append(append(cmd.Args, library), l.args...)
	if l.verbose {
		fmt.Fprintln(l.io.Out, strings.Join(cmd.Args, " "))
	}
	start := time.Now()
	err = cmd.Run()
	if l.time {
		fmt.Fprintf(l.io.Out, "TIME: %f sec.\n", time.Since(start).Seconds())
	}
	var exit *exec.ExitError
	if err == nil || !errors.As(err, &exit) {
		return err
	}
	code := exit.ExitCode()
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		code = -int(status.Signal())
	}
	var details strings.Builder
	for line := range strings.Lines(stderr.String()) {
		fmt.Fprintf(&details, "err> %s\n", strings.TrimRight(line, "\n"))
	}
	return &fatalError{fmt.Sprintf("run-time error: errcode=%d", code), details.String(), true}
}
