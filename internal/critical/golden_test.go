package critical_test

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whyslow/whyslow/internal/critical"
	"github.com/whyslow/whyslow/internal/slou/sloutest"
)

var update = flag.Bool("update", false, "rewrite the expected results (then check them on paper)")

// TestGolden looks for the critical paths of hand-written traces. Each file opens with its story.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no goldens", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, rest, ok := strings.Cut(string(text), "-- trace --\n")
			trace, want, also := strings.Cut(rest, "-- result --\n")
			if !ok || !also {
				t.Fatal("no trace or no result")
			}
			m := sloutest.Build(t, trace)
			res, err := critical.Compute(context.Background(), m, critical.Options{})
			if err != nil {
				t.Fatal(err)
			}
			agree(t, m, res, false)
			var got bytes.Buffer
			if err := critical.Write(&got, res); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got.String()); diff != "" && !*update {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if *update {
				out := strings.TrimSuffix(string(text), want) + got.String()
				if err := os.WriteFile(file, []byte(out), 0o666); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
