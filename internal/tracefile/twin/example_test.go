package twin_test

import (
	"log"
	"os"

	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/trace"
)

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
	err = twin.Dump(os.Stdout, r, twin.Options{
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
