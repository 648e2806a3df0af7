//go:build mpi

// Mpiping is what rivals/pingpong_mpi.c is, by whyslow's network: each message is received by deliver, which
// sends the next one. Arguments and output are the same.
package main

import (
	"fmt"
	"os"
	"slices"

	"github.com/whyslow/whyslow/internal/clock"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/internal/run/transport"
	"github.com/whyslow/whyslow/internal/run/transport/mpi"
)

const least = 3 // portions

func main() {
	w, err := mpi.Init()
	for _, arg := range os.Args[1:] {
		if err == nil {
			err = pingPong(w, arg)
		}
	}
	if err == nil {
		err = w.Finalize()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mpiping:", err)
		os.Exit(1)
	}
}

func pingPong(w *mpi.World, arg string) error {
	var size, times int
	var ms int64
	if _, err := fmt.Sscanf(arg, "%d:%d:%d", &size, &times, &ms); err != nil {
		return fmt.Errorf("%q is not SIZE:TIMES:MS: %w", arg, err)
	}
	done := make(chan []float64, 1)
	var ns []float64
	var count int
	var began, start int64
	over := false
	ready := make(chan struct{})
	var net transport.Network
	net = w.Connect(func(m *transport.Message) {
		<-ready
		if w.Rank() == 0 {
			if count++; count%times == 0 {
				now := clock.Now()
				if count == times { // one was to get warm
					began = now
				} else {
					ns = append(ns, float64(now-start)/float64(times)/2)
				}
				over = len(ns) >= least && now-began >= ms*1_000_000
				start = now
			}
		}
		if over {
			for _, v := range m.Payload {
				v.Release()
			}
			done <- ns
			return
		}
		net.Send(&transport.Message{From: w.Rank(), To: 1 - w.Rank(), Payload: m.Payload})
	})
	close(ready)
	if w.Rank() == 0 {
		start = clock.Now()
		net.Send(&transport.Message{To: 1, Payload: []cpp.Value{cpp.AllocBlock(size)}})
		ns := <-done
		slices.Sort(ns)
		fmt.Printf("%d %.1f\n", size, ns[len(ns)/2])
	}
	err := procs.Barrier(w.Group())
	net.Close()
	return err
}
