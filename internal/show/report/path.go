package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/analysis/critical"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/show/report/svg"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

const (
	maxBoxes = 1500 // of the strip: steps shorter than the run by more are put together
	maxLanes = 24
	// maxPathWindows is into how many windows the path is cut.
	maxPathWindows = 160
)

// path: what held up the end of the run, what more workers would give, and what may take longer.
func (a *author) path() {
	c := a.Critical
	untold := a.model != nil && a.model.WasImported() && c.Path == nil
	for _, m := range c.Missing {
		switch {
		case untold && m.Event == trace.KindDFCreate.String():
			a.line("Critical path", a.say("none: the imported file does not tell what tasks depend on"))
		case len(m.Null) > 0:
			a.warn("%s was not recorded, so this part is incomplete.", m.Event)
		}
	}
	if c.Path != nil {
		a.line("Critical path", a.pathLine(c.Path, c.WallNS))
	}
	if c.Work != nil {
		a.line("Parallelism", a.bounded(c.Work, c.WallNS))
	}
	if c.Path != nil {
		a.pathBlocks(c.Path)
	}
	if c.Work != nil {
		a.bounds(c.Work)
	}
	if c.Slack != nil {
		a.para("Slack is how much later a CF could end without making the run longer. Only CFs without slack are " +
			"worth making faster.")
		a.slack(c.Slack)
	}
}

// pathLine sums up the critical path and the code fragments it spends most time in.
func (s speaker) pathLine(p *critical.Path, wall int64) string {
	out := s.say("%s in %s: %s", words.Time(p.LengthNS), counted(p.CFs, "CF"), s.pathShares(p, wall))
	var most []string
	for _, f := range p.Fragments {
		if f.Code != "" && len(most) < 3 && f.NS*20 >= wall {
			most = append(most, fmt.Sprintf("`%s` (%s)", f.Code, s.lang.Percent(f.NS, wall)))
		}
	}
	if len(most) > 0 {
		out += s.say("; most of it for %s", s.listOf(most))
	}
	return out + "."
}

// pathShares says what a path was doing.
func (s speaker) pathShares(p *critical.Path, wall int64) string {
	var list []string
	unknown := wall - p.TailNS
	add := func(format string, ns *int64) {
		if ns != nil && (*ns > 0 || len(list) == 0) {
			list = append(list, s.say(format, shareOf(*ns, wall)))
			unknown -= *ns
		}
	}
	for f, format := range []string{"%s of it is useful work", "", "%s messages in flight", "%s overhead",
		"%s waiting"} {
		if format != "" {
			add(format, p.Factors.Of(slou.Factor(f)))
		}
	}
	add("%s without a known cause", &unknown)
	add("%s after the last CF", &p.TailNS)
	return strings.Join(list, ", ")
}

