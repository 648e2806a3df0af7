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
		return []block{para("Nobody waited for anything.")}
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
			out = append(out, block{Heading: "The longest waits"}, block{List: list[:min(len(list), few)]})
			if len(list) > few {
				out = append(out, block{Details: &details{fmt.Sprintf("%d more", len(list)-few), []block{{List: list[few:], From: few}}}})
			}
		}
	}
	return append(out, block{Details: &details{"All that was waited for, by factor", h.causes()}})
}

// doingWords say what those did that were waited for.
var doingWords = map[string]string{
	"running":   "was running",
	"preempted": "had started, but lost its processor",
	"create":    "was not created yet",
	"request":   "had not asked for its input yet",
	"send":      "had an input or itself that was not sent yet",
	"deliver":   "had its input, but was not ready yet",
	"dispatch":  "was ready, and its idle worker had not started it yet",
	"steal":     "was ready, and about to be stolen",
	"ended":     "had ended: nothing was left to do",
	"lost":      "did what was not recorded",
	"unknown":   "did what is not known",
	"further":   "waited in its turn, further than was followed",
}

func doing(d blame.Doing) string {
	switch d.Activity {
	case "queued":
		return "was ready, but its worker ran " + d.With
	case "link":
		return "was waiting for a message on the link " + d.With
	case "waiting":
		return "was waiting for " + d.With
	}
	if w := doingWords[d.Activity]; w != "" {
		return w
	}
	return d.Activity
}

func nameOf(p blame.Place) string {
	if p.Code == "" {
		return "(not known)"
	}
	return p.Code
}

// bar draws ns as a share of whole.
func bar(class string, ns, whole int64) cell {
	return plotCell(svg.Strip(words.Percent(ns, whole), 12, []svg.Part{{Class: class, Value: float64(ns)}, {Class: "none", Value: float64(whole - ns)}}))
}

func (h *htmlFace) starved(s *blame.Starved) []block {
	total := h.SLOU.TotalNS
	g := newGrid(fmt.Sprintf("What all starvation (%s, %s) comes down to", words.Duration(s.NS), words.Percent(s.NS, total)), "code fragment", "where", "what it did meanwhile", "#time", "#share|of all processor time", "~")
	for _, x := range s.Roots {
		if g.small(x.NS, s.NS) {
			continue
		}
		g.row(word(nameOf(x.Place)), place(x.File, x.Line), word(doing(x.Doing)), timeCell(x.NS), shareCell(x.NS, total), bar("s", x.NS, s.NS))
	}
	tree := newGrid("Chains: whom the workers waited for, and whom these waited for", "code fragment", "what it did meanwhile", "#time", "#share|of all processor time", "#waits")
	tree.Plain = true
	left := 0
	h.chain(tree, s.Chains, s.NS, 0, &left)
	tree.More = left
	return []block{
		para("While a worker starves it waits for somebody: for a code fragment that runs, or that waits for another one, and so on. Here all starvation is booked on who was at the end of these chains."),
		{Table: g}, {Details: &details{"The chains", []block{{Table: tree}}}},
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
				did = append(did, fmt.Sprintf("%s (%s)", doing(d), words.Duration(d.NS)))
			}
		}
		name := word(nameOf(b.Place))
		if depth > 0 {
			name.Class = fmt.Sprintf("d%d", min(depth, 8))
		}
		g.add([]cell{name, word(strings.Join(did, "; ")), timeCell(b.NS), shareCell(b.NS, h.SLOU.TotalNS), number(b.Count)})
		h.chain(g, b.Behind, all, depth+1, left)
	}
}

func rate(v float64) cell {
	if v <= 0 {
		return none()
	}
	return cell{Text: words.Bytes(int64(v)) + "/s", Value: fmt.Sprintf("%.0f", v)}
}

