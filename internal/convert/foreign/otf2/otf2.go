// Package otf2 makes traces of OTF2 archives, which Score-P, TAU, Extrae and others record.
//
// # What becomes what
//
// A process (a group of locations) is a node, its locations are workers. Regions stay regions, of a kind that
// follows from their name, as those of whyslow's own MPI library, or from their role. Messages, collectives
// and one-sided transfers are those of traces that whyslow mpi records, so the same patterns are found.
// Processes are numbered as the ranks of MPI's first communicator.
//
// An archive with teams of OpenMP threads becomes what whyslow omp records: threads execute CFs; see omp.go.
// In others, threads that are not the first of their process are idle where they are in no region; see idle.
//
// An archive may have been made to do harm. What is defined and what is open at a time is bounded.
//
// The archive is read by a process of its own (package convert/otf2). What it sends is read here.
package otf2

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"

	"github.com/whyslow/whyslow/internal/convert/foreign"
	"github.com/whyslow/whyslow/internal/convert/otf2"
	"github.com/whyslow/whyslow/trace"
)

// Format is OTF2; its files are known by the anchor file.
var Format = foreign.Format{Name: "otf2", Is: is, Read: read, Open: otf2.Open,
	Files: []string{"traces.otf2", "*.otf2"}}

// is tells whether a file begins like an anchor file: a byte of libotf2's buffers, the byte order, the name.
func is(head []byte) bool { return len(head) > 6 && bytes.Equal(head[2:6], []byte("OTF2")) }

// archive is what is known while it is read.
type archive struct {
	defs
	to      *foreign.Run
	nodes   []*node
	now     *node              // the process that is being read
	threads map[uint64]*thread // of it, by location
	any     bool               // there were events
}

func read(ctx context.Context, in io.Reader, to *foreign.Run) error {
	a := &archive{defs: newDefs(), to: to, threads: map[uint64]*thread{}}
	err := a.records(ctx, otf2.NewReader(in))
	a.end()
	return err
}

// records goes through the records of an archive.
func (a *archive) records(ctx context.Context, r *otf2.Reader) error {
	var t *thread
	location, events := uint64(0), 0
	wrong := func(msg string) error {
		if location > 0 || events > 0 {
			msg = fmt.Sprintf("%s, after %d events, the last of location %d", msg, events, location)
		}
		return &foreign.Error{Offset: -1, Msg: msg}
	}
	for n := 0; ; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		err := r.Next()
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF):
			return wrong("the archive ends early")
		case err != nil:
			return wrong(err.Error())
		case r.Kind == otf2.Error:
			return wrong("libotf2: " + r.Text())
		case r.Kind == otf2.End && !a.any:
			return wrong("there are no events in it")
		case r.Kind == otf2.End:
			return nil
		case r.Kind < otf2.Events:
			err = a.define(r)
		case r.Kind == otf2.Events:
			location = r.Words[0]
			t, err = a.thread(location)
		case t != nil:
			events++
			err = t.event(r)
		}
		var limit *limitError
		if errors.As(err, &limit) {
			return wrong(err.Error())
		} else if err != nil {
			return err
		}
	}
}

// limitError is that an archive has more than is read.
type limitError struct{ what string }

func (e *limitError) Error() string { return e.what }

// limit gives an error where n is beyond the most.
func limit(n, most int, what string) error {
	if n > most {
		return &limitError{fmt.Sprintf("there are more than %d %s", most, what)}
	}
	return nil
}

// end ends the threads of the process that was read last.
func (a *archive) end() {
	for _, location := range sortedKeys(a.threads) {
		a.threads[location].end()
	}
	clear(a.threads)
	a.now = nil
}

