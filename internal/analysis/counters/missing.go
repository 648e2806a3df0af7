package counters

import (
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// recorded is what tells whether events were switched off.
type recorded struct {
	counts *[trace.FirstUserKind]uint64
	info   *trace.RunInfo // nil: not known
	done   bool           // the run ended as it should
	nodes  int
}

func recordedIn(m *model.Model) *recorded {
	return &recorded{&m.Count, m.Info, m.Info.Ended == trace.EndedDone && !m.Killed, len(m.Nodes)}
}

// missing tells which quantities a trace cannot tell because of an event that was not recorded: the trace
// says so, or has none of a kind though other events show that there must have been some. Events come in the
// order of the report.
func (x *recorded) missing(found func(k trace.Kind, list []quantity)) {
	count := func(kinds ...trace.Kind) (n uint64) {
		for _, k := range kinds {
			n += x.counts[k]
		}
		return n
	}
	need := func(k trace.Kind, wanted bool, list ...quantity) {
		if x.counts[k] == 0 && (wanted || x.info != nil && slices.Contains(x.info.Off, k.String())) {
			found(k, list)
		}
	}
	ran := count(trace.KindCFStarted) > 0
	need(trace.KindCFCreated, ran, cfs, waiting, objects, weight)
	need(trace.KindCFReady, ran, waiting, ready)
	need(trace.KindCFStarted, count(trace.KindCFFinished) > 0, cfs, waiting, ready, running, moving, objects,
		weight)
	need(trace.KindCFFinished, ran && x.done, cfs, waiting, running, objects, weight)
	left, came := count(trace.KindCFMigrated, trace.KindCFStolen) > 0, count(trace.KindCFReceived) > 0
	if left || came {
		flying := []quantity{cfs, waiting, moving, inFlight, bytesInFlight, objects, weight}
		need(trace.KindCFReceived, left, flying...)
		need(trace.KindCFMigrated, !left, flying...)
	}
	need(trace.KindDFCreate, count(trace.KindDFStored, trace.KindDFDestroy) > 0, bytes, dfs)
	need(trace.KindDFStored, count(trace.KindDFDropped, trace.KindDFCreate) > 0, bytes, copies, objects)
	need(trace.KindDFDropped, count(trace.KindDFStored) > 0 && x.done, bytes, copies, objects)
	need(trace.KindDFDestroy, count(trace.KindDFCreate) > 0 && x.done, dfs)
	need(trace.KindReadyQueue, false, readyQueue)
	if x.nodes > 1 {
		need(trace.KindSendQueue, false, sendQueue)
		sent, received := count(trace.KindDFSent) > 0, count(trace.KindDFReceived) > 0
		need(trace.KindDFSent, received, inFlight, bytesInFlight)
		need(trace.KindDFReceived, sent, inFlight, bytesInFlight)
		if !sent && !received {
			need(trace.KindDFSent, false, messages, messageBytes)
		}
	}
}

// unknown tells which quantities the page cannot show. Samples that did not come yet are unknown, too.
func (x *recorded) unknown() (out [quantities]bool) {
	x.missing(func(_ trace.Kind, list []quantity) {
		for _, q := range list {
			out[q] = true
		}
	})
	out[readyQueue] = x.counts[trace.KindReadyQueue] == 0
	out[sendQueue] = x.counts[trace.KindSendQueue] == 0
	out[inner] = x.counts[trace.KindRelations] == 0
	out[outer] = out[inner]
	return out
}

// findMissing notes which series cannot be computed.
func (c *computation) findMissing() {
	c.res.Missing = []Missing{}
	recordedIn(c.m).missing(func(k trace.Kind, list []quantity) {
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
