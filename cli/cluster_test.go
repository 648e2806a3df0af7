package cli

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestClusterJob checks that docs/cluster.md shows the job script as it is, and that a shell understands it.
// What it does the page tries where mpirun is there.
func TestClusterJob(t *testing.T) {
	const path = "../examples/cluster/job.sh"
	script, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../docs/cluster.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "\n```bash\n"+string(script)+"```\n") {
		t.Errorf("docs/cluster.md does not show %s as it is", path)
	}
	if out, err := exec.Command("sh", "-n", path).CombinedOutput(); err != nil {
		t.Errorf("sh -n %s: %v\n%s", path, err, out)
	}
}
