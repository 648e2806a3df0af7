package otf2

import (
	"math"
	"slices"

	"github.com/whyslow/whyslow/internal/convert/otf2"
)

// defs are the definitions of an archive, by their numbers.
type defs struct {
	resolution, offset uint64 // of the clock: ticks a second, and the first
	texts              map[uint64]string
	hosts              map[uint64]host
	processes          map[uint64]*process
	locations          map[uint64]*location
	listed             []*location // as they were defined
	regions            map[uint64]region
	groups             map[uint64]group
	comms              map[uint64]comm
	windows            map[uint64]uint64 // their communicators
	teams              bool              // there are some of OpenMP threads
	words              int               // that all definitions have
}

// mostDefined is how many words of 8 bytes the definitions may have.
const mostDefined = 1 << 26

func newDefs() defs {
	return defs{resolution: 1e9, texts: map[uint64]string{}, hosts: map[uint64]host{},
		processes: map[uint64]*process{},
		locations: map[uint64]*location{}, regions: map[uint64]region{}, groups: map[uint64]group{},
		comms: map[uint64]comm{}, windows: map[uint64]uint64{}}
}

type host struct{ name, class, parent uint64 }

// process is a group of locations.
type process struct {
	kind, host uint64
	node       int // -1: none yet, or it is no process
	threads    int
}

type location struct {
	kind, process uint64
	node, worker  int // node -1: it is no thread
}

type region struct {
	name, file, role, paradigm uint64
	line                       int
}

type group struct {
	kind, paradigm uint64
	members        []uint64
}

// comm is a communicator: one group, or two that send to each other.
type comm struct {
	groups []uint64
	nodes  [][]int32 // the processes of the groups by rank, once they are needed; -1: not known
}

// Types, as in OTF2_Definitions.h.
const (
	typeProcess       = 1 // of groups of locations
	typeThread        = 1 // of locations
	typeLocations     = 1 // of groups
	typeCommLocations = 4
	typeCommGroup     = 5
	typeCommSelf      = 6
)

// define takes in a definition.
func (d *defs) define(r *otf2.Reader) error {
	w := r.Words
	const each = 8 // what an entry of a map takes besides
	d.words += len(w) + each
	if err := limit(d.words, mostDefined, "words of definitions"); err != nil {
		return err
	}
	switch r.Kind {
	case otf2.String:
		d.texts[w[0]] = r.Text()
	case otf2.Clock:
		if w[0] > 0 {
			d.resolution, d.offset = w[0], w[1]
		}
	case otf2.Host:
		d.hosts[w[0]] = host{w[1], w[2], w[3]}
	case otf2.Process:
		d.processes[w[0]] = &process{kind: w[2], host: w[3], node: -1}
	case otf2.Location:
		l := &location{kind: w[2], process: w[4], node: -1}
		d.locations[w[0]] = l
		d.listed = append(d.listed, l)
	case otf2.Region:
		d.regions[w[0]] = region{name: w[1], role: w[2], paradigm: w[3], file: w[4],
			line: int(min(w[5], math.MaxInt32))}
	case otf2.Group:
		d.groups[w[0]] = group{w[1], w[2], slices.Clone(w[3:])}
		d.teams = d.teams || w[2] == paradigmOpenMP
	case otf2.Comm:
		d.comms[w[0]] = comm{groups: []uint64{w[1]}}
	case otf2.Inter:
		d.comms[w[0]] = comm{groups: []uint64{w[1], w[2]}}
	case otf2.Window:
		d.windows[w[0]] = w[1]
	}
	return nil
}

// number numbers processes and threads, once all are defined: first those of the ranks of MPI, in their
// order, or of what else has communicators. It returns the hosts of the processes.
func (d *defs) number() (hosts []string) {
	take := func(l *location) {
		p := d.processes[l.process]
		if p != nil && p.node < 0 && p.kind == typeProcess {
			p.node = len(hosts)
			hosts = append(hosts, d.hostOf(p.host))
		}
	}
	for _, g := range sortedKeys(d.groups) {
		if group := d.groups[g]; group.kind == typeCommLocations && group.paradigm != paradigmOpenMP {
			for _, m := range group.members {
				if l := d.locations[m]; l != nil {
					take(l)
				}
			}
		}
	}
	for _, l := range d.listed {
		take(l)
		p := d.processes[l.process]
		if p == nil || p.node < 0 || l.kind != typeThread {
			continue
		}
		l.node, l.worker = p.node, p.threads
		p.threads++
	}
	return hosts
}

// hostOf is the name of a computer: the first above a process that is a node, or what is above the process.
func (d *defs) hostOf(at uint64) string {
	name := d.texts[d.hosts[at].name]
	for range len(d.hosts) {
		h, ok := d.hosts[at]
		if !ok {
			break
		}
		if d.texts[h.class] == "node" {
			return d.texts[h.name]
		}
		at = h.parent
	}
	return name
}

// locationsOf gives the locations that communicators of a paradigm are made of.
func (d *defs) locationsOf(paradigm uint64) []uint64 {
	for _, g := range sortedKeys(d.groups) {
		if group := d.groups[g]; group.kind == typeCommLocations && group.paradigm == paradigm {
			return group.members
		}
	}
	return nil
}

// members gives the nodes of a group by rank; own is that of the process that asks.
func (d *defs) members(ref uint64, own int) []int32 {
	g := d.groups[ref]
	if g.kind == typeCommSelf {
		return []int32{int32(own)}
	}
	from := g.members
	switch g.kind {
	case typeCommGroup:
		all := d.locationsOf(g.paradigm)
		from = make([]uint64, len(g.members))
		for i, m := range g.members {
			from[i] = otf2.UndefinedLong
			if m < uint64(len(all)) {
				from[i] = all[m]
			}
		}
	case typeLocations, typeCommLocations:
	default:
		return nil
	}
	list := make([]int32, len(from))
	for i, m := range from {
		list[i] = -1
		if l := d.locations[m]; l != nil {
			list[i] = int32(l.node)
		}
	}
	return list
}

// peers gives those whom a process names by their ranks in a communicator.
func (d *defs) peers(ref uint64, own int) []int32 {
	c, ok := d.comms[ref]
	if !ok {
		return nil
	}
	if len(c.groups) == 1 && d.groups[c.groups[0]].kind == typeCommSelf {
		return []int32{int32(own)}
	}
	if c.nodes == nil {
		for _, g := range c.groups {
			if d.words += len(d.groups[g].members); d.words > mostDefined {
				return nil // many communicators of a large group: no archive of a program has so many
			}
			c.nodes = append(c.nodes, d.members(g, own))
		}
		d.comms[ref] = c
	}
	if len(c.nodes) == 2 && slices.Contains(c.nodes[0], int32(own)) {
		return c.nodes[1]
	}
	return c.nodes[0]
}
