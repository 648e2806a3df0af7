package report

import (
	"fmt"
	"strings"

	"github.com/whyslow/whyslow/internal/analysis/critical"
	"github.com/whyslow/whyslow/internal/words"
)

// The short lines of the terminal face: factors over time, and what the other analyses found, one paragraph
// each.

// english is what the terminal speaks.
var english speaker

const (
	maxSpark = 60   // columns of a line over time
	seldom   = 0.01 // factors below this share of all time get no line
)

// overTime draws each factor as a line of blocks.
func (t *terminal) overTime() {
	w := t.res.Windows
	if w == nil || w.Count < 2 || t.all.Run.Workers == 0 {
		return
	}
	n := min(w.Count, maxSpark, max(t.opt.Width-30, 10))
	t.title(fmt.Sprintf("Over time: %d steps of about %s", n, words.Duration(t.res.WallNS/int64(n))))
	tab := t.table(3, 4, "", "", "least", "most")
	for i, s := range shares(&t.res.Factors) {
		f := factorNames[i]
		ns := w.Factor(w.Rows, w.NS, f.letter)
		if s == nil || ns == nil || float64(s.NS-s.Parts["extra"]) < seldom*float64(t.res.TotalNS) {
			continue
		}
		line, least, most := t.spark(ns, n)
		tab.row(t.paint(f.letter, f.letter), t.paint(f.letter, line), least, most)
	}
	t.render(tab)
	t.printf("\n")
}

// spark draws a factor in n columns; least and most are its shares in them.
func (t *terminal) spark(ns []int64, n int) (line, least, most string) {
	w := t.res.Windows
	low, high := 1.0, 0.0
	var s strings.Builder
	for i := range n {
		first, end := i*w.Count/n, (i+1)*w.Count/n
		from, _ := windowBounds(t.res, first)
		_, to := windowBounds(t.res, end-1)
		sum := int64(0)
		for _, v := range ns[first:end] {
			sum += v
		}
		v := float64(sum) / float64(max(to-from, 1)*int64(t.all.Run.Workers))
		low, high = min(low, v), max(high, v)
		s.WriteRune(block8(v))
	}
	return s.String(), fmt.Sprintf("%.0f %%", 100*low), fmt.Sprintf("%.0f %%", 100*high)
}

// block8 is a block as high as v, between 0 and 1.
func block8(v float64) rune {
	if v <= 0 {
		return ' '
	}
	return []rune("▁▂▃▄▅▆▇█")[min(int(v*8), 7)]
}

// outline writes the lines of the other analyses.
func (t *terminal) outline() {
	a := t.all
	line := func(head, s string) {
		t.paragraph(t.paint("bold", fmt.Sprintf("%-14s", head)), s)
	}
	if c := a.Critical; c != nil {
		if c.Path != nil {
			line("Critical path", pathLine(c.Path, c.WallNS))
		}
		if c.Work != nil {
			line("Parallelism", english.bounded(c.Work, c.WallNS))
		}
	}
	if b := a.Imbalance; b != nil && b.Efficiency != nil {
		line("Balance", english.evenness(b))
	}
	if s := a.Series; s != nil {
		if s.Memory != nil && s.Memory.Total.Bytes > 0 {
			line("Memory", english.inMemory(s.Memory)+".")
		}
		if s.Messages != nil && s.Messages.DFs+s.Messages.CFs > 0 {
			line("Traffic", english.traffic(s)+".")
		}
	}
	if l := a.Lifecycle; l != nil {
		if wrong := english.wrong(l); len(wrong) > 0 {
			t.paragraph(t.paint("S", fmt.Sprintf("%-14s", "Wrong")),
				strings.Join(wrong, "; ")+". See whyslow report --full.")
		}
	}
	t.printf("\n")
}

// pathLine sums up the critical path and the code fragments it spends most time in.
func pathLine(p *critical.Path, wall int64) string {
	s := fmt.Sprintf("%s in %s: %s", words.Duration(p.LengthNS), words.Count(p.CFs, "CF"),
		english.pathShares(p, wall))
	var most []string
	for i := range p.Fragments {
		if f := &p.Fragments[i]; f.Code != "" && len(most) < 3 && f.NS*20 >= wall {
			most = append(most, fmt.Sprintf("`%s` (%s)", f.Code, words.Percent(f.NS, wall)))
		}
	}
	if len(most) > 0 {
		s += "; most of it for " + english.listOf(most)
	}
	return s + "."
}
