package report

import (
	"fmt"
	"strings"

	"github.com/whyslow/whyslow/internal/analysis/blame"
	"github.com/whyslow/whyslow/internal/show/report/svg"
	"github.com/whyslow/whyslow/internal/words"
)

// smallChain is the share of S below which a branch of the chains is not shown.
const smallChain = 0.005

// blame: what the lost time comes down to, then what was waited for.
func (h *htmlFace) blame() []block {
	r := h.SLOU
	if r == nil {
		return []block{h.failed(analysisSLOU)}
	}
	if len(r.Causes) == 0 {
		return []block{h.para("Nobody waited for anything.")}
	}
	var out []block
	if b := h.Blame; b == nil {
		out = append(out, h.failed(analysisBlame))
	} else {
		if b.S != nil && b.S.NS > 0 {
			out = append(out, h.starved(b.S)...)
		}
		if b.L != nil && b.L.NS > 0 {
			out = append(out, h.latency(b.L)...)
		}
		if b.O != nil && b.O.NS > 0 {
			out = append(out, h.overheads(b.O)...)
		}
		if len(b.Waits) > 0 {
			var list []string
			for i := range b.Waits {
				list = append(list, sentence(b.Waits[i].Text))
			}
			out = append(out, h.heading("The longest waits"), block{List: list[:min(len(list), few)]})
			if len(list) > few {
				out = append(out, h.details(h.say("%d more", len(list)-few), block{List: list[few:], From: few}))
			}
		}
	}
	return append(out, h.details("All waits, by factor", h.causes()...))
}

// doingWords say what those did that were waited for.
var doingWords = map[string]string{
	"running":   "was running",
	"preempted": "was pre-empted",
	"create":    "was not created yet",
	"request":   "had not requested its input yet",
	"send":      "was not sent yet, or an input of it",
	"deliver":   "had its input, but was not ready yet",
	"dispatch":  "was ready, but its idle worker had not started it yet",
	"steal":     "was ready and about to be stolen",
	"ended":     "had ended: nothing was left to do",
	"lost":      "was not recorded",
	"unknown":   "is unknown",
	"further":   "waited in turn; the chain goes on",
}

func (s speaker) doing(d blame.Doing) string {
	switch d.Activity {
	case "queued":
		return s.say("was ready, but its worker ran %s", d.With)
	case "link":
		return s.say("waited for a message on link %s", d.With)
	case "waiting":
		return s.say("waited for %s", d.With)
	}
	if w := doingWords[d.Activity]; w != "" {
		return s.say(w)
	}
	return d.Activity
}

func (s speaker) nameOf(p blame.Place) string {
	if p.Code == "" {
		return s.say("(not known)")
	}
	return p.Code
}

// bar draws ns as a share of whole.
func (s speaker) bar(class string, ns, whole int64) cell {
	return plotCell(svg.Strip(s.lang.Percent(ns, whole), 12, []svg.Part{{Class: class, Value: float64(ns)},
		{Class: "none", Value: float64(whole - ns)}}))
}

func (h *htmlFace) starved(s *blame.Starved) []block {
	total := h.SLOU.TotalNS
	g := h.grid(h.say("Root causes of all starvation (%s, %s)", words.Time(s.NS), words.Share{Part: s.NS,
		Whole: total}), "code fragment", "where", "meanwhile it", "#time", "#share|of all processor time", "~")
	for _, x := range s.Roots {
		if g.small(x.NS, s.NS) {
			continue
		}
		g.row(word(h.nameOf(x.Place)), place(x.File, x.Line), word(h.doing(x.Doing)), timeCell(x.NS),
			shareCell(x.NS, total), h.bar("s", x.NS, s.NS))
	}
	tree := h.grid("Chains: whom workers waited for, and whom those waited for", "code fragment", "meanwhile it",
		"#time", "#share|of all processor time", "#waits")
	tree.Plain = true
	left := 0
	h.chain(tree, s.Chains, s.NS, 0, &left)
	tree.More = left
	return []block{
		h.para("A starving worker waits for a code fragment. That one runs, or waits for another one, and so on. " +
			"This table charges all starvation to the ends of these chains."),
		{Table: g}, h.details("The chains", block{Table: tree}),
	}
}

// chain adds the branches of a tree, the largest first; left counts those too small, or too many.
func (h *htmlFace) chain(g *grid, list []blame.Blamed, all int64, depth int, left *int) {
	for i := range list {
		b := &list[i]
		if float64(b.NS) < smallChain*float64(all) || len(g.Rows) >= maxRows {
			*left++
			continue
		}
		var did []string
		for _, d := range b.Doing {
			if len(did) < 3 && float64(d.NS) >= smallChain*float64(all) {
				did = append(did, h.say("%s (%s)", h.doing(d), words.Time(d.NS)))
			}
		}
		name := word(h.nameOf(b.Place))
		if depth > 0 {
			name.Class = fmt.Sprintf("d%d", min(depth, 8))
		}
		g.add([]cell{name, word(strings.Join(did, "; ")), timeCell(b.NS), shareCell(b.NS, h.SLOU.TotalNS),
			number(b.Count)})
		h.chain(g, b.Behind, all, depth+1, left)
	}
}

