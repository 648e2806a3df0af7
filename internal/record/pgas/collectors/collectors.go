// Package collectors makes the libraries that record programs as they are: libwhyslow-gasp (UPC),
// libwhyslow-shmem (OpenSHMEM), libwhyslow-omp (OpenMP) and libwhyslow-mpi (MPI). Their C sources are part of
// whyslow (package sdk). The C compiler of the machine compiles them when they are first needed; package
// compile keeps the result.
package collectors

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/files"
	"github.com/whyslow/whyslow/internal/run/compile"
	"github.com/whyslow/whyslow/sdk"
)

// Names are the names of the libraries that programs can be linked with: "gasp" and "shmem".
var Names = []string{"gasp", "shmem"}

// folders has the folder of sources of each library that Build makes.
var folders = map[string]string{"gasp": "pgas", "shmem": "pgas", "omp": "omp"}

// Build compiles libwhyslow-NAME.so, or finds it in the user's cache, and returns its path. It compiles
// again when the sources, the compiler ($CC, default cc) or its flags change. Several processes may
// build at once. The error says what to install where there is no compiler.
func Build(ctx context.Context, name string) (string, error) {
	if folders[name] == "" {
		return "", fmt.Errorf("no library %q: there are %s", name,
			strings.Join(slices.Sorted(maps.Keys(folders)), ", "))
	}
	return shared(ctx, name, strings.Fields(os.Getenv("CC")))
}

// BuildMPI is Build for libwhyslow-mpi, with the compiler of an MPI, such as mpicc: the library fits that
// MPI. threads: the library that records OpenMP, too.
func BuildMPI(ctx context.Context, compiler []string, threads bool) (string, error) {
	name := "mpi"
	if threads {
		name = "mpi-omp"
	}
	return shared(ctx, name, compiler)
}

// shared makes a shared library.
func shared(ctx context.Context, name string, compiler []string) (string, error) {
	p, err := library(name, ".so", "-fPIC")
	if err != nil {
		return "", err
	}
	p.Compiler = compiler
	p.Link = []string{"-shared"}
	made, err := p.Make(ctx)
	return made, explain(ctx, name, p.Compiler, err)
}

// archive compiles libwhyslow-NAME.a, without -fPIC, which would make references to pshmem_* weak: linkers
// might then leave out OpenSHMEM.
func archive(ctx context.Context, name string) (string, error) {
	p, err := library(name, ".a", "-fPIE")
	if err != nil {
		return "", err
	}
	made, err := p.Archive(ctx)
	return made, explain(ctx, name, p.Compiler, err)
}

// library puts the sources into the cache as they lie in sdk, and says how to compile one of them.
func library(name, suffix, code string) (compile.Program, error) {
	cache, err := compile.Open("", "")
	if err != nil {
		return compile.Program{}, err
	}
	sources := map[string]string{headerFile: sdk.Header}
	parts := []embed.FS{sdk.PGAS}
	folder := cmp.Or(folders[name], "mpi")
	switch folder {
	case "omp":
		parts = append(parts, sdk.OMP)
	case "mpi":
		parts = append(parts, sdk.MPI, sdk.OMP)
	}
	for _, part := range parts {
		err = fs.WalkDir(part, ".", func(file string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			text, err := fs.ReadFile(part, file)
			sources[file] = string(text)
			return err
		})
		if err != nil {
			return compile.Program{}, err
		}
	}
	dir, err := cache.Folder(sources)
	return compile.Program{
		Name: "libwhyslow-" + name + suffix, Dir: dir, Compiler: strings.Fields(os.Getenv("CC")),
		Flags: []string{"-O2", "-g", "-pthread", code}, Compile: []string{"-I."},
		Sources: []string{folder + "/" + name + ".c"},
	}, err
}

const headerFile = "whyslow.h"

// explain says in one line why a library was not made, and what to install.
func explain(ctx context.Context, name string, compiler []string, err error) error {
	var failed *compile.Error
	switch {
	case err == nil || ctx.Err() != nil:
		return cmp.Or(ctx.Err(), err)
	case errors.As(err, &failed):
		return fmt.Errorf("cannot compile libwhyslow-%s: %s (%s)", name,
			cmp.Or(FirstError(failed.Output), failed.Err.Error()), strings.Join(failed.Command, " "))
	case !errors.Is(err, exec.ErrNotFound):
		return err
	}
	command := cmp.Or(strings.Join(compiler, " "), "cc")
	if command, _, _ = strings.Cut(command, " "); strings.HasPrefix(name, "mpi") &&
		strings.HasPrefix(err.Error(), command+":") {
		return fmt.Errorf("no compiler of MPI programs: %s was not found; install it (apt-get install"+
			" libopenmpi-dev) or name one in the environment variable MPICC", command)
	} else if strings.HasPrefix(err.Error(), command+":") {
		return fmt.Errorf("no C compiler: %s was not found; install one (apt-get install gcc) or name one in the "+
			"environment variable CC", command)
	}
	return fmt.Errorf("cannot make libwhyslow-%s.a: %w; install it (apt-get install binutils)", name, err)
}

// FirstError is the line of a compiler's output that says what is wrong. Where the linker fails, that is the
// linker's, not that of the compiler which only tells that it failed.
func FirstError(out string) string {
	const linkerFailed = "collect2: error: ld returned"
	for _, word := range []string{"error:", "undefined reference", "cannot find", "error", "", linkerFailed} {
		for line := range strings.Lines(out) {
			line = strings.TrimSpace(line)
			if line != "" && strings.Contains(line, word) &&
				(word == linkerFailed || !strings.HasPrefix(line, linkerFailed)) {
				return line
			}
		}
	}
	return ""
}

// Write writes all libraries (libwhyslow-NAME.a and .so) and their headers into dir, which it makes if
// missing, over files of these names. It returns the names.
func Write(ctx context.Context, dir string) (written []string, err error) {
	texts := map[string][]byte{headerFile: []byte(sdk.Header)}
	for _, name := range Names {
		for _, kind := range []func(context.Context, string) (string, error){Build, archive} {
			file, err := kind(ctx, name)
			if err != nil {
				return nil, err
			}
			if texts[filepath.Base(file)], err = os.ReadFile(file); err != nil {
				return nil, err
			}
		}
	}
	// What is included by others, and what only their compilers can compile.
	for _, pattern := range []string{"pgas/gasp.h", "pgas/whyslow_phase.h", "pgas/*.upc"} {
		sources, err := fs.Glob(sdk.PGAS, pattern)
		if err != nil {
			return nil, err
		}
		for _, source := range sources {
			if texts[path.Base(source)], err = fs.ReadFile(sdk.PGAS, source); err != nil {
				return nil, err
			}
		}
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		// A program that has loaded a library before keeps that.
		if err := files.ReplaceText(filepath.Join(dir, name), texts[name]); err != nil {
			return written, err
		}
		written = append(written, name)
	}
	return written, nil
}
