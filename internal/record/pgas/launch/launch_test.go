package launch

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/testkit/cctest"
)

func TestLaunchOfOthers(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	tool := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, name := range []string{"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"} {
		t.Setenv(name, "1")
	}
	for name, value := range map[string]string{"LD_PRELOAD": "", "WHYSLOW_TOKEN": "secret", "WHYSLOW_POOL": "3",
		"WHYSLOW_LEVEL": "2"} {
		t.Setenv(name, value)
	}
	tool("prog", "")
	tool("old/../oshrun", "echo 'oshrun (OpenRTE) 4.1.4'")
	tool("mpirun", "echo 'mpirun (Open MPI) 4.1.6'")
	tool("mpiexec", "echo 'HYDRA build details:'")
	tool("srun", "echo 'slurm 23.02'")
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	for _, test := range []struct {
		command string
		osc     string // in the environment before
		program string
		passes  bool // by -x
		mended  bool // the crash
	}{
		{"oshrun -np 2 ./prog a", "", "./prog", true, true},
		{"oshrun -np 2 ./prog a", "ucx", "./prog", true, false},
		{"oshrun --mca osc ucx -np 2 ./prog", "", "./prog", true, false},
		{"timeout 9 oshrun -np 2 -H localhost ./prog oshrun", "", "./prog", true, true},
		{"mpirun -n 2 prog", "", "prog", true, false},
		{"mpiexec -n 2 ./prog", "", "./prog", false, false},
		{"srun -n 2 ./prog", "", "./prog", false, true},
		{"./prog a b", "", "./prog", false, true},
		{"oshrun -np 2 nowhere", "", "", true, true},
	} {
		t.Run(test.command+" "+test.osc, func(t *testing.T) {
			os.Unsetenv(CrashVariable)
			if test.osc != "" {
				t.Setenv(CrashVariable, test.osc)
			}
			words := strings.Fields(test.command)
			l, err := New(t.Context(), words)
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Prepare("/cache/lib.so", "x.trace", map[string]string{"WHYSLOW_LEVEL": "-1"}); err != nil {
				t.Fatal(err)
			}
			if l.Program != test.program {
				t.Errorf("the program is %q, want %q", l.Program, test.program)
			}
			env := map[string]string{}
			for _, variable := range l.Env {
				name, value, _ := strings.Cut(variable, "=")
				env[name] = value
			}
			passed := map[string]string{}
			for i, word := range l.Words {
				if word == "-x" {
					name, value, _ := strings.Cut(l.Words[i+1], "=")
					passed[name] = value
				}
			}
			if (len(passed) > 0) != test.passes {
				t.Errorf("passed: %v", passed)
			}
			got := env
			if test.passes {
				got = passed
				if env["LD_PRELOAD"] != "" {
					t.Error("the library would be loaded into the launcher as well")
				}
			}
			for name, want := range map[string]string{"LD_PRELOAD": "/cache/lib.so",
				"WHYSLOW_TRACE": filepath.Join(dir, "x.trace"), "WHYSLOW_POOL": "3", "WHYSLOW_LEVEL": "-1",
				"WHYSLOW_SIGNALS": "1"} {
				if got[name] != want {
					t.Errorf("%s is %q, want %q", name, got[name], want)
				}
			}
			if _, told := passed["WHYSLOW_TOKEN"]; told {
				t.Error("everybody can read the token in the command line")
			}
			want := test.osc
			if test.mended {
				want = CrashRemedy
			}
			if env[CrashVariable] != want {
				t.Errorf("%s is %q, want %q", CrashVariable, env[CrashVariable], want)
			}
			kept := slices.DeleteFunc(slices.Clone(l.Words), func(word string) bool {
				return word == "-x" || strings.HasPrefix(word, "WHYSLOW_") || strings.HasPrefix(word, "LD_PRELOAD=")
			})
			if !slices.Equal(kept, words) {
				t.Errorf("it became %q", l.Words)
			}
		})
	}
	l := &Launch{Words: []string{"./prog"}, launcher: -1}
	if err := l.Prepare("/my cache/lib.so", "x.trace", nil); err == nil || !strings.Contains(err.Error(),
		"set XDG_CACHE_HOME") {
		t.Errorf("a library that cannot be loaded: %v", err)
	}
	t.Setenv("LD_PRELOAD", "libmine.so")
	if err := l.Prepare("/cache/lib.so", "x.trace", nil); err != nil || !slices.Contains(l.Env,
		"LD_PRELOAD=/cache/lib.so:libmine.so") {
		t.Errorf("a library of the user: %v", err)
	}
}

func TestOpenMPIVersions(t *testing.T) {
	for text, want := range map[string]Version{
		"oshrun (OpenRTE) 4.1.4\n\nReport bugs to": {4, 1, 4}, "mpirun (Open MPI) 5.0.3": {5, 0, 3},
		"prterun (PRRTE) 3.0.5rc1":              {3, 0, 5},
		"HYDRA build details:\n Version: 4.1.4": {}, "": {},
	} {
		var got Version
		if m := versionNumber.FindStringSubmatch(text); m != nil {
			got = Version{int(m[1][0] - '0'), int(m[2][0] - '0'), int(m[3][0] - '0')}
		}
		if got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// A program that is linked statically can be recorded only if the library is in it.
func TestStatic(t *testing.T) {
	for text, fits := range map[string]bool{"WHYSLOW_TRACE": true, "WHYSLOW_TRACK": false} {
		l := &Launch{Program: cctest.Make(t, cctest.Program{Name: "static", Link: []string{"-static"},
			Sources: []string{cctest.Source(t, "static.c", "#include <stdlib.h>\n"+
				"int main(void) { return getenv(\""+text+"\") != NULL; }\n")}})}
		if err := l.loadable(); (err == nil) != fits {
			t.Errorf("%s: %v", text, err)
		}
	}
}
