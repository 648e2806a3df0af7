package imbalance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/analysis/imbalance"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/testkit/grouptest"
	"github.com/whyslow/whyslow/internal/testkit/replicate"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/trace"
)

// together computes the balance of a trace with some processes and gives it as JSON.
func together(t failer, dir string, processes int, opt imbalance.Options) []byte {
	t.Helper()
	results, errs := make([]*imbalance.Result, processes), make([]error, processes)
	var wg sync.WaitGroup
	for rank, g := range grouptest.Local(processes) {
		wg.Go(func() {
			defer g.Leave()
			var r *trace.Reader
			if r, errs[rank] = trace.Open(dir); errs[rank] != nil {
				return
			}
			defer r.Close()
			var m *model.Model
			if m, errs[rank] = model.BuildShare(context.Background(), r, model.Options{},
				g); errs[rank] == nil {
				results[rank], errs[rank] = imbalance.Compute(context.Background(), m, opt, g)
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			t.Fatal(processes, "processes:", err)
		}
	}
	for _, r := range results[1:] {
		if r != nil {
			t.Fatal("not only the first process has a result")
		}
	}
	text, err := json.MarshalIndent(results[0], "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func same(t failer, dir string, opt imbalance.Options) {
	t.Helper()
	want := together(t, dir, 1, opt)
	for _, processes := range []int{2, 3, 4} {
		if got := together(t, dir, processes, opt); !bytes.Equal(got, want) {
			t.Fatal(processes, "processes:", string(got), "\none:", string(want))
		}
	}
}

func TestShareRecorded(t *testing.T) {
	for _, name := range []string{"cholesky", "balance", "heat"} {
		text, err := replicate.Recording(name)
		if err != nil {
			t.Fatal(err)
		}
		one, many := t.TempDir(), t.TempDir()
		if err := twin.Parse(bytes.NewReader(text), one); err != nil {
			t.Fatal(err)
		}
		r, err := trace.Open(one)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if _, err := replicate.Write(context.Background(), many, r, replicate.Options{Copies: 3,
			Crossing: 0.5}); err != nil {
			t.Fatal(err)
		}
		same(t, one, imbalance.Options{})
		same(t, many, imbalance.Options{Windows: 9})
	}
}

func TestShareRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := sloutest.Random(t)
		run.AddWaits(t)
		if rapid.Bool().Draw(t, "killed") {
			run.Kill(t)
		}
		dir, err := os.MkdirTemp("", "share")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		if err := twin.Parse(strings.NewReader(run.Text()), dir); err != nil {
			t.Fatal(err)
		}
		same(t, dir, imbalance.Options{Windows: rapid.IntRange(1, 20).Draw(t, "windows")})
	})
}