func (a *author) pathBlocks(p *critical.Path) {
	wall := a.Critical.WallNS
	a.para("The chain of everything that delayed the last CF. To shorten the run, shorten something on it. "+
		"It has %s and %s.", counted(p.CFs, "atomic CF"), counted(p.Structured, "structured CF"))
	if p.Last != "" {
		a.para("It ends with %s, %[2]s before the end of the run.", p.Last, words.Time(p.TailNS))
	}
	legend := a.pathLegend(p)
	a.plot("The path over time", func() string { return a.pathStack(p) },
		"At each moment the run waited for exactly this.", legend...)
	if slices.ContainsFunc(p.Steps, func(s critical.Step) bool { return s.CF != 0 }) {
		caption := a.say("The worker that the path went through. Point at a box to see its CF.")
		least := a.Critical.WallNS / maxBoxes
		for i := range p.Steps[1:] {
			if p.Steps[i+1].To-p.Steps[i].From < least {
				caption += a.say(" Steps shorter than %s are merged.", words.Time(least))
				break
			}
		}
		a.plot("Where it ran", func() string { return a.strip(p, least) }, caption, legend...)
	}
	heads := []string{"code fragment", "where", "#CFs", "#time", "#share|of the run"}
	for i, f := range words.Factors {
		if slou.Factor(i) != slou.FactorS { // nothing on the path starves
			heads = append(heads, "#"+f.Letter)
		}
	}
	g := a.table("The path by code fragment: time in which a CF of it ran or could not start yet",
		append(heads, "~")...)
	for _, f := range p.Fragments {
		if g.small(f.NS, wall) {
			continue
		}
		name := f.Code
		if name == "" {
			name = a.say("(after the last CF)")
		}
		var parts []svg.Part
		rest := f.NS
		row := []any{name, place(f.File, f.Line), f.Count, words.Time(f.NS), shareOf(f.NS, wall)}
		for i, x := range words.Factors {
			ns := f.Factors.Of(slou.Factor(i))
			if ns != nil {
				parts = append(parts, svg.Part{Class: x.Class, Value: float64(*ns)})
				rest -= *ns
			}
			if slou.Factor(i) != slou.FactorS {
				row = append(row, optional[words.Time](ns))
			}
		}
		parts = append(parts, svg.Part{Class: "x", Value: float64(rest)},
			svg.Part{Class: "none", Value: float64(wall - f.NS)})
		g.row(append(row, stripCell(a.say("%s of the run", shareOf(f.NS, wall)), 12, parts...))...)
	}
	a.details("Parts, transitions and longest steps of the path", func() { a.pathSteps(p) })
}

func (s speaker) pathLegend(p *critical.Path) (out []key) {
	var has [slou.FactorLoss + 1]bool
	for i := range p.Steps {
		has[p.Steps[i].Factor] = true
	}
	for f := range has {
		if has[f] {
			out = append(out, key{words.AllFactors[f].Class, words.AllFactors[f].Name.In(s.lang)})
		}
	}
	return out
}

// pathStack draws what the path was doing over time.
func (a *author) pathStack(p *critical.Path) string {
	wall := a.Critical.WallNS
	length := max((wall+maxPathWindows-1)/maxPathWindows, 1)
	n := int((wall + length - 1) / length)
	layers := make([]svg.Layer, slou.FactorLoss+1)
	for f := range layers {
		layers[f] = svg.Layer{Class: words.AllFactors[f].Class, Values: make([]float64, n)}
	}
	for _, s := range p.Steps {
		for from := max(s.From, 0); from < min(s.To, wall); {
			at := from / length
			next := (at + 1) * length
			end := min(s.To, next)
			layers[s.Factor].Values[at] += float64(end-from) / float64(min(next, wall)-at*length)
			from = end
		}
	}
	f := svg.Frame{Label: a.say("The critical path over time: %s", a.pathShares(p, wall)), Height: 90,
		X: a.timeAxis(wall), Y: svg.Percent()}
	return svg.Stack(f, svg.Windows{Count: n, Length: float64(length), Tip: func(i int) string {
		s := a.span(int64(i)*length, min(int64(i+1)*length, wall))
		for k, l := range layers {
			if v := l.Values[i]; v > 0 {
				s += fmt.Sprintf("\n%s %.0f %%", words.AllFactors[k].Name.In(a.lang), 100*v)
			}
		}
		return s
	}}, layers)
}

