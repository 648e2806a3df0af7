package cli

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/run/crew"
	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/trace"
)

// Runs of many processes, each with a node: mpirun starts the test binary, which is whyslow.

// manyDir is a folder with programs.
func manyDir(t *testing.T, programs map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, source := range programs {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(source), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// must runs a command that has to end with an exit code.
func must(t *testing.T, dir, home string, code int, command string) (stdout, stderr string) {
	t.Helper()
	stdout, stderr, got, err := shell(dir, home, command)
	if err != nil || got != code {
		t.Fatalf("%s: exit code %d, %v\n%s%s", command, got, err, stdout, stderr)
	}
	return stdout, stderr
}

// TestMPIDebugged: a program under mpirun is debugged through rank 0: what all ranks have is seen, a stop of
// one stops all, and CFs of any may be stepped, held, moved and changed. What it did there comes again in one
// process.
func TestMPIDebugged(t *testing.T) {
	needMPI(t)
	t.Parallel()
	home, dir := lunaHome(t), manyDir(t, map[string]string{"chain.fa": `
C++ sub start(name x) ${{ x = 1; $}}
C++ sub more(int v, name y) ${{ y = v + 1; $}}
C++ sub show(int v) ${{ std::printf("%d\n", v); $}}
sub main()
{
    df x;
    start(x[0]);
    for i = 0 .. 3
        cf turn[i]: more(x[i], x[i + 1]) @ { locator_cyclic: i; };
    show(x[4]);
} @ {
    locator_cyclic x[i] => i;
}
`, "look.txt": strings.Join([]string{"break turn[3]", "continue", "where", "inputs", "print x[3] + 1", "cfs",
		"dfs x[3]", "breaks", "input x[3] 40", "hold show", "continue", "cfs", "release show", "continue"}, "\n"),
		"steps.txt": strings.Join([]string{"step", "step start", "step for i", "set x[0] 7", "step turn[0]",
			"dfs x[1]", "set x[1] 50", "step turn[1]", "continue"}, "\n"),
		"turns.txt": strings.Join([]string{"hold turn[*]", "continue", "step turn[0]", "move turn[1] 0", "cfs kept",
			"step turn[1]", "step turn[2]", "release turn[*]", "first turn[3]", "continue"}, "\n"),
		"order.txt": "break turn[3]\ncontinue\ninputs\ncontinue\n", "quit.txt": "until turn[1]\nquit\n",
		"wrong.txt": "continue\nhold nothing\n", "stuck.fa": `
C++ sub more(int v, name y) ${{ y = v + 1; $}}
sub main()
{
    df x;
    for i = 0 .. 3
        cf turn[i]: more(x[i], x[i + 1]) @ { locator_cyclic: i; };
}
`, "stuck.txt": "continue\ncfs waiting\ncontinue\n"})
	debugged := func(code int, commands, program, printed string, want ...string) {
		t.Helper()
		stdout, stderr := must(t, dir, home, code, "mpirun -n 2 whyslow debug -q -w 1 --commands "+commands+
			" "+program)
		if stdout != printed {
			t.Errorf("%s: it printed %q, not %q", commands, stdout, printed)
		}
		for rest, i := stderr, 0; i < len(want); i++ {
			_, after, found := strings.Cut(rest, want[i]+"\n")
			if !found {
				t.Fatalf("%s: after %q it does not say %q:\n%s", commands, want[:i], want[i], stderr)
			}
			rest = after
		}
	}
	debugged(0, "look.txt", "chain.fa", "41\n", "stopped (entry): before the program begins",
		"stopped (breakpoint): turn[3] on node 1 (chain.fa:10)", "0.8 turn[3] (chain.fa:10)",
		"  in for i (chain.fa:9)", "  in main (chain.fa:5)", "x[3] = 4", "i = 3", "5",
		"kept     0.8      turn[3] on node 1",
		"waiting  0.4      show on node 0, waits for x[4]",
		"x[3] on node 1: 4, made by more(x[i], x[i + 1]) (chain.fa:10:9), used next by turn[3]",
		"1: turn[3] (reached 1 time)", "stopped (held): 1 held CF is all that can go on",
		"kept     0.4      show on node 0")
	debugged(0, "steps.txt", "-o changed.trace chain.fa", "53\n", "stopped (entry): before the program begins",
		"stopped (step): a CF of sub main() has ended (chain.fa:5)",
		"stopped (step): a CF of start(x[0]) has ended (chain.fa:8)",
		"x[1] on node 1: 8, made by more(x[i], x[i + 1]) (chain.fa:10:9), used next by turn[1]")
	info, err := trace.ReadRunInfo(filepath.Join(dir, "changed.trace"))
	if err != nil || info.Settings["changed by hand"] != "x[0]: 7 instead of 1\nx[1]: 50 instead of 8" ||
		info.Settings["stopped"] == "" {
		t.Errorf("%v: run.json has %q", err, info.Settings)
	}
	if out, _ := must(t, dir, home, 0, "whyslow doctor changed.trace"); !strings.Contains(out,
		"consistent: no contradictions") {
		t.Errorf("whyslow doctor says\n%s", out)
	}
	debugged(0, "turns.txt", "chain.fa", "5\n", "stopped (held): 1 held CF is all that can go on",
		"stopped (step): a CF of more(x[i], x[i + 1]) has ended (chain.fa:10)")
	debugged(console.Stuck, "stuck.txt", "stuck.fa", "", "stopped (stuck): the program cannot finish: 4 CFs"+
		" wait for data fragments that never come", "waiting  0.4      turn[1] on node 1, waits for x[1]")
	debugged(console.Interrupted, "quit.txt", "chain.fa", "",
		"stopped (breakpoint): turn[1] on node 1 (chain.fa:10)", "whyslow: interrupted")
	debugged(console.BadUsage, "wrong.txt", "stuck.fa", "", "whyslow: wrong.txt:2: nothing: the program has no"+
		" code fragment or label nothing; it has for i, main, more, turn")
	must(t, dir, home, 0, "mpirun -n 2 whyslow run -q -w 1 -o many.trace chain.fa")
	stdout, stderr := must(t, dir, home, 0, "whyslow debug -q --order many.trace --commands order.txt chain.fa")
	if stdout != "5\n" || !strings.Contains(stderr, "stopped (breakpoint): turn[3] on node 1 (chain.fa:10)\n") ||
		!strings.Contains(stderr, "x[3] = 4\n") || strings.Contains(stderr, "in their turn") {
		t.Errorf("it printed %q and said\n%s", stdout, stderr)
	}
}

// What is computed does not depend on the number of processes; the trace is whole and tells where the nodes
// were.
func TestMPIResults(t *testing.T) {
	needMPI(t)
	t.Parallel()
	home, dir := lunaHome(t), t.TempDir()
	for _, name := range []string{"heat", "mxm"} {
		program, err := filepath.Abs(filepath.Join("..", "examples", name, name+".fa"))
		if err != nil {
			t.Fatal(err)
		}
		args := map[string]string{"heat": "40 4 0.05 4", "mxm": "4 20"}[name]
		want, _ := must(t, dir, home, 0, fmt.Sprintf("whyslow run --no-trace -q %s %s", program, args))
		for _, ranks := range []int{1, 2, 4} {
			folder := fmt.Sprintf("%s.%d.trace", name, ranks)
			stdout, stderr := must(t, dir, home, 0, fmt.Sprintf("mpirun -n %d whyslow run -w 1 -o %s %s %s", ranks,
				folder, program, args))
			if stdout != want {
				t.Errorf("%s on %d ranks: %q, in one process %q", name, ranks, stdout, want)
			}
			if !strings.Contains(stderr, fmt.Sprintf(" on %d node", ranks)) ||
				!strings.HasSuffix(strings.TrimSpace(stderr), "\n"+folder) {
				t.Errorf("%s on %d ranks: no report, or its last line is not %s:\n%s", name, ranks, folder, stderr)
			}
			if out, _ := must(t, dir, home, 0, "whyslow doctor "+folder); !strings.Contains(out,
				"consistent: no contradictions") {
				t.Errorf("%s on %d ranks:\n%s", name, ranks, out)
			}
			if ranks == 1 {
				continue // an ordinary run
			}
			info, err := trace.ReadRunInfo(filepath.Join(dir, folder))
			if err != nil {
				t.Fatal(err)
			}
			if len(info.Processes) != ranks || len(info.Nodes) != ranks || info.Ended != trace.EndedDone ||
				!strings.HasPrefix(info.Versions["mpi"], "Open MPI ") {
				t.Errorf("%+v", info)
			}
			for n := range ranks { // all agree on the run
				head, err := os.ReadFile(filepath.Join(dir, folder, tracefile.FileName(n)))
				if err != nil || !strings.HasPrefix(info.ID, hex.EncodeToString(head[16:28])) {
					t.Errorf("%v: the file of node %d is not of run %s", err, n, info.ID)
				}
			}
			pids := map[int]bool{}
			for i, n := range info.Nodes {
				p := info.Processes[i]
				if pids[p.PID] = true; n.Host != crew.HostName() || n.Process != i || n.Workers != 1 || n.Part != "" ||
					len(p.Monotonic) != 2 || p.CPU <= 0 {
					t.Errorf("%+v %+v", n, p)
				}
				if span := p.Monotonic[1].Own - p.Monotonic[0].Own; span <= 0 ||
					p.Monotonic[1].Monotonic-p.Monotonic[0].Monotonic < span/2 {
					t.Errorf("clock pairs %+v", p.Monotonic)
				}
			}
			if len(pids) != ranks {
				t.Errorf("%d processes of %d ranks", len(pids), ranks)
			}
		}
	}
}

// mpirunNoise is what mpirun adds when an exit code is not 0.
var mpirunNoise = regexp.MustCompile(`(?s)-{70,}\n.*`)

// Whatever goes wrong is said once, by rank 0, in the words of a run in one process.
func TestMPIFailures(t *testing.T) {
	needMPI(t)
	t.Parallel()
	home := lunaHome(t)
	dir := manyDir(t, map[string]string{
		"fail.fa": `C++ sub boom(int i) ${{ if (i == 3) throw std::runtime_error("no more"); $}}
sub main() for i = 0 .. 5 boom(i) @ { locator_cyclic: i; };
`,
		"stuck.fa": `C++ sub use(int i, value x) ${{ $}}
C++ sub put(int i, name x) ${{ x = i; $}}
sub main() { df a, b; for i = 0 .. 3 put(i, a[i]) @ { locator_cyclic: i; }; for i = 0 .. 3 use(i, b[i]) @ { locator_cyclic: i; }; }
`,
		"cpp.fa": "C++ sub broken() ${{ not C++ $}}\nsub main() broken();\n",
	})
	for _, c := range []struct {
		args string
		code int
		want string // "": the same as in one process
	}{
		{"-q fail.fa", 1, ""},
		{"-q stuck.fa", 3, ""},
		{"-q cpp.fa", 2, ""},
		{"-q nosuch.fa", 2, ""},
		{"-q --bad fail.fa", 2, ""},
		{"-q --set trace_writer_module.flush=never fail.fa", 2, ""},
		{"-q -o . fail.fa", 2, ""},
		{"-n 3 fail.fa", 2, "whyslow: run: -n 3: mpirun started 2 ranks, each of which is a node; leave out " +
			"-n\nSee 'whyslow run --help'.\n"},
		{"--to a:1,b:2,c:3 fail.fa", 2, "whyslow: run: --to: 3 collectors for 2 processes: each needs one at " +
			"least (mpirun -n)\nSee 'whyslow run --help'.\n"},
		{"--local-dir fail.fa/x fail.fa", 2, "whyslow: --local-dir: fail.fa: not a directory\n"},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			want := c.want
			if want == "" {
				_, want = must(t, dir, home, c.code,
					"whyslow run -w 1 --no-steal "+strings.Replace(c.args, "-q ", "-q -n 2 ", 1))
			}
			_, got := must(t, dir, home, c.code, noGrace+"mpirun -n 2 whyslow run -w 1 --no-steal "+c.args)
			if got, want := comparable(dir, mpirunNoise.ReplaceAllString(got, "")),
				comparable(dir, want); got != want {
				t.Errorf("%s\ninstead of\n%s", got, want)
			}
		})
	}
}

