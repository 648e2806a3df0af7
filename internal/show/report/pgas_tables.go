package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/analysis/advise"
	"github.com/whyslow/whyslow/internal/analysis/pattern"
	"github.com/whyslow/whyslow/internal/words"
)

// pgas is what the search for patterns found: the three columns that users of Cube know, tables, and a line
// each on balance, locks, collectives and transfers.
func (a *author) pgas() {
	p := newPGAS(a)
	if p == nil {
		if a.failure(analysisPatterns) != nil {
			a.failed(analysisPatterns)
		}
		return
	}
	a.para("The time of %s in three trees: spent on what, at which call path, by which thread. Choose a metric "+
		"or a call path to see its spread over the columns to the right. A metric contains those below it.",
		counted(int64(len(p.Threads)), "thread")).In = paper
	b := a.add(block{Cube: p.newCube()}) // the short form has some of the first column
	if p.onlyRegions() {
		b.In = everywhere
	}
	p.lossTable()
	p.threadTable()
	p.outline()
	p.lateTable()
	p.causeTable()
	p.imbalanceTable()
	p.lockTables()
	p.collectiveTable()
	p.transferTable()
	p.readingTable()
}

// What the short form leaves out of a run without CFs.
const (
	treeRows   = 10 // metrics: all time and its parts, and those with most time
	lossRows   = 4
	threadRows = 4
	rare       = 0.0005 // what has less of all time is not worth a line
)

// treeShown are the metrics of the short form: what is not among them is a part of something that is. Left is
// how many there are beside them.
func (p *pgas) treeShown() (shown map[int]bool, left int) {
	shown = map[int]bool{}
	order := []int{0}
	for i := range p.Metrics {
		if p.Metrics[i].Parent == 0 {
			order = append(order, i)
		}
	}
	for _, i := range append(order, largest(p.total)...) { // what is above one has at least as much
		switch {
		case shown[i] || !p.inTime(i) || float64(p.total[i]) < rare*float64(p.total[0]):
		case len(shown) == treeRows:
			left++
		default:
			shown[i] = true
		}
	}
	return shown, left
}

func (p *pgas) lossTable() {
	g := p.table("What was lost most", "#lost", "#share|of all threads' time", "pattern", "where", "late",
		"#+times|how often it was the last", "+what it was doing")
	g.In = everywhere
	for i, l := range p.losses() {
		if g.small(l.ns, p.total[0]) {
			continue
		}
		name := word(p.Metrics[l.metric].Name)
		name.Tip = p.Metrics[l.metric].Doc
		where := word(p.callPath(l.call))
		where.Path = true
		row := []any{words.Time(l.ns), shareOf(l.ns, p.total[0]), name, where, "", "", ""}
		if l.late != nil {
			row[4], row[5], row[6] = p.say("thread %s", p.threadName(l.late.Thread)), l.late.Count, p.doing(l.late)
		}
		line := g.row(row...)
		if float64(l.ns) < rare*float64(p.total[0]) {
			line.In = full | paper
		} else if i >= lossRows {
			line.In = full | paper
			g.Left++
		}
	}
}

// doing lists where a late thread was, with shares.
func (p *pgas) doing(l *pattern.Late) string {
	all := int64(0)
	for _, d := range l.Doing {
		all += d.NS
	}
	var list []string
	for _, d := range l.Doing[:min(len(l.Doing), 3)] {
		if d.NS*20 >= all {
			list = append(list, fmt.Sprintf("%s %s", p.callName(d.Call), p.lang.Percent(d.NS, all)))
		}
	}
	return strings.Join(list, "; ")
}

func (p *pgas) lateTable() {
	g := p.table("Who was late", "thread", "pattern", "call path of those who waited", "#they lost", "#times",
		"what it was doing")
	for i := range p.Late {
		l := &p.Late[i]
		if !g.small(l.NS, p.total[0]) {
			g.row(p.threadName(l.Thread), p.Metrics[l.Metric].Name, p.callPath(l.Call), words.Time(l.NS), l.Count,
				p.doing(l))
		}
	}
}

// mostCauses is how many causes are listed.
const mostCauses = 20

// causeTable says whose doings the waiting was for in the end.
func (p *pgas) causeTable() {
	if p.ChainedNS == 0 {
		return // the table before says the same
	}
	g := p.table("Who caused the waiting, also through threads that waited themselves", "thread", "call path",
		"#others lost", "#share|of all threads' time")
	for i := range p.Causes[:min(len(p.Causes), mostCauses)] {
		if c := &p.Causes[i]; !g.small(c.NS, p.total[0]) {
			g.row(p.threadName(c.Thread), p.callPath(c.Call), words.Time(c.NS), shareOf(c.NS, p.total[0]))
		}
	}
}

