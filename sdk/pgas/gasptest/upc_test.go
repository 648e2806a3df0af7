package gasptest

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/whyslow/whyslow/internal/testkit/cctest"
	"github.com/whyslow/whyslow/internal/testkit/upctest"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
)

// whyslow_upc.upc is compiled as C, with the words that testdata/words gives a meaning, and linked with
// programs of the test-bed in the place of the test-bed's own hooks. What is UPC's alone is not tried
// by that: that its compilers take the file, how they lay out arrays.

const (
	upcFile    = "../whyslow_upc.upc"
	bedDir     = "../../../examples/upc/"
	upcThreads = 4
	berkeley   = "-D__BERKELEY_UPC__"
)

// asC compiles whyslow_upc.upc.
var asC = []string{"-O2", "-g", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas", "-pthread",
	"-iquote", "..", "-iquote", bedDir, "-Itestdata/words"}

func needAddressSpaces(t *testing.T) {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skip("the C compiler has no named address spaces here")
	}
}

// bed is a program of the test-bed without its hooks.
type bed struct{ backend, name string }

func compileBed(t *testing.T, backend, program string) bed {
	t.Helper()
	if err := upctest.Missing(backend); err != nil {
		t.Skip(err)
	}
	return bed{backend, program}
}

// link links it with hooks, C sources or UPC, and returns the program's path.
func (b bed) link(t *testing.T, hooks []string, flags ...string) string {
	t.Helper()
	p := cctest.Program{
		Name: b.name, Compile: slices.Concat(asC, flags, []string{"-x", "c"}), Sources: slices.Clone(hooks),
		Link: append(flags[:len(flags):len(flags)], "-pthread", compile(t, "", "library"), "-lm"),
	}
	for _, name := range []string{b.name, "layer", "collective", b.backend} {
		p.Sources = append(p.Sources, bedDir+name+".c")
	}
	if b.backend == upctest.Shmem {
		p.Compiler = []string{"oshcc"}
	}
	return cctest.Make(t, p)
}

func words(upc string) []string { return []string{"testdata/words/words.c", upc} }

// onBed runs a program of the test-bed and returns the trace's folder.
func onBed(t *testing.T, bin, backend string, env []string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	dir := t.TempDir()
	made := filepath.Join(dir, "trace")
	env = append([]string{"WHYSLOW_TRACE=" + made, "WORDS_SHARED=" + filepath.Join(dir, "shared")}, env...)
	if out, err := upctest.Command(ctx, bin, upctest.Options{Threads: upcThreads, Backend: backend,
		Args: args, Env: env}).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return made
}

var ofLock = regexp.MustCompile(`lock=\d+`)

// everything is all that each thread records in the program every, without times: what differs from one
// another, as threads try locks again and again. Locks, which are where there was room for them, have
// numbers as they come.
func everything(t *testing.T, bin, table string) (all [upcThreads][]string) {
	t.Helper()
	r := open(t, onBed(t, bin, upctest.Threads, []string{"UPC_TABLE=" + table, "UPC_INST=local",
		"WHYSLOW_INSTRUMENT=local"}))
	var dump bytes.Buffer
	if err := twin.Dump(&dump, r); err != nil {
		t.Fatal(err)
	}
	var seen [upcThreads]map[string]bool
	var locks [upcThreads]map[string]string
	for i := range seen {
		seen[i], locks[i] = map[string]bool{}, map[string]string{}
	}
	for line := range strings.Lines(dump.String()) {
		m := event.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil || strings.HasPrefix(m[3], "GlobalEvents.onProgram") {
			continue
		}
		node, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		fields := ofLock.ReplaceAllStringFunc(m[4], func(id string) string {
			if locks[node][id] == "" {
				locks[node][id] = fmt.Sprint("lock=", len(locks[node]))
			}
			return locks[node][id]
		})
		seen[node][m[3]+named(r.Defs(node), fields)] = true
	}
	for i := range all {
		all[i] = slices.Sorted(maps.Keys(seen[i]))
	}
	return all
}

