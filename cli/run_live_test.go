package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/whyslow/whyslow/trace"
)

// A run with a page: the page is there from the start, names a CF that does not come back from user code,
// knows when the run is over, and stays until Ctrl+C.
func TestRunLive(t *testing.T) {
	if !canRun {
		t.Skip("built without the engine")
	}
	home := lunaHome(t)
	dir := t.TempDir()
	source := `C++ sub say() ${{
	while (!fopen("go on", "r")) std::this_thread::sleep_for(std::chrono::milliseconds(10));
	printf("said\n");
$}}
sub main() say();
`
	if err := os.WriteFile(filepath.Join(dir, "say.fa"), []byte(source), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(home, "bin", "whyslow"), "run", "-q", "--live", "--no-browser",
		"--insecure", "--stuck-after=100ms", "say.fa")
	cmd.Dir = dir
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	stderr := bufio.NewReader(pipe)
	await := func(prefix string) string {
		for {
			line, err := stderr.ReadString('\n')
			if err != nil {
				t.Fatalf("no %q: %v", prefix, err)
			}
			if rest, ok := strings.CutPrefix(line, prefix); ok {
				return strings.TrimSpace(rest)
			}
		}
	}
	url := await("whyslow: live at ")
	get := func(question string, answer any) bool {
		resp, err := http.Get(url + "api/runs" + question)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if err := json.NewDecoder(resp.Body).Decode(answer); err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode == http.StatusOK
	}
	var runs []struct{ ID, Program, State string }
	var checks struct{ Warnings []string }
	get("", &runs)
	for len(checks.Warnings) == 0 {
		time.Sleep(20 * time.Millisecond)
		get("/"+runs[0].ID+"/checks", &checks)
	}
	if w := checks.Warnings[0]; !strings.HasPrefix(w, "Worker ") || // whichever took it
		!strings.Contains(w, " of node 0 has been in say (") ||
		!strings.Contains(w, "say.fa:5) for ") {
		t.Errorf("%q", checks.Warnings)
	}
	if err := os.WriteFile(filepath.Join(dir, "go on"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	await("whyslow: the run is over; the page stays at " + url + " until Ctrl+C")
	for state := ""; state != "done"; time.Sleep(20 * time.Millisecond) {
		if get("", &runs); len(runs) != 1 || runs[0].Program != "say.fa" {
			t.Fatalf("%+v", runs)
		}
		state = runs[0].State
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	run := filepath.Join(dir, "say.001.trace")
	await(filepath.Base(run))
	if err := cmd.Wait(); err != nil || stdout.String() != "said\n" {
		t.Errorf("%v, %q", err, stdout.String())
	}
	info, err := trace.ReadRunInfo(run)
	if err != nil || info.Ended != trace.EndedDone || len(info.Inside) > 0 {
		t.Errorf("%+v, %v", info, err)
	}
	if _, missing := os.Stat("/proc/stat"); missing == nil && info.Processes[0].CPU <= 0 {
		t.Errorf("no processor time: %+v", info.Processes)
	}
}
