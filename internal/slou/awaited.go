package slou

import (
	"math"

	"github.com/whyslow/whyslow/internal/model"
)

// What a worker that has run its last CF waits for is the end of the run. To name the cause, the run is followed
// back from the CF that ended last: what held that one up last was either the producer of its last input or, if
// that had long ended, the CF before it on its worker; and so on back. At any moment the run waited for the
// first CF of this chain that had not ended yet. The chain is followed back no further than to the first
// worker's last CF.

// awaited says that from a time on, up to that of the entry before, the run waited for cf.
type awaited struct {
	from int64
	cf   model.CF // 0: no atomic CF ended
}

// findAwaited gives the chain, latest first. The last entry reaches back for ever.
func findAwaited(m *model.Model, f *facts, dataOnly bool) []awaited {
	last, end, earliest := -1, model.None, int64(math.MaxInt64)
	for n := range m.Nodes {
		for _, w := range m.Nodes[n].Workers {
			workerEnd := m.Start
			for e := w.End - 1; e >= w.First; e-- {
				if m.ExecEnd[e] == model.None || !m.Atomic(m.ExecCF[e]) {
					continue
				}
				workerEnd = m.ExecEnd[e]
				if workerEnd > end {
					last, end = e, workerEnd
				}
				break
			}
			earliest = min(earliest, workerEnd)
		}
	}
	var chain []awaited
	for last >= 0 && end > earliest {
		before, t := heldUp(m, f, last, dataOnly)
		if before < 0 || t >= end {
			break
		}
		chain = append(chain, awaited{t, m.ExecCF[last]})
		last, end = before, t
	}
	rest := awaited{from: model.None}
	if last >= 0 {
		rest.cf = m.ExecCF[last]
	}
	return append(chain, rest)
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
	for p := e - 1; p >= w.First; p-- {
		if m.Atomic(m.ExecCF[p]) && m.ExecEnd[p] != model.None {
			return p, m.ExecEnd[p]
		}
	}
	return -1, model.None
}
