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
