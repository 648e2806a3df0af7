package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/analysis/pattern"
)

// pgasSection is what the search for patterns found: the three columns that users of Cube know, and tables.
func (h *htmlFace) pgasSection() (out []block) {
	p := newPGAS(h.Pattern, h.speaker)
	if p == nil {
		for _, f := range h.Failed {
			if f.Analysis == analysisPatterns {
				return []block{h.failed(analysisPatterns)}
			}
		}
		return nil
	}
	out = append(out,
		h.para("The time of %s in three trees: spent on what, at which call path, by which thread. Choose a "+
			"metric or a call path to see its spread over the columns to the right. A metric contains those below it.",
			counted(int64(len(p.Threads)), "thread")))
	out = append(out, block{Cube: newCube(p)})
	if h.SLOU != nil {
		if s := h.parallel(h.SLOU); s != "" {
			out = append(out, h.para("Parallel efficiency: %s (mean work over most, and most over all time).", s))
		}
	}
	if s := p.imbalance(); s != "" {
		out = append(out, h.para("Imbalance: %s.", s))
	}
	for _, g := range []*grid{p.lossGrid(), p.lateGrid(), p.threadGrid(), p.imbalanceGrid(), p.lockGrid(),
		p.blockGrid(), p.collectiveGrid(), p.transferGrid(), p.readingGrid()} {
		if len(g.Rows) > 0 {
			out = append(out, block{Table: g})
		}
	}
	for _, s := range p.Problems {
		out = append(out, block{Warning: sentence(s)})
	}
	return out
}

func (p *pgas) lossGrid() *grid {
	g := p.grid("Losses by pattern and call path", "pattern", "call path", "#lost",
		"#share|of all threads' time", "latest", "meanwhile it")
	for _, l := range p.losses() {
		if g.small(l.ns, p.total[0]) {
			continue
		}
		name := word(p.Metrics[l.metric].Name)
		name.Tip = p.Metrics[l.metric].Doc
		late, doing := word(""), word("")
		if l.late != nil {
			late = word(p.say("thread %s, %s", p.threadName(l.late.Thread), counted(l.late.Count, "time")))
			doing = word(p.doing(l.late))
		}
		g.row(name, word(p.callPath(l.call)), timeCell(l.ns), shareCell(l.ns, p.total[0]), late, doing)
	}
	return g
}

// doing lists where a late thread was, with shares.
func (p *pgas) doing(l *pattern.Late) string {
	all := int64(0)
	for _, d := range l.Doing {
		all += d.NS
	}
	var list []string
	for i, d := range l.Doing {
		if i == 3 || d.NS*20 < all {
			break
		}
		list = append(list, fmt.Sprintf("%s %s", p.callName(d.Call), p.lang.Percent(d.NS, all)))
	}
	return strings.Join(list, "; ")
}

func (p *pgas) lateGrid() *grid {
	g := p.grid("Who was late", "thread", "pattern", "call path of those who waited", "#they lost", "#times",
		"meanwhile it")
	for i := range p.Late {
		l := &p.Late[i]
		if g.small(l.NS, p.total[0]) {
			continue
		}
		g.row(word(p.threadName(l.Thread)), word(p.Metrics[l.Metric].Name), word(p.callPath(l.Call)),
			timeCell(l.NS), number(l.Count), word(p.doing(l)))
	}
	return g
}

func (p *pgas) threadGrid() *grid {
	heads := []string{"thread", "host", "#time"}
	for _, c := range threadTime {
		heads = append(heads, "#"+c.title+"|"+c.tip)
	}
	g := p.grid("Threads", append(heads, "#waited|in patterns; part of the columns before",
		"#calls|calls of run-time operations", "#syncs|of them barriers, collectives, locks, completions and waits",
		"#puts", "#gets", "#atomics", "#sent", "#received")...)
	for i := range p.Threads {
		t := &p.Threads[i]
		row := []cell{{Text: p.threadName(i), Value: fmt.Sprint(i)}, word(t.Host), timeCell(p.byThread[0][i])}
		for _, c := range threadTime {
			row = append(row, timeCell(p.ofThread(c.metric, i)))
		}
		g.row(append(row, timeCell(p.waited(i)), number(t.Calls), number(t.Syncs), number(t.Puts), number(t.Gets),
			number(t.Atomics), sizeCell(t.Sent), sizeCell(t.Received))...)
	}
	return g
}

