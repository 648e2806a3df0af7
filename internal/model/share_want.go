package model

import (
	"slices"

	"github.com/whyslow/whyslow/internal/procs"
)

// ends is what is known of messages as such.
type ends struct {
	arrived bits // DFs that an own node received
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
			n := e.number
			if n == 0 {
				return
			}
			if !list.set(n) || (link[n] != 0 && (link[n] != from+1 || df[n] != e.df)) {
				odd.set(n)
			}
			df[n], link[n] = e.df, from+1
		}
		each(&s.sent, func(e *end) { see(e, &sent, int32(s.node)) })
		each(&s.received, func(e *end) { see(e, &received, e.peer) })
	}
	count := int64(0)
	if len(odd) > 0 {
		h.messages.mixed = map[uint32][]mixedEnd{}
		for s := range h.all {
			see := func(e *end, peer int32) {
				if odd.has(e.number) {
					h.messages.mixed[e.number] = append(h.messages.mixed[e.number], mixedEnd{e.df, peer})
					count++
				}
			}
			each(&s.sent, func(e *end) { see(e, -1) })
			each(&s.received, func(e *end) { see(e, e.peer) })
		}
	}
	sum, err := procs.Sum(h.g, []int64{count})
	h.messages.unsure = err == nil && sum[0] > 0
	return err
}

// fits calls f with every DF that a receipt may turn out to be of, and every node the DF may have come from:
// one of each, but where ends of the message do not fit.
func (h *sharing) fits(e *end, f func(df DF, from int)) {
	f(e.df, int(e.peer))
	if len(h.messages.mixed) == 0 || e.number == 0 {
		return
	}
	list := h.messages.mixed[e.number]
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
	DFs    []wireDF
	At     []askAt // how a DF came to a node
}

type askInputs struct {
	CF   uint64
	Node int
}

type askAt struct {
	DF   uint32 // index into ask.DFs
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
	dfs            []map[DF]uint32
	news           bool // something is wanted that was not
	asked          int64
}

