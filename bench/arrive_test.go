package main

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/analysis/counters/steps"
	"github.com/whyslow/whyslow/internal/tracefile"
)

// Blocks are mixed, but those of a stream stay in order, and none comes later than it may be held up.
func TestDelayed(t *testing.T) {
	const delay = 100
	var blocks []tracefile.RawBlock
	for n := range uint32(50) {
		for node := range 2 {
			for stream := range 2 {
				blocks = append(blocks, tracefile.RawBlock{Node: node, Stream: stream, Number: n, Last: int64(n)*10 +
					int64(node)})
			}
		}
	}
	want := len(blocks)
	delayed(blocks, delay, rand.New(rand.NewPCG(1, 1)))
	if len(blocks) != want {
		t.Fatalf("%d blocks, want %d", len(blocks), want)
	}
	next := map[[2]int]uint32{}
	newest, mixed := int64(0), false
	for _, r := range blocks {
		k := [2]int{r.Node, r.Stream}
		if r.Number != next[k] {
			t.Fatalf("stream %v: block %d comes when %d should", k, r.Number, next[k])
		}
		next[k]++
		if r.Last < newest-delay {
			t.Errorf("a block of time %d comes after one of %d, more than %d late", r.Last, newest, delay)
		}
		mixed = mixed || r.Last < newest
		newest = max(newest, r.Last)
	}
	if !mixed {
		t.Error("all blocks come in order")
	}
}

// Without delay the blocks of one stream are in order of time, with it those of several are not.
func TestArrivals(t *testing.T) {
	b := &bench{log: t.Output(), dir: t.TempDir()}
	dir, err := b.cholesky(context.Background(), 8, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	a, err := readArrivals(context.Background(), dir, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if a.early <= 0 || a.early >= 1 || a.lateNS <= 0 {
		t.Errorf("%v of the events come after a later one, by %v ns", a.early, a.lateNS)
	}
	one := slices.DeleteFunc(slices.Clone(a.blocks),
		func(r tracefile.RawBlock) bool { return r.Node != 0 || r.Stream != a.blocks[0].Stream })
	early, late, err := disorder(a.follower, one)
	if err != nil || early != 0 || late != 0 {
		t.Errorf("one stream: %v of the events are early, by %v ns, %v", early, late, err)
	}
	grown := t.TempDir()
	if err := a.growing(grown); err != nil {
		t.Fatal(err)
	}
	again, err := readArrivals(context.Background(), grown, 0)
	if err != nil {
		t.Fatal(err)
	}
	if again.events != a.events || again.follower.Closed(0) || again.follower.Info().Ended != "" {
		t.Errorf("the folder has %d events of %d, node 0 is closed: %v, the run ended: %q", again.events, a.events,
			again.follower.Closed(0), again.follower.Info().Ended)
	}
}

// The plain way gives the same values, whatever the order.
func TestSorted(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	var s steps.Steps
	var p sorted
	for range 500 {
		at, d := rnd.Int64N(100), rnd.Int64N(7)-3
		s.Add(at, d)
		p.add(at, d)
	}
	for at := int64(-1); at < 101; at++ {
		if s.At(at) != p.at(at) {
			t.Errorf("at %d: %d, steps has %d", at, p.at(at), s.At(at))
		}
	}
}

func TestThinned(t *testing.T) {
	list := []steps.Change{{T: 0}, {T: 1}, {T: 2}, {T: 3}, {T: 4}, {T: 5}}
	if got := thinned(list, 3); !slices.Equal(got, []steps.Change{{T: 0}, {T: 2}, {T: 4}}) {
		t.Errorf("%v", got)
	}
	if got := thinned(list, 9); len(got) != 6 {
		t.Errorf("%v", got)
	}
}
