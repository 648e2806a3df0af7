package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/console"
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
	if err := os.WriteFile(filepath.Join(dir, "endless.c"), []byte(endlessShmem), 0o666); err != nil {
		t.Fatal(err)
	}
	compile := exec.Command("oshcc", "-g", "-o", "endless", "endless.c")
	compile.Dir = dir
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
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