// strip draws the path as boxes on the workers it ran on. Neighbours that together are shorter
// than least are put together, with the worker and factor that most of them have.
func (a *author) strip(p *critical.Path, least int64) string {
	type place struct{ node, worker uint16 }
	inOrder := func(x, y place) int {
		return cmp.Or(cmp.Compare(x.node, y.node), cmp.Compare(x.worker, y.worker))
	}
	use := map[place]int64{}
	var places []place
	for i := range p.Steps {
		if s := &p.Steps[i]; s.CF != 0 {
			w := place{s.Node, s.Worker}
			if _, ok := use[w]; !ok {
				places = append(places, w)
			}
			use[w] += s.To - s.From
		}
	}
	slices.SortFunc(places, func(x, y place) int { return cmp.Or(cmp.Compare(use[y], use[x]), inOrder(x, y)) })
	others := len(places) > maxLanes
	places = places[:min(len(places), maxLanes)]
	slices.SortFunc(places, inOrder)
	lanes := map[place]int{}
	var names []string
	for i, w := range places {
		lanes[w] = i
		names = append(names, fmt.Sprintf("%d.%d", w.node, w.worker))
	}
	if others {
		names = append(names, a.say("others"))
	}
	var boxes []svg.Box
	for i := 0; i < len(p.Steps); {
		var factors [slou.FactorLoss + 1]int64
		lane := make([]int64, len(names))
		k := i
		for ; k < len(p.Steps) && (k == i || p.Steps[k].To-p.Steps[i].From < least); k++ {
			s := &p.Steps[k]
			factors[s.Factor] += s.To - s.From
			at, ok := lanes[place{s.Node, s.Worker}]
			if !ok {
				at = len(names) - 1
			}
			if s.CF == 0 && len(boxes) > 0 {
				at = boxes[len(boxes)-1].Lane // the tail stays where the path ended
			}
			lane[at] += s.To - s.From
		}
		from, to := p.Steps[i].From, p.Steps[k-1].To
		var tip string
		if k > i+1 {
			tip = a.say("%d short steps, %s", k-i, a.span(from, to))
		} else {
			named := p.Named(&p.Steps[i])
			tip = a.step(&named)
		}
		boxes = append(boxes, svg.Box{Lane: largest(lane)[0], From: float64(from), To: float64(to),
			Class: words.AllFactors[largest(factors[:])[0]].Class, Tip: tip})
		i = k
	}
	f := svg.Frame{Label: a.say("The critical path on %s over time", counted(int64(len(names)), "worker")),
		X: a.timeAxis(a.Critical.WallNS)}
	return svg.Lanes(f, names, boxes)
}

// step describes a step for a tooltip.
func (s speaker) step(x *critical.NamedStep) string {
	out := s.say("%s %s, %s from %s", s.stepPart(x.Name), s.named(stepNames, x.Kind),
		words.Time(x.ToNS-x.FromNS), words.Time(x.FromNS))
	if x.CF != "" {
		out += s.say("\n%s on worker %d.%d", x.CF, x.Node, x.Worker)
	}
	if x.DF != "" {
		out += s.say("\nfor %s", x.DF)
	}
	return out
}

// reasonWords say how the path came from one CF to the next.
var reasonWords = map[string]words.Phrase{
	"run":     {"a CF ran", "исполнялся ФВ"},
	"input":   {"the next CF needed a DF made on the same node", "следующему ФВ был нужен ФД с того же узла"},
	"link":    {"the next CF needed a DF that came over a link", "следующему ФВ был нужен ФД по связи"},
	"created": {"the next CF was created", "создан следующий ФВ"},
	"again":   {"the same CF ran again", "тот же ФВ исполнялся ещё раз"},
	"worker": {"the next CF was ready, but its worker was busy",
		"следующий ФВ был готов, но его поток был занят"},
	"unknown": {"what delayed the next CF was not recorded", "что задержало следующий ФВ, не записано"},
	"start":   {"the program created the first CF", "программа создала первый ФВ"},
	"tail":    {"after the last CF", "после последнего ФВ"},
}

