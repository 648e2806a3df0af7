package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
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
	return cctest.Make(t, cctest.Program{Name: name, Compiler: []string{compiler}, Sources: []string{path},
		Flags: append([]string{"-g", "-O1", "-fopenmp"}, flags...)})
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

// constructsTold are the constructs of constructs.c with a line of their own: code fragment, how many, how
// many us.
func constructsTold(t *testing.T) (told []struct {
	Code      string
	Count, US int64
}) {
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
		code := fmt.Sprintf("%s constructs.c:%d", m[1], i+1)
		if m[1] == "taskloop" {
			code = m[1] // LLVM's run-time system tells no place
		}
		told = append(told, struct {
			Code      string
			Count, US int64
		}{code, count, us})
	}
	if len(told) < 15 {
		t.Fatalf("only %d constructs are told", len(told))
	}
	return told
}

// TestOpenMPConstructs: every construct is found as often as the program has it, with the time that it spins,
// by whatever number of threads. What the program counts by itself is right while it is recorded.
func TestOpenMPConstructs(t *testing.T) {
	t.Parallel()
	program := ompProgram(t, clang(), "constructs")
	// On one thread, LLVM's run-time system fails at detach, with or without whyslow.
	for _, threads := range []int{2, 3, 8}[:effort.Times(1, 3)] {
		stdout, text := recordedBy(t, fmt.Sprintf("OMP_NUM_THREADS=%d OMP_CANCELLATION=true whyslow omp -q "+
			"--json=report.json -o run.trace -- %s", threads, program))
		if stdout != "26 33 33 4 4 3\n" {
			t.Errorf("%d threads: the program counted %s", threads, stdout)
		}
		var r ompReport
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatal(err)
		}
		for _, c := range constructsTold(t) {
			count, us := int64(0), int64(0)
			for _, f := range r.Fragments {
				if f.Code == c.Code {
					count, us = f.Count, f.UsefulNS/1000
				}
			}
			// A thread that finds no chunk left executes the construct, too, for no time. A thread's clock is read
			// once a millisecond: of what it did between two readings each thing gets its share.
			exact := !strings.HasPrefix(c.Code, "for ") && !strings.HasPrefix(c.Code, "sections ") &&
				!strings.HasPrefix(c.Code, "single ") && !strings.HasPrefix(c.Code, "masked ")
			if count < c.Count || exact && count > c.Count || us < c.US*3/4-1500 || us > c.US*5/4+1500 {
				t.Errorf("%d threads: %s: %d in %d us, want %d in %d us", threads, c.Code, count, us, c.Count, c.US)
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

// TestOpenMPFaults: what is said of the programs with a fault in testdata/openmp, and not of those without
// it. What a run shows depends on what else the machine does, so each has ten runs: to be told of the fault,
// or not to be told of it.
func TestOpenMPFaults(t *testing.T) {
	effort.Only(t)
	home, dir := lunaHome(t), t.TempDir()
	for _, c := range []struct {
		program string
		advice  []string
	}{
		{"small-tasks", []string{"too-small"}},
		{"one-creator", []string{"one-creator"}},
		{"taskwait", []string{"taskwait"}},
		{"wide-depend", []string{"wide-depend"}},
		{"static-loop", []string{"uneven-loop"}},
		{"large-chunks", []string{"uneven-loop"}},
		{"critical", []string{"contention"}},
		{"nested", []string{"nested-regions"}},
		{"many-threads", []string{"too-many-workers", "preempted"}},
		{"serial", []string{"serial-code"}},
	} {
		for _, mended := range []bool{false, true} {
			var flags []string
			if mended {
				flags = []string{"-DMENDED"}
			}
			program, told := ompProgram(t, clang(), c.program, flags...), 0
			for i := 0; i < 10 && (told == 0 || mended); i++ {
				trace := fmt.Sprintf("%s.%v.%d.trace", c.program, mended, i)
				_, errs, code, err := shell(dir, home, "OMP_NUM_THREADS=2 whyslow omp -q -o "+trace+" -- "+program)
				if err != nil || code != console.Done {
					t.Fatalf("%s: exit code %d, %v\n%s", c.program, code, err, errs)
				}
				x := accountOf(t, dir, home, trace, "").find(c.advice)
				if x != nil && (c.program != "many-threads" || strings.Contains(x.Text, " share ")) {
					told++
				}
			}
			if mended && told > 5 || !mended && told == 0 {
				t.Errorf("%s, mended %v: told in %d of 10 runs", c.program, mended, told)
			}
		}
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
			_, errs, code, err := shell(dir, home, "OMP_NUM_THREADS=2 whyslow omp -q -o "+trace+" -- "+
				ompProgram(t, clang(), "../../examples/openmp/"+name)+" 4000")
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
