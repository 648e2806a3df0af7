package report

import (
	"fmt"
	"math"
	"strconv"

	"github.com/whyslow/whyslow/internal/analysis/counters"
	"github.com/whyslow/whyslow/internal/analysis/imbalance"
	"github.com/whyslow/whyslow/internal/show/report/svg"
	"github.com/whyslow/whyslow/internal/words"
)

// maxWorkerBars is how many workers get a bar.
const maxWorkerBars = 32

// balance: efficiency and its parts, and how evenly work was spread.
func (h *htmlFace) balance() []block {
	r := h.Imbalance
	if r == nil {
		return []block{h.failed(analysisImbalance)}
	}
	var out []block
	for _, m := range r.Missing {
		out = append(out, block{Warning: h.say("%s was not recorded, so %s cannot be computed in full.", m.Event,
			h.listOf(m.For))})
	}
	if r.Efficiency == nil {
		return append(out, h.para("Without useful time there is no balance to compute."))
	}
	out = append(out, h.para("%s", sentence(h.evenness(r))), block{Table: h.efficiency(r.Efficiency)})
	if len(r.Nodes) > 1 {
		g := h.grid("Efficiency of each node", "node", "host", "#useful", "#parallel efficiency", "#load balance",
			"#communication")
		for i := range r.Nodes {
			n := &r.Nodes[i]
			g.row(cell{Text: strconv.Itoa(n.Node), Value: strconv.Itoa(n.Node)}, word(n.Host), timeCell(n.UsefulNS),
				ratioCell(n.Parallel), ratioCell(n.LoadBalance), ratioCell(n.Communication))
		}
		out = append(out, block{Table: g})
	}
	if t := r.Total; t != nil {
		out = append(out, h.workerBars(t))
	}
	if len(r.Fragments) > 0 {
		out = append(out, block{Table: h.uneven(r.Fragments)})
	}
	if t := r.Time; t != nil && t.Windows > 1 {
		out = append(out, h.utilisation(t)...)
	}
	if r.Weights != nil {
		out = append(out, h.weights(r.Weights)...)
	}
	return out
}

func (s speaker) ratio(v *float64) string {
	if v == nil {
		return "-"
	}
	return s.lang.Percent(int64(1e6**v+0.5), 1e6)
}

func ratioCell(v *float64) cell {
	if v == nil {
		return none()
	}
	return cell{Is: words.Share{Part: int64(math.Round(1e6 * *v)), Whole: 1e6},
		Value: strconv.FormatFloat(*v, 'g', 6, 64)}
}

// stepMeanings explain the steps of communication efficiency.
var stepMeanings = map[string]string{
	"runtime":       "what remains after the run-time system's work (O without pre-emption)",
	"preemption":    "what remains after pre-emption (O.preempt)",
	"transfer":      "what remains after waiting for messages (L)",
	"serialisation": "what remains after times without any ready CF (S.nowhere)",
	"placement": "what remains after times when CFs were ready, but not for this worker (S.here, " +
		"S.elsewhere)",
	"waiting":    "what remains after waiting for each other (W)",
	"undivided":  "factors that cannot be computed",
	"unrecorded": "time without records",
}

// efficiency shows the efficiencies as a tree: each is the product of those below it.
func (h *htmlFace) efficiency(e *imbalance.Efficiency) *grid {
	g := h.grid("Efficiency: each row is the product of the rows indented below it", "efficiency", "#value",
		"meaning", "~")
	g.Plain = true
	row := func(depth int, name string, v *float64, meaning string) {
		c := word(h.say(name))
		if depth > 0 {
			c.Class = fmt.Sprintf("d%d", depth)
		}
		b := word("")
		if v != nil {
			b = h.bar("u", int64(*v*1e6), 1e6)
		}
		g.add([]cell{c, ratioCell(v), word(meaning), b})
	}
	row(0, "parallel efficiency", e.Parallel, h.say("useful share of all workers' time"))
	row(1, "load balance", e.LoadBalance,
		h.say("mean useful time of a worker over the greatest, that of worker %s", e.MaxWorker))
	if e.BetweenNodes != nil && len(h.Imbalance.Nodes) > 1 {
		row(2, "between nodes", e.BetweenNodes, h.say("mean over the mean of the busiest node"))
		row(2, "within nodes", e.WithinNodes, h.say("mean of the busiest node over the busiest worker"))
	}
	row(1, "communication efficiency", e.Communication, h.say("useful share of the time of worker %s",
		e.MaxWorker))
	for _, s := range e.Steps {
		if s.NS > 0 {
			row(2, s.Name, s.Efficiency, h.say(stepMeanings[s.Name]))
		}
	}
	return g
}

