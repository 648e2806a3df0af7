package lunatext

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/convert/foreign"
	"github.com/whyslow/whyslow/trace"
)

// run is the run as far as it was read. Of CFs those are kept that have not ended, of DFs which there are.
type run struct {
	to       *foreign.Run
	nodes    map[int]*node
	moving   map[way][]*cf    // on their way, the first sent first
	posted   map[string]post  // by identifier: where the DF was stored first
	departed int              // counts changes of moving and posted
	subs     map[codeKey]bool // code fragments that create CFs
	messages uint64
	dfs      int
	start    int64
}

// post is where and when a DF was stored.
type post struct {
	rank int
	t    int64
}

// way is how a CF migrates.
type way struct{ from, to, block int }

// node is a rank.
type node struct {
	*foreign.Node
	rank    int
	now     int64 // time of the last line
	system  *trace.Stream
	cfs     map[string]*cf
	running []*cf // by worker; nil: it is free
	streams []*stream
	ended   []*cf // at the time of the last line
	dfs     map[string]trace.DF
	made    map[trace.DF]int64  // sizes of what was stored here and not destroyed
	loose   map[trace.DF]stored // stored by one of several CFs
	codes   map[codeKey]uint32
	sends   []send
}

// send is a DF that leaves a node. When it did is found out only when it has come.
type send struct {
	t    int64
	args []uint64
}

type codeKey struct {
	block int
	place string
}

type stream struct {
	*trace.Stream
	last int64
}

func (s *stream) emit(t int64, k trace.Kind, args ...uint64) {
	s.last = max(s.last, t)
	s.Emit(s.last, k, args...)
}

// stored is a DF that a CF made.
type stored struct {
	df   trace.DF
	size int64
	t    int64
}

// cf is one that has not ended.
type cf struct {
	id      trace.CF
	name    string
	block   int    // at which it was created
	code    uint32 // at its node
	place   string
	worker  int   // that executes it; -1: none
	was     int   // the worker that executed it, once it has ended
	invoked int64 // when its present block was
	asked   int64 // when it last asked for a DF
	ready   int64
	ended   int64
	inputs  []trace.DF
	own     []stored
}

func newRun(to *foreign.Run) *run {
	return &run{to: to, nodes: map[int]*node{}, moving: map[way][]*cf{}, posted: map[string]post{},
		subs: map[codeKey]bool{}}
}

func (r *run) node(rank int) (*node, error) {
	n := r.nodes[rank]
	if n == nil {
		of, err := r.to.Node(rank)
		if err != nil {
			return nil, err
		}
		n = &node{Node: of, rank: rank, system: of.System(), cfs: map[string]*cf{}, dfs: map[string]trace.DF{},
			made: map[trace.DF]int64{}, loose: map[trace.DF]stored{}, codes: map[codeKey]uint32{}}
		r.nodes[rank] = n
	}
	return n, nil
}

// line takes a line in.
func (r *run) line(l *line) error {
	n, err := r.node(l.rank)
	if err != nil {
		return err
	}
	n.now = max(n.now, l.t)
	n.ended = slices.DeleteFunc(n.ended, func(c *cf) bool { return c.ended < n.now })
	word, rest, _ := strings.Cut(strings.Replace(l.message, "\t", " ", 1), " ")
	about := func(text string) (*cf, int, string, error) {
		name, block, rest, err := cfOf(text)
		if err != nil {
			return nil, 0, "", err
		}
		c := n.cfs[name]
		if c == nil { // it was created before the log begins
			c = r.create(n, name, block, l.place, nil)
		}
		return c, block, rest, nil
	}
	switch word {
	case "Create":
		name, block, _, err := cfOf(strings.TrimPrefix(rest, "CF "))
		if err == nil {
			r.create(n, name, block, l.place, n.creator())
		}
		return err
	case "Invoke":
		c, _, _, err := about(strings.TrimPrefix(rest, "CF "))
		if err == nil {
			err = r.invoke(n, c)
		}
		return err
	case "Finish":
		c, _, _, err := about(strings.TrimPrefix(rest, "CF "))
		if err == nil {
			r.end(n, c)
		}
		return err
	case "Migrate", "Stealing":
		_, name, _ := strings.Cut(l.message, "CF ")
		c, block, rest, err := about(name)
		if err != nil {
			return err
		}
		to, err := strconv.Atoi(strings.TrimPrefix(rest, " to "))
		if err != nil || to < 0 || to >= foreign.MostWorkers {
			return fmt.Errorf("%.40q names no rank", rest)
		}
		r.leaves(n, c, block, to, word == "Stealing")
	case "Receive":
		name, block, _, err := cfOf(strings.TrimPrefix(rest, "CF "))
		if err == nil {
			r.arrives(n, name, block, l.place)
		}
		return err
	case "requested", "responded", "Wait":
		return r.needs(n, word, rest, about)
	case "Store", "POST", "Destroyed":
		id, value, err := idOf(rest)
		if err != nil {
			return err
		}
		return r.data(n, word, id, sizeOf(value), l.place)
	}
	return nil // bookkeeping
}

