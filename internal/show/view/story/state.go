package story

import (
	"github.com/whyslow/whyslow/internal/model"
)

// Where a CF stands at the end of what was recorded.
const (
	waiting  = "waiting"
	ready    = "ready"
	running  = "running"
	finished = "finished"
	moving   = "moving"
)

// stand tells where a CF stands at the end, and of one that waits its last wait: an index into Model.Awaits, -1 where nobody
// has looked at what it needs. It reads the events as internal/analysis/lifecycle does.
func (w *teller) stand(cf model.CF) (state string, await int) {
	m := w.m
	await = -1
	for _, i := range w.t.Awaits(cf) {
		if await < 0 || m.Awaits.Time[i] >= m.Awaits.Time[await] {
			await = int(i)
		}
	}
	start, end := model.None, model.None
	e := m.ExecOf[cf]
	if e != 0 {
		start, end = m.ExecStart[e-1], m.ExecEnd[e-1]
		if end == model.None {
			return running, -1
		}
	}
	readied, waited := m.Ready[cf], model.None
	if readied <= start {
		readied = model.None // that was for the execution
	}
	if await >= 0 && m.Awaits.Time[await] >= end {
		waited = m.Awaits.Time[await]
	} else {
		await = -1
	}
	moves := m.MovesOf(cf)
	switch n := len(moves); {
	case n > 0 && moves[n-1].Received == model.None && moves[n-1].Sent >= max(end, waited, readied):
		return moving, -1
	case readied != model.None && readied >= max(waited, end):
		return ready, -1
	case waited != model.None:
		return waiting, await
	case e == 0:
		return waiting, -1
	}
	return finished, -1
}

// nodeOf gives the node where a CF is at the end: where it was executed last, or came to, or was created.
func (w *teller) nodeOf(cf model.CF) int {
	m := w.m
	node, at := m.CFID(cf).Node(), model.None
	if e := m.ExecOf[cf]; e != 0 {
		if id, ok := m.WorkerIDOf(int(e - 1)); ok {
			node, at = id.Node, m.ExecStart[e-1]
		}
	}
	for _, g := range m.MovesOf(cf) {
		if g.Received != model.None && g.Received >= at {
			node, at = int(g.To), g.Received
		}
	}
	return node
}

// unfinished tells what a CF that has something left to do is held up by.
func (w *teller) unfinished(cf model.CF, state string, await int) {
	m := w.m
	node := w.nodeOf(cf)
	switch state {
	case ready:
		w.say(m.End, node, 0, 0, neverStarted)
	case moving:
		moves := m.MovesOf(cf)
		w.say(m.End, int(moves[len(moves)-1].From), 0, 0, onItsWay, moves[len(moves)-1].To)
	case waiting:
		if await < 0 {
			w.say(m.End, node, 0, 0, notLookedAt)
			return
		}
		for i, df := range m.Awaits.Of(await) {
			if i == statesShown {
				break
			}
			if df != 0 {
				w.awaited(cf, node, df, m.Awaits.Time[await])
			}
		}
	}
}

// awaited tells why a DF that a CF waits for at a node since some time has not come.
func (w *teller) awaited(cf model.CF, node int, df model.DF, since int64) {
	m := w.m
	name := m.DFString(df)
	i, made := m.Creation(df, m.End)
	if !made {
		if by, sure := w.t.Makers().Of(cf, df); by != 0 {
			text := waitsMay
			if sure {
				text = waitsWould
			}
			w.say(m.End, node, by, df, text, name, m.CFString(by))
			return
		}
		if makers := w.makers(df); makers != "" {
			w.say(m.End, node, 0, df, waitsMakers, name, makers)
		} else {
			w.say(m.End, node, 0, df, waitsNotMade, name)
		}
		return
	}
	if int(m.MadeNode[i]) == node && m.MadeTime[i] >= since {
		return // it came since
	}
	if g, ok := m.LastReceipt(df, int32(node), m.End); ok && m.DFMessages[g].Received >= since {
		return
	}
	by := m.MadeBy[i]
	for _, g := range w.t.Messages(df) {
		if x := &m.DFMessages[g]; x.Received == model.None && int(x.To) == node {
			w.say(m.End, node, by, df, waitsComing, name, node)
			return
		}
	}
	who := w.who(by)
	for _, k := range w.t.Copies(df) {
		if c := &m.Copies[k]; (c.What == model.CopyExpired || c.What == model.CopyDeleted) && c.Time >= m.MadeTime[i] {
			w.say(m.End, node, by, df, waitsGone, name, who, c.Node)
			return
		}
	}
	w.say(m.End, node, by, df, waitsMade, name, who, m.MadeNode[i])
}

// makers names the statements whose CFs made DFs of the same name; "" for none.
func (w *teller) makers(df model.DF) string {
	m := w.m
	var sites []uint32
	seen := map[uint32]bool{}
	for other := model.DF(1); int(other) < m.DFs(); other++ {
		if m.DFName[other] != m.DFName[df] {
			continue
		}
		first, end := m.Creations(other)
		for i := first; i < end; i++ {
			if site := m.SiteOf[m.MadeBy[i]]; m.MadeBy[i] != 0 && !seen[site] {
				seen[site] = true
				sites = append(sites, site)
			}
		}
	}
	return w.list(len(sites), func(i int) string { return w.statement(sites[i]) })
}

// statement is "add(sum[i], part[i]) at wrong.fa:16".
func (w *teller) statement(site uint32) string {
	s := w.m.Sites[site].Text
	if s == "" {
		s = w.m.Codes[w.m.Sites[site].Code].Name
	}
	if p := w.place(site); p != "" {
		s += " (" + p + ")"
	}
	return s
}

// who names a CF, "?" where it is not known.
func (w *teller) who(cf model.CF) string {
	if cf == 0 {
		return "?"
	}
	return w.m.CFString(cf)
}
