package svg

import "fmt"

// Part is a piece of a bar.
type Part struct {
	Class string
	Value float64
	Tip   string
}

// labelRunes is how much of a label fits into the left margin.
const labelRunes = 8

// Strip draws one bar of parts, without axes, to stand in a table or above one. height is in pixels.
func Strip(label string, height int, parts []Part) string {
	d := &drawing{height: float64(height)}
	sum := 0.0
	for _, p := range parts {
		sum += p.Value
	}
	d.frame.X.Max = sum
	d.add(`<svg class="strip" role="img" aria-label="%s" width="100%%" height="%d">`, esc(label), height)
	from := 0.0
	for _, p := range parts {
		if p.Value > 0 {
			d.rect(p.Class, d.x(from), num(100*share(p.Value, sum))+"%", 0, d.height, "", p.Tip)
			from += p.Value
		}
	}
	d.add(`</svg>`)
	return d.String()
}

// Heat draws a matrix of cells coloured by value: rows from the top, columns from the left. columns may be
// nil, where the x axis labels them. Cells without a value (0 or less) stay empty.
type Heat struct {
	Class         func(row, column int) string
	Rows, Columns []string
	RowHeight     int // pixels
	Value         func(row, column int) float64
	Max           float64 // value of the full colour
	Count         int     // columns
	Width         float64 // of a column as a share of the whole; 0: all columns fill it
	Tip           func(row, column int) string
	Text          func(row, column int) string // in the cells, may be nil
}

// levels is how many shades there are.
const levels = 12

// Draw draws the matrix.
func (h *Heat) Draw(f Frame) string {
	rh, above := h.RowHeight, top
	if h.Columns != nil {
		above = 26
	}
	d := open(f, max(len(h.Rows)*rh, 1), above)
	width := 100 / float64(max(h.Count, 1))
	if h.Width > 0 {
		width = 100 * h.Width
	}
	for c, name := range h.Columns {
		d.add(`<text class="tx" x="%s%%" y="-8">%s</text>`, num((float64(c)+0.5)*width), esc(name))
	}
	for r, name := range h.Rows {
		y := float64(r * rh)
		d.label(name, y+float64(rh)/2+4)
		for c := range h.Count {
			level := int(levels*share(h.Value(r, c), h.Max) + 0.5)
			if level == 0 && (h.Columns == nil || h.Value(r, c) <= 0) {
				continue
			}
			x := float64(c) * width
			d.rect(h.Class(r, c), num(x)+"%", num(min(width, 100-x))+"%", y+0.5, float64(rh)-1,
				fmt.Sprintf(` fill-opacity="%s"`, num(0.06+0.94*float64(level)/levels)), h.Tip(r, c))
			if h.Text != nil {
				d.add(`<text class="tc" x="%s%%" y="%s">%s</text>`, num((float64(c)+0.5)*width), num(y+float64(rh)/2+4),
					esc(h.Text(r, c)))
			}
		}
	}
	return d.close()
}

// Box is a stretch of time on a lane.
type Box struct {
	Lane     int
	From, To float64
	Class    string
	Tip      string
}

// Lanes draws boxes on lanes, as in a Gantt chart, each connected with the next one by a line.
func Lanes(f Frame, names []string, boxes []Box) string {
	const row = 22
	d := open(f, max(len(names)*row, row), top)
	for i, name := range names {
		y := float64(i * row)
		d.label(name, y+row/2+4)
		d.add(`<line class="grid" x1="0" x2="100%%" y1="%s" y2="%s"/>`, num(y+row-0.5), num(y+row-0.5))
	}
	if len(boxes) > 1 {
		d.openPaths()
		at := func(lane int) string { return num((float64(lane) + 0.5) / float64(len(names)) * high) }
		d.add(`<path class="join" d="`)
		for i := range boxes[1:] {
			a, b := &boxes[i], &boxes[i+1]
			if a.Lane != b.Lane {
				d.add(`M%s %sL%s %s`, d.px(a.To), at(a.Lane), d.px(b.From), at(b.Lane))
			}
		}
		d.add(`"/>`)
		d.closePaths()
	}
	for i := range boxes {
		b := &boxes[i]
		d.rect(b.Class, d.x(b.From), num(100*share(b.To-b.From, f.X.Max))+"%", float64(b.Lane*row)+3,
			row-6, "", b.Tip)
	}
	return d.close()
}

// label writes the name of a row into the left margin, cut to what fits; the whole is its tooltip.
func (d *drawing) label(s string, y float64) {
	if s == "" {
		return
	}
	short := []rune(s)
	if len(short) > labelRunes {
		short = append(short[:labelRunes-1:labelRunes-1], '…')
	}
	d.add(`<text class="tl" x="-6" y="%s">%s<title>%s</title></text>`, num(y), esc(string(short)), esc(s))
}
