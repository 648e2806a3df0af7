package svg

// Curve is a line through points, which are in the units of the frame's axes, from left to right.
type Curve struct {
	Class  string
	X, Y   []float64
	Points bool               // they are marked
	Tip    func(i int) string // tooltip of a point that is marked
}

// Curves draws lines through points.
func Curves(f Frame, list []Curve) string {
	d := open(f, f.Height, top)
	d.openPaths()
	for i := range list {
		c := &list[i]
		for k := range c.X {
			switch {
			case k > 0:
				d.add(`L`)
			case len(c.X) > 1:
				d.add(`<path class="%s line" d="M`, esc(c.Class))
			default:
				continue
			}
			d.add(`%s %s`, d.px(c.X[k]), d.py(value(c.Y, k)))
		}
		if len(c.X) > 1 {
			d.add(`"/>`)
		}
	}
	d.closePaths()
	for i := range list {
		c := &list[i]
		for k := range c.X {
			if c.Points {
				d.add(`<circle class="%s point" cx="%s" cy="%s" r="3.5"><title>%s</title></circle>`, esc(c.Class),
					d.x(c.X[k]), num(d.y(value(c.Y, k))), esc(c.Tip(k)))
			}
		}
	}
	return d.close()
}

// Key is an entry of a legend.
type Key struct{ Class, Text string }

// The margins of a file around its plot, in pixels.
const (
	left   = 56
	right  = 24
	lines  = 24 // per line of text
	letter = 8  // about as wide is one
)

// File makes a plot a picture of its own, so many pixels wide: with title lines above it, a legend below it,
// and a style sheet.
func File(width int, style string, title []string, plot string, height int, legend []Key) string {
	d := drawing{}
	above := lines*len(title) + 12
	type place struct{ x, y int }
	places := make([]place, len(legend))
	x, y := left, above+top+height+bottom+lines
	for i, k := range legend {
		if w := 34 + letter*len([]rune(k.Text)); x > left && x+w > width-right {
			x, y = left, y+lines
		}
		places[i] = place{x, y}
		x += 34 + letter*len([]rune(k.Text)) + 16
	}
	d.add(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d"><style>%s</style>`,
		width, y+lines, width, y+lines, style)
	d.add(`<rect class="back" width="100%%" height="100%%"/>`)
	for i, line := range title {
		class := "text"
		if i == 0 {
			class = "title"
		}
		d.add(`<text class="%s" x="%d" y="%d">%s</text>`, class, left, lines*(i+1), esc(line))
	}
	d.add(`<svg x="%d" y="%d" width="%d" height="%d" overflow="visible">%s</svg>`, left, above, width-left-right,
		top+height+bottom, plot)
	for i, k := range legend {
		p := places[i]
		d.add(`<line class="%s line" x1="%d" x2="%d" y1="%d" y2="%d"/><text class="text" x="%d" y="%d">%s</text>`,
			esc(k.Class), p.x, p.x+26, p.y-4, p.y-4, p.x+34, p.y, esc(k.Text))
	}
	d.add(`</svg>`)
	return d.String()
}