// threadTable is about the threads; the short form has those that waited least and most, which say most.
func (p *pgas) threadTable() {
	g := p.table("Threads", "thread", "+host", "#time", "#program|outside of run-time operations",
		"#sync|barriers, locks, allocation, completion of transfers", "#comm|collectives and transfers",
		"#runtime|start, end and everything else", "#waited|in patterns; part of the columns before",
		"#calls|calls of run-time operations", "#sent", "#received",
		"#syncs|calls of barriers, collectives, locks, completions and waits", "#puts", "#gets", "#atomics",
		"#messages sent", "#messages received")
	if p.onlyRegions() {
		g.In = everywhere
	}
	waited := make([]int64, len(p.Threads))
	for i := range waited {
		waited[i] = p.waited(i)
	}
	order := largest(waited)
	for i, t := range p.Threads {
		all := p.byThread[0][i]
		share := func(id string) any {
			if k := p.metric(id); k >= 0 {
				return shareOf(p.byThread[k][i], all)
			}
			return shareOf(0, all)
		}
		l := g.row(number(int64(i), p.threadName(i)), t.Host, words.Time(all), share("program"),
			share("synchronisation"), share("communication"), share("runtime"), shareOf(waited[i], all), t.Calls,
			words.Size(t.Sent), words.Size(t.Received), t.Syncs, t.Puts, t.Gets, t.Atomics,
			t.Sends, t.Receives)
		if at := slices.Index(order, i); at >= threadRows/2 && at < len(order)-threadRows/2 {
			l.In = full | paper
			g.Left++
		}
	}
}

func (p *pgas) imbalanceTable() {
	g := p.table("Imbalance: time of threads above and below the mean of those that visit a call path",
		"call path", "#above|what balancing could save, at most", "#below", "thread most above", "#by",
		"thread most below", "#by")
	over, under := p.metric("overload"), p.metric("underload")
	if over < 0 || under < 0 {
		return
	}
	for _, call := range largest(p.byCall[over]) {
		ns := p.byCall[over][call]
		if ns == 0 || g.small(ns, p.total[0]) {
			continue
		}
		o, u := p.valuesAt(over, call), p.valuesAt(under, call)
		most, least := largest(o)[0], largest(u)[0]
		g.row(p.callPath(call), words.Time(ns), words.Time(p.byCall[under][call]), p.threadName(most),
			words.Time(o[most]), p.threadName(least), words.Time(u[least]))
	}
}

func (p *pgas) lockTables() {
	g := p.table("Locks", "lock", "#acquired", "#after waiting", "#waited", "#held|on average", "#longest hold",
		"#handover|from a release until a waiting thread has it, on average", "#waiting at once")
	for i := range p.Locks {
		l := &p.Locks[i]
		g.row(lockName(l), l.Acquired, l.Contended, words.Time(l.WaitNS), words.Time(mean(l.HoldNS, l.Acquired)),
			words.Time(l.LongestNS), words.Time(mean(l.HandoverNS, l.Contended)), l.Chain)
	}
	g = p.table("Who waited for whose lock", "lock", "thread", "waited for thread", "#time", "#times")
	for i := range p.Locks {
		for _, b := range p.Locks[i].Blocks {
			g.row(lockName(&p.Locks[i]), p.threadName(b.Waiter), p.threadName(b.Owner), words.Time(b.NS), b.Count)
		}
	}
}

func (p *pgas) collectiveTable() {
	heads := []string{"call path", "kind", "#times", "#bytes", "#time|of all threads", "#before all entered",
		"#at the end"}
	modes := slices.ContainsFunc(p.Collectives, func(c pattern.Collective) bool { return c.Sync != "" })
	if modes {
		heads = append(heads, "modes", "#IN_MYSYNC saves|upper bound: waits that only IN_ALLSYNC requires",
			"#after a barrier|calls that every member reached straight from a barrier")
	}
	g := p.table("Collectives and barriers", heads...)
	for _, c := range p.Collectives {
		row := []any{p.callPath(c.Call), p.named(collectiveNames, c.Kind), c.Count, words.Size(c.Bytes),
			words.Time(c.NS), words.Time(c.EntryNS), words.Time(c.ExitNS)}
		if modes {
			row = append(row, syncWords(c.Sync), nil, c.AfterBarrier)
		}
		if c.Sync != "" {
			row[8] = words.Time(c.AllSyncNS)
		}
		g.row(row...)
	}
}

