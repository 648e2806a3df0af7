package report

import (
	"strings"

	"github.com/whyslow/whyslow/internal/analysis/blame"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/words"
)

// smallChain is the share of S below which a branch of the chains is not shown.
const smallChain = 0.005

// blame: what was waited for, and what the lost time comes down to.
func (a *author) blame() {
	if len(a.SLOU.Causes) == 0 {
		a.para("Nobody waited for anything.")
		return
	}
	a.causes()
	b := a.Blame
	if b == nil {
		a.failed(analysisBlame)
		return
	}
	if b.S != nil && b.S.NS > 0 {
		a.starved(b.S)
	}
	if b.L != nil && b.L.NS > 0 {
		a.latency(b.L)
	}
	if b.O != nil && b.O.NS > 0 {
		a.overheads(b.O)
	}
	if len(b.Waits) > 0 {
		var list []string
		for i := range b.Waits {
			list = append(list, sentence(a.in(b.Waits[i].Story())))
		}
		a.heading("The longest waits")
		a.add(block{List: list[:min(len(list), few)]})
		if len(list) > few {
			a.details(a.say("%d more", len(list)-few), func() { a.add(block{List: list[few:], From: few}) })
		}
	}
}

// causes lists what was waited for, the longest waits first.
func (a *author) causes() {
	g := a.table("What was waited for most", "#waiting", "#share|of all processor time", "#times", "factor",
		"why", "#+queued|the most that starting the awaited CF at once would save")
	g.In = everywhere
	for i := range a.SLOU.Causes {
		c := &a.SLOU.Causes[i]
		if c.NS == 0 {
			break
		}
		if i >= topRows && c.NS < a.SLOU.TotalNS/1000 {
			g.More++
			continue
		}
		name := cell{Text: c.Factor, Colour: c.Factor}
		if c.Part != "" {
			name.Text += "." + c.Part
		}
		l := g.row(words.Time(c.NS), shareOf(c.NS, a.SLOU.TotalNS), c.Count, name, a.why(c),
			words.Time(c.QueuedNS))
		if i >= topRows {
			l.In = full | paper
		}
	}
}

// why says in a few words who waited for whom.
func (s speaker) why(c *slou.Cause) string {
	who := c.Consumer
	if who == "" {
		who = s.say("the end of the run")
	}
	switch {
	case c.Part == slou.PartExtra.String():
		return s.say("the run-time system's own threads")
	case (c.Factor == "S" || c.Factor == "L") && c.DF != "" && c.Producer != "":
		return s.say("%s <- %s from %s", who, c.DF, c.Producer)
	case (c.Factor == "S" || c.Factor == "L") && c.DF != "":
		return who + " <- " + c.DF
	case c.Factor == "S" && c.Producer != "" && c.Consumer == "":
		return s.say("idle at the end while %s still runs", c.Producer)
	case c.Factor == "L":
		return s.say("%s itself, migrating", who)
	case c.What != "" && c.Producer != "":
		return s.say("%s: %s, held by %s", who, c.What, c.Producer)
	case c.What != "":
		return who + ": " + c.What
	}
	return who
}

// doingWords say what those did that were waited for, where that is no part of a factor.
var doingWords = map[string]words.Phrase{
	"running": {"was running", "исполнялся"},
	"ended":   {"had ended: nothing was left to do", "закончился: делать было нечего"},
	"lost":    {"was not recorded", "не записан"},
	"unknown": {"is unknown", "неизвестно"},
	"further": {"waited in turn; the chain goes on", "ждал в свою очередь; цепочка продолжается"},
}

func (s speaker) doing(d blame.Doing) string {
	switch d.Activity {
	case "queued":
		return s.say("was ready, but its worker ran %s", d.With)
	case "link":
		return s.say("waited for a message on link %s", d.With)
	case "waiting":
		if model.ByDebugger(d.With) {
			return s.say("was stopped by a debugger")
		}
		return s.say("waited for %s", words.Waited(d.With))
	}
	for i := range words.AllParts {
		if p := &words.AllParts[i]; p.Doing != (words.Phrase{}) && p.ActivityName() == d.Activity {
			return s.in(p.Doing.With())
		}
	}
	return s.phrase(doingWords, d.Activity)
}

func (s speaker) nameOf(p blame.Place) string {
	if p.Code == "" {
		return s.say("(not known)")
	}
	return p.Code
}

