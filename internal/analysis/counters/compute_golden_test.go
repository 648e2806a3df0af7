package counters_test

import (
	"flag"
	"strconv"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/analysis/counters"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
)

var update = flag.Bool("update", false, "rewrite the expected results (then check them on paper)")

// TestGolden follows hand-written traces. Each file opens with its story; the file options names the number
// of windows and of holders and, after them, the only series wanted. Several processes find the same.
func TestGolden(t *testing.T) {
	sloutest.Goldens(t, *update, func(t *testing.T, files map[string]string) map[string]string {
		opt := strings.Fields(files["options"])
		windows, err := strconv.Atoi(opt[0])
		if err != nil {
			t.Fatal(err)
		}
		holders, err := strconv.Atoi(opt[1])
		if err != nil {
			t.Fatal(err)
		}
		options := counters.Options{Windows: windows, Holders: holders, Only: opt[2:]}
		r := compute(t, sloutest.Build(t, files["trace"]), options)
		dir := t.TempDir()
		if err := twin.Parse(strings.NewReader(files["trace"]), dir); err != nil {
			t.Fatal(err)
		}
		same(t, dir, options)
		got := map[string]string{"result": text(r)}
		if _, asked := files["csv"]; asked {
			var s strings.Builder
			if err := counters.WriteCSV(&s, r); err != nil {
				t.Fatal(err)
			}
			got["csv"] = s.String()
		}
		return got
	})
}