func (p *pgas) transferTable() {
	g := p.table("Blocking transfers", "call path", "#times", "#bytes", "#time", "#each",
		"#runs|sequences with nothing else in between",
		"#overlap saves|upper bound, with all transfers of a sequence in flight at once")
	for _, x := range p.Transfers {
		g.row(p.callPath(x.Call), x.Count, words.Size(x.Bytes), words.Time(x.NS), words.Time(mean(x.NS, x.Count)),
			x.Runs, words.Time(x.OverlapNS))
	}
}

// readingTable has the metrics that are no part of all time: other definitions, and counts.
func (p *pgas) readingTable() {
	g := p.table("Other definitions of the same time, not in the sum", "metric", "instead of", "#time",
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
		g.row(m.Name, of, number(p.total[i], p.lang.Amount(p.total[i], string(m.Unit))), m.Doc)
	}
}

// outline are the lines about a run without CFs.
func (p *pgas) outline() {
	if !p.onlyRegions() {
		return
	}
	line := func(head, text string, advice ...string) {
		// What to change says the same with more words.
		said := slices.ContainsFunc(p.Advice[:min(len(p.Advice), maxAdvice)], func(x advise.Advice) bool {
			return slices.Contains(advice, x.ID)
		})
		if text == "" {
			return
		}
		p.line(head, text+".")
		if said {
			p.out[len(p.out)-1].In = full | paper
		}
	}
	if p.SLOU != nil {
		line("Efficiency", p.parallel(p.SLOU))
		line("Program", p.programWords())
	}
	line("Imbalance", p.imbalance(), "late-thread")
	line("Locks", p.lockWords(), "lock-contention")
	line("Collectives", p.collectiveWords(), "relax-entry", "proven-entry")
	line("Transfers", p.transferWords(), "overlap")
}

// programWords name the functions that the program spends most of its own time in.
func (p *pgas) programWords() string {
	if len(p.SLOU.Fragments) < 2 {
		return "" // the tree of metrics says it
	}
	var list []string
	for _, f := range p.SLOU.Fragments[:min(len(p.SLOU.Fragments), 4)] {
		list = append(list, fmt.Sprintf("%s %s (%s)", f.Code, p.lang.Percent(f.UsefulNS, p.SLOU.TotalNS),
			counted(f.Count, "call").In(p.lang)))
	}
	return strings.Join(list, ", ")
}

// lockWords sum up the lock that was waited for longest.
func (p *pgas) lockWords() string {
	if len(p.Locks) == 0 {
		return ""
	}
	l := &p.Locks[0]
	n := counted(int64(len(p.Locks)), "lock")
	if l.WaitNS == 0 {
		return p.say("%s, none waited for", n)
	}
	s := p.say("%s; %s was taken %s and waited for %s, held for %s on average, %s at most", n, lockName(l),
		counted(l.Acquired, "time"), words.Time(l.WaitNS), words.Time(mean(l.HoldNS, l.Acquired)),
		words.Time(l.LongestNS))
	if len(l.Blocks) > 0 {
		b := &l.Blocks[0]
		s += p.say("; thread %s waited longest for thread %s, %s", p.threadName(b.Waiter), p.threadName(b.Owner),
			words.Time(b.NS))
	}
	return s
}

// collectiveWords sum up the collective that costs most at its entry.
func (p *pgas) collectiveWords() string {
	if len(p.Collectives) == 0 {
		return ""
	}
	calls := int64(0)
	c := &p.Collectives[0]
	for i := range p.Collectives {
		x := &p.Collectives[i]
		calls += x.Count
		if x.EntryNS+x.ExitNS > c.EntryNS+c.ExitNS {
			c = x
		}
	}
	s := p.say("%s; %s took %s, of which %s before all had entered", counted(calls, "call"), p.callPath(c.Call),
		words.Time(c.NS), words.Time(c.EntryNS))
	if c.Sync != "" {
		s += p.say(", with %s", syncWords(c.Sync))
	}
	if c.AllSyncNS > 0 {
		s += p.say("; IN_MYSYNC would save up to %s", words.Time(c.AllSyncNS))
	}
	return s
}

// transferWords sum up the call path with the longest transfers.
func (p *pgas) transferWords() string {
	if len(p.Transfers) == 0 {
		return ""
	}
	var n, size, ns int64
	for _, x := range p.Transfers {
		n, size, ns = n+x.Count, size+x.Bytes, ns+x.NS
	}
	f := &p.Transfers[0]
	s := p.say("%s of %s in %s; longest in %s: %s", counted(n, "blocking transfer"), words.Size(size),
		words.Time(ns), p.callPath(f.Call), words.Time(f.NS))
	if f.Runs > 0 {
		s += p.say(", %s in a row; overlapped, they would take up to %s less", counted(f.Runs, "run"),
			words.Time(f.OverlapNS))
	}
	return s
}