// df gives the DF of an identifier.
func (r *run) df(n *node, id []int64) (trace.DF, error) {
	key := fmt.Sprint(id)
	df, ok := n.dfs[key]
	if !ok {
		if r.dfs++; r.dfs > 1<<26 {
			return 0, fmt.Errorf("there are more than %d DFs", 1<<26)
		}
		name := "ID"
		if len(id) >= 2 {
			name = fmt.Sprintf("ID%d.%d", id[0], id[1])
		}
		df = n.DFOf(name, id)
		n.dfs[key] = df
	}
	return df, nil
}

// code gives the code fragment of CFs that are created at a block.
func (r *run) code(n *node, c *cf) uint32 {
	key := codeKey{c.block, c.place}
	code, ok := n.codes[key]
	if !ok {
		name, file, at := "block "+strconv.Itoa(c.block), "", 0
		if c.name == "_main" {
			name = c.name
		}
		if place, number, ok := strings.Cut(c.place, ":"); ok {
			line, err := strconv.Atoi(number)
			if ext := path.Ext(place); err == nil && ext != ".cpp" && ext != ".h" { // not of LuNA itself
				file, at = place, line
				if c.name != "_main" {
					name = c.place
				}
			}
		}
		kind := trace.Atomic
		if r.subs[key] {
			kind = trace.Sub
		}
		code = n.Code(name, kind, file, at)
		n.codes[key] = code
	}
	return code
}

// creator gives the only CF that runs at a node; nil if there is none, or several.
func (n *node) creator() (only *cf) {
	for _, c := range n.running {
		if c != nil && only != nil {
			return nil
		} else if c != nil {
			only = c
		}
	}
	return only
}

func (r *run) create(n *node, name string, block int, place string, parent *cf) *cf {
	c := &cf{id: n.CF(), name: name, block: block, place: place, worker: -1, ready: n.now}
	n.cfs[name] = c
	of := uint64(0)
	if parent != nil {
		of = uint64(parent.id)
		if key := (codeKey{parent.block, parent.place}); !r.subs[key] {
			r.subs[key] = true
			for _, n := range r.nodes {
				if code, ok := n.codes[key]; ok {
					n.Turns(code, trace.Sub)
				}
			}
		}
	}
	c.code = r.code(n, c)
	n.system.Emit(n.now, trace.KindCFCreated, uint64(c.id), uint64(n.Site(c.code, "", 0)), of, 1,
		math.Float64bits(1), 0)
	return c
}

func (r *run) invoke(n *node, c *cf) error {
	c.invoked = n.now
	if c.worker >= 0 {
		return nil
	}
	c.worker = slices.Index(n.running, nil)
	if c.worker < 0 {
		if len(n.running) == foreign.MostWorkers {
			return fmt.Errorf("more than %d CFs execute at the same time", foreign.MostWorkers)
		}
		c.worker = len(n.running)
		n.running = append(n.running, nil)
		n.streams = append(n.streams, &stream{n.Worker(c.worker, r.start), r.start})
	}
	n.running[c.worker] = c
	return nil
}

