package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/analysis/advise"
	"github.com/whyslow/whyslow/internal/words"
)

// The PGAS part of the terminal face: what fits on a screen. All of it is in the page, and below with
// Options.Full.

const (
	treeRows   = 10 // metrics: all time and its parts, and those with most time
	lossRows   = 4
	threadRows = 4
	rare       = 0.0005 // what has less of all time is not worth a line
)

func (t *terminal) pgas() {
	p := newPGAS(t.all.Pattern, speaker{})
	if p == nil {
		return
	}
	if !t.all.onlyRegions() {
		t.losses(p)
		return
	}
	t.metricTree(p)
	t.losses(p)
	t.threads(p)
	t.pgasOutline(p)
}

func (t *terminal) metricTree(p *pgas) {
	all := p.total[0]
	width := min(t.opt.Width-60, 20)
	tab := t.table(2, 3, "metric", "time", "share", "")
	shown := map[int]bool{}
	left := 0
	// so that what is not shown is a part of something that is
	first := append([]int{0}, p.children[0]...)
	for _, i := range append(first, largest(p.total)...) { // what is above one has at least as much
		if shown[i] || !p.inTime(i) || float64(p.total[i]) < rare*float64(all) {
			continue
		}
		if len(shown) == treeRows {
			left++
			continue
		}
		shown[i] = true
	}
	for i := range p.Metrics {
		if !shown[i] {
			continue
		}
		bar := ""
		colour := "dim"
		if isWait(&p.Metrics[i]) {
			colour = "W"
		}
		if width > 5 && i > 0 {
			bar = t.paint(colour, barOf(p.total[i], all, width))
		}
		tab.row(t.clip(strings.Repeat("  ", p.depth(i))+p.Metrics[i].Name, t.opt.Width-22),
			words.Duration(p.total[i]), words.Percent(p.total[i], all), bar)
	}
	t.title("Where the threads' time went, of the time between their first and last events")
	t.render(tab)
	if left > 0 && !t.opt.Full {
		t.printf("%d more: whyslow report --full\n", left)
	}
	t.printf("\n")
}

func (t *terminal) losses(p *pgas) {
	list := slices.DeleteFunc(p.losses(), func(l loss) bool { return float64(l.ns) < rare*float64(p.total[0]) })
	if len(list) == 0 {
		return
	}
	t.title("What was lost most")
	tab := t.table(1, 2, "lost", "share", "pattern", "where", "late")
	list, left := list[:min(len(list), lossRows)], len(list)-lossRows
	late := func(l *loss) string {
		if l.late == nil {
			return ""
		}
		return "thread " + p.threadName(l.late.Thread)
	}
	most := min(20, t.opt.Width/4) // columns of a pattern's name
	name, last := 0, len("late")
	for i := range list {
		name, last = max(name, len(p.Metrics[list[i].metric].Name)), max(last, len(late(&list[i])))
	}
	name = min(name, most)
	for i := range list {
		l := &list[i]
		tab.row(words.Duration(l.ns), words.Percent(l.ns, p.total[0]), t.clip(p.Metrics[l.metric].Name, name),
			t.clipPath(p.callPath(l.call), t.opt.Width-22-name-last), late(l))
	}
	t.render(tab)
	if left > 0 && !t.opt.Full {
		t.printf("%d more: whyslow report --full\n", left)
	}
	t.printf("\n")
}

// clipPath leaves out what a call path begins with, where it is too long: "… > rank > upc_barrier (is.c:12)".
func (t *terminal) clipPath(s string, width int) string {
	s, width = printable(s), max(width, 16)
	if len([]rune(s)) <= width {
		return s
	}
	for rest := s; ; {
		_, after, more := strings.Cut(rest, " > ")
		if !more {
			return t.clipLeft(s, width)
		}
		if short := "… > " + after; len([]rune(short)) <= width {
			return short
		}
		rest = after
	}
}

// clipLeft is clip that keeps the end, which says more of a call path.
func (t *terminal) clipLeft(s string, width int) string {
	r := []rune(printable(s))
	width = max(width, 16)
	if len(r) <= width {
		return string(r)
	}
	return "…" + string(r[len(r)-width+1:])
}

func (t *terminal) threads(p *pgas) {
	type column struct {
		title string
		width int
		text  func(thread int) string
	}
	list := []column{{"thread", 6, p.threadName}}
	share := func(metric string) func(int) string {
		return func(i int) string { return words.Percent(p.ofThread(metric, i), p.byThread[0][i]) }
	}
	list = append(list, column{"time", 9, func(i int) string { return words.Duration(p.byThread[0][i]) }})
	for _, c := range threadTime {
		list = append(list, column{c.title, 7, share(c.metric)})
	}
	list = append(list, column{"waited", 7, func(i int) string {
		return words.Percent(p.waited(i), p.byThread[0][i])
	}},
		column{"calls", 7, func(i int) string { return fmt.Sprint(p.Threads[i].Calls) }},
		column{"sent", 8, func(i int) string { return words.Bytes(p.Threads[i].Sent) }},
		column{"received", 8, func(i int) string { return words.Bytes(p.Threads[i].Received) }},
		column{"syncs", 7, func(i int) string { return fmt.Sprint(p.Threads[i].Syncs) }},
		column{"puts", 7, func(i int) string { return fmt.Sprint(p.Threads[i].Puts) }},
		column{"gets", 7, func(i int) string { return fmt.Sprint(p.Threads[i].Gets) }},
		column{"atomics", 7, func(i int) string { return fmt.Sprint(p.Threads[i].Atomics) }})
	room := t.opt.Width
	n := 0
	for n < len(list) && room >= list[n].width {
		room -= list[n].width + 2
		n++
	}
	list = list[:n]
	var heads []string
	for _, c := range list {
		heads = append(heads, c.title)
	}
	tab := t.table(2, len(list), heads...)
	// The threads that waited least and most say most.
	order := make([]int64, len(p.Threads))
	for i := range order {
		order[i] = p.waited(i)
	}
	ends := largest(order)
	if n := len(ends); n > threadRows {
		ends = append(ends[:threadRows/2:threadRows/2], ends[n-threadRows/2:]...)
	}
	slices.Sort(ends)
	for _, i := range ends {
		var row []any
		for _, c := range list {
			row = append(row, c.text(i))
		}
		tab.row(row...)
	}
	t.title("Threads")
	t.render(tab)
	switch more := len(p.Threads) - threadRows; {
	case more > 0 && t.opt.Full:
		t.printf("Those that waited most and least; all are below.\n")
	case more > 0:
		t.printf("Those that waited most and least; %d more: whyslow report --full\n", more)
	}
	t.printf("\n")
}

