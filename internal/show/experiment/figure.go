package experiment

import (
	"fmt"
	"html"
	"strings"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/show/report/svg"
)

// The figures are files by themselves, for a page that cannot hold SVG: with their own style sheet, which
// follows the reader's choice of light or dark, a title and a legend around the plot.

const (
	figureWidth  = 760
	figureHead   = 56 // title and legend
	figureHeight = 240
)

var figureStyle = `
.page { --back: #ffffff; --text: #1b1e24; --faint: #5a6270; --rule: #d9dde3` +
	colours(false) + ` }
@media (prefers-color-scheme: dark) {
.page { --back: #16181d; --text: #e4e7ec; --faint: #a3acba; --rule: #39404b` +
	colours(true) + ` } }
text { font: 11.5px system-ui, sans-serif; fill: var(--faint) }
.title { font-size: 14px; font-weight: 600; fill: var(--text) }
.key { fill: var(--text) }
.back { fill: var(--back) }
.in { overflow: visible }
.tx { text-anchor: middle } .ty { text-anchor: end }
.grid { stroke: var(--rule) } .axis { stroke: var(--faint) }
.u { fill: var(--u) } .s { fill: var(--s) } .l { fill: var(--l) } .o { fill: var(--o) }
.hit { fill: none; pointer-events: all }
`

// layers are the factors of a figure, from the bottom. There is nothing that CFs of these programs wait for
// in W.
var layers = []struct {
	class, name string
	time        factor
}{
	{"u", "U useful", func(r *Run) int64 { return r.UNS }},
	{"s", "S starvation", starvation},
	{"l", "L latency", latency},
	{"o", "O overhead", func(r *Run) int64 { return r.ONS }},
}

// colours defines the colours of the layers.
func colours(dark bool) (css string) {
	for i := range layers {
		info := slou.Factor(i).Info()
		css += "; --" + info.Class + ": "
		if dark {
			css += info.Dark
		} else {
			css += info.Light
		}
	}
	return css
}

// slots is how many windows of the plot a point takes; the last one is the gap to the next point.
const slots = 6

// figure draws the processor time of each point, divided into factors.
func (e *Experiment) figure() string {
	most := int64(0)
	for _, p := range e.Points {
		most = max(most, p.Median().Sum())
	}
	frame := svg.Frame{Label: e.alternative(), Height: figureHeight, Y: svg.Time(0, float64(most)*1.02, 6)}
	frame.X.Max = float64(len(e.Points))
	for i, p := range e.Points {
		frame.X.Ticks = append(frame.X.Ticks, svg.Tick{At: float64(i) + 0.5 - 0.5/slots, Text: p.Label})
	}
	var stack []svg.Layer
	for _, l := range layers {
		layer := svg.Layer{Class: l.class, Values: make([]float64, slots*len(e.Points))}
		for i, p := range e.Points {
			for j := range slots - 1 {
				layer.Values[slots*i+j] = float64(l.time(p.Median()))
			}
		}
		stack = append(stack, layer)
	}
	windows := svg.Windows{Count: slots * len(e.Points), Length: 1.0 / slots,
		Tip: func(i int) string { return e.tip(e.Points[i/slots]) }}

	height := figureHead + figureHeight + 60
	var b strings.Builder
	fmt.Fprintf(&b,
		`<svg xmlns="http://www.w3.org/2000/svg" class="page" width="%d" height="%d" viewBox="0 0 %d %d">`,
		figureWidth, height, figureWidth, height)
	fmt.Fprintf(&b, `<style>%s</style><rect class="back" width="100%%" height="100%%"/>`, figureStyle)
	fmt.Fprintf(&b, `<text class="title" x="60" y="22">%s</text>`,
		html.EscapeString(strings.ToUpper(e.Title[:1])+e.Title[1:]))
	x := 60
	for _, l := range layers {
		fmt.Fprintf(&b,
			`<rect class="%s" x="%d" y="34" width="12" height="12"/><text class="key" x="%d" y="44">%s</text>`,
			l.class, x, x+17, l.name)
		x += 120
	}
	fmt.Fprintf(&b, `<svg y="%d" width="%d" height="%d">%s</svg>`, figureHead, figureWidth, figureHeight+40,
		svg.Stack(frame, windows, stack))
	fmt.Fprintf(&b, `<text class="tx" x="%d" y="%d">%s</text></svg>`, 60+figureWidth*45/100, height-8,
		html.EscapeString(e.Parameter))
	return b.String() + "\n"
}

func (e *Experiment) tip(p *Point) string {
	r := p.Median()
	text := fmt.Sprintf("%s %s: %s of processor time", e.Parameter, p.Label, seconds(r.TotalNS))
	for _, l := range layers {
		text += fmt.Sprintf(", %s %s", l.name[:1], percent(float64(l.time(r))/float64(max(r.TotalNS, 1))))
	}
	return text
}

// alternative says what a figure shows, for those who do not see it.
func (e *Experiment) alternative() string {
	first, last := e.Points[0], e.Points[len(e.Points)-1]
	return fmt.Sprintf("processor time divided into useful work, starvation, latency and overhead. First, "+
		"last: %s; %s", e.tip(first), e.tip(last))
}
