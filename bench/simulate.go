package main

import (
	"container/heap"
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/whyslow/whyslow/internal/analysis/simulate"
	"github.com/whyslow/whyslow/trace"
)

// benchSimulate measures how fast a recorded run is simulated, beside the least that any such simulation
// does, to keep events in order of time, and beside the engine that ran the program.
func benchSimulate(ctx context.Context, b *bench) error {
	t := b.table("A recorded run in virtual time", "One core. The bare heap is Go's container/heap with as "+
		"many entries as the machine has workers; it orders two events per CF, one for its end and one for its "+
		"worker to look for the next. The engine's time is that of the recorded run, all its workers' together.",
		"program", "recorded", "simulated", "CFs", "time, ratio to the bare heap", "engine's time, ratio to it",
		"ns/CF", "goal", "ns/CF, bare heap", "ns/CF, engine")
	for _, c := range []struct {
		file     string
		args     []string
		was      shape
		machines []shape
	}{
		{"programs/chain.fa", []string{strconv.Itoa(b.pick(1_000_000, 1_000))}, shape{1, 1}, []shape{{1, 1}}},
		{"programs/spread.fa", []string{strconv.Itoa(b.pick(1_000_000, 1_000))}, shape{2, 1},
			[]shape{{2, 1}, {64, 2}, {4096, 1}}},
		{"../examples/cholesky/cholesky.fa", []string{strconv.Itoa(b.pick(90, 10)), "4"}, shape{2, 2},
			[]shape{{2, 2}, {64, 2}}},
	} {
		dir, err := b.temp()
		if err != nil {
			return err
		}
		out, err := once(ctx, spec{File: c.file, Nodes: c.was.nodes, Workers: c.was.workers, Args: c.args,
			Recording: fragments, Dir: dir})
		if err != nil {
			return err
		}
		info := &trace.RunInfo{Ended: trace.EndedDone, Processes: []trace.ProcessInfo{{}}}
		for n := range c.was.nodes {
			info.Nodes = append(info.Nodes, trace.NodeInfo{Node: n, Workers: c.was.workers})
		}
		if err := trace.WriteRunInfo(dir, info); err != nil {
			return err
		}
		m, err := readAll(ctx, dir, 1)
		if err != nil {
			return err
		}
		s, err := simulate.New(ctx, m)
		if err != nil {
			return err
		}
		for _, to := range c.machines {
			if err := simulated(ctx, b, t, s, filepath.Base(c.file), c.was, to, &out); err != nil {
				return err
			}
		}
	}
	return nil
}

// shape is a number of nodes and of the workers of each.
type shape struct{ nodes, workers int }

func (s shape) String() string { return fmt.Sprintf("%d x %d", s.nodes, s.workers) }

// simulated adds a row: simulations on a machine take turns with the heap.
func simulated(ctx context.Context, b *bench, t *table, s *simulate.Simulator, name string, was, to shape,
	out *outcome) error {
	var ns, bare []float64
	cfs := 0
	for range b.pick(7, 2) {
		runtime.GC()
		begin := time.Now()
		r, err := s.Run(ctx, simulate.Machine{Nodes: to.nodes, Workers: to.workers, Latency: -1, Bandwidth: -1})
		if err != nil {
			return err
		}
		cfs = r.Executed
		ns = append(ns, float64(time.Since(begin))/float64(cfs))
		bare = append(bare, bareHeap(to.nodes*to.workers, 2*cfs)/float64(cfs))
	}
	engine := float64(out.WallNS) * float64(was.nodes*was.workers) / float64(cfs)
	t.row(name, was.String(), to.String(), cfs, ratio(median(ns)/median(bare)), ratio(engine/median(ns)),
		median(ns), "1000", median(bare), engine)
	return nil
}

// times is a bare event heap.
type times []int64

func (h times) Len() int           { return len(h) }
func (h times) Less(i, j int) bool { return h[i] < h[j] }
func (h times) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *times) Push(v any)        { *h = append(*h, v.(int64)) }
func (h *times) Pop() any {
	v := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return v
}

// bareHeap is how many nanoseconds a heap with so many entries takes for so many events.
func bareHeap(entries, events int) float64 {
	h := make(times, entries)
	begin := time.Now()
	for i := range events {
		t := heap.Pop(&h).(int64)
		heap.Push(&h, t+int64(1000+i*7919%5000))
	}
	return float64(time.Since(begin))
}
