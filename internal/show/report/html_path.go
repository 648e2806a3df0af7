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
func (h *htmlFace) path() []block {
	c := h.Critical
	if c == nil {
		return []block{h.failed(analysisCritical)}
	}
	var out []block
	for _, m := range c.Missing {
		if len(m.Null) > 0 {
			out = append(out, block{Warning: h.say("%s was not recorded, so this part is incomplete.", m.Event)})
		}
	}
	if c.Path != nil {
		out = append(out, h.pathBlocks(c.Path)...)
	}
	if c.Work != nil {
		out = append(out, h.bounds(c.Work)...)
	}
	if c.Slack != nil {
		out = append(out, h.para("Slack is how much later a CF could end without making the run longer. Only CFs "+
			"without slack are worth making faster."),
			block{Table: h.slack(c.Slack)})
	}
	return out
}

func (h *htmlFace) pathBlocks(p *critical.Path) []block {
	out := []block{h.para("The chain of everything that delayed the last CF. To shorten the run, shorten "+
		"something on it. It has %s and %s; %s.",
		counted(p.CFs, "atomic CF"), counted(p.Structured, "structured CF"), h.pathShares(p, h.Critical.WallNS))}
	if p.Last != "" {
		out = append(out, h.para("It ends with %s, %[2]s before the end of the run.", p.Last, words.Time(p.TailNS)))
	}
	out = append(out, h.plot("The path over time", h.pathStack(p),
		"At each moment the run waited for exactly this.", h.pathLegend(p)...))
	if strip, caption := h.strip(p); strip != "" {
		out = append(out, h.plot("Where it ran", strip, caption, h.pathLegend(p)...))
	}
	g := h.grid("The path by code fragment: time in which a CF of it ran or could not start yet",
		"code fragment", "where", "#CFs", "#time", "#share|of the run",
		"#U", "#L", "#O", "#W", "~")
	for i := range p.Fragments {
		f := &p.Fragments[i]
		if g.small(f.NS, h.Critical.WallNS) {
			continue
		}
		name := f.Code
		if name == "" {
			name = h.say("(after the last CF)")
		}
		parts := []svg.Part{{Class: "u", Value: float64(f.U)}, {Class: "s", Value: float64(f.S)}}
		var lo [2]cell
		rest := f.NS - f.U - f.S - f.W
		for j, ns := range []*int64{f.L, f.O} {
			lo[j] = none()
			if ns != nil {
				lo[j] = timeCell(*ns)
				rest -= *ns
				parts = append(parts, svg.Part{Class: []string{"l", "o"}[j], Value: float64(*ns)})
			}
		}
		parts = append(parts, svg.Part{Class: "w", Value: float64(f.W)}, svg.Part{Class: "x", Value: float64(rest)},
			svg.Part{Class: "none", Value: float64(h.Critical.WallNS - f.NS)})
		g.row(word(name), place(f.File, f.Line), number(f.Count), timeCell(f.NS),
			shareCell(f.NS, h.Critical.WallNS), timeCell(f.U), lo[0], lo[1], timeCell(f.W),
			plotCell(svg.Strip(h.say("%s of the run", words.Share{Part: f.NS, Whole: h.Critical.WallNS}), 12, parts)))
	}
	out = append(out, block{Table: g})
	return append(out, h.details("Parts, transitions and longest steps of the path",
		block{Table: h.pathParts(p)},
		block{Table: h.pathReasons(p)}, block{Table: h.pathLongest(p)}))
}

// pathShares sums up a path in words.
func (s speaker) pathShares(p *critical.Path, wall int64) string {
	list := []string{s.say("%s of it is useful work", words.Share{Part: p.Factors.U, Whole: wall})}
	if l := p.Factors.L; l != nil && *l > 0 {
		list = append(list, s.say("%s messages in flight", words.Share{Part: *l, Whole: wall}))
	}
	if o := p.Factors.O; o != nil && *o > 0 {
		list = append(list, s.say("%s overhead", words.Share{Part: *o, Whole: wall}))
	}
	if p.Factors.W > 0 {
		list = append(list, s.say("%s waiting", words.Share{Part: p.Factors.W, Whole: wall}))
	}
	unknown := wall - p.TailNS - p.Factors.U - p.Factors.W
	for _, ns := range []*int64{p.Factors.L, p.Factors.O} {
		if ns != nil {
			unknown -= *ns
		}
	}
	if unknown > 0 {
		list = append(list, s.say("%s without a known cause", words.Share{Part: unknown, Whole: wall}))
	}
	if p.TailNS > 0 {
		list = append(list, s.say("%s after the last CF", words.Share{Part: p.TailNS, Whole: wall}))
	}
	return strings.Join(list, ", ")
}

func (s speaker) pathLegend(p *critical.Path) (out []key) {
	seen := [slou.FactorLoss + 1]bool{}
	for i := range p.Steps {
		seen[p.Steps[i].Factor] = true
	}
	for i, f := range factorNames {
		if seen[slou.FactorU+slou.Factor(i)] {
			out = append(out, key{strings.ToLower(f.letter), s.say(f.name)})
		}
	}
	if seen[slou.FactorLoss] {
		out = append(out, key{"x", s.say("not recorded")})
	}
	return out
}

