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

// A run with a page: the page is there from the start, knows when the run is over, and stays until Ctrl+C.
func TestRunLive(t *testing.T) {
	if !canRun {
		t.Skip("built without the engine")
	}
	home := lunaHome(t)
	dir := t.TempDir()
	source := "C++ sub say() ${{ printf(\"said\\n\"); $}}\nsub main() say();\n"
	if err := os.WriteFile(filepath.Join(dir, "say.fa"), []byte(source), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(home, "bin", "whyslow"), "run", "-q", "--live", "--no-browser", "--insecure",
		filepath.Join(dir, "say.fa"))
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
	await("whyslow: the run is over; the page stays at " + url + " until Ctrl+C")
	for state := ""; state != "done"; time.Sleep(20 * time.Millisecond) {
		resp, err := http.Get(url + "api/runs")
		if err != nil {
			t.Fatal(err)
		}
		var runs []struct{ Program, State string }
		err = json.NewDecoder(resp.Body).Decode(&runs)
		resp.Body.Close()
		if err != nil || len(runs) != 1 || runs[0].Program != "say.fa" {
			t.Fatalf("%+v, %v", runs, err)
		}
		state = runs[0].State
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	run := filepath.Join(dir, "say.001.trace")
	await(run)
	if err := cmd.Wait(); err != nil || stdout.String() != "said\n" {
		t.Errorf("%v, %q", err, stdout.String())
	}
	info, err := trace.ReadRunInfo(run)
	if err != nil || info.Ended != trace.EndedDone {
		t.Errorf("%+v, %v", info, err)
	}
}
