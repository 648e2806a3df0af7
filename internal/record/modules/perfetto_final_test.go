//go:build !no_perfetto_module && !no_state_module && !no_profile_module

package modules_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/convert/perfetto"
	"github.com/whyslow/whyslow/internal/record/modules"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// TestFinalPerfettoFile: the one file of a run on many nodes is what Perfetto's trace processor reads: all slices,
// by node, and no complaint.
func TestFinalPerfettoFile(t *testing.T) {
	text := rapid.Custom(func(t *rapid.T) string { return sloutest.Random(t).Text() }).Example(7)
	var b bytes.Buffer
	if err := perfetto.Write(t.Context(), &b, sloutest.Build(t, text)); err != nil {
		t.Fatal(err)
	}
	var file struct {
		TraceEvents []struct {
			Ph  string
			PID int
		}
	}
	if err := json.Unmarshal(b.Bytes(), &file); err != nil {
		t.Fatal(err)
	}
	want := map[int]int{}
	for _, e := range file.TraceEvents {
		if e.Ph == "X" {
			want[e.PID]++
		}
	}
	path := filepath.Join(t.TempDir(), "run.json")
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	answers := modules.Ask(t, map[string]string{"stats": modules.AskStats,
		"nodes": "select pid, count(*) as n from slice join thread_track on slice.track_id = thread_track.id join thread" +
			" using (utid) join process using (upid) group by pid"}, path)[0]
	if len(answers["stats"]) > 0 {
		t.Errorf("Perfetto complains: %v", answers["stats"])
	}
	for _, r := range answers["nodes"] {
		pid := int(r["pid"].(float64))
		if n := int(r["n"].(float64)); n != want[pid] {
			t.Errorf("process %d has %d slices, not %d", pid, n, want[pid])
		}
		delete(want, pid)
	}
	if len(answers["nodes"]) < 2 || len(want) > 0 {
		t.Errorf("%d processes; missing %v\n%s", len(answers["nodes"]), want, text)
	}
}