var (
	traceNumber = regexp.MustCompile(`\.\d{3}\.trace`)
	coresLine   = regexp.MustCompile(`(?m)^whyslow: warning: \d+ workers .*\n`)
)

// comparable leaves out what differs between two runs of the same program.
func comparable(dir, text string) string {
	return strings.ReplaceAll(traceNumber.ReplaceAllString(coresLine.ReplaceAllString(text, ""), ".NNN.trace"),
		dir+"/", "")
}

const loud = `C++ sub say(int i) ${{
    std::string s(i % 7 == 0 ? 70000 : 300, 'a' + i % 26);
    for (int k = 0; k < 10; k++) {
        printf("%d %s %d\n", i, s.c_str(), i);
        if (k % 3 == 0) fflush(stdout);
    }
$}}
C++ sub long_one(int i) ${{ std::string s(3 << 20, 'x'); printf("%s\n", s.c_str()); $}}
sub main() {
    for i = 0 .. 39 say(i) @ { locator_cyclic: i; };
    long_one(1) @ { locator_cyclic: 1; };
}
`

// Lines of different ranks are not mixed; one that is too long to wait for its end comes out in pieces.
func TestMPIOutput(t *testing.T) {
	needMPI(t)
	t.Parallel()
	dir := manyDir(t, map[string]string{"loud.fa": loud})
	stdout, _ := must(t, dir, lunaHome(t), 0, "mpirun -n 3 whyslow run -q -w 2 loud.fa")
	seen := map[string]int{}
	long := 0
	for _, line := range strings.Split(stdout, "\n") {
		words := strings.Fields(line)
		if len(words) == 1 {
			long += strings.Count(line, "x")
			continue
		}
		if len(words) == 0 {
			continue
		}
		if n := len(words[1]); len(words) != 3 || words[0] != words[2] || n != 300 && n != 70000 ||
			strings.Count(words[1], words[1][:1]) != n {
			t.Fatalf("a line of %d bytes: %.50q", len(line), line)
		}
		seen[words[0]]++
	}
	for i := range 40 {
		if n := seen[fmt.Sprint(i)]; n != 10 {
			t.Errorf("CF %d printed %d lines", i, n)
		}
	}
	if long != 3<<20 {
		t.Errorf("%d bytes of a long line", long)
	}
}

