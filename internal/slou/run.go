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
func ExtraCores(m *model.Model) (extra int64) {
	awake := make([]int64, len(m.Processes))
	known := make([]bool, len(m.Processes))
	for i := range known {
		known[i] = m.Processes[i].CPU >= 0
	}
	for n := range m.Nodes {
		p := m.Nodes[n].Process
		if p >= len(awake) {
			continue
		}
		for _, w := range m.Nodes[n].Workers {
			if w.Started == model.None || w.Finished == model.None || len(w.Lost) > 0 {
				known[p] = false
				continue
			}
			awake[p] += max(w.Finished-w.Started, 0)
			for _, v := range w.Idle {
				awake[p] -= max(min(v.To, w.Finished)-max(v.From, w.Started), 0)
			}
		}
	}
	for p := range awake {
		if known[p] {
			extra += max(m.Processes[p].CPU-awake[p], 0)
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
	count := func(list []model.Message) {
		for i := range list {
			g := &list[i]
			if g.Sent == model.None && g.Received == model.None {
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
		if g := &m.Requests[i]; g.Sent != model.None && g.Received != model.None && g.Received < g.Sent {
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
	for e, cf := range m.ExecCF {
		if m.ExecEnd[e] == model.None && m.Atomic(cf) {
			n++
		}
	}
	return n
}

// Null tells which factors cannot be computed from the events that were recorded: those that are nil in Result.Factors.
func Null(m *model.Model) (null [FactorLoss]bool) {
	missing, _ := missingEvents(m)
	for f := range null {
		null[f] = missing[Factor(f)]
	}
	return null
}

// missingEvents tells which factors cannot be computed because events were switched off: the trace says so, or
// has none of a kind where other events show that there must have been some.
func missingEvents(m *model.Model) (map[Factor]bool, []Missing) {
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
	need(trace.KindDFCreate, m.HasInputs(), FactorS, FactorL, FactorO)
	received := m.Count[trace.KindDFReceived] > 0
	need(trace.KindDFReceived, len(m.Nodes) > 1 && m.UsesForeign(), FactorL, FactorO)
	need(trace.KindDFSent, received, FactorL, FactorO)
	fetched := m.HasRequests()
	need(trace.KindDFRequested, fetched, FactorL, FactorO)
	need(trace.KindDFRequestReceived, fetched, FactorL, FactorO)
	left := m.Count[trace.KindCFMigrated]+m.Count[trace.KindCFStolen] > 0
	need(trace.KindCFReceived, left, FactorL, FactorO)
	if !left && m.Count[trace.KindCFReceived] > 0 {
		need(trace.KindCFMigrated, true, FactorL, FactorO)
	}
	if m.Count[trace.KindCFReady] == 0 && ran {
		list = append(list, Missing{Event: trace.KindCFReady.String(), Factors: []string{},
			Parts: []string{"S.here", "S.elsewhere", "O.deliver", "O.dispatch", "O.steal"}})
	}
	return null, list
}
