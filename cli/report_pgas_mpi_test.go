package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/testkit/upctest"
)

// TestMPIReportPGAS analyses a recorded run of an OpenSHMEM program, and a hand-written one, with several
// processes: every face is that of one.
func TestMPIReportPGAS(t *testing.T) {
	needMPI(t)
	t.Parallel()
	home, dir := lunaHome(t), t.TempDir()
	recorded := upctest.Run(t, "cg", upctest.Options{Threads: 3, Backend: upctest.Shmem,
		Args: []string{"1000", "4", "10", "50"}, Env: []string{"WHYSLOW_INSTRUMENT=functions"}})
	if err := os.Symlink(recorded, filepath.Join(dir, "cg.trace")); err != nil {
		t.Fatal(err)
	}
	text, err := filepath.Abs("testdata/patterns.txt")
	if err != nil {
		t.Fatal(err)
	}
	run := func(want int, command string) (stdout, stderr string) {
		t.Helper()
		stdout, stderr, code, err := shell(dir, home, command)
		if err != nil || code != want {
			t.Fatalf("%s: exit code %d, %v\n%s%s", command, code, err, stdout, stderr)
		}
		return stdout, stderr
	}
	run(0, "whyslow dump --parse "+text+" -o patterns.trace")
	// All faces in one: the last to standard output.
	faces := " whyslow report --json=out.json --html out.html --csv - --windows 9 "
	show := func(prefix, trace string) string {
		t.Helper()
		out, _ := run(0, prefix+faces+trace)
		terminal, _ := run(0, prefix+" whyslow report --full "+trace)
		out += terminal
		for _, name := range []string{"out.json", "out.html"} {
			b, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			out += string(b)
		}
		return out
	}
	for trace, processes := range map[string][]string{"cg.trace": {"2", "4"}, "patterns.trace": {"3"}} {
		one := show("", trace)
		if !strings.Contains(one, `"pgas"`) || !strings.Contains(one, "wait-at-barrier") {
			t.Fatal(one)
		}
		for _, n := range processes {
			if many := show("mpirun -n "+n, trace); one != many {
				t.Errorf("%s, %s processes:\n%s\none:\n%s", trace, n, many, one)
			}
		}
	}
	if _, stderr := run(5, "mpirun -n 2 whyslow report --fail-if 'pgas.time>1%' cg.trace"); !strings.Contains(
		stderr, "pgas.time") {
		t.Error(stderr)
	}
}
