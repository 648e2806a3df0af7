package timeline

import (
	"cmp"
	"slices"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
)

// waits returns everything that a CF waited for: an arrow from the producer of each input to each execution
// that received it, the messages that carried inputs, the requests for them, and the migrations of the CF
// itself.
func (t *Timeline) waits(key string, most int) (*Arrows, error) {
	cf, err := t.FindCF(key)
	if err != nil {
		return nil, err
	}
	m := t.m
	out := &Arrows{Arrows: []Arrow{}}
	add := func(a Arrow) {
		if !slices.Contains(out.Arrows, a) {
			out.Arrows = append(out.Arrows, a)
		}
	}
	// Every arrow is compared with the others, so the list is cut if a CF waited for very much.
	enough := func() bool { return len(out.Arrows) >= most }
	for e := range m.ExecutionsOf(cf) {
		for i, df := range m.Inputs(e) {
			if enough() {
				out.More += len(m.Inputs(e)) - i
				break
			}
			add(t.wait(e, df))
			_, node := m.WorkerOf(e)
			for _, g := range t.Way(df, node, m.ExecStart[e]) {
				add(t.arrow(aDF, &m.DFMessages[g]))
				if r := m.DFMessages[g].Request; r != 0 && int(r) < len(m.Requests) && m.Requests[r].Recorded() {
					add(t.arrow(aRequest, &m.Requests[r]))
				}
			}
		}
	}
	// Still waiting for.
	if awaits := t.m.AwaitsOf(cf); len(awaits) > 0 {
		for _, df := range m.Awaits.Of(int(awaits[len(awaits)-1])) {
			for _, r := range t.m.RequestsOf(df) {
				if m.Requests[r].CF == cf && !enough() {
					add(t.arrow(aRequest, &m.Requests[r]))
				}
			}
		}
	}
	moves := m.MovesOf(cf)
	for i := range moves {
		add(t.arrow(aCF, &moves[i]))
	}
	slices.SortStableFunc(out.Arrows,
		func(a, b Arrow) int { return cmp.Or(cmp.Compare(a.T0, b.T0), cmp.Compare(a.T1, b.T1)) })
	if n := len(out.Arrows); n > most {
		out.More, out.Arrows = out.More+n-most, out.Arrows[:most]
	}
	return out, nil
}

// wait is the arrow from the producer of an input to an execution that received it.
func (t *Timeline) wait(e int, df model.DF) Arrow {
	m := t.m
	start := m.ExecStart[e]
	a := Arrow{Kind: "wait", T1: t.at(start), FromLane: -1, ToLane: t.LaneOf(e), FromNode: -1, ToNode: -1,
		What: m.DFString(df), DF: t.m.DFKey(df), Consumer: t.CFKey(m.ExecCF[e])}
	if a.ToLane >= 0 {
		a.ToNode = t.lanes[a.ToLane].id.Node
	}
	a.T0 = a.T1
	if s := t.look().Made(df, start); s.Known {
		a.T0 = t.at(s.End)
	}
	if i, ok := m.Creation(df, start); ok {
		a.FromNode, a.Bytes, a.Producer = int(m.MadeNode[i]), m.SizeMade(i), t.CFKey(m.MadeBy[i])
		a.FromLane = t.maker(i, int32(m.MadeNode[i]))
	}
	if a.FromNode >= 0 && a.ToNode >= 0 && a.FromNode != a.ToNode {
		a.Link = slou.Link{From: int32(a.FromNode), To: int32(a.ToNode)}.String()
	}
	return a
}

// maxHops ends a route that a damaged trace makes circular.
const maxHops = 64

// Way returns the messages that carried a DF to a node by a time, last first, as indices into
// model.Model.DFMessages. It goes back to the node that produced the DF, or as far as was recorded.
func (t *Timeline) Way(df model.DF, node int32, at int64) (out []uint32) {
	m := t.m
	for len(out) < maxHops {
		g, ok := m.LastReceipt(df, node, at)
		if !ok {
			return out
		}
		r := m.DFMessages[g].Received
		if made, ok := m.CreationAt(df, node, at); ok && made >= r {
			return out
		}
		out = append(out, g)
		if m.DFMessages[g].Sent == model.None {
			return out
		}
		node, at = m.DFMessages[g].From, min(m.DFMessages[g].Sent, r)
	}
	return out
}
