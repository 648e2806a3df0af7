package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/console"
)

// TestIndexInterrupted: an index that is interrupted is not there, and nothing else is left behind.
func TestIndexInterrupted(t *testing.T) {
	dir := t.TempDir()
	greedyTrace(t, dir)
	trace := filepath.Join(dir, "g.trace")
	before, err := os.ReadDir(trace)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out bytes.Buffer
	err = indexTrace(ctx, console.IO{Out: &out, Err: &out}, &pageOptions{}, trace, false)
	if console.Code(err) != console.Interrupted || out.Len() > 0 {
		t.Errorf("exit code %d, %v: %s", console.Code(err), err, &out)
	}
	after, err := os.ReadDir(trace)
	if err != nil || len(after) != len(before) {
		var names []string
		for _, e := range after {
			names = append(names, e.Name())
		}
		t.Errorf("%v: left behind: %s", err, strings.Join(names, " "))
	}
}
