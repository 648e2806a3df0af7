package story

import (
	"math"

	"github.com/whyslow/whyslow/internal/model"
)

// stand tells where a CF is at the end of what was recorded and, where it waits, its last wait: an index into
// Model.Awaits, -1 where nobody has looked at what it needs.
func (w *teller) stand(cf model.CF) (at model.Life, await int) {
	await, waited := w.m.LastAwait(cf, math.MaxInt64)
	at = w.m.LifeAt(cf, math.MaxInt64, waited)
	if at.State != model.CFWaiting || !at.Looked {
		await = -1
	}
	return at, await
}

// unfinished tells what a CF that has something left to do is held up by.
func (w *teller) unfinished(cf model.CF, at model.Life, await int) {
	m, node := w.m, int(at.Node)
	switch at.State {
	case model.CFReady:
		w.say(m.End, node, 0, 0, neverStarted)
	case model.CFMoving:
		moves := m.MovesOf(cf)
		w.say(m.End, int(moves[len(moves)-1].From), 0, 0, onItsWay, moves[len(moves)-1].To)
	case model.CFWaiting, model.CFAbsent:
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
	for _, g := range w.m.MessagesOf(df) {
		if x := &m.DFMessages[g]; x.Received == model.None && int(x.To) == node {
			w.say(m.End, node, by, df, waitsComing, name, node)
			return
		}
	}
	who := w.who(by)
	for _, k := range w.m.CopiesOf(df) {
		if c := &m.Copies[k]; (c.What == model.CopyExpired || c.What == model.CopyDeleted) &&
			c.Time >= m.MadeTime[i] {
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
