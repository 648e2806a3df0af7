package critical_test

import (
	"bytes"
	"context"
	"flag"
	"testing"

	"github.com/whyslow/whyslow/internal/analysis/critical"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

var update = flag.Bool("update", false, "rewrite the expected results (then check them on paper)")

// TestGolden looks for the critical paths of hand-written traces. Each file opens with its story.
func TestGolden(t *testing.T) {
	sloutest.Goldens(t, *update, func(t *testing.T, files map[string]string) map[string]string {
		m := sloutest.Build(t, files["trace"])
		res, err := critical.Compute(context.Background(), m, critical.Options{}, procs.Alone())
		if err != nil {
			t.Fatal(err)
		}
		agree(t, m, res, false)
		var got bytes.Buffer
		if err := critical.Write(&got, res); err != nil {
			t.Fatal(err)
		}
		return map[string]string{"result": got.String()}
	})
}
