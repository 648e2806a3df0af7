package foreign

import (
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// Run is a trace that is being written. Times are nanoseconds on any clock, the same for all nodes; those of
// a stream must not descend.
type Run struct {
	Info   trace.RunInfo // completed and written at the end
	Folder fs.FS         // with the other files; nil: the file that is read stands for itself

	dir     string
	nodes   map[int]*Node
	skipped map[string]int64
}

func newRun(dir string, info trace.RunInfo) (*Run, error) {
	r := &Run{Info: info, dir: dir, nodes: map[int]*Node{}, skipped: map[string]int64{}}
	r.Info.ID, r.Info.Ended = trace.NewRunID(), ""
	if r.Info.Settings = maps.Clone(info.Settings); r.Info.Settings == nil {
		r.Info.Settings = map[string]string{}
	}
	return r, trace.WriteRunInfo(dir, &r.Info)
}

// Skip counts something that is in the file and not in the trace; what is a name in words.NotRead. Reports
// say it.
func (r *Run) Skip(what string) { r.skipped[what]++ }

// NoMessages says that the format tells nothing of messages, so of no latency.
func (r *Run) NoMessages() { r.Info.Off = append(r.Info.Off, trace.KindDFReceived.String()) }

// notRead is what was skipped, as model.NotReadSetting has it.
func (r *Run) notRead() string {
	var list []string
	for _, what := range slices.Sorted(maps.Keys(r.skipped)) {
		list = append(list, strconv.FormatInt(r.skipped[what], 10)+" "+what)
	}
	return strings.Join(list, "\n")
}

// Node is a node of the run: its streams, and what their events speak of.
type Node struct {
	Host string // may be set

	run     *Run
	number  int
	w       *trace.Writer
	workers map[int]*trace.Stream
	codes   map[code]uint32
	sites   map[site]trace.Site
	cfs     uint64
	dfs     trace.DF
	names   map[trace.Name]int64 // by name of DFs: how many there are
}

type code struct {
	name, file string
	line       int
	kind       trace.CodeKind
}

type site struct {
	code uint32
	file string
	line int
}

// systemStream is the stream of what no worker does. It is above those of all workers.
const systemStream = 1 << 20

// MostWorkers is how many workers a node may have.
const MostWorkers = 1 << 14

// Node gives a node, from 0, made when it is first asked for.
func (r *Run) Node(number int) (*Node, error) {
	if n := r.nodes[number]; n != nil {
		return n, nil
	}
	w, err := trace.Create(r.dir, number, trace.Options{Run: r.Info.ID, Sync: true})
	if err != nil {
		return nil, err
	}
	n := &Node{run: r, number: number, w: w, workers: map[int]*trace.Stream{}, codes: map[code]uint32{},
		sites: map[site]trace.Site{}, names: map[trace.Name]int64{}}
	r.nodes[number] = n
	return n, nil
}

// Worker gives the stream of a worker, 0 <= number < MostWorkers. At its first call it begins with the start
// of the program at that time.
func (n *Node) Worker(number int, start int64) *trace.Stream {
	s := n.workers[number]
	if s == nil {
		s = n.w.Stream(number)
		n.workers[number] = s
		s.Emit(start, trace.KindProgramStarted, uint64(n.number), 0)
	}
	return s
}

// System gives the stream of what no worker does.
func (n *Node) System() *trace.Stream { return n.w.Stream(systemStream) }

// Later gives a second stream of what no worker does, for events that become known late.
func (n *Node) Later() *trace.Stream { return n.w.Stream(systemStream + 1) }

// Finish ends the program at a time on all workers of the node. Those below the highest that were never used
// are there too: they had nothing to do.
func (n *Node) Finish(start, end int64) {
	most := -1
	for number := range n.workers {
		most = max(most, number)
	}
	for number := range most + 1 {
		n.Worker(number, start).Emit(end, trace.KindProgramFinished, 0)
	}
}

// Name gives the number of a text.
func (n *Node) Name(text string) trace.Name { return n.w.Name(text) }

// Code gives the number of a code fragment; file and line may be empty and 0.
func (n *Node) Code(name string, kind trace.CodeKind, file string, line int) uint32 {
	key := code{name, file, line, kind}
	number, ok := n.codes[key]
	if !ok {
		number = uint32(len(n.codes) + 1)
		n.codes[key] = number
		n.w.DefineCode(trace.CodeDef{Code: number, Name: n.w.Name(name), Kind: kind, File: n.w.Name(file),
			Line: line})
	}
	return number
}

// Turns says that a code fragment is of another kind than was thought.
func (n *Node) Turns(number uint32, kind trace.CodeKind) {
	for key, known := range n.codes {
		if known == number && key.kind != kind {
			delete(n.codes, key)
			n.w.DefineCode(trace.CodeDef{Code: number, Name: n.w.Name(key.name), Kind: kind, File: n.w.Name(key.file),
				Line: key.line})
			key.kind = kind
			n.codes[key] = number
			return
		}
	}
}

// Site gives the number of a place that makes CFs of a code fragment.
func (n *Node) Site(of uint32, file string, line int) trace.Site {
	key := site{of, file, line}
	number, ok := n.sites[key]
	if !ok {
		number = trace.Site(len(n.sites) + 1)
		n.sites[key] = number
		n.w.DefineSite(trace.SiteDef{Site: number, Code: of, File: n.w.Name(file), Line: line})
	}
	return number
}

// CF gives a new CF.
func (n *Node) CF() trace.CF {
	n.cfs++
	return trace.MakeCF(n.number, n.cfs)
}

// DF gives a new DF of a name. Its index counts those of the name, from 0.
func (n *Node) DF(name string) trace.DF {
	number := n.w.Name(name)
	index := n.names[number]
	n.names[number]++
	n.dfs++
	n.w.DefineDF(n.dfs, number, []int64{int64(n.number), int64(number), index})
	return n.dfs
}

// DFOf gives the DF of a name and an identity. The same identity is the same DF at all nodes.
func (n *Node) DFOf(name string, identity []int64) trace.DF {
	n.dfs++
	n.w.DefineDF(n.dfs, n.w.Name(name), identity)
	return n.dfs
}

// Kind gives the number of an event of a user namespace.
func (n *Node) Kind(spec trace.KindSpec) (trace.Kind, error) { return n.w.DefineKind(spec) }

// close writes what is left.
func (r *Run) close() (err error) {
	if len(r.skipped) > 0 {
		r.Info.Settings[model.NotReadSetting] = r.notRead()
	}
	for _, number := range slices.Sorted(maps.Keys(r.nodes)) {
		n := r.nodes[number]
		err = errors.Join(err, n.w.Close())
		r.Info.Nodes = append(r.Info.Nodes, trace.NodeInfo{Node: number, Host: n.Host,
			Process: len(r.Info.Processes),
			Workers: len(n.workers)})
		r.Info.Processes = append(r.Info.Processes, trace.ProcessInfo{Host: n.Host})
	}
	return errors.Join(err, trace.WriteRunInfo(r.dir, &r.Info))
}
