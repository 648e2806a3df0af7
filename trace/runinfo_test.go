package trace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/whyslow/whyslow/internal/tracefile"
)

func TestRunInfo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	info := &RunInfo{
		Program: "mxm.fa", Args: []string{"4"}, CommandLine: []string{"whyslow", "run", "mxm.fa", "4"},
		Started: time.Date(2026, 11, 20, 12, 0, 0, 5, time.UTC), Hosts: []string{"a", "b"},
		Processes: []ProcessInfo{{PID: 7, Host: "a", Cores: 4, Affinity: "0-3", GOMAXPROCS: 4}},
		Nodes:     []NodeInfo{{Node: 0, Host: "a", Workers: 2}, {Node: 3, Host: "a", Workers: 1}},
		Clock:     "tsc", ThreadClock: "auto", Off: []string{"CFEvents.onReady"},
		Versions: map[string]string{"go": "1.26"},
	}
	if err := WriteRunInfo(dir, info); err != nil {
		t.Fatal(err)
	}
	info.Ended = EndedStuck
	if err := WriteRunInfo(dir, info); err != nil {
		t.Fatal(err)
	}
	got, err := ReadRunInfo(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(info, got); diff != "" {
		t.Error(diff)
	}
	if got.Node(3).Workers != 1 || got.Node(1) != nil || (*RunInfo)(nil).Node(0) != nil {
		t.Error("Node")
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("left behind: %v", files)
	}
	if _, err := ReadRunInfo(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// A trace opens without run.json, and with one that cannot be read.
func TestOpenWithoutRunInfo(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(dir); err == nil || err.Error() != dir+": no *.wst file in it: not a trace" {
		t.Error(err)
	}
	w, _ := Create(dir, 0, Options{})
	w.Stream(0).Emit(1, KindIdle)
	w.Close()
	if r := open(t, dir); r.Run() != nil || len(r.Problems()) != 0 || r.Events() != 1 {
		t.Error(r.Run(), r.Problems())
	}
	os.WriteFile(filepath.Join(dir, tracefile.RunFile), []byte("{oh"), 0o666)
	r := open(t, dir)
	if p := r.Problems(); len(p) != 1 || p[0].File != tracefile.RunFile || r.Events() != 1 {
		t.Error(p)
	}
}
