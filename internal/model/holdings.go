package model

import (
	"cmp"
	"iter"
	"slices"
	"sort"
)

// What nodes hold. A node stores a copy of a DF and later drops it. It may hold several at once: each task
// that asked for the DF gets a message with a copy of its own. All bytes held, wherever they are shown,
// follow from one rule for the copies of one DF at one node:
//
//  1. The i-th copy stored, in order of time, is the i-th copy dropped: the oldest goes first.
//  2. A trace that lost events may drop more copies than it stored. The first drops, in the order of streams,
//     are left out: they have no From.
//  3. A copy that is never dropped is held to the end of the run: it has no To.
//  4. A copy has the size of the DF's last creation up to the moment when it was stored, or else of the first
//     one, which clocks may have moved; 0 without any. While a run is happening, the creation may be still to
//     come from another node: then a copy has the size that was told when it was stored.
//
// Offsets of clocks can move a drop before the store. The copy counts -1 in between, so that sums over
// several nodes stay right.

// HeldCopy is a copy of a DF at one node.
type HeldCopy struct {
	From  int64 // stored; None: the record has only the drop, so no moment has this copy
	To    int64 // dropped; None: never
	Bytes int64
}

// At tells how often the copy counts at a time: 1 while it is held, else 0; see above for -1.
func (h *HeldCopy) At(t int64) (count int64) {
	if h.From == None {
		return 0
	}
	if h.From <= t {
		count++
	}
	if h.To != None && h.To <= t {
		count--
	}
	return count
}

// CopyFact records that a node stored or dropped a copy of a DF.
type CopyFact struct {
	Time    int64
	Dropped bool
}

// Value is the size that a creation gave a DF.
type Value struct{ Time, Bytes int64 }

// valueAt gives the size of a DF at a time, by its creations in order of time.
func valueAt(made []Value, t int64) int64 {
	if len(made) == 0 {
		return 0
	}
	later := sort.Search(len(made), func(i int) bool { return made[i].Time > t })
	return made[max(later, 1)-1].Bytes
}

// HoldCopies appends the copies of one DF at one node to out. The facts come in the order of streams, and
// within a stream as recorded; the creations of the DF in order of time.
func HoldCopies(out []HeldCopy, facts []CopyFact, made []Value) []HeldCopy {
	first, drops := len(out), 0
	for i := range facts {
		if facts[i].Dropped {
			drops++
		} else {
			out = append(out, HeldCopy{facts[i].Time, None, valueAt(made, facts[i].Time)})
		}
	}
	stored := len(out) - first
	if drops == 0 && stored < 2 {
		return out
	}
	if drops == 1 && stored == 1 { // as nearly always: no need to sort
		for i := range facts {
			if facts[i].Dropped {
				out[first].To = facts[i].Time
			}
		}
		return out
	}
	unmatched := max(drops-stored, 0)
	dropped := make([]int64, 0, drops)
	for i := range facts {
		switch {
		case !facts[i].Dropped:
		case len(out)-first-stored < unmatched:
			out = append(out, HeldCopy{From: None, To: facts[i].Time})
		default:
			dropped = append(dropped, facts[i].Time)
		}
	}
	held := out[first : first+stored]
	slices.SortStableFunc(held, func(a, b HeldCopy) int { return cmp.Compare(a.From, b.From) })
	slices.Sort(dropped)
	for i, t := range dropped {
		held[i].To = t
	}
	return out
}

// Holding is a copy that a node held, and of which DF.
type Holding struct {
	HeldCopy
	DF   DF
	Node int
}

// Holdings gives the copies of DFs at the nodes of this process, node by node, the copies of one DF
// together.
func (m *Model) Holdings() iter.Seq[Holding] {
	return func(yield func(Holding) bool) {
		w := holdingWalk{m: m, head: make([]uint32, m.DFs())}
		for from, to := 0, 0; from < len(m.Copies); from = to {
			node := m.Copies[from].Node
			for to < len(m.Copies) && m.Copies[to].Node == node {
				to++
			}
			if m.Own(int(node)) && !w.node(m.Copies[from:to], yield) {
				return
			}
		}
	}
}

// holdingWalk is what a walk through all holdings needs again for each node.
type holdingWalk struct {
	m     *Model
	head  []uint32 // by DF: 1 + index of its first fact at this node
	next  []uint32 // by fact: 1 + index of the DF's next one
	met   []DF
	facts []CopyFact
	made  []Value
	held  []HeldCopy
}

// node walks through the copies of one node. It stops, with false, when yield does.
func (w *holdingWalk) node(copies []Copy, yield func(Holding) bool) bool {
	w.next, w.met = append(w.next[:0], make([]uint32, len(copies))...), w.met[:0]
	for i := len(copies) - 1; i >= 0; i-- {
		c := &copies[i]
		if c.What > CopyDropped || c.DF == 0 {
			continue
		}
		if w.head[c.DF] == 0 {
			w.met = append(w.met, c.DF)
		}
		w.next[i], w.head[c.DF] = w.head[c.DF], uint32(i)+1
	}
	going := true
	for i := len(w.met) - 1; i >= 0; i-- { // so that the first ones met come first
		df := w.met[i]
		first := w.head[df]
		w.head[df] = 0
		if !going {
			continue
		}
		w.facts = w.facts[:0]
		for k := first; k != 0; k = w.next[k-1] {
			w.facts = append(w.facts, CopyFact{copies[k-1].Time, copies[k-1].What == CopyDropped})
		}
		w.made = w.m.Values(w.made[:0], df)
		w.held = HoldCopies(w.held[:0], w.facts, w.made)
		for _, h := range w.held {
			if going = yield(Holding{h, df, int(copies[0].Node)}); !going {
				break
			}
		}
	}
	return going
}

// sized is the size of a DF as told when a copy of it was stored.
type sized struct {
	DF    DF
	Bytes int64
}

// Values appends what the creations of a DF gave it, in order of time; without any, what its copies tell.
func (m *Model) Values(out []Value, df DF) []Value {
	first, end := m.Creations(df)
	if first == end {
		if bytes, ok := m.stored[df]; ok {
			return append(out, Value{None, bytes})
		}
	}
	for i := first; i < end; i++ {
		out = append(out, Value{m.MadeTime[i], m.SizeMade(i)})
	}
	return out
}
