package lifecycle

import (
	"cmp"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// bits is a set of DFs.
type bits []uint64

func newBits(n int) bits { return make(bits, n/64+1) }

func (b bits) set(df model.DF)      { b[df/64] |= 1 << (df % 64) }
func (b bits) has(df model.DF) bool { return b[df/64]&(1<<(df%64)) != 0 }

// made tells whether a DF got a value on any node.
func (f *finder) made(df model.DF) bool { return f.m.MadeFrom[df] != f.m.MadeFrom[df+1] }

// madeAnywhere is made for a DF that was requested, of which this process may know nothing else.
func (f *finder) madeAnywhere(df model.DF) bool { return f.made(df) || f.madeAbroad[df] }

// findNeverProduced goes through what CFs waited for and what they asked other nodes for.
func (f *finder) findNeverProduced() {
	m := f.m
	if !f.need("never_produced", trace.KindDFCreate, trace.KindCFWaiting) {
		return
	}
	g, seen := f.groups(), newBits(m.DFs())
	f.eachNever(func(df model.DF, cf model.CF, _ [3]uint64, node int, t int64) {
		if seen.has(df) {
			return
		}
		seen.set(df)
		x := g.add(df, cf, 0, "", 0)
		if g.wants() {
			x.Examples = append(x.Examples, Example{DF: m.DFString(df), CF: f.cf(cf), Node: node, AtNS: f.at(t)})
		}
	})
	f.res.NeverProduced = g.finding()
}

// eachNever calls add for every wait for a DF that never got a value and every request of an own node for one, in order; order comes
// before those of processes with later nodes.
func (f *finder) eachNever(add func(df model.DF, cf model.CF, order [3]uint64, node int, t int64)) {
	m := f.m
	a := &m.Awaits
	for i, cf := range a.CF {
		for k, df := range a.Of(i) {
			if df != 0 && !f.made(df) {
				add(df, cf, [3]uint64{0, uint64(i), uint64(k)}, f.nodeAt(cf, a.Time[i]), a.Time[i])
			}
		}
	}
	var list []uint32
	for i := 1; i < len(m.Requests); i++ {
		if q := &m.Requests[i]; q.Sent != model.None && q.DF != 0 && m.Own(int(q.From)) && !f.madeAnywhere(q.DF) {
			list = append(list, uint32(i))
		}
	}
	f.inOrder(list, func(q *model.Message) int64 { return q.Sent })
	slices.SortStableFunc(list, func(i, k uint32) int { return cmp.Compare(m.Requests[i].From, m.Requests[k].From) })
	for n, i := range list {
		q := &m.Requests[i]
		add(q.DF, q.CF, [3]uint64{1, uint64(n), 0}, int(q.From), q.Sent)
	}
}

// nodeAt gives the node where a CF was at a time: where it was created, or last came to.
func (f *finder) nodeAt(cf model.CF, t int64) int {
	node := f.m.CFID(cf).Node()
	for _, g := range f.m.MovesOf(cf) {
		if g.Received != model.None && g.Received <= t {
			node = int(g.To)
		}
	}
	return node
}

// findTwice goes through what the run-time system complained about and DFs that got a value again before the first one
// was destroyed, where destructions were recorded.
func (f *finder) findTwice() {
	m := f.m
	if !f.need("produced_twice", trace.KindDFCreate, trace.KindDFDuplicate) {
		return
	}
	g, seen := f.groups(), newBits(m.DFs())
	add := func(df model.DF, first, second model.CF, t0, t1 int64, size int64) {
		x := g.add(df, first, second, "", size)
		if g.wants() {
			x.Examples = append(x.Examples, Example{DF: m.DFString(df), CF: f.cf(first), Node: f.madeOn(df), AtNS: f.at(t0),
				Second: f.cf(second), SecondNS: f.at(t1), Bytes: size})
		}
	}
	for _, d := range m.Duplicates {
		if d.DF == 0 || seen.has(d.DF) {
			continue
		}
		seen.set(d.DF)
		t0, size := model.None, int64(0)
		if first, end := m.Creations(d.DF); first < end {
			t0, size = m.MadeTime[first], m.MadeSize[first]
		}
		add(d.DF, d.First, d.Second, t0, d.Time, size)
	}
	if m.Count[trace.KindDFDestroy] > 0 {
		f.eachRemade(func(df model.DF, i int) {
			if !seen.has(df) {
				seen.set(df)
				add(df, m.MadeBy[i], m.MadeBy[i+1], m.MadeTime[i], m.MadeTime[i+1], m.MadeSize[i])
			}
		})
	}
	f.res.ProducedTwice = g.finding()
}

func (f *finder) madeOn(df model.DF) int {
	if first, end := f.m.Creations(df); first < end {
		return int(f.m.MadeNode[first])
	}
	return -1
}

// eachRemade calls add for DFs with creations i and i+1 between which they were not destroyed.
func (f *finder) eachRemade(add func(df model.DF, i int)) {
	m := f.m
	many := newBits(m.DFs())
	some := false
	for df := 1; df < m.DFs(); df++ {
		if m.MadeFrom[df+1]-m.MadeFrom[df] > 1 {
			many.set(model.DF(df))
			some = true
		}
	}
	if !some {
		return
	}
	destroyed := map[model.DF][]int64{}
	for i := range m.Copies {
		if c := &m.Copies[i]; many.has(c.DF) && c.What >= model.CopyExpired {
			destroyed[c.DF] = append(destroyed[c.DF], c.Time)
		}
	}
	for df := model.DF(1); int(df) < m.DFs(); df++ {
		if !many.has(df) {
			continue
		}
		if i, ok := f.remade(df, destroyed[df]); ok {
			add(df, i)
		}
	}
}

// remade gives the first creation of a DF after which it was not destroyed before the next one.
func (f *finder) remade(df model.DF, destroyed []int64) (int, bool) {
	slices.Sort(destroyed)
	first, end := f.m.Creations(df)
	for i := first; i+1 < end; i++ {
		at, _ := slices.BinarySearch(destroyed, f.m.MadeTime[i])
		if at == len(destroyed) || destroyed[at] > f.m.MadeTime[i+1] {
			return i, true
		}
	}
	return 0, false
}

// findHeldAndUnused goes through the DFs with a value. Both findings need to know when a DF was used last.
func (f *finder) findHeldAndUnused() {
	m := f.m
	canUnused := f.need("never_used", trace.KindDFCreate, trace.KindCFStarted)
	canHeld := f.need("held_to_end", trace.KindDFCreate, trace.KindDFDestroy)
	if !canUnused && !canHeld {
		return
	}
	use := f.lastUses()
	if canUnused {
		g := f.groups()
		for df := model.DF(1); int(df) < m.DFs(); df++ {
			if !f.made(df) || use[df] != model.None {
				continue
			}
			_, end := m.Creations(df)
			i := end - 1
			x := g.add(df, m.MadeBy[i], 0, "", m.MadeSize[i])
			if g.wants() {
				x.Examples = append(x.Examples, f.example(df, i))
			}
		}
		f.res.NeverUsed = g.finding()
	}
	if canHeld {
		f.findHeld(use)
	}
}

func (f *finder) example(df model.DF, i int) Example {
	m := f.m
	return Example{DF: m.DFString(df), CF: f.cf(m.MadeBy[i]), Node: int(m.MadeNode[i]), AtNS: f.at(m.MadeTime[i]), Bytes: m.MadeSize[i]}
}

// lastUses gives, by DF, the latest end of a CF that was given it, or when it was awaited or requested; None for never.
func (f *finder) lastUses() []int64 {
	m := f.m
	use := make([]int64, m.DFs())
	for i := range use {
		use[i] = model.None
	}
	for e, n := 0, m.Executions(); e < n; e++ {
		in := m.Inputs(e)
		if len(in) == 0 {
			continue
		}
		t := m.ExecEnd[e]
		if t == model.None {
			t = m.End
		}
		for _, df := range in {
			use[df] = max(use[df], t)
		}
	}
	a := &m.Awaits
	for i := range a.CF {
		for _, df := range a.Of(i) {
			use[df] = max(use[df], a.Time[i])
		}
	}
	for i := 1; i < len(m.Requests); i++ {
		q := &m.Requests[i]
		use[q.DF] = max(use[q.DF], q.Sent, q.Received)
	}
	return use
}

// findHeld goes through the DFs that were destroyed because the run ended, and, on nodes whose trace has no end, those that
// were stored and not given up.
func (f *finder) findHeld(use []int64) {
	m := f.m
	g := f.groups()
	add := func(df model.DF, to int64) {
		_, end := m.Creations(df)
		if df == 0 || !f.made(df) {
			return
		}
		i := end - 1
		x := g.add(df, m.MadeBy[i], 0, "", m.MadeSize[i])
		x.HeldNS += max(to-m.MadeTime[i], 0)
		x.UnusedNS += max(to-max(use[df], m.MadeTime[i]), 0)
		if g.wants() {
			x.Examples = append(x.Examples, f.example(df, i))
		}
	}
	ended := newBits(m.DFs())
	unended := make([]bool, len(m.Nodes))
	for n := range m.Nodes {
		for _, w := range m.Nodes[n].Workers {
			unended[n] = unended[n] || w.Finished == model.None
		}
	}
	var copies []int16 // by DF, on nodes without an end
	if m.Killed {
		copies = make([]int16, m.DFs())
	}
	for i := range m.Copies {
		c := &m.Copies[i]
		switch {
		case c.What == model.CopyEnd && !ended.has(c.DF):
			ended.set(c.DF)
			add(c.DF, c.Time)
		case copies == nil || !unended[c.Node]:
		case c.What == model.CopyStored:
			copies[c.DF]++
		case c.What == model.CopyDropped:
			copies[c.DF]--
		}
	}
	for df := range copies {
		if copies[df] > 0 && !ended.has(model.DF(df)) {
			add(model.DF(df), m.End)
		}
	}
	f.res.HeldToEnd = g.finding()
}
