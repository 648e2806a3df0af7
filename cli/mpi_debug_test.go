package cli

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestMPIDebuggedPage: what the page asks and does, under mpirun: it stops at a CF of another rank, sees and
// changes what that gets, and goes on. The answers are those of the page of one process.
func TestMPIDebuggedPage(t *testing.T) {
	needMPI(t)
	t.Parallel()
	home, dir := lunaHome(t), manyDir(t, map[string]string{"pair.fa": `
C++ sub start(name x) ${{ x = 1; $}}
C++ sub more(int v, name y) ${{ y = v + 1; $}}
C++ sub show(int v) ${{ std::printf("%d\n", v); $}}
sub main()
{
    df x, y;
    start(x);
    cf turn: more(x, y) @ { locator_cyclic: 1; };
    show(y);
}
`})
	cmd := exec.Command("mpirun", "-n", "2", filepath.Join(home, "bin", "whyslow"), "run", "-q", "-w", "1",
		"--live", "--debug", "--no-browser", "--insecure", "pair.fa")
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
	defer cmd.Process.Signal(syscall.SIGTERM) // mpirun ends its ranks
	await := func(r *bufio.Reader, prefix string, parts ...string) string {
		t.Helper()
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				t.Fatalf("no %q %q: %v", prefix, parts, err)
			}
			rest, ok := strings.CutPrefix(line, prefix)
			for _, p := range parts {
				ok = ok && strings.Contains(rest, p)
			}
			if ok {
				return strings.TrimSpace(rest)
			}
		}
	}
	stderr := bufio.NewReader(pipe)
	url, _, _ := strings.Cut(await(stderr, "whyslow: live at "), "?")
	ask := func(method, what, args string) string {
		t.Helper()
		r, err := http.NewRequest(method, url+"api/debug/"+what, strings.NewReader(args))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode >= http.StatusBadRequest {
			t.Fatalf("%s: %v, %s", what, err, text)
		}
		return string(text)
	}
	updates, err := http.Get(url + "api/debug/updates")
	if err != nil {
		t.Fatal(err)
	}
	defer updates.Body.Close()
	states := bufio.NewReader(updates.Body)
	await(states, "data: ", `"phase":"stopped"`, `"reason":"entry"`)
	ask(http.MethodPut, "until", `{"text":"turn"}`)
	at := await(states, "data: ", `"phase":"stopped"`, `"reason":"breakpoint"`)
	_, cf, _ := strings.Cut(at, `"cf":"`)
	cf, _, _ = strings.Cut(cf, `"`)
	has := func(question string, parts ...string) {
		t.Helper()
		text := ask(http.MethodGet, question, "")
		for _, p := range parts {
			if !strings.Contains(text, p) {
				t.Errorf("%s: no %s in %s", question, p, text)
			}
		}
	}
	has("cf?cf="+cf, `"node":1`, `"state":"ready"`, `"above":[{"name":"main"`,
		`"inputs":[{"name":"x","type":"int","size":4,"text":"1"}]`)
	has("df?df=x", `"text":"1"`, `"next":["turn"]`)
	ask(http.MethodPut, "input", `{"cf":"`+cf+`","df":"x","value":"40"}`)
	ask(http.MethodPut, "continue", "{}")
	await(stderr, "whyslow: the run is over; the page stays at ")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	await(stderr, "pair.001.trace")
	_ = cmd.Wait() // how mpirun ends after Ctrl+C is its own
	if stdout.String() != "41\n" {
		t.Errorf("it printed %q", stdout.String())
	}
}
