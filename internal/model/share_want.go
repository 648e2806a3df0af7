package model

import (
	"slices"

	"github.com/whyslow/whyslow/internal/procs"
)

// ends is what is known of messages as such.
type ends struct {
	// mixed are, by message, the ends of those that have more than one of a kind or whose ends do not fit: there
	// are some in damaged traces only. unsure: some process has such.
	mixed  map[uint32][]mixedEnd
	unsure bool
}

type mixedEnd struct {
	df   DF
	peer int32 // of a receipt, else -1
}

// findMixed finds the messages whose ends do not fit together.
func (h *sharing) findMixed() error {
	var sent, received bits
	df := make([]DF, h.b.messages.size())
	link := make([]int32, h.b.messages.size()) // 1 + sender
	odd := bits{}
	for s := range h.all {
		see := func(e *end, list *bits, from int32) {
			n := e.Number
			if n == 0 {
				return
			}
			if !list.set(n) || (link[n] != 0 && (link[n] != from+1 || df[n] != e.DF)) {
				odd.set(n)
			}
			df[n], link[n] = e.DF, from+1
		}
		each(&s.Sent, func(e *end) { see(e, &sent, int32(s.Node)) })
		each(&s.Received, func(e *end) { see(e, &received, e.Peer) })
	}
	if len(odd) > 0 {
		h.messages.mixed = map[uint32][]mixedEnd{}
		for s := range h.all {
			see := func(e *end, peer int32) {
				if odd.has(e.Number) {
					h.messages.mixed[e.Number] = append(h.messages.mixed[e.Number], mixedEnd{e.DF, peer})
				}
			}
			each(&s.Sent, func(e *end) { see(e, -1) })
			each(&s.Received, func(e *end) { see(e, e.Peer) })
		}
	}
	var err error
	h.messages.unsure, err = procs.Any(h.g, len(h.messages.mixed) > 0)
	return err
}

// fits calls f with every DF that a receipt may turn out to be of, and every node the DF may have come from:
// one of each, but where ends of the message do not fit.
func (h *sharing) fits(e *end, f func(df DF, from int)) {
	f(e.DF, int(e.Peer))
	if len(h.messages.mixed) == 0 || e.Number == 0 {
		return
	}
	list := h.messages.mixed[e.Number]
	for _, x := range list {
		for _, y := range list {
			if y.peer >= 0 {
				f(x.df, int(y.peer))
			}
		}
	}
}

// ask is what one process asks another.
type ask struct {
	CFs    []uint64    // all of them
	Inputs []askInputs // executions of a CF at a node with their inputs
	DFs    dfTable
	At     []askAt // how a DF came to a node
}

type askInputs struct {
	CF   uint64
	Node int
}

type askAt struct {
	DF   uint32 // place in ask.DFs
	Node int
	Made bool // and how it was created, too
}

type (
	cfAt struct {
		cf   CF
		node int
	}
	dfAt struct {
		df   DF
		node int
	}
)

// threads are followed from what happened here to where it came from.
type threads struct {
	*sharing
	ran, ancestors bits // CFs executed here, and those they descend from
	parents        []CF
	more           map[CF][]CF // parents of CFs that were created twice
	wanted         bits        // DFs that these were given
	inputs         map[cfAt]bool
	at             map[dfAt]bool
	asks           []ask
	news           bool // something is wanted that was not
}

func (h *sharing) followThreads() error {
	t := &threads{sharing: h, more: map[CF][]CF{}, inputs: map[cfAt]bool{}, at: map[dfAt]bool{},
		parents: make([]CF, h.b.cfs.size())}
	for round := 0; ; round++ {
		t.asks = make([]ask, h.size)
		if round == 0 {
			t.begin()
		}
		t.news = true
		for t.news {
			t.news = false
			t.look()
		}
		asks := slices.ContainsFunc(t.asks, func(a ask) bool { return len(a.CFs)+len(a.Inputs)+len(a.At) > 0 })
		if any, err := procs.Any(h.g, asks); err != nil || !any {
			return err
		}
		if err := t.answer(); err != nil {
			return err
		}
		if err := h.exchange(); err != nil {
			return err
		}
	}
}

// begin notes what was executed here and with what.
func (t *threads) begin() {
	stolen := map[CF][]int{}
	for _, s := range t.own {
		each(&s.Runs, func(e *execution) { t.ran.set(uint32(e.CF)) })
		each(&s.Inputs, func(df *DF) { t.wanted.set(uint32(*df)) })
	}
	for s := range t.all {
		each(&s.Moves, func(v *Move) {
			if v.Out && v.Stolen && t.ran.has(uint32(v.CF)) && !t.m.Own(s.Node) {
				stolen[v.CF] = append(stolen[v.CF], s.Node)
			}
		})
	}
	if len(stolen) == 0 {
		return
	}
	// A CF that was ready elsewhere: what held it up there counts.
	for _, s := range t.own {
		i := -1
		each(&s.Runs, func(e *execution) {
			i++
			for _, node := range stolen[e.CF] {
				for _, df := range s.inputsOf(i) {
					t.needAt(df, node)
				}
			}
		})
	}
}

