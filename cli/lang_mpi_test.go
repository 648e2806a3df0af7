package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/console"
)

// The same programs, each node in a process of its own: what comes out must not depend on it. Work stealing
// is on. Starting processes is what takes the time, so every program runs once on each number of ranks: those
// that end well by LuNA's commands on 2 and by "whyslow run" on the others, those that fail by LuNA's
// commands on all.

func rankCounts() []int {
	if testing.Short() {
		return []int{2}
	}
	return []int{1, 2, 4}
}

// noGrace in front of a command with mpirun: when a rank has ended with an exit code other than 0, mpirun
// gives the others a second or two before it kills them, even where all have ended, as in these tests.
const noGrace = "OMPI_MCA_odls_base_sigkill_timeout=0 "

// longGrace is for processes that are to end in peace though the computer is busy.
const longGrace = "OMPI_MCA_odls_base_sigkill_timeout=5"

// manyHome is a lunaHome whose luna and rts start themselves by mpirun, on that many ranks, or as many as rts
// is asked for by -n. C++ is compiled without optimisation.
func manyHome(t *testing.T, ranks int) string {
	home := lunaHome(t)
	bin := filepath.Join(home, "bin")
	if err := os.Mkdir(filepath.Join(bin, "one"), 0o777); err != nil {
		t.Fatal(err)
	}
	for name, script := range map[string]string{
		"luna": "exec mpirun -n %[1]d %[2]s -O0 \"$@\"\n",
		"rts":  "n=%[1]d; if [ \"$1\" = -n ]; then n=$2; shift 2; fi; exec mpirun -n $n %[2]s -b \"$@\"\n",
	} {
		path, one := filepath.Join(bin, name), filepath.Join(bin, "one", name)
		if err := os.Rename(path, one); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, fmt.Appendf(nil, "#!/bin/sh\nexport "+noGrace+"\n"+script, ranks, one),
			0o777); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

// TestMPILang does what every conf file says with LuNA's own commands started by mpirun.
func TestMPILang(t *testing.T) {
	needMPI(t)
	t.Parallel()
	homes := map[int]string{}
	for _, ranks := range rankCounts() {
		homes[ranks] = manyHome(t, ranks)
	}
	well := map[string]bool{}
	for _, p := range linePrograms(t) {
		well[p.name] = true
	}
	for _, path := range langTests(t) {
		name, counts := filepath.Base(filepath.Dir(path)), rankCounts()
		if well[name] {
			counts = []int{2}
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, ranks := range counts { // the first compiles, the others find it compiled
				t.Run(fmt.Sprint(ranks), func(t *testing.T) { langTest(t, path, homes[ranks], ranks) })
			}
		})
	}
}

// TestMPILangRun runs the programs that end well by "whyslow run".
func TestMPILangRun(t *testing.T) {
	needMPI(t)
	if testing.Short() {
		t.Skip("on 2 ranks they run by luna")
	}
	t.Parallel()
	home := lunaHome(t)
	for _, p := range linePrograms(t) {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			for _, ranks := range []int{1, 4} {
				want := p.want
				if text, err := os.ReadFile(filepath.Join(p.dir, fmt.Sprintf("expected.%d", ranks))); err == nil {
					want = sortedLines(string(text))
				}
				p.run(t, home, fmt.Sprintf("mpirun -n %d whyslow run -O0 -w %d", ranks, 1+ranks%2), want)
			}
		})
	}
}

