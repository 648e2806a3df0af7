package pattern

import (
	"cmp"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// calls is the tree of call paths, and where every visit belongs.
type calls struct {
	m       *model.Model
	list    []Call
	regions []Region
	of      [][]int32 // by thread and visit: the call path
	class   [][]uint8 // by thread and visit: the metric its own time belongs to

	inFunction []bool  // by call path: it is in a function of the program, or is one
	met        []int32 // by call path: the thread that was there first
	known      map[uint64]int32
	byCall     map[Call]int32
	byRegion   map[Region]int
	ofCode     []int // by code fragment: 1 + its region
}

// makeCalls finds all call paths; they are numbered depth first, those of one caller in the order in which
// they are first met. All members of g call it, each of which meets those of its own threads.
func makeCalls(m *model.Model, f *forest, g procs.Group) (*calls, error) {
	threads := m.Regions.Threads
	c := &calls{m: m, of: make([][]int32, len(threads)), class: make([][]uint8, len(threads))}
	c.forget()
	name := m.Info.Program
	if name == "" {
		name = "program"
	}
	c.call(Call{Parent: -1, Region: c.region(Region{Name: name, Kind: trace.Function.String()})}, false, 0)
	classOf := make([]uint8, len(m.Sites))
	for i := range classOf {
		code := &m.Codes[m.Sites[i].Code]
		id, ok := classOfKind[code.Kind]
		switch {
		case !ok:
			id = "program"
		case code.Kind == trace.IO && strings.HasSuffix(code.Name, "sleep"):
			id = "sleep" // usleep, nanosleep and so on
		}
		classOf[i] = uint8(f.index[id])
	}
	for i := range threads {
		if m.Own(threads[i].Node) {
			c.thread(i, f, classOf)
		}
	}
	if g.Size() > 1 {
		if err := c.unite(g); err != nil {
			return nil, err
		}
		for i := range threads {
			if !m.Own(threads[i].Node) {
				c.thread(i, f, classOf) // all its call paths are known by now
			}
		}
	}
	c.order()
	c.known, c.byCall, c.byRegion, c.met = nil, nil, nil, nil
	return c, nil
}

// forget makes a tree without call paths.
func (c *calls) forget() {
	c.list, c.regions, c.inFunction, c.met = nil, nil, nil, nil
	c.known, c.byCall, c.byRegion, c.ofCode = map[uint64]int32{}, map[Call]int32{}, map[Region]int{},
		make([]int, len(c.m.Codes))
}

// thread finds where the visits of a thread belong.
func (c *calls) thread(i int, f *forest, classOf []uint8) {
	t := &c.m.Regions.Threads[i]
	of, class := make([]int32, len(t.Enter)), make([]uint8, len(t.Enter))
	for v, site := range t.Site {
		parent := int32(0)
		if p := t.Parent[v]; p >= 0 {
			parent = of[p]
		}
		key := uint64(parent)<<32 | uint64(site)
		n, ok := c.known[key]
		if !ok {
			n = c.find(parent, site, i)
			c.known[key] = n
		}
		of[v], class[v] = n, classOf[site]
	}
	for k := len(t.Collectives) - 1; k >= 0; k-- {
		if r := &t.Collectives[k]; r.Visit >= 0 {
			class[r.Visit] = uint8(f.index[cmp.Or(classOfCollective[r.Kind], "collective")])
			if r.Done >= 0 && class[r.Done] == classOf[t.Site[r.Done]] { // it waits for the last one begun
				class[r.Done] = class[r.Visit]
			}
		}
	}
	message := func(visit int32) { // a call that waits for messages as well is theirs
		if visit >= 0 {
			class[visit] = classOf[t.Site[visit]]
		}
	}
	for k := range t.Sends {
		message(t.Sends[k].Done)
	}
	for k := range t.Receives {
		message(t.Receives[k].Visit)
	}
	c.of[i], c.class[i] = of, class
}

// callOf is the call path of a visit of a thread, or of the time in none.
func (c *calls) callOf(thread int, visit int32) int32 {
	if visit < 0 {
		return 0
	}
	return c.of[thread][visit]
}

// sharedCall is a call path as one process tells others.
type sharedCall struct {
	Call
	Region   Region // in place of Call.Region
	Function bool
	Met      int32

	from, number int // the process that tells it, and its number there
}

// unite makes one tree of those of all processes. Sorted by the threads that met them first, call paths are
// in the order in which one process would meet them.
func (c *calls) unite(g procs.Group) error {
	own := make([]sharedCall, len(c.list))
	for i, v := range c.list {
		own[i] = sharedCall{Call: v, Region: c.regions[v.Region], Function: c.inFunction[i], Met: c.met[i]}
	}
	told, err := procs.AllOf(g, own)
	if err != nil {
		return err
	}
	var all []sharedCall
	to := make([][]int32, len(told)) // by process and number
	for rank, list := range told {
		to[rank] = make([]int32, len(list))
		for i, v := range list {
			v.from, v.number = rank, i
			all = append(all, v)
		}
	}
	slices.SortStableFunc(all, func(x, y sharedCall) int { return cmp.Compare(x.Met, y.Met) })
	c.forget()
	for _, v := range all {
		call := v.Call
		if call.Parent >= 0 {
			call.Parent = int(to[v.from][call.Parent])
		}
		call.Region = c.region(v.Region)
		to[v.from][v.number] = c.call(call, v.Function, int(v.Met))
	}
	for _, of := range c.of {
		for v, n := range of {
			of[v] = to[g.Rank()][n]
		}
	}
	return nil
}

func (c *calls) region(r Region) int {
	i, ok := c.byRegion[r]
	if !ok {
		i = len(c.regions)
		c.regions = append(c.regions, r)
		c.byRegion[r] = i
	}
	return i
}

func (c *calls) call(v Call, function bool, thread int) int32 {
	i, ok := c.byCall[v]
	if !ok {
		i = int32(len(c.list))
		c.list = append(c.list, v)
		c.inFunction, c.met = append(c.inFunction, function), append(c.met, int32(thread))
		c.byCall[v] = i
	}
	return i
}

// find gives the call path of a region called at a statement. Where functions were not recorded but the
// statement is known to be in one, that one is put in between.
func (c *calls) find(parent int32, site uint32, thread int) int32 {
	s := &c.m.Sites[site]
	code := &c.m.Codes[s.Code]
	if s.Function != "" && code.Kind != trace.Function && !c.inFunction[parent] {
		parent = c.call(Call{Parent: int(parent), Region: c.region(Region{Name: s.Function,
			Kind: trace.Function.String()})}, true, thread)
	}
	if c.ofCode[s.Code] == 0 {
		c.ofCode[s.Code] = 1 + c.region(Region{Name: code.Name, Kind: code.Kind.String(), File: code.File,
			Line: code.Line})
	}
	return c.call(Call{Parent: int(parent), Region: c.ofCode[s.Code] - 1, File: s.File, Line: s.Line},
		c.inFunction[parent] || code.Kind == trace.Function, thread)
}

// order numbers the call paths depth first.
func (c *calls) order() {
	below := make([][]int32, len(c.list))
	for i := 1; i < len(c.list); i++ {
		p := c.list[i].Parent
		below[p] = append(below[p], int32(i))
	}
	place := make([]int32, len(c.list))
	list := make([]Call, 0, len(c.list))
	for ahead := []int32{0}; len(ahead) > 0; {
		n := ahead[len(ahead)-1]
		ahead = ahead[:len(ahead)-1]
		place[n] = int32(len(list))
		v := c.list[n]
		if v.Parent >= 0 {
			v.Parent = int(place[v.Parent])
		}
		list = append(list, v)
		for k := len(below[n]) - 1; k >= 0; k-- {
			ahead = append(ahead, below[n][k])
		}
	}
	c.list = list
	for _, of := range c.of {
		for v, n := range of {
			of[v] = place[n]
		}
	}
	c.inFunction = nil
}

// ownTime is how much of a stretch is a visit's own: inside of it, and in no visit inside of it.
func ownTime(t *model.Thread, v int, from, to int64) int64 {
	from, to = max(from, t.Enter[v]), min(to, t.Exit[v])
	ns := max(to-from, 0)
	for w := v + 1; w < len(t.Enter) && t.Parent[w] >= int32(v) && t.Enter[w] < to; w++ {
		if t.Parent[w] == int32(v) {
			ns -= max(0, min(to, t.Exit[w])-max(from, t.Enter[w]))
		}
	}
	return ns
}
