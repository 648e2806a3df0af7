package standard

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/prof"
)

// A Go program gets what modules write, with the names of its code fragments, beside its trace.
func TestStart(t *testing.T) {
	dir := t.TempDir()
	settings := `{"perfetto_module": {"params": {"file": "` + filepath.Join(dir, "p.json") + `"}},
		"logger_module": {"enabled": false}}`
	if err := os.WriteFile(filepath.Join(dir, "modules_settings.json"), []byte(settings), 0o666); err != nil {
		t.Fatal(err)
	}
	rec, err := prof.Record(filepath.Join(dir, "trace"), 2)
	if err != nil {
		t.Fatal(err)
	}
	modules, err := Start(rec, dir, "profile_module.enabled=true",
		"profile_module.file="+filepath.Join(dir, "q.json"))
	if err != nil {
		t.Fatal(err)
	}
	if modules.Get("perfetto_module") == nil || modules.Get("logger_module") != nil {
		t.Error("not the modules that were asked for")
	}
	code := rec.NewCode("integrate")
	for i := range 3 {
		s, cf := rec.Worker(i%2), rec.NewCF()
		rec.CFCreated.Emit(rec.System(), cf, code, 0, 1, 1, nil)
		rec.CFStarted.Emit(s, cf, 1, nil)
		rec.DFCreate.Emit(s, rec.NewDF("sum", int64(i)), 8, cf)
		rec.CFFinished.Emit(s, cf, 1, -1)
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	if err := modules.Finish(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "p.json"))
	if err != nil {
		t.Fatal(err)
	}
	var records []struct{ Name, Ph string }
	if err := json.Unmarshal(text, &records); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	slices := 0
	for _, r := range records {
		if r.Ph == "X" && r.Name == "integrate" {
			slices++
		}
	}
	if slices != 3 {
		t.Errorf("%d slices:\n%s", slices, text)
	}
	profile, err := os.ReadFile(filepath.Join(dir, "q.json"))
	if err != nil || !strings.Contains(string(profile), `"code": "integrate"`) {
		t.Errorf("%v\n%s", err, profile)
	}
}

// What is wrong in the files or sets is an error in one line.
func TestStartRefuses(t *testing.T) {
	dir := t.TempDir()
	rec, err := prof.Record(filepath.Join(dir, "trace"), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	for set, want := range map[string]string{"no_module.x=1": "no_module",
		"perfetto_module.fil=x": `did you mean "file"`} {
		if _, err := Start(rec, dir, "perfetto_module.enabled=true", set); err == nil ||
			!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", set, err)
		}
	}
}
