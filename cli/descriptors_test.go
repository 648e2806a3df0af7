package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/trace"
)

// TestFewDescriptors: a process that may open fewer files than a trace has says the same of it.
func TestFewDescriptors(t *testing.T) {
	home, dir := lunaHome(t), t.TempDir()
	var text, regions strings.Builder
	var nodes []string
	for n := range 64 {
		nodes = append(nodes, fmt.Sprintf(`{"node": %d, "workers": 1}`, n))
	}
	info := fmt.Sprintf("#run {\"ended\": \"done\", \"nodes\": [%s]}\n", strings.Join(nodes, ", "))
	text.WriteString(info)
	regions.WriteString(info)
	for n := range 64 {
		fmt.Fprintf(&regions, "#node %d\n#code 1 f function\n#site 1 code=1\n0 Global.onProgramStarted\n"+
			"1 Region.onEntered 1\n9 Region.onExited 1\n10 Global.onProgramFinished\n", n)
		fmt.Fprintf(&text, "#node %d\n#code 1 f atomic\n#site 1 code=1\n0 Global.onProgramStarted\n"+
			"1 CF.onCreated cf=%d.1 site=1\n2 CF.onReady %[1]d.1\n3 CF.onStarted %[1]d.1\n9 CF.onFinished %[1]d.1\n"+
			"10ms Global.onProgramFinished\n", n, n)
	}
	for name, text := range map[string]*strings.Builder{"t.trace": &text, "r.trace": &regions} {
		if err := twin.Parse(strings.NewReader(text.String()), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, command := range []string{"report --json=- t.trace", "dump t.trace", "doctor t.trace",
		"diff t.trace t.trace", "convert --format cube3 -o - r.trace"} {
		want, _, code, err := shell(dir, home, "whyslow "+command)
		if err != nil || code != 0 {
			t.Fatalf("%s: %d, %v", command, code, err)
		}
		got, stderr, code, err := shell(dir, home, "ulimit -n 20; whyslow "+command)
		if err != nil || code != 0 || got != want {
			t.Errorf("%s: exit code %d, %v, the same output: %v\n%s", command, code, err, got == want, stderr)
		}
	}
	// The page: of runs that are over, that are still written and so followed, and that were collected.
	if err := os.CopyFS(filepath.Join(dir, "followed.trace"), os.DirFS(filepath.Join(dir, "t.trace"))); err != nil {
		t.Fatal(err)
	}
	for n := range 64 {
		file := filepath.Join(dir, "followed.trace", tracefile.FileName(n))
		st, err := os.Stat(file)
		if err == nil {
			err = os.Truncate(file, st.Size()-1) // so it has no end yet
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	kept := filepath.Join(dir, "kept", "c.trace")
	if err := errors.Join(os.CopyFS(kept, os.DirFS(filepath.Join(dir, "t.trace"))),
		os.WriteFile(filepath.Join(kept, "collect.json"), []byte(`{"id": "`+trace.NewRunID()+`"}`), 0o666)); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"view --no-browser t.trace followed.trace", "serve --dir kept"} {
		cmd := exec.Command("sh", "-c", "ulimit -n 20; exec whyslow "+command+` "$@"`, "sh")
		cmd.Dir = dir
		out, stderr, err := asked(cmd, "/checks")
		if err != nil || out == "" || strings.Count(out, " 200 OK ") != strings.Count(out, "\n") ||
			strings.Contains(out, "too many") {
			t.Errorf("%s: %v\n%s%s", command, err, out, stderr)
		}
		cmd = exec.Command("sh", "-c", "ulimit -n 20; exec whyslow "+command+` "$@"`, "sh")
		cmd.Dir = dir
		out, stderr, err = asked(cmd, "")
		if err != nil || strings.Count(out, `"nodes":64,"workers":64,`) != strings.Count(out, "\n") {
			t.Errorf("%s: %v\n%s%s", command, err, out, stderr)
		}
	}
}
