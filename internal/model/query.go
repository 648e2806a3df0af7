package model

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"strconv"
)

// LastReady gives the last time, by t, at which a CF became ready at a node.
func (m *Model) LastReady(cf CF, node int32, t int64) (int64, bool) {
	r := m.Ready[cf]
	if r == None {
		return 0, false
	}
	if r <= t && int32(m.ReadyNode[cf]) == node {
		return r, true
	}
	list := m.readyMore[cf]
	i := sort.Search(len(list), func(i int) bool { return list[i].compare(readyAt{t, uint16(node)}) > 0 })
	if i == 0 || int32(list[i-1].node) != node {
		return 0, false
	}
	return list[i-1].t, true
}

// AllReady calls f for every time at which a CF became ready.
func (m *Model) AllReady(cf CF, f func(t int64, node int)) {
	if m.Ready[cf] != None {
		f(m.Ready[cf], int(m.ReadyNode[cf]))
	}
	for _, r := range m.readyMore[cf] {
		f(r.t, int(r.node))
	}
}

// Execution gives the execution of a CF with a number, from 1; false if it was not recorded.
func (m *Model) Execution(cf CF, number uint32) (int, bool) {
	last := m.ExecOf[cf]
	if last == 0 {
		return 0, false
	}
	if m.ExecNumber[last-1] == number {
		return int(last - 1), true
	}
	list := m.multi.of(cf)
	i := sort.Search(len(list), func(i int) bool { return m.ExecNumber[list[i]] >= number })
	if i < len(list) && m.ExecNumber[list[i]] == number {
		return int(list[i]), true
	}
	return 0, false
}

// WorkerOf gives the worker and the node of an execution; nil and -1 for one on a stream that is no worker.
func (m *Model) WorkerOf(execution int) (*Worker, int32) {
	w := m.workerOf(execution)
	if w == nil {
		return nil, -1
	}
	return w.Worker, w.node
}

// ExecutionAt gives the execution of a CF that had started by t and was the last to do so.
func (m *Model) ExecutionAt(cf CF, t int64) (int, bool) {
	last := m.ExecOf[cf]
	if last == 0 {
		return 0, false
	}
	list := m.multi.of(cf)
	if len(list) == 0 {
		return int(last - 1), m.ExecStart[last-1] <= t
	}
	i := sort.Search(len(list), func(i int) bool { return m.ExecStart[list[i]] > t })
	if i == 0 {
		return 0, false
	}
	return int(list[i-1]), true
}

// Creation gives the creation of a DF that was the last by t, else the first: an index into MadeTime, MadeBy,
// MadeNode and SizeMade.
func (m *Model) Creation(df DF, t int64) (int, bool) {
	first, end := m.MadeFrom[df], m.MadeFrom[df+1]
	if first == end || df == 0 {
		return 0, false
	}
	for end > first+1 && m.MadeTime[end-1] > t {
		end--
	}
	return int(end - 1), true
}

// CreationAt gives the last time, by t, at which a DF was created at a node.
func (m *Model) CreationAt(df DF, node int32, t int64) (int64, bool) {
	if df == 0 {
		return 0, false
	}
	for i := m.MadeFrom[df+1]; i > m.MadeFrom[df]; i-- {
		if m.MadeTime[i-1] <= t && int32(m.MadeNode[i-1]) == node {
			return m.MadeTime[i-1], true
		}
	}
	return 0, false
}

// FirstSeen gives the first event of a DF whose creation was not recorded.
func (m *Model) FirstSeen(df DF) (int64, bool) {
	t, ok := m.firstSeen[df]
	return t, ok
}

// Travelled tells whether any node received a DF.
func (m *Model) Travelled(df DF) bool { return m.travelled.has(uint32(df)) }

// LastReceipt gives the last message with a DF that a node received by t: an index into DFMessages.
func (m *Model) LastReceipt(df DF, node int32, t int64) (uint32, bool) {
	if df == 0 || !m.Travelled(df) || int(node) >= len(m.received) || node < 0 {
		return 0, false
	}
	r := &m.received[node]
	i := sort.Search(len(r.df), func(i int) bool {
		return r.df[i] > df || (r.df[i] == df && m.DFMessages[r.message[i]].Received > t)
	})
	if i == 0 || r.df[i-1] != df {
		return 0, false
	}
	return r.message[i-1], true
}

// MovesOf gives the migrations of a CF in order of time.
func (m *Model) MovesOf(cf CF) []Message {
	if int(cf) >= len(m.moved) || m.moved[cf] == 0 {
		return nil
	}
	first, step := int(m.moved[cf])-1, 1
	for first+step < len(m.Moves) && m.Moves[first+step].CF == cf { // most have one, some thousands
		step *= 2
	}
	rest := m.Moves[first+step/2 : min(first+step, len(m.Moves))]
	n := sort.Search(len(rest), func(i int) bool { return rest[i].CF != cf })
	return m.Moves[first : first+step/2+n]
}