// look goes through all that is known for what is not.
func (t *threads) look() {
	for s := range t.all {
		each(&s.Creations, func(c *creation) { t.child(c.CF, c.Parent) })
	}
	for _, s := range t.order {
		i := -1
		each(&s.Runs, func(e *execution) {
			i++
			if !t.ancestors.has(uint32(e.CF)) {
				return
			}
			t.needInputs(e.CF, s.Node)
			for _, df := range s.inputsOf(i) {
				t.want(df)
				t.needAt(df, s.Node)
			}
		})
	}
	for s := range t.all {
		each(&s.Mades, func(d *made) {
			if t.wanted.has(uint32(d.DF)) {
				t.needCF(d.By)
			}
		})
		own := t.m.Own(s.Node)
		each(&s.Received, func(e *end) {
			t.fits(e, func(df DF, from int) {
				if !t.wanted.has(uint32(df)) || (!own && !t.at[dfAt{df, s.Node}]) {
					return
				}
				if !t.messages.unsure && t.direct.has(e.Number) {
					return // the sender made it itself
				}
				t.needAt(df, from)
			})
		})
	}
}

// child notes who created a CF.
func (t *threads) child(cf, parent CF) {
	if parent == 0 {
		return
	}
	if n := int(cf); n >= len(t.parents) {
		t.parents = append(t.parents, make([]CF, n+1-len(t.parents))...)
	}
	switch old := t.parents[cf]; {
	case old == 0:
		t.parents[cf] = parent
	case old != parent && !slices.Contains(t.more[cf], parent):
		t.more[cf] = append(t.more[cf], parent)
	}
	if t.ran.has(uint32(cf)) || t.ancestors.has(uint32(cf)) {
		t.ancestor(parent)
	}
}

func (t *threads) ancestor(cf CF) {
	next := []CF{cf}
	for len(next) > 0 {
		cf := next[len(next)-1]
		next = next[:len(next)-1]
		if cf == 0 || !t.ancestors.set(uint32(cf)) {
			continue
		}
		t.news = true
		t.needCF(cf)
		if int(cf) < len(t.parents) {
			next = append(append(next, t.parents[cf]), t.more[cf]...)
		}
	}
}

func (t *threads) want(df DF) {
	if df != 0 && t.wanted.set(uint32(df)) {
		t.news = true
	}
}

func (t *threads) needCF(cf CF) {
	if cf == 0 || !t.told.set(uint32(cf)) {
		return
	}
	id := t.b.cfs.id(uint32(cf))
	if k := t.home(id); k != t.rank {
		t.asks[k].CFs = append(t.asks[k].CFs, id)
	}
}

func (t *threads) needInputs(cf CF, node int) {
	key := cfAt{cf, node}
	if t.inputs[key] {
		return
	}
	t.inputs[key] = true
	k := t.m.Owner(node)
	t.asks[k].Inputs = append(t.asks[k].Inputs, askInputs{t.b.cfs.id(uint32(cf)), node})
}

func (t *threads) needAt(df DF, node int) {
	key := dfAt{df, node}
	if df == 0 || node < 0 || node >= len(t.m.Nodes) || t.m.Own(node) || t.at[key] ||
		(df < t.ownDFs && !t.shared.has(uint32(df))) {
		return
	}
	t.at[key] = true
	t.news = true
	a := &t.asks[t.m.Owner(node)]
	n := a.DFs.number(t.m.homeOf(df), func() wireDF { return t.wireDF(df) })
	a.At = append(a.At, askAt{n, node, df >= t.ownDFs})
}

// answer asks, and puts the answers to what the others ask into the parcels for them.
func (t *threads) answer() error {
	var asked askedFor
	var dfs askers
	inputs, at := map[cfAt][]int{}, map[dfAt][]int{}
	err := procs.Hand(t.g, t.asks, func(k int, a *ask) error {
		for _, id := range a.CFs {
			asked[aboutCF].add(t.b.cfs.number(id), k)
		}
		for _, v := range a.Inputs {
			key := cfAt{CF(t.b.cfs.number(v.CF)), v.Node}
			inputs[key] = append(inputs[key], k)
		}
		here := make([]DF, len(a.DFs.List))
		for i := range a.DFs.List {
			here[i] = t.dfHere(&a.DFs.List[i])
		}
		for _, v := range a.At {
			key := dfAt{here[v.DF], v.Node}
			at[key] = append(at[key], k)
			dfs.add(uint32(key.df), k)
			if v.Made {
				asked[aboutDF].add(uint32(key.df), k)
				t.shared.set(uint32(key.df))
			}
		}
		return nil
	})
	t.asks = nil
	if err != nil {
		return err
	}
	// How DFs came: the messages that brought them, and the requests that these answered.
	for _, s := range t.own {
		if len(at) == 0 {
			break
		}
		t.brought(s, &dfs, at, &asked)
	}
	to := asked.route()
	if len(inputs) > 0 {
		to.inputs = func(cf CF, node int, give func(int)) {
			for _, k := range inputs[cfAt{cf, node}] {
				give(k)
			}
		}
	}
	for s := range t.all {
		t.pack(s, &to)
	}
	return nil
}

// brought finds the messages with which DFs came to a node that processes ask for, at by DF and node.
func (t *threads) brought(s *stream, dfs *askers, at map[dfAt][]int, asked *askedFor) {
	i := 0
	each(&s.Received, func(e *end) {
		t.fits(e, func(df DF, _ int) {
			if !dfs.has(uint32(df)) {
				return
			}
			for _, k := range at[dfAt{df, s.Node}] {
				if e.Number == 0 {
					toldReceived.copy(t.packing(k, s), i, uint32(i))
					continue
				}
				asked[aboutMessage].add(e.Number, k)
				if e.Request != 0 {
					asked[aboutRequest].add(e.Request, k)
				}
			}
		})
		i++
	})
}
