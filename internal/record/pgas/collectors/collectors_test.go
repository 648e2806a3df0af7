package collectors

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/whyslow/whyslow/internal/testkit/effort"
)

func needCompiler(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("no C compiler here")
	}
	t.Setenv("CC", "")
}

// TestLibraries builds all from several goroutines at once, then finds them, and writes them. Only a
// long test compiles them all: else what has not changed is in the user's cache.
func TestLibraries(t *testing.T) {
	needCompiler(t)
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	if effort.Long {
		cache = t.TempDir()
		t.Setenv("XDG_CACHE_HOME", cache)
	}
	var wg sync.WaitGroup
	paths := make([]string, 3)
	for i := range paths {
		wg.Go(func() {
			var err error
			if paths[i], err = Build(t.Context(), Names[i%len(Names)]); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if paths[0] == "" || paths[0] != paths[2] || filepath.Base(paths[0]) != "libwhyslow-gasp.so" ||
		filepath.Base(paths[1]) != "libwhyslow-shmem.so" {
		t.Fatalf("built: %q", paths)
	}
	before, err := os.Stat(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	again, err := Build(t.Context(), "gasp")
	if err != nil || again != paths[0] {
		t.Fatalf("%s, then %s: %v", paths[0], again, err)
	}
	after, err := os.Stat(again)
	if err != nil || !os.SameFile(before, after) || !before.ModTime().Equal(after.ModTime()) {
		t.Errorf("it was compiled again: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(cache, "whyslow", "tmp-*"))
	if err != nil || effort.Long && len(left) > 0 { // others are at work in the user's
		t.Errorf("left behind: %v, %v", left, err)
	}

	dir := filepath.Join(t.TempDir(), "new", "lib")
	for range 2 { // again over what is there
		written, err := Write(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var there []string
		for _, e := range entries {
			there = append(there, e.Name())
		}
		if got, want := strings.Join(written, " "), strings.Join(there, " "); got != want {
			t.Errorf("written: %s\nthere:   %s", got, want)
		}
		for _, want := range []string{"libwhyslow-gasp.a", "libwhyslow-gasp.so", "libwhyslow-shmem.a",
			"libwhyslow-shmem.so", "whyslow.h", "gasp.h"} {
			if st, err := os.Stat(filepath.Join(dir, want)); err != nil || st.Size() == 0 {
				t.Errorf("%s: %v", want, err)
			}
		}
	}
}

func TestErrors(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	if _, err := Build(t.Context(), "mpi"); err == nil || !strings.Contains(err.Error(), "gasp, omp, shmem") {
		t.Errorf("no such library: %v", err)
	}
	t.Setenv("CC", "no-such-compiler -m64")
	_, err := Build(t.Context(), "gasp")
	if err == nil || !strings.Contains(err.Error(),
		"no C compiler: no-such-compiler was not found; install one (apt-get install gcc)") {
		t.Errorf("no compiler: %v", err)
	}
	if _, err := Write(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "no C compiler") {
		t.Errorf("no compiler: %v", err)
	}
	needCompiler(t)
	t.Setenv("CC", "cc -include no-such-header.h")
	_, err = Build(t.Context(), "gasp")
	if err == nil || !strings.Contains(err.Error(), "cannot compile libwhyslow-gasp") ||
		!strings.Contains(err.Error(), "no-such-header.h") || strings.Contains(err.Error(), "\n") {
		t.Errorf("does not compile: %v", err)
	}
	t.Setenv("CC", "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Build(ctx, "gasp"); err == nil {
		t.Error("compiled though it was interrupted")
	}
	file := filepath.Join(cache, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CACHE_HOME", file)
	if _, err := Build(t.Context(), "gasp"); err == nil || !strings.Contains(err.Error(), "set XDG_CACHE_HOME") {
		t.Errorf("no folder: %v", err)
	}
}

// TestFirstError: of what a compiler prints the line that says what is wrong is shown, also where it is the
// linker's.
func TestFirstError(t *testing.T) {
	for out, want := range map[string]string{
		"a.c: In function 'f':\na.c:1:2: error: expected ';'\n": "a.c:1:2: error: expected ';'",
		"/usr/bin/ld: a.o: in function `main':\na.c:(.text+0x5): undefined reference to `f'\n" +
			"collect2: error: ld returned 1 exit status\n": "a.c:(.text+0x5): undefined reference to `f'",
		"/usr/bin/ld: cannot find -lx: No such file or directory\ncollect2: error: ld returned 1 exit status\n": "" +
			"/usr/bin/ld: cannot find -lx: No such file or directory",
		"collect2: fatal error: cannot find 'ld'\ncompilation terminated.\n": "collect2: fatal error: cannot find 'ld'",
		"collect2: error: ld returned 1 exit status\n":                       "collect2: error: ld returned 1 exit status",
		"": "",
	} {
		if got := FirstError(out); got != want {
			t.Errorf("%q of %q", got, out)
		}
	}
}
