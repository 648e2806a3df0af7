// Package foreigntest holds what tests of imported traces share.
package foreigntest

import (
	"context"
	"testing"

	"github.com/whyslow/whyslow/internal/analysis/consistency"
	"github.com/whyslow/whyslow/trace"
)

// Consistent fails the test unless the trace in a folder can be read and its events go together.
func Consistent(t testing.TB, dir string) {
	t.Helper()
	r, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if found, err := consistency.Check(context.Background(), r); err != nil || !found.Consistent {
		t.Errorf("%v, %+v", err, found)
	}
}
