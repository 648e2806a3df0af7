package recording

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/run/crew"
	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// ending is what each process tells rank 0 when the run is over.
type ending struct {
	Nodes  []trace.NodeInfo // of it: what could not be written
	Clock  trace.ClockPair  // at the end
	Load   crew.Load        // of the run
	Lost   uint64           // events that were not recorded
	Failed string           // why its trace is not complete
	Module bool             // a module failed; the user was told
}

// End lets the modules finish, and has rank 0 note in the trace how the run ended at all ranks. outcome is
// nil if it ended well, and carries the exit code if not; runErr says why. All ranks call it.
func (r *Recording) End(runErr, outcome error) error {
	if r.Session == nil {
		return nil
	}
	many, speaks := r.crew.Many(), r.crew.Speaks()
	own := r.endPart()
	if r.trace == nil {
		own.Module = r.finishModules()
	}
	all, err := procs.AllOf(r.crew.Group(), own)
	if err != nil {
		return err
	}
	var failed error
	broken, lost := false, uint64(0)
	for rank, e := range all {
		broken, lost = broken || e.Module, lost+e.Lost
		switch {
		case e.Failed == "" || failed != nil:
		case many:
			failed = fmt.Errorf("node %d: %s", rank, e.Failed)
		default:
			failed = errors.New(e.Failed)
		}
		if r.trace != nil && speaks {
			r.noteNodes(e.Nodes)
			r.noteLoad(rank, e.Load)
			if many {
				r.info.Processes[rank].Monotonic = append(r.info.Processes[rank].Monotonic, e.Clock)
			}
		}
	}
	if r.trace != nil {
		if speaks {
			r.noteEnd(runErr, outcome)
			failed = cmp.Or(failed, r.writeInfo(true))
		}
		if many {
			failed = cmp.Or(failed, r.gatherParts())
			failed = cmp.Or(failed, r.shareInfo(), r.writeInfo(speaks))
		}
		r.endSource()
		broken = r.finishModules() || broken
	}
	if !speaks {
		return nil
	}
	if lost > 0 {
		r.io.Say("warning: %d events were not recorded", lost)
	}
	if failed == nil && broken {
		if r.left {
			return console.Exit(console.Interrupted, nil)
		}
		return console.Exit(console.Damaged, nil)
	}
	return incomplete(failed)
}

// endPart completes the files of this process.
func (r *Recording) endPart() ending {
	e := ending{Clock: clockPair(), Load: crew.LoadNow().Since(r.load)}
	if r.trace == nil {
		return e
	}
	if err := r.trace.Finish(); err != nil {
		e.Failed = console.FileError(err).Error()
	}
	for _, w := range r.trace.Writers() {
		n := trace.NodeInfo{Node: w.Node()}
		if w.Err() != nil {
			n.Unwritten, n.Error = w.Unwritten(), w.Err().Error()
		}
		e.Nodes, e.Lost = append(e.Nodes, n), e.Lost+w.Lost()
	}
	return e
}

// noteNodes notes what could not be written of nodes.
func (r *Recording) noteNodes(nodes []trace.NodeInfo) {
	for _, n := range nodes {
		if known := r.info.Node(n.Node); known != nil {
			known.Unwritten, known.Error = n.Unwritten, n.Error
		}
	}
}

// noteLoad notes the processor time that a process took, and all programs on its cores.
func (r *Recording) noteLoad(rank int, load crew.Load) {
	p := &r.info.Processes[rank]
	p.CPU, p.Busy = load.Own, load.Busy
}

// StayInside tells who follows the trace of a CF that has not come back from user code so far. Rank 0 knows
// those of all.
func (r *Recording) StayInside(cf trace.InsideInfo) {
	r.insideMu.Lock()
	defer r.insideMu.Unlock()
	if r.trace == nil || r.over {
		return
	}
	r.info.Inside = []trace.InsideInfo{cf}
	_ = r.writeInfo(true) // what fails now fails at the end, too, and is said then
}

// NoteInside notes the CFs that did not come back from user code, before End or Interrupted. Rank 0 knows
// those of all.
func (r *Recording) NoteInside(list []trace.InsideInfo) {
	r.insideMu.Lock()
	defer r.insideMu.Unlock()
	r.info.Inside, r.over = list, true
}

// NoteSettings notes what else shaped the run, before End.
func (r *Recording) NoteSettings(more map[string]string) {
	r.insideMu.Lock()
	defer r.insideMu.Unlock()
	maps.Copy(r.info.Settings, more)
}

// noteEnd notes how the run ended.
func (r *Recording) noteEnd(runErr, outcome error) {
	r.info.Ended = trace.EndedDone
	if outcome == nil {
		return
	}
	r.info.Exit, r.info.Message = console.Code(outcome), runErr.Error()
	r.info.Ended = cmp.Or(map[int]string{console.Stuck: trace.EndedStuck,
		console.Interrupted: trace.EndedInterrupted}[r.info.Exit], trace.EndedFailed)
}