// evenness sums up the balance.
func (s speaker) evenness(r *imbalance.Result) string {
	e := r.Efficiency
	out := s.say("parallel efficiency %s = load balance %s x communication efficiency %s", s.ratio(e.Parallel),
		s.ratio(e.LoadBalance), s.ratio(e.Communication))
	worst := -1
	for i := range r.Fragments {
		if f := &r.Fragments[i]; f.WaitedNS != nil && *f.WaitedNS > 0 &&
			(worst < 0 || *f.WaitedNS > *r.Fragments[worst].WaitedNS) {
			worst = i
		}
	}
	if worst >= 0 {
		f := &r.Fragments[worst]
		out += s.say("; most uneven is `%s`: worker %s did %s of it, the mean is %s, and the others lost at most "+
			"%s", f.Code, f.Workers.Most,
			words.Time(f.Workers.MaxNS), words.Time(f.Workers.MeanNS), words.Time(*f.WaitedNS))
	}
	return out + "."
}

// workerBars draws the useful time of each worker, or node.
func (h *htmlFace) workerBars(t *imbalance.Fragment) block {
	who, of := "worker", t.Workers.Of
	if len(of) > maxWorkerBars {
		who, of = "node", t.Nodes.Of
	}
	of = of[:min(len(of), maxWorkerBars)]
	var bars []svg.Bar
	most := int64(1)
	for _, x := range of {
		name := fmt.Sprintf("%s %d", h.say(who), x.Node)
		if who == "worker" {
			name += "." + strconv.Itoa(x.Worker)
		}
		tip := h.say("%s: %s useful in %s", name, words.Time(x.UsefulNS), counted(x.Count, "CF"))
		bars = append(bars, svg.Bar{Label: name,
			Parts: []svg.Part{{Class: "u", Value: float64(x.UsefulNS), Tip: tip}}, Note: h.lang.Duration(x.UsefulNS)})
		most = max(most, x.UsefulNS)
	}
	f := svg.Frame{Left: 110, Label: h.say("Useful time of each "+who+": from %s to %s, mean %s",
		words.Time(t.Workers.MinNS), words.Time(t.Workers.MaxNS), words.Time(t.Workers.MeanNS)),
		X: svg.Time(h.lang, float64(most)*1.15, 6)}
	return h.plot("Useful time of each "+who, svg.Bars(f, bars), "")
}

func (h *htmlFace) uneven(list []imbalance.Fragment) *grid {
	g := h.grid("Balance of code fragments", "code fragment", "#CFs", "#mean|useful time of a worker", "#most",
		"worker", "#imbalance|most over mean, less 100 %", "#waited|time others waited because of it, at most",
		"#of the loss|as a share of all lost time",
		"#achievable|what the busiest worker would have at best, with CFs as they are")
	for i := range list {
		f := &list[i]
		waited, share, imb := none(), none(), none()
		if f.WaitedNS != nil {
			waited = timeCell(*f.WaitedNS)
		}
		if f.LostShare != nil {
			share = ratioCell(f.LostShare)
		}
		if f.Workers.Percent != nil {
			imb = cell{Text: fmt.Sprintf("%.0f %%", *f.Workers.Percent), Value: strconv.FormatFloat(*f.Workers.Percent,
				'g', 6, 64)}
		}
		g.row(word(f.Code), number(f.Count), timeCell(f.Workers.MeanNS), timeCell(f.Workers.MaxNS),
			word(f.Workers.Most), imb, waited, share, timeCell(f.AchievableNS))
	}
	return g
}

