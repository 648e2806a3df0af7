package instrument

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whyslow/whyslow/internal/testkit/cctest"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/trace"
)

// runProgram compiles a program and runs it in dir.
func runProgram(t *testing.T, p cctest.Program, dir string, words, env []string) string {
	t.Helper()
	p.Name, p.Compiler = "program", []string{"g++"}
	run := exec.Command(cctest.Make(t, p), words...)
	run.Dir, run.Env = dir, append(os.Environ(), env...)
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// kept puts what was written to dir, and headers, where compiled programs are found again.
func kept(t *testing.T, dir string, headers ...string) string {
	t.Helper()
	files := map[string]string{}
	for _, name := range headers {
		files[filepath.Base(name)] = read(t, name)
	}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			files[name] = read(t, filepath.Join(dir, name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return cctest.Folder(t, files)
}

// TestCompiled compiles a program with statements of many shapes as it is and instrumented: it must do
// the same, and emit as many events as testdata/compile/counts.txt says, which was checked by hand.
func TestCompiled(t *testing.T) {
	t.Parallel()
	needCompiler(t)
	source := filepath.Join("testdata", "compile", "shapes.cpp")
	rules := readRules(t, []byte(read(t, filepath.Join("testdata", "compile", "events_config.json"))))
	dir := t.TempDir()
	res, err := Run([]string{source}, rules, Options{OutDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	var warnings []string
	for _, w := range res.Files[0].Warnings {
		warnings = append(warnings, strings.TrimPrefix(w.String(), source))
	}
	p := cctest.Program{Sources: []string{source}, Flags: []string{"-std=c++20"}}
	plain, _, _ := strings.Cut(runProgram(t, p, dir, nil, nil), "\n")
	for _, define := range []string{"-UVERBOSE", "-DEARLY"} {
		p.Dir = kept(t, dir, filepath.Join("testdata", "compile", "events.h"))
		p.Sources, p.Compile = []string{"shapes.cpp"}, []string{"-Wall", "-Wno-unused", define}
		got := runProgram(t, p, dir, nil, nil)
		first, counts, _ := strings.Cut(got, "\n")
		if define == "-DEARLY" {
			continue // another branch: it compiles and runs
		}
		if first != plain {
			t.Errorf("instrumented, it prints %s\nnot %s", first, plain)
		}
		counts += strings.Join(warnings, "\n") + "\n"
		name := filepath.Join("testdata", "compile", "counts.txt")
		if *update {
			if err := os.WriteFile(name, []byte(counts), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if d := cmp.Diff(read(t, name), counts); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
	}
}

func needCompiler(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("g++"); err != nil {
		t.Skip("there is no g++")
	}
}

// TestExample instruments the run-time system in examples/cpp, runs it, and looks for what its rules
// must give in the trace.
func TestExample(t *testing.T) {
	t.Parallel()
	needCompiler(t)
	const sdk, example = "../../../sdk/", "../../../examples/cpp"
	sources, err := filepath.Glob(filepath.Join(example, "*.?pp"))
	if err != nil || len(sources) == 0 {
		t.Fatal("no sources", err)
	}
	rules, configWarnings, err := ReadRules(filepath.Join(example, "config", "events_config.json"))
	if err != nil || len(configWarnings) > 0 {
		t.Fatal(err, configWarnings)
	}
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "config"), os.DirFS(filepath.Join(example, "config"))); err != nil {
		t.Fatal(err)
	}
	res, err := Run(sources, rules, Options{OutDir: dir})
	if err != nil || len(res.Warnings) > 0 {
		t.Fatal(err, res.Warnings)
	}
	p := cctest.Program{Dir: kept(t, dir, sdk+"whyslow.hpp", sdk+"whyslow.h"),
		Flags: []string{"-std=c++11", "-pthread"}, Compile: []string{"-Wall", "-Werror", "-I."}}
	for _, f := range res.Files {
		if len(f.Warnings) > 0 {
			t.Error(f.Warnings)
		}
		if strings.HasSuffix(f.Target, ".cpp") {
			p.Sources = append(p.Sources, filepath.Base(f.Target))
		}
	}
	// The product of 3 x 3 blocks of 10 x 10 elements: 18 CFs make the factors, 27 multiply, one sums
	// up, one creates them all.
	path := filepath.Join(dir, "trace")
	out := runProgram(t, p, dir, []string{"3", "10", "2"}, []string{"WHYSLOW_TRACE=" + path})
	if !strings.HasPrefix(out, "sum of the product: ") {
		t.Errorf("%s", out)
	}
	r, err := trace.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var text strings.Builder
	if err := twin.Dump(&text, r); err != nil {
		t.Fatal(err)
	}
	n := func(event string) int { return strings.Count(text.String(), " GlobalEvents."+event+" ") }
	got := []int{n("onExited"), n("onContinued"), n("onForeignStarted"), n("onForeignEnded"),
		n("onStarted") - n("onExited") - n("onContinued") - n("onWaiting")}
	if d := cmp.Diff([]int{18 + 27 + 1 + 1, 2*27 + 1, 18 + 27 + 9, 18 + 27 + 9, 0}, got); d != "" {
		t.Errorf("-want +got:\n%s%s", d, text.String())
	}
}
