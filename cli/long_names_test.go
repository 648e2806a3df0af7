package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/console"
)

// TestLongNamesInPrograms: what is said of programs whose names have 50 KB takes a few lines.
func TestLongNamesInPrograms(t *testing.T) {
	if !canRun {
		t.Skip("built without the engine")
	}
	home, dir, name := lunaHome(t), t.TempDir(), strings.Repeat("n", 50_000)
	for file, c := range map[string]struct {
		main string
		code int
		line string
	}{
		"stuck.fa": {"df " + name + "; f(" + name + ");", console.Stuck, " waits for"},
		"wrong.fa": {"f(" + name + ");", console.BadUsage, "error:"},
	} {
		source := "C++ sub f(int a) ${{ $}}\nsub main() { " + c.main + " }\n"
		if err := os.WriteFile(filepath.Join(dir, file), []byte(source), 0o666); err != nil {
			t.Fatal(err)
		}
		_, stderr, code, err := shell(dir, home, "whyslow run -q -O0 "+file)
		if err != nil || code != c.code || len(stderr) > 25_000 || !strings.Contains(stderr, c.line) ||
			!strings.Contains(stderr, "…") {
			t.Errorf("%s: exit code %d, %v, %d bytes: %.2000s", file, code, err, len(stderr), stderr)
		}
	}
}