// Modules of all ranks write files of their own, and to the terminal in turn.
func TestMPIModules(t *testing.T) {
	needMPI(t)
	t.Parallel()
	dir := manyDir(t, map[string]string{"loud.fa": loud})
	_, stderr := must(t, dir, lunaHome(t), 0,
		"mpirun -n 3 whyslow run -q -w 1 --no-steal --modules "+
			"cf_counter_events_module,profile_module,luna_log_module --set profile_module.file=p.json loud.fa")
	for node, n := range []int{14, 14, 13} {
		if node == 0 {
			n += 2 // main, for
		}
		if want := fmt.Sprintf("node %d: CF destroyed: %d\n", node, n); !strings.Contains(stderr, want) {
			t.Errorf("no %q in\n%s", want, stderr)
		}
		for _, name := range []string{fmt.Sprintf("p.%d.json", node), fmt.Sprintf("luna-log/log.%02d", node)} {
			if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// Each rank writes to a folder of its own; rank 0 gathers the files, and nothing stays where they were.
func TestMPILocalDir(t *testing.T) {
	needMPI(t)
	t.Parallel()
	home, dir := lunaHome(t), manyDir(t, map[string]string{"loud.fa": loud})
	must(t, dir, home, 0, "mpirun -n 3 whyslow run -q --local-dir parts/here -o t.trace loud.fa")
	if out, _ := must(t, dir, home, 0, "whyslow doctor t.trace"); !strings.Contains(out,
		"whole: nothing is damaged or missing") {
		t.Errorf("%s", out)
	}
	for folder, want := range map[string]int{"parts/here": 0, "t.trace": 4} {
		if left, err := os.ReadDir(filepath.Join(dir, folder)); err != nil || len(left) != want {
			t.Errorf("%s: %v, %v", folder, left, err)
		}
	}
}

// Workers of ranks on one computer are bound to cores that no other has.
func TestMPIBind(t *testing.T) {
	needMPI(t)
	if crew.AvailableCores() < 2 {
		t.Skip("there is one core")
	}
	t.Parallel()
	home, dir := lunaHome(t), manyDir(t, map[string]string{"loud.fa": loud})
	must(t, dir, home, 0, "mpirun -n 2 whyslow run -q -w 1 --bind core -o t.trace loud.fa")
	info, err := trace.ReadRunInfo(filepath.Join(dir, "t.trace"))
	if err != nil {
		t.Fatal(err)
	}
	a, b := info.Nodes[0].Bound, info.Nodes[1].Bound
	if len(a) != 1 || len(b) != 1 || a[0] == b[0] || info.Settings["bind"] != "core" {
		t.Errorf("bound to %v and %v, settings %v", a, b, info.Settings)
	}
}

// Without MPI in it the program says what to do, and each verb that one process can do is done once.
func TestNotBuiltForMPI(t *testing.T) {
	if crew.HasMPI() {
		t.Skip("built with MPI")
	}
	home := lunaHome(t)
	const rank = "OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK="
	_, stderr := must(t, t.TempDir(), home, console.BadUsage, rank+"0 whyslow run x.fa")
	if want := "whyslow: started on 4 MPI ranks, but built without MPI: build it with 'make mpi', or " +
		"leave out " +
		"mpirun ('run -n 4' has 4 nodes in one process)\n"; stderr != want {
		t.Errorf("%q", stderr)
	}
	for _, command := range []string{"version", "nonsense"} {
		stdout, stderr := must(t, t.TempDir(), home, console.Done, rank+"1 whyslow "+command)
		if stdout != "" || stderr != "" {
			t.Errorf("rank 1 of %s: %q %q", command, stdout, stderr)
		}
	}
	// Where rank 0 ends everybody rank 1 has nothing to say; where it does not, as on a host where whyslow is
	// another one, it has.
	t.Run("all", func(t *testing.T) {
		t.Parallel()
		for _, command := range []string{"run x.fa", "run --bad"} {
			if stdout, stderr := must(t, t.TempDir(), home, 124, rank+"1 timeout 1 whyslow "+command); stdout != "" ||
				stderr != "" {
				t.Errorf("rank 1 of %s: %q %q", command, stdout, stderr)
			}
		}
	})
	t.Run("one", func(t *testing.T) {
		t.Parallel()
		stdout, stderr := must(t, t.TempDir(), home, console.BadUsage, rank+"1 whyslow run x.fa")
		if want := "whyslow: rank 1 (" + crew.HostName() + "): started on 4 MPI ranks, but built without " +
			"MPI: "; stdout != "" || !strings.HasPrefix(stderr, want) {
			t.Errorf("%q %q", stdout, stderr)
		}
	})
}
