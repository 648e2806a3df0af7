package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/testkit/cctest"
	"github.com/whyslow/whyslow/internal/testkit/effort"
)

// ompProgram compiles a program of testdata/openmp.
func ompProgram(t *testing.T, compiler, name string, flags ...string) string {
	t.Helper()
	if compiler == "" {
		t.Skip("no compiler of OpenMP programs here")
	}
	path, err := filepath.Abs(filepath.Join("../testdata/openmp", name+".c"))
	if err != nil {
		t.Fatal(err)
	}
	return cctest.Make(t, cctest.Program{Name: filepath.Base(name), Compiler: []string{compiler},
		Sources: []string{path}, Flags: append([]string{"-g", "-O1", "-fopenmp"}, flags...)})
}

// ompReport is what the tests here read of a report.
type ompReport struct {
	Ended     string
	Fragments []struct {
		Code     string
		Count    int64
		UsefulNS int64 `json:"useful_ns"`
	}
}

// toldConstruct is a construct of constructs.c with a line of its own: how often, how many us in all.
type toldConstruct struct {
	code      string
	count, us int64
}

// constructsTold are the constructs that constructs.c tells of, by the names that they get: gcc gives a loop
// the line of its `for`, and no place to others.
func constructsTold(t *testing.T, gcc bool, threads int) (told []toldConstruct) {
	t.Helper()
	text, err := os.ReadFile("../testdata/openmp/constructs.c")
	if err != nil {
		t.Fatal(err)
	}
	form := regexp.MustCompile(`/\* = (.+) (\d+) (\d+) \*/`)
	for i, line := range strings.Split(string(text), "\n") {
		m := form.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		count, _ := strconv.ParseInt(m[2], 10, 64)
		us, _ := strconv.ParseInt(m[3], 10, 64)
		name, at := m[1], i+1
		switch {
		case gcc && (name == "sections" || name == "single" || name == "masked"):
			continue
		case gcc && name == "for":
			at++
		case name == "undeferred task" && threads == 1:
			name = "task" // a thread that is alone executes all at once
		}
		code := fmt.Sprintf("%s constructs.c:%d", name, at)
		if name == "taskloop" && !gcc {
			code = name // LLVM's run-time system tells no place
		}
		told = append(told, toldConstruct{code, count, us})
	}
	if len(told) < 15 {
		t.Fatalf("only %d constructs are told", len(told))
	}
	return told
}

// TestOpenMPConstructs: every construct is found as often as the program has it, with the time that it spins,
// by whatever compiler and number of threads, also in a library that is loaded later. What the program counts
// by itself is right while it is recorded.
func TestOpenMPConstructs(t *testing.T) {
	t.Parallel()
	const without = "-DNO_DETACH"
	for _, c := range []struct {
		compiler, flag string
		threads        int
		loaded         bool // by dlopen
	}{
		{clang(), "", 2, false}, {"gcc", without, 2, false},
		{clang(), "", 3, false}, {clang(), "", 8, false}, {clang(), without, 1, false},
		{clang(), without, 4, false}, {"gcc", without, 1, false}, {"gcc", without, 8, false},
		{clang(), without, 2, true}, {"gcc", without, 2, true},
	}[:effort.Times(2, 10)] {
		what := fmt.Sprintf("%s, %d threads, dlopen %v", filepath.Base(c.compiler), c.threads, c.loaded)
		var flags []string
		if c.flag != "" {
			flags = append(flags, c.flag)
		}
		if c.loaded {
			flags = append(flags, "-shared", "-fPIC")
		}
		command := ompProgram(t, c.compiler, "constructs", flags...)
		if c.loaded {
			command = ompProgram(t, "gcc", "dlopen", "-fno-openmp") + " " + command
		}
		stdout, text := recordedBy(t, fmt.Sprintf("OMP_NUM_THREADS=%d OMP_CANCELLATION=true whyslow omp -q "+
			"--json=report.json -o run.trace -- %s", c.threads, command))
		if stdout != "26 33 33 4 4 3\n" {
			t.Errorf("%s: the program counted %s", what, stdout)
		}
		var r ompReport
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatal(err)
		}
		for _, c := range constructsTold(t, c.compiler == "gcc", c.threads) {
			count, us := int64(0), int64(0)
			for _, f := range r.Fragments {
				if f.Code == c.code {
					count, us = f.Count, f.UsefulNS/1000
				}
			}
			// A thread that finds no chunk left executes the construct, too, for no time. A thread's clock is read
			// once a millisecond: of what it did between two readings each thing gets its share.
			exact := strings.Contains(c.code, "task")
			if count < c.count || exact && count > c.count || us < c.us*3/4-1500 || us > c.us*5/4+1500 {
				t.Errorf("%s: %s: %d in %d us, want %d in %d us", what, c.code, count, us, c.count, c.us)
			}
		}
	}
}

