package cli

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/console"
)

// TestHelpFits: no line of any help is wider than asked for, but for examples and lists in a narrow terminal.
func TestHelpFits(t *testing.T) {
	for _, columns := range []string{"", "70"} {
		t.Setenv("COLUMNS", columns)
		for _, c := range rootCommand(console.IO{Out: io.Discard, Err: io.Discard}).Commands() {
			var out bytes.Buffer
			c.SetOut(&out)
			if err := c.Help(); err != nil || !strings.Contains(out.String(), "\nUsage:\n") {
				t.Errorf("%s: %v: %.200q", c.Name(), err, out.String())
			}
			for line := range strings.Lines(out.String()) {
				n := len([]rune(strings.TrimSuffix(line, "\n")))
				if n > 100 || columns == "70" && n > 70 && line[0] != ' ' {
					t.Errorf("%s, COLUMNS=%s: %d columns: %s", c.Name(), columns, n, line)
				}
			}
		}
	}
}
