// Package epilog writes traces in EPILOG, the format of KOJAK and Scalasca 1: one file with the events of all
// threads, merged and with corrected times, as their sequential analyser and converters read it.
//
// The file is a header ("EPILOG", a zero byte, two bytes of the version, one of the byte order) and records.
// A record is a byte for the length of its body, a byte for its type, and the body: fields one behind the
// other, numbers of 1, 4 and 8 bytes, times as doubles in seconds. First come definitions, then events in the
// order of time; the kinds of records and their fields are below. Version 1.9, little endian, not compressed.
//
// A PE is a location, and so is each further thread that recorded. A put is its start at its own PE and its
// end at the other, both recorded by the own one; a get likewise. When a non-blocking transfer completes is
// not told: its end is that of the call.
package epilog

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// Types of records.
const (
	recString           = 1  // string, continuations, text
	recStringMore       = 2  // text
	recMachine          = 3  // machine, nodes, name
	recNode             = 4  // node, machine, cores, name, resolution of the clock in seconds
	recProcess          = 5  // process, name
	recThread           = 6  // thread, process, name
	recLocation         = 7  // location, machine, node, process, thread
	recFile             = 8  // file, name
	recRegion           = 9  // region, name, file, first line, last line, description, type
	recCommunicator     = 11 // communicator, mode 0, bytes of the set, and as many of them as there is room for
	recLastDef          = 13
	recEvents           = 14 // number of events
	recCommunicatorMore = 19 // more bytes of the set
	recCallSite         = 15 // call site, file, line, region entered, region left

	// Events begin with their location and time.
	recEnter     = 101 // region, number of metrics
	recExit      = 102 // number of metrics
	recEnterSite = 111 // call site, number of metrics
	recPutStart  = 123 // other location, transfer, bytes
	recGetEnd    = 126 // other location, transfer
	recPutEnd    = 127 // likewise; at the other location
	recGetStart  = 128 // other location, transfer, bytes; at the other location
	recCollExit  = 129 // number of metrics, root, communicator, bytes sent, bytes received
	recAcquire   = 130 // lock
	recRelease   = 131 // lock
)

// Types of regions.
const (
	regionFunction = 1
	regionBarrier  = 4
	regionOneToAll = 5
	regionAllToOne = 6
	regionAllToAll = 7
	regionOther    = 8
)

// unknown stands for an identity, line or number that there is none of.
const unknown = math.MaxUint32

// regionTypes are those of collectives; others are regionOther.
var regionTypes = map[model.CollectiveKind]uint8{
	model.CollectiveBarrier: regionBarrier, model.CollectiveNotify: regionBarrier,
	model.CollectiveWait:      regionBarrier,
	model.CollectiveBroadcast: regionOneToAll, model.CollectiveScatter: regionOneToAll,
	model.CollectiveGather: regionAllToOne, model.CollectiveReduce: regionAllToOne,
	model.CollectiveGatherAll: regionAllToAll, model.CollectiveExchange: regionAllToAll,
	model.CollectiveAllReduce: regionAllToAll, model.CollectiveCollect: regionAllToAll,
}

// Write writes a trace with regions. It fails if there are none, or more than a file can number.
func Write(ctx context.Context, w io.Writer, m *model.Model) error {
	if m.Regions == nil || len(m.Regions.Threads) == 0 {
		return errors.New("no regions were recorded: EPILOG has no place for CFs")
	}
	out := &writer{w: bufio.NewWriter(w), m: m, strings: map[string]uint32{}, files: map[string]uint32{},
		groups: map[group]uint32{}, sites: map[callSite]uint32{}, locks: map[uint64]uint32{}}
	out.raw([]byte("EPILOG\x00\x01\x09\x01"))
	out.system()
	out.regions()
	out.communicators()
	events, err := out.events(ctx)
	if err != nil {
		return err
	}
	if len(events) >= unknown {
		return fmt.Errorf("EPILOG counts events with 32 bits, and there are %d", len(events))
	}
	out.record(recEvents, uint32(len(events)))
	out.record(recLastDef)
	first := m.Regions.Threads[0].Start
	for i := range m.Regions.Threads {
		first = min(first, m.Regions.Threads[i].Start)
	}
	for i := range events {
		if i%(1<<16) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		e := &events[i]
		out.record(e.kind, append([]any{e.location, float64(e.time-first) / 1e9}, e.fields()...)...)
	}
	return cmp.Or(out.err, out.w.Flush())
}

