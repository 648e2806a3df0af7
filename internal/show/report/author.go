package report

import (
	"errors"
	"slices"

	"github.com/whyslow/whyslow/internal/words"
)

// author writes the sections of a run's document.
type author struct {
	*Everything
	speaker
	by  string  // the split that the short form has, as Options.By
	out []block // of the section being written
}

func newAuthor(all *Everything, by string) *author {
	return &author{Everything: all, by: by, speaker: all.speaker()}
}

// chapters are the sections in their order, each with the analysis that it cannot do without.
var chapters = []struct {
	id, title, needs string
	ofCFs            bool // left out of a run without CFs
	write            func(*author)
}{
	{"summary", "Summary", "", false, (*author).summary},
	{"factors", "Factors", analysisSLOU, false, (*author).factors},
	{"time", "Over time", analysisSLOU, false, (*author).overTime},
	{"splits", "Splits", analysisSLOU, false, (*author).splits},
	{"blame", "Who is to blame", analysisSLOU, true, (*author).blame},
	{"pgas", "PGAS", "", false, (*author).pgas},
	{"path", "Critical path", analysisCritical, true, (*author).path},
	{"balance", "Balance", analysisImbalance, true, (*author).balance},
	{"memory", "Memory and traffic", analysisSeries, true, (*author).memory},
	{"correctness", "Correctness", analysisLifecycle, true, (*author).correctness},
	{"change", "What to change", analysisSLOU, false, (*author).change},
	{"warnings", "Warnings", "", false, (*author).warnings},
	{"facts", "The run", "", false, (*author).facts},
}

// document writes the sections.
func (a *author) document() (out []section) {
	done := map[string]bool{"": true, analysisSLOU: a.SLOU != nil, analysisCritical: a.Critical != nil,
		analysisImbalance: a.Imbalance != nil, analysisSeries: a.Series != nil,
		analysisLifecycle: a.Lifecycle != nil}
	for _, c := range chapters {
		a.out = nil
		switch {
		case c.ofCFs && a.onlyRegions(), slices.Contains(a.LeftOut, c.needs):
		case done[c.needs]:
			c.write(a)
		default:
			a.failed(c.needs)
		}
		if len(a.out) > 0 {
			out = append(out, section{c.id, a.say(c.title), a.out})
		}
	}
	return out
}

// failed stands where an analysis could not be done.
func (a *author) failed(what string) {
	if f := a.failure(what); f != nil {
		a.warn("This could not be computed: %s", f.Why)
	} else {
		a.para("This was not computed.")
	}
}

// add adds a block; what it returns holds until the next one.
func (a *author) add(b block) *block {
	a.out = append(a.out, b)
	return &a.out[len(a.out)-1]
}

func (a *author) para(format string, args ...any) *block {
	return a.add(block{Text: a.say(format, args...)})
}

// line sums something up in a paragraph of every face.
func (a *author) line(head, text string) {
	a.add(block{In: everywhere, Head: a.say(head), Text: text})
}

func (a *author) warn(format string, args ...any) *block {
	return a.add(block{Warning: a.say(format, args...)})
}

func (a *author) heading(name string) { a.add(block{Heading: a.say(name)}) }

func (a *author) table(caption string, heads ...string) *grid {
	g := newGrid(a.speaker, caption, heads...)
	a.add(block{Table: g})
	return g
}

// plot adds a plot; title and caption are of the catalogue, or made by say.
func (a *author) plot(title string, draw func() string, caption string, legend ...key) *figure {
	f := &figure{Title: a.say(title), draw: draw, Legend: legend, Caption: a.say(caption)}
	a.add(block{Figure: f})
	return f
}

// details puts what write adds where readers of the page open it.
func (a *author) details(title string, write func()) {
	before := a.out
	a.out = nil
	write()
	inner := a.out
	a.out = before
	if len(inner) > 0 {
		a.add(block{Details: &details{a.say(title), inner}})
	}
}

// warnings are analyses that failed and what makes the numbers less certain than they look.
func (a *author) warnings() {
	for _, f := range a.Failed {
		if !errors.Is(f.Err, errNoCFs) {
			a.warn("An analysis failed (%s): %s", f.Analysis, f.Why).In = everywhere
		}
	}
	var list []string
	if a.Pattern != nil {
		for _, s := range a.Pattern.Problems {
			list = append(list, sentence(s))
		}
	}
	for _, s := range append(list, a.Warnings()...) {
		a.add(block{In: everywhere, Warning: s})
	}
}

// goodUseful is the share of useful work above which a run is not slow.
const goodUseful = 0.95

// change is the advice.
func (a *author) change() {
	u := a.SLOU.Factors.U
	switch {
	case a.failure(analysisAdvice) != nil:
		a.failed(analysisAdvice)
	case len(a.Advice) > 0:
		a.para("Reasons, largest gain first. %s", words.GainsOverlap)
		a.add(block{In: everywhere, Advice: a.Advice})
		if f := a.Forecast; f != nil && f.Why != "" {
			a.add(block{In: everywhere, Text: f.Why})
		}
	case u != nil && float64(u.NS) >= goodUseful*float64(a.SLOU.TotalNS):
		a.para("This run is not slow: %s of all processor time is useful work. Only faster user code or "+
			"more workers would help.", shareOf(u.NS, a.SLOU.TotalNS))
	default:
		a.para("Nothing stands out: no single reason explains much of the lost time.")
	}
}
