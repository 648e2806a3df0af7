package report

import (
	"fmt"
	"math"
	"strconv"

	"github.com/whyslow/whyslow/internal/analysis/simulate"
	"github.com/whyslow/whyslow/internal/show/report/svg"
	"github.com/whyslow/whyslow/internal/words"
)

// scalingStyle is the style sheet of a picture that stands alone.
const scalingStyle = `svg { font: 13px system-ui, sans-serif }
.plot { overflow: visible }
.back { fill: #fff } .title, .text { fill: #1b1e24 } .title { font-size: 15px; font-weight: 600 }
.tx { text-anchor: middle; fill: #5a6270 } .ty { text-anchor: end; fill: #5a6270 }
.grid { stroke: #d9dde3 } .axis { stroke: #5a6270 }
.line { fill: none; stroke-width: 2; vector-effect: non-scaling-stroke }
.c0 { stroke: #0072b2 } .c1 { stroke: #b35c00 } .c2 { stroke: #007a5a } .c3 { stroke: #a3467c }
.c4 { stroke: #5a5aa8 } .c5 { stroke: #6b6b1a }
.point { fill: #fff; stroke-width: 2 }
.work { stroke: #5a6270; stroke-dasharray: 6 4 } .chain { stroke: #a32d00; stroke-dasharray: 2 3 }
.pays { stroke: #5a6270; stroke-width: 1 }
@media (prefers-color-scheme: dark) {
.back, .point { fill: #16181d } .title, .text { fill: #e4e7ec } .tx, .ty { fill: #a3acba }
.grid { stroke: #39404b } .axis, .work, .pays { stroke: #a3acba } .chain { stroke: #ffa680 }
.c0 { stroke: #3e9fe0 } .c1 { stroke: #e8a04a } .c2 { stroke: #4fc39b } .c3 { stroke: #e089b8 }
.c4 { stroke: #a3a3f0 } .c5 { stroke: #cfcf6a } }
`

// MostCurves is how many a picture of scaling has at most.
const MostCurves = 6

// Scaling draws how much faster than recorded a program is predicted to be on more nodes, a curve for each
// number of workers, or on more workers; with the bounds that its work and its longest chain of CFs set, and
// where more stop to pay. Both scales double with every step. There are several numbers of nodes and at most
// MostCurves of workers, or several of workers.
func Scaling(p *Prediction, lang string) string {
	l := words.LangOf(lang)
	say := func(english, russian string, args ...any) string {
		return words.Say(english, russian, args...).In(l)
	}
	workersOf := map[int][]*simulate.Result{}
	var order []int
	for _, m := range p.Machines {
		if workersOf[m.Workers] == nil {
			order = append(order, m.Workers)
		}
		workersOf[m.Workers] = append(workersOf[m.Workers], m)
	}
	what, groups := say("nodes", "числу узлов"), [][]*simulate.Result{}
	of := func(m *simulate.Result) float64 { return math.Log2(float64(m.Nodes)) }
	if len(workersOf[order[0]]) > 1 {
		for _, w := range order {
			groups = append(groups, workersOf[w])
		}
	} else {
		what, groups = say("workers of each node", "числу рабочих потоков узла"), [][]*simulate.Result{p.Machines}
		of = func(m *simulate.Result) float64 { return math.Log2(float64(m.Workers)) }
	}
	recorded := float64(max(1, p.Recorded.WallNS))
	faster := func(ns int64) float64 { return math.Log2(recorded / float64(max(1, ns))) }

	// From the smallest machine to the largest, from the slowest prediction to a little above the best bound.
	fromX, toX := of(groups[0][0]), of(groups[0][len(groups[0])-1])
	fromY, toY := 0.0, 0.0
	for _, m := range p.Machines {
		fromY, toY = min(fromY, faster(m.WallNS)), max(toY, faster(m.LeastNS))
	}
	fromY, toY = math.Floor(fromY), math.Ceil(toY+0.05)
	frame := svg.Frame{Height: 320, X: svg.Axis{Max: toX - fromX}, Y: svg.Axis{Max: toY - fromY}}
	for _, m := range groups[0] {
		frame.X.Ticks = append(frame.X.Ticks, svg.Tick{At: of(m) - fromX,
			Text: strconv.Itoa(int(math.Exp2(of(m)) + 0.5))})
	}
	step := max(1, math.Ceil((toY-fromY)/8))
	for y := fromY; y <= toY; y += step {
		text := fmt.Sprintf("×%.0f", math.Exp2(y))
		if y < 0 {
			text = fmt.Sprintf("×1/%.0f", math.Exp2(-y))
		}
		frame.Y.Ticks = append(frame.Y.Ticks, svg.Tick{At: y - fromY, Text: text})
	}

	var curves []svg.Curve
	var legend []svg.Key
	chain := math.Inf(1)
	for k, group := range groups {
		c := svg.Curve{Class: "c" + strconv.Itoa(k), Points: true, Tip: func(i int) string {
			return say("%s: %s, at least %s", "%s: %s, не меньше %s", shapeOf(l, group[i]),
				words.Time(group[i].WallNS), words.Time(group[i].LeastNS))
		}}
		// It doubles with the workers: a straight line, up to the top.
		first, y := of(group[0])-fromX, faster(group[0].UsefulNS/int64(group[0].Nodes*group[0].Workers))-fromY
		end := min(toX-fromX, first+toY-fromY-y)
		work := svg.Curve{Class: "work", X: []float64{first, end}, Y: []float64{y, y + end - first}}
		for _, m := range group {
			c.X, c.Y = append(c.X, of(m)-fromX), append(c.Y, faster(m.WallNS)-fromY)
			chain = min(chain, faster(m.ChainNS)-fromY)
		}
		curves = append(curves, work, c)
		text := say("predicted", "предсказано")
		if len(groups) > 1 {
			text = say("predicted, workers of each node: %d", "предсказано, потоков в узле: %d", group[0].Workers)
		}
		legend = append(legend, svg.Key{Class: c.Class, Text: text})
	}
	bound := svg.Curve{Class: "chain", X: []float64{0, toX - fromX}, Y: []float64{chain, chain}}
	curves = append([]svg.Curve{bound}, curves...)
	legend = append(legend, svg.Key{Class: "work", Text: say("all work, divided by the workers",
		"вся работа, разделённая на рабочих")}, svg.Key{Class: "chain", Text: say("longest chain of CFs",
		"самая длинная цепочка ФВ")})
	title := []string{say("%s: times as fast as recorded, by %s",
		"%s: во сколько раз быстрее записанного, по %s", p.Program, what)}
	if best := simulate.Pays(p.Machines); best != nil {
		curves = append(curves, svg.Curve{Class: "pays", X: []float64{of(best) - fromX, of(best) - fromX},
			Y: []float64{0, toY - fromY}})
		legend = append(legend, svg.Key{Class: "pays", Text: say("more gains less than 5 %",
			"больше даёт меньше 5 %")})
	}
	title = append(title, say("Recorded on %s: %s.", "Записано на %s: %s.", shapeOf(l, &simulate.Result{
		Nodes: p.Recorded.Nodes, Workers: p.Recorded.Workers}), words.Time(p.Recorded.WallNS)))
	frame.Label = title[0]
	return svg.File(760, scalingStyle, title, svg.Curves(frame, curves), frame.Height, legend)
}

// shapeOf names a machine: "4 nodes x 2".
func shapeOf(l words.Lang, m *simulate.Result) string {
	return fmt.Sprintf("%s × %d", l.Count(int64(m.Nodes), words.Nouns["node"]), m.Workers)
}
