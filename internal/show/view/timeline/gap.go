package timeline

import (
	"github.com/whyslow/whyslow/internal/analysis/slou"
)

// Cost is time lost by factor, in nanoseconds.
type Cost struct {
	S int64 `json:"S"`
	L int64 `json:"L"`
	O int64 `json:"O"`
	W int64 `json:"W"`
}

// Add adds another cost.
func (c *Cost) Add(o Cost) {
	c.S += o.S
	c.L += o.L
	c.O += o.O
	c.W += o.W
}

// NS is the total.
func (c *Cost) NS() int64 { return c.S + c.L + c.O + c.W }

// Before returns what the worker lost in the gap before an execution. It is zero for structured CFs, which
// end no gap, and for factors that the recorded events do not separate.
func (t *Timeline) Before(e int) (c Cost) {
	n := t.LaneOf(e)
	if n < 0 || !t.m.Atomic(t.m.ExecCF[e]) {
		return c
	}
	l := &t.lanes[n]
	start, _ := t.bounds(l.worker, e)
	begin := int64(0)
	for k := e - 1; k >= l.worker.First; k-- {
		if t.m.Atomic(t.m.ExecCF[k]) {
			_, begin = t.bounds(l.worker, k)
			break
		}
	}
	for i := l.find(begin, 0); begin < start && l.from(i) < start; i++ {
		if l.consumer[i] != t.m.ExecCF[e] {
			continue
		}
		p, ns := l.part[i], l.end[i]-l.from(i)
		switch slou.Factor(t.rows[p]) {
		case slou.FactorS:
			c.S += ns
		case slou.FactorL:
			c.L += ns
		case slou.FactorO:
			c.O += ns
		case slou.FactorW:
			c.W += ns
		}
	}
	return c
}

// Stood is a time in which a worker waited inside a running CF.
type Stood struct {
	For string // a lock, an exclusive resource, a collective, or "held" by a debugger
	NS  int64
	At  int64 // since the start of the run
}

// Stood returns what an execution of an atomic CF waited for while it ran: each lock and the like once, with
// its total time, in order of the first wait.
func (t *Timeline) Stood(e int) (out []Stood) {
	n := t.LaneOf(e)
	if n < 0 || !t.m.Atomic(t.m.ExecCF[e]) {
		return nil
	}
	l := &t.lanes[n]
	start, end := t.bounds(l.worker, e)
	seen := map[string]int{}
	for i := l.find(start, 0); i < len(l.end) && l.from(i) < end; i++ {
		p := &t.parts[l.part[i]&^inside]
		if p.factor != slou.FactorW {
			continue
		}
		k, ok := seen[p.name]
		if !ok {
			k = len(out)
			seen[p.name] = k
			out = append(out, Stood{For: p.name, At: l.from(i)})
		}
		out[k].NS += l.end[i] - l.from(i)
	}
	return out
}
