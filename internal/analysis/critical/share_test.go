package critical_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/analysis/critical"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/testkit/sharetest"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
)

// shown is a result as JSON and as text, which has the steps of the path, too.
func shown(r *critical.Result) string {
	b, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err.Error()
	}
	var out strings.Builder
	if err := critical.Write(&out, r); err != nil {
		return err.Error()
	}
	return string(b) + "\n" + out.String()
}

func with(opt critical.Options) sharetest.Analysis[critical.Result] {
	return func(ctx context.Context, m *model.Model, g procs.Group) (*critical.Result, error) {
		return critical.Compute(ctx, m, opt, g)
	}
}

// same fails where several processes find something else than one.
func same(t sloutest.TB, dir string, opt critical.Options) {
	t.Helper()
	sharetest.Same(t, dir, shown, with(opt))
}

// TestShareRandom compares what several processes find in random runs, whole, killed, stuck, with waits,
// harmed or with damaged files, with what one finds.
func TestShareRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sloutest.AnyFolder(t, func(run *sloutest.Run, dir string) {
			opt := critical.Options{Longest: rapid.IntRange(-1, 20).Draw(t, "longest")}
			if rapid.Bool().Draw(t, "budget") {
				opt = opt.WithBudget(rapid.IntRange(1, 300).Draw(t, "edges"))
			}
			defer func() {
				if t.Failed() {
					t.Log("\n" + run.EventText())
				}
			}()
			same(t, dir, opt)
		})
	})
}

// TestShareGolden does so with the hand-written traces.
func TestShareGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no goldens", err)
	}
	for _, file := range files {
		dir := t.TempDir()
		if err := twin.Parse(strings.NewReader(sloutest.Golden(t, strings.TrimSuffix(filepath.Base(file),
			".txtar"))), dir); err != nil {
			t.Fatal(err)
		}
		same(t, dir, critical.Options{})
	}
}

// TestShareRecorded does so with recorded runs in which CFs are stolen and migrate and which are repeated on
// many nodes with what crosses, and with the trace named by WHYSLOW_TRACE.
func TestShareRecorded(t *testing.T) {
	if dir := os.Getenv("WHYSLOW_TRACE"); dir != "" {
		same(t, dir, critical.Options{})
		return
	}
	for _, name := range []string{"cholesky", "balance", "heat"} {
		for _, copies := range []int{1, 3} {
			same(t, sloutest.Recorded(t, name, copies), critical.Options{Longest: 50})
		}
	}
}

// A process that is interrupted interrupts all.
func TestShareInterrupted(t *testing.T) {
	sharetest.Interrupted(t, sloutest.Recorded(t, "cholesky", 1), with(critical.Options{}))
}
