package prof_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// A program that traces itself: one task that produces a value, one that uses it.
func ExampleRecord() {
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	dir := filepath.Join(folder, "tasks.trace")

	rec, err := prof.Record(dir, 1)
	if err != nil {
		log.Fatal(err)
	}
	s := rec.Worker(0)
	square, x := rec.NewCode("square"), rec.NewDF("x", 7)
	cf := rec.NewCF()
	rec.CFCreated.Emit(s, cf, square, 0, 1, 1, []int32{7})
	rec.CFReady.Emit(s, cf, 0)
	rec.CFStarted.Emit(s, cf, 1, nil)
	// ... the work ...
	rec.DFCreate.Emit(s, x, 8, cf)
	rec.CFFinished.Emit(s, cf, 1, -1)
	if err := rec.Close(); err != nil {
		log.Fatal(err)
	}

	r, err := trace.Open(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	var b trace.Batch
	for c := r.Stream(0, 0); c.Next(&b); {
		for _, k := range b.Kind {
			fmt.Println(k)
		}
	}
	name, _ := r.Defs(0).DFName(x)
	fmt.Println("made", name, "and ended:", r.Run().Ended)
	// Output:
	// GlobalEvents.onProgramStarted
	// CFEvents.onCreated
	// CFEvents.onReady
	// CFEvents.onStarted
	// DFEvents.onCreate
	// CFEvents.onFinished
	// GlobalEvents.onProgramFinished
	// made x[7] and ended: done
}

// An event of one's own, and something that listens to it.
func ExampleSession_Define() {
	ses := prof.New()
	step, err := ses.Define("Solver", "onStep", trace.Field{Name: "n", Type: trace.FieldInt},
		trace.Field{Name: "residual", Type: trace.FieldFloat})
	if err != nil {
		log.Fatal(err)
	}
	err = step.Connect("printer", 10, func(n int64, residual float64) {
		fmt.Println("step", n, "residual", residual)
	})
	if err != nil {
		log.Fatal(err)
	}
	s := ses.Stream(0, 0, nil) // nil: not recorded
	fmt.Println(step.Emit(s, 1, 0.25))
	fmt.Println(step.Emit(s, "one"))
	// Output:
	// step 1 residual 0.25
	// <nil>
	// event Solver.onStep takes (n Int, residual Float), but is emitted with (string)
}
