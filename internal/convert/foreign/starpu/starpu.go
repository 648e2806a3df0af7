// Package starpu reads what StarPU's starpu_fxt_tool makes of a run: tasks.rec, data.rec and paje.trace.
//
// # What becomes what
//
// A rank of MPI is a node, a worker of StarPU a worker. A task is a CF, its code fragment the codelet. A
// piece of data (a handle) has versions: each is a DF, made by a task that writes the data, and an input of
// those that read it. Which version a task reads follows from the times: StarPU lets nobody read what is
// being written. A dependence between tasks without such data is a DF "NAME done". Tasks that no worker
// executed are points of synchronisation: who waits for one waits for the last task that it waits for.
//
// A task is ready when it has been submitted, what it waits for has ended, and what it reads has arrived.
//
// paje.trace adds what tasks.rec lacks: workers that executed nothing, when workers slept, messages between
// ranks, and how long workers were in which of StarPU's own states (model.OwnStatesSetting). data.rec says
// which data a message carries.
//
// paje.trace alone tells of tasks and states only. It does not say why tasks start when they do.
package starpu

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"math"

	"github.com/whyslow/whyslow/internal/convert/foreign"
	"github.com/whyslow/whyslow/internal/model"
)

// Format is that of StarPU's tasks.rec and paje.trace, or of a folder with both.
var Format = foreign.Format{Name: both, Is: is, Files: []string{"tasks.rec", "paje.trace", "data.rec"},
	Read: read}

// Names under which words.Imported has a folder, a tasks.rec alone and a paje.trace alone.
const (
	both       = "starpu"
	tasksOnly  = "starpu-tasks"
	statesOnly = "starpu-states"
)

func is(head []byte) bool { return isPaje(head) || isTasks(head) }

func isPaje(head []byte) bool { return bytes.HasPrefix(head, []byte("%EventDef")) }

func isTasks(head []byte) bool {
	first, _, _ := bytes.Cut(head, []byte{':'})
	switch string(first) {
	case "Name", "Model", "JobId", "Control":
		return bytes.HasPrefix(head, []byte("JobId: ")) || bytes.Contains(head, []byte("\nJobId: "))
	}
	return false
}

// none is the time of what is not told.
const none = math.MinInt64

// mostEdges is how many dependences and uses of data are read.
const mostEdges = 1 << 28

// run is what was read.
type run struct {
	tasks    []task
	byJob    map[job]int32
	deps     []job
	data     []access
	pieces   []piece
	byHandle map[handleKey]int32
	texts    []string
	names    map[string]int32

	workers  map[workerKey]*worker // of paje.trace
	states   map[stateKey]int64
	messages []message
	first    int64 // times that paje.trace tells of
	last     int64
}

type handleKey struct {
	rank   int
	handle uint64
}

// piece is a piece of data at a rank.
type piece struct {
	rank  int
	name  string  // "": not told
	place []int64 // coordinates
	tag   int64   // the same of the same data at all ranks; -1: not told
}

func newRun() *run {
	return &run{byJob: map[job]int32{}, byHandle: map[handleKey]int32{}, names: map[string]int32{},
		workers: map[workerKey]*worker{}, states: map[stateKey]int64{}, first: none, last: none}
}

// name gives the number of a name.
func (r *run) name(text []byte) int32 {
	n, ok := r.names[string(text)]
	if !ok {
		n = int32(len(r.texts))
		r.texts = append(r.texts, string(text))
		r.names[string(text)] = n
	}
	return n
}

func read(ctx context.Context, in io.Reader, to *foreign.Run) error {
	r := newRun()
	l := foreign.NewLines(ctx, in, "")
	var err error
	if isPaje(l.Peek(len("%EventDef"))) {
		to.Info.Settings[model.Imported] = statesOnly
		err = r.readPaje(l, true)
	} else {
		to.Info.Settings[model.Imported] = tasksOnly
		err = r.readTasks(l)
		if err == nil && to.Folder != nil {
			err = r.beside(ctx, to)
		}
	}
	var damaged *foreign.Error
	if err != nil && !errors.As(err, &damaged) {
		return err
	}
	if err == nil && len(r.tasks) == 0 {
		err = &foreign.Error{Offset: l.Offset(), Msg: "there are no tasks in it"}
	}
	if to.Info.Settings[model.Imported] != both {
		to.NoMessages()
	}
	to.Info.Settings[model.OwnStatesSetting] = r.told()
	return cmp.Or(r.write(ctx, to), err)
}

// beside reads the files beside tasks.rec, where they are.
func (r *run) beside(ctx context.Context, to *foreign.Run) error {
	for _, file := range []struct {
		name string
		read func(*foreign.Lines) error
	}{
		{"data.rec", r.readData},
		{"paje.trace", func(l *foreign.Lines) error {
			to.Info.Settings[model.Imported] = both
			return r.readPaje(l, false)
		}},
	} {
		f, err := to.Folder.Open(file.name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return err
		}
		err = file.read(foreign.NewLines(ctx, f, file.name))
		_ = f.Close() // it was only read
		if err != nil {
			return err
		}
	}
	return nil
}
