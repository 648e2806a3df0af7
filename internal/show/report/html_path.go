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
			out = append(out, block{Warning: fmt.Sprintf("%s was not recorded: without it this part cannot be computed in full.", m.Event)})
		}
	}
	if c.Path != nil {
		out = append(out, h.pathBlocks(c.Path)...)
	}
	if c.Work != nil {
		out = append(out, h.bounds(c.Work)...)
	}
	if c.Slack != nil {
		out = append(out, para("By how much the CFs of a code fragment could have ended later without the run taking longer. What has no slack is worth making faster; the rest is not."),
			block{Table: h.slack(c.Slack)})
	}
	return out
}

func (h *htmlFace) pathBlocks(p *critical.Path) []block {
	out := []block{para("The chain of what held up the CF that ended last: to make the run shorter, make something on it shorter. It has %s and %s; %s.",
		words.Count(p.CFs, "atomic CF"), words.Count(p.Structured, "structured one"), pathShares(p, h.Critical.WallNS))}
	if p.Last != "" {
		out = append(out, para("It ends with %s; after that came %s until the end of the run.", p.Last, words.Duration(p.TailNS)))
	}
	out = append(out, plot("The path over time", h.pathStack(p), "What the path was doing: at each moment the run waited for exactly this.", pathLegend(p)...))
	if strip, caption := h.strip(p); strip != "" {
		out = append(out, plot("Where it ran", strip, caption, pathLegend(p)...))
	}
	g := newGrid("The path by code fragment: time in which one of its CFs ran, or could not start yet", "code fragment", "where", "#CFs", "#time", "#share|of the run",
		"#U", "#L", "#O", "#W", "~")
	for i := range p.Fragments {
		f := &p.Fragments[i]
		if g.small(f.NS, h.Critical.WallNS) {
			continue
		}
		name := f.Code
		if name == "" {
			name = "(after the last CF)"
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
		parts = append(parts, svg.Part{Class: "w", Value: float64(f.W)}, svg.Part{Class: "x", Value: float64(rest)}, svg.Part{Class: "none", Value: float64(h.Critical.WallNS - f.NS)})
		g.row(word(name), place(f.File, f.Line), number(f.Count), timeCell(f.NS), shareCell(f.NS, h.Critical.WallNS), timeCell(f.U), lo[0], lo[1], timeCell(f.W),
			plotCell(svg.Strip(words.Percent(f.NS, h.Critical.WallNS)+" of the run", 12, parts)))
	}
	out = append(out, block{Table: g})
	return append(out, block{Details: &details{"Parts, ways and longest steps of the path", []block{{Table: h.pathParts(p)}, {Table: h.pathReasons(p)}, {Table: h.pathLongest(p)}}}})
}

// pathShares sums up a path in words.
func pathShares(p *critical.Path, wall int64) string {
	list := []string{words.Percent(p.Factors.U, wall) + " of it is useful work"}
	if l := p.Factors.L; l != nil && *l > 0 {
		list = append(list, words.Percent(*l, wall)+" messages on their way")
	}
	if o := p.Factors.O; o != nil && *o > 0 {
		list = append(list, words.Percent(*o, wall)+" overhead")
	}
	if p.Factors.W > 0 {
		list = append(list, words.Percent(p.Factors.W, wall)+" waiting")
	}
	unknown := wall - p.TailNS - p.Factors.U - p.Factors.W
	for _, ns := range []*int64{p.Factors.L, p.Factors.O} {
		if ns != nil {
			unknown -= *ns
		}
	}
	if unknown > 0 {
		list = append(list, words.Percent(unknown, wall)+" without a known cause")
	}
	if p.TailNS > 0 {
		list = append(list, words.Percent(p.TailNS, wall)+" after the last CF")
	}
	return strings.Join(list, ", ")
}

func pathLegend(p *critical.Path) (out []key) {
	seen := [slou.FactorLoss + 1]bool{}
	for i := range p.Steps {
		seen[p.Steps[i].Factor] = true
	}
	for i, f := range factorNames {
		if seen[slou.FactorU+slou.Factor(i)] {
			out = append(out, key{strings.ToLower(f.letter), f.name})
		}
	}
	if seen[slou.FactorLoss] {
		out = append(out, key{"x", "not recorded"})
	}
	return out
}

// pathClasses are those of factors, by slou.Factor.
var pathClasses = [slou.FactorLoss + 1]string{slou.FactorU: "u", slou.FactorS: "s", slou.FactorL: "l", slou.FactorO: "o", slou.FactorW: "w", slou.FactorLoss: "x"}

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
	f := svg.Frame{Label: "What the critical path was doing over time: " + pathShares(p, wall), Height: 90, X: svg.Time(float64(wall), 8), Y: svg.Percent()}
	return svg.Stack(f, svg.Windows{Count: n, Length: float64(length), Tip: func(i int) string {
		s := fmt.Sprintf("%s to %s", words.Duration(int64(i)*length), words.Duration(min(int64(i+1)*length, wall)))
		for k, f := range factorNames {
			if v := layers[k].Values[i]; v > 0 {
				s += fmt.Sprintf("\n%s %.0f %%", f.name, 100*v)
			}
		}
		return s
	}}, layers)
}

