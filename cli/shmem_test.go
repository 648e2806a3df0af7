package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/testkit/cctest"
)

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
	program := cctest.Make(t, cctest.Program{Name: "endless", Compiler: []string{"oshcc"}, Flags: []string{"-g"},
		Sources: []string{cctest.Source(t, "endless.c", endlessShmem)}})
	if err := os.Symlink(program, filepath.Join(dir, "endless")); err != nil { // its trace is to lie here
		t.Fatal(err)
	}
	stderr, code := interrupt(t, os.Interrupt, dir, filepath.Join(home, "bin", "whyslow"), "shmem", "--",
		"oshrun", "-np", "2", "./endless")
	if code != console.Interrupted || !strings.Contains(stderr, "whyslow: interrupted") ||
		!strings.HasSuffix(stderr, "\nendless.001.trace\n") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	stdout, stderr, code, err := shell(dir, home, "whyslow report --json endless.001.trace")
	if err != nil || code != console.Done {
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
