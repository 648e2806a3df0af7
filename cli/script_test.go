package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/whyslow/whyslow/internal/convert/otf2"
	"github.com/whyslow/whyslow/internal/record/pgas/launch"
	"github.com/whyslow/whyslow/internal/run/crew"
	"github.com/whyslow/whyslow/internal/testkit/cctest"
)

// The test binary is whyslow, luna and rts as well, by the name it is called.
func TestMain(m *testing.M) {
	testscript.Main(tests{m}, map[string]func(){"whyslow": Main, "luna": Main, "rts": Main})
}

// tests sets what mpirun wants. Compiled C++ stays in the user's cache from run to run, as users' own does.
type tests struct{ m *testing.M }

func (t tests) Run() int {
	for name, value := range mpirunSettings {
		os.Setenv(name, value)
	}
	mainStays = stays()
	state, err := os.MkdirTemp("", "state") // breakpoints that tests set are not those of users
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(state)
	os.Setenv("XDG_STATE_HOME", state)
	return t.m.Run()
}

// mpirunSettings let mpirun start any number of ranks here, whoever runs the tests, in a container or
// not, and end those that hang.
var mpirunSettings = map[string]string{
	"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
	"OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
	"MPIEXEC_TIMEOUT": "300",
}

// needMPI skips a test where programs cannot be started on many ranks.
func needMPI(t *testing.T) {
	t.Helper()
	if !crew.HasMPI() {
		t.Skip("built without MPI; go test -tags mpi has it")
	}
	if _, err := exec.LookPath("mpirun"); err != nil {
		t.Skip("no mpirun here")
	}
}

// hasShmem tells whether OpenSHMEM programs can be compiled and started here.
func hasShmem() bool {
	_, compiler := exec.LookPath("oshcc")
	_, launcher := exec.LookPath("oshrun")
	return errors.Join(compiler, launcher) == nil
}

// hasOMP tells whether OpenMP programs of gcc can be compiled and recorded here.
func hasOMP() bool {
	_, compiler := exec.LookPath("gcc")
	return compiler == nil && launch.FindLibomp() != ""
}

// clang is the command of a clang that compiles OpenMP programs; "" if there is none.
func clang() string {
	for _, name := range []string{"clang-16", "clang-19", "clang"} {
		if path, err := exec.LookPath(name); err == nil && launch.FindLibomp() != "" {
			return path
		}
	}
	return ""
}

func TestScript(t *testing.T) {
	examples, err := filepath.Abs("../examples")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			cache, err := os.UserCacheDir()
			if err != nil {
				return err
			}
			env.Setenv("XDG_CACHE_HOME", cache)
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, ".state"))
			env.Setenv("EXAMPLES", examples)
			env.Setenv("SDK", filepath.Join(filepath.Dir(examples), "sdk"))
			env.Setenv("LANG_TESTS", filepath.Join(filepath.Dir(examples), "testdata", "lang"))
			env.Setenv("NO_COLOR", "1")
			env.Setenv("CLANG", clang())
			for name, value := range mpirunSettings {
				env.Setenv(name, value)
			}
			return nil
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "engine":
				return canRun, nil
			case "mpi":
				return crew.HasMPI(), nil
			case "otf2":
				return otf2.HasOTF2(), nil
			case "shmem":
				return hasShmem(), nil
			case "omp":
				return hasOMP(), nil
			case "mpicc":
				return hasMPICC(), nil
			case "clang":
				return clang() != "", nil
			case "root":
				return os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"asks":      asks,
			"exits":     exits,
			"collect":   collectInto,
			"compiled":  compiled,
			"lastline":  lastLine,
			"truncated": truncated,
			"sumsup":    sumsUp,
		},
		RequireExplicitExec: true,
	})
}

// compiled FILE COMPILER WORDS...: the compiler makes the file of the sources among the words, or it is the
// one that it made at an earlier run of the test.
func compiled(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: compiled FILE COMPILER WORDS...")
	}
	p := cctest.Program{Name: filepath.Base(args[0]), Dir: ts.MkAbs("."), Compiler: args[1:2]}
	for _, word := range args[2:] {
		switch ext := filepath.Ext(word); {
		case ext == ".c", ext == ".cpp", ext == ".f90":
			p.Sources = append(p.Sources, word)
		case ext == ".a", strings.HasPrefix(word, "-l"):
			p.Link = append(p.Link, word)
		default:
			p.Flags = append(p.Flags, word)
		}
	}
	made, err := p.Make(context.Background())
	ts.Check(err)
	program, err := os.ReadFile(made)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), program, 0o755))
}

// exits CODE COMMAND...: the command must end with this exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if fmt.Sprint(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

// lastline TEXT: the last line on standard error is TEXT.
func lastLine(ts *testscript.TestScript, neg bool, args []string) {
	lines := strings.Split(strings.TrimSpace(ts.ReadFile("stderr")), "\n")
	if last := lines[len(lines)-1]; (last == args[0]) == neg {
		ts.Fatalf("last line of stderr is %q", last)
	}
}

// truncated FILE BYTES: cuts that many bytes off the end.
func truncated(ts *testscript.TestScript, neg bool, args []string) {
	path := ts.MkAbs(args[0])
	info, err := os.Stat(path)
	ts.Check(err)
	var cut int64
	_, err = fmt.Sscan(args[1], &cut)
	ts.Check(err)
	ts.Check(os.Truncate(path, max(0, info.Size()-cut)))
}

// sumsup FILE: the factors of a JSON report add up to its total exactly.
func sumsUp(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(checkSums([]byte(ts.ReadFile(args[0]))))
}
