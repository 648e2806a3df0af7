package instrument

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// compiled builds and runs a program.
func compileAndRun(t *testing.T, dir string, args ...string) string {
	t.Helper()
	program := filepath.Join(dir, "program")
	cmd := exec.Command("g++", append(args, "-fmax-errors=3", "-o", program)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("g++ %v: %v\n%s", args, err, out)
	}
	run := exec.Command(program)
	run.Dir = dir
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// TestCompiled compiles a program with statements of many shapes as it is and instrumented: it must do the same, and emit
// as many events as testdata/compile/counts.txt says, which was checked by hand.
func TestCompiled(t *testing.T) {
	if _, err := exec.LookPath("g++"); err != nil {
		t.Skip("there is no g++")
	}
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
	include, err := filepath.Abs(filepath.Dir(source))
	if err != nil {
		t.Fatal(err)
	}
	path, err := filepath.Abs(source)
	if err != nil {
		t.Fatal(err)
	}
	plain := strings.Split(compileAndRun(t, t.TempDir(), "-std=c++20", "-I", include, path), "\n")[0]
	for _, define := range []string{"-UVERBOSE", "-DEARLY"} {
		got := compileAndRun(t, dir, "-std=c++20", "-Wall", "-Wno-unused", "-I", include, define, "shapes.cpp")
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
