package properties

import (
	"slices"

	"github.com/whyslow/whyslow/trace"
)

// unknown tells which quantities cannot be told because events were switched off: the trace says so, or has none of a
// kind where other events show that there must have been some. The rules are those of package series.
func unknown(counts *[trace.FirstUserKind]uint64, info *trace.RunInfo, done bool, nodes int) (out [quantities]bool) {
	count := func(kinds ...trace.Kind) (n uint64) {
		for _, k := range kinds {
			n += counts[k]
		}
		return n
	}
	need := func(k trace.Kind, wanted bool, list ...quantity) {
		if counts[k] > 0 || !wanted && (info == nil || !slices.Contains(info.Off, k.String())) {
			return
		}
		for _, q := range list {
			out[q] = true
		}
	}
	ran := count(trace.KindCFStarted) > 0
	need(trace.KindCFCreated, ran, cfs, waiting, objects, weight)
	need(trace.KindCFReady, ran, waiting, ready)
	need(trace.KindCFStarted, count(trace.KindCFFinished) > 0, cfs, waiting, ready, running, moving, objects, weight)
	need(trace.KindCFFinished, ran && done, cfs, waiting, running, objects, weight)
	left, came := count(trace.KindCFMigrated, trace.KindCFStolen) > 0, count(trace.KindCFReceived) > 0
	if left || came {
		need(trace.KindCFReceived, left, cfs, waiting, moving, inFlight, bytesInFlight, objects, weight)
		need(trace.KindCFMigrated, !left, cfs, waiting, moving, inFlight, bytesInFlight, objects, weight)
	}
	need(trace.KindDFCreate, count(trace.KindDFStored, trace.KindDFDestroy) > 0, bytes, dfs)
	need(trace.KindDFStored, count(trace.KindDFDropped, trace.KindDFCreate) > 0, bytes, copies, objects)
	need(trace.KindDFDropped, count(trace.KindDFStored) > 0 && done, bytes, copies, objects)
	need(trace.KindDFDestroy, count(trace.KindDFCreate) > 0 && done, dfs)
	if nodes > 1 {
		sent, received := count(trace.KindDFSent) > 0, count(trace.KindDFReceived) > 0
		need(trace.KindDFSent, received, inFlight, bytesInFlight)
		need(trace.KindDFReceived, sent, inFlight, bytesInFlight)
		if !sent && !received {
			need(trace.KindDFSent, false, messages, messageBytes)
		}
	}
	// Where these are recorded a run without any has none to speak of only if it is over.
	need(trace.KindReadyQueue, true, readyQueue)
	need(trace.KindSendQueue, true, sendQueue)
	need(trace.KindRelations, true, inner, outer)
	return out
}