func (p *pgas) imbalanceGrid() *grid {
	g := p.grid("Imbalance: time of threads above and below the mean of those that visit a call path",
		"call path", "#above|what balancing could save, at most", "#below", "thread most above", "#by",
		"thread most below", "#by")
	over, under := p.metric("overload"), p.metric("underload")
	if over < 0 || under < 0 {
		return g
	}
	rowOf := func(metric, call int) []int64 {
		for _, row := range p.Metrics[metric].Rows {
			if row.Call == call {
				return row.Values
			}
		}
		return make([]int64, len(p.Threads))
	}
	for _, call := range largest(p.byCall[over]) {
		ns := p.byCall[over][call]
		if ns == 0 || g.small(ns, p.total[0]) {
			continue
		}
		o, u := rowOf(over, call), rowOf(under, call)
		most, least := largest(o)[0], largest(u)[0]
		g.row(word(p.callPath(call)), timeCell(ns), timeCell(p.byCall[under][call]), word(p.threadName(most)),
			timeCell(o[most]), word(p.threadName(least)), timeCell(u[least]))
	}
	return g
}

func (p *pgas) lockGrid() *grid {
	g := p.grid("Locks", "lock", "#acquired", "#after waiting", "#waited", "#held|on average", "#longest hold",
		"#handover|from a release until a waiting thread has it, on average", "#waiting at once")
	for i := range p.Locks {
		l := &p.Locks[i]
		g.row(word(lockName(l)), number(l.Acquired), number(l.Contended), timeCell(l.WaitNS),
			timeCell(l.HoldNS/max(l.Acquired, 1)), timeCell(l.LongestNS),
			timeCell(l.HandoverNS/max(l.Contended, 1)), number(l.Chain))
	}
	return g
}

func (p *pgas) blockGrid() *grid {
	g := p.grid("Who waited for whose lock", "lock", "thread", "waited for thread", "#time", "#times")
	for i := range p.Locks {
		for _, b := range p.Locks[i].Blocks {
			g.row(word(lockName(&p.Locks[i])), word(p.threadName(b.Waiter)), word(p.threadName(b.Owner)),
				timeCell(b.NS), number(b.Count))
		}
	}
	return g
}

func (p *pgas) collectiveGrid() *grid {
	heads := []string{"call path", "kind", "#times", "#bytes", "#time|of all threads", "#before all entered",
		"#at the end"}
	modes := slices.ContainsFunc(p.Collectives, func(c pattern.Collective) bool { return c.Sync != "" })
	if modes {
		heads = append(heads, "modes", "#IN_MYSYNC saves|at most: waits that only IN_ALLSYNC asks for",
			"#after a barrier|calls right before which every member had left a barrier")
	}
	g := p.grid("Collectives and barriers", heads...)
	for i := range p.Collectives {
		c := &p.Collectives[i]
		row := []cell{word(p.callPath(c.Call)), word(c.Kind), number(c.Count), sizeCell(c.Bytes), timeCell(c.NS),
			timeCell(c.EntryNS), timeCell(c.ExitNS)}
		if modes {
			saves := none()
			if c.Sync != "" {
				saves = timeCell(c.AllSyncNS)
			}
			row = append(row, word(syncWords(c.Sync)), saves, number(c.AfterBarrier))
		}
		g.row(row...)
	}
	return g
}

func (p *pgas) transferGrid() *grid {
	g := p.grid("Blocking transfers", "call path", "#times", "#bytes", "#time", "#each",
		"#runs|sequences without anything else between them",
		"#overlap saves|at most, with all of a run in flight at once")
	for i := range p.Transfers {
		x := &p.Transfers[i]
		g.row(word(p.callPath(x.Call)), number(x.Count), sizeCell(x.Bytes), timeCell(x.NS),
			timeCell(x.NS/max(x.Count, 1)), number(x.Runs), timeCell(x.OverlapNS))
	}
	return g
}

// readingGrid are the metrics that are no part of all time: other definitions, and counts.
func (p *pgas) readingGrid() *grid {
	g := p.grid("Other definitions of the same time, beside the sum", "metric", "instead of", "#time",
		"how it is computed")
	for i := range p.Metrics {
		m := &p.Metrics[i]
		if m.Reading == "" || p.total[i] == 0 {
			continue
		}
		of := m.Reading
		if at := p.metric(m.Reading); at >= 0 {
			of = p.Metrics[at].Name
		}
		g.row(word(m.Name), word(of), cell{Text: p.amount(p.total[i], m.Unit), Value: fmt.Sprint(p.total[i])},
			word(m.Doc))
	}
	return g
}
