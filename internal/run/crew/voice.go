package crew

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/run/transport"
)

// Voice carries what this process prints, and what it has to say, to where the user reads it.
type Voice struct {
	IO       console.IO // of this process; what silent ranks say comes out at rank 0
	Terminal io.Writer  // for modules; of many processes each line names its node

	crew     *Crew
	stopped  atomic.Int64 // when the run was interrupted, in nanoseconds since 1970
	out      *output      // this and what follows: nil without other processes
	stdout   *capture
	said     *tagged // nil at rank 0
	terminal *tagged
}

// Lead gives this process its voice, until End. ctx ends when the run is interrupted.
func (c *Crew) Lead(ctx context.Context, std console.IO) (*Voice, error) {
	v := &Voice{IO: std, Terminal: std.Err, crew: c}
	context.AfterFunc(ctx, func() { v.stopped.Store(time.Now().UnixNano()) })
	if !c.Many() {
		return v, nil
	}
	v.out = newOutput(ctx, c.Rank(), c.Size(), os.Stdout, console.Beneath(std.Err))
	v.out.failed = func(err error) { std.Say("warning: the program's output cannot be written: %v", err) }
	tag := fmt.Sprintf("node %d: ", c.Rank())
	say := func(lines []byte) { v.out.put(toErr, lines) }
	v.terminal = &tagged{tag: tag, put: say}
	v.Terminal = v.terminal
	if !c.Speaks() {
		v.out.err = os.Stderr // should this rank have to write itself
		v.said = &tagged{tag: tag, put: say}
		v.IO.Err = v.said
	}
	var err error
	v.stdout, err = startCapture(func(was *os.File) func([]byte) {
		v.out.out = was
		return func(text []byte) { v.out.put(toOut, text) }
	})
	return v, err
}

// Interrupted is when the context of Lead ended.
func (v *Voice) Interrupted() time.Time { return time.Unix(0, v.stopped.Load()) }

// Connect is what the engine of one of many processes is to connect with: output shares the network.
func (v *Voice) Connect() func(deliver func(*transport.Message)) transport.Network {
	return v.out.connect(v.crew)
}

// Divert has what the program prints, and this one of many processes would write, go to another writer, made by
// to from standard output as it was.
func (v *Voice) Divert(to func(was *os.File) io.Writer) {
	v.out.writing.Lock()
	defer v.out.writing.Unlock()
	v.out.out = to(v.stdout.was)
}

// End brings to rank 0 what was printed last. All ranks call it.
func (v *Voice) End() error {
	if v.out == nil {
		return nil
	}
	err := v.stop()
	return errors.Join(err, v.out.finish(v.crew.Group()))
}

// Abandon ends the voice when mpirun is about to end all: what rank 0 has not taken is written here.
func (v *Voice) Abandon() {
	_ = v.stop() // there is nothing left to do about it
	v.out.abandon()
}

func (v *Voice) stop() error {
	v.terminal.flush()
	if v.said != nil {
		v.said.flush()
	}
	return v.stdout.end()
}