// MovesWithin gives the migrations of a CF, in the order of MovesOf, that arrived within two times, or left
// then if they never arrived.
func (m *Model) MovesWithin(cf CF, from, to int64) []Message {
	moves := m.MovesOf(cf)
	i := sort.Search(len(moves), func(i int) bool { return moves[i].at() >= from })
	end := i + sort.Search(len(moves)-i, func(k int) bool { return moves[i+k].at() > to })
	return moves[i:end]
}

// LastMove gives the last migration of a CF that a node received by t.
func (m *Model) LastMove(cf CF, node int32, t int64) (best *Message, ok bool) {
	moves := m.MovesWithin(cf, None, t)
	for i := len(moves) - 1; i >= 0; i-- {
		if g := &moves[i]; g.Received != None && g.To == node {
			return g, true
		}
	}
	return nil, false
}

// Label gives the indices of a CF's label.
func (m *Model) Label(cf CF) []int32 {
	at := m.labelAt[cf]
	if at == 0 {
		return nil
	}
	return m.labels[at : int32(at)+m.labels[at-1]]
}

// Weight gives the weight of a CF, 1 unless the program says otherwise.
func (m *Model) Weight(cf CF) float64 {
	if w, ok := m.weights[cf]; ok {
		return w
	}
	return 1
}

// DFNameOf gives the name of a DF without indices, "" for no DF.
func (m *Model) DFNameOf(df DF) string { return m.Names[m.DFName[df]] }

// Indices gives the indices of a DF, appended to dst: 3 and 0 of x[3][0].
func (m *Model) Indices(df DF, dst []int64) []int64 {
	n := len(dst)
	dst = m.AppendIdentity(dst, df)
	// The creating node and the number of the name come first.
	return slices.Delete(dst, n, min(n+2, len(dst)))
}

// DFString gives the name of a DF with its indices: "x[3][0]".
func (m *Model) DFString(df DF) string {
	var space [8]int64
	return indexed(m.DFNameOf(df), m.Indices(df, space[:0]))
}

func indexed[T int32 | int64](name string, indices []T) string {
	text := append(make([]byte, 0, 32), name...)
	for _, i := range indices {
		text = append(strconv.AppendInt(append(text, '['), int64(i), 10), ']')
	}
	return string(text)
}

// CFTitle gives the label or code fragment of a CF and its indices: "mult[1][2]"; "" for no CF.
func (m *Model) CFTitle(cf CF) string {
	if cf == 0 {
		return ""
	}
	site := &m.Sites[m.SiteOf[cf]]
	return indexed(cmp.Or(site.Label, m.Codes[site.Code].Name), m.Label(cf))
}

// CFString gives the label or code fragment of a CF, its indices, and its id: "mult[1][2] (0.17)".
func (m *Model) CFString(cf CF) string { return m.CFTitle(cf) + " (" + m.CFID(cf).String() + ")" }

// WasReadyTwice tells whether a CF became ready more than once.
func (m *Model) WasReadyTwice(cf CF) bool { return len(m.readyMore[cf]) > 0 }

// HasInputs tells whether any execution was given a DF.
func (m *Model) HasInputs() bool { return len(m.inputs) > 0 }

// HasRequests tells whether any DF was sent because it was requested.
func (m *Model) HasRequests() bool {
	return slices.ContainsFunc(m.DFMessages, func(g Message) bool { return g.Request != 0 })
}

// UsesForeign tells whether some atomic CF was given a DF that was created on another node only.
func (m *Model) UsesForeign() bool {
	for n := range m.Nodes {
		if !m.Own(n) {
			continue
		}
		for _, w := range m.Nodes[n].Workers {
			for e := w.First; e < w.End; e++ {
				for _, df := range m.Inputs(e) {
					if m.MadeFrom[df] == m.MadeFrom[df+1] {
						continue
					}
					if _, here := m.CreationAt(df, int32(n), math.MaxInt64); !here && m.Atomic(m.ExecCF[e]) {
						return true
					}
				}
			}
		}
	}
	return false
}

// RepeatedReceipts calls f with the place in DFMessages of every message that brought a DF to a node, an own
// one, that had received it before.
func (m *Model) RepeatedReceipts(f func(message uint32)) {
	for n := range m.received {
		r := &m.received[n]
		if !m.Own(n) {
			continue
		}
		for i := 1; i < len(r.df); i++ {
			if r.df[i] == r.df[i-1] && r.df[i] != 0 {
				f(r.message[i])
			}
		}
	}
}