func (h *sharing) followThreads() error {
	t := &threads{sharing: h, more: map[CF][]CF{}, inputs: map[cfAt]bool{}, at: map[dfAt]bool{},
		parents: make([]CF, h.b.cfs.size())}
	for round := 0; ; round++ {
		t.asks, t.dfs, t.asked = make([]ask, h.size), make([]map[DF]uint32, h.size), 0
		if round == 0 {
			t.begin()
		}
		t.news = true
		for t.news {
			t.news = false
			t.look()
		}
		sum, err := procs.Sum(h.g, []int64{t.asked})
		if err != nil || sum[0] == 0 {
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
		each(&s.runs, func(e *execution) { t.ran.set(uint32(e.cf)) })
		each(&s.inputs, func(df *DF) { t.wanted.set(uint32(*df)) })
	}
	for s := range t.all {
		each(&s.moves, func(v *move) {
			if v.out && v.stolen && t.ran.has(uint32(v.cf)) && !t.m.Own(s.node) {
				stolen[v.cf] = append(stolen[v.cf], s.node)
			}
		})
	}
	if len(stolen) == 0 {
		return
	}
	// A CF that was ready elsewhere: what held it up there counts.
	for _, s := range t.own {
		i := -1
		each(&s.runs, func(e *execution) {
			i++
			for _, node := range stolen[e.cf] {
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
		each(&s.creations, func(c *creation) { t.child(c.cf, c.parent) })
	}
	for _, s := range t.order {
		i := -1
		each(&s.runs, func(e *execution) {
			i++
			if !t.ancestors.has(uint32(e.cf)) {
				return
			}
			t.needInputs(e.cf, s.node)
			for _, df := range s.inputsOf(i) {
				t.want(df)
				t.needAt(df, s.node)
			}
		})
	}
	for s := range t.all {
		each(&s.mades, func(d *made) {
			if t.wanted.has(uint32(d.df)) {
				t.needCF(d.by)
			}
		})
		own := t.m.Own(s.node)
		each(&s.received, func(e *end) {
			t.fits(e, func(df DF, from int) {
				if !t.wanted.has(uint32(df)) || (!own && !t.at[dfAt{df, s.node}]) {
					return
				}
				if !t.messages.unsure && t.direct.has(e.number) {
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
	if cf == 0 || t.told.has(uint32(cf)) {
		return
	}
	t.told.set(uint32(cf))
	id := t.b.cfs.id(uint32(cf))
	if k := t.home(id); k != t.rank {
		t.asks[k].CFs = append(t.asks[k].CFs, id)
		t.asked++
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
	t.asked++
}

func (t *threads) needAt(df DF, node int) {
	key := dfAt{df, node}
	if df == 0 || node < 0 || node >= len(t.m.Nodes) || t.m.Own(node) || t.at[key] ||
		(df < t.ownDFs && !t.shared.has(uint32(df))) {
		return
	}
	t.at[key] = true
	t.news = true
	k := t.m.Owner(node)
	n, ok := t.dfs[k][df]
	if !ok {
		if t.dfs[k] == nil {
			t.dfs[k] = map[DF]uint32{}
		}
		n = uint32(len(t.asks[k].DFs))
		t.dfs[k][df] = n
		t.asks[k].DFs = append(t.asks[k].DFs, t.wireDF(df))
	}
	t.asks[k].At = append(t.asks[k].At, askAt{n, node, df >= t.ownDFs})
	t.asked++
}

// answer asks, and puts the answers to what the others ask into the parcels for them.
func (t *threads) answer() error {
	out := make([][]byte, t.size)
	for k := range t.asks {
		if a := &t.asks[k]; len(a.CFs)+len(a.Inputs)+len(a.At) > 0 {
			out[k] = procs.Encode(a)
		}
	}
	t.asks, t.dfs = nil, nil
	in, err := t.g.Exchange(out)
	if err != nil {
		return err
	}
	var cfs, dfs, made, messages, requests askers
	inputs, at := map[cfAt][]int{}, map[dfAt][]int{}
	any := false
	for k, b := range in {
		if len(b) == 0 {
			continue
		}
		any = true
		var a ask
		if err := procs.Decode(b, &a); err != nil {
			return procs.Told(k, err)
		}
		for _, id := range a.CFs {
			cfs.add(t.b.cfs.number(id), k)
		}
		for _, v := range a.Inputs {
			key := cfAt{CF(t.b.cfs.number(v.CF)), v.Node}
			inputs[key] = append(inputs[key], k)
		}
		here := make([]DF, len(a.DFs))
		for i := range a.DFs {
			here[i] = t.dfHere(&a.DFs[i])
		}
		for _, v := range a.At {
			key := dfAt{here[v.DF], v.Node}
			at[key] = append(at[key], k)
			dfs.add(uint32(key.df), k)
			if v.Made {
				made.add(uint32(key.df), k)
				t.shared.set(uint32(key.df))
			}
		}
	}
	if !any {
		return nil
	}
	// How DFs came: the messages that brought them, and the requests that these answered.
	for _, s := range t.own {
		if len(at) == 0 {
			break
		}
		i := -1
		each(&s.received, func(e *end) {
			i++
			t.fits(e, func(df DF, _ int) {
				if int(df) >= len(dfs.one) || dfs.one[df] == 0 {
					return
				}
				for _, k := range at[dfAt{df, s.node}] {
					if e.number == 0 {
						r := t.to(k, s)
						r.Ends[endReceived] = append(r.Ends[endReceived], wireEnd{At: uint32(i), Time: e.time, Peer: e.peer,
							DF:    t.dfTo(k, e.df),
							Bytes: e.bytes, Request: t.b.requests.id(e.request), CF: t.b.cfs.id(uint32(e.cf))})
						continue
					}
					messages.add(e.number, k)
					if e.request != 0 {
						requests.add(e.request, k)
					}
				}
			})
		})
	}
	var to route
	if cfs.one != nil {
		to.cf = func(cf CF, give func(int)) { cfs.of(uint32(cf), give) }
	}
	if made.one != nil {
		to.made = func(df DF, give func(int)) { made.of(uint32(df), give) }
	}
	if messages.one != nil {
		to.message = messages.of
	}
	if requests.one != nil {
		to.request = requests.of
	}
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
