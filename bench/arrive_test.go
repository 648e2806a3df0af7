package main

import (
	"context"
	"testing"

	"github.com/whyslow/whyslow/internal/tracefile"
)

// A run that was cut off in the middle of its trace has what arrived, and no end.
func TestArrivals(t *testing.T) {
	b := &bench{log: t.Output(), dir: t.TempDir()}
	dir, err := b.cholesky(context.Background(), 8, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	a, err := readArrivals(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	grown := t.TempDir()
	half := len(a.blocks) / 2
	for _, part := range [][]tracefile.RawBlock{a.blocks[:half], a.blocks[half:]} {
		if err := a.grow(grown, part); err != nil {
			t.Fatal(err)
		}
	}
	again, err := readArrivals(context.Background(), grown)
	if err != nil {
		t.Fatal(err)
	}
	if len(again.blocks) != len(a.blocks) || again.follower.Closed(0) || again.follower.Info().Ended != "" {
		t.Errorf("the folder has %d blocks of %d, node 0 is closed: %v, the run ended: %q", len(again.blocks),
			len(a.blocks), again.follower.Closed(0), again.follower.Info().Ended)
	}
}
