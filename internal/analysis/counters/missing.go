package counters

import (
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// missing tells which quantities a trace cannot tell because of an event that was not recorded: the trace
// says so, or has none of a kind though other events show that there must have been some. counts are those of
// the events of the whole run, m is a model of it or of a part. Events come in the order of the report.
func missing(m *model.Model, counts *[trace.FirstUserKind]uint64, found func(k trace.Kind, list []quantity)) {
	done := m.Info.Ended == trace.EndedDone && !m.Killed // the run ended as it should
	count := func(kinds ...trace.Kind) (n uint64) {
		for _, k := range kinds {
			n += counts[k]
		}
		return n
	}
	need := func(k trace.Kind, wanted bool, list ...quantity) {
		if counts[k] == 0 && (wanted || slices.Contains(m.Info.Off, k.String())) {
			found(k, list)
		}
	}
	ran := count(trace.KindCFStarted) > 0
	need(trace.KindCFCreated, ran, cfs, waiting, objects, weight, inner, outer)
	need(trace.KindCFReady, ran, waiting, ready)
	need(trace.KindCFStarted, count(trace.KindCFFinished) > 0, cfs, waiting, ready, running, moving, objects,
		weight, inner, outer)
	need(trace.KindCFFinished, ran && done, cfs, waiting, running, objects, weight, inner, outer)
	left, came := count(trace.KindCFMigrated, trace.KindCFStolen) > 0, count(trace.KindCFReceived) > 0
	if left || came {
		flying := []quantity{cfs, waiting, moving, inFlight, bytesInFlight, objects, weight, inner, outer}
		need(trace.KindCFReceived, left, flying...)
		need(trace.KindCFMigrated, !left, flying...)
	}
	need(trace.KindDFCreate, count(trace.KindDFStored, trace.KindDFDestroy) > 0, bytes, dfs, inner, outer)
	need(trace.KindDFStored, count(trace.KindDFDropped, trace.KindDFCreate) > 0, bytes, copies, objects)
	need(trace.KindDFDropped, count(trace.KindDFStored) > 0 && done, bytes, copies, objects)
	need(trace.KindDFDestroy, count(trace.KindDFCreate) > 0 && done, dfs)
	need(trace.KindReadyQueue, false, readyQueue)
	if len(m.Nodes) > 1 {
		need(trace.KindSendQueue, false, sendQueue)
		sent, received := count(trace.KindDFSent) > 0, count(trace.KindDFReceived) > 0
		need(trace.KindDFSent, received, inFlight, bytesInFlight, inner, outer)
		need(trace.KindDFReceived, sent, inFlight, bytesInFlight)
		if !sent && !received && count(trace.KindPut, trace.KindGet, trace.KindRemoteAtomic, trace.KindSent) == 0 {
			need(trace.KindDFSent, false, messages, messageBytes, data, dataBytes, nodeSent, nodeSentBytes,
				nodeReceived, nodeReceivedBytes)
		}
	}
}

// unknown tells which quantities the page cannot show. Samples that did not come yet are unknown, too.
// Relations are known of programs with DFs, and of those that count them themselves.
func unknown(m *model.Model, counts *[trace.FirstUserKind]uint64) (out [quantities]bool) {
	missing(m, counts, func(_ trace.Kind, list []quantity) {
		for _, q := range list {
			out[q] = true
		}
	})
	out[readyQueue] = counts[trace.KindReadyQueue] == 0
	out[sendQueue] = counts[trace.KindSendQueue] == 0
	for _, q := range []quantity{load, resident, arenas, threads} {
		out[q] = counts[trace.KindUsage] == 0
	}
	out[inner] = counts[trace.KindRelations] == 0 &&
		(out[inner] || counts[trace.KindCFCreated] == 0 || counts[trace.KindDFCreate] == 0)
	out[outer] = out[inner]
	return out
}

// findMissing notes which series cannot be computed.
func (c *computation) findMissing() {
	c.res.Missing = []Missing{}
	missing(c.m, &c.m.Count, func(k trace.Kind, list []quantity) {
		var names []string
		for _, q := range list {
			if p := propertyOf(q); p.report != "" && c.asked(p.report) {
				c.unknown[q] = true
				names = append(names, p.report)
			}
		}
		if len(names) > 0 {
			c.res.Missing = append(c.res.Missing, Missing{Event: k.String(), Series: names})
		}
	})
}
