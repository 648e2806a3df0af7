package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/testkit/cctest"
)

// What the module odd_module does wrong.
const (
	oddLoad = 1 + iota
	oddStart
	oddHandler
	oddFinish
	oddCloseAtStart
	oddCloseAtEnd
	oddCloseInHandler
	oddCloseAll
)

// oddModule makes a folder with a program and the module that does this wrong.
func oddModule(t *testing.T, mode int) (dir string, args []string) {
	t.Helper()
	if !canRun || runtime.GOOS != "linux" {
		t.Skip("modules in libraries need the engine and Linux")
	}
	library := cctest.Make(t, cctest.Program{
		Name: fmt.Sprintf("libodd_module_%d.so", mode), Compiler: []string{"cc"},
		Sources: []string{"testdata/odd_module.c"}, Link: []string{"-shared"},
		Flags: []string{"-Wall", "-I../sdk", "-fPIC", fmt.Sprintf("-DMODE=%d", mode)},
	})
	dir = t.TempDir()
	if err := os.Symlink(library, filepath.Join(dir, "libodd_module.so")); err != nil {
		t.Fatal(err)
	}
	const source = "C++ sub one() ${{ int i = 0; (void)i; $}}\nsub main() one();\n"
	if err := os.WriteFile(filepath.Join(dir, "p.fa"), []byte(source), 0o666); err != nil {
		t.Fatal(err)
	}
	return dir, []string{"run", "--modules=+odd_module", "p.fa"}
}

// TestModulesThatDoNotReturn ends runs whose module blocks, each with one signal: one line names the module,
// and the trace of what ran is whole.
func TestModulesThatDoNotReturn(t *testing.T) {
	home := lunaHome(t)
	for _, c := range []struct {
		what   string
		mode   int
		signal syscall.Signal
		line   string // "": the engine gives up waiting
		traced bool
	}{
		{"load", oddLoad, syscall.SIGTERM, "libodd_module.so has not returned from loading", false},
		{"start", oddStart, syscall.SIGINT, "module odd_module: has not returned from its start", false},
		{"handler", oddHandler, syscall.SIGQUIT, "", true},
		{"finish", oddFinish, syscall.SIGHUP, "module odd_module: has not returned from its finish", true},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			dir, args := oddModule(t, c.mode)
			stderr, code := interrupt(t, c.signal, dir, filepath.Join(home, "bin", "whyslow"), args...)
			if code != console.Interrupted || strings.Count(stderr, c.line) != 1 && c.line != "" ||
				strings.Contains(stderr, "goroutine") {
				t.Errorf("exit code %d:\n%s", code, stderr)
			}
			_, reported, code, err := shell(dir, home, "whyslow report p.001.trace")
			if want := map[bool]int{true: console.Done, false: console.BadUsage}[c.traced]; err != nil || code != want {
				t.Errorf("report: exit code %d, %v\n%s", code, err, reported)
			}
		})
	}
}

// TestModulesThatClose runs modules that close all descriptors below 256.
func TestModulesThatClose(t *testing.T) {
	home := lunaHome(t)
	for mode, want := range map[int]struct {
		code int
		line string
	}{
		oddCloseAtStart:   {console.BadUsage, ": tried to close file descriptors of whyslow at the start"},
		oddCloseAtEnd:     {console.Damaged, ": tried to close file descriptors of whyslow at the end"},
		oddCloseInHandler: {console.Done, ": tried to close file descriptors of whyslow in its handler of"},
		oddCloseAll:       {console.Done, ": tried to close file descriptors of whyslow in its handler of"},
	} {
		dir, args := oddModule(t, mode)
		for range 5 { // what the Go runtime does meanwhile differs
			_, stderr, code, err := shell(dir, home, "whyslow "+strings.Join(args, " "))
			if err != nil || code != want.code || strings.Count(stderr, want.line) != 1 ||
				!strings.Contains(stderr, "module odd_module") || strings.Contains(stderr, "goroutine") {
				t.Fatalf("exit code %d, %v:\n%s", code, err, stderr)
			}
		}
		if mode == oddCloseAtStart {
			continue
		}
		if _, stderr, code, err := shell(dir, home, "whyslow report p.001.trace"); err != nil || code != console.Done {
			t.Errorf("report: exit code %d, %v\n%s", code, err, stderr)
		}
	}
}
