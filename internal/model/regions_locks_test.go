package model

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whyslow/whyslow/internal/tracefile/twin"
)

// TestLockNames: numbers of locks become names by sites that say what they are.
func TestLockNames(t *testing.T) {
	dir := t.TempDir()
	text := `#node 0
#code 1 shmem_set_lock lock
#code 2 shmem_malloc memory
#code 3 upc_global_lock_alloc memory
#code 4 solve atomic
#site 1 code=1 "/bin/p+0x10"
#site 2 code=1 label="lock 0x4060" "/bin/p+0x4060"
#site 3 code=1 label="lock 0x4100" "/bin/p+0x4100"
#site 4 code=1 label="lock 0x4200" "/bin/p+0x4200"
#site 5 code=2 label="lock 0x800000000000 byte 0 call 1" "/bin/p+0x20"
#site 6 code=2 label="lock 0x800000000008 byte 8 call 1" "/bin/p+0x20"
#site 7 code=2 label="lock 0x800000000100 byte 0 call 1" "/bin/p+0x30"
#site 8 code=2 label="lock 0x800000000200 byte 64 call 2" "/bin/p+0x30"
#site 9 code=3 label="lock 0x1000 call 1 thread 0" at=q.upc:7:0
#site 10 code=1 label="lock 0x9" at=q.c:3:0 "queue_lock"
#site 11 code=4 label="lock 0x11" at=q.c:3:0 "x"
#site 12 code=1 label="lock 0x12 byte" at=q.c:3:0 "x"
0 Region.onEntered 1
`
	for _, id := range []uint64{0x4060, 0x4100, 0x4200, 0x800000000000, 0x800000000008, 0x800000000100,
		0x800000000200, 0x1000, 0x1001, 0x9, 0x11, 0x12} {
		text += fmt.Sprintf("1 Sync.onAcquired %d\n2 Sync.onReleased %[1]d\n", id)
	}
	text += "#node 1\n#code 3 upc_global_lock_alloc memory\n#site 2 code=3 label=\"lock 0x1001 call 1 thread " +
		"1\" at=q.upc:7:0\n0 Region.onEntered 1\n"
	if err := twin.Parse(strings.NewReader(text), dir); err != nil {
		t.Fatal(err)
	}
	table := `{"/bin/p+0x10":{"function":"solve","file":"/src/p.c","line":7},"/bin/p+0x4060":{"variable":"queue_lock","file":"/src/p.c","line":3},
		"/bin/p+0x4100":{"variable":"state+0x40"},"/bin/p+0x20":{"function":"main","file":"/src/p.c","line":20},"/bin/p+0x30":{"function":"main"}}`
	if err := os.WriteFile(filepath.Join(dir, "symbols.json"), []byte(table), 0o644); err != nil {
		t.Fatal(err)
	}
	m := load(t, dir)
	got := map[uint64]Lock{}
	for _, l := range m.Regions.Locks {
		got[l.ID] = Lock{Name: l.Name, File: l.File, Line: l.Line}
	}
	want := map[uint64]Lock{
		0x4060:         {Name: "queue_lock", File: "/src/p.c", Line: 3},
		0x4100:         {Name: "state+0x40"},
		0x4200:         {Name: "p+0x4200"},
		0x800000000000: {Name: "shmem_malloc", File: "/src/p.c", Line: 20},
		0x800000000008: {Name: "byte 8 of shmem_malloc", File: "/src/p.c", Line: 20},
		0x800000000100: {Name: "shmem_malloc, call 1", File: "p+0x30"},
		0x800000000200: {Name: "byte 64 of shmem_malloc, call 2", File: "p+0x30"},
		0x1000:         {Name: "upc_global_lock_alloc of thread 0", File: "q.upc", Line: 7},
		0x1001:         {Name: "upc_global_lock_alloc of thread 1", File: "q.upc", Line: 7},
		0x9:            {Name: "queue_lock", File: "q.c", Line: 3},
		0x11:           {}, 0x12: {},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if s := m.Sites[1]; s.Function != "solve" || s.Line != 7 {
		t.Errorf("the call of a lock operation: %+v", s)
	}
}
