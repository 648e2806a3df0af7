package division

import (
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// node is one run-time system.
type node struct {
	number  int
	clock   correction
	streams []*stream // by id
	workers []*worker
	defs    *trace.Defs
	dfs     []model.DF          // by number in the node's file, from base on
	base    uint64              //
	odd     map[uint64]model.DF // the same for numbers below or far out, or not defined (yet)
}

// loss is what an onLost event tells.
type loss struct{ stream, first, last int64 }

// stream is one stream of a node.
type stream struct {
	*node
	id     int
	number uint32
	worker *worker // nil: of the run-time system's own

	first, last             int64 // earliest and latest time
	started, finished       int64
	startedCPU, finishedCPU int64
	process                 int
	ran                     bool     // holds executions
	open                    []uint32 // those that have not ended

	lost      []loss // what onLost events recorded here tell
	waits     []span // to is forever where it has not ended
	openWaits []openWait
	idle      []span
	idled     int64 // time in such spans that are forgotten
	idleSince int64
}

type span struct{ from, to int64 }

type openWait struct {
	name  string
	index int
}

// stream finds or makes a stream.
func (d *Division) stream(number, id int) *stream {
	n := d.node(number)
	i, ok := slices.BinarySearchFunc(n.streams, id, func(s *stream, id int) int { return s.id - id })
	if ok {
		return n.streams[i]
	}
	s := &stream{node: n, id: id, number: uint32(len(d.streams)), first: none, last: none, started: none, finished: none, idleSince: none, process: -1}
	if id < len(n.workers) {
		s.worker = n.workers[id]
		s.worker.stream = s
	}
	n.streams = slices.Insert(n.streams, i, s)
	d.streams = append(d.streams, s)
	return s
}

func (d *Division) node(number int) *node {
	for len(d.nodes) <= number {
		d.nodes = append(d.nodes, nil)
	}
	if d.nodes[number] == nil {
		d.nodes[number] = &node{number: number, odd: map[uint64]model.DF{}}
		d.setWorkers(d.nodes[number])
	}
	return d.nodes[number]
}

// maxWorkers bounds what run.json or a damaged stream can make us reserve.
const maxWorkers = 1 << 12

// setWorkers gives a node the workers that run.json lists, or that have shown up.
func (d *Division) setWorkers(n *node) {
	count := 0
	if info := d.info.Node(n.number); info != nil {
		count = min(max(info.Workers, 0), maxWorkers)
	} else {
		for _, s := range n.streams {
			if s.id < maxWorkers && (s.started != none || s.ran) {
				count = s.id + 1
			}
		}
	}
	for len(n.workers) < count {
		n.workers = append(n.workers, &worker{d: d, node: n, number: len(n.workers), cutsChanged: true})
	}
	n.workers = n.workers[:count]
	for _, s := range n.streams {
		s.worker = nil
		if s.id < count {
			s.worker = n.workers[s.id]
			s.worker.stream = s
		}
	}
}

// df gives the number of a DF that a node's file mentions.
func (d *Division) df(n *node, v uint64) model.DF {
	if i := v - n.base; i < uint64(len(n.dfs)) && n.dfs[i] != 0 {
		return n.dfs[i]
	}
	if v == 0 {
		return 0
	}
	g, met := n.odd[v]
	if met && d.homes[g] != (home{}) {
		return g
	}
	_, identity, defined := n.defs.DF(trace.DF(v), d.identity[:0])
	d.identity = identity
	if met && !defined {
		return g
	}
	if !defined {
		g = d.newDF(home{})
		n.odd[v] = g
		return g
	}
	g = d.identified(home{n, trace.DF(v)}, identity, g)
	if i := v - n.base; i < uint64(2*len(n.dfs)+1024) {
		if i >= uint64(len(n.dfs)) {
			n.dfs = slices.Grow(n.dfs, int(i)+1-len(n.dfs))[:i+1]
		}
		n.dfs[i] = g
		delete(n.odd, v)
	} else {
		n.odd[v] = g
	}
	return g
}

// home is where the identity of a DF stands.
type home struct {
	node *node
	df   trace.DF
}

func (d *Division) newDF(h home) model.DF {
	d.homes = append(d.homes, h)
	return model.DF(d.dfs.add(df{}))
}

// identified gives the DF with an identity; known is the number that it was given while it was not defined, or 0.
func (d *Division) identified(h home, identity []int64, known model.DF) model.DF {
	id, clash := uint64(0), false
	if len(identity) > 0 {
		id = trace.IdentityID(identity)
		var list []int64
		for _, g := range append([]model.DF{d.dfOf[id]}, d.clashes[id]...) {
			if g == 0 {
				continue
			}
			_, list, _ = d.homes[g].node.defs.DF(d.homes[g].df, list[:0])
			if slices.Equal(list, identity) {
				if known != 0 {
					return known // two numbers were in use before anybody could know that it is one DF
				}
				return g
			}
			clash = true
		}
	}
	g := known
	if g == 0 {
		g = d.newDF(h)
	} else {
		d.homes[g] = h
	}
	switch {
	case len(identity) == 0:
	case clash:
		d.clashes[id] = append(d.clashes[id], g)
	default:
		d.dfOf[id] = g
	}
	return g
}