// finishModules reports whether one failed, and tells the user about it.
func (r *Recording) finishModules() (failed bool) {
	err := r.run.Finish()
	r.left = errors.Is(err, prof.ErrLeft)
	if err != nil {
		r.io.Say("%s", strings.ReplaceAll(err.Error(), "\n", "\nwhyslow: "))
	}
	return err != nil
}

// incomplete is the end of a run of which not everything is in the trace.
func incomplete(err error) error {
	if err == nil {
		return nil
	}
	return console.Exit(console.Damaged, fmt.Errorf("the trace is incomplete: %w", console.FileError(err)))
}

// endSource tells those who follow the trace that it is whole.
func (r *Recording) endSource() {
	if r.queue != nil {
		for _, w := range r.trace.Writers() {
			r.queue.CloseNode(w.Node())
		}
	}
	if r.send != nil {
		r.send.sender.EndSource()
	}
	if r.live != nil {
		r.live.Ended()
	}
}

// parts says where the parts of the trace are.
func (r *Recording) parts() string {
	var list []string
	for _, n := range r.info.Nodes {
		if n.Part != "" {
			list = append(list, n.Part)
		}
	}
	return strings.Join(list, ", ")
}

// gatherParts brings all nodes' files into the trace's folder. Parts are removed when all have arrived.
func (r *Recording) gatherParts() error {
	if r.local == "" {
		return nil
	}
	file := func(node int) string { return filepath.Join(r.folder, tracefile.FileName(node)) }
	err := r.crew.GatherFiles(filepath.Join(r.local, tracefile.FileName(r.crew.Rank())), file)
	if failed := procs.Agree(r.crew.Group(), err); failed != nil {
		if !r.crew.Speaks() {
			return failed
		}
		for node := range r.crew.Size() {
			if err := os.Remove(file(node)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				failed = errors.Join(failed, err)
			}
		}
		return fmt.Errorf("its parts could not be gathered: %w; they are in %s", failed, r.parts())
	}
	r.old, r.local = r.local, ""
	return nil
}

const (
	// Grace is how long what a program has printed is waited for after an interrupt: mpirun kills all soon.
	Grace = 100 * time.Millisecond
	// stayAfter is how long an interrupted process stays: mpirun kills all when one ends, or after 1 s.
	stayAfter = 850 * time.Millisecond
	// othersAfter is how long after it the files of the others should be complete.
	othersAfter = 550 * time.Millisecond
)

// Interrupted ends one of many processes after a Ctrl+C, or because another one has died. It waits for
// nobody else. The trace comes first, then what rank 0 has to say, then what the program has printed: flush
// brings it out.
func (r *Recording) Interrupted(v *crew.Voice, say, flush func(), runErr error) error {
	defer func() { time.Sleep(time.Until(v.Interrupted().Add(stayAfter))) }()
	r.crew.Abandon()
	outcome := console.Exit(console.Interrupted, nil)
	var err error
	if r.trace != nil {
		e := r.endPart()
		if e.Failed != "" {
			err = errors.New(e.Failed)
		}
		r.noteNodes(e.Nodes)
		r.noteLoad(r.crew.Rank(), e.Load)
		r.noteEnd(runErr, outcome)
		err = errors.Join(err, r.writeInfo(r.crew.Speaks()))
		r.endSource()
	}
	if r.crew.Speaks() {
		say()
		if err != nil {
			r.io.Say("%v", incomplete(err))
		}
	}
	flush()
	if r.run != nil {
		r.finishModules()
	}
	v.Abandon()
	if r.send != nil {
		r.send.wait(context.Background(), r.io, Grace)
	}
	if dir := r.Folder(); dir != "" && r.crew.Speaks() {
		r.lookForDead(v.Interrupted())
		fmt.Fprintln(r.io.Err, dir)
	}
	return outcome
}

// lookForDead says which nodes' traces end early because their processes died, and where parts are.
func (r *Recording) lookForDead(interrupted time.Time) {
	if r.opt.LocalDir != "" {
		r.io.Say("the parts of the trace were not gathered: %s", r.parts())
		return
	}
	time.Sleep(time.Until(interrupted.Add(othersAfter)))
	whole, err := trace.Open(r.folder)
	if err != nil {
		r.io.Say("warning: %v", console.FileError(err))
		return
	}
	defer whole.Close()
	for i := range r.info.Nodes {
		if n := &r.info.Nodes[i]; !whole.Closed(n.Node) {
			n.Error = "its process ended early"
			r.io.Say("warning: the trace of node %d (%s, rank %d) is not complete: %s", n.Node, n.Host,
				n.Process, n.Error)
			err = r.writeInfo(true)
		}
	}
	if err != nil {
		r.io.Say("warning: %v", console.FileError(err))
	}
}
