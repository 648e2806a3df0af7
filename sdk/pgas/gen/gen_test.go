package main

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/testkit/cctest"
)

// The generated files are those that the table gives.
func TestCurrent(t *testing.T) {
	for name, want := range files() {
		got, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s is not what the table gives: go generate ./sdk/pgas/...", name)
		}
	}
}

func wrapped() []string {
	list := slices.Clone(byHand)
	for _, g := range groups() {
		for _, f := range g.functions {
			list = append(list, f.name)
		}
	}
	return list
}

// openshmem finds a file of OpenSHMEM by what its compiler says of itself.
func openshmem(t *testing.T, what, name string) string {
	t.Helper()
	if _, err := exec.LookPath("oshcc"); err != nil {
		t.Skip("oshcc is not installed (Debian has it in libopenmpi-dev)")
	}
	dirs, err := exec.Command("oshcc", "--showme:"+what).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range strings.Fields(string(dirs)) {
		for _, d := range []string{dir, filepath.Dir(filepath.Dir(dir))} {
			if path := filepath.Join(d, name); fileExists(path) {
				return path
			}
		}
	}
	t.Skipf("%s is in none of %s", name, dirs)
	return ""
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Every public function of the library that has a second name is wrapped, or there is a reason why it
// is not; none is that has no second name.
func TestEveryFunction(t *testing.T) {
	f, err := elf.Open(openshmem(t, "libdirs", "liboshmem.so.40"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF && elf.ST_TYPE(s.Info) == elf.STT_FUNC {
			there[s.Name] = true
		}
	}
	have := map[string]bool{}
	for _, name := range wrapped() {
		if have[name] {
			t.Errorf("%s is wrapped twice", name)
		}
		have[name] = true
		if !there["p"+name] {
			t.Errorf("%s is wrapped, but there is no p%s", name, name)
		}
	}
	twins := 0
	for name := range there {
		if !there["p"+name] && !there["p_"+strings.TrimPrefix(name, "_")] {
			continue
		}
		twins++
		if reason := left[name]; have[name] == (reason != "") {
			t.Errorf("%s: wrapped: %v, reason not to: %q", name, have[name], reason)
		}
	}
	t.Logf("%d functions with two names: %d wrapped, %d left out", twins, len(have), len(left))
	if twins < 900 {
		t.Errorf("%d functions with two names: is that OpenSHMEM?", twins)
	}
}

// The prototypes are those of OpenSHMEM's own header.
func TestPrototypes(t *testing.T) {
	header := openshmem(t, "incdirs", "pshmem.h")
	p := cctest.Program{Name: "prototypes.so", Dir: "..", Compiler: []string{"oshcc"},
		Flags: []string{"-fPIC", "-pthread"}, Sources: []string{"shmem.c"}, Link: []string{"-shared"},
		Compile: []string{"-Wall", "-Wextra", "-Werror", "-Wno-deprecated-declarations", "-D_GNU_SOURCE",
			"-Dwss_ctx=shmem_ctx_t"}}
	for _, h := range []string{"shmem.h", "shmemx.h", "shmem-compat.h", "pshmem.h", "pshmemx.h"} {
		p.Compile = append(p.Compile, "-include", filepath.Join(filepath.Dir(header), h))
	}
	cctest.Make(t, p)
}
