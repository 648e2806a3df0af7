package slou_test

import (
	"context"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// TestMaxPieces: Pieces fails where there are more than it may keep, and says so.
func TestMaxPieces(t *testing.T) {
	m := sloutest.Build(t, sloutest.Golden(t, "figure1"))
	all, err := slou.Pieces(context.Background(), m, slou.Options{}, procs.Alone())
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, w := range all {
		n += len(w.Pieces)
	}
	if _, err := slou.Pieces(context.Background(), m, slou.Options{MaxPieces: n}, procs.Alone()); err != nil {
		t.Errorf("with room for all %d: %v", n, err)
	}
	if _, err := slou.Pieces(context.Background(), m, slou.Options{MaxPieces: n - 1},
		procs.Alone()); err == nil || !strings.Contains(err.Error(), "too much to keep") {
		t.Errorf("with room for one less: %v", err)
	}
}
