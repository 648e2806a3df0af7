package main

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	rtrace "runtime/trace"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// benchRead measures how fast a trace is read, and read into the model and divided, against what Go's own
// tracer needs to read as many events.
func benchRead(ctx context.Context, b *bench) error {
	dir, err := b.temp()
	if err != nil {
		return err
	}
	tiles := strconv.Itoa(b.pick(90, 10))
	if _, err := once(ctx, spec{File: "../examples/cholesky/cholesky.fa", Nodes: 2, Workers: 2,
		Args: []string{tiles, "4"}, Recording: everything, Dir: dir}); err != nil {
		return err
	}
	if err := trace.WriteRunInfo(dir, &trace.RunInfo{Program: "cholesky.fa", Ended: trace.EndedDone,
		Nodes:     []trace.NodeInfo{{Node: 0, Workers: 2}, {Node: 1, Workers: 2}},
		Processes: []trace.ProcessInfo{{}}}); err != nil {
		return err
	}
	goBytes, err := goSchedulerTrace(b.pick(400_000, 5_000))
	if err != nil {
		return err
	}

	r, err := trace.Open(dir)
	if err != nil {
		return err
	}
	events := float64(r.Events())
	r.Close()
	// Each job is done with one worker and with two.
	jobs := []struct {
		name string
		run  func(workers int) (events float64, err error)
	}{
		{"golang.org/x/exp/trace, reading only", func(int) (float64, error) {
			n, err := readGoTrace(bytes.NewReader(goBytes))
			return float64(n), err
		}},
		{"whyslow, reading only", func(workers int) (float64, error) {
			r, err := trace.Open(dir)
			if err != nil {
				return 0, err
			}
			defer r.Close()
			return events, r.Each(workers, func(*trace.Batch) error { return nil })
		}},
		{"whyslow, reading into the model", func(workers int) (float64, error) {
			m, err := readAll(ctx, dir, workers)
			if err != nil {
				return 0, err
			}
			runtime.KeepAlive(m)
			return events, nil
		}},
		{"whyslow, reading into the model, and SLOU", func(workers int) (float64, error) {
			m, err := readAll(ctx, dir, workers)
			if err != nil {
				return 0, err
			}
			_, err = slou.Compute(ctx, m, slou.Options{Parallel: workers}, procs.Alone())
			return events, err
		}},
		{"a loop that only counts", func(workers int) (float64, error) {
			var wg sync.WaitGroup
			total := b.pick(300_000_000, 3_000_000)
			for range workers {
				wg.Go(func() { spun.Add(spin(total / workers)) })
			}
			wg.Wait()
			return events, nil
		}},
	}
	const both = 2
	rates := make([][both][]float64, len(jobs)) // events per second of CPU time, by number of workers
	walls := make([][both][]float64, len(jobs))
	for range b.pick(7, 2) {
		for i, j := range jobs {
			for workers := 1; workers <= both; workers++ {
				if i == 0 && workers > 1 {
					continue // it cannot
				}
				runtime.GC()
				watch := start()
				n, err := j.run(workers)
				if err != nil {
					return fmt.Errorf("%s: %w", j.name, err)
				}
				wall, cpu := watch.stop()
				rates[i][workers-1] = append(rates[i][workers-1], n/cpu*1e9)
				walls[i][workers-1] = append(walls[i][workers-1], wall/n)
			}
		}
	}
	t := b.table("Reading a trace", fmt.Sprintf("%.2g million events of the Cholesky example (2 nodes of 2 "+
		"workers); Go's tracer reads %d bytes of its own from memory. Per core: "+
		"events per second of CPU time, with one worker. Two workers: wall time with one over wall time with "+
		"two; beside a loop that only counts, which tells what two workers can reach at the moment.",
		events/1e6, len(goBytes)), "", "per core, ratio to Go's", "goal", "M events/s per core",
		"speed-up with two workers", "M events/s, one worker, wall time", "two workers")
	goRate := median(rates[0][0])
	for i, j := range jobs {
		speedup, two := "", ""
		if i > 0 {
			var up []float64
			for k := range walls[i][0] {
				up = append(up, walls[i][0][k]/walls[i][1][k])
			}
			speedup, two = ratio(median(up)), number(1e3/median(walls[i][1]))
		}
		if i == len(jobs)-1 {
			t.row(j.name, "", "", "", speedup, "", "")
			continue
		}
		goal := ""
		if i == len(jobs)-2 {
			goal = "1x"
		}
		t.row(j.name, ratio(median(rates[i][0])/goRate), goal, median(rates[i][0])/1e6, speedup,
			1e3/median(walls[i][0]), two)
	}

	bytesPerEvent, err := modelMemory(ctx, dir, events)
	if err != nil {
		return err
	}
	m := b.table("Memory of the model", fmt.Sprintf("Of the same trace, names and identities of DFs included, "+
		"after a collection of garbage; %.2g million events.", events/1e6),
		"", "bytes/event", "goal")
	m.row("model", bytesPerEvent, "24")
	return nil
}

// readAll reads a trace into the model.
func readAll(ctx context.Context, dir string, workers int) (*model.Model, error) {
	r, err := trace.Open(dir)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	m, err := model.Build(ctx, r, model.Options{Parallel: workers})
	if err == nil && len(m.Problems) > 0 {
		err = fmt.Errorf("the trace has a problem: %s", m.Problems[0])
	}
	return m, err
}

// inUse is how many bytes of the heap are in use.
func inUse() float64 {
	runtime.GC()
	runtime.GC() // what pools still held goes with the second
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return float64(s.HeapAlloc)
}

// modelMemory is what the heap grows by with the model, per event.
func modelMemory(ctx context.Context, dir string, events float64) (float64, error) {
	before := inUse()
	m, err := readAll(ctx, dir, 1)
	if err != nil {
		return 0, err
	}
	per := (inUse() - before) / events
	runtime.KeepAlive(m)
	return per, nil
}

// spun takes what spin computes, so that it is not left out.
var spun atomic.Uint64

// spin counts; the result keeps the loop from being removed.
//
//go:noinline
func spin(n int) (x uint64) {
	for i := range n {
		x = x*6364136223846793005 + uint64(i)
	}
	return x
}

// goSchedulerTrace makes a Go execution trace of goroutines that pass n values to each other: the events it
// is made for.
func goSchedulerTrace(n int) ([]byte, error) {
	var out bytes.Buffer
	if err := rtrace.Start(&out); err != nil {
		return nil, err
	}
	var wg sync.WaitGroup
	const pairs = 4
	for range pairs {
		there, back := make(chan int), make(chan int)
		wg.Go(func() {
			for range n / pairs {
				there <- 1
				<-back
			}
		})
		wg.Go(func() {
			for range n / pairs {
				back <- <-there
			}
		})
	}
	wg.Wait()
	rtrace.Stop()
	return out.Bytes(), nil
}
