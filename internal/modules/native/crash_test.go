//go:build cgo && linux

package native

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/cpp"
	"github.com/whyslow/whyslow/internal/luna"
	"github.com/whyslow/whyslow/trace"
)

const childVariable = "WHYSLOW_NATIVE_CHILD"

// Handlers of crashes are those of this package and of internal/cpp; whichever is set first, each crash comes to the right one.
// A process sets them once, so each order has a process of its own.
func TestCrashWithPrograms(t *testing.T) {
	order := os.Getenv(childVariable)
	if order == "" {
		for _, order := range []string{"program first", "module first"} {
			cmd := exec.Command(os.Args[0], "-test.run=^TestCrashWithPrograms$")
			cmd.Env = append(os.Environ(), childVariable+"="+order)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", order, err, out)
			}
		}
		return
	}
	program := func() {
		if _, err := cpp.Open("/nowhere/program.so", new(luna.Program)); err == nil { // sets the handlers nevertheless
			t.Fatal("there is a library")
		}
	}
	if order == "program first" {
		program()
	}
	u := use(t, "plain_module", map[string]any{"mode": "crash"})
	if order != "program first" {
		program()
	}
	for range 2 {
		ses := newSession(t)
		if err := ses.start(t, u); err != nil {
			t.Fatal(err)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic in Go")
				}
			}()
			var p *int
			*p = 1
		}()
		s := ses.Stream(0, 0, nil)
		ses.CFFinished.Emit(s, trace.MakeCF(0, 1), 1, 0)
		if !strings.Contains(ses.told(), "crashed in its handler of CFEvents.onFinished: segmentation fault (SIGSEGV): access to address 0x10") {
			t.Error(ses.told())
		}
		ses.finish(t)
	}
}

// A crash while a library is loaded is an error. Nothing can be loaded afterwards, hence a process of its own.
func TestCrashWhileLoading(t *testing.T) {
	path := os.Getenv(childVariable)
	if path == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestCrashWhileLoading$")
		cmd.Env = append(os.Environ(), childVariable+"="+library(t, "broken_loading", "testdata/broken.c", "-DCRASHES"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	_, err := Open(path)
	if err == nil || !strings.HasSuffix(err.Error(), "libbroken_loading.so: it has crashed meanwhile: segmentation fault (SIGSEGV): access to address 0x30 in libbroken_loading.so") {
		t.Error(err)
	}
}