// TestMPIExamples runs the examples, those of an exit code other than 0 included.
func TestMPIExamples(t *testing.T) {
	needMPI(t)
	t.Parallel()
	home := lunaHome(t)
	for _, e := range []struct {
		words   string
		spreads bool // the last argument but for those of tail is the number of nodes to spread over
		tail    string
		code    int
	}{
		{words: "mxm/mxm.fa 4 16"},
		{words: "heat/heat.fa 24 4 0.05", spreads: true},
		{words: "heat/rounds.fa 24 4 0.05", spreads: true, tail: " 5"},
		{words: "cholesky/cholesky.fa 5 8"},
		{words: "chains/chains.fa 3 10 30000"},
		{words: "granularity/granularity.fa 100 10000"},
		{words: "crossed/crossed.fa 20 100000 100"},
		{words: "balance/balance.fa 40 20000"},
		{words: "pic/pic.fa 8 200 4 2 0.01", spreads: true},
		{words: "pic/boxes.fa 8 200 2 2 0.01", spreads: true},
		{words: "wrong/wrong.fa", code: console.Stuck},
		{words: "heat/heat.fa 4 5 0.05 1", code: console.Failed},
	} {
		t.Run(strings.ReplaceAll(e.words, "/", " "), func(t *testing.T) {
			t.Parallel()
			examples, err := filepath.Abs("../examples")
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			run := func(start string, nodes int) (lines []string, stderr string) {
				words := e.words
				if e.spreads {
					words += fmt.Sprint(" ", nodes)
				}
				command := fmt.Sprintf("%s -q -O0 -o %s %s/%s%s", start, strings.ReplaceAll(start, " ", "_"), examples,
					words, e.tail)
				stdout, stderr, code, err := shell(dir, home, command)
				if err != nil || code != e.code {
					t.Fatalf("%s: exit code %d, want %d, %v\n%s%s", command, code, e.code, err, stdout, stderr)
				}
				return sortedLines(stdout), stderr
			}
			want, wantErr := run("whyslow run -n 1 -w 1", 1)
			for _, ranks := range rankCounts() {
				got, gotErr := run(fmt.Sprintf(noGrace+"mpirun -n %d whyslow run -w %d", ranks, 1+ranks%2), ranks)
				if !slices.Equal(got, want) {
					t.Errorf("%d ranks: got\n%s\nwant\n%s", ranks, strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
				// What is wrong is said once, in the same words; mpirun adds its own.
				if first, _, _ := strings.Cut(wantErr, "\n"); strings.Count(gotErr, first+"\n") != 1 && e.code != 0 {
					t.Errorf("%d ranks: got\n%s\nwant once\n%s", ranks, gotErr, first)
				}
			}
		})
	}
}

// TestMPIRts looks at what rts and luna say when it is not the program that fails.
func TestMPIRts(t *testing.T) {
	needMPI(t)
	t.Parallel()
	home := lunaHome(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "p.fa"),
		[]byte("C++ sub say(int n) ${{ printf(\"%d\\n\", n); $}}\nsub main() { say(1); say(2) @ { locator_cyclic: "+
			"1; }; }\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, errs, code, err := shell(dir, home, "luna -q -O0 -c p.fa"); code != 0 || err != nil {
		t.Fatalf("%v\n%s%s", err, out, errs)
	}
	for _, test := range []struct {
		command string
		code    int
		once    string // on standard error
		want    []string
	}{
		{"mpirun -n 2 rts -n 2 ./libucodes.so", console.Done, "", []string{"1", "2"}},
		{"mpirun -n 2 luna -q -O0 p.fa", console.Done, "", []string{"1", "2"}},
		{"mpirun -n 2 rts -n 3 ./libucodes.so", console.Failed, "rts: -n 3, but mpirun has started 2 ranks", nil},
		{"mpirun -n 2 rts ./p.fa", console.Failed, "contains no program", nil},
		{"mpirun -n 2 rts", console.Failed, "rts: no library specified", nil},
		{"mpirun -n 2 luna", console.Failed, "luna: fatal error: no program specified", nil},
	} {
		stdout, stderr, code, err := shell(dir, home, noGrace+test.command)
		if err != nil || code != test.code {
			t.Errorf("%s: exit code %d, want %d, %v", test.command, code, test.code, err)
		}
		if test.once != "" && strings.Count(stderr, test.once) != 1 ||
			test.want != nil && !slices.Equal(sortedLines(stdout), test.want) {
			t.Errorf("%s: printed\n%s%s", test.command, stdout, stderr)
		}
	}
}