// group is a communicator: nodes start, start+stride, and so on.
type group struct{ start, stride, size int32 }

func groupOf(c *model.Collective) group { return group{c.Start, c.Stride, c.Size} }

// callSite is a call of a site's region from another region.
type callSite struct{ site, from uint32 }

type writer struct {
	w       *bufio.Writer
	m       *model.Model
	err     error
	strings map[string]uint32
	files   map[string]uint32
	groups  map[group]uint32
	sites   map[callSite]uint32 // of call sites
	locks   map[uint64]uint32
}

func (w *writer) raw(b []byte) {
	if w.err == nil {
		_, w.err = w.w.Write(b)
	}
}

// record writes a record; fields are uint8, uint32, float64 and []byte.
func (w *writer) record(kind uint8, fields ...any) {
	b := make([]byte, 2, 64)
	for _, f := range fields {
		switch v := f.(type) {
		case uint8:
			b = append(b, v)
		case uint32:
			b = binary.LittleEndian.AppendUint32(b, v)
		case float64:
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		case []byte:
			b = append(b, v...)
		default:
			panic(fmt.Sprintf("a field of type %T", f))
		}
	}
	b[0], b[1] = uint8(len(b)-2), kind
	w.raw(b)
}

const (
	mostBody   = 255                // bytes of a record
	mostString = mostBody - 4 - 1   // of the first part of a text
	mostText   = 255*mostBody + 250 // of a text with all its parts
)

// text defines a string once and returns its number.
func (w *writer) text(s string) uint32 {
	if id, ok := w.strings[s]; ok {
		return id
	}
	id := uint32(len(w.strings))
	w.strings[s] = id
	s = strings.ReplaceAll(s, "\x00", " ")
	b := append([]byte(s[:min(len(s), mostText-1)]), 0)
	head := b[:min(len(b), mostString)]
	b = b[len(head):]
	w.record(recString, id, uint8((len(b)+mostBody-1)/mostBody), head)
	for part := range slices.Chunk(b, mostBody) {
		w.record(recStringMore, part)
	}
	return id
}

// file defines a file once and returns its number.
func (w *writer) file(name string) uint32 {
	if name == "" {
		return unknown
	}
	id, ok := w.files[name]
	if !ok {
		id = uint32(len(w.files))
		w.files[name] = id
		w.record(recFile, id, w.text(name))
	}
	return id
}

func line(n int) uint32 {
	if n <= 0 {
		return unknown
	}
	return uint32(n)
}

// system defines where things ran: one machine, its hosts, processes and threads.
func (w *writer) system() {
	var hosts []string
	cores := map[string]int{}
	for _, n := range w.m.Nodes {
		if !slices.Contains(hosts, n.Host) {
			hosts = append(hosts, n.Host)
		}
		if n.Process < len(w.m.Processes) {
			cores[n.Host] = max(cores[n.Host], w.m.Processes[n.Process].Cores)
		}
	}
	w.record(recMachine, uint32(0), uint32(len(hosts)), w.text("machine"))
	for i, host := range hosts {
		w.record(recNode, uint32(i), uint32(0), uint32(max(cores[host], 1)), w.text(cmp.Or(host, "host")), 1e-9)
	}
	threads := map[int]uint32{} // by process
	define := func(location, node int, name string) {
		n := w.m.Nodes[node]
		process := uint32(n.Process)
		if threads[n.Process] == 0 {
			w.record(recProcess, process, w.text(fmt.Sprintf("process %d", n.Process)))
		}
		thread := threads[n.Process]
		threads[n.Process]++
		w.record(recThread, thread, process, w.text(name))
		w.record(recLocation, uint32(location), uint32(0), uint32(slices.Index(hosts, n.Host)), process, thread)
	}
	for node := range w.m.Nodes {
		define(node, node, fmt.Sprintf("thread %d", node))
	}
	for i, t := range w.m.Regions.Threads {
		if location := w.location(i); location >= len(w.m.Nodes) {
			define(location, t.Node, fmt.Sprintf("stream %d of %d", t.Stream, t.Node))
		}
	}
}

