package slou

import (
	"fmt"
	"math"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// A worker that has run its last CF waits for the end of the run. To name the cause, the run is followed back
// from the CF that ended last. That CF was held up last by the producer of its last input or, if the producer
// had long ended, by the CF before it on its worker; and so on back. At any moment the run waited for the
// first CF of this chain that had not ended yet. The chain is followed back to the first worker's last CF.

// awaited says that from a time on, up to that of the entry before, the run waited for cf.
type awaited struct {
	from int64
	cf   model.CF // 0: no atomic CF ended
}

// awaitedThere is an entry of the chain that another process found.
type awaitedThere struct {
	Number int // in the whole chain
	From   int64
	CF     trace.CF
	Site   uint32
}

// baton says which process follows the chain next, and from where.
type baton struct {
	Holder int
	CF     trace.CF
	End    int64
	Number int // of entries so far
	Over   bool
}

// findAwaited gives the chain, latest first. The last entry reaches back for ever. Each process follows the
// chain through its own nodes and passes the baton on where the chain leaves them.
func findAwaited(m *model.Model, f *facts, dataOnly bool, g procs.Group) ([]awaited, error) {
	at := lastEnded(m)
	ends, err := procs.AllOf(g, model.Interval{From: at.earliest, To: at.end})
	if err != nil {
		return nil, err
	}
	next := baton{End: model.None}
	for rank, v := range ends {
		at.earliest = min(at.earliest, v.From)
		if v.To > next.End {
			next.Holder, next.End = rank, v.To
		}
	}
	own := map[int][]awaited{} // by the number of the first entry
	for begun := false; !next.Over; begun = true {
		holder := next.Holder
		if holder == g.Rank() {
			if begun {
				at.end = next.End
				if at.last, _ = m.ExecutionAt(m.FindCF(next.CF), next.End); m.ExecutedBy(at.last) != holder {
					return nil, fmt.Errorf("internal error: CF %v was executed elsewhere than another process says", next.CF)
				}
			}
			list := at.follow(m, f, dataOnly, nil)
			if next.Over = at.over; at.over {
				list = append(list, at.rest(m))
			} else {
				next.Holder, next.CF, next.End = m.ExecutedBy(at.last), m.CFID(m.ExecCF[at.last]), at.end
			}
			own[next.Number] = list
			next.Number += len(list)
		}
		if next, err = procs.FromMember(g, holder, next); err != nil {
			return nil, err
		}
	}
	if g.Size() == 1 {
		return own[0], nil
	}
	return wholeChain(m, own, next.Number, g)
}

// wholeChain puts together what all processes found of the chain.
func wholeChain(m *model.Model, own map[int][]awaited, length int, g procs.Group) ([]awaited, error) {
	var told []awaitedThere
	for first, list := range own {
		for i, a := range list {
			told = append(told, awaitedThere{first + i, a.from, m.CFID(a.cf), m.SiteOf[a.cf]})
		}
	}
	all, err := procs.AllOf(g, told)
	if err != nil {
		return nil, err
	}
	chain := make([]awaited, length)
	for _, list := range all {
		for _, v := range list {
			chain[v.Number].from = v.From
			if v.CF != 0 {
				chain[v.Number].cf = m.Learn(v.CF, v.Site)
			}
		}
	}
	return chain, nil
}

// chainEnd is how far back the chain was followed.
type chainEnd struct {
	last     int   // execution, -1: no atomic CF ended
	end      int64 // when it was over
	earliest int64 // how far the chain is to be followed
	over     bool
}

// lastEnded begins with the CF that ended last, on own nodes, and goes as far as to the last CF of the first
// worker.
func lastEnded(m *model.Model) *chainEnd {
	b := &chainEnd{last: -1, end: model.None, earliest: math.MaxInt64}
	for _, w := range m.OwnWorkers() {
		workerEnd := m.Start
		if e := m.EndedBefore(w, w.End); e >= 0 {
			if workerEnd = m.ExecEnd[e]; workerEnd > b.end {
				b.last, b.end = e, workerEnd
			}
		}
		b.earliest = min(b.earliest, workerEnd)
	}
	return b
}

// follow appends to the chain until it is over or goes on at a node that is not an own one.
func (b *chainEnd) follow(m *model.Model, f *facts, dataOnly bool, chain []awaited) []awaited {
	first, end := m.OwnExecutions()
	for b.last >= first && b.last < end && b.end > b.earliest {
		before, t := heldUp(m, f, b.last, dataOnly)
		if before < 0 || t >= b.end {
			b.over = true
			return chain
		}
		chain = append(chain, awaited{t, m.ExecCF[b.last]})
		b.last, b.end = before, t
	}
	b.over = b.last < 0 || b.end <= b.earliest
	return chain
}

// rest is what was awaited before all entries of the chain.
func (b *chainEnd) rest(m *model.Model) awaited {
	if b.last < 0 {
		return awaited{from: model.None}
	}
	return awaited{model.None, m.ExecCF[b.last]}
}

// heldUp gives the execution that held up another one last, and when that was over; -1 for none.
func heldUp(m *model.Model, f *facts, e int, dataOnly bool) (int, int64) {
	before, t := previous(m, e)
	s := LastInput(f, Gap{CF: m.ExecCF[e], Execution: e, D: m.ExecStart[e]}, dataOnly)
	if s.Known && s.Producer != 0 && s.End > t {
		if p, ok := m.ExecutionAt(s.Producer, s.End); ok {
			return p, s.End
		}
	}
	return before, t
}

// previous gives the atomic CF before an execution on its worker, and its end.
func previous(m *model.Model, e int) (int, int64) {
	w, _ := m.WorkerOf(e)
	if w == nil {
		return -1, model.None
	}
	if p := m.EndedBefore(w, e); p >= 0 {
		return p, m.ExecEnd[p]
	}
	return -1, model.None
}