// time gives nanoseconds since the beginning of the archive.
func (a *archive) time(ticks uint64) (int64, error) {
	d, negative := ticks-a.offset, ticks < a.offset
	if negative {
		d = a.offset - ticks
	}
	if a.resolution != 1e9 {
		high, low := bits.Mul64(d, 1e9)
		if high >= a.resolution {
			d = math.MaxUint64
		} else {
			d, _ = bits.Div64(high, low, a.resolution)
		}
	}
	if d > math.MaxInt64>>12 { // a month; events have room for no more
		return 0, &limitError{fmt.Sprintf("the time %d is far from that of the first event, %d", ticks, a.offset)}
	}
	if negative {
		return -int64(d), nil
	}
	return int64(d), nil
}

// node is a process.
type node struct {
	*foreign.Node
	number    int
	sites     map[uint64]trace.Site // by region
	idle      trace.Site
	requests  map[uint64]uint64 // of sends: their transfers
	posted    map[uint64]posted // receives
	transfers map[[2]uint64]uint64
	held      map[uint64]bool // locks
	number64  uint64          // of the last transfer
	told      map[groupOn]bool
	last      int64   // time of the last event
	omp       *openMP // nil: there are no teams of OpenMP threads
}

// posted is when a receive was.
type posted struct {
	time   int64
	number uint64
}

type groupOn struct{ group, stream uint64 }

// arrange makes the nodes, once all is defined.
func (a *archive) arrange() error {
	if a.nodes != nil {
		return nil
	}
	hosts := a.number()
	if err := limit(len(hosts), mostNodes, "processes"); err != nil {
		return err
	}
	a.nodes = make([]*node, len(hosts))
	for i, host := range hosts {
		made, err := a.to.Node(i)
		if err != nil {
			return err
		}
		made.Host = host
		a.nodes[i] = &node{Node: made, number: i, sites: map[uint64]trace.Site{}, requests: map[uint64]uint64{},
			posted: map[uint64]posted{}, transfers: map[[2]uint64]uint64{}, held: map[uint64]bool{},
			told: map[groupOn]bool{}, last: minTime}
		if a.teams {
			a.nodes[i].omp = newOpenMP(made)
		}
	}
	mpi := false
	for _, r := range a.regions {
		mpi = mpi || r.paradigm == paradigmMPI
	}
	switch settings := a.to.Info.Settings; {
	case mpi && a.teams:
		settings["program"] = "MPI and OpenMP"
	case mpi:
		settings["program"] = "MPI"
	case a.teams:
		settings["program"] = "OpenMP"
	}
	return nil
}

// site gives the site of a region.
func (n *node) site(a *archive, ref uint64) trace.Site {
	s, ok := n.sites[ref]
	if !ok {
		r := a.regions[ref]
		name := cmp.Or(a.texts[r.name], fmt.Sprintf("region %d", ref))
		s = n.Node.Site(n.Code(name, r.kind(name), a.texts[r.file], r.line), "", 0)
		n.sites[ref] = s
	}
	return s
}

// idleSite is that of threads which do nothing.
func (n *node) idleSite() trace.Site {
	if n.idle == 0 {
		n.idle = n.Node.Site(n.Code("idle", trace.Await, "", 0), "", 0)
	}
	return n.idle
}

// thread gives the worker of a location; nil where it is none.
func (a *archive) thread(location uint64) (*thread, error) {
	if err := a.arrange(); err != nil {
		return nil, err
	}
	l, ok := a.locations[location]
	if !ok || l.node < 0 {
		return nil, nil
	}
	if err := limit(l.worker+1, foreign.MostWorkers, "threads in a process"); err != nil {
		return nil, err
	}
	n := a.nodes[l.node]
	if n != a.now {
		a.end()
		a.now, a.any = n, true
	}
	t := a.threads[location]
	if t == nil {
		t = &thread{a: a, n: n, worker: l.worker}
		a.threads[location] = t
	}
	return t, nil
}

// mostNodes is how many processes there may be: each is a file.
const mostNodes = 1 << 14

// mostOpen is how many requests, locks, tasks and the like of a process may be open.
const mostOpen = 1 << 20

// mostNested is how many regions of a thread may be open.
const mostNested = 1 << 16

func sortedKeys[V any](m map[uint64]V) []uint64 {
	keys := make([]uint64, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
