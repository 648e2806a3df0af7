// Package svg draws the plots of the HTML report as inline SVG: stacks and lines over time, boxes on lanes,
// heat maps and strips.
//
// A plot is as wide as the page leaves it and its text stays of one size: horizontal positions are
// percentages of the svg element, which is as wide as the plotting area, vertical ones are pixels, and only
// paths, which know no percentages, are stretched. What stands beside the plotting area overflows into
// margins that the page's style sheet leaves. It also gives the colours, for light, dark and print, to
// classes. Those used here are
//
//	plot          the whole
//	grid, axis    lines
//	tx, ty, tl    text: under the x axis, beside the y axis, labels of rows; odd: left out where room is short
//	hit           invisible, carries a tooltip
//	line, band    added to a class of the caller for lines and the areas around them
//	join          what connects boxes
//
// The others are the caller's. Nothing needs a script; tooltips are title elements. All text is escaped.
package svg

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// Frame is what all plots have in common.
type Frame struct {
	Label  string // text alternative: what the plot shows, and its main points
	Height int    // of the plotting area, in pixels; plots with rows have that of these
	X, Y   Axis
}

// Axis is a scale from 0 to Max. An axis without Max has no ticks.
type Axis struct {
	Max   float64
	Ticks []Tick
}

// Tick is a labelled place of an axis, in the unit of Axis.Max.
type Tick struct {
	At   float64
	Text string
}

// drawing is a plot in the making.
type drawing struct {
	strings.Builder
	frame  Frame
	height float64
}

func (d *drawing) add(format string, args ...any) { fmt.Fprintf(d, format, args...) }

const (
	top    = 8  // pixels above the plotting area
	bottom = 22 // below it, for the labels of the x axis
	wide   = 10000
	high   = 1000
)

// open begins a plot: axes and grid.
func open(f Frame, height, above int) *drawing {
	d := &drawing{frame: f, height: float64(height)}
	below := bottom
	if len(f.X.Ticks) == 0 {
		below = 6
	}
	d.add(`<svg class="plot" role="img" aria-label="%s" height="%d"><g transform="translate(0,%d)">`,
		esc(f.Label), above+height+below, above)
	for _, t := range f.Y.Ticks {
		y := d.y(t.At)
		d.add(`<line class="grid" x1="0" x2="100%%" y1="%s" y2="%s"/><text class="ty" x="-6" y="%s">%s</text>`,
			num(y), num(y), num(y+4), esc(t.Text))
	}
	for i, t := range f.X.Ticks {
		x, class := d.x(t.At), "tx"
		if i%2 == 1 {
			class = "tx odd"
		}
		d.add(`<line class="grid" x1="%s" x2="%s" y1="0" y2="%d"/><text class="%s" x="%s" y="%d">%s</text>`, x, x,
			height, class, x, height+16, esc(t.Text))
	}
	return d
}

func (d *drawing) close() string {
	if len(d.frame.X.Ticks) > 0 {
		d.add(`<line class="axis" x1="0" x2="100%%" y1="%s" y2="%s"/>`, num(d.height), num(d.height))
	}
	d.add(`</g></svg>`)
	return d.String()
}

// x is a horizontal position, as a percentage.
func (d *drawing) x(v float64) string { return num(100*share(v, d.frame.X.Max)) + "%" }

// y is a vertical position in pixels.
func (d *drawing) y(v float64) float64 { return d.height * (1 - share(v, d.frame.Y.Max)) }

// px and py are positions in stretched paths.
func (d *drawing) px(v float64) string { return num(math.Round(wide * share(v, d.frame.X.Max))) }
func (d *drawing) py(v float64) string { return num(math.Round(high * (1 - share(v, d.frame.Y.Max)))) }

// paths are stretched to fill the plotting area.
func (d *drawing) openPaths() {
	d.add(`<svg viewBox="0 0 %d %d" preserveAspectRatio="none" width="100%%" height="%s">`, wide, high,
		num(d.height))
}

func (d *drawing) closePaths() { d.add(`</svg>`) }

func (d *drawing) rect(class, x, width string, y, height float64, attributes, tip string) {
	d.add(`<rect class="%s" x="%s" y="%s" width="%s" height="%s"%s`, esc(class), x, num(y), width,
		num(height), attributes)
	if tip == "" {
		d.add(`/>`)
	} else {
		d.add(`><title>%s</title></rect>`, esc(tip))
	}
}

// share is v as a part of whole, between 0 and 1.
func share(v, whole float64) float64 {
	if q := v / whole; whole > 0 && q > 0 { // false where it is no number
		return min(q, 1)
	}
	return 0
}

// num writes a number with at most three decimals.
func num(v float64) string {
	s := strconv.FormatFloat(v, 'f', 3, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

func esc(s string) string { return html.EscapeString(s) }

// Printable replaces what cannot be shown or would change how its surroundings are shown: control characters,
// invalid UTF-8, marks that turn the direction of writing.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, s)
}