// location is the number of a thread's: that of its node for the first, and one of its own for others.
func (w *writer) location(thread int) int {
	if t := &w.m.Regions.Threads[thread]; t.Stream == 0 {
		return t.Node
	}
	return len(w.m.Nodes) + thread
}

// regions defines the code fragments as regions of the same numbers. A collective is one by what it did
// first.
func (w *writer) regions() {
	did := map[int]model.CollectiveKind{}
	for i := range w.m.Regions.Threads {
		t := &w.m.Regions.Threads[i]
		for _, c := range t.Collectives {
			if c.Visit < 0 {
				continue
			}
			if code := w.m.Sites[t.Site[c.Visit]].Code; did[code] == model.CollectiveOther {
				did[code] = c.Kind
			}
		}
	}
	for i, c := range w.m.Codes {
		about, kind := "USR", uint8(regionFunction)
		if c.Kind != trace.Function {
			if about = "SHMEM"; strings.HasPrefix(c.Name, "upc") {
				about = "UPC"
			}
			if k, ok := did[i]; ok {
				kind = cmp.Or(regionTypes[k], regionOther)
			}
		}
		w.record(recRegion, uint32(i), w.text(c.Name), w.file(c.File), line(c.Line), uint32(unknown), w.text(about),
			kind)
	}
	for i := range w.m.Regions.Threads {
		t := &w.m.Regions.Threads[i]
		for v := range t.Site {
			key, ok := w.callSite(t, v)
			s := &w.m.Sites[key.site]
			if _, known := w.sites[key]; known || !ok {
				continue
			}
			id := uint32(len(w.sites))
			w.sites[key] = id
			w.record(recCallSite, id, w.file(s.File), line(s.Line), uint32(s.Code), key.from)
		}
	}
}

// callSite is that of a visit; ok is false where it is not known.
func (w *writer) callSite(t *model.Thread, visit int) (key callSite, ok bool) {
	key = callSite{t.Site[visit], unknown}
	parent := t.Parent[visit]
	if parent < 0 || w.m.Sites[key.site].File == "" {
		return key, false
	}
	key.from = uint32(w.m.Sites[t.Site[parent]].Code)
	return key, true
}

// communicators defines the groups of collectives, each as a set of bits, one for each location.
func (w *writer) communicators() {
	for i := range w.m.Regions.Threads {
		for _, c := range w.m.Regions.Threads[i].Collectives {
			g := groupOf(&c)
			if _, known := w.groups[g]; known {
				continue
			}
			bits := make([]byte, (len(w.m.Nodes)+7)/8)
			for k := range c.Size {
				if n := int(c.Start) + int(k)*int(c.Stride); n >= 0 && n < len(w.m.Nodes) {
					bits[n/8] |= 1 << (n % 8)
				}
			}
			w.groups[g] = uint32(len(w.groups))
			head := bits[:min(len(bits), mostBody-9)]
			w.record(recCommunicator, w.groups[g], uint8(0), uint32(len(bits)), head)
			for part := range slices.Chunk(bits[len(head):], mostBody) {
				w.record(recCommunicatorMore, part)
			}
		}
	}
}
