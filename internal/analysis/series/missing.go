package series

import (
	"slices"

	"github.com/whyslow/whyslow/trace"
)

// findMissing tells which series cannot be computed because events were switched off: the trace says so, or has none of a
// kind where other events show that there must have been some.
func (r *run) findMissing() {
	m := r.m
	r.null = map[string]bool{}
	r.res.Missing = []Missing{}
	count := func(kinds ...trace.Kind) (n uint64) {
		for _, k := range kinds {
			n += m.Count[k]
		}
		return n
	}
	need := func(k trace.Kind, wanted bool, names ...string) {
		if m.Count[k] > 0 || !wanted && !slices.Contains(m.Info.Off, k.String()) {
			return
		}
		var list []string
		for _, name := range names {
			if len(r.opt.Only) == 0 || slices.Contains(r.opt.Only, name) {
				r.null[name] = true
				list = append(list, name)
			}
		}
		if len(list) > 0 {
			r.res.Missing = append(r.res.Missing, Missing{Event: k.String(), Series: list})
		}
	}
	done := m.Info.Ended == trace.EndedDone && !m.Killed
	ran := m.Count[trace.KindCFStarted] > 0
	all := []string{CFs, CFsWaiting, CFsReady, CFsRunning, CFsMoving}
	need(trace.KindCFCreated, ran, CFs, CFsWaiting)
	need(trace.KindCFReady, ran, CFsWaiting, CFsReady)
	need(trace.KindCFStarted, count(trace.KindCFFinished) > 0, all...)
	need(trace.KindCFFinished, ran && done, CFs, CFsWaiting, CFsRunning)
	left := count(trace.KindCFMigrated, trace.KindCFStolen) > 0
	arrived := count(trace.KindCFReceived) > 0
	if left || arrived {
		need(trace.KindCFReceived, left, CFs, CFsWaiting, CFsMoving, MessagesInFlight, BytesInFlight)
		need(trace.KindCFMigrated, !left, CFs, CFsWaiting, CFsMoving, MessagesInFlight, BytesInFlight)
	}
	need(trace.KindDFCreate, count(trace.KindDFStored, trace.KindDFDestroy) > 0, BytesHeld, DFs)
	need(trace.KindDFStored, count(trace.KindDFDropped) > 0 || count(trace.KindDFCreate) > 0, BytesHeld, CopiesHeld)
	need(trace.KindDFDropped, count(trace.KindDFStored) > 0 && done, BytesHeld, CopiesHeld)
	need(trace.KindDFDestroy, count(trace.KindDFCreate) > 0 && done, DFs)
	need(trace.KindReadyQueue, false, ReadyQueue)
	if len(m.Nodes) > 1 {
		need(trace.KindSendQueue, false, SendQueue)
		sent, received := count(trace.KindDFSent) > 0, count(trace.KindDFReceived) > 0
		need(trace.KindDFSent, received, MessagesInFlight, BytesInFlight)
		need(trace.KindDFReceived, sent, MessagesInFlight, BytesInFlight)
		if !sent && !received {
			need(trace.KindDFSent, false, MessagesSent, BytesSent)
		}
	}
}
