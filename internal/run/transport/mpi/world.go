//go:build mpi

package mpi

/*
#cgo pkg-config: ompi-c
#include <stdlib.h>
#include "glue.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/run/transport"
)

// World is the processes that mpirun has started, seen from one of them. Its methods may be called from any
// goroutine.
type World struct {
	mu     sync.Mutex // around all calls of MPI: not every MPI can do without, and none is faster without
	rank   int
	size   int
	many   bool // MPI could do without mu
	group  *comm
	own    *comm // for what World itself has to agree on
	words  []*C.uint32_t
	net    *network
	ended  bool
	onHost struct{ rank, size int }
}

// Init starts MPI; all processes call it, once. Signal handlers of this process stay as they are. Where MPI
// cannot start at all it ends the process with a message of its own.
func Init() (*World, error) {
	var already C.int
	if C.MPI_Initialized(&already); already != 0 {
		return nil, errors.New("MPI is already started: a process can start it only once")
	}
	var provided C.int
	if err := C.ws_init(&provided); err != C.MPI_SUCCESS {
		return nil, fmt.Errorf("MPI failed to start: %s", text(err))
	}
	if provided < C.MPI_THREAD_SERIALIZED {
		C.ws_finalize()
		return nil, fmt.Errorf("%s is built without threads: whyslow needs MPI_THREAD_SERIALIZED at least",
			Version())
	}
	w := &World{many: provided >= C.MPI_THREAD_MULTIPLE}
	var n, hostRank, hostSize C.int
	C.MPI_Comm_rank(C.ws_world(), &n)
	w.rank = int(n)
	C.MPI_Comm_size(C.ws_world(), &n)
	w.size = int(n)
	words := (**C.uint32_t)(C.calloc(C.size_t(w.size), C.size_t(unsafe.Sizeof(uintptr(0)))))
	defer C.free(unsafe.Pointer(words))
	if err := C.ws_host(&hostRank, &hostSize, words); err != C.MPI_SUCCESS {
		return nil, fmt.Errorf("MPI cannot share memory between the processes of this host (is /dev/shm"+
			" full?): %s", text(err))
	}
	w.words = append(w.words, unsafe.Slice(words, w.size)...)
	w.onHost.rank, w.onHost.size = int(hostRank), int(hostSize)
	w.group, w.own = &comm{w, C.ws_dup()}, &comm{w, C.ws_dup()}
	w.net = newNetwork(w)
	return w, nil
}

// text is what MPI says about an error.
func text(err C.int) string {
	var b [C.MPI_MAX_ERROR_STRING]C.char
	var n C.int
	C.MPI_Error_string(err, &b[0], &n)
	return C.GoStringN(&b[0], n)
}

// Rank is the number of this process, from 0.
func (w *World) Rank() int { return w.rank }

// Size is the number of processes.
func (w *World) Size() int { return w.size }

// HostRank is the number of this process among those of its host, from 0.
func (w *World) HostRank() int { return w.onHost.rank }

// HostSize is the number of processes on this host.
func (w *World) HostSize() int { return w.onHost.size }

// Group is the processes as a group. Where a process ends without Finalize, mpirun ends the others: no call
// of the group fails.
func (w *World) Group() procs.Group { return w.group }

// Threads says how MPI deals with threads: "multiple" or "serialized". Nobody has to care, calls are
// serialized here.
func (w *World) Threads() string {
	if w.many {
		return "multiple"
	}
	return "serialized"
}

// Connect joins a network of all processes, each a node with the number of its rank. All call it, and one
// network must be closed everywhere before the next begins. deliver is called for one message at a time, by a
// goroutine of the network or one that serves it, maybe before Connect returns. A closed network still sends
// what it was given before; messages to it are dropped.
//
// Large values are sent from where they are: they must not change until Queue no longer counts their message.
func (w *World) Connect(deliver func(*transport.Message)) transport.Network {
	return w.net.connect(deliver)
}

// Finalize ends MPI, once everything sent has arrived and all processes have called it. The process may go on
// without.
func (w *World) Finalize() error {
	w.mu.Lock()
	ended := w.ended
	w.ended = true
	w.mu.Unlock()
	if ended {
		return nil
	}
	w.net.end()
	w.mu.Lock()
	defer w.mu.Unlock()
	C.MPI_Comm_free(&w.group.c)
	C.MPI_Comm_free(&w.own.c)
	C.ws_finalize()
	return nil
}

// Abort ends all processes at once with that exit code; mpirun says so on standard error. It does not return.
func (w *World) Abort(code int) {
	if !w.many {
		// Nobody holds the lock for long, unless MPI hangs.
		for end := time.Now().Add(time.Second); !w.mu.TryLock() && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
	}
	w.abort(code)
}

func (w *World) abort(code int) {
	C.MPI_Abort(C.ws_world(), C.int(code))
	select {} // until mpirun has its way
}

// Version is the name and version of the MPI library, as "Open MPI 4.1.4".
func Version() string {
	var b [C.MPI_MAX_LIBRARY_VERSION_STRING]C.char
	var n C.int
	C.MPI_Get_library_version(&b[0], &n)
	name, _, _ := strings.Cut(C.GoStringN(&b[0], n), ",")
	name, _, _ = strings.Cut(name, "\n")
	return strings.Replace(name, " v", " ", 1)
}
