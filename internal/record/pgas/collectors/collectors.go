// Package collectors makes the libraries that record PGAS programs: libwhyslow-gasp (UPC) and libwhyslow-shmem (OpenSHMEM). Their C
// sources are part of whyslow (package sdk) and are compiled where they are needed, by the C compiler there.
package collectors

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/whyslow/whyslow/sdk"
)

// Names are those of the libraries, as Build knows them: "gasp" and "shmem".
var Names = []string{"gasp", "shmem"}

// unusedFor is how long a library stays in the cache that nobody asks for.
const unusedFor = 90 * 24 * time.Hour

// Build compiles libwhyslow-NAME.so into the user's cache, or finds it there, and returns its path. It is compiled again when the
// sources, the compiler ($CC, default cc) or its flags change. Several processes may build at once. The error says what to install
// where there is no compiler.
func Build(ctx context.Context, name string) (string, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	return build(ctx, cache, name)
}

// Write writes all libraries, to be linked with (libwhyslow-NAME.a and .so), and their headers into dir, which is made where it is not
// there. Files of the same names are replaced; others are left. It returns the names of what it has written.
func Write(ctx context.Context, dir string) (written []string, err error) {
	cache, err := cacheDir()
	if err != nil {
		return nil, err
	}
	return write(ctx, cache, dir)
}

func write(ctx context.Context, cache, dir string) (written []string, err error) {
	files := map[string][]byte{headerFile: []byte(sdk.Header)}
	for _, name := range Names {
		shared, err := build(ctx, cache, name)
		if err != nil {
			return nil, err
		}
		for _, file := range []string{shared, strings.TrimSuffix(shared, ".so") + ".a"} {
			if files[filepath.Base(file)], err = os.ReadFile(file); err != nil {
				return nil, err
			}
		}
	}
	// What is included by others, and what only their compilers can compile.
	for _, pattern := range []string{"pgas/gasp.h", "pgas/*.upc"} {
		sources, err := fs.Glob(sdk.PGAS, pattern)
		if err != nil {
			return nil, err
		}
		for _, source := range sources {
			if files[path.Base(source)], err = fs.ReadFile(sdk.PGAS, source); err != nil {
				return nil, err
			}
		}
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := replace(filepath.Join(dir, name), files[name]); err != nil {
			return written, err
		}
		written = append(written, name)
	}
	return written, nil
}

// replace writes a file at once: a program that has loaded a library before keeps that.
func replace(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

const headerFile = "whyslow.h"

var (
	sharedFlags = []string{"-O2", "-g", "-fPIC", "-pthread", "-shared"}
	// Not -fPIC: that would make the references to pshmem_* weak, and a linker that leaves out what is not needed would leave out OpenSHMEM.
	objectFlags = []string{"-O2", "-g", "-fPIE", "-pthread", "-c"}
)

func library(name, suffix string) string { return "libwhyslow-" + name + suffix }

func cacheDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no place to keep compiled libraries: %w; set HOME or XDG_CACHE_HOME", err)
	}
	if dir, err = filepath.Abs(filepath.Join(dir, "whyslow", "collectors")); err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("no place to keep compiled libraries: %w; set XDG_CACHE_HOME", err)
	}
	return dir, nil
}

