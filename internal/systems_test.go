package internal_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestAnalysersHaveNoEngine: programs run on Linux only, and the engine asks for its threads' cores. A
// whyslow for another system does not have it, or would not be built.
func TestAnalysersHaveNoEngine(t *testing.T) {
	for _, system := range []string{"darwin", "windows", "linux"} {
		list := exec.Command("go", "list", "-deps", "../cmd/whyslow")
		list.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system)
		out, err := list.Output()
		if err != nil || !strings.Contains(string(out), module+"internal/show/report\n") {
			t.Fatal(system, err)
		}
		if engine := module + "internal/run/engine\n"; strings.Contains(string(out), engine) {
			t.Errorf("%s: without cgo the engine is built in", system)
		}
	}
}
