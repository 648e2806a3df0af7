package compile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/whyslow/whyslow/internal/procs"
)

// Tool identifies a compiler, a command of several words perhaps ("ccache gcc"), by its words, the files they
// are in PATH, and what else in the environment or the machine changes its results. The error is
// exec.ErrNotFound.
func Tool(command ...string) (id string, err error) {
	parts := []string{runtime.GOARCH, strings.Join(command, "\x00")}
	for i, word := range command {
		path, err := exec.LookPath(word)
		if err != nil && i == 0 {
			return "", fmt.Errorf("%s: %w", word, exec.ErrNotFound)
		}
		if err != nil {
			continue
		}
		if path, err = filepath.EvalSymlinks(path); err != nil {
			continue
		}
		if st, err := os.Stat(path); err == nil {
			parts = append(parts, fmt.Sprint(path, st.Size(), st.ModTime().UnixNano()))
		}
	}
	for _, name := range searchPaths {
		parts = append(parts, os.Getenv(name))
	}
	return Hash(parts...), nil
}

// searchPaths are environment variables that change what a compiler finds.
var searchPaths = []string{"CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "COMPILER_PATH",
	"GCC_EXEC_PREFIX", "OMPI_CC", "OMPI_CFLAGS"}

// SearchesPaths tells whether one of the variables is set. Then results may depend on the working directory.
func SearchesPaths() bool {
	return slices.ContainsFunc(searchPaths, func(name string) bool { return os.Getenv(name) != "" })
}

// Native identifies the processor if a command has a flag such as -march=native; else it returns nothing.
func Native(words ...string) []string {
	if !strings.Contains(strings.Join(words, " "), "native") {
		return nil
	}
	data, _ := os.ReadFile("/proc/cpuinfo")
	first, _, _ := bytes.Cut(data, []byte("\n\n"))
	var id strings.Builder // a cache may be shared by unlike hosts
	for line := range strings.Lines(string(first)) {
		for _, name := range []string{"model name", "flags", "Features", "CPU part"} {
			if strings.HasPrefix(line, name) {
				id.WriteString(line)
			}
		}
	}
	return []string{id.String()}
}

// Program is sources that are compiled one by one and linked to a file. Equal programs in two folders share
// their results: in debug information, Dir is called SourceFolder.
type Program struct {
	Name     string   // of the file
	Dir      string   // where the compiler runs; "" is the working directory
	Compiler []string // a command; empty: cc
	Flags    []string // for compiling and linking
	Compile  []string // more flags for compiling
	Sources  []string // relative to Dir
	Link     []string // after the objects: libraries, and flags of the linker
}

// SourceFolder is what debug information calls the folder of a Program's sources, wherever they are.
const SourceFolder = "/src"

// Error is a command that failed.
type Error struct {
	Command []string
	Output  string
	Err     error
}

// Error returns the command, and under it what it printed.
func (e *Error) Error() string {
	return fmt.Sprintf("%s: %v\n%s", strings.Join(e.Command, " "), e.Err, strings.TrimSpace(e.Output))
}

func (e *Error) Unwrap() error { return e.Err }

// Make compiles and links the program in the user's cache, or finds it there, and returns its path. A failing
// compiler is an *Error; a compiler that is not installed an exec.ErrNotFound.
func (p Program) Make(ctx context.Context) (path string, err error) {
	c, id, err := p.open()
	if err != nil {
		return "", err
	}
	var read []string
	for _, w := range p.Link {
		if st, err := os.Stat(c.Abs(w)); err == nil && st.Mode().IsRegular() {
			read = append(read, w)
		}
	}
	return p.join(ctx, c, id, p.key("link", id, slices.Concat(p.Sources, p.Compile), p.Link), read,
		func(objects []string, out string) []string {
			return slices.Concat(p.command(), p.Flags, objects, p.Link, []string{"-o", out})
		})
}

