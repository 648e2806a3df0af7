package model

import (
	"context"
	"errors"
	"slices"
	"sort"

	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// A run that is too large for one process is shared by several. Each reads the files of some nodes, its own;
// its model has everything about them, and of other nodes what the time of its own depends on. That comes in
// steps:
//
// Known to all (share_tell.go). Names, sites and code fragments in one table, in the order that one process
// would give it; of every stream its start and end, losses, counts and comparisons of clocks; problems.
//
// What crosses (share_cross.go). CFs, messages and requests have a home: the process that reads the node in
// their id. All others tell it what they recorded about them, and it tells everything back to all that did.
// DFs have no such node. So processes first compare the ids of all DFs, each process a part of the ids; then
// everybody tells creations of a DF to all whose files mention it.
//
// What it depends on (share_want.go). Executions here may wait for what CFs made that never were here, and
// have ancestors that waited for other DFs elsewhere. Each process asks those who know, and what comes may
// raise more questions, until nobody has one.
//
// Regions (share_regions.go). Every process gets all collectives and locks, and the visits that tell what
// they cost.
//
// All but regions travels raw, as records in columns of streams with times of the nodes' own clocks
// (share_rows.go). In the end the model is made of all streams as ever. The result is exact, also of damaged
// traces. One thing differs from what a single process makes: two DFs with the same 64-bit id are told apart,
// but not reported where no process reads a file of both.

// share says which part of a run a model has.
type share struct {
	rank, size int
	owner      []uint16 // by node: the process that reads its file
	first, end int      // executions of own nodes
	runs       []runsOf // by stream, in their order
	ownDFs     DF       // those below are mentioned in own files,
	shared     bits     // and these of them in files of others, too
	requests   *ids
}

// runsOf says where the executions of a stream of a node end.
type runsOf struct{ node, end int }

// BuildShare is Build by several processes at once: each reads the files that its reader has, which is to be
// of trace.OpenShare for its rank in g (another one is opened in its place if it is not), and its model is
// complete for them, see Own. All members of g call it with the same options, without In. A group of nil or
// of one is Build. It fails at all members when it fails at one.
func BuildShare(ctx context.Context, r *trace.Reader, opt Options, g procs.Group) (*Model, error) {
	if g == nil || g.Size() == 1 {
		return Build(ctx, r, opt)
	}
	if part, parts := r.Part(); part != g.Rank() || parts != g.Size() {
		own, err := trace.OpenShare(r.Path(), g.Rank(), g.Size())
		if err := procs.Agree(g, err); err != nil {
			return nil, err
		}
		defer own.Close()
		r = own
	}
	h, err := newSharing(ctx, r, opt, g)
	if err != nil {
		return nil, err
	}
	for _, step := range []func() error{h.tellSummaries, h.tellCrossing, h.tellClocks, h.followThreads} {
		if err := procs.Agree(g, ctx.Err()); err != nil {
			return nil, err
		}
		if err := step(); err != nil {
			return nil, err
		}
	}
	h.settle()
	m := h.b.finish()
	if err := h.tellRegions(); err != nil {
		return nil, err
	}
	return m, h.tellFirstSeen()
}

// Own tells whether a node is wholly in this model: all are, but in that of one of several processes (see
// BuildShare).
func (m *Model) Own(node int) bool {
	return m.share == nil || (node >= 0 && node < len(m.share.owner) && int(m.share.owner[node]) == m.share.rank)
}

// Owner gives the process, by its rank, that has a node as its own and answers for what is named after it; of
// nodes that there are none of, too. It is 0 where one process has all.
func (m *Model) Owner(node int) int {
	switch {
	case m.share == nil:
		return 0
	case node >= 0 && node < len(m.share.owner):
		return int(m.share.owner[node])
	}
	return m.share.size - 1
}

// Shared tells whether a DF may be known to other processes, too.
func (m *Model) Shared(df DF) bool {
	return m.share != nil && (df >= m.share.ownDFs || m.share.shared.has(uint32(df)))
}

// RequestID names a request, by its number, for other processes; 0 where one process has all.
func (m *Model) RequestID(request uint32) uint64 {
	if m.share == nil {
		return 0
	}
	return m.share.requests.id(request)
}

// FindRequest gives the number of a request that another process named; 0 where nothing is known of it here.
func (m *Model) FindRequest(id uint64) uint32 {
	if m.share == nil {
		return 0
	}
	return m.share.requests.find(id)
}

// OwnExecutions gives the executions of the nodes that are wholly in this model: from first up to but not
// including end.
func (m *Model) OwnExecutions() (first, end int) {
	if m.share == nil {
		return 0, m.Executions()
	}
	return m.share.first, m.share.end
}

// ExecutedBy gives the process, by its rank, that has the node of an execution as its own: 0 where one
// process has all.
func (m *Model) ExecutedBy(execution int) int {
	if m.share == nil {
		return 0
	}
	i := sort.Search(len(m.share.runs), func(i int) bool { return m.share.runs[i].end > execution })
	return int(m.share.owner[m.share.runs[i].node])
}

// Learn gives the number of a CF that another process knows, with the statement that it knows it to come
// from. It must not be called while others use the model.
func (m *Model) Learn(id trace.CF, site uint32) CF {
	cf := CF(m.cfs.number(uint64(id)))
	for n := m.cfs.size(); len(m.Created) < n; {
		m.Created, m.Parent, m.ParentExec, m.SiteOf = append(m.Created, None), append(m.Parent, 0),
			append(m.ParentExec, 0), append(m.SiteOf, 0)
		m.Ready, m.ReadyNode, m.ExecOf, m.labelAt = append(m.Ready, None), append(m.ReadyNode, 0),
			append(m.ExecOf, 0), append(m.labelAt, 0)
	}
	if m.Created[cf] == None && m.SiteOf[cf] == 0 {
		m.SiteOf[cf] = site
	}
	return cf
}

// Counted tells whether a message, of DFMessages, Requests or Moves, is to be counted in this model: of the
// models of all processes one counts it.
func (m *Model) Counted(g *Message) bool {
	switch {
	case g.Received != None:
		return m.Own(int(g.To))
	case g.Sent != None:
		return m.Own(int(g.From))
	}
	return false
}

// sharing is a model being built by one of several processes.
type sharing struct {
	b          *builder
	m          *Model
	r          *trace.Reader
	g          procs.Group
	rank, size int
	own        []*stream             // those read here
	abroad     map[streamKey]*stream // the others
	order      []*stream             // likewise, by node and stream
	out        []parcel              // by process: what it is to be told next

	ownDFs   DF        // those below are mentioned in the files read here
	shared   bits      // of these: in files of others, too
	sharers  askers    // of these: the processes whose files mention them
	told     bits      // CFs of which all is known here
	messages ends      // what is known of messages
	direct   bits      // messages sent by nodes that never received the DF
	asked    *askedFor // what parcels are about, by those they come from
}

func newSharing(ctx context.Context, r *trace.Reader, opt Options, g procs.Group) (*sharing, error) {
	if opt.In != nil {
		return nil, errors.New("a part of a run cannot be shared among processes; build it in one")
	}
	b := newBuilder(r.Run(), r.AllNodes())
	h := &sharing{b: b, m: b.m, r: r, g: g, rank: g.Rank(), size: g.Size(), out: make([]parcel, g.Size()),
		abroad: map[streamKey]*stream{}}
	h.m.share = &share{rank: h.rank, size: h.size, owner: make([]uint16, len(b.m.Nodes))}
	for n := range b.m.Nodes {
		h.m.share.owner[n] = uint16(r.ShareOf(n))
	}
	h.m.abroad = map[DF][]int64{}
	far := make([]bool, len(b.m.Nodes))
	for n := range far {
		far[n] = !h.m.Own(n)
	}
	b.cfs.far, b.messages.far, b.requests.far = far, far, far
	opened := len(r.Problems())
	defined := 0
	err := b.read(ctx, r, opt, func(own []nodeTables) error {
		err := h.tellTables(own)
		defined = len(h.m.Names)
		return err
	})
	if err := procs.Agree(g, err); err != nil {
		return nil, err
	}
	if err := h.tellNames(defined); err != nil {
		return nil, err
	}
	h.own = slices.Clone(b.streams)
	h.ownDFs = DF(len(b.m.DFName))
	if err := h.tellProblems(opened); err != nil {
		return nil, err
	}
	return h, h.tellPlaces()
}

// home gives the process where what is recorded of a CF, a message or a request comes together.
func (h *sharing) home(id uint64) int { return h.m.Owner(trace.CF(id).Node()) }

// all gives the streams of all nodes, the own ones first.
func (h *sharing) all(yield func(*stream) bool) {
	for _, list := range [][]*stream{h.own, h.order} {
		for _, s := range list {
			if !yield(s) {
				return
			}
		}
	}
}

// settle makes one list of all streams, for the model.
func (h *sharing) settle() {
	for _, s := range h.order {
		s.settle(h)
	}
	h.b.streams = append(slices.Clone(h.own), h.order...)
	sortStreams(h.b.streams)
	sh, at := h.m.share, 0
	sh.ownDFs, sh.shared, sh.requests = h.ownDFs, h.shared, h.b.requests
	for _, s := range h.b.streams {
		n := s.Runs.len()
		if h.m.Own(s.Node) && n > 0 {
			if sh.end == 0 {
				sh.first = at
			}
			sh.end = at + n
		}
		at += n
		sh.runs = append(sh.runs, runsOf{s.Node, at})
	}
	h.own, h.order, h.abroad, h.sharers = nil, nil, nil, askers{}
	h.told, h.direct, h.messages = nil, nil, ends{}
}

// bits are a set of small numbers.
type bits []uint64

func (b bits) has(n uint32) bool { return int(n>>6) < len(b) && b[n>>6]&(1<<(n&63)) != 0 }

// set adds a number and tells whether it is new.
func (b *bits) set(n uint32) bool {
	if k := int(n >> 6); k >= len(*b) {
		*b = append(*b, make([]uint64, k+1-len(*b))...)
	}
	word, bit := &(*b)[n>>6], uint64(1)<<(n&63)
	if *word&bit != 0 {
		return false
	}
	*word |= bit
	return true
}

// askers are, by number, the processes that are to be told of something.
type askers struct {
	first []uint16 // 1 + the first; 0: nobody
	more  map[uint32][]uint16
}

func (a *askers) add(n uint32, rank int) {
	if int(n) >= len(a.first) {
		a.first = append(a.first, make([]uint16, int(n)+1-len(a.first))...)
	}
	switch first := a.first[n]; {
	case first == 0:
		a.first[n] = uint16(rank) + 1
	case first != uint16(rank)+1 && !slices.Contains(a.more[n], uint16(rank)):
		if a.more == nil {
			a.more = map[uint32][]uint16{}
		}
		a.more[n] = append(a.more[n], uint16(rank))
	}
}

func (a *askers) has(n uint32) bool { return int(n) < len(a.first) && a.first[n] != 0 }

func (a *askers) of(n uint32, f func(rank int)) {
	if !a.has(n) {
		return
	}
	f(int(a.first[n]) - 1)
	if len(a.more) > 0 {
		for _, rank := range a.more[n] {
			f(int(rank))
		}
	}
}