func (a *author) starved(s *blame.Starved) {
	total := a.SLOU.TotalNS
	a.para("A starving worker waits for a code fragment, which runs or waits for another, and so on. " +
		"This table charges all starvation to the ends of these chains.")
	g := a.table(a.say("Root causes of all starvation (%s, %s)", words.Time(s.NS), shareOf(s.NS, total)),
		"code fragment", "where", "what it was doing", "#time", "#share|of all processor time", "~")
	for _, x := range s.Roots {
		if !g.small(x.NS, s.NS) {
			g.row(a.nameOf(x.Place), place(x.File, x.Line), a.doing(x.Doing), words.Time(x.NS),
				shareOf(x.NS, total), a.bar("s", x.NS, s.NS))
		}
	}
	a.details("The chains", func() {
		g := a.table("Chains: what workers waited for, and what that waited for", "code fragment",
			"what it was doing",
			"#time", "#share|of all processor time", "#waits")
		g.Plain = true
		a.chain(g, s.Chains, s.NS, 0)
	})
}

// chain adds the branches of a tree, the largest first, but for those too small, or too many.
func (a *author) chain(g *grid, list []blame.Blamed, all int64, depth int) {
	least := smallChain * float64(all)
	for _, b := range list {
		if float64(b.NS) < least || len(g.Rows) >= maxRows {
			g.More++
			continue
		}
		var did []string
		for _, d := range b.Doing {
			if len(did) < 3 && float64(d.NS) >= least {
				did = append(did, a.doing(d)+" ("+a.lang.Duration(d.NS)+")")
			}
		}
		g.row(deep(depth, a.nameOf(b.Place)), strings.Join(did, "; "), words.Time(b.NS),
			shareOf(b.NS, a.SLOU.TotalNS), b.Count)
		a.chain(g, b.Behind, all, depth+1)
	}
}

func (a *author) latency(l *blame.Latency) {
	total := a.SLOU.TotalNS
	links := a.table(a.say("Latency (%s, %s) by link", words.Time(l.NS), shareOf(l.NS, total)),
		"link", "#waited", "#share|of all processor time", "#messages", "#bytes", "#mean size", "#mean flight",
		"#shortest flight", "#busy|how long messages were in flight",
		"#rate|bytes per second while messages were in flight", "~")
	for _, x := range l.Links {
		rate := links.cell(nil)
		if x.Bandwidth > 0 {
			rate = number(int64(x.Bandwidth), a.lang.Bytes(int64(x.Bandwidth))+words.PerSecond[a.lang])
		}
		links.row(x.Link, words.Time(x.WaitNS), shareOf(x.WaitNS, total), x.Messages, words.Size(x.Bytes),
			words.Size(x.MeanSize), words.Time(x.MeanNS), words.Time(x.ShortestNS), words.Time(x.BusyNS), rate,
			a.bar("l", x.WaitNS, l.NS))
	}
	names := a.table("Latency by data fragment", "DF", "made by", "#waited", "#share|of all processor time",
		"#times", "#messages", "#bytes", "#mean size", "~")
	for _, x := range l.Names {
		if names.small(x.WaitNS, l.NS) {
			continue
		}
		name := x.Name
		if name == "" {
			name = a.say("(migrated CFs)")
		}
		names.row(name, x.By.Code, words.Time(x.WaitNS), shareOf(x.WaitNS, total), x.Waits, x.Messages,
			words.Size(x.Bytes), words.Size(x.MeanSize), a.bar("l", x.WaitNS, l.NS))
	}
	if len(l.Worst) > 0 {
		a.details("Single data fragments", func() {
			worst := a.table("Most expensive single data fragments", "DF", "made by", "#waited", "#size", "#messages",
				"#flight")
			for _, x := range l.Worst {
				worst.row(x.DF, x.By.Code, words.Time(x.WaitNS), words.Size(x.Size), x.Messages,
					words.Time(x.FlightNS))
			}
		})
	}
}

func (a *author) overheads(o *blame.Overheads) {
	g := a.table(a.say("Overhead per CF (%s, %s): is a CF worth its cost?", words.Time(o.NS),
		shareOf(o.NS, a.SLOU.TotalNS)), "code fragment", "#CFs", "#useful, each", "#overhead, each",
		"#should work|"+a.say("useful time at which the overhead is %.0f %% of a CF's time", 100*o.Share),
		"#overhead", "#share|of all processor time", "advice", "~")
	for _, x := range o.Fragments {
		if g.small(x.OverheadNS, o.NS) {
			continue
		}
		advice := ""
		switch {
		case x.MeanNS >= x.BreakEvenNS:
			advice = a.say("large enough")
		case x.TooSmall:
			advice = a.say("too small: %d times larger would save %s", x.Times, words.Time(x.GainNS))
			if x.Few {
				advice += a.say(", but leave only %s", counted(x.Left, "CF"))
			}
		}
		g.row(a.nameOf(x.Place), x.CFs, words.Time(x.MeanNS), words.Time(x.EachNS), words.Time(x.BreakEvenNS),
			words.Time(x.OverheadNS), shareOf(x.OverheadNS, a.SLOU.TotalNS), advice,
			a.bar("o", x.OverheadNS, o.NS))
	}
}
