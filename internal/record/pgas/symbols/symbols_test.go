package symbols

import (
	"debug/dwarf"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whyslow/whyslow/internal/run/compile"
	"github.com/whyslow/whyslow/internal/testkit/cctest"
)

func run(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// build compiles testdata/program.c and returns the program's path.
func build(t testing.TB, flags ...string) string {
	t.Helper()
	return cctest.Make(t, cctest.Program{Name: "program", Dir: "testdata", Flags: flags,
		Sources: []string{"program.c", "where.c"}})
}

// buildUser makes a shared object of a source, and a program that calls it.
func buildUser(t testing.TB, source string) string {
	t.Helper()
	part := cctest.Make(t, cctest.Program{Name: "libpart.so", Dir: "testdata", Flags: []string{"-g", "-fPIC"},
		Compile: []string{"-DSHARED_PART"}, Sources: []string{source, "where.c"}, Link: []string{"-shared"}})
	return cctest.Make(t, cctest.Program{Name: "user", Sources: []string{cctest.Source(t, "user.c",
		"int part_main(void);\nint main(void) { return part_main(); }\n")},
		Link: []string{part, "-Wl,-rpath," + filepath.Dir(part)}})
}

// places runs a program and resolves what it prints: by what it says of the place, "FUNCTION:LINE".
func places(t testing.TB, program string) (got map[string]Place) {
	t.Helper()
	got = map[string]Place{}
	addresses := map[string]string{}
	var list []string
	for line := range strings.Lines(run(t, program)) {
		what, address, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok {
			t.Fatalf("it printed %q", line)
		}
		addresses[what], list = address, append(list, address)
	}
	table := Resolve(list)
	for what, address := range addresses {
		if p, ok := table[address]; ok {
			got[what] = p
		}
	}
	return got
}

func TestPrograms(t *testing.T) {
	for name, test := range map[string]struct {
		flags []string
		lines bool // with debug information
		none  bool // nothing is found
	}{
		"DWARF 4":            {flags: []string{"-gdwarf-4"}, lines: true},
		"DWARF 5":            {flags: []string{"-gdwarf-5"}, lines: true},
		"DWARF 2":            {flags: []string{"-gdwarf-2"}, lines: true},
		"optimised":          {flags: []string{"-gdwarf-5", "-O2"}, lines: true},
		"optimised, 4":       {flags: []string{"-gdwarf-4", "-O2"}, lines: true},
		"in sections":        {flags: []string{"-g", "-O2", "-ffunction-sections"}, lines: true},
		"position-dependent": {flags: []string{"-g", "-no-pie"}, lines: true},
		"compressed":         {flags: []string{"-g", "-gz"}, lines: true},
		"no debug info":      {flags: []string{"-g0"}},
		"no info, optimised": {flags: []string{"-g0", "-O2"}},
		"stripped":           {flags: []string{"-g", "-s"}, none: true},
		"line tables only":   {flags: []string{"-g1"}, lines: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, places(t, build(t, test.flags...)), "main", test.lines, test.none)
		})
	}
}

// check compares what was found in program.c with what that prints.
func check(t *testing.T, got map[string]Place, main string, lines, none bool) {
	t.Helper()
	want := map[string]Place{}
	for _, what := range []string{"inlined:5", "local:10", "MAIN:15", "header:1"} {
		function, line, _ := strings.Cut(what, ":")
		p := Place{Function: strings.Replace(function, "MAIN", main, 1)}
		if lines {
			p.File = filepath.Join(compile.SourceFolder, "program.c")
			p.Line, _ = strconv.Atoi(line)
		}
		if function == "header" {
			what, p.Function = "header", "from_header"
			if lines {
				p.File = filepath.Join(compile.SourceFolder, "header.h")
			}
		}
		// Without debug information an inlined function is part of the one around it.
		if !lines && (function == "inlined" || function == "header") {
			p.Function = main
		}
		want[what] = p
	}
	if none {
		want = map[string]Place{}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSharedObject(t *testing.T) {
	check(t, places(t, buildUser(t, "program.c")), "part_main", true, false)
}

// A call in a function of a system header that was inlined is the line that calls that.
func TestSystemHeader(t *testing.T) {
	frames := []frame{{name: "main"}, {name: "mine", callFile: 1, callLine: 20},
		{name: "sort", callFile: 1, callLine: 30}, {name: "less", callFile: 2, callLine: 40}}
	files := []*dwarf.LineFile{nil, {Name: "/home/me/a.cpp"}, {Name: "/usr/include/c++/12/bits/sort.h"}}
	got := outOfHeaders(Place{Function: "_Z4main", File: "/usr/include/c++/12/bits/less.h", Line: 7}, frames,
		files)
	if want := (Place{Function: "mine", File: "/home/me/a.cpp", Line: 30}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestOtherTexts(t *testing.T) {
	dir := t.TempDir()
	program := build(t, "-g")
	text := filepath.Join("testdata", "program.c")
	fifo := filepath.Join(dir, "pipe")
	run(t, "mkfifo", fifo)
	for _, address := range []string{"", "+0x10", "x+0x10", program, program + "+0xq", program + "+0x", program +
		"+0xffffffffffffffff", program + "+0x11223344556677889",
		text + "+0x10", fifo + "+0x10", "/dev/zero+0x1", dir + "+0x1", filepath.Join(dir, "none") + "+0x10"} {
		if got := Resolve([]string{address}); len(got) > 0 {
			t.Errorf("%q: %v", address, got)
		}
	}
	// Digits may be written in another way.
	var address string
	for line := range strings.Lines(run(t, program)) {
		_, address, _ = strings.Cut(strings.TrimSpace(line), " ")
	}
	i := strings.LastIndex(address, "+0x")
	other := address[:i] + "+0x000" + strings.ToUpper(address[i+3:])
	if got := Resolve([]string{other}); got[other].Line == 0 {
		t.Errorf("%s: %v", other, got)
	}
}

func TestTable(t *testing.T) {
	dir := t.TempDir()
	if got, err := Load(dir); got != nil || err != nil {
		t.Errorf("no table: %v, %v", got, err)
	}
	want := Table{"/home/me/a+0x10": {Function: "main", File: "/home/me/a.c", Line: 3},
		"/home/me/a b+0x1+0x20": {Function: "f<int>"}, "/home/me/a+0x40": {File: "/home/me/a.c", Line: 9,
			Variable: "locks[3]"}}
	if err := want.Save(dir); err != nil {
		t.Fatal(err)
	}
	if err := want.Save(dir); err != nil { // again
		t.Fatal(err)
	}
	got, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("left behind: %v", files)
	}
	for _, wrong := range []string{"", "[]", `{"a":{"line":-1}}`, `{"a":{"line":1.5}}`, "{"} {
		if err := os.WriteFile(filepath.Join(dir, File), []byte(wrong), 0o644); err != nil {
			t.Fatal(err)
		}
		if got, err := Load(dir); err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v, %v", wrong, got, err)
		}
	}
	if err := want.Save(filepath.Join(dir, "none")); err == nil {
		t.Error("saved nowhere")
	}
}
