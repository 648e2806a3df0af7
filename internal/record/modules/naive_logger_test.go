//go:build !no_naive_logger_module

package modules

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A line for every event is in the file of its stream as soon as the event was emitted.
func TestNaiveLogger(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(file+".0.1", []byte("of an earlier run\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	r := startRun(t, 1, 2, use(t, NaiveName, map[string]any{"file": file}))
	lines := func(stream string) int {
		text, err := os.ReadFile(file + stream)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(text), "\n")
	}
	for id := range 2 {
		s := r.ses.Stream(0, id, nil)
		r.ses.DFCreate.Emit(s, 1, 8, 0)
		r.ses.CFDestroyed.Emit(s, 1)
	}
	if a, b := lines(".0.0"), lines(".0.1"); a != 2 || b != 2 {
		t.Errorf("%d and %d lines", a, b)
	}
	text, err := os.ReadFile(file + ".0.0")
	if err != nil || !strings.Contains(string(text), "n0 w0 DFEvents.onCreate df=x[1] size=8") {
		t.Errorf("%s", text)
	}
	r.finish(t)
}

// A file that cannot be written disconnects the module with one message.
func TestNaiveLoggerFails(t *testing.T) {
	r := startRun(t, 1, 1, use(t, NaiveName, map[string]any{"file": filepath.Join(t.TempDir(), "no", "log")}))
	s := r.ses.Stream(0, 0, nil)
	r.ses.DFCreate.Emit(s, 1, 8, 0)
	if told := <-r.told; !strings.Contains(told, "naive_logger_module failed and is disconnected") {
		t.Error(told)
	}
	r.ses.DFCreate.Emit(s, 2, 8, 0)
	r.finish(t)
}
