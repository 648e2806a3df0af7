package modules

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/whyslow/whyslow/prof"
)

// Names of the modules that move work between nodes while the program runs.
const (
	CentralName   = "central_balancer_module"
	DiffusionName = "diffusion_balancer_module"
)

// info describes a balancer.
func (b balancer) info(name, doc string) prof.ModuleInfo {
	return prof.ModuleInfo{
		Name: name, Doc: doc,
		Output: "nothing but its decisions: GlobalEvents.onBalanced",
		Cost:   "about 5 µs a period and node, and 60 ns per CF",
		Params: []prof.Param{
			{Name: "period", Default: "1ms", Doc: "from one decision to the next, 100us to 10s"},
			{Name: "idle", Default: 20.0, Doc: "CFs move only to a node that is idle longer than theirs, by that" +
				" many percent of the time lately"},
		},
		New: func() prof.Module { return &balancer{decide: b.decide} },
	}
}

// balancer is a module that moves CFs. Its two kinds differ in the pairs of nodes that they compare.
//
// A CF moves from a node to another if it will have ended there sooner, on the way there and back counted:
//
//	ahead of the other node + 2 x time of its inputs on the link + time of the CF < ahead of its node
//
// if its time is more than that of the way, and if the other node has been idle more than its own lately.
// Without that condition the ups and downs of a balanced program would move CFs to no avail. What recurs
// stays where it went, so it moves only if that leaves the nodes more alike (relief, shift).
type balancer struct {
	decide func(*balancer)
	period time.Duration
	idle   float64 // difference of shares

	run    prof.Runtime // while it decides
	looked int64        // when, clock
	nodes  []nodeAhead
	moves  []prof.Move // decided in this period
	coming []coming
}

// nodeAhead is what the balancer knows of a node.
type nodeAhead struct {
	prof.Load
	idle float64 // share of the workers that were idle lately
	left int64   // CFs that may move, and were not yet
}

// coming is work on its way to a node, which does not know of it yet.
type coming struct {
	to    int
	ns    int64
	until int64 // clock
}

// most is how many CFs move in a period at most, for each node.
const most = 64

// memory is the share that the newest look has in what a node's idleness was lately.
const memory = 1.0 / 32

// Start reads the parameters.
func (b *balancer) Start(h *prof.Host) (err error) {
	b.period, err = time.ParseDuration(h.String("period"))
	if err != nil || b.period < 100*time.Microsecond || b.period > 10*time.Second {
		return fmt.Errorf("period=%s: give a time from 100us to 10s", h.String("period"))
	}
	if b.idle = h.Float("idle") / 100; b.idle < 0 || b.idle > 1 {
		return fmt.Errorf("idle=%g: give 0 to 100 percent", h.Float("idle"))
	}
	return nil
}

// Finish implements prof.Module.
func (b *balancer) Finish() error { return nil }

// Period implements prof.Balancer.
func (b *balancer) Period() time.Duration { return b.period }

// Balance implements prof.Balancer.
func (b *balancer) Balance(r prof.Runtime) {
	b.run = r
	for len(b.nodes) < r.Nodes() {
		b.nodes = append(b.nodes, nodeAhead{})
	}
	now := prof.Now()
	// Since the last look but one period ago nobody was idle.
	forget := math.Pow(1-memory, float64(now-b.looked)/float64(b.period)-1)
	b.looked = now
	for i := range b.nodes {
		n := &b.nodes[i]
		n.idle *= min(forget, 1)
		n.Load, n.left = r.Load(i), 0
		n.Work = slices.Clone(n.Work)
		for _, w := range n.Work {
			n.left += w.CFs
		}
		n.idle += memory * (float64(n.Idle)/float64(n.Workers) - n.idle)
	}
	kept := b.coming[:0]
	for _, c := range b.coming {
		if now < c.until {
			b.nodes[c.to].AheadNS += c.ns
			kept = append(kept, c)
		}
	}
	b.coming, b.moves = kept, b.moves[:0]
	b.decide(b)
	for _, m := range b.moves {
		r.Move(m)
	}
}

// part is the share of its time that a node is rid of for good by moving a CF.
func (n *nodeAhead) part(w *prof.Work) float64 { return (1 - n.idle) * w.Share }

// relief is how much work a node is rid of by moving a CF, less what its way costs; 0 if the CF gains
// nothing.
func (b *balancer) relief(from, to *nodeAhead, w *prof.Work) int64 {
	if w.CFs == 0 {
		return 0
	}
	mean, way := w.MeanNS, 2*int64(b.run.Carry(w.Bytes/w.CFs))
	sooner := from.AheadNS - (to.AheadNS + way + mean/int64(to.Workers))
	part, idle := from.part(w), to.idle-from.idle
	switch {
	case mean < way, sooner <= 0, idle < b.idle:
		return 0
	// It recurs, so it stays there. The other node should not have more to do then. And of what is shorter than
	// a period it is not known what lies ahead by now.
	case part > 0 && (part > idle+b.idle || mean < int64(b.period)):
		return 0
	}
	return mean - way
}

// moveOne moves the CF that relieves a node most to another. It reports false if none does.
func (b *balancer) moveOne(from, to int) bool {
	f, t := &b.nodes[from], &b.nodes[to]
	var best *prof.Work
	most := int64(0)
	for i := range f.Work {
		if r := b.relief(f, t, &f.Work[i]); r > most {
			best, most = &f.Work[i], r
		}
	}
	if best == nil {
		return false
	}
	b.order(from, to, best, false)
	best.Bytes -= best.Bytes / best.CFs
	best.CFs--
	f.left--
	b.coming = append(b.coming, coming{to, best.MeanNS / int64(t.Workers), prof.Now() + int64(b.period)*3/2})
	f.AheadNS -= best.MeanNS / int64(f.Workers)
	t.AheadNS += best.MeanNS / int64(t.Workers)
	return true
}

// shift has a node give one of the CFs that it executes again and again to another that is idle much longer:
// the one that leaves them least different.
func (b *balancer) shift(from, to int) {
	f, t := &b.nodes[from], &b.nodes[to]
	idle := t.idle - f.idle
	if idle < 2*b.idle {
		return
	}
	most, best := 0.0, (*prof.Work)(nil)
	for i := range f.Again {
		w := &f.Again[i]
		if gain := min(f.part(w), idle-f.part(w)); gain > most && w.MeanNS > 2*int64(b.run.Carry(0)) {
			most, best = gain, w
		}
	}
	if best != nil {
		b.order(from, to, best, true)
	}
}

// order notes that a CF is to move. It counts for the other node before it has arrived there.
func (b *balancer) order(from, to int, w *prof.Work, next bool) {
	f, t := &b.nodes[from], &b.nodes[to]
	part := f.part(w)
	f.idle, t.idle = f.idle+part, t.idle-part
	for i := range b.moves {
		m := &b.moves[i]
		if m.From == from && m.To == to && m.Code == w.Code && m.Class == w.Class && m.Next == next {
			m.CFs++
			return
		}
	}
	b.moves = append(b.moves, prof.Move{Code: w.Code, Class: w.Class, From: from, To: to, CFs: 1,
		Next: next, AheadNS: f.AheadNS, ThereNS: t.AheadNS})
}
