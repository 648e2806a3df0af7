package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/run/transport"
)

// # Many processes
//
// Started by mpirun, every process (rank) is given the same command line and goes through the same steps. Only rank 0
// speaks: what the others would say is dropped (execute), and mpirun sees the exit code of rank 0. A verb that many processes
// can do together calls joinWorld first. From then on whatever may fail at one rank alone is followed by agree: all go on, or
// all return, rank 0 with the error. Verbs that do not join are done by rank 0 alone.

// verbsOfMany are the verbs that many processes do together.
var verbsOfMany = []string{"run", "report", "experiment", "doctor", "luna", "rts"}

// world is the processes that mpirun started, seen from one of them.
type world interface {
	Rank() int // of this process, from 0
	Size() int
	HostRank() int // among the processes of this host
	HostSize() int
	Group() procs.Group // to be used by one goroutine at a time
	// Connect joins the network of a run: deliver is called, from one goroutine, for each message to this process.
	Connect(deliver func(*transport.Message)) transport.Network
	// Finalize ends MPI here, once everybody calls it and all that was sent has arrived.
	Finalize() error
	// Abort ends all processes at once with an exit code.
	Abort(code int)
	// Threads tells how threads may use MPI: "multiple" or "serialized".
	Threads() string
}

// Set where MPI is built in.
var (
	startWorld func() (world, error)
	mpiVersion func() string // "Open MPI 4.1.4"
)

// mpiEnv is where the starters of MPI programs tell a process its rank and the number of ranks: mpirun of Open MPI, Hydra
// (MPICH), srun with PMIx.
var mpiEnv = []struct{ rank, ranks string }{
	{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, {"PMI_RANK", "PMI_SIZE"}, {"PMIX_RANK", "SLURM_NTASKS"},
}

// mpiPlace is the rank of this process and the number of ranks it was started with; 0 and 1 without mpirun.
func mpiPlace() (rank, ranks int) {
	for _, env := range mpiEnv {
		rank, err := strconv.Atoi(os.Getenv(env.rank))
		ranks, err2 := strconv.Atoi(os.Getenv(env.ranks))
		if err == nil && err2 == nil && rank >= 0 && rank < ranks {
			return rank, ranks
		}
	}
	return 0, 1
}

// mpiRanks is the number of ranks this process was started with, 1 without mpirun.
func mpiRanks() int {
	_, ranks := mpiPlace()
	return ranks
}

// onlyRank0 takes the voice of all ranks but the first.
func onlyRank0(s stdio) stdio {
	if rank, _ := mpiPlace(); rank > 0 {
		s.out, s.err, s.outTerm, s.errTerm = io.Discard, io.Discard, false, false
	}
	return s
}

// hushed makes what a rank says wait until agree asks for it, if it is not the one that speaks.
func hushed(s stdio, w world) stdio {
	if m, ok := w.(*member); ok && w.Rank() > 0 {
		s.err = &m.said
	}
	return s
}

// errElsewhere ends a rank that has nothing to say: rank 0 says it.
var errElsewhere = exitWith(exitDone, nil)

// joinWorld starts MPI where this process was started by mpirun with others, and is nil where it was not. Whoever got
// a world calls leaveWorld at the end, whatever happened.
func joinWorld() (world, error) {
	ranks := mpiRanks()
	if ranks == 1 {
		return nil, nil
	}
	if startWorld == nil {
		return nil, exitWith(exitUsage, noMPI(ranks))
	}
	stop := sayIfSlow()
	defer stop()
	w, err := startWorld()
	if err != nil {
		return nil, exitWith(exitUsage, err)
	}
	m := &member{world: w}
	joined = true
	if err = sameBuild(m); err != nil {
		leaveWorld(m, &err)
		return nil, err
	}
	return m, nil
}

// joined: this process has met the others. What fails from then on rank 0 says.
var joined bool

// member is a world that is left once only.
type member struct {
	world
	left bool
	said bytes.Buffer // what this rank would have said, if it is not the one that speaks; agree passes it on
}

// Finalize implements world; again it does nothing.
func (m *member) Finalize() error {
	if m.left {
		return nil
	}
	m.left = true
	return m.world.Finalize()
}

// abandon makes Finalize do nothing: others may be gone already, and must not be waited for.
func (m *member) abandon() { m.left = true }

// noMPI is what a program without MPI says that was started by mpirun.
func noMPI(ranks int) error {
	return fmt.Errorf("started on %d MPI ranks, but built without MPI: build it with 'make mpi', or leave out mpirun ('run -n %d' has %d nodes in one process)", ranks, ranks, ranks)
}

// leaveWorld ends MPI; all ranks call it. Nothing happens where w is nil.
func leaveWorld(w world, err *error) {
	if w == nil {
		return
	}
	if failed := w.Finalize(); failed != nil && *err == nil {
		*err = exitWith(exitUsage, fmt.Errorf("MPI: %w", failed))
	}
}

// leaveUnlessInterrupted is leaveWorld, except after a Ctrl+C: mpirun, which ending MPI takes, then does nothing but end the
// ranks, and what this one has to say must be said before.
func leaveUnlessInterrupted(ctx context.Context, w world, err *error) {
	if m, ok := w.(*member); ok && ctx.Err() != nil {
		m.abandon()
	}
	leaveWorld(w, err)
}

// endAtOnce ends this rank at a Ctrl+C, after it has said what it has to say, until done is called: starting and ending MPI take
// mpirun, which then does nothing but end the ranks. It does nothing without mpirun.
func endAtOnce(ctx context.Context, speak func()) (done func()) {
	if mpiRanks() == 1 {
		return func() {}
	}
	stop := context.AfterFunc(ctx, func() {
		speak()
		errLines.end()
		os.Exit(exitInterrupted)
	})
	return sync.OnceFunc(func() {
		if !stop() {
			select {} // it is ending
		}
	})
}

// agree lets all ranks go on, or none: it returns nil if all called it with nil. Otherwise every rank is to return what it
// returns: at rank 0 its own error, or the one of the first rank that failed, and errElsewhere at the others. Where w is
// nil it is err.
func agree(w world, err error) error {
	if w == nil {
		return err
	}
	var mine []byte
	if err != nil {
		code, text := exitUsage, err.Error()
		var exit *exitError
		if errors.As(err, &exit) {
			code = exit.code
			if m, ok := w.(*member); ok && exit.err == nil {
				text = strings.TrimSpace(m.said.String())
			}
		}
		mine = append([]byte{byte(code)}, fmt.Sprintf("rank %d (%s): %s", w.Rank(), hostName(), text)...)
	}
	all, failed := procs.AllGather(w.Group(), mine)
	switch {
	case failed != nil:
		return exitWith(exitUsage, failed)
	case w.Rank() == 0 && err != nil:
		return err
	}
	for _, b := range all {
		switch {
		case len(b) == 0:
		case w.Rank() > 0:
			return errElsewhere
		default:
			return exitWith(int(b[0]), errors.New(string(b[1:])))
		}
	}
	return nil
}

// hostName is what this computer is called.
func hostName() string {
	host, err := os.Hostname()
	if err != nil {
		return "localhost"
	}
	return host
}