// pathSteps lists the steps of the path by part of a factor, by transition, and those that took longest.
func (a *author) pathSteps(p *critical.Path) {
	g := a.table("The path by part of a factor", "part", "#time", "#share|of the run", "#steps")
	for _, x := range p.Parts {
		f, part, _ := strings.Cut(x.Name, ".")
		g.row(a.stepPart(x.Name)+a.inWords(f, part, ": ", ""), words.Time(x.NS),
			shareOf(x.NS, a.Critical.WallNS), x.Count)
	}
	g = a.table("Transitions of the path from CF to CF", "transition", "#times", "#time",
		"#ready before|for how long the CFs were ready before their worker was free")
	for _, x := range p.Reasons {
		g.row(a.phrase(reasonWords, x.Reason), x.Count, words.Time(x.NS), words.Time(x.ReadyNS))
	}
	g = a.table("The longest steps of the path", "#from", "#time", "what", "CF", "DF", "worker")
	for _, s := range p.Longest {
		worker := ""
		if s.CF != "" {
			worker = fmt.Sprintf("%d.%d", s.Node, s.Worker)
		}
		g.row(words.Time(s.FromNS), words.Time(s.ToNS-s.FromNS),
			a.stepPart(s.Name)+" "+a.named(stepNames, s.Kind), s.CF, s.DF, worker)
	}
}

func (a *author) bounds(k *critical.Work) {
	if len(k.Bounds) > 1 || len(k.Chain) > 0 {
		a.heading("What more workers would give")
	}
	if len(k.Bounds) > 1 {
		g := a.table("Bounds on wall time by number of workers, if messages and the run-time system cost "+
			"nothing",
			"#workers", "#at best", "#at worst|with any scheduler that leaves no worker idle while a CF is ready",
			"#speed-up at best", "#at worst")
		for _, b := range k.Bounds {
			workers := g.cell(b.Workers)
			switch {
			case b.Workers == k.Own.Workers && k.Cores > 0:
				workers.Text = a.say("%d (this run, on %s)", b.Workers, onCores(k.Cores))
			case b.Workers == k.Own.Workers:
				workers.Text = a.say("%d (this run)", b.Workers)
			}
			g.row(workers, words.Time(b.LeastNS), words.Time(b.GreedyNS), b.Speedup, b.Greedy)
		}
	}
	if len(k.Chain) > 0 {
		g := a.table(a.say("The longest chain of useful work, %s in %s: only faster or smaller CFs of these "+
			"shorten it", words.Time(k.TinfNS), counted(k.ChainCFs, "CF")), "code fragment", "#useful",
			"#share|of the chain")
		for _, c := range k.Chain {
			g.row(c.Code, words.Time(c.NS), shareOf(c.NS, k.TinfNS))
		}
	}
}

// onCores counts cores that something runs on.
func onCores(n int64) words.Number { return words.Number{N: n, What: words.OnCores} }

// bounded says what the bounds mean.
func (s speaker) bounded(k *critical.Work, wall int64) string {
	out := s.say("All useful work takes %s, its longest chain %s: on average %s CFs could run in parallel, so "+
		"more than %s cannot help.",
		words.Time(k.T1NS), words.Time(k.TinfNS), words.Decimal(k.Parallelism), counted(k.HelpfulWorkers, "worker"))
	workers := counted(k.Own.Workers, "worker")
	if k.Cores > 0 {
		out += s.say(" %s on %s could finish in %s at best; the run took %s", workers, onCores(k.Cores),
			words.Time(k.Own.LeastNS), words.Time(wall))
	} else {
		out += s.say(" %s could finish in %s at best; the run took %s", workers, words.Time(k.Own.LeastNS),
			words.Time(wall))
	}
	if k.LostNS > 0 {
		out += s.say(", %s more", words.Time(k.LostNS))
	}
	return out + "."
}

func (a *author) slack(list []critical.Fragment) {
	g := a.table("Slack by code fragment", "code fragment", "#CFs", "#useful", "#without slack", "#on the path",
		"#least|how much later any one of them could end",
		"#all at once|how much longer each of them could take if all did", "#mean", "#most")
	for _, f := range list {
		if f.Kind == trace.Atomic.String() { // others change little when they are faster
			g.row(f.Code, f.Count, words.Time(f.UsefulNS), f.Critical, f.OnPath, words.Time(f.MinNS),
				optional[words.Time](f.AllNS), words.Time(f.MeanNS), words.Time(f.MaxNS))
		}
	}
}
