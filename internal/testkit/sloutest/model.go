package sloutest

import (
	"context"
	"os"
	"strings"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/trace"
)

// TB is what testing.TB and rapid.T have in common as far as it is needed here.
type TB interface {
	Helper()
	Fatal(args ...any)
}

// Build returns the model of a trace written as text; options are those of model.Build.
func Build(t TB, text string, options ...model.Options) *model.Model {
	t.Helper()
	dir, err := os.MkdirTemp("", "sloutest")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}()
	if err := twin.Parse(strings.NewReader(text), dir); err != nil {
		t.Fatal(err)
	}
	return Load(t, dir, options...)
}

// Load returns the model of the trace in a directory; options are those of model.Build.
func Load(t TB, dir string, options ...model.Options) *model.Model {
	t.Helper()
	var opt model.Options
	if len(options) > 0 {
		opt = options[0]
	}
	r, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	m, err := model.Build(context.Background(), r, opt)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return m
}