// pause notes that no worker executes a CF any more.
func (n *node) pause(c *cf) {
	if c.worker >= 0 {
		n.running[c.worker] = nil
		c.worker = -1
	}
}

func (r *run) end(n *node, c *cf) {
	if c.worker < 0 {
		return
	}
	s := n.streams[c.worker]
	args := []uint64{uint64(c.id), 1, 0}
	for _, df := range c.inputs {
		if !slices.ContainsFunc(c.own, func(o stored) bool { return o.df == df }) {
			args = append(args, uint64(df))
		}
	}
	args[2] = uint64(len(args) - 3)
	s.emit(c.invoked, trace.KindCFReady, uint64(c.id), uint64(max(c.invoked-c.ready, 0)))
	s.emit(c.invoked, trace.KindCFStarted, args...)
	for _, o := range c.own {
		s.emit(o.t, trace.KindDFCreate, uint64(o.df), uint64(o.size), uint64(c.id))
	}
	s.emit(n.now, trace.KindCFFinished, uint64(c.id), 1, math.MaxUint64)
	n.system.Emit(n.now, trace.KindCFDestroyed, uint64(c.id))
	c.ended = n.now
	n.ended = append(n.ended, c)
	c.own, c.inputs, c.was = nil, nil, c.worker
	n.pause(c)
	delete(n.cfs, c.name)
}

func (r *run) leaves(n *node, c *cf, block, to int, stolen bool) {
	n.pause(c)
	delete(n.cfs, c.name)
	kind := trace.KindCFMigrated
	if stolen {
		kind = trace.KindCFStolen
	}
	n.system.Emit(n.now, kind, uint64(c.id), uint64(to), 0, math.Float64bits(1))
	r.departed++
	w := way{n.rank, to, block}
	r.moving[w] = append(r.moving[w], c)
}

// comes gives the way on which a CF comes to a node at a block.
func (r *run) comes(rank, block int) (from way, ok bool) {
	for w := range r.moving {
		if w.to == rank && w.block == block && (!ok || w.from < from.from) {
			from, ok = w, true
		}
	}
	return from, ok
}

// early tells whether a line is about the arrival of what has not departed, as far as the log was read.
func (r *run) early(l *line) bool {
	word, rest, _ := strings.Cut(l.message, " ")
	switch word {
	case "Receive":
		_, block, _, err := cfOf(strings.TrimPrefix(rest, "CF "))
		_, ok := r.comes(l.rank, block)
		return err == nil && !ok
	case "responded":
		id, _, err := idOf(rest)
		_, ok := r.posted[fmt.Sprint(id)]
		return err == nil && !ok
	}
	return false
}

// arrives notes a CF that has come: of those that go to the node at this block the first.
func (r *run) arrives(n *node, name string, block int, place string) {
	from, ok := r.comes(n.rank, block)
	if !ok {
		r.create(n, name, block, place, nil)
		return
	}
	queue := r.moving[from]
	c := queue[0]
	if r.moving[from] = queue[1:]; len(queue) == 1 {
		delete(r.moving, from)
	}
	c.name, c.ready = name, n.now
	c.inputs, c.own = nil, nil
	c.code = r.code(n, c)
	n.cfs[name] = c
	n.system.Emit(n.now, trace.KindCFReceived, uint64(c.id), uint64(from.from), 0, math.Float64bits(1))
}

