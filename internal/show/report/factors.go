package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/show/report/svg"
	"github.com/whyslow/whyslow/internal/words"
)

// factor is one of the five with its share of some time, which is nil where that is not known.
type factor struct {
	*words.Factor
	*slou.Share
}

func factorsOf(f *slou.Factors) (out []factor) {
	for i, s := range f.All() {
		out = append(out, factor{&words.Factors[i], s})
	}
	return out
}

// maxParts is how many parts of a factor are listed; the rest is summed up.
const maxParts = 8

// factors: what all processor time went into.
func (a *author) factors() {
	r := a.SLOU
	a.para("Every nanosecond of every worker belongs to exactly one factor. U is what you want; the others " +
		"are lost.")
	g := a.table("Where all processor time went", "", "#seconds", "#share|of all processor time", "~")
	g.In, g.Bare, g.Plain, g.Indent = everywhere, true, true, 5
	g.Heads[3].Bar = 40
	row := func(name cell, class string, ns int64) *line {
		bar := a.bar(class, ns, r.TotalNS)
		if name.Depth > 0 {
			name.Colour, bar.Bar = "dim", 0
		}
		return g.row(name, a.seconds(ns, r.TotalNS), shareOf(ns, r.TotalNS), bar)
	}
	for _, f := range factorsOf(&r.Factors) {
		name := cell{Text: f.Letter + "  " + f.Name.In(a.lang), Colour: f.Letter}
		if f.Share == nil {
			g.row(name, nil, nil, a.say("not recorded"))
			continue
		}
		row(name, f.Class, f.NS)
		list := slou.Largest(f.Parts)
		for j, p := range list {
			part := p.Name + a.inWords(f.Letter, p.Name, ": ", "")
			if j == maxParts {
				part = a.say("%d others", len(list)-j)
				for _, other := range list[j+1:] {
					p.NS += other.NS
				}
			}
			l := row(deep(1, part), shade(f.Class, j), p.NS)
			if a.onlyRegions() {
				l.In = full | paper // the short form has the tree of metrics
			}
			if j == maxParts {
				break
			}
		}
	}
	if r.UndividedNS > 0 {
		row(cell{Text: "   " + a.say("not divided")}, "x", r.UndividedNS)
	}
	if u := r.Factors.U; u != nil && u.NS > 0 && !a.onlyRegions() {
		g.Note = a.say("Thread clocks measured %s of the useful time.", shareOf(u.MeasuredNS, u.NS))
	}
	a.ownStates()
}

// ownStates lists the states of workers that the program's own run-time system recorded.
func (a *author) ownStates() {
	if a.model == nil {
		return
	}
	sum := map[string]int64{}
	for _, s := range a.model.OwnStates() {
		sum[s.Name] += s.NS
	}
	if len(sum) == 0 {
		return
	}
	g := a.table("What the workers did by the account of their own run-time system", "state", "#seconds",
		"#share|of all processor time")
	g.In = everywhere
	for _, name := range slices.SortedFunc(maps.Keys(sum), func(x, y string) int {
		return cmp.Or(cmp.Compare(sum[y], sum[x]), cmp.Compare(x, y))
	}) {
		g.row(name, a.seconds(sum[name], a.SLOU.TotalNS), shareOf(sum[name], a.SLOU.TotalNS))
	}
}

// seconds writes a time in seconds with the decimals that total deserves.
func (s speaker) seconds(ns, total int64) cell {
	decimals := 9
	switch {
	case total >= 100e9:
		decimals = 1
	case total >= 1e9:
		decimals = 3
	case total >= 1e6:
		decimals = 6
	}
	return number(ns, s.lang.Fixed(float64(ns)/1e9, decimals))
}

// sharesInWords is the text alternative of a bar of factors.
func (s speaker) sharesInWords(f *slou.Factors, total int64) string {
	var list []string
	for _, x := range factorsOf(f) {
		if x.Share != nil {
			list = append(list, x.Name.In(s.lang)+" "+s.lang.Percent(x.NS, total))
		}
	}
	return strings.Join(list, ", ")
}

// factorParts are the pieces of a bar of factors; with their parts as shades.
func (s speaker) factorParts(f *slou.Factors, total int64, parts bool) (out []svg.Part) {
	rest := total
	for _, x := range factorsOf(f) {
		if x.Share == nil {
			continue
		}
		rest -= x.NS
		add := func(class, what string, ns int64) {
			out = append(out, svg.Part{Class: class, Value: float64(ns),
				Tip: s.say("%s: %s, %s", what, shareOf(ns, total), words.Time(ns))})
		}
		list := slou.Largest(x.Parts)
		if !parts || len(list) == 0 {
			add(x.Class, x.Name.In(s.lang), x.NS)
			continue
		}
		for j, p := range list {
			add(shade(x.Class, j), x.Letter+"."+p.Name+s.inWords(x.Letter, p.Name, " (", ")"), p.NS)
		}
	}
	if rest > 0 {
		out = append(out, svg.Part{Class: "x", Value: float64(rest),
			Tip: s.say("%s: %s, %s", s.say("not divided"), shareOf(rest, total), words.Time(rest))})
	}
	return out
}

// shade is the class of the i-th part of a factor.
func shade(class string, i int) string {
	if i == 0 {
		return class
	}
	return fmt.Sprintf("%s p%d", class, min(i, 5))
}

// inWords explains a part of a factor between two texts; "" where its name says all.
func (s speaker) inWords(factor, part, before, after string) string {
	if meaning := s.in(words.Meaning(factor, part).With()); meaning != "" {
		return before + meaning + after
	}
	return ""
}

func (s speaker) factorLegend(r *slou.Result) (out []key) {
	for _, f := range factorsOf(&r.Factors) {
		if f.Share != nil {
			out = append(out, key{f.Class, f.Name.In(s.lang)})
		}
	}
	if r.UndividedNS > 0 {
		out = append(out, key{"x", s.say("not divided")})
	}
	return out
}
