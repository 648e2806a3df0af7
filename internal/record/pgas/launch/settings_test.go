package launch_test

import (
	"os"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/record/pgas/launch"
)

// The tests of the collectors in sdk/pgas try the same table with the libraries.
func TestSettings(t *testing.T) {
	cases, err := os.ReadFile("testdata/settings.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(cases)) {
		taken, setting, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if taken == "#" {
			continue
		}
		name, value, _ := strings.Cut(setting, "=")
		t.Run(setting, func(t *testing.T) {
			t.Setenv(name, value)
			err := launch.CheckSettings(nil)
			if (err == nil) != (taken == "yes") {
				t.Errorf("%v", err)
			}
			if err != nil && !strings.HasPrefix(err.Error(), setting+": it must be ") {
				t.Error(err)
			}
			if err := launch.CheckSettings(map[string]string{name: ""}); err != nil {
				t.Errorf("another value is given: %v", err)
			}
		})
	}
}
