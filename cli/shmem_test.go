package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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
	for name, value := range map[string]string{"LD_PRELOAD": "", "WHYSLOW_TOKEN": "secret", "WHYSLOW_POOL": "3", "WHYSLOW_LEVEL": "2"} {
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
			os.Unsetenv(crashVariable)
			if test.osc != "" {
				t.Setenv(crashVariable, test.osc)
			}
			words := strings.Fields(test.command)
			l, err := newLaunch(t.Context(), words)
			if err != nil {
				t.Fatal(err)
			}
			o := &shmemOptions{settings: map[string]string{"WHYSLOW_LEVEL": "-1"}}
			if err := l.prepare("/cache/lib.so", "x.trace", o); err != nil {
				t.Fatal(err)
			}
			if l.program != test.program {
				t.Errorf("the program is %q, want %q", l.program, test.program)
			}
			env := map[string]string{}
			for _, variable := range l.env {
				name, value, _ := strings.Cut(variable, "=")
				env[name] = value
			}
			passed := map[string]string{}
			for i, word := range l.words {
				if word == "-x" {
					name, value, _ := strings.Cut(l.words[i+1], "=")
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
			for name, want := range map[string]string{"LD_PRELOAD": "/cache/lib.so", "WHYSLOW_TRACE": filepath.Join(dir, "x.trace"), "WHYSLOW_POOL": "3", "WHYSLOW_LEVEL": "-1", "WHYSLOW_SIGNALS": "1"} {
				if got[name] != want {
					t.Errorf("%s is %q, want %q", name, got[name], want)
				}
			}
			if _, told := passed["WHYSLOW_TOKEN"]; told {
				t.Error("everybody can read the token in the command line")
			}
			want := test.osc
			if test.mended {
				want = crashRemedy
			}
			if env[crashVariable] != want {
				t.Errorf("%s is %q, want %q", crashVariable, env[crashVariable], want)
			}
			kept := slices.DeleteFunc(slices.Clone(l.words), func(word string) bool {
				return word == "-x" || strings.HasPrefix(word, "WHYSLOW_") || strings.HasPrefix(word, "LD_PRELOAD=")
			})
			if !slices.Equal(kept, words) {
				t.Errorf("it became %q", l.words)
			}
		})
	}
	o := &shmemOptions{}
	l := &launch{words: []string{"./prog"}, launcher: -1}
	if err := l.prepare("/my cache/lib.so", "x.trace", o); err == nil || !strings.Contains(err.Error(), "set XDG_CACHE_HOME") {
		t.Errorf("a library that cannot be loaded: %v", err)
	}
	t.Setenv("LD_PRELOAD", "libmine.so")
	if err := l.prepare("/cache/lib.so", "x.trace", o); err != nil || !slices.Contains(l.env, "LD_PRELOAD=/cache/lib.so:libmine.so") {
		t.Errorf("a library of the user: %v", err)
	}
}

func TestOpenMPIVersions(t *testing.T) {
	for text, want := range map[string]openVersion{
		"oshrun (OpenRTE) 4.1.4\n\nReport bugs to": {4, 1, 4}, "mpirun (Open MPI) 5.0.3": {5, 0, 3}, "prterun (PRRTE) 3.0.5rc1": {3, 0, 5},
		"HYDRA build details:\n Version: 4.1.4": {}, "": {},
	} {
		var got openVersion
		if m := versionNumber.FindStringSubmatch(text); m != nil {
			got = openVersion{int(m[1][0] - '0'), int(m[2][0] - '0'), int(m[3][0] - '0')}
		}
		if got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestContains(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, at := range []int{0, 1, 1<<20 - 5, 1 << 20, 1<<20 + 3, 3<<20 - 1} {
		text := append(bytes.Repeat([]byte{'x'}, at), "WHYSLOW_TRACE"...)
		if err := os.WriteFile(path, text, 0o666); err != nil {
			t.Fatal(err)
		}
		for text, want := range map[string]bool{"WHYSLOW_TRACE": true, "WHYSLOW_TRACES": false} {
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := contains(f, text); got != want || err != nil {
				t.Errorf("%s at %d: %v, %v", text, at, got, err)
			}
			f.Close()
		}
	}
}

const endlessShmem = `#include <shmem.h>
#include <stdio.h>
#include <unistd.h>
int main(void) {
    shmem_init();
    for (int i = 0;; i++) {
        shmem_barrier_all();
        if (i == 100 && shmem_my_pe() == 0) printf("ready\n"), fflush(stdout);
        usleep(1000);
    }
}
`

// TestShmemInterrupt ends a program from outside: the trace of what ran so far must be whole.
func TestShmemInterrupt(t *testing.T) {
	if !hasShmem() {
		t.Skip("no OpenSHMEM here")
	}
	home := lunaHome(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "endless.c"), []byte(endlessShmem), 0o666); err != nil {
		t.Fatal(err)
	}
	compile := exec.Command("oshcc", "-g", "-o", "endless", "endless.c")
	compile.Dir = dir
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	stderr, code := interrupt(t, os.Interrupt, dir, filepath.Join(home, "bin", "whyslow"), "shmem", "--", "oshrun", "-np", "2", "./endless")
	if code != exitInterrupted || !strings.Contains(stderr, "whyslow: interrupted") || !strings.HasSuffix(stderr, "\nendless.001.trace\n") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	stdout, stderr, code, err := shell(dir, home, "whyslow report --json endless.001.trace")
	if err != nil || code != exitDone {
		t.Fatalf("report: exit code %d, %v\n%s", code, err, stderr)
	}
	if err := checkSums([]byte(stdout)); err != nil {
		t.Error(err)
	}
	if !strings.Contains(stdout, `"ended": "interrupted"`) {
		t.Errorf("%.300s", stdout)
	}
	// What the last buffers held is there.
	stdout, _, _, err = shell(dir, home, "whyslow dump endless.001.trace | grep -c 'kind=barrier'")
	if err != nil || len(strings.TrimSpace(stdout)) < 3 {
		t.Errorf("barriers recorded: %s %v", stdout, err)
	}
}
