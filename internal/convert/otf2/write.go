package otf2

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// Writing: a model becomes records, definitions first, and libotf2 writes these as an archive. Code fragments
// are regions; so are executions of CFs and waits of workers.

// sink takes records.
type sink interface {
	put(kind Kind, words ...uint64)
}

// create begins an archive in a folder; nil: libotf2 is not built in.
var create func(folder string) (archiveWriter, error)

type archiveWriter interface {
	sink
	close() error // the first error that there was
}

// Write writes a trace as an archive, in a folder that is made.
func Write(ctx context.Context, folder string, m *model.Model) error {
	if create == nil {
		return ErrWithout
	}
	w, err := create(folder)
	if err != nil {
		return err
	}
	err = records(ctx, w, m)
	return cmp.Or(w.close(), err)
}

// Numbers of strings.
const (
	textEmpty = iota
	textMachine
	textNode
	textFirst
)

// exporter turns a model into records.
type exporter struct {
	sink
	m      *model.Model
	texts  map[string]uint64
	lanes  []lane
	groups map[string]uint64 // of nodes, by their list: communicators
	comms  map[uint64]uint64 // of messages: communicators
	next   uint64            // communicator
	mpi    bool
}

// lane is a location: a worker.
type lane struct {
	id     model.WorkerID
	worker *model.Worker
	thread *model.Thread // nil: it has no regions
}

// text defines a text once.
func (x *exporter) text(s string) uint64 {
	id, ok := x.texts[s]
	if !ok {
		id = uint64(len(x.texts))
		x.texts[s] = id
		s = strings.ReplaceAll(s, "\x00", " ")
		padded := append([]byte(s), make([]byte, 8-len(s)%8)...) // ends in a zero byte
		words := []uint64{id, uint64(len(s))}
		for i := 0; i < len(padded); i += 8 {
			words = append(words, binary.LittleEndian.Uint64(padded[i:]))
		}
		x.put(String, words...)
	}
	return id
}

func records(ctx context.Context, out sink, m *model.Model) error {
	x := &exporter{sink: out, m: m, texts: map[string]uint64{}, groups: map[string]uint64{},
		comms: map[uint64]uint64{},
		mpi:   m.MPI()}
	threads := map[model.WorkerID]*model.Thread{}
	if m.Regions != nil {
		for i := range m.Regions.Threads {
			t := &m.Regions.Threads[i]
			threads[model.WorkerID{Node: t.Node, Worker: t.Stream}] = t
		}
	}
	for id, w := range m.AllWorkers() {
		x.lanes = append(x.lanes, lane{id, w, threads[id]})
	}
	x.define()
	for i := range x.lanes {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		x.put(Events, uint64(i))
		x.events(&x.lanes[i], out)
	}
	return nil
}

// Types, paradigms and roles, as in OTF2_Definitions.h and OTF2_GeneralDefinitions.h.
const (
	processType, threadType             = 1, 1
	commLocations, commGroup            = 4, 5
	user, compiler, mpi                 = 1, 2, 4
	upc, shmem                          = 12, 13
	function, code, barrier             = 1, 4, 15
	collective, file, point, rma        = 26, 27, 28, 29
	threadWait                          = 33
	rootNone                     uint64 = Undefined
)

func (x *exporter) define() {
	m := x.m
	for _, s := range []string{textEmpty: "", textMachine: "machine", textNode: "node"} {
		x.text(s)
	}
	began := uint64(0)
	if !m.Info.Started.IsZero() {
		began = uint64(m.Info.Started.UnixNano())
	}
	x.put(Clock, 1e9, 0, uint64(m.End-m.Start), began)
	x.put(Host, 0, textMachine, textMachine, Undefined)
	hosts := map[string]uint64{}
	paradigm := uint64(user)
	for n := range m.Nodes {
		host, ok := hosts[m.Nodes[n].Host]
		if !ok {
			host = uint64(len(hosts) + 1)
			hosts[m.Nodes[n].Host] = host
			x.put(Host, host, x.text(cmp.Or(m.Nodes[n].Host, "host")), textNode, 0)
		}
		x.put(Process, uint64(n), x.text("node "+strconv.Itoa(n)), processType, host)
	}
	for i := range m.Codes {
		c := &m.Codes[i]
		of, role := x.roleOf(c)
		if of == mpi || of == shmem || of == upc {
			paradigm = of
		}
		name, source := x.text(c.Name), x.text(c.File)
		x.put(Region, uint64(i), name, role, of, source, uint64(max(c.Line, 0)))
	}
	masters := []uint64{0, commLocations, paradigm}
	everybody := []int32{}
	for i := range x.lanes {
		l := &x.lanes[i]
		if l.id.Worker == 0 {
			masters = append(masters, uint64(i))
			everybody = append(everybody, int32(l.id.Node))
		}
		for k := range l.worker.Waits {
			x.wait(l.worker.Waits[k].Name)
		}
		var events counter
		x.events(l, &events)
		x.put(Location, uint64(i), x.text("worker "+strconv.Itoa(l.id.Worker)), threadType, uint64(events),
			uint64(l.id.Node))
	}
	x.put(Group, masters...)
	x.comm(everybody, paradigm)
	if m.Regions == nil {
		return
	}
	for i := range m.Regions.Threads {
		t := &m.Regions.Threads[i]
		for k := range t.Collectives {
			x.comm(membersOf(&t.Collectives[k]), paradigm)
		}
		for k := range t.Sends {
			x.messages(t.Sends[k].Comm)
		}
		for k := range t.Receives {
			x.messages(t.Receives[k].Comm)
		}
	}
}

