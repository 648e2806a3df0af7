// Package crew is the processes that do one job together, seen from one of them.
//
// Started by mpirun, every process (rank) gets the same command line and goes through the same steps. Only
// rank 0 speaks: what the others would say is dropped, and mpirun sees the exit code of rank 0. A verb that
// many processes can do together calls Join first. From then on whatever may fail at one rank alone is
// followed by Agree: all go on, or all return, rank 0 with the error. Verbs that do not join are done by rank
// 0 alone. A process that mpirun did not start is a crew of one.
package crew

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

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/run/transport"
	"github.com/whyslow/whyslow/trace"
)

// World is what MPI offers to one of its processes.
type World interface {
	Rank() int // of this process, from 0
	Size() int
	HostRank() int // among the processes of this host
	HostSize() int
	Group() procs.Group // to be used by one goroutine at a time
	// Connect joins the network of a run: deliver is called, from one goroutine, for each message to this
	// process.
	Connect(deliver func(*transport.Message)) transport.Network
	// Finalize ends MPI here, once everybody calls it and all that was sent has arrived.
	Finalize() error
	// Abort ends all processes at once with an exit code.
	Abort(code int)
	// Threads tells how threads may use MPI: "multiple" or "serialized".
	Threads() string
}

// alone is the world of a process that mpirun did not start. It has no network.
type alone struct{ World }

func (alone) Rank() int          { return 0 }
func (alone) Size() int          { return 1 }
func (alone) HostRank() int      { return 0 }
func (alone) HostSize() int      { return 1 }
func (alone) Group() procs.Group { return procs.Alone() }
func (alone) Finalize() error    { return nil }

// Set where MPI is built in.
var (
	startWorld func() (World, error)
	mpiVersion func() string // "Open MPI 4.1.4"
)

// HasMPI tells whether MPI is built in.
func HasMPI() bool { return startWorld != nil }

// MPIVersion is such as "Open MPI 4.1.4", or "" where MPI is not built in.
func MPIVersion() string {
	if !HasMPI() {
		return ""
	}
	return mpiVersion()
}

