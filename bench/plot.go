package main

import (
	"bytes"
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// overheadPlot draws more CPU time by mode: a bar for each size of blocks with the 95 % interval of its
// median, and what the papers measured. A hundredth of a percent and seven hundred percent are to be seen in
// it, above and below zero, so the axis is linear about zero and logarithmic far from it.
type overheadPlot struct {
	modes []string // from top to bottom
	sizes []string
	bars  []overheadBar
	cited []citation
}

type overheadBar struct {
	mode, size        int
	median, low, high float64
}

type citation struct {
	mode      int
	low, high float64
}

// cited is what the papers measured, in percent of wall time.
var cited = map[recording][2]float64{functions: {2, 3}, memory: {8, 11}, both: {9, 13},
	lockedFunctions: {2, 3}, lockedMemory: {8, 11}, lockedBoth: {9, 13}, everything: {154.6, 154.6},
	naive: {698.3, 698.3}}

func place(list *[]string, name string) int {
	for i, n := range *list {
		if n == name {
			return i
		}
	}
	*list = append(*list, name)
	return len(*list) - 1
}

func (p *overheadPlot) add(size blocks, rec recording, more []float64) {
	known := len(p.modes)
	m := place(&p.modes, modes[rec].name)
	low, high := interval(more)
	if math.IsInf(low, 0) {
		low, high = median(more), median(more)
	}
	p.bars = append(p.bars, overheadBar{m,
		place(&p.sizes, fmt.Sprintf("blocks of %d x %d", size.size, size.size)), median(more), low, high})
	if c, ok := cited[rec]; ok && m == known {
		p.cited = append(p.cited, citation{m, c[0], c[1]})
	}
}

// aboutZero is a scale that is linear up to about a tenth and logarithmic beyond, on both sides of zero.
type aboutZero struct{}

func (aboutZero) Normalize(low, high, x float64) float64 {
	f := func(v float64) float64 { return math.Asinh(v / 0.2) }
	return (f(x) - f(low)) / (f(high) - f(low))
}

var barColors = []color.Color{color.RGBA{31, 119, 180, 255}, color.RGBA{255, 158, 74, 255},
	color.RGBA{148, 190, 140, 255}}

func (p *overheadPlot) svg() ([]byte, error) {
	pl, err := p.plot()
	if err != nil {
		return nil, err
	}
	canvas := vgsvg.New(vg.Points(760), vg.Points(float64(len(p.modes)*(len(p.sizes)*barWidth+8)+60)))
	pl.Draw(draw.New(canvas))
	var out bytes.Buffer
	_, err = canvas.WriteTo(&out)
	return out.Bytes(), err
}

const barWidth = 7 // points

func (p *overheadPlot) plot() (*plot.Plot, error) {
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"}
	pl := plot.New()
	pl.BackgroundColor = color.White
	pl.X.Label.Text = "more CPU time, %; lines with ends: 95 % intervals"
	pl.X.Scale = aboutZero{}
	ticks := plot.ConstantTicks{{Value: -10, Label: "-10"}, {Value: -1, Label: "-1"},
		{Value: -0.1, Label: "-0.1"}, {Value: 0, Label: "0"}, {Value: 0.1, Label: "0.1"},
		{Value: 0.5, Label: "0.5"}, {Value: 1, Label: "1"}, {Value: 10, Label: "10"}, {Value: 100, Label: "100"},
		{Value: 1000, Label: "1000"}}
	pl.X.Tick.Marker = ticks
	grid := plotter.NewGrid()
	grid.Horizontal.Color = nil
	grid.Vertical.Color = color.Gray{205}
	pl.Add(grid)
	rows := len(p.modes)
	at := func(mode, size int) float64 {
		return float64(rows-1-mode) + 0.5 - (float64(size)+0.5)/float64(len(p.sizes))*0.8 - 0.1
	}
	for size, name := range p.sizes {
		var whiskers errorPoints
		var sample *plotter.BarChart
		for _, b := range p.bars {
			if b.size != size {
				continue
			}
			bar, err := plotter.NewBarChart(plotter.Values{b.median}, vg.Points(barWidth))
			if err != nil {
				return nil, err
			}
			bar.Horizontal, bar.XMin, bar.Color, bar.LineStyle.Width = true, at(b.mode, size),
				barColors[size%len(barColors)], 0
			pl.Add(bar)
			sample = bar
			whiskers.XYs = append(whiskers.XYs, plotter.XY{X: b.median, Y: at(b.mode, size)})
			whiskers.XErrors = append(whiskers.XErrors, struct{ Low, High float64 }{b.median - b.low,
				b.high - b.median})
		}
		lines, err := plotter.NewXErrorBars(whiskers)
		if err != nil {
			return nil, err
		}
		pl.Add(lines)
		pl.Legend.Add(name, sample)
	}
	var points errorPoints
	for _, c := range p.cited {
		points.XYs = append(points.XYs, plotter.XY{X: (c.low + c.high) / 2, Y: float64(rows - 1 - c.mode)})
		points.XErrors = append(points.XErrors, struct{ Low, High float64 }{(c.high - c.low) / 2,
			(c.high - c.low) / 2})
	}
	if len(p.cited) > 0 {
		diamonds, err := plotter.NewScatter(points.XYs)
		if err != nil {
			return nil, err
		}
		diamonds.GlyphStyle = draw.GlyphStyle{Color: color.RGBA{180, 0, 0, 255}, Radius: vg.Points(3.5),
			Shape: draw.PyramidGlyph{}}
		ranges, err := plotter.NewXErrorBars(points)
		if err != nil {
			return nil, err
		}
		ranges.Color = diamonds.Color
		pl.Add(diamonds, ranges)
		pl.Legend.Add("the papers, more wall time", diamonds)
	}
	names := make([]string, rows)
	for i, n := range p.modes {
		names[rows-1-i] = n
	}
	pl.NominalY(names...)
	pl.Y.Min, pl.Y.Max = -0.6, float64(rows)-0.4
	pl.X.Min, pl.X.Max = math.Min(-1, pl.X.Min), math.Max(1000, pl.X.Max)
	pl.Legend.Top, pl.Legend.Left = true, false
	return pl, nil
}

// errorPoints are points with an interval in X.
type errorPoints struct {
	plotter.XYs
	plotter.XErrors
}
