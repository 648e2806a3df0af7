package sdk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
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

type program struct {
	once sync.Once
	path string
	err  error
}

var (
	programsMu sync.Mutex
	programs   = map[string]*program{}
	binDir     string
)

func TestMain(m *testing.M) {
	var err error
	if binDir, err = os.MkdirTemp("", "sdk"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(binDir)
	os.Exit(code)
}

// compile compiles a program of testdata, once, and returns its path. Programs without
// the implementation are linked with it. A compiler that lacks the sanitizer skips the test.
func compile(t testing.TB, source, build string) string {
	t.Helper()
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{source, "-pthread"}
	if !bytes.Contains(text, []byte("#define WHYSLOW_IMPLEMENTATION")) {
		object := compileAs(t, "impl.o", build, []string{"testdata/impl.c", "-c"})
		if build == "c++" {
			args = append(args, "-x", "none")
		}
		args = append(args, object)
	}
	return compileAs(t, source, build, args)
}

func compileAs(t testing.TB, name, build string, args []string) string {
	t.Helper()
	programsMu.Lock()
	p := programs[name+build]
	if p == nil {
		p = &program{path: filepath.Join(binDir, fmt.Sprint(len(programs), "-", strings.TrimSuffix(filepath.Base(name), ".c")))}
		programs[name+build] = p
	}
	programsMu.Unlock()
	p.once.Do(func() {
		all := append([]string{"-Wall", "-Wextra", "-pedantic", "-Werror", "-I.", "-o", p.path}, builds[build][1:]...)
		all = append(all, args...)
		if out, err := exec.Command(builds[build][0], all...).CombinedOutput(); err != nil {
			p.err = fmt.Errorf("%s %s: %w\n%s", builds[build][0], strings.Join(all, " "), err, out)
		}
	})
	if p.err != nil {
		if _, err := exec.LookPath(builds[build][0]); err != nil || strings.Contains(p.err.Error(), "cannot find -l") || strings.Contains(p.err.Error(), "cannot find lib") {
			t.Skip(p.err)
		}
		t.Fatal(p.err)
	}
	return p.path
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
	return result{filepath.Join(dir, "t", "trace"), stdout.String(), stderr.String(), cmd.ProcessState.ExitCode(), cmd.ProcessState.Sys().(syscall.WaitStatus)}
}

func (r result) ok(t testing.TB, code int, stderr string) {
	t.Helper()
	if r.code != code || r.stderr != stderr {
		t.Fatalf("exit code %d, want %d\nstandard error: %s\nwant: %s\nstandard output: %s", r.code, code, r.stderr, stderr, r.stdout)
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
			for _, env := range []string{"WHYSLOW_LEVEL=4", "WHYSLOW_LEVEL=-1", "WHYSLOW_SYNC=1", "WHYSLOW_BUFFER=1k"} {
				res := run(t, path, []string{env})
				res.ok(t, 0, "")
				r := open(t, res.trace)
				var text bytes.Buffer
				if err := trace.Dump(&text, r); err != nil {
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
