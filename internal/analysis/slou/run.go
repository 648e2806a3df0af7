package slou

import (
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// ExtraCores is the processor time, in nanoseconds, that the processes used beyond that of their workers:
// the CPU time of these as far as their threads' clocks were read, else their time while they were not
// parked. A process counts as having used none if its CPU time or its workers' time is not fully known.
func ExtraCores(m *model.Model) int64 { return awakeIn(m).extra(m) }

// awake is the time, by process of the run, in which workers of own nodes were not parked and, as far as
// that is known, ran.
type awake struct {
	NS      []int64
	Unknown []bool
}

func awakeIn(m *model.Model) awake {
	a := awake{make([]int64, len(m.Processes)), make([]bool, len(m.Processes))}
	for n := range m.Nodes {
		p := m.Nodes[n].Process
		if p >= len(a.NS) || !m.Own(n) {
			continue
		}
		for _, w := range m.Nodes[n].Workers {
			if w.Started == model.None || w.Finished == model.None || len(w.Lost) > 0 {
				a.Unknown[p] = true
				continue
			}
			a.NS[p] += max(w.Finished-w.Started, 0) - max(w.Measured-w.CPU, 0)
			for _, v := range w.Idle {
				a.NS[p] -= max(min(v.To, w.Finished)-max(v.From, w.Started), 0)
			}
		}
	}
	return a
}

func (a awake) extra(m *model.Model) (extra int64) {
	for p, ns := range a.NS {
		if cpu := m.Processes[p].CPU; cpu >= 0 && !a.Unknown[p] {
			extra += max(cpu-ns, 0)
		}
	}
	return extra
}

// whole is what is the same whatever part of a run counts, and what finds what was in a part without looking
// at all of the run.
type whole struct {
	uses       Uses
	awake      awake
	unfinished []int64 // when executions began that did not end, by worker
	df, moves  model.Spans
	requests   model.Spans
	repeated   []uint64 // a bit for each of DFMessages
}

func wholeOf(m *model.Model) *whole {
	w := &whole{uses: UsesIn(m), awake: awakeIn(m), df: model.NewSpans(m.DFMessages),
		moves: model.NewSpans(m.Moves), requests: model.NewSpans(m.Requests)}
	first, end := m.OwnExecutions()
	for e := first; e < end; e++ {
		if m.ExecEnd[e] == model.None && m.Atomic(m.ExecCF[e]) {
			w.unfinished = append(w.unfinished, m.ExecStart[e])
		}
	}
	w.repeated = make([]uint64, len(m.DFMessages)/64+1)
	m.RepeatedReceipts(func(message uint32) { w.repeated[message/64] |= 1 << (message % 64) })
	return w
}

// messages sums up those that were under way in a part of the run.
func (w *whole) messages(m *model.Model, in model.Interval) (out Messages) {
	// These are of the whole run, in whatever shares it is read.
	out.Crossing, out.Repaired, out.RepairMaxNS = m.Clocks.Messages,
		m.Clocks.Interpolated.Count-m.Clocks.Left.Count, m.Clocks.Repairs().MovedNS
	count := func(spans model.Spans, list []model.Message, repeated []uint64) {
		spans.Each(in, len(list), func(i int) {
			g := &list[i]
			if !m.Counted(g) || !Underway(g, in) {
				return
			}
			if repeated != nil && repeated[i/64]>>(i%64)&1 > 0 {
				out.Repeated++
				out.RepeatBytes += g.Bytes
			}
			out.Count++
			out.Bytes += g.Bytes
			switch {
			case g.Sent == model.None || g.Received == model.None:
				out.Half++
			case g.Received < g.Sent:
				out.Violations++
			default:
				out.FlightNS += g.Received - g.Sent
			}
		})
	}
	count(w.df, m.DFMessages, w.repeated)
	count(w.moves, m.Moves, nil)
	w.requests.Each(in, len(m.Requests), func(i int) {
		if g := &m.Requests[i]; m.Counted(g) && Underway(g, in) && g.Sent != model.None &&
			g.Received != model.None && g.Received < g.Sent {
			out.Violations++
		}
	})
	return out
}

// Underway tells whether a message was sent, received or in flight in a part of the run. What was sent or
// received before the run or after it counts as at its ends.
func Underway(g *model.Message, in model.Interval) bool {
	v, _ := g.Way()
	return Shares(in, min(v.From, v.To), max(v.From, v.To))
}

// Null tells which factors cannot be computed from the events that were recorded: those that are nil in
// Result.Factors.
func Null(m *model.Model) (null [FactorLoss]bool) {
	missing, _ := missingEvents(m, UsesIn(m))
	for f := range null {
		null[f] = missing[Factor(f)]
	}
	return null
}

// Uses says what a run did that must have left events of certain kinds.
type Uses struct {
	Inputs   bool // CFs had input DFs
	Foreign  bool // CFs used DFs of other nodes, and no receipt of a DF was recorded
	Requests bool // DFs were sent because they were requested
	Depends  bool // a CF waited for another one, or was created by one
}

// UsesIn tells what the part of the run did that this process has.
func UsesIn(m *model.Model) Uses {
	return Uses{m.HasInputs(), m.Count[trace.KindDFReceived] == 0 && m.UsesForeign(), m.HasRequests(),
		m.TellsDependences()}
}

// Join adds what another process knows.
func (u *Uses) Join(o Uses) {
	u.Inputs, u.Foreign, u.Requests = u.Inputs || o.Inputs, u.Foreign || o.Foreign, u.Requests || o.Requests
	u.Depends = u.Depends || o.Depends
}

// Absent lists the kinds of events that were switched off although they must have happened: the trace says
// so, or has none of a kind where other events show that there must have been some.
func Absent(m *model.Model, did Uses) (absent []trace.Kind) {
	count := &m.Count
	off := func(k trace.Kind) bool { return count[k] == 0 && slices.Contains(m.Info.Off, k.String()) }
	ran, received := count[trace.KindCFStarted] > 0, count[trace.KindDFReceived] > 0
	left := count[trace.KindCFMigrated]+count[trace.KindCFStolen] > 0
	sole := OnlyRegions(m)
	for _, e := range []struct {
		kind     trace.Kind
		happened bool
	}{
		{trace.KindCFStarted, count[trace.KindCFFinished] > 0 || off(trace.KindCFStarted)},
		{trace.KindCFFinished, ran && (m.Info.Ended == trace.EndedDone || off(trace.KindCFFinished))},
		{trace.KindCFCreated, ran},
		{trace.KindDFCreate, did.Inputs},
		{trace.KindDFReceived, len(m.Nodes) > 1 && did.Foreign},
		{trace.KindDFSent, received},
		{trace.KindDFRequested, did.Requests},
		{trace.KindDFRequestReceived, did.Requests},
		{trace.KindCFReceived, left},
		{trace.KindCFMigrated, !left && count[trace.KindCFReceived] > 0},
		// Collectors that record synchronisation only leave out transfers.
		{trace.KindPut, sole && (off(trace.KindPut) || m.Info.Settings["instrument"] == "sync")},
		{trace.KindCollective, sole && off(trace.KindCollective)},
		{trace.KindCFReady, ran && !m.OpenMP()}, // there it is worked out
	} {
		if e.happened && count[e.kind] == 0 {
			absent = append(absent, e.kind)
		}
	}
	return absent
}

// NoMessages tells whether another program recorded the run, in a format that has no messages.
func NoMessages(m *model.Model) bool {
	return m.WasImported() && m.Count[trace.KindDFReceived] == 0 &&
		slices.Contains(m.Info.Off, trace.KindDFReceived.String())
}

// missingEvents tells which factors cannot be computed because events were switched off.
func missingEvents(m *model.Model, did Uses) (map[Factor]bool, []Missing) {
	null, list := map[Factor]bool{}, []Missing{}
	for _, k := range Absent(m, did) {
		miss := Missing{Event: k.String(), Factors: []string{}}
		for f := range FactorLoss {
			if slices.Contains(needs[f], k) {
				null[f] = true
				miss.Factors = append(miss.Factors, f.String())
			}
		}
		for p := PartNowhere; k == trace.KindCFReady && p < PartCount; p++ {
			if x := p.Info(); x.Ready {
				miss.Parts = append(miss.Parts, x.Factor+"."+x.Name)
			}
		}
		list = append(list, miss)
	}
	if NoMessages(m) && !null[FactorL] {
		null[FactorL] = true
		list = append(list, Missing{Event: trace.KindDFReceived.String(), Factors: []string{FactorL.String()}})
	}
	return null, list
}

// runFacts is what a result tells beside the division of time, as far as a process knows it.
type runFacts struct {
	Uses       Uses
	Awake      awake
	Messages   Messages
	Unfinished int
	Collisions []string
}

func (w *whole) factsOf(m *model.Model, in model.Interval) runFacts {
	f := runFacts{Uses: w.uses, Awake: awake{slices.Clone(w.awake.NS), slices.Clone(w.awake.Unknown)},
		Messages: w.messages(m, in), Collisions: m.Collisions}
	for _, start := range w.unfinished {
		if start <= in.To {
			f.Unfinished++
		}
	}
	return f
}

// join adds what another process knows.
func (f *runFacts) join(o *runFacts) {
	f.Uses.Join(o.Uses)
	for i, ns := range o.Awake.NS {
		f.Awake.NS[i] += ns
		f.Awake.Unknown[i] = f.Awake.Unknown[i] || o.Awake.Unknown[i]
	}
	to, from := &f.Messages, &o.Messages // Crossing and Repaired are of the whole run everywhere
	to.Count += from.Count
	to.Bytes += from.Bytes
	to.FlightNS += from.FlightNS
	to.Repeated += from.Repeated
	to.RepeatBytes += from.RepeatBytes
	to.Violations += from.Violations
	to.Half += from.Half
	f.Unfinished += o.Unfinished
	f.Collisions = append(f.Collisions[:len(f.Collisions):len(f.Collisions)], o.Collisions...)
}
