package cli

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/memory"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
)

// greedyTrace makes a trace of a few KB that takes a hundred times as much as a model: CFs that are created,
// and a worker that is idle, again and again.
func greedyTrace(t *testing.T, dir string) {
	t.Helper()
	r, w := io.Pipe()
	go func() {
		b := bufio.NewWriter(w)
		fmt.Fprint(b, "#node 0\n1000 n0 s0 GlobalEvents.onProgramStarted process=0 cpu=0\n")
		for i := 1; i <= 150_000; i++ {
			fmt.Fprintf(b, "%d n0 s0 CFEvents.onCreated cf=0.%d site=1 parent=- execution=0 weight=1 indices=[]\n"+
				"%d n0 s0 GlobalEvents.onIdle\n", 1000+2*i, i, 1001+2*i)
		}
		fmt.Fprint(b, "900000 n0 s0 GlobalEvents.onProgramFinished cpu=0\n")
		w.CloseWithError(b.Flush())
	}()
	if err := twin.Parse(bufio.NewReader(r), filepath.Join(dir, "g.trace")); err != nil {
		t.Fatal(err)
	}
}

// TestMemory gives verbs less memory than a trace needs: they say so in one line, before they start or while
// they work, and tell how much it takes.
func TestMemory(t *testing.T) {
	home, dir := lunaHome(t), t.TempDir()
	greedyTrace(t, dir)
	for _, c := range []struct {
		command string
		code    int
	}{
		{"whyslow report --memory 10M g.trace", console.BadUsage}, // more events than that
		{"whyslow report --memory 20M g.trace", console.BadUsage}, // the events, but not the analysis
		{"whyslow diff --memory 10M g.trace g.trace", console.BadUsage},
		{"whyslow convert --format cube -o - --memory 10M g.trace", console.BadUsage},
		{"whyslow doctor --memory 5M g.trace", console.BadUsage},
		{"whyslow dump --memory 1k g.trace >dumped", console.BadUsage},
		{"whyslow report --memory 4G g.trace", console.Done},
		{"whyslow dump --memory 1G g.trace >dumped", console.Done},
		{"whyslow report g.trace", console.Done},
	} {
		_, stderr, code, err := shell(dir, home, c.command)
		said := strings.Count(stderr, "\n") == 1 && strings.Contains(stderr, "g.trace: needs about ") &&
			strings.Contains(stderr, "; give --memory ")
		if err != nil || code != c.code || said != (code == console.BadUsage) {
			t.Errorf("%s: exit code %d, %v\n%s", c.command, code, err, stderr)
		}
	}
	_, stderr, code, err := shell(dir, home, "whyslow report --memory=-1 g.trace")
	if err != nil || code != console.BadUsage || !strings.Contains(stderr, "such as 4Gi") {
		t.Errorf("exit code %d, %v\n%s", code, err, stderr)
	}
	if runtime.GOOS == "linux" && memory.Default(1) < 1<<20 {
		t.Errorf("this machine has %d bytes", memory.Default(1))
	}
}
