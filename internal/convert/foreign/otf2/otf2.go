// Package otf2 makes traces of OTF2 archives, which Score-P, TAU, Extrae and others record.
//
// # What becomes what
//
// A process (a group of locations) is a node, its locations are workers. Regions stay regions, of a kind that
// follows from their name, as those of whyslow's own MPI library, or from their role. Messages, collectives
// and one-sided transfers are those of traces that whyslow mpi records, so the same patterns are found.
// Processes are numbered as the ranks of MPI's first communicator.
//
// A task that is suspended leaves its regions and enters them again when it goes on: regions of a worker
// nest. Threads other than a process's first are idle where they are in no region; see idle.
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
	threads int
}

func read(ctx context.Context, in io.Reader, to *foreign.Run) error {
	a := &archive{defs: newDefs(), to: to}
	r := otf2.NewReader(in)
	var t *thread
	for n := 0; ; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		err := r.Next()
		switch {
		case err != nil:
			msg := err.Error()
			if errors.Is(err, io.ErrUnexpectedEOF) {
				msg = "the archive ends early"
			}
			err = &foreign.Error{Offset: -1, Msg: msg}
		case r.Kind == otf2.Error:
			err = &foreign.Error{Offset: -1, Msg: "libotf2: " + r.Text()}
		case r.Kind == otf2.End && a.threads == 0:
			err = &foreign.Error{Offset: -1, Msg: "there are no events in it"}
		case r.Kind < otf2.Events && r.Kind != otf2.End:
			a.define(r)
			continue
		}
		if r.Kind <= otf2.Events || err != nil {
			t.end()
			t = nil
		}
		if r.Kind == otf2.End || err != nil {
			return err
		}
		if r.Kind == otf2.Events {
			if t, err = a.thread(r.Words[0]); err != nil {
				return err
			}
		} else if t != nil {
			if err := t.event(r); err != nil {
				return err
			}
		}
	}
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
		return 0, &foreign.Error{Offset: -1, Msg: fmt.Sprintf("the time %d is far from that of the first event, %d",
			ticks, a.offset)}
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
	if len(hosts) > mostNodes {
		return &foreign.Error{Offset: -1, Msg: fmt.Sprintf("there are more than %d processes", mostNodes)}
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
			told: map[groupOn]bool{}}
	}
	for _, r := range a.regions {
		if r.paradigm == paradigmMPI {
			a.to.Info.Settings["program"] = "MPI"
		}
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
	if l.worker >= foreign.MostWorkers {
		return nil, &foreign.Error{Offset: -1, Msg: fmt.Sprintf("a process has more than %d threads",
			foreign.MostWorkers)}
	}
	a.threads++
	return &thread{a: a, n: a.nodes[l.node], worker: l.worker, stacks: map[task][]visit{}}, nil
}

// mostNodes is how many processes there may be: each is a file.
const mostNodes = 1 << 14

// mostOpen is how many requests, locks and the like of a process may be open, or regions of a thread.
const mostOpen = 1 << 20

func sortedKeys[V any](m map[uint64]V) []uint64 {
	keys := make([]uint64, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
