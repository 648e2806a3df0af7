package procs_test

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/procs"
)

// stderrOf gives what f writes to standard error.
func stderrOf(t *testing.T, f func()) string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	old := os.Stderr
	os.Stderr = w
	f()
	os.Stderr = old
	w.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func breakDown() { panic("it breaks") }

// A panic is one line for the user, wherever it happens, and a stack for who asks.
func TestGuard(t *testing.T) {
	for name, do := range map[string]func() error{
		"here": func() error { breakDown(); return nil },
		"in a goroutine": func() error {
			var all procs.Goroutines
			all.Go(func() {})
			all.Go(func() {
				var inner procs.Goroutines
				inner.Go(breakDown)
				inner.Wait()
			})
			all.Wait()
			return nil
		},
	} {
		for debug, stack := range map[string]bool{"": false, "1": true} {
			t.Setenv("WHYSLOW_DEBUG", debug)
			var err error
			text := stderrOf(t, func() { err = procs.Guard(do) })
			if err == nil || err.Error() != "internal error: it breaks (WHYSLOW_DEBUG=1 shows where)" {
				t.Errorf("%s: %v", name, err)
			}
			if got := strings.Contains(text, "breakDown"); got != stack || !stack && text != "" {
				t.Errorf("%s, WHYSLOW_DEBUG=%q: %q", name, debug, text)
			}
		}
	}
	fails := errors.New("it fails")
	if err := procs.Guard(func() error { return fails }); !errors.Is(err, fails) {
		t.Error(err)
	}
}
