package pattern

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/tracefile/twin"
)

// TestFunctionsOfAddresses puts the function that a call is in above it, where functions themselves were not
// recorded. It and the program have a visit too, since tools divide by them.
func TestFunctionsOfAddresses(t *testing.T) {
	dir := t.TempDir()
	text := `
#code 1 shmem_quiet completion
#code 2 step function
#site 1 code=1 "/bin/p+0x10"
#site 2 code=2 at=p.c:3:0
0 Region.onEntered 1
5 Region.onExited 1
6 Region.onEntered 2
7 Region.onEntered 1
9 Region.onExited 1
10 Region.onExited 2
`
	if err := twin.Parse(strings.NewReader(text), dir); err != nil {
		t.Fatal(err)
	}
	table := `{"/bin/p+0x10":{"function":"solve","file":"/src/p.c","line":7}}`
	if err := os.WriteFile(filepath.Join(dir, "symbols.json"), []byte(table), 0o644); err != nil {
		t.Fatal(err)
	}
	want := `time, program: 1
time, solve > shmem_quiet:7: 5
time, step:3: 2
time, step:3 > shmem_quiet:7: 2
visits, program: 1
visits, solve: 1
visits, solve > shmem_quiet:7: 1
visits, step:3: 1
visits, step:3 > shmem_quiet:7: 1
`
	if got := show(compute(t, buildDir(t, dir)), "time", "visits"); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestNoRegions gives no result for a run without regions.
func TestNoRegions(t *testing.T) {
	if r := compute(t, buildText(t, "0 Global.onProgramStarted\n9 Global.onProgramFinished\n")); r != nil {
		t.Errorf("%+v", r)
	}
}