// Archive compiles the sources in the user's cache and puts the objects into an archive called Name. It needs
// ar.
func (p Program) Archive(ctx context.Context) (path string, err error) {
	c, id, err := p.open()
	if err != nil {
		return "", err
	}
	ar, err := Tool("ar")
	if err != nil {
		return "", err
	}
	return p.join(ctx, c, id, p.key("ar", ar, slices.Concat(p.Sources, []string{id}), p.Compile), nil,
		func(objects []string, out string) []string { return append([]string{"ar", "rcs", out}, objects...) })
}

// join compiles the sources and makes the program's file of the objects by a command, which reads other files
// as well; or finds it.
func (p Program) join(ctx context.Context, c *Cache, id, key string, read []string,
	command func(objects []string, out string) []string) (path string, err error) {
	s := Step{Name: p.Name, Key: key}
	if m := c.Find(s); m != nil {
		return m.Path, nil
	}
	if s.Uses, err = p.objects(ctx, c, id); err != nil {
		return "", err
	}
	var objects []string
	for _, m := range s.Uses {
		objects = append(objects, m.Path)
	}
	s.Make = func(ctx context.Context, dir string) ([]string, string, error) {
		output, err := checked(ctx, c.cwd, command(objects, filepath.Join(dir, p.Name)))
		return read, output, err
	}
	m, err := c.Make(ctx, s)
	if err != nil {
		return "", err
	}
	c.Prune()
	return m.Path, nil
}

func (p Program) open() (*Cache, string, error) {
	id, err := Tool(p.command()...)
	if err != nil {
		return nil, "", err
	}
	c, err := Open("", p.Dir)
	if err == nil && c.inside(c.cwd) {
		id = Hash(id, c.cwd) // the folder's name is that of its contents, which no manifest lists
	}
	return c, id, err
}

func (p Program) command() []string {
	if len(p.Compiler) == 0 {
		return []string{"cc"}
	}
	return p.Compiler
}

func (p Program) key(what, tool string, lists ...[]string) string {
	parts := []string{what, tool, SourceFolder, Hash(p.Flags...)}
	for _, list := range lists {
		parts = append(parts, Hash(list...))
	}
	return Hash(append(parts, Native(slices.Concat(p.Compiler, p.Flags, p.Compile)...)...)...)
}

// objects compiles the sources, as many at once as there are processors.
func (p Program) objects(ctx context.Context, c *Cache, id string) ([]*Made, error) {
	objects := make([]*Made, len(p.Sources))
	return objects, procs.Each(ctx, runtime.NumCPU(), len(p.Sources), func(_, i int) (err error) {
		source := p.Sources[i]
		s := Step{Name: ObjectName, Key: p.key("compile", id, p.Compile, []string{source})}
		s.Make = func(ctx context.Context, dir string) (read []string, output string, err error) {
			return Object(dir, source, slices.Concat(p.command(), []string{c.Here(SourceFolder)}, p.Flags, p.Compile),
				func(words []string) (string, error) { return checked(ctx, c.cwd, words) })
		}
		objects[i], err = c.Make(ctx, s)
		return err
	})
}

// ObjectName is the file that Object makes.
const ObjectName = "out.o"

// Object compiles a source to ObjectName in dir: run runs the command with what that takes, and returns what
// it printed. Object returns what a Step's Make does.
func Object(dir, source string, command []string, run func(words []string) (string, error)) (read []string,
	output string, err error) {
	rule := filepath.Join(dir, "out.d")
	output, err = run(append(command, "-MD", "-MF", rule, "-c", source, "-o", filepath.Join(dir, ObjectName)))
	if err != nil {
		return nil, output, err
	}
	text, err := os.ReadFile(rule)
	return parseRule(string(text)), output, err
}

// checked is Run with LC_ALL=C, whose failures are an *Error.
func checked(ctx context.Context, dir string, words []string) (string, error) {
	output, err := Run(ctx, dir, words, "LC_ALL=C")
	if err != nil && !errors.Is(err, exec.ErrNotFound) {
		err = &Error{words, output, err}
	}
	return output, err
}

// Run runs a compiler in the folder dir, with env added to its environment, and returns what it printed.
func Run(ctx context.Context, dir string, words []string, env ...string) (string, error) {
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = &out, &out
	// The compiler is several processes, which remove their files when they are asked to end.
	endTogether(cmd)
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	return out.String(), err
}