// pathClasses are those of factors, by slou.Factor.
var pathClasses = [slou.FactorLoss + 1]string{slou.FactorU: "u", slou.FactorS: "s", slou.FactorL: "l",
	slou.FactorO: "o", slou.FactorW: "w", slou.FactorLoss: "x"}

// pathStack draws what the path was doing over time.
func (h *htmlFace) pathStack(p *critical.Path) string {
	wall := h.Critical.WallNS
	length := max((wall+maxPathWindows-1)/maxPathWindows, 1)
	n := int((wall + length - 1) / length)
	layers := make([]svg.Layer, len(pathClasses))
	for f := range layers {
		layers[f] = svg.Layer{Class: pathClasses[f], Values: make([]float64, n)}
	}
	lasts := func(i int) float64 { return float64(min(int64(i+1)*length, wall) - int64(i)*length) }
	for i := range p.Steps {
		s := &p.Steps[i]
		for from := max(s.From, 0); from < min(s.To, wall); {
			at := int(from / length)
			end := min(s.To, int64(at+1)*length)
			layers[s.Factor].Values[at] += float64(end-from) / lasts(at)
			from = end
		}
	}
	f := svg.Frame{Label: h.say("The critical path over time: %s", h.pathShares(p, wall)), Height: 90,
		X: svg.Time(h.lang, float64(wall), 8), Y: svg.Percent()}
	return svg.Stack(f, svg.Windows{Count: n, Length: float64(length), Tip: func(i int) string {
		s := h.say("%s to %s", words.Time(int64(i)*length), words.Time(min(int64(i+1)*length, wall)))
		for k, f := range factorNames {
			if v := layers[k].Values[i]; v > 0 {
				s += fmt.Sprintf("\n%s %.0f %%", h.say(f.name), 100*v)
			}
		}
		return s
	}}, layers)
}

// strip draws the path as boxes on the workers it ran on, "" if it ran nowhere. Short neighbours are put
// together, with the worker and factor that most of them have.
func (h *htmlFace) strip(p *critical.Path) (drawing, caption string) {
	type place struct{ node, worker uint16 }
	use := map[place]int64{}
	for i := range p.Steps {
		if s := &p.Steps[i]; s.CF != 0 {
			use[place{s.Node, s.Worker}] += s.To - s.From
		}
	}
	places := make([]place, 0, len(use))
	for w := range use {
		places = append(places, w)
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(use[b], use[a]), cmp.Compare(a.node, b.node), cmp.Compare(a.worker, b.worker))
	})
	others := max(len(places)-maxLanes, 0)
	places = places[:len(places)-others]
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.worker, b.worker))
	})
	lanes := map[place]int{}
	var names []string
	for i, w := range places {
		lanes[w] = i
		names = append(names, fmt.Sprintf("%d.%d", w.node, w.worker))
	}
	if len(names) == 0 {
		return "", ""
	}
	if others > 0 {
		names = append(names, h.say("others"))
	}
	caption = h.say("The worker that the path went through. Point at a box to see its CF.")
	short := h.Critical.WallNS / maxBoxes
	var boxes []svg.Box
	joined := 0
	for i := 0; i < len(p.Steps); {
		var factors [slou.FactorLoss + 1]int64
		lane := make([]int64, len(names))
		k := i
		for ; k < len(p.Steps) && (k == i || p.Steps[k].To-p.Steps[i].From < short); k++ {
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
		most := func(list []int64) (at int) {
			for j, v := range list {
				if v > list[at] {
					at = j
				}
			}
			return at
		}
		tip := ""
		if k == i+1 {
			s := p.Named(&p.Steps[i])
			tip = h.step(&s)
		} else {
			joined++
			tip = h.say("%d short steps, %s to %s", k-i, words.Time(p.Steps[i].From), words.Time(p.Steps[k-1].To))
		}
		boxes = append(boxes, svg.Box{Lane: most(lane), From: float64(p.Steps[i].From),
			To: float64(p.Steps[k-1].To), Class: pathClasses[most(factors[:])], Tip: tip})
		i = k
	}
	if joined > 0 {
		caption += h.say(" Steps shorter than %s are merged.", words.Time(short))
	}
	f := svg.Frame{Label: h.say("The critical path on %s over time", counted(int64(len(names)), "worker")),
		X: svg.Time(h.lang, float64(h.Critical.WallNS), 8)}
	return svg.Lanes(f, names, boxes, true), caption
}

// step describes a step for a tooltip.
func (l speaker) step(s *critical.NamedStep) string {
	out := l.say("%s %s, %s from %s", s.Name, s.Kind, words.Time(s.ToNS-s.FromNS), words.Time(s.FromNS))
	if s.CF != "" {
		out += l.say("\n%s on worker %d.%d", s.CF, s.Node, s.Worker)
	}
	if s.DF != "" {
		out += l.say("\nfor %s", s.DF)
	}
	return out
}