func rate(v float64) cell {
	if v <= 0 {
		return none()
	}
	return cell{Is: words.Say("%s/s", "%s/с", words.Size(int64(v))), Value: fmt.Sprintf("%.0f", v)}
}

func (h *htmlFace) latency(l *blame.Latency) []block {
	total := h.SLOU.TotalNS
	links := h.grid(h.say("Latency (%s, %s) by link", words.Time(l.NS), words.Share{Part: l.NS, Whole: total}),
		"link", "#waited", "#share|of all processor time", "#messages", "#bytes", "#mean size", "#mean flight",
		"#shortest flight", "#busy|how long messages were in flight",
		"#rate|bytes per second while messages were in flight", "~")
	for i := range l.Links {
		x := &l.Links[i]
		links.row(word(x.Link), timeCell(x.WaitNS), shareCell(x.WaitNS, total), number(x.Messages),
			sizeCell(x.Bytes), sizeCell(x.MeanSize), timeCell(x.MeanNS), timeCell(x.ShortestNS),
			timeCell(x.BusyNS), rate(x.Bandwidth), h.bar("l", x.WaitNS, l.NS))
	}
	names := h.grid("Latency by data fragment", "DF", "made by", "#waited", "#share|of all processor time",
		"#times", "#messages", "#bytes", "#mean size", "~")
	for i := range l.Names {
		x := &l.Names[i]
		if names.small(x.WaitNS, l.NS) {
			continue
		}
		name := x.Name
		if name == "" {
			name = h.say("(migrated CFs)")
		}
		names.row(word(name), word(x.By.Code), timeCell(x.WaitNS), shareCell(x.WaitNS, total), number(x.Waits),
			number(x.Messages), sizeCell(x.Bytes), sizeCell(x.MeanSize), h.bar("l", x.WaitNS, l.NS))
	}
	out := []block{{Table: links}, {Table: names}}
	if len(l.Worst) > 0 {
		worst := h.grid("Most expensive single data fragments", "DF", "made by", "#waited", "#size",
			"#messages", "#flight")
		for i := range l.Worst {
			x := &l.Worst[i]
			worst.row(word(x.DF), word(x.By.Code), timeCell(x.WaitNS), sizeCell(x.Size), number(x.Messages),
				timeCell(x.FlightNS))
		}
		out = append(out, h.details("Single data fragments", block{Table: worst}))
	}
	return out
}

func (h *htmlFace) overheads(o *blame.Overheads) []block {
	total := h.SLOU.TotalNS
	g := h.grid(h.say("Overhead per CF (%s, %s): is a CF worth its cost?", words.Time(o.NS),
		words.Share{Part: o.NS, Whole: total}), "code fragment", "#CFs", "#useful, each", "#overhead, each",
		"#should work|"+h.say("useful time at which the overhead is %.0f %% of a CF's time", 100*o.Share),
		"#overhead", "#share|of all processor time", "advice", "~")
	for i := range o.Fragments {
		x := &o.Fragments[i]
		if g.small(x.OverheadNS, o.NS) {
			continue
		}
		advice := ""
		switch {
		case x.MeanNS >= x.BreakEvenNS:
			advice = h.say("large enough")
		case x.TooSmall:
			advice = h.say("too small: %d times larger would save %s", x.Times, words.Time(x.GainNS))
			if x.Few {
				advice += h.say(", but leave only %s", counted(x.Left, "CF"))
			}
		}
		g.row(word(h.nameOf(x.Place)), number(x.CFs), timeCell(x.MeanNS), timeCell(x.EachNS),
			timeCell(x.BreakEvenNS), timeCell(x.OverheadNS), shareCell(x.OverheadNS, total), word(advice),
			h.bar("o", x.OverheadNS, o.NS))
	}
	return []block{{Table: g}}
}

// causes lists what was waited for, a table for each factor.
func (h *htmlFace) causes() (out []block) {
	r := h.SLOU
	for i, f := range factorNames[1:] {
		if s := shares(&r.Factors)[i+1]; s == nil || s.NS == 0 {
			continue
		}
		g := h.grid(h.say("%s: the longest waits", h.say(f.name)), "part", "code fragment that waited", "DF",
			"made by", "#time", "#share|of all processor time", "#times",
			"#queued|starting the awaited CF as soon as it was ready saves at most this much")
		for j := range r.Causes {
			c := &r.Causes[j]
			if c.Factor != f.letter || c.NS == 0 || g.small(c.NS, shares(&r.Factors)[i+1].NS) {
				continue
			}
			who := c.Consumer
			if who == "" && c.Part == "extra" {
				who = h.say("the run-time system's own threads")
			} else if who == "" {
				who = h.say("(the end of the run)")
			}
			g.row(word(c.Part), word(who), word(c.DF), word(c.Producer), timeCell(c.NS), shareCell(c.NS, r.TotalNS),
				number(c.Count), timeCell(c.QueuedNS))
		}
		out = append(out, block{Table: g})
	}
	return out
}
