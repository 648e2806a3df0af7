package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/whyslow/whyslow/trace"
)

// Differences of a few thousandths of CPU time cannot be seen between processes: each has its memory laid out
// differently and meets the machine in another mood, and two that do the same differ by percents. So what is
// recorded changes within one process, from one short run of the program to the next: none, A, none, B, none
// ... Each recording is compared to the two runs without one beside it. The sessions of the recordings, their
// modules and their traces stay open all the time. What it takes to open and close them is therefore not
// measured here, but where runs have a process each.

// turn is one run of the program.
type turn struct {
	Recording     recording
	CPUNS, WallNS int64
}

// settle is how long after a run its CPU time is still watched: the writer of the trace has full buffers to
// pack.
const settle = 5 * time.Millisecond

// between puts a run without recording before, between and behind the recordings.
func between(recs []recording) []recording {
	order := []recording{nothing}
	for _, r := range recs {
		order = append(order, r, nothing)
	}
	return order
}

// turns runs the program again and again, s.Rounds times the recordings s.Turns in this order.
func (p *program) turns(ctx context.Context, s *spec) (out outcome, err error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return out, err
	}
	defer os.RemoveAll(dir)
	open := map[recording]*profiled{}
	for _, rec := range append([]recording{nothing, byKind}, s.Turns...) {
		if open[rec] != nil {
			continue
		}
		at := filepath.Join(dir, strconv.Itoa(int(rec)))
		if err := os.Mkdir(at, 0o777); err != nil {
			return out, err
		}
		r, err := p.record(s, rec, at)
		if err != nil {
			return out, err
		}
		defer func() { _ = r.close() }() // what it wrote is not looked at
		open[rec] = r
		if _, err := p.engine(ctx, s, r); err != nil { // warms up, and counts
			return out, err
		}
	}
	out.Counts = map[string]uint64{}
	for k := range open[byKind].counts {
		if n := open[byKind].counts[k].Load(); n > 0 {
			out.Counts[trace.Kind(k).String()] = n
		}
	}
	for range s.Rounds {
		for _, rec := range between(s.Turns) {
			runtime.GC() // everyone pays for garbage of its own only
			watch := start()
			if _, err := p.engine(ctx, s, open[rec]); err != nil {
				return out, err
			}
			wall := time.Since(watch.wall)
			time.Sleep(settle)
			_, cpu := watch.stop()
			out.Turns = append(out.Turns, turn{rec, int64(cpu), wall.Nanoseconds()})
		}
	}
	return out, nil
}

// compared is how much more CPU and wall time recordings took, in percent, by pairs.
type compared struct {
	cpu, wall map[recording][]float64
	plain     []float64 // CPU time without recording, in ns
}

func newCompared() *compared {
	return &compared{cpu: map[recording][]float64{}, wall: map[recording][]float64{}}
}

// add takes runs in the order that between gives.
func (c *compared) add(turns []turn) {
	for i := 1; i+1 < len(turns); i += 2 {
		more := func(t func(turn) int64) float64 {
			off := float64(t(turns[i-1])+t(turns[i+1])) / 2
			return (float64(t(turns[i])) - off) / off * 100
		}
		rec := turns[i].Recording
		c.cpu[rec] = append(c.cpu[rec], more(func(t turn) int64 { return t.CPUNS }))
		c.wall[rec] = append(c.wall[rec], more(func(t turn) int64 { return t.WallNS }))
		c.plain = append(c.plain, float64(turns[i-1].CPUNS))
	}
}