// counter counts records.
type counter uint64

func (c *counter) put(Kind, ...uint64) { *c++ }

// comm defines a communicator of nodes, once; the first is that of all.
func (x *exporter) comm(nodes []int32, paradigm uint64) {
	key := keyOf(nodes)
	if _, ok := x.groups[key]; ok || len(nodes) == 0 {
		return
	}
	x.groups[key] = x.next
	words := []uint64{1 + x.next, commGroup, paradigm}
	for _, n := range nodes {
		words = append(words, uint64(n))
	}
	x.put(Group, words...)
	x.put(Comm, x.next, 1+x.next)
	x.put(Window, x.next, x.next)
	x.next++
}

// messages defines a communicator of messages: in it every node has its own number.
func (x *exporter) messages(comm uint64) {
	if _, ok := x.comms[comm]; ok {
		return
	}
	if comm == 0 {
		x.comms[0] = 0
		return
	}
	x.comms[comm] = x.next
	x.put(Comm, x.next, 1)
	x.next++
}

func keyOf(nodes []int32) string {
	b := make([]byte, 0, 4*len(nodes))
	for _, n := range nodes {
		b = binary.LittleEndian.AppendUint32(b, uint32(n))
	}
	return string(b)
}

func membersOf(c *model.Collective) []int32 {
	if c.Nodes != nil {
		return *c.Nodes
	}
	list := make([]int32, max(c.Size, 0))
	for i := range list {
		list[i] = c.Start + int32(i)*c.Stride
	}
	return list
}

// roles are those of regions, by kind.
var roles = map[trace.CodeKind]uint64{trace.Function: function, trace.Barrier: barrier,
	trace.Collective: collective, trace.Bulk: rma, trace.Access: rma, trace.RemoteAtomic: rma,
	trace.Completion: rma,
	trace.Message:    point, trace.IO: file, trace.Await: threadWait}

func (x *exporter) roleOf(c *model.Code) (paradigm, role uint64) {
	role = roles[c.Kind]
	switch {
	case c.Kind < trace.Function:
		return user, code
	case c.Kind == trace.Function:
		return compiler, role
	case strings.HasPrefix(c.Name, "shmem"):
		return shmem, role
	case strings.HasPrefix(c.Name, "upc"):
		return upc, role
	case x.mpi:
		return mpi, role
	}
	return user, role
}

// wait gives the region of a wait that a worker tells of; its number is above those of code fragments.
func (x *exporter) wait(name string) uint64 {
	name = cmp.Or(name, "wait")
	_, known := x.texts[name]
	text := x.text(name)
	ref := uint64(len(x.m.Codes)) + text
	if !known {
		x.put(Region, ref, text, threadWait, user, textEmpty, 0)
	}
	return ref
}

// visit is a stay in a region, of any origin.
type visit struct {
	from, to int64
	region   uint64
	number   int32 // of the thread's visits; -1: it is none of these
}

// events writes those of a lane.
func (x *exporter) events(l *lane, out sink) {
	m := x.m
	var list []visit
	for e := l.worker.First; e < l.worker.End; e++ {
		list = append(list, visit{m.ExecStart[e], m.EndOf(e), uint64(m.CodeOf(m.ExecCF[e])), -1})
	}
	for i := range l.worker.Waits {
		w := &l.worker.Waits[i]
		list = append(list, visit{w.From, w.To, x.wait(w.Name), -1})
	}
	if l.thread != nil {
		for v := range l.thread.Enter {
			list = append(list, visit{l.thread.Enter[v], l.thread.Exit[v],
				uint64(m.Sites[l.thread.Site[v]].Code), int32(v)})
		}
	}
	slices.SortStableFunc(list, func(a, b visit) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to))
	})
	w := newWalk(x, l, out)
	var open []visit
	leave := func() {
		last := &open[len(open)-1]
		w.leave(last)
		open = open[:len(open)-1]
	}
	for _, v := range list {
		for len(open) > 0 && open[len(open)-1].to <= v.from && !w.around(open[len(open)-1], v) {
			leave()
		}
		if v.to = max(v.to, v.from); len(open) > 0 {
			v.to = min(v.to, open[len(open)-1].to)
		}
		w.enter(&v)
		open = append(open, v)
	}
	for len(open) > 0 {
		leave()
	}
}
