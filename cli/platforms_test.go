package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/testkit/effort"
)

// TestPlatforms builds what reads traces for other systems. Where an emulator of the system is installed, it
// must also say of a trace what this program says.
func TestPlatforms(t *testing.T) {
	effort.Only(t)
	if !canRun {
		t.Skip("built without the engine")
	}
	home, dir := lunaHome(t), t.TempDir()
	pairs, err := filepath.Abs(filepath.Join("../testdata/truth", advises, "migration"))
	if err != nil {
		t.Fatal(err)
	}
	if _, errs, code, err := shell(pairs, home, "whyslow run -q -o "+dir+"/t -n 2 -w 1 --link-latency=4ms "+
		asleep("../", "fault.fa")); err != nil || code != 0 {
		t.Fatalf("exit code %d, %v\n%s", code, err, errs)
	}
	asked := []string{"report --full t", "report --json=- t", "report --lang ru t", "dump t", "diff t t",
		"predict --nodes 1,2,4 t", "balance t"}
	emulators := map[string]string{"linux/arm64": "qemu-aarch64", "windows/amd64": "wine64"}
	for _, system := range []string{"linux/arm64", "darwin/amd64", "darwin/arm64", "freebsd/amd64",
		"windows/amd64", "windows/arm64"} {
		t.Run(system, func(t *testing.T) {
			goos, goarch, _ := strings.Cut(system, "/")
			binary := filepath.Join(dir, goos+"-"+goarch+".exe")
			build := exec.Command("go", "build", "-o", binary, "../cmd/whyslow")
			build.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			emulator, err := exec.LookPath(emulators[system])
			if err != nil {
				return
			}
			emulated := func(words string) string {
				cmd := exec.Command(emulator, append([]string{binary}, strings.Fields(words)...)...)
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), "WINEDEBUG=-all")
				out, err := cmd.Output()
				if err != nil {
					t.Fatalf("%s: %v", words, err)
				}
				return string(out)
			}
			if out, err := exec.Command(emulator, binary, "version").Output(); err != nil {
				t.Skipf("%s cannot run it: %v\n%s", emulator, err, out)
			}
			for _, words := range asked {
				want, errs, code, err := shell(dir, home, "whyslow "+words)
				if err != nil || code != 0 {
					t.Fatalf("whyslow %s: exit code %d, %v\n%s", words, code, err, errs)
				}
				if got := emulated(words); got != want {
					t.Errorf("%s differs:\n%s\nhere:\n%s", words, got, want)
				}
			}
		})
	}
}
