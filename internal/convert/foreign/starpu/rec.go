package starpu

import (
	"bytes"
	"errors"
	"github.com/whyslow/whyslow/internal/convert/foreign"
	"io"
	"strconv"
)

// records reads the records of a file in the format of GNU recutils: lines "Key: value", an empty one after
// each record. field gets every line, end the end of each record; their errors are those of the line.
func records(l *foreign.Lines, field func(key, value []byte) error, end func() error) error {
	some := false
	for {
		line, err := l.Read()
		last := errors.Is(err, io.EOF)
		if err != nil && !last {
			return err
		}
		if last || len(line) == 0 {
			if some {
				if err := end(); err != nil {
					return err
				}
			}
			if some = false; last {
				return nil
			}
			continue
		}
		if line[0] == '#' {
			continue
		}
		colon := bytes.IndexByte(line, ':')
		if colon <= 0 || bytes.IndexByte(line[:colon], ' ') >= 0 {
			return l.Fail("%.60q is no field of a record", line)
		}
		some = true
		if err := field(line[:colon], bytes.TrimSpace(line[colon+1:])); err != nil {
			return err
		}
	}
}

// words calls f for each word of a text.
func words(text []byte, f func(word []byte) error) error {
	for len(text) > 0 {
		word, rest, _ := bytes.Cut(text, []byte{' '})
		if text = rest; len(word) > 0 {
			if err := f(word); err != nil {
				return err
			}
		}
	}
	return nil
}

// mostNumber is how large numbers of tasks, and mostRank how large those of ranks may be.
const (
	mostNumber = 1 << 47
	mostRank   = 1 << 14
)

// job is the number of a task, with its rank above mostNumber.
type job uint64

// jobOf reads the number of a task: "13", or "1_13" of rank 1.
func jobOf(text []byte) (job, bool) {
	rank := uint64(0)
	if before, after, ok := bytes.Cut(text, []byte{'_'}); ok {
		var err error
		if rank, err = strconv.ParseUint(string(before), 10, 64); err != nil || rank >= mostRank {
			return 0, false
		}
		text = after
	}
	n, err := strconv.ParseUint(string(text), 10, 64)
	return job(rank*mostNumber + n), err == nil && n < mostNumber
}

func (j job) rank() int    { return int(j / mostNumber) }
func (j job) index() int64 { return int64(j % mostNumber) }

// task is one of tasks.rec. What is not told is 0, of the worker -1, of times none.
type task struct {
	job                job
	name               int32 // of the codelet, in run.names
	worker             int32
	submit, start, end int64 // nanoseconds
	deps, data         span  // in run.deps, run.data
}

// executed tells whether a worker executed it; others are points of synchronisation, or have not been.
func (t *task) executed() bool { return t.worker >= 0 && t.start != none && t.end != none }

type span struct{ from, to int32 }

// access is how a task uses a piece of data.
type access struct {
	data        int32 // in run.pieces
	size        int64
	read, write bool
}

// mostTasks is how many tasks are read: all must be in memory, because they come in the order of their ends.
const mostTasks = 1 << 25

