// Command go integrates a function in parts on two goroutines to compute pi, and traces itself: see the lines
// with rec.
//
// \tgo run ./examples/go pi.trace
// \twhyslow report pi.trace
package main

import (
	"fmt"
	"log"
	"os"
	"sync"

	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

const (
	workers = 2
	parts   = 64
	steps   = 200_000 // of a part; later parts take more, so that the workers get uneven shares
)

// task is a part to integrate.
type task struct {
	part int
	cf   trace.CF
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: go run ./examples/go TRACE")
	}
	pi, err := run(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("pi is about %.9f\n", pi)
}

func run(dir string) (pi float64, err error) {
	rec, err := prof.Record(dir, workers)
	if err != nil {
		return 0, err
	}
	integrate, add := rec.NewCode("integrate"), rec.NewCode("add")

	tasks := make(chan task, parts)
	for i := range parts {
		t := task{i, rec.NewCF()}
		rec.CFCreated.Emit(rec.System(), t.cf, integrate, 0, 1, 1, []int32{int32(i)})
		rec.CFReady.Emit(rec.System(), t.cf, 0)
		tasks <- t
	}
	close(tasks)

	var sums [parts]float64
	var dfs [parts]trace.DF
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			s := rec.Worker(w)
			for t := range tasks {
				dfs[t.part] = rec.NewDF("sum", int64(t.part))
				rec.CFStarted.Emit(s, t.cf, 1, nil)
				sums[t.part] = integral(t.part)
				rec.DFCreate.Emit(s, dfs[t.part], 8, t.cf)
				rec.CFFinished.Emit(s, t.cf, 1, -1)
			}
		})
	}
	wg.Wait()

	s, cf := rec.Worker(0), rec.NewCF()
	rec.CFCreated.Emit(s, cf, add, 0, 1, 1, nil)
	rec.CFReady.Emit(s, cf, 0)
	rec.CFStarted.Emit(s, cf, 1, dfs[:])
	for _, v := range sums {
		pi += v
	}
	rec.CFFinished.Emit(s, cf, 1, -1)
	return pi, rec.Close()
}

// integral is that of 4/(1+x*x) over a part of 0 to 1.
func integral(part int) (sum float64) {
	n := steps * (1 + part/16)
	h := 1 / float64(parts*n)
	for i := range n {
		x := (float64(part*n+i) + 0.5) * h
		sum += 4 / (1 + x*x) * h
	}
	return sum
}
