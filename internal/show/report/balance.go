package report

import (
	"fmt"
	"strconv"

	"github.com/whyslow/whyslow/internal/analysis/counters"
	"github.com/whyslow/whyslow/internal/analysis/imbalance"
	"github.com/whyslow/whyslow/internal/show/report/svg"
	"github.com/whyslow/whyslow/internal/words"
)

// maxWorkerBars is how many workers get a bar.
const maxWorkerBars = 32

// balance: efficiency and its parts, and how evenly work was spread.
func (a *author) balance() {
	r := a.Imbalance
	for _, m := range r.Missing {
		a.warn("%s was not recorded, so %s cannot be computed in full.", m.Event,
			a.listOf(a.allNamed(balanceNames, m.For)))
	}
	if r.Efficiency == nil {
		a.para("Without useful time there is no balance to compute.")
		return
	}
	a.line("Balance", a.evenness(r))
	a.efficiency(r.Efficiency)
	if len(r.Nodes) > 1 {
		g := a.table("Efficiency of each node", "node", "#useful", "#parallel efficiency", "#load balance",
			"#communication")
		for _, n := range r.Nodes {
			g.row(a.nodeCell(n.Node), words.Time(n.UsefulNS), optional[ratio](n.Parallel),
				optional[ratio](n.LoadBalance), optional[ratio](n.Communication))
		}
	}
	if r.Total != nil {
		a.workerBars(r.Total)
	}
	if len(r.Fragments) > 0 {
		a.uneven(r.Fragments)
	}
	if t := r.Time; t != nil && t.Windows > 1 {
		a.utilisation(t)
	}
	if r.Weights != nil {
		a.weights(r.Weights)
	}
}

// nodeCell names a node and sorts by its number.
func (a *author) nodeCell(node int) cell { return number(int64(node), a.nodeName(node)) }

// stepMeanings explain the steps of communication efficiency that are not parts of a factor.
var stepMeanings = map[string]words.Phrase{
	"runtime": {"what remains after the run-time system's work (O without pre-emption)",
		"что оставила работа самой системы (O без вытеснения)"},
	"transfer": {"what remains after waiting for messages (L)", "что оставило ожидание сообщений (L)"},
	"placement": {"what remains after times when CFs were ready, but not for this worker (S.here, S.elsewhere)",
		"что осталось от времени, когда готовые ФВ были, но не у этого потока (S.here, S.elsewhere)"},
	"waiting":    {"what remains after waiting for each other (W)", "что оставило ожидание друг друга (W)"},
	"starvation": {"what remains after starvation (S)", "что осталось после голодания (S)"},
	"undivided":  {"factors that cannot be computed", "факторы, которые нельзя вычислить"},
	"unrecorded": {"time without records", "время без записей"},
}

// stepOf is a step of communication efficiency: its name and what it means.
func (s speaker) stepOf(id string) (name, meaning string) {
	for i := range words.AllParts {
		if p := &words.AllParts[i]; p.Step[words.English] == id {
			return s.in(p.Step.With()), s.in(p.Left.With())
		}
	}
	return id, s.phrase(stepMeanings, id)
}

// efficiency shows the efficiencies as a tree: each is the product of those below it.
func (a *author) efficiency(e *imbalance.Efficiency) {
	g := a.table("Efficiency: each row is the product of the rows indented below it", "efficiency", "#value",
		"meaning", "~")
	g.Plain = true
	row := func(depth int, name string, v *float64, meaning string) {
		bar := cell{}
		if v != nil {
			bar = a.bar("u", int64(*v*1e6), 1e6)
		}
		g.row(deep(depth, a.say(name)), optional[ratio](v), meaning, bar)
	}
	row(0, "parallel efficiency", e.Parallel, a.say("useful share of all workers' time"))
	row(1, "load balance", e.LoadBalance,
		a.say("mean useful time of a worker over the largest, that of worker %s", e.MaxWorker))
	if e.BetweenNodes != nil && len(a.Imbalance.Nodes) > 1 {
		row(2, "between nodes", e.BetweenNodes, a.say("mean of all workers over the mean of the busiest "+
			"node"))
		row(2, "within nodes", e.WithinNodes, a.say("mean of the busiest node over the busiest worker"))
	}
	row(1, "communication efficiency", e.Communication,
		a.say("useful share of the time of worker %s", e.MaxWorker))
	for _, s := range e.Steps {
		if s.NS > 0 {
			name, meaning := a.stepOf(s.Name)
			row(2, name, s.Efficiency, meaning)
		}
	}
}

// evenness sums up the balance.
func (s speaker) evenness(r *imbalance.Result) string {
	percent := func(v *float64) string {
		return (&grid{speaker: s}).cell(optional[ratio](v)).Text
	}
	e := r.Efficiency
	out := s.say("parallel efficiency %s = load balance %s x communication efficiency %s", percent(e.Parallel),
		percent(e.LoadBalance), percent(e.Communication))
	var worst *imbalance.Fragment
	for i := range r.Fragments {
		if f := &r.Fragments[i]; f.WaitedNS != nil && *f.WaitedNS > 0 &&
			(worst == nil || *f.WaitedNS > *worst.WaitedNS) {
			worst = f
		}
	}
	if f := worst; f != nil {
		out += s.say("; most uneven is `%s`: worker %s did %s of it, the mean is %s, and the others lost at most "+
			"%s", f.Code, f.Workers.Most, words.Time(f.Workers.MaxNS), words.Time(f.Workers.MeanNS),
			words.Time(*f.WaitedNS))
	}
	return out + "."
}

