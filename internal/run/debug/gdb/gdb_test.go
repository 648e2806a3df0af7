package gdb

import (
	"strings"
	"testing"
)

// TestMissing says in one line that gdb is not here. That it attaches is tested with programs, in cli.
func TestMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Attach(Options{Function: "f", Ready: func() error { t.Error("it is ready"); return nil }})
	if err == nil || !strings.Contains(err.Error(), "gdb") || strings.Contains(err.Error(), "\n") {
		t.Errorf("it fails with %v", err)
	}
}