// quantityWords name what is compared between nodes.
var quantityWords = map[string]string{"useful": "useful share of time", counters.CFsReady: "CFs ready",
	counters.BytesHeld: "bytes held"}

// utilisation draws the useful share over time, and tells how far nodes were apart.
func (h *htmlFace) utilisation(t *imbalance.Time) []block {
	wall := h.Imbalance.WallNS
	w := svg.Windows{Count: t.Windows, Length: float64(t.WindowNS), Tip: func(i int) string {
		from := int64(i) * t.WindowNS
		return h.say("%s to %s: %.0f %% useful", words.Time(from), words.Time(min(from+t.WindowNS, wall)),
			100*t.Useful[i])
	}}
	least, greatest := append([]float64{}, t.Useful...), append([]float64{}, t.Useful...)
	for _, n := range t.Nodes {
		for i, v := range n.Useful {
			least[i], greatest[i] = min(least[i], v), max(greatest[i], v)
		}
	}
	caption := ""
	if len(t.Nodes) > 1 {
		caption = "The line is the mean of all workers; the area lies between the nodes with the least " +
			"and the most."
	}
	f := svg.Frame{Label: h.say("Useful share of all workers' time over time"), Height: 110,
		X: svg.Time(h.lang, float64(wall), 8), Y: svg.Percent()}
	out := []block{h.plot("Utilisation over time",
		svg.Lines(f, w, []svg.Line{{Class: "u", Values: t.Useful, Low: least, High: greatest}}), caption)}
	if len(t.Variations) > 0 {
		g := h.grid("Differences between nodes", "in", "#mean difference", "#largest", "between nodes", "when")
		for i := range t.Variations {
			v := &t.Variations[i]
			l := &v.Largest
			show := func(x float64) cell {
				c := decimal(x)
				switch v.Quantity {
				case "useful":
					c.Is = words.Share{Part: int64(math.Round(1e6 * x)), Whole: 1e6}
				case counters.BytesHeld:
					c.Is = words.Size(int64(x))
				}
				return c
			}
			g.row(word(h.say(quantityWords[v.Quantity])), show(v.Mean), show(l.Max-l.Min),
				word(h.say("%d (%s) and %d (%s)", l.MaxNode, show(l.Max).in(h.lang), l.MinNode, show(l.Min).in(h.lang))),
				word(h.say("%s to %s", words.Time(l.FromNS), words.Time(l.ToNS))))
		}
		out = append(out, block{Table: g})
	}
	return out
}

func (h *htmlFace) weights(w *imbalance.Weights) []block {
	codes := h.grid("How well the program's weights predict time", "code fragment", "#CFs", "#weight", "#useful",
		"#against the others|time per weight over that of all; above 1 its weights are too small",
		"#correlation|of weight and time of a CF", "#error|root mean square over the mean")
	optional := func(v *float64) cell {
		if v == nil {
			return none()
		}
		return decimal(*v)
	}
	for i := range w.Codes {
		c := &w.Codes[i]
		codes.row(word(c.Code), number(c.Count), decimal(c.Weight), timeCell(c.UsefulNS), optional(c.Relative),
			optional(c.Correlation), ratioCell(c.Error))
	}
	out := []block{{Table: codes}}
	if len(w.Nodes) > 1 {
		nodes := h.grid(h.say("Planned and measured load of nodes: planned imbalance %s, measured %s",
			optional(w.PlannedImbalance).in(h.lang), optional(w.MeasuredImbalance).in(h.lang)), "node", "#planned",
			"#measured", "#useful")
		for i := range w.Nodes {
			n := &w.Nodes[i]
			nodes.row(cell{Text: h.nodeName(n.Node), Value: strconv.Itoa(n.Node)}, ratioCell(&n.PlannedShare),
				ratioCell(&n.MeasuredShare), timeCell(n.UsefulNS))
		}
		out = append(out, block{Table: nodes})
	}
	return out
}
