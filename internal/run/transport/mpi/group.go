//go:build mpi

package mpi

/*
#cgo noescape ws_group_done
#cgo nocallback ws_group_done
#cgo noescape ws_pause
#cgo nocallback ws_pause
#include "glue.h"
*/
import "C"

import (
	"runtime"
	"time"
	"unsafe"
)

// mostBytes is the most that one call of MPI carries: its lengths are ints. (Tests make it smaller.)
var mostBytes = 1 << 30

// comm is a procs.Group on a communicator of its own.
type comm struct {
	w *World
	c C.MPI_Comm
}

// Rank implements procs.Group.
func (c *comm) Rank() int { return c.w.rank }

// Size implements procs.Group.
func (c *comm) Size() int { return c.w.size }

// Exchange implements procs.Group. Bytes go from and to where they are, in pieces.
func (c *comm) Exchange(out [][]byte) ([][]byte, error) {
	var pins runtime.Pinner
	defer pins.Unpin()
	sizes := make([]int64, 2*c.w.size)
	give, get := sizes[:c.w.size], sizes[c.w.size:]
	for i, b := range out {
		give[i] = int64(len(b))
	}
	pins.Pin(&sizes[0])
	c.w.mu.Lock()
	requests := []C.MPI_Request{C.ws_sizes(c.c, (*C.int64_t)(&give[0]), (*C.int64_t)(&get[0]))}
	c.w.mu.Unlock()
	c.wait(requests)

	in := make([][]byte, c.w.size)
	requests = requests[:0]
	each := func(b []byte, start func(p unsafe.Pointer, n C.int64_t) C.MPI_Request) {
		if len(b) == 0 {
			return
		}
		pins.Pin(&b[0])
		for ; len(b) > 0; b = b[min(mostBytes, len(b)):] {
			c.w.mu.Lock()
			requests = append(requests, start(unsafe.Pointer(&b[0]), C.int64_t(min(mostBytes, len(b)))))
			c.w.mu.Unlock()
		}
	}
	for i, n := range get {
		if n == 0 {
			continue
		}
		in[i] = make([]byte, n)
		if i == c.w.rank {
			copy(in[i], out[i])
			continue
		}
		each(in[i], func(p unsafe.Pointer, n C.int64_t) C.MPI_Request {
			return C.ws_group_recv(c.c, p, n, C.int(i))
		})
	}
	for k := range out {
		i := (c.w.rank + k) % c.w.size // not all to the same one first
		if i != c.w.rank {
			each(out[i], func(p unsafe.Pointer, n C.int64_t) C.MPI_Request {
				return C.ws_group_send(c.c, p, n, C.int(i))
			})
		}
	}
	c.wait(requests)
	return in, nil
}

// wait returns when all requests are complete. It spins for a moment, letting other processes run, then looks
// at intervals that grow with the time waited. C does the sleeping: Go's timers are a millisecond late in a
// process that does nothing else, and an analysis may consist of thousands of short exchanges.
func (c *comm) wait(requests []C.MPI_Request) {
	if len(requests) == 0 {
		return
	}
	for start := time.Now(); ; {
		c.w.mu.Lock()
		done := C.ws_group_done(C.int(len(requests)), &requests[0])
		c.w.mu.Unlock()
		if done != 0 {
			return
		}
		pause := time.Duration(0)
		if waited := time.Since(start); waited > 200*time.Microsecond {
			pause = min(waited/8, time.Millisecond)
		}
		C.ws_pause(C.int64_t(pause))
	}
}
