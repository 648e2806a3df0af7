package slou

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// ExtraCores is the processor time, in nanoseconds, that the processes used beyond that of their workers while these were
// not parked. A process whose CPU time or whose workers' time is not wholly known counts as having used none.
func ExtraCores(m *model.Model) int64 { return awakeIn(m).extra(m) }

// awake is the time, by process of the run, in which workers of own nodes were not parked.
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
			a.NS[p] += max(w.Finished-w.Started, 0)
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

func hosts(m *model.Model) []Host {
	out := []Host{}
	find := func(name string) *Host {
		for i := range out {
			if out[i].Host == name {
				return &out[i]
			}
		}
		out = append(out, Host{Host: name})
		return &out[len(out)-1]
	}
	// Processes of one host are bound to cores each, or share all that the host gives them.
	bound := map[string]map[int]bool{}
	for i, p := range m.Processes {
		h := find(p.Host)
		h.Cores = max(h.Cores, p.Cores)
		if i < len(m.Info.Processes) {
			if bound[p.Host] == nil {
				bound[p.Host] = map[int]bool{}
			}
			for _, c := range coreList(m.Info.Processes[i].Affinity) {
				bound[p.Host][c] = true
			}
		}
	}
	for i := range out {
		out[i].Cores = max(out[i].Cores, len(bound[out[i].Host]))
	}
	for _, n := range m.Nodes {
		if len(n.Workers) == 0 {
			continue
		}
		name := n.Host
		if name == "" && n.Process < len(m.Processes) {
			name = m.Processes[n.Process].Host
		}
		find(name).Workers += len(n.Workers)
	}
	slices.SortFunc(out, func(a, b Host) int { return cmp.Compare(a.Host, b.Host) })
	return out
}

// coreList reads a list of cores such as "0-3,8"; what cannot be read is left out.
func coreList(s string) (cores []int) {
	for _, part := range strings.Split(s, ",") {
		first, last, isRange := strings.Cut(part, "-")
		from, err := strconv.Atoi(first)
		to := from
		if err == nil && isRange {
			to, err = strconv.Atoi(last)
		}
		for c := from; err == nil && c <= to && c-from < maxCores; c++ {
			cores = append(cores, c)
		}
	}
	return cores
}

// maxCores bounds what a damaged run.json can make us list.
const maxCores = 1 << 16

func messages(m *model.Model) (out Messages) {
	// These are of the whole run, in whatever shares it is read.
	out.Crossing, out.Repaired, out.RepairMaxNS = m.Clocks.Messages, m.Clocks.Interpolated.Count-m.Clocks.Left.Count, m.Clocks.Repairs().MovedNS
	count := func(list []model.Message) {
		for i := range list {
			g := &list[i]
			if !m.Counted(g) {
				continue
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
		}
	}
	count(m.DFMessages)
	count(m.Moves)
	for i := range m.Requests {
		if g := &m.Requests[i]; m.Counted(g) && g.Sent != model.None && g.Received != model.None && g.Received < g.Sent {
			out.Violations++
		}
	}
	m.RepeatedReceipts(func(g *model.Message) {
		out.Repeated++
		out.RepeatBytes += g.Bytes
	})
	return out
}

func unfinished(m *model.Model) (n int) {
	first, end := m.OwnExecutions()
	for e := first; e < end; e++ {
		if m.ExecEnd[e] == model.None && m.Atomic(m.ExecCF[e]) {
			n++
		}
	}
	return n
}

// Null tells which factors cannot be computed from the events that were recorded: those that are nil in Result.Factors.
func Null(m *model.Model) (null [FactorLoss]bool) {
	missing, _ := missingEvents(m, usesIn(m))
	for f := range null {
		null[f] = missing[Factor(f)]
	}
	return null
}

// uses says what a run did that must have left events of certain kinds.
type uses struct{ Inputs, Foreign, Requests bool }

func usesIn(m *model.Model) uses { return uses{m.HasInputs(), m.UsesForeign(), m.HasRequests()} }

// runFacts is what a result tells beside the division of time, as far as a process knows it.
type runFacts struct {
	Uses       uses
	Awake      awake
	Messages   Messages
	Unfinished int
	Collisions []string
}

func factsOf(m *model.Model) runFacts {
	return runFacts{usesIn(m), awakeIn(m), messages(m), unfinished(m), m.Collisions}
}

// join adds what another process knows.
func (f *runFacts) join(o *runFacts) {
	f.Uses.Inputs, f.Uses.Foreign = f.Uses.Inputs || o.Uses.Inputs, f.Uses.Foreign || o.Uses.Foreign
	f.Uses.Requests = f.Uses.Requests || o.Uses.Requests
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

// missingEvents tells which factors cannot be computed because events were switched off: the trace says so, or
// has none of a kind where other events show that there must have been some.
func missingEvents(m *model.Model, did uses) (map[Factor]bool, []Missing) {
	null := map[Factor]bool{}
	list := []Missing{}
	off := func(k trace.Kind) bool { return m.Count[k] == 0 && slices.Contains(m.Info.Off, k.String()) }
	need := func(k trace.Kind, wanted bool, factors ...Factor) {
		if m.Count[k] > 0 || !wanted {
			return
		}
		miss := Missing{Event: k.String(), Factors: []string{}}
		for _, f := range factors {
			null[f] = true
			miss.Factors = append(miss.Factors, f.String())
		}
		list = append(list, miss)
	}
	usol := []Factor{FactorU, FactorS, FactorL, FactorO}
	ran := m.Count[trace.KindCFStarted] > 0
	need(trace.KindCFStarted, m.Count[trace.KindCFFinished] > 0 || off(trace.KindCFStarted), usol...)
	need(trace.KindCFFinished, ran && (m.Info.Ended == trace.EndedDone || off(trace.KindCFFinished)), usol...)
	need(trace.KindCFCreated, ran, usol...)
	need(trace.KindDFCreate, did.Inputs, FactorS, FactorL, FactorO)
	received := m.Count[trace.KindDFReceived] > 0
	need(trace.KindDFReceived, len(m.Nodes) > 1 && did.Foreign, FactorL, FactorO)
	need(trace.KindDFSent, received, FactorL, FactorO)
	need(trace.KindDFRequested, did.Requests, FactorL, FactorO)
	need(trace.KindDFRequestReceived, did.Requests, FactorL, FactorO)
	left := m.Count[trace.KindCFMigrated]+m.Count[trace.KindCFStolen] > 0
	need(trace.KindCFReceived, left, FactorL, FactorO)
	if !left && m.Count[trace.KindCFReceived] > 0 {
		need(trace.KindCFMigrated, true, FactorL, FactorO)
	}
	sole := OnlyRegions(m)
	need(trace.KindPut, sole && (off(trace.KindPut) || m.Info.Settings["instrument"] == "sync"), FactorL) // a level of the collectors
	need(trace.KindCollective, sole && off(trace.KindCollective), FactorW)
	if m.Count[trace.KindCFReady] == 0 && ran {
		list = append(list, Missing{Event: trace.KindCFReady.String(), Factors: []string{},
			Parts: []string{"S.here", "S.elsewhere", "O.deliver", "O.dispatch", "O.steal"}})
	}
	return null, list
}
