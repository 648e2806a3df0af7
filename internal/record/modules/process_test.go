package modules

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// A process of a run of several writes of its own nodes only, to files that no other process has.
func TestOneOfSeveralProcesses(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	uses := []prof.Use{
		use(t, TraceWriterName, map[string]any{"dir": dir, "flush": "0"}),
		use(t, "luna_log_module", map[string]any{"dir": dir}),
		use(t, "state_module", map[string]any{"interval": 1 << 40, "file": in("state.jsonl")}),
		use(t, "profile_module", map[string]any{"file": in("profile.json")}),
		use(t, "perfetto_module", map[string]any{"file": in("perfetto")}),
		use(t, "logger_module", map[string]any{"file": in("log")}),
		use(t, "df_events_module", map[string]any{"file": "/dev/null"}),
	}
	// Another process was here first.
	if err := os.WriteFile(in(tracefile.FileName(0)), []byte("node 0"), 0o666); err != nil {
		t.Fatal(err)
	}
	ses := prof.New()
	ses.SetDescriber(shop)
	run, err := ses.StartModules(uses, prof.RunFacts{Nodes: 2, Node: 2, Processes: 3, Workers: 1, PID: 1405,
		StartNS: start})
	if err != nil {
		t.Fatal(err)
	}
	writers := run.Get(TraceWriterName).(*TraceWriter).Writers()
	for i, w := range writers {
		s := ses.Stream(2+i, 0, w.Stream(0))
		cf := trace.MakeCF(2+i, 1)
		ses.CFCreated.EmitAt(s, start+1000, cf, 2, 0, 0, 1, nil)
		ses.CFStarted.EmitAt(s, start+2000, cf, 1, nil)
		ses.CFFinished.EmitAt(s, start+3000, cf, 1, -1)
	}
	if err := run.Finish(); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(in(e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(text)
	}
	want := []string{"00000.wst", "00002.wst", "00003.wst", "log.02", "log.03", "log.2", "perfetto.2",
		"profile.2.json", "state.2.jsonl"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(files))); diff != "" {
		t.Errorf("files:\n%s", diff)
	}
	if files["00000.wst"] != "node 0" {
		t.Error("the file of another process was written over")
	}
	if n := strings.Count(files["state.2.jsonl"], `"node":2`); n != 1 || strings.Contains(files["state.2.jsonl"],
		`"node":0`) {
		t.Errorf("state:\n%s", files["state.2.jsonl"])
	}
	for _, name := range []string{`"pid":1405`, "node 2", "node 3"} {
		if !strings.Contains(files["perfetto.2"], name) {
			t.Errorf("perfetto has no %s:\n%s", name, files["perfetto.2"])
		}
	}
	if strings.Contains(files["perfetto.2"], "node 0") {
		t.Errorf("perfetto has a node 0:\n%s", files["perfetto.2"])
	}
	for _, name := range []string{"log.02", "log.03"} {
		if len(files[name]) == 0 {
			t.Errorf("%s is empty", name)
		}
	}
}
