package trace_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/whyslow/whyslow/trace"
)

// Writing a trace and going through its events.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	dir = filepath.Join(dir, "run.trace")

	w, err := trace.Create(dir, 0, trace.Options{})
	if err != nil {
		log.Fatal(err)
	}
	w.DefineDF(1, w.Name("a"), []int64{0, 1, 7})
	s := w.Stream(0)
	cf := trace.MakeCF(0, 1)
	s.Emit(1000, trace.KindCFStarted, uint64(cf), 1, 1, 1) // execution 1, one input: DF 1
	s.Emit(9000, trace.KindCFFinished, uint64(cf), 1, 7900)
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}

	r, err := trace.Open(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	defs := r.Defs(0)
	err = r.Each(1, func(b *trace.Batch) error {
		for i := range b.N {
			args := b.Args(i)
			switch b.Kind[i] {
			case trace.KindCFStarted:
				fmt.Println(b.Time[i], "start of", trace.CF(args[0]))
				for _, df := range b.ListAt(i, 2) {
					name, identity, _ := defs.DF(trace.DF(df), nil)
					fmt.Println("  input", defs.Name(name), identity[2:])
				}
			case trace.KindCFFinished:
				fmt.Println(b.Time[i], "end of", trace.CF(args[0]))
			}
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range r.Problems() {
		fmt.Println(p)
	}
	// Output:
	// 1000 start of 0.1
	//   input a [7]
	// 9000 end of 0.1
}

// Part of a trace as text: one kind of event, in a span of time.
func ExampleDump() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	w, err := trace.Create(dir, 0, trace.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for t := range int64(10) {
		w.Stream(0).Emit(1000*t, trace.KindReadyQueue, uint64(t))
		w.Stream(1).Emit(1000*t+1, trace.KindIdle)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	r, err := trace.Open(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	err = trace.Dump(os.Stdout, r, trace.DumpOptions{
		NoDefs: true,
		In:     &trace.Span{From: 4000, To: 6000},
		Keep:   func(_ *trace.Defs, b *trace.Batch, i int) bool { return b.Kind[i] == trace.KindReadyQueue },
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// 4000 n0 s0 GlobalEvents.onReadyQueue length=4
	// 5000 n0 s0 GlobalEvents.onReadyQueue length=5
	// 6000 n0 s0 GlobalEvents.onReadyQueue length=6
}