// strip draws the path as boxes on the workers it ran on, "" if it ran nowhere. Short neighbours are put together, with the
// worker and factor that most of them have.
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
		names = append(names, "others")
	}
	caption = "The worker on which the path went on. Point at a box to see its CF."
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
			tip = stepWords(&s)
		} else {
			joined++
			tip = fmt.Sprintf("%d short steps, %s to %s", k-i, words.Duration(p.Steps[i].From), words.Duration(p.Steps[k-1].To))
		}
		boxes = append(boxes, svg.Box{Lane: most(lane), From: float64(p.Steps[i].From), To: float64(p.Steps[k-1].To), Class: pathClasses[most(factors[:])], Tip: tip})
		i = k
	}
	if joined > 0 {
		caption += fmt.Sprintf(" Steps shorter than %s are put together.", words.Duration(short))
	}
	f := svg.Frame{Label: fmt.Sprintf("The critical path on %s over time", words.Count(int64(len(names)), "worker")), X: svg.Time(float64(h.Critical.WallNS), 8)}
	return svg.Lanes(f, names, boxes, true), caption
}

// stepWords describes a step for a tooltip.
func stepWords(s *critical.NamedStep) string {
	out := fmt.Sprintf("%s %s, %s from %s", s.Name, s.Kind, words.Duration(s.ToNS-s.FromNS), words.Duration(s.FromNS))
	if s.CF != "" {
		out += fmt.Sprintf("\n%s on worker %d.%d", s.CF, s.Node, s.Worker)
	}
	if s.DF != "" {
		out += "\nfor " + s.DF
	}
	return out
}

func (h *htmlFace) pathParts(p *critical.Path) *grid {
	g := newGrid("The path by part of a factor", "part", "#time", "#share|of the run", "#steps")
	for _, x := range p.Parts {
		f, part, _ := strings.Cut(x.Name, ".")
		g.row(word(x.Name+inWords(f, part)), timeCell(x.NS), shareCell(x.NS, h.Critical.WallNS), number(x.Count))
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
	"unknown": "what held up the next CF was not recorded",
	"start":   "the program made the first CF",
	"tail":    "after the last CF",
}

func (h *htmlFace) pathReasons(p *critical.Path) *grid {
	g := newGrid("How the path went on from CF to CF", "way", "#times", "#time on the way", "#ready before|for how long the CFs were ready before their worker was free")
	for _, x := range p.Reasons {
		words := reasonWords[x.Reason]
		if words == "" {
			words = x.Reason
		}
		g.row(word(words), number(x.Count), timeCell(x.NS), timeCell(x.ReadyNS))
	}
	return g
}

func (h *htmlFace) pathLongest(p *critical.Path) *grid {
	g := newGrid("The longest steps of the path", "#from", "#time", "what", "CF", "DF", "worker")
	for i := range p.Longest {
		s := &p.Longest[i]
		worker := ""
		if s.CF != "" {
			worker = fmt.Sprintf("%d.%d", s.Node, s.Worker)
		}
		g.row(timeCell(s.FromNS), timeCell(s.ToNS-s.FromNS), word(s.Name+" "+s.Kind), word(s.CF), word(s.DF), word(worker))
	}
	return g
}

func (h *htmlFace) bounds(k *critical.Work) []block {
	out := []block{
		{Heading: "What more workers would give"},
		para("%s", boundWords(k, h.Critical.WallNS)),
	}
	if len(k.Bounds) > 1 {
		g := newGrid("Bounds on the time with so many workers, if messages and the run-time system cost nothing", "#workers", "#at best", "#at worst|of any scheduler that leaves no worker idle while a CF is ready", "#speed-up at best", "#at worst")
		for _, b := range k.Bounds {
			row := []cell{number(b.Workers), timeCell(b.LeastNS), timeCell(b.GreedyNS), decimal(b.Speedup), decimal(b.Greedy)}
			if b.Workers == k.Own.Workers {
				row[0].Text += " (this run)"
			}
			g.row(row...)
		}
		out = append(out, block{Table: g})
	}
	if len(k.Chain) > 0 {
		g := newGrid(fmt.Sprintf("The longest chain of useful work, %s in %s: shorter only by faster or smaller CFs of these", words.Duration(k.TinfNS), words.Count(k.ChainCFs, "CF")), "code fragment", "#useful", "#share|of the chain")
		for _, c := range k.Chain {
			g.row(word(c.Code), timeCell(c.NS), shareCell(c.NS, k.TinfNS))
		}
		out = append(out, block{Table: g})
	}
	return out
}

// boundWords says what the bounds mean.
func boundWords(k *critical.Work, wall int64) string {
	s := fmt.Sprintf("All useful work together is %s, its longest chain %s: on average %.1f CFs could run side by side, so more than %s cannot help.",
		words.Duration(k.T1NS), words.Duration(k.TinfNS), k.Parallelism, words.Count(k.HelpfulWorkers, "worker"))
	s += fmt.Sprintf(" %s could do it in %s at best; the run took %s", words.Count(k.Own.Workers, "worker"), words.Duration(k.Own.LeastNS), words.Duration(wall))
	if k.LostNS > 0 {
		s += ", " + words.Duration(k.LostNS) + " more"
	}
	return s + "."
}

func (h *htmlFace) slack(list []critical.Fragment) *grid {
	g := newGrid("Slack by code fragment", "code fragment", "#CFs", "#useful", "#without slack", "#on the path", "#least|by how much any one of them could end later",
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
		g.row(word(f.Code), number(f.Count), timeCell(f.UsefulNS), number(f.Critical), number(f.OnPath), timeCell(f.MinNS), all, timeCell(f.MeanNS), timeCell(f.MaxNS))
	}
	return g
}