// rankVariables are where the starters of MPI programs tell a process its rank and the number of ranks:
// mpirun of Open MPI, Hydra (MPICH), srun with PMIx.
var rankVariables = []struct{ rank, ranks string }{
	{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, {"PMI_RANK", "PMI_SIZE"}, {"PMIX_RANK", "SLURM_NTASKS"},
}

// Place is the rank of this process and the number of ranks it was started with; 0 and 1 without mpirun.
func Place() (rank, ranks int) {
	for _, env := range rankVariables {
		rank, err := strconv.Atoi(os.Getenv(env.rank))
		ranks, err2 := strconv.Atoi(os.Getenv(env.ranks))
		if err == nil && err2 == nil && rank >= 0 && rank < ranks {
			return rank, ranks
		}
	}
	return 0, 1
}

// Ranks is the number of ranks this process was started with, 1 without mpirun.
func Ranks() int {
	_, ranks := Place()
	return ranks
}

// Mute silences all ranks but the first.
func Mute(s console.IO) console.IO {
	if rank, _ := Place(); rank > 0 {
		s.Out, s.Err, s.OutTerm, s.ErrTerm = io.Discard, io.Discard, false, false
	}
	return s
}

// ErrElsewhere ends a rank that has nothing to say, because rank 0 says it.
var ErrElsewhere = console.Exit(console.Done, nil)

// Crew is all processes of a job, seen from one.
type Crew struct {
	World
	procs []trace.ProcessInfo // by rank, after Meet
	left  bool
	said  bytes.Buffer // what a rank would have said that does not speak; Agree passes it on
}

// joined: this process has met the others. What fails from then on rank 0 says.
var joined bool

// Joined tells whether this process has met the others. Rank 0 reports every failure after that.
func Joined() bool { return joined }

// Alone is a crew of one.
func Alone() *Crew { return &Crew{World: alone{}} }

// Join starts MPI if mpirun started this process with others; otherwise the crew is this process alone. All
// ranks must be the same build of whyslow; version names this one. Call Leave at the end, whatever happens.
func Join(version string) (*Crew, error) {
	ranks := Ranks()
	if ranks == 1 {
		return Alone(), nil
	}
	if !HasMPI() {
		return nil, console.Exit(console.BadUsage, fmt.Errorf("started on %d MPI ranks, but built without"+
			" MPI: build it with"+
			" 'make mpi', or leave out mpirun ('run -n %d' has %d nodes in one process)", ranks, ranks, ranks))
	}
	stop := sayIfSlow()
	defer stop()
	w, err := startWorld()
	if err != nil {
		return nil, console.Exit(console.BadUsage, err)
	}
	c := &Crew{World: w}
	joined = true
	if err = sameBuild(c, version); err != nil {
		c.Leave(&err)
		return nil, err
	}
	return c, nil
}

// Many tells whether there are other processes.
func (c *Crew) Many() bool { return c.Size() > 1 }

// Speaks tells whether this process is the one that speaks to the user.
func (c *Crew) Speaks() bool { return c.Rank() == 0 }

// Hush keeps what a silent rank says until Agree asks for it.
func (c *Crew) Hush(s console.IO) console.IO {
	if !c.Speaks() {
		s.Err = &c.said
	}
	return s
}

// Meet tells all ranks where each of them runs.
func (c *Crew) Meet() (err error) {
	c.procs, err = procs.AllOf(c.Group(), ThisProcess())
	return err
}

// Processes are the processes by rank, after Meet.
func (c *Crew) Processes() []trace.ProcessInfo { return c.procs }

// Abandon makes Leave do nothing: others may be gone already, and must not be waited for.
func (c *Crew) Abandon() { c.left = true }

// Leave ends MPI, the first time; all ranks call it. A failure becomes *err where that is nil.
func (c *Crew) Leave(err *error) {
	if c.left {
		return
	}
	c.left = true
	if failed := c.Finalize(); failed != nil && *err == nil {
		*err = console.Exit(console.BadUsage, fmt.Errorf("MPI: %w", failed))
	}
}

// LeaveUnlessInterrupted is Leave, except after a Ctrl+C. Ending MPI takes mpirun, which then only ends the
// ranks, and what this one has to say must be said before.
func (c *Crew) LeaveUnlessInterrupted(ctx context.Context, err *error) {
	if ctx.Err() != nil {
		c.Abandon()
	}
	c.Leave(err)
}

// EndAtOnce ends this rank at a Ctrl+C, after it has said what it has to say, until done is called. Starting
// and ending MPI take mpirun, which then only ends the ranks. Without mpirun it does nothing.
func EndAtOnce(ctx context.Context, speak func()) (done func()) {
	if Ranks() == 1 {
		return func() {}
	}
	stop := context.AfterFunc(ctx, func() {
		speak()
		EndStderr()
		os.Exit(console.Interrupted)
	})
	return sync.OnceFunc(func() {
		if !stop() {
			select {} // it is ending
		}
	})
}

// Agree lets all ranks go on, or none: it returns nil if all called it with nil. Otherwise every rank is to
// return what Agree returns: at rank 0 its own error, or that of the first rank that failed; at the others
// ErrElsewhere.
func (c *Crew) Agree(err error) error {
	if !c.Many() {
		return err
	}
	var mine []byte
	if err != nil {
		text := err.Error()
		var exit *console.Error
		if errors.As(err, &exit) && exit.Err == nil {
			text = strings.TrimSpace(c.said.String())
		}
		mine = append([]byte{byte(console.Code(err))}, fmt.Sprintf("rank %d (%s): %s", c.Rank(), HostName(),
			text)...)
	}
	all, failed := procs.AllGather(c.Group(), mine)
	switch {
	case failed != nil:
		return console.Exit(console.BadUsage, failed)
	case c.Speaks() && err != nil:
		return err
	}
	for _, b := range all {
		switch {
		case len(b) > 0 && !c.Speaks():
			return ErrElsewhere
		case len(b) > 0:
			return console.Exit(int(b[0]), errors.New(string(b[1:])))
		}
	}
	return nil
}

// HostName is what this computer is called.
func HostName() string {
	host, err := os.Hostname()
	if err != nil {
		return "localhost"
	}
	return host
}
