package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
)

// TestFullOutput: every verb that prints says in one line that it could not.
func TestFullOutput(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full here")
	}
	home, dir := lunaHome(t), t.TempDir()
	const text = "#run {\"ended\": \"done\", \"nodes\": [{\"node\": 0, \"workers\": 1}]}\n" +
		"#node 0\n#code 1 f function\n#site 1 code=1\n0 Global.onProgramStarted\n1 Region.onEntered 1\n" +
		"9 Region.onExited 1\n10 Global.onProgramFinished\n"
	if err := twin.Parse(strings.NewReader(text), filepath.Join(dir, "t.trace")); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"", "--help", "help report", "completion bash", "version", "version --json",
		"licences", "modules", "modules --json", "init --help", "instrument --help", "luna --help", "rts --help",
		"report t.trace", "report --json t.trace", "report --html - t.trace", "report --csv - t.trace",
		"diff t.trace t.trace", "diff --json t.trace t.trace", "dump t.trace", "dump --json t.trace",
		"dump --stats t.trace", "dump --stats --json t.trace", "doctor t.trace",
		"doctor --json t.trace", "convert --format cube -o - t.trace", "convert --format cube3 -o - t.trace",
		"run --explain-config p.fa", "run --explain-config --json p.fa"} {
		if verb, _, _ := strings.Cut(command, " "); !canRun && slices.Contains(verbsOfUserCode, verb) {
			continue
		}
		_, stderr, code, err := shell(dir, home, "whyslow "+command+" >/dev/full")
		if err != nil || code != console.Failed || strings.Count(stderr, "\n") != 1 ||
			!strings.Contains(stderr, "no space left on device") {
			t.Errorf("%s: exit code %d, %v\n%s", command, code, err, stderr)
		}
	}
}
