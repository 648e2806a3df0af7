package shmemtest

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whyslow/whyslow/internal/analysis/pattern"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/testkit/cctest"
	"github.com/whyslow/whyslow/trace"
)

// lockNames are what the locks of a trace are called, with file and line, in the order in which PE 0
// took them first.
func lockNames(t *testing.T, r *trace.Reader) (list []string) {
	t.Helper()
	m, err := model.Build(context.Background(), r, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	result, err := pattern.Compute(context.Background(), m, procs.Alone())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range m.Regions.Threads[0].Locks {
		i := slices.IndexFunc(result.Locks, func(l pattern.Lock) bool { return l.ID == e.Lock })
		l := &result.Locks[i]
		text := l.Name
		if l.File != "" {
			text += " at " + filepath.Base(l.File)
		}
		if l.Line > 0 {
			text += fmt.Sprint(":", l.Line)
		}
		if !slices.Contains(list, text) {
			list = append(list, text)
		}
		if l.Acquired%2 != 0 {
			t.Errorf("%s was acquired %d times by 2 PEs", text, l.Acquired)
		}
	}
	return list
}

// Locks are called what the program calls them: variables of the program and of a library, their
// elements and members, and memory by the call that allocated it.
func TestShmemLockNames(t *testing.T) {
	t.Parallel()
	needShmem(t)
	dir := filepath.Dir(cctest.Make(t, cctest.Program{Name: "libplugin.so", Sources: []string{"testdata/locks.c"},
		Flags: []string{"-g", "-O1", "-fPIC"}, Compile: []string{"-DPLUGIN"}, Link: []string{"-shared"}}))
	link := []string{"-L" + dir, "-lplugin", "-Wl,-rpath," + dir}
	want := []string{
		"queue_lock at locks.c:6", "locks[3] at locks.c:7", "locks[1] at locks.c:7",
		"table.buckets[2].lock at locks.c:13", "its_lock at locks.c:56",
		"shmem_malloc at locks.c:29", "byte 64 of shmem_malloc at locks.c:29",
		"shmem_malloc, call 1 at locks.c:20", "shmem_malloc, call 2 at locks.c:20",
		"byte 64 of shmem_calloc at locks.c:34", "shmem_realloc at locks.c:46",
	}
	program := compileShmem(t, "locks.c", append(link, "-O0")...)
	res := runShmem(t, 2, nil, program)
	res.ok(t, "")
	if diff := cmp.Diff(want, lockNames(t, res.read(t, true))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	// Without debug information names are those of the symbol table, stripped or not they are told apart.
	res = runShmem(t, 2, nil, compileShmem(t, "locks.c", append(link, "-O0", "-g0", "-no-pie")...))
	res.ok(t, "")
	got := lockNames(t, res.read(t, true))
	if len(got) != len(want) || !slices.Equal(got[:5], []string{"queue_lock", "locks+0x18", "locks+0x8",
		"table+0x30", "its_lock at locks.c:56"}) {
		t.Errorf("without debug information: %q", got)
	}
	res = runShmem(t, 2, nil, compileShmem(t, "locks.c", append(link, "-O0", "-s")...))
	res.ok(t, "")
	got = lockNames(t, res.read(t, true))
	if len(got) != len(want) || !regexp.MustCompile(`^program\+0x[0-9a-f]+$`).MatchString(got[0]) ||
		!strings.HasPrefix(got[5], "shmem_malloc at program+0x") {
		t.Errorf("stripped: %q", got)
	}
}
