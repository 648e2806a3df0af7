package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/testkit/tracetest"
	"github.com/whyslow/whyslow/trace"
)

// TestGreedyDefinitions gives verbs small traces that define more than fits: they say so in one line, and
// never take much more than they may, or else the system ends them. A large number of one thing takes
// little.
func TestGreedyDefinitions(t *testing.T) {
	home, dir := lunaHome(t), t.TempDir()
	for _, c := range []struct {
		what, memory string
		nodes, code  int
	}{
		{"names", "64M", 1, console.BadUsage},
		{"sites", "64M", 1, console.BadUsage},
		{"dfs", "64M", 2, console.BadUsage},
		{"identities", "64M", 1, console.BadUsage},
		{"block", "64M", 1, console.BadUsage},
		{"block", "100M", 1, console.Damaged},
		{"far", "100M", 200, console.Done},
		{"kinds", "64M", 1, console.BadUsage},
	} {
		path := filepath.Join(dir, c.what+c.memory+".trace")
		tracetest.Greedy(t, path, c.what, c.nodes)
		if err := trace.WriteRunInfo(path, &trace.RunInfo{Ended: trace.EndedDone}); err != nil {
			t.Fatal(err)
		}
		for _, verb := range []string{"report", "diff " + path, "doctor", "dump"} {
			const most = "ulimit -d 300000; " // kilobytes, of which stacks and the program take some
			_, stderr, code, err := shell(dir, home, most+"whyslow "+verb+" --memory "+c.memory+" "+path)
			line := strings.Count(stderr, "\n") == 1 && strings.Contains(stderr, "; give --memory ")
			if err != nil || code != c.code || line != (code == console.BadUsage) {
				t.Errorf("%s of %s with %s: exit code %d, %v\n%.300s", verb, c.what, c.memory, code, err, stderr)
			}
		}
	}
}

// TestManyKinds: events that are declared again and again do not keep whyslow busy.
func TestManyKinds(t *testing.T) {
	home, dir := lunaHome(t), t.TempDir()
	tracetest.Greedy(t, filepath.Join(dir, "k.trace"), "kinds", 1)
	_, stderr, code, err := shell(dir, home, "whyslow dump --memory 1G k.trace >dumped")
	if err != nil || code != console.Done {
		t.Errorf("exit code %d, %v\n%s", code, err, stderr)
	}
}