func (h *htmlFace) latency(l *blame.Latency) []block {
	total := h.SLOU.TotalNS
	links := newGrid(fmt.Sprintf("Latency (%s, %s) by link", words.Duration(l.NS), words.Percent(l.NS, total)), "link", "#waited", "#share|of all processor time", "#messages", "#bytes", "#mean size", "#mean flight",
		"#shortest flight", "#busy|how long something was under way", "#rate|bytes per second while something was under way", "~")
	for i := range l.Links {
		x := &l.Links[i]
		links.row(word(x.Link), timeCell(x.WaitNS), shareCell(x.WaitNS, total), number(x.Messages), sizeCell(x.Bytes), sizeCell(x.MeanSize), timeCell(x.MeanNS), timeCell(x.ShortestNS),
			timeCell(x.BusyNS), rate(x.Bandwidth), bar("l", x.WaitNS, l.NS))
	}
	names := newGrid("Latency by data fragment", "DF", "made by", "#waited", "#share|of all processor time", "#times", "#messages", "#bytes", "#mean size", "~")
	for i := range l.Names {
		x := &l.Names[i]
		if names.small(x.WaitNS, l.NS) {
			continue
		}
		name := x.Name
		if name == "" {
			name = "(CFs that migrated)"
		}
		names.row(word(name), word(x.By.Code), timeCell(x.WaitNS), shareCell(x.WaitNS, total), number(x.Waits), number(x.Messages), sizeCell(x.Bytes), sizeCell(x.MeanSize), bar("l", x.WaitNS, l.NS))
	}
	out := []block{{Table: links}, {Table: names}}
	if len(l.Worst) > 0 {
		worst := newGrid("Single data fragments that cost most", "DF", "made by", "#waited", "#size", "#messages", "#flight")
		for i := range l.Worst {
			x := &l.Worst[i]
			worst.row(word(x.DF), word(x.By.Code), timeCell(x.WaitNS), sizeCell(x.Size), number(x.Messages), timeCell(x.FlightNS))
		}
		out = append(out, block{Details: &details{"Single data fragments", []block{{Table: worst}}}})
	}
	return out
}

func (h *htmlFace) overheads(o *blame.Overheads) []block {
	total := h.SLOU.TotalNS
	g := newGrid(fmt.Sprintf("Overhead of single CFs (%s, %s): is a CF worth what it costs?", words.Duration(o.NS), words.Percent(o.NS, total)), "code fragment", "#CFs", "#useful, each", "#overhead, each",
		fmt.Sprintf("#should work|useful time of a CF for which its overhead would be %.0f %% of its time", 100*o.Share), "#overhead", "#share|of all processor time", "advice", "~")
	for i := range o.Fragments {
		x := &o.Fragments[i]
		if g.small(x.OverheadNS, o.NS) {
			continue
		}
		advice := ""
		switch {
		case x.MeanNS >= x.BreakEvenNS:
			advice = "large enough"
		case x.TooSmall:
			advice = fmt.Sprintf("too small: %d times larger would save %s", x.Times, words.Duration(x.GainNS))
			if x.Few {
				advice += fmt.Sprintf(", but leave only %s", words.Count(x.Left, "CF"))
			}
		}
		g.row(word(nameOf(x.Place)), number(x.CFs), timeCell(x.MeanNS), timeCell(x.EachNS), timeCell(x.BreakEvenNS), timeCell(x.OverheadNS), shareCell(x.OverheadNS, total), word(advice), bar("o", x.OverheadNS, o.NS))
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
		g := newGrid(f.name+": what was waited for most", "part", "code fragment that waited", "DF", "made by", "#time", "#share|of all processor time", "#times",
			"#queued|at most so much of it would not have been lost, had the CF that was waited for been started as soon as it was ready")
		for j := range r.Causes {
			c := &r.Causes[j]
			if c.Factor != f.letter || c.NS == 0 || g.small(c.NS, shares(&r.Factors)[i+1].NS) {
				continue
			}
			who := c.Consumer
			if who == "" && c.Part == "extra" {
				who = "the run-time system's own threads"
			} else if who == "" {
				who = "(the end of the run)"
			}
			g.row(word(c.Part), word(who), word(c.DF), word(c.Producer), timeCell(c.NS), shareCell(c.NS, r.TotalNS), number(c.Count), timeCell(c.QueuedNS))
		}
		out = append(out, block{Table: g})
	}
	return out
}
