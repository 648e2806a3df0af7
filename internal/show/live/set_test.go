package live

import (
	"os"
	"path/filepath"
	"testing"
)

// TestRemovedRuns: a run whose folder was removed is shown no longer, once nobody asks about it; others are.
func TestRemovedRuns(t *testing.T) {
	runs := NewSet()
	defer runs.Close()
	var dirs []string
	for _, name := range []string{"kept", "removed"} {
		dir := filepath.Join(t.TempDir(), name)
		pipeline(t, dir, 10)
		r, err := runs.Add(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		r.Watch()
		dirs = append(dirs, dir)
	}
	_, changed := runs.List()
	if err := os.RemoveAll(dirs[1]); err != nil {
		t.Fatal(err)
	}
	if runs.tidy(unused); runs.Get(RunID(dirs[1])) == nil {
		t.Error("somebody asked about it a moment ago")
	}
	runs.tidy(0)
	if runs.Get(RunID(dirs[0])) == nil || runs.Get(RunID(dirs[1])) != nil {
		t.Error("the wrong runs are shown")
	}
	select {
	case <-changed:
	default:
		t.Error("nobody is told")
	}
}