// pgasOutline are a line each on balance, locks, collectives and transfers.
func (t *terminal) pgasOutline(p *pgas) {
	line := func(head, s string) {
		if s != "" {
			t.paragraph(t.paint("bold", fmt.Sprintf("%-14s", head)), s+".")
		}
	}
	if t.res != nil {
		line("Efficiency", p.parallel(t.res))
	}
	line("Program", t.programWords())
	// What to change says the same with more words.
	for _, l := range []struct {
		head, words string
		advice      []string
	}{{"Imbalance", p.imbalance(), []string{"late-thread"}}, {"Locks", p.lockWords(),
		[]string{"lock-contention"}}, {"Collectives", p.collectiveWords(), []string{"relax-entry", "proven-entry"}},
		{"Transfers", p.transferWords(), []string{"overlap"}}} {
		if !slices.ContainsFunc(t.all.Advice[:min(len(t.all.Advice), maxAdvice)], func(a advise.Advice) bool {
			return slices.Contains(l.advice, a.ID)
		}) {
			line(l.head, l.words)
		}
	}
}

// programWords name the functions that the program spends most of its own time in.
func (t *terminal) programWords() string {
	if t.res == nil || len(t.res.Fragments) < 2 {
		return "" // the tree of metrics says it
	}
	var list []string
	for i := range t.res.Fragments[:min(len(t.res.Fragments), 4)] {
		f := &t.res.Fragments[i]
		list = append(list, fmt.Sprintf("%s %s (%s)", f.Code, words.Percent(f.UsefulNS, t.res.TotalNS),
			words.Count(f.Count, "call")))
	}
	return strings.Join(list, ", ")
}

// lockWords sum up the lock that was waited for longest.
func (p *pgas) lockWords() string {
	if len(p.Locks) == 0 {
		return ""
	}
	l := &p.Locks[0]
	s := words.Count(int64(len(p.Locks)), "lock")
	if l.WaitNS == 0 {
		return s + ", none waited for"
	}
	s += fmt.Sprintf("; %s was taken %s and waited for %s, held for %s on average, %s at most", lockName(l),
		words.Count(l.Acquired, "time"),
		words.Duration(l.WaitNS), words.Duration(l.HoldNS/max(l.Acquired, 1)), words.Duration(l.LongestNS))
	if len(l.Blocks) > 0 {
		b := &l.Blocks[0]
		s += fmt.Sprintf("; thread %s waited longest for thread %s, %s", p.threadName(b.Waiter),
			p.threadName(b.Owner), words.Duration(b.NS))
	}
	return s
}

// collectiveWords sum up the collective that costs most at its entry.
func (p *pgas) collectiveWords() string {
	best := -1
	calls := int64(0)
	for i := range p.Collectives {
		c := &p.Collectives[i]
		calls += c.Count
		if best < 0 || c.EntryNS+c.ExitNS > p.Collectives[best].EntryNS+p.Collectives[best].ExitNS {
			best = i
		}
	}
	if best < 0 {
		return ""
	}
	c := &p.Collectives[best]
	s := fmt.Sprintf("%s; %s took %s, of which %s before all had entered", words.Count(calls, "call"),
		p.callPath(c.Call), words.Duration(c.NS), words.Duration(c.EntryNS))
	if c.Sync != "" {
		s += ", with " + syncWords(c.Sync)
	}
	if c.AllSyncNS > 0 {
		s += fmt.Sprintf("; IN_MYSYNC would save up to %s", words.Duration(c.AllSyncNS))
	}
	return s
}

// transferWords sum up the call path with the longest transfers.
func (p *pgas) transferWords() string {
	if len(p.Transfers) == 0 {
		return ""
	}
	var n, size, ns int64
	for i := range p.Transfers {
		n, size, ns = n+p.Transfers[i].Count, size+p.Transfers[i].Bytes, ns+p.Transfers[i].NS
	}
	f := &p.Transfers[0]
	s := fmt.Sprintf("%s of %s in %s; longest in %s: %s", words.Count(n, "blocking transfer"), words.Bytes(size),
		words.Duration(ns), p.callPath(f.Call), words.Duration(f.NS))
	if f.Runs > 0 {
		s += fmt.Sprintf(", %s in a row; under way at once they would take up to %s less",
			words.Count(f.Runs, "run"), words.Duration(f.OverlapNS))
	}
	return s
}