func (h *htmlFace) pathParts(p *critical.Path) *grid {
	g := h.grid("The path by part of a factor", "part", "#time", "#share|of the run", "#steps")
	for _, x := range p.Parts {
		f, part, _ := strings.Cut(x.Name, ".")
		g.row(word(x.Name+h.inWords(f, part)), timeCell(x.NS), shareCell(x.NS, h.Critical.WallNS), number(x.Count))
	}
	return g
}

// reasonWords say how the path came from one CF to the next.
var reasonWords = map[string]string{
	"run":     "a CF ran",
	"input":   "the next CF needed a DF made on the same node",
	"link":    "the next CF needed a DF that came over a link",
	"created": "the next CF was created",
	"again":   "the same CF ran again",
	"worker":  "the next CF was ready, but its worker was busy",
	"unknown": "what delayed the next CF was not recorded",
	"start":   "the program created the first CF",
	"tail":    "after the last CF",
}

func (h *htmlFace) pathReasons(p *critical.Path) *grid {
	g := h.grid("Transitions of the path from CF to CF", "transition", "#times", "#time",
		"#ready before|for how long the CFs were ready before their worker was free")
	for _, x := range p.Reasons {
		words := reasonWords[x.Reason]
		if words == "" {
			words = x.Reason
		}
		g.row(word(h.say(words)), number(x.Count), timeCell(x.NS), timeCell(x.ReadyNS))
	}
	return g
}

func (h *htmlFace) pathLongest(p *critical.Path) *grid {
	g := h.grid("The longest steps of the path", "#from", "#time", "what", "CF", "DF", "worker")
	for i := range p.Longest {
		s := &p.Longest[i]
		worker := ""
		if s.CF != "" {
			worker = fmt.Sprintf("%d.%d", s.Node, s.Worker)
		}
		g.row(timeCell(s.FromNS), timeCell(s.ToNS-s.FromNS), word(s.Name+" "+s.Kind), word(s.CF), word(s.DF),
			word(worker))
	}
	return g
}

func (h *htmlFace) bounds(k *critical.Work) []block {
	out := []block{
		h.heading("What more workers would give"),
		h.para("%s", h.bounded(k, h.Critical.WallNS)),
	}
	if len(k.Bounds) > 1 {
		g := h.grid("Bounds on the time by number of workers, if messages and the run-time system cost nothing",
			"#workers", "#at best", "#at worst|with any scheduler that leaves no worker idle while a CF is ready",
			"#speed-up at best", "#at worst")
		for _, b := range k.Bounds {
			row := []cell{number(b.Workers), timeCell(b.LeastNS), timeCell(b.GreedyNS), decimal(b.Speedup),
				decimal(b.Greedy)}
			if b.Workers == k.Own.Workers {
				row[0].Is = words.Say("%d (this run)", "%d (этот запуск)", b.Workers)
			}
			g.row(row...)
		}
		out = append(out, block{Table: g})
	}
	if len(k.Chain) > 0 {
		g := h.grid(h.say("The longest chain of useful work, %s in %s: only faster or smaller CFs of these "+
			"shorten it", words.Time(k.TinfNS), counted(k.ChainCFs, "CF")), "code fragment", "#useful",
			"#share|of the chain")
		for _, c := range k.Chain {
			g.row(word(c.Code), timeCell(c.NS), shareCell(c.NS, k.TinfNS))
		}
		out = append(out, block{Table: g})
	}
	return out
}

// bounded says what the bounds mean.
func (s speaker) bounded(k *critical.Work, wall int64) string {
	out := s.say("All useful work takes %s, its longest chain %s: on average %s CFs could run in parallel, so "+
		"more than %s cannot help.",
		words.Time(k.T1NS), words.Time(k.TinfNS), words.Decimal(k.Parallelism), counted(k.HelpfulWorkers, "worker"))
	out += s.say(" %s could finish in %s at best; the run took %s", counted(k.Own.Workers, "worker"),
		words.Time(k.Own.LeastNS), words.Time(wall))
	if k.LostNS > 0 {
		out += s.say(", %s more", words.Time(k.LostNS))
	}
	return out + "."
}

func (h *htmlFace) slack(list []critical.Fragment) *grid {
	g := h.grid("Slack by code fragment", "code fragment", "#CFs", "#useful", "#without slack", "#on the path",
		"#least|by how much any one of them could end later",
		"#all at once|by how much each of them could take longer at once", "#mean", "#most")
	for i := range list {
		f := &list[i]
		if f.Kind != trace.Atomic.String() {
			continue // made faster they change little
		}
		all := none()
		if f.AllNS != nil {
			all = timeCell(*f.AllNS)
		}
		g.row(word(f.Code), number(f.Count), timeCell(f.UsefulNS), number(f.Critical), number(f.OnPath),
			timeCell(f.MinNS), all, timeCell(f.MeanNS), timeCell(f.MaxNS))
	}
	return g
}
