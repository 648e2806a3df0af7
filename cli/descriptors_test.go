package cli

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/trace"
)

// TestFewDescriptors: a process that may open fewer files than a trace has says the same of it.
func TestFewDescriptors(t *testing.T) {
	home, dir := lunaHome(t), t.TempDir()
	var text strings.Builder
	for n := range 64 {
		fmt.Fprintf(&text, "#node %d\n#code 1 f atomic\n#site 1 code=1\n0 Global.onProgramStarted\n"+
			"1 CF.onCreated cf=%d.1 site=1\n2 CF.onReady %[1]d.1\n3 CF.onStarted %[1]d.1\n9 CF.onFinished %[1]d.1\n"+
			"10ms Global.onProgramFinished\n", n, n)
	}
	if err := trace.Parse(strings.NewReader(text.String()), filepath.Join(dir, "t.trace")); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"report --json=- t.trace", "dump t.trace", "doctor t.trace",
		"diff t.trace t.trace"} {
		want, _, code, err := shell(dir, home, "whyslow "+command)
		if err != nil || code != 0 {
			t.Fatalf("%s: %d, %v", command, code, err)
		}
		got, stderr, code, err := shell(dir, home, "ulimit -n 20; whyslow "+command)
		if err != nil || code != 0 || got != want {
			t.Errorf("%s: exit code %d, %v, the same output: %v\n%s", command, code, err, got == want, stderr)
		}
	}
}
