package main

import (
	"bytes"
	"context"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/analysis/consistency"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/show/report"
	"github.com/whyslow/whyslow/trace"
)

// The program's trace is consistent, and whyslow reports on it.
func TestReportOfTheTrace(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pi.trace")
	pi, err := run(dir)
	if err != nil || math.Abs(pi-math.Pi) > 1e-9 {
		t.Fatal(pi, err)
	}
	r, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ctx := context.Background()
	if c, err := consistency.Check(ctx, r); err != nil || !c.Consistent || !c.Whole {
		t.Errorf("%+v, %v", c, err)
	}
	m, err := model.Build(ctx, r, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	res, err := slou.Compute(ctx, m, slou.Options{}, procs.Alone())
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Fragments) != 2 || res.Ended != trace.EndedDone || m.Workers() != workers || res.Loss.NS != 0 {
		t.Errorf("%+v", res)
	}
	var text bytes.Buffer
	if err := report.Terminal(&text, &report.Everything{Run: &report.Run{}, SLOU: res}, report.Options{}); err !=
		nil || !strings.Contains(text.String(), "integrate") {
		t.Errorf("%v\n%s", err, &text)
	}
	if _, err := run(dir); err == nil || !strings.Contains(err.Error(), "already there and not empty") {
		t.Errorf("the trace was written over: %v", err)
	}
}