func build(ctx context.Context, cache, name string) (string, error) {
	if !slices.Contains(Names, name) {
		return "", fmt.Errorf("no library %q: there are %s", name, strings.Join(Names, " and "))
	}
	cc, err := findCompiler()
	if err != nil {
		return "", err
	}
	sources, err := sourcesID()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, hash(slices.Concat([]string{name, sources}, cc.identity, objectFlags, sharedFlags)...))
	result := filepath.Join(dir, library(name, ".so"))
	if st, err := os.Stat(result); err == nil && st.Size() > 0 {
		now := time.Now()
		_ = os.Chtimes(dir, now, now) // for prune; a cache that is read only needs none
		return result, nil
	}
	tmp, err := os.MkdirTemp(cache, "tmp-")
	if err != nil {
		return "", fmt.Errorf("no place to keep compiled libraries: %w; set XDG_CACHE_HOME", err)
	}
	defer os.RemoveAll(tmp)
	if err := writeSources(tmp); err != nil {
		return "", err
	}
	shared, static, object := library(name, ".so"), library(name, ".a"), name+".o"
	var failed [2]error
	var both sync.WaitGroup
	both.Go(func() { failed[0] = cc.compile(ctx, tmp, name, objectFlags, object, "pgas/"+name+".c") })
	both.Go(func() { failed[1] = cc.compile(ctx, tmp, name, sharedFlags, shared, "pgas/"+name+".c") })
	both.Wait()
	if err := cmp.Or(failed[0], failed[1]); err != nil { // mostly both say the same
		return "", err
	}
	if err := run(ctx, tmp, "make "+static, "ar", "rcs", static, object); err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	// Whoever is last puts the same there. Where the shared library is, all is.
	for _, file := range []string{static, shared} {
		if err := os.Rename(filepath.Join(tmp, file), filepath.Join(dir, file)); err != nil {
			return "", err
		}
	}
	prune(cache)
	return result, nil
}

// prune removes what nobody has asked for in a long time, and what killed builds have left. Errors do not matter: it is done again.
func prune(cache string) {
	entries, err := os.ReadDir(cache)
	if err != nil {
		return
	}
	for _, e := range entries {
		limit := unusedFor
		if strings.HasPrefix(e.Name(), "tmp-") {
			limit = 24 * time.Hour
		}
		if st, err := e.Info(); err == nil && time.Since(st.ModTime()) > limit {
			os.RemoveAll(filepath.Join(cache, e.Name()))
		}
	}
}

// writeSources writes the sources as they lie in sdk: dir/whyslow.h and dir/pgas.
func writeSources(dir string) error {
	if err := os.CopyFS(dir, sdk.PGAS); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, headerFile), []byte(sdk.Header), 0o644)
}

func sourcesID() (string, error) {
	parts := []string{sdk.Header}
	err := fs.WalkDir(sdk.PGAS, ".", func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := fs.ReadFile(sdk.PGAS, file)
		parts = append(parts, file, string(text))
		return err
	})
	return hash(parts...), err
}

// hash of several texts; where one ends counts.
func hash(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// A compiler is a command, which may be of several words ("ccache gcc"), and all that its results depend on.
type compiler struct {
	command  []string
	identity []string
}

func findCompiler() (*compiler, error) {
	c := &compiler{command: strings.Fields(cmp.Or(os.Getenv("CC"), "cc"))}
	if len(c.command) == 0 {
		c.command = []string{"cc"}
	}
	c.identity = append([]string{runtime.GOARCH}, c.command...)
	for i, word := range c.command {
		file, err := exec.LookPath(word)
		if err != nil && i == 0 {
			return nil, fmt.Errorf("no C compiler: %s was not found; install one (apt-get install gcc) or name one in the environment variable CC", word)
		}
		if err != nil {
			continue
		}
		if file, err = filepath.EvalSymlinks(file); err != nil {
			return nil, err
		}
		st, err := os.Stat(file)
		if err != nil {
			return nil, err
		}
		c.identity = append(c.identity, fmt.Sprint(file, st.Size(), st.ModTime().UnixNano()))
	}
	return c, nil
}

// compile makes a file of another one, both in dir.
func (c *compiler) compile(ctx context.Context, dir, name string, flags []string, out, from string) error {
	words := slices.Concat(c.command, flags, []string{"-I.", "-o", out, from})
	return run(ctx, dir, "compile "+library(name, ""), words...)
}

func run(ctx context.Context, dir, what string, words ...string) error {
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("cannot %s: %s was not found; install it (apt-get install binutils)", what, words[0])
	}
	return fmt.Errorf("cannot %s: %s (%s)", what, cmp.Or(firstError(out), err.Error()), strings.Join(words, " "))
}

// firstError is the line of a compiler's output that says what is wrong.
func firstError(out []byte) string {
	for _, word := range []string{"error:", "error", ""} {
		for line := range bytes.Lines(out) {
			if line = bytes.TrimSpace(line); len(line) > 0 && bytes.Contains(line, []byte(word)) {
				return string(line)
			}
		}
	}
	return ""
}
