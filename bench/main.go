// Bench measures whyslow and prints tables. Every figure comes from this run: what is compared is run in turns
// (A B A B ...), medians are taken, and ratios are what to look at, since the machine may be busy with other things.
//
//	go run . engine     an empty CF through the engine, recording on and off
//	go run . start      start-up of a program whose C++ is cached
//	go run . compile    compiling a LuNA program of 2 000 lines
//	go run .            all
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
)

var benches = []struct {
	name string
	run  func(ctx context.Context) error
}{
	{"engine", benchEngine},
	{"start", benchStart},
	{"compile", benchCompile},
}

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	fmt.Printf("%s, %s/%s, %d cores\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	for _, b := range benches {
		if len(os.Args) > 1 && !slices.Contains(os.Args[1:], b.name) {
			continue
		}
		if err := b.run(ctx); err != nil {
			fmt.Fprintf(os.Stderr, "bench %s: %v\n", b.name, err)
			os.Exit(1)
		}
	}
}

// median of a sample; it is sorted in place.
func median[T int64 | float64](s []T) T {
	slices.Sort(s)
	return s[len(s)/2]
}