// TestOpenMPEnds: however a program ends within a task, its trace is whole up to then.
func TestOpenMPEnds(t *testing.T) {
	t.Parallel()
	home, dir := lunaHome(t), t.TempDir()
	program := ompProgram(t, clang(), "constructs")
	check := func(how, ended string) {
		stdout, stderr, code, err := shell(dir, home, "whyslow report --json "+how+".trace")
		var r ompReport
		if err != nil || code != console.Done && code != console.Damaged || json.Unmarshal([]byte(stdout), &r) != nil {
			t.Fatalf("%s: exit code %d, %v\n%s", how, code, err, stderr)
		}
		if err := checkSums([]byte(stdout)); err != nil {
			t.Error(err)
		}
		tasks := int64(0)
		for _, f := range r.Fragments {
			if strings.HasPrefix(f.Code, "task ") {
				tasks += f.Count
			}
		}
		if r.Ended != ended || tasks < 6 {
			t.Errorf("%s: ended %q with %d tasks", how, r.Ended, tasks)
		}
	}
	for how, said := range map[string]string{"exit": "exit status 7", "crash": "SIGSEGV|segmentation fault"} {
		stdout, stderr, code, err := shell(dir, home, "OMP_NUM_THREADS=2 whyslow omp -q -o "+how+".trace -- "+program+" "+
			how)
		if err != nil || code != console.Failed || stdout != "" || !regexp.MustCompile(said).MatchString(stderr) {
			t.Errorf("%s: exit code %d, %v\n%s%s", how, code, err, stdout, stderr)
		}
		check(how, "failed")
	}
	stderr, code := interrupt(t, os.Interrupt, dir, filepath.Join(home, "bin", "whyslow"), "omp", "-q", "-o",
		"endless.trace", "--", program, "endless")
	if code != console.Interrupted {
		t.Errorf("endless: exit code %d\n%s", code, stderr)
	}
	check("endless", "interrupted")
}

// undisturbed is what a command of this many busy threads begins with so that other programs do not take its
// cores, "" where that is not permitted. Threads that wait for a thread without a core would never end.
func undisturbed(threads int) string {
	if threads > runtime.NumCPU() || exec.Command("chrt", "-r", "1", "true").Run() != nil {
		return ""
	}
	return "chrt -r 1 "
}

// TestOpenMPFaults: what is said of the programs with a fault in testdata/openmp, and not of those without
// it; and what is promised is what the mended one gains. What a run shows depends on what else the machine
// does, so each has several.
func TestOpenMPFaults(t *testing.T) {
	effort.Only(t)
	home, dir := lunaHome(t), t.TempDir()
	for _, c := range []struct {
		program, args string
		threads       int // that are busy at the same time
		gains         bool
		advice        []string
	}{
		// What recording takes is a part of these gains, and creating tasks is a part of the useful time.
		{"small-tasks", " 20", 2, false, []string{"too-small"}},
		{"one-creator", "", 2, true, []string{"one-creator"}},
		{"taskwait", "", 2, true, []string{"taskwait"}},
		{"wide-depend", "", 2, true, []string{"wide-depend"}},
		{"static-loop", "", 2, true, []string{"uneven-loop"}},
		{"large-chunks", "", 2, true, []string{"uneven-loop"}},
		{"critical", "", 2, true, []string{"contention"}},
		{"nested", "", 4, true, []string{"nested-regions"}},
		{"many-threads", "", 8, false, []string{"too-many-workers", "preempted"}}, // all cores are used anyway
		{"serial", "", 2, true, []string{"serial-code"}},
	} {
		t.Run(c.program, func(t *testing.T) {
			const runs = 7
			told, walls, promised := map[string]int{}, map[string][]int64{}, []int64(nil)
			for i := range runs {
				for _, name := range []string{"slow", "mended"} {
					var flags []string
					if name == "mended" {
						flags = []string{"-DMENDED"}
					}
					trace := fmt.Sprintf("%s.%s.%d.trace", c.program, name, i)
					_, errs, code, err := shell(dir, home, "OMP_NUM_THREADS=2 "+undisturbed(c.threads)+
						"whyslow omp -q -o "+trace+" -- "+ompProgram(t, clang(), c.program, flags...)+c.args)
					if err != nil || code != console.Done {
						t.Fatalf("%s: exit code %d, %v\n%s", name, code, err, errs)
					}
					a := accountOf(t, dir, home, trace, "")
					walls[name] = append(walls[name], a.wall)
					x := a.find(c.advice)
					if x == nil || c.program == "many-threads" && !strings.Contains(x.Text, " share ") {
						continue
					}
					told[name]++
					if name == "slow" {
						promised = append(promised, x.GainWallNS)
					}
					if first := &a.list[0]; name == "slow" && a.lost < 0.01 && first.ID != x.ID {
						t.Errorf("%s is said to be worse: %s", first.ID, first.Text)
					}
				}
			}
			if told["slow"] == 0 || told["mended"] > runs/2 {
				t.Errorf("told in %d runs of %d, of the mended program in %d", told["slow"], runs, told["mended"])
			}
			if c.gains && told["slow"] > 0 {
				judgeWithin(t, 0.3, promised, walls)
			}
		})
	}
}

// TestTruthOpenMP: what the report on examples/openmp/slow.c promises is what mended.c gains.
func TestTruthOpenMP(t *testing.T) {
	effort.Only(t)
	home, dir := lunaHome(t), t.TempDir()
	const runs = 5
	walls := map[string][]int64{}
	var promised []int64
	for i := range runs {
		for _, name := range []string{"slow", "mended"} {
			trace := fmt.Sprintf("%s.%d.trace", name, i)
			_, errs, code, err := shell(dir, home, "OMP_NUM_THREADS=2 "+undisturbed(2)+"whyslow omp -q -o "+
				trace+" -- "+ompProgram(t, clang(), "../../examples/openmp/"+name)+" 4000")
			if err != nil || code != console.Done {
				t.Fatalf("exit code %d, %v\n%s", code, err, errs)
			}
			a := accountOf(t, dir, home, trace, "")
			walls[name] = append(walls[name], a.wall)
			if x := a.find([]string{"uneven-loop"}); x != nil && name == "slow" {
				promised = append(promised, x.GainWallNS)
			}
		}
	}
	if len(promised) < runs {
		t.Errorf("the uneven loop is named in %d of %d runs", len(promised), runs)
		return
	}
	judgePromise(t, promised, walls)
}