// workerBars draws the useful time of each worker, or node.
func (a *author) workerBars(t *imbalance.Fragment) {
	who, of := "worker", t.Workers.Of
	if len(of) > maxWorkerBars {
		who, of = "node", t.Nodes.Of
	}
	of = of[:min(len(of), maxWorkerBars)]
	most := int64(1)
	for _, x := range of {
		most = max(most, x.UsefulNS)
	}
	g := a.table("Useful time of each "+who, who, "#useful", "#CFs", "~")
	for _, x := range of {
		name := strconv.Itoa(x.Node)
		if who == "worker" {
			name += "." + strconv.Itoa(x.Worker)
		}
		g.row(name, words.Time(x.UsefulNS), x.Count, a.bar("u", x.UsefulNS, most))
	}
}

func (a *author) uneven(list []imbalance.Fragment) {
	g := a.table("Balance of code fragments", "code fragment", "#CFs", "#mean|useful time of a worker", "#most",
		"worker", "#imbalance|most over mean, less 100 %", "#waited|upper bound on the time others "+
			"waited because of it",
		"#of the loss|as a share of all lost time",
		"#achievable|the least the busiest worker could have with these CFs")
	for _, f := range list {
		imb := g.cell(nil)
		if p := f.Workers.Percent; p != nil {
			imb = g.cell(*p)
			imb.Text = fmt.Sprintf("%.0f %%", *p)
		}
		g.row(f.Code, f.Count, words.Time(f.Workers.MeanNS), words.Time(f.Workers.MaxNS), f.Workers.Most, imb,
			optional[words.Time](f.WaitedNS), optional[ratio](f.LostShare), words.Time(f.AchievableNS))
	}
}

// quantityWords name what is compared between nodes.
var quantityWords = map[string]words.Phrase{
	"useful":           {"useful share of time", "полезная доля времени"},
	counters.CFsReady:  {"CFs ready", "готовые ФВ"},
	counters.BytesHeld: {"bytes held", "хранимые байты"},
}

// utilisation draws the useful share over time, and tells how far nodes were apart.
func (a *author) utilisation(t *imbalance.Time) {
	wall := a.Imbalance.WallNS
	w := svg.Windows{Count: t.Windows, Length: float64(t.WindowNS), Tip: func(i int) string {
		from := int64(i) * t.WindowNS
		return a.say("%s: %.0f %% useful", a.span(from, min(from+t.WindowNS, wall)), 100*t.Useful[i])
	}}
	least, greatest := append([]float64{}, t.Useful...), append([]float64{}, t.Useful...)
	for _, n := range t.Nodes {
		for i, v := range n.Useful {
			least[i], greatest[i] = min(least[i], v), max(greatest[i], v)
		}
	}
	caption := ""
	if len(t.Nodes) > 1 {
		caption = a.say("The line is the mean of all workers; the area spans the nodes from the least to " +
			"the most.")
	}
	f := svg.Frame{Label: a.say("Useful share of all workers' time over time"), Height: 110,
		X: a.timeAxis(wall), Y: svg.Percent()}
	a.plot("Utilisation over time",
		func() string {
			return svg.Level(f, w, svg.Line{Class: "u", Values: t.Useful, Low: least, High: greatest})
		}, caption)
	g := a.table("Differences between nodes", "in", "#mean difference", "#largest", "between nodes", "when")
	for _, v := range t.Variations {
		show := func(x float64) cell {
			switch v.Quantity {
			case "useful":
				return g.cell(ratio(x))
			case counters.BytesHeld:
				return g.cell(words.Size(int64(x)))
			}
			return g.cell(x)
		}
		l := &v.Largest
		g.row(a.phrase(quantityWords, v.Quantity), show(v.Mean), show(l.Max-l.Min),
			a.say("%d (%s) and %d (%s)", l.MaxNode, show(l.Max).Text, l.MinNode, show(l.Min).Text),
			a.span(l.FromNS, l.ToNS))
	}
}

func (a *author) weights(w *imbalance.Weights) {
	codes := a.table("How well the program's weights predict time", "code fragment", "#CFs", "#weight",
		"#useful", "#against the others|time per unit of weight over that of all CFs; above 1 its "+
			"weights are too small",
		"#correlation|of weight and time of a CF", "#error|root mean square over the mean")
	for _, c := range w.Codes {
		codes.row(c.Code, c.Count, c.Weight, words.Time(c.UsefulNS), optional[float64](c.Relative),
			optional[float64](c.Correlation), optional[ratio](c.Error))
	}
	if len(w.Nodes) > 1 {
		text := func(v *float64) string { return codes.cell(optional[float64](v)).Text }
		nodes := a.table(a.say("Planned and measured load of nodes: planned imbalance %s, measured %s",
			text(w.PlannedImbalance), text(w.MeasuredImbalance)), "node", "#planned", "#measured", "#useful")
		for _, n := range w.Nodes {
			nodes.row(a.nodeCell(n.Node), ratio(n.PlannedShare), ratio(n.MeasuredShare), words.Time(n.UsefulNS))
		}
	}
}