// readTasks reads tasks.rec.
func (r *run) readTasks(l *foreign.Lines) error {
	var t task
	var name, model []byte
	var handles []uint64
	var modes []access
	var sizes []int64
	rank := 0
	control := false
	clear := func() {
		t = task{worker: -1, submit: none, start: none, end: none, deps: span{from: int32(len(r.deps))}}
		name, model, handles, modes, sizes = name[:0], model[:0], handles[:0], modes[:0], sizes[:0]
		rank, control = 0, false
	}
	clear()
	moment := func(value []byte, at *int64) error {
		ns, ok := milliseconds(value)
		if !ok || ns < 0 {
			return l.Fail("%.40q is not a time in milliseconds", value)
		}
		*at = ns
		return nil
	}
	number := func(value []byte, to *int32, most int64) error {
		n, ok := foreign.Decimal(value, 0)
		if !ok || n >= most {
			return l.Fail("%.40q is no number, or too large", value)
		}
		*to = int32(max(n, -1))
		return nil
	}
	field := func(key, value []byte) (err error) {
		switch string(key) {
		case "Control":
			control = true
		case "Name":
			name = append(name[:0], value...)
		case "Model":
			model = append(model[:0], value...)
		case "JobId":
			ok := false
			if t.job, ok = jobOf(value); !ok {
				return l.Fail("%.40q is no number of a task", value)
			}
		case "DependsOn":
			if len(r.deps)+len(value)/2 > mostEdges {
				return l.Fail("there are too many dependences")
			}
			return words(value, func(word []byte) error {
				j, ok := jobOf(word)
				if !ok {
					return l.Fail("%.40q is no number of a task", word)
				}
				r.deps = append(r.deps, j)
				return nil
			})
		case "WorkerId":
			return number(value, &t.worker, mostRank)
		case "MPIRank":
			var n int32
			err = number(value, &n, mostRank)
			rank = max(int(n), 0)
		case "SubmitTime":
			return moment(value, &t.submit)
		case "StartTime":
			return moment(value, &t.start)
		case "EndTime":
			return moment(value, &t.end)
		case "Handles":
			return words(value, func(word []byte) error {
				h, err := strconv.ParseUint(string(word), 16, 64)
				if err != nil {
					return l.Fail("%.40q is no number of a handle", word)
				}
				handles = append(handles, h)
				return nil
			})
		case "Modes":
			return words(value, func(word []byte) error {
				modes = append(modes, access{
					read:  bytes.ContainsAny(word, "RX"),
					write: bytes.ContainsAny(word, "WX")})
				return nil
			})
		case "Sizes":
			return words(value, func(word []byte) error {
				n, ok := foreign.Decimal(word, 0)
				if !ok || n < 0 {
					return l.Fail("%.40q is no size", word)
				}
				sizes = append(sizes, n)
				return nil
			})
		}
		return err
	}
	end := func() error {
		defer clear()
		if control {
			r.deps = r.deps[:t.deps.from]
			return nil
		}
		if len(r.tasks) == mostTasks || len(r.data)+len(handles) > mostEdges {
			return l.Fail("there are more than %d tasks, or uses of data", len(r.tasks))
		}
		if t.job.rank() == 0 {
			t.job += job(rank) * mostNumber
		}
		if _, known := r.byJob[t.job]; known {
			return l.Fail("there are two tasks with JobId %d", t.job.index())
		}
		if t.start != none && t.end != none && t.end < t.start {
			return l.Fail("the task ends before it starts")
		}
		switch {
		case len(name) > 0 && string(name) != "unknown":
			t.name = r.name(name)
		case len(model) > 0:
			t.name = r.name(model)
		default:
			t.name = r.name([]byte("task"))
		}
		t.deps.to = int32(len(r.deps))
		t.data.from = int32(len(r.data))
		for i, h := range handles {
			a := access{data: r.piece(t.job.rank(), h)}
			if i < len(modes) {
				a.read, a.write = modes[i].read, modes[i].write
			}
			if i < len(sizes) {
				a.size = sizes[i]
			}
			r.data = append(r.data, a)
		}
		t.data.to = int32(len(r.data))
		r.byJob[t.job] = int32(len(r.tasks))
		r.tasks = append(r.tasks, t)
		return nil
	}
	return records(l, field, end)
}

// piece gives a piece of data by its handle.
func (r *run) piece(rank int, handle uint64) int32 {
	key := handleKey{rank, handle}
	i, ok := r.byHandle[key]
	if !ok {
		i = int32(len(r.pieces))
		r.byHandle[key] = i
		r.pieces = append(r.pieces, piece{rank: rank, tag: -1})
	}
	return i
}

// readData reads data.rec: what pieces of data are called, and which of several ranks are the same.
func (r *run) readData(l *foreign.Lines) error {
	var p piece
	handle := uint64(0)
	clear := func() { p, handle = piece{tag: -1}, 0 }
	clear()
	return records(l, func(key, value []byte) (err error) {
		switch string(key) {
		case "Handle":
			if handle, err = strconv.ParseUint(string(value), 16, 64); err != nil {
				return l.Fail("%.40q is no number of a handle", value)
			}
		case "MPIRank":
			n, ok := foreign.Decimal(value, 0)
			if !ok || n >= mostRank {
				return l.Fail("%.40q is no rank", value)
			}
			p.rank = int(max(n, 0))
		case "MPITag":
			n, ok := foreign.Decimal(value, 0)
			if !ok {
				return l.Fail("%.40q is no tag", value)
			}
			p.tag = n
		case "Name":
			p.name = string(value)
		case "Coordinates":
			return words(value, func(word []byte) error {
				n, ok := foreign.Decimal(word, 0)
				if !ok || len(p.place) == 8 {
					return l.Fail("%.60q are no coordinates", value)
				}
				p.place = append(p.place, n)
				return nil
			})
		}
		return nil
	}, func() error {
		if len(r.pieces) == mostTasks {
			return l.Fail("there are more than %d pieces of data", mostTasks)
		}
		r.pieces[r.piece(p.rank, handle)] = p
		clear()
		return nil
	})
}

// milliseconds reads a time, as nanoseconds.
func milliseconds(text []byte) (int64, bool) { return foreign.Decimal(text, 6) }
