package sdk

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/testkit/cctest"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/trace"
)

// How the programs in testdata are compiled. All warnings are errors.
var builds = map[string][]string{
	"c":    {"cc", "-std=c99", "-O2"},
	"c++":  {"g++", "-x", "c++", "-std=c++11", "-O2"},
	"gnu":  {"cc", "-O2", "-g", "-DWHYSLOW_NO_DLOPEN"},
	"asan": {"cc", "-std=c99", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"},
	"tsan": {"cc", "-std=c99", "-g", "-fsanitize=thread"},
}

// compile compiles a program of testdata and returns its path. Programs without the implementation are
// linked with it. A compiler that lacks the sanitizer skips the test.
func compile(t testing.TB, source, build string) string {
	t.Helper()
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	p := cctest.Program{
		Name: strings.TrimSuffix(filepath.Base(source),
			".c"), Compiler: builds[build][:1], Sources: []string{source},
		Flags: []string{"-pthread"}, Compile: append([]string{"-Wall", "-Wextra", "-pedantic", "-Werror",
			"-I."}, builds[build][1:]...),
	}
	for _, f := range builds[build] {
		if strings.HasPrefix(f, "-fsanitize=") {
			p.Link = append(p.Link, f)
		}
	}
	if !bytes.Contains(text, []byte("#define WHYSLOW_IMPLEMENTATION")) {
		p.Sources = append(p.Sources, "testdata/impl.c")
	}
	return cctest.Sanitized(t, p)
}

// result is what a run of a program left behind.
type result struct {
	trace          string
	stdout, stderr string
	code           int
	status         syscall.WaitStatus
}

// run runs a program in a folder of its own; env are settings like "WHYSLOW_SYNC=1".
func run(t testing.TB, path string, env []string, args ...string) result {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command(path, args...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "WHYSLOW_TRACE="+filepath.Join(dir, "t", "trace")), env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{filepath.Join(dir, "t", "trace"), stdout.String(), stderr.String(),
		cmd.ProcessState.ExitCode(), cmd.ProcessState.Sys().(syscall.WaitStatus)}
}

func (r result) ok(t testing.TB, code int, stderr string) {
	t.Helper()
	if r.code != code || r.stderr != stderr {
		t.Fatalf("exit code %d, want %d\nstandard error: %s\nwant: %s\nstandard output: %s", r.code, code,
			r.stderr, stderr, r.stdout)
	}
}

// open opens a trace, reads it all and fails if anything is wrong with it.
func open(t testing.TB, path string) *trace.Reader {
	t.Helper()
	r := openAny(t, path)
	for _, p := range r.Problems() {
		t.Errorf("problem: %s", p)
	}
	return r
}

func openAny(t testing.TB, path string) *trace.Reader {
	t.Helper()
	r, err := trace.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	r.Verify(2)
	return r
}

func TestKinds(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile("testdata/kinds.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, build := range []string{"c", "c++", "gnu", "asan"} {
		t.Run(build, func(t *testing.T) {
			t.Parallel()
			path := compile(t, "testdata/kinds.c", build)
			for _, env := range []string{"WHYSLOW_LEVEL=4", "WHYSLOW_LEVEL=-1", "WHYSLOW_SYNC=1",
				"WHYSLOW_BUFFER=1k"} {
				res := run(t, path, []string{env})
				res.ok(t, 0, "")
				r := open(t, res.trace)
				var text bytes.Buffer
				if err := twin.Dump(&text, r); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(want), text.String()); diff != "" {
					t.Errorf("%s: %s", env, diff)
				}
			}
		})
	}
}

// Every standard kind must be in testdata/kinds.c, so that its function is tried.
func TestKindsAreComplete(t *testing.T) {
	text, err := os.ReadFile("testdata/kinds.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range trace.Kinds() {
		if !strings.Contains(string(text), " "+k.String()) {
			t.Errorf("testdata/kinds.c does not record %s", &k)
		}
	}
}

func divide(r *trace.Reader) (*slou.Result, error) {
	m, err := model.Build(context.Background(), r, model.Options{})
	if err != nil {
		return nil, err
	}
	return slou.Compute(context.Background(), m, slou.Options{}, procs.Alone())
}

// report divides the time of a trace and checks that the sum is right.
func report(t *testing.T, path string) *slou.Result {
	t.Helper()
	r := open(t, path)
	sum, err := divide(r)
	if err != nil {
		t.Fatal(err)
	}
	workers := int64(0)
	for _, n := range r.Run().Nodes {
		workers += int64(n.Workers)
	}
	if want := sum.WallNS*workers + sum.ExtraCoresNS - sum.Loss.NS; sum.TotalNS != want || sum.TotalNS <= 0 {
		t.Errorf("total %d ns, want %d", sum.TotalNS, want)
	}
	return sum
}

// Long identities and names are hashed as the Go writer does it, and different ones stay different.
func TestLongIdentities(t *testing.T) {
	t.Parallel()
	for _, build := range []string{"c", "c++"} {
		res := run(t, compile(t, "testdata/long.c", build), nil)
		defs := open(t, res.trace).Defs(0)
		dir := t.TempDir()
		w, err := trace.Create(dir, 0, trace.Options{})
		if err != nil {
			t.Fatal(err)
		}
		identity := make([]int64, 3000)
		for i := range 2 {
			identity[2999] = math.MinInt64 + int64(i)
			w.DefineDF(trace.DF(i+1), w.Name(strings.Repeat("x", 1<<16+1)+string(rune('a'+i))), identity)
		}
		w.Stream(0).Emit(1, trace.KindIdle)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		want := open(t, dir).Defs(0)
		for df := trace.DF(1); df <= 2; df++ {
			name, list, _ := defs.DF(df, nil)
			wantName, wantList, _ := want.DF(df, nil)
			if !slices.Equal(list, wantList) || defs.Name(name) != want.Name(wantName) || name != trace.Name(df) {
				t.Errorf("DF %d of C and of Go: %d %v and %v", df, name, list[1022:], wantList[1022:])
			}
		}
	}
}

// A trace that is moved away while it is written is said not to be where it was.
func TestTakenAway(t *testing.T) {
	t.Parallel()
	res := run(t, compile(t, "testdata/long.c", "c"), nil, "moved")
	if res.code != 0 || !strings.Contains(res.stderr, "00000.wst was removed, renamed or replaced during the run") {
		t.Errorf("%d %q", res.code, res.stderr)
	}
}