// With whyslow_upc.upc the same is recorded as with the test-bed's hooks.
func TestUPCFile(t *testing.T) {
	t.Parallel()
	needAddressSpaces(t)
	source, err := os.ReadFile(upcFile)
	if err != nil {
		t.Fatal(err)
	}
	every := compileBed(t, upctest.Threads, "every")
	own := every.link(t, []string{bedDir + "hooks.c"})
	bupc, gupc := everything(t, own, "bupc"), everything(t, own, "gupc")
	if diff := cmp.Diff(gupc, everything(t, every.link(t, words(upcFile)), "gupc")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(bupc, everything(t, every.link(t, words(upcFile), berkeley), "bupc")); diff != "" {
		t.Error(diff)
	}
	// That would not be so if the file were wrong.
	for _, c := range []struct{ right, wrong string }{
		{"*in_my = UPC_IN_MYSYNC, *in_no = UPC_IN_NOSYNC", "*in_no = UPC_IN_MYSYNC, *in_my = UPC_IN_NOSYNC"},
		{"(uint64_t)upc_threadof(p) << 48 ^ (uint64_t)upc_addrfield(p)", "(uint64_t)upc_threadof(p)"},
		{"[thread];\n}\n\nvoid", "[thread ^ 1];\n}\n\nvoid"},
		{"return (int)upc_threadof(", "return (int)upc_addrfield("},
	} {
		if diff := cmp.Diff(bupc, everything(t, every.link(t, words(changed(t, source, c.right, c.wrong))),
			"bupc")); diff == "" {
			t.Errorf("with %q instead of %q the same is recorded", c.wrong, c.right)
		}
	}
}

// changed writes a file like whyslow_upc.upc with an error.
func changed(t *testing.T, source []byte, right, wrong string) string {
	t.Helper()
	if bytes.Count(source, []byte(right)) != 1 {
		t.Fatalf("%s does not have %q once", upcFile, right)
	}
	return cctest.Source(t, "changed.upc", strings.Replace(string(source), right, wrong, 1))
}

// The compiler takes the file as it is, and none with errors that are of types, also with those between
// private and shared.
func TestUPCFileTypes(t *testing.T) {
	t.Parallel()
	needAddressSpaces(t)
	source, err := os.ReadFile(upcFile)
	if err != nil {
		t.Fatal(err)
	}
	try := func(path string) ([]byte, error) {
		return exec.Command("cc", slices.Concat(asC, []string{berkeley, "-fsyntax-only", "-x", "c",
			path})...).CombinedOutput()
	}
	if out, err := try(upcFile); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, c := range []struct{ right, wrong string }{
		{"upc_threadof(*(shared void *const *)pts)", "upc_threadof(*(void *const *)pts)"},
		{"upc_threadof(*(shared void *const *)pts)", "upc_threadof(pts)"},
		{"(shared const int *)", "(const int *)"},
		{"uint64_t whyslow_upc_lock_id", "int whyslow_upc_lock_id"},
		{"int slot, int64_t value)", "int slot, int value)"},
		{"#include <bupc_extensions.h>\n", ""},
		{"[thread];\n}", "[thread]\n}"},
		{"strict shared", "strict shared shared_"},
	} {
		if out, err := try(changed(t, source, c.right, c.wrong)); err == nil {
			t.Errorf("%q instead of %q compiles: %s", c.wrong, c.right, out)
		}
	}
}

// Threads that are processes compare their clocks with the numbers that the file keeps in shared memory.
func TestUPCFileClocks(t *testing.T) {
	t.Parallel()
	needAddressSpaces(t)
	bin := compileBed(t, upctest.Shmem, "barrier").link(t, words(upcFile), berkeley)
	r := open(t, onBed(t, bin, upctest.Shmem, []string{"WHYSLOW_CLOCK_SYNC=always"}, "0,15,30,45", "0", "2"))
	if got := r.Run().Settings["clock_sync"]; got != "compared" {
		t.Errorf("clock_sync: %q", got)
	}
	for thread, list := range syncs(t, r, upcThreads) {
		if len(list) != 2*min(thread, 1) {
			t.Errorf("thread %d: %v", thread, list)
		}
		for _, s := range list {
			if max(s.Offset, -s.Offset) > s.Error || s.Error == 0 {
				t.Errorf("thread %d: offset %d, error %d: the truth is 0", thread, s.Offset, s.Error)
			}
		}
	}
}