// needs takes a line about a DF that a CF needs.
func (r *run) needs(n *node, word, rest string, about func(string) (*cf, int, string, error)) error {
	id, after, err := idOf(rest)
	if err != nil {
		return err
	}
	at := max(strings.LastIndex(after, " by CF "), strings.LastIndex(after, " for CF "))
	if at < 0 {
		return fmt.Errorf("no CF needs the DF")
	}
	c, _, _, err := about(strings.TrimPrefix(strings.TrimPrefix(after[at:], " by CF "), " for CF "))
	if err != nil {
		return err
	}
	df, err := r.df(n, id)
	if err != nil {
		return err
	}
	has := strings.HasPrefix(after, " -> ")
	if o, ok := n.loose[df]; ok && word == "Wait" && has { // who stores a DF then looks at it
		delete(n.loose, df)
		c.own = append(c.own, o)
	}
	if !slices.Contains(c.inputs, df) {
		c.inputs = append(c.inputs, df)
	}
	switch {
	case word == "responded":
		c.ready = n.now
		return r.comesFrom(n, c, df, id, sizeOf(after))
	case word == "requested":
		c.asked = n.now
	case word == "Wait" && !has:
		n.pause(c)
		n.system.Emit(n.now, trace.KindCFWaiting, uint64(c.id), 1, uint64(df))
	}
	return nil
}

// comesFrom notes a DF that another rank has sent, if it was stored there. No line tells when it was sent:
// that counts from when it was stored and had been asked for.
func (r *run) comesFrom(n *node, c *cf, df trace.DF, id []int64, size int64) error {
	from, ok := r.posted[fmt.Sprint(id)]
	if _, here := n.made[df]; !ok || from.rank == n.rank || here {
		return nil
	}
	n.made[df] = size
	sender := r.nodes[from.rank]
	there, err := r.df(sender, id)
	if err != nil {
		return err
	}
	r.messages++
	message := trace.MakeMessage(from.rank, r.messages)
	sender.sends = append(sender.sends, send{max(from.t, c.asked), []uint64{uint64(there), uint64(n.rank),
		uint64(size), message, 0, 0}})
	n.system.Emit(n.now, trace.KindDFReceived, uint64(df), uint64(from.rank), uint64(size), message, 0,
		uint64(c.id))
	return nil
}

// data takes a line about a DF alone.
func (r *run) data(n *node, word string, id []int64, size int64, place string) error {
	df, err := r.df(n, id)
	if err != nil {
		return err
	}
	switch word {
	case "POST":
		n.made[df] = size
		if _, known := r.posted[fmt.Sprint(id)]; !known {
			r.posted[fmt.Sprint(id)] = post{n.rank, n.now}
			r.departed++
		}
		n.system.Emit(n.now, trace.KindDFStored, uint64(df), uint64(size))
	case "Destroyed":
		if size, ok := n.made[df]; ok {
			delete(n.made, df)
			n.system.Emit(n.now, trace.KindDFDestroy, uint64(df), uint64(size), uint64(trace.Expired))
		}
	case "Store":
		o := stored{df, size, n.now}
		if c := n.creator(); c != nil {
			c.own = append(c.own, o)
			return nil
		}
		// Logs of ours have it after the end of the CF, with the place of the CF.
		of := slices.IndexFunc(n.ended, func(c *cf) bool { return c.place == place })
		if of < 0 {
			n.loose[df] = o
			return nil
		}
		c := n.ended[of]
		n.streams[c.was].emit(n.now, trace.KindDFCreate, uint64(df), uint64(size), uint64(c.id))
	}
	return nil
}

// finish ends the trace. CFs that have not ended are left as they are.
func (r *run) finish() error {
	end := r.start
	for _, n := range r.nodes {
		end = max(end, n.now)
	}
	for _, rank := range slices.Sorted(maps.Keys(r.nodes)) {
		n := r.nodes[rank]
		slices.SortStableFunc(n.sends, func(a, b send) int { return cmp.Compare(a.t, b.t) })
		for _, s := range n.sends {
			n.Later().Emit(s.t, trace.KindDFSent, s.args...)
		}
		for _, c := range n.running {
			if c != nil {
				s := n.streams[c.worker]
				s.emit(c.invoked, trace.KindCFReady, uint64(c.id), uint64(max(c.invoked-c.ready, 0)))
				s.emit(c.invoked, trace.KindCFStarted, uint64(c.id), 1, 0)
			}
		}
		if len(n.streams) == 0 {
			n.Worker(0, r.start)
		}
		n.Finish(r.start, end)
	}
	return nil
}
