package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/whyslow/whyslow/internal/testkit/effort"
)

// TestMemoryOfRuns lets programs that are large in one respect run in processes of their own, and looks at
// the most memory that they ever had.
func TestMemoryOfRuns(t *testing.T) {
	effort.Only(t)
	if !canRun {
		t.Skip("built without the engine")
	}
	home, dir := lunaHome(t), t.TempDir()
	const codes = `C++ sub none() ${{ $}}
C++ sub make(name x) ${{ x.create<char>(1 << 20, 'a'); $}}
C++ sub use(value x) ${{ $}}
C++ sub text(name x, int mb) ${{ x.setValue(std::string((size_t)mb << 20, 'a')); $}}
C++ sub length(string s) ${{ printf("%zu\n", strlen(s)); $}}
`
	for i, c := range []struct {
		what, program, command string
		most                   int64 // MiB
	}{
		{"5,000 DFs of 1 MiB", `sub main() { df x; for i = 1 .. 5000 { make(x[i]); use(x[i]) --> (x[i]); } }`,
			"luna -q --worker-threads-count=4", 250},
		{"a million CFs", `sub main() for i = 1 .. 1000000 none();`, "luna -q", 180},
		{"a million CFs with a report", `sub main() for i = 1 .. 1000000 none();`, "whyslow run -o t1", 800},
		{"a sub calls itself", `sub f(int n) if n > 0 f(n - 1); sub main() f(300000);`, "whyslow run -o t2", 480},
		{"a text of 1 GiB", `sub main() { df x; text(x, 1024); length(x); }`, "luna -q", 2500},
	} {
		t.Run(c.what, func(t *testing.T) {
			name := fmt.Sprintf("p%d.fa", i)
			if err := os.WriteFile(filepath.Join(dir, name), []byte(codes+c.program+"\n"), 0o666); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("sh", "-c", c.command+" "+name)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "LUNA_HOME="+home, "PATH="+filepath.Join(home, "bin")+":"+os.Getenv("PATH"))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			// Of the process, or of the compiler that it started.
			if used := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss >> 10; used > c.most {
				t.Errorf("%d MiB, at most %d wanted", used, c.most)
			} else {
				t.Logf("%d MiB of %d", used, c.most)
			}
		})
	}
}
