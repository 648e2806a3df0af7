package timeline

import (
	"github.com/whyslow/whyslow/internal/analysis/slou"
)

// Before returns what the worker lost in the gap before an execution. It is zero for structured CFs, which
// end no gap, and for factors that the recorded events do not separate.
func (t *Timeline) Before(e int) (c slou.Lost) {
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
		if f := slou.Factor(t.rows[l.part[i]]); f != slou.FactorU && f < slou.FactorLoss {
			c[f] += l.end[i] - l.from(i)
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
		if !p.factor.Info().CutOut || p.factor == slou.FactorLoss {
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
