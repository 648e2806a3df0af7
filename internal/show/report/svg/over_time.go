package svg

// Layer is one of several quantities over the windows of a plot.
type Layer struct {
	Class  string
	Values []float64 // by window
}

// Line is a quantity over time. Low and High are the bounds of an area around it.
type Line struct {
	Class     string
	Values    []float64 // by window
	Low, High []float64
}

// Windows are the stretches of time of a plot: window i lasts from i x Length to (i+1) x Length, the last one
// to the end of the x axis.
type Windows struct {
	Count  int
	Length float64
	Tip    func(i int) string // tooltip, may be nil
}

func (w *Windows) end(i int, f *Frame) float64 {
	if i == w.Count-1 {
		return f.X.Max
	}
	return float64(i+1) * w.Length
}

// Stack draws layers upon each other, the first one at the bottom.
func Stack(f Frame, w Windows, layers []Layer) string {
	d := open(f, f.Height, top)
	d.openPaths()
	below := make([]float64, w.Count)
	for _, l := range layers {
		above := make([]float64, w.Count)
		for i := range above {
			above[i] = below[i] + value(l.Values, i)
		}
		d.area(w, l.Class, below, above)
		below = above
	}
	d.closePaths()
	d.hits(w)
	return d.close()
}

// Level draws a line and the area around it.
func Level(f Frame, w Windows, l Line) string {
	d := open(f, f.Height, top)
	d.openPaths()
	d.area(w, l.Class+" band", l.Low, l.High)
	if w.Count > 0 {
		d.add(`<path class="%s line" d="M0 %s`, esc(l.Class), d.py(value(l.Values, 0)))
		last := ""
		for i := range w.Count {
			if y := d.py(value(l.Values, i)); y != last {
				d.add(`V%s`, y)
				last = y
			}
			d.add(`H%s`, d.px(w.end(i, &f)))
		}
		d.add(`"/>`)
	}
	d.closePaths()
	d.hits(w)
	return d.close()
}

// area fills what is between two step functions. Nothing is drawn where they are equal everywhere.
func (d *drawing) area(w Windows, class string, below, above []float64) {
	some := false
	for i := range w.Count {
		some = some || value(above, i) > value(below, i)
	}
	if !some {
		return
	}
	d.add(`<path class="%s" d="M0 %s`, esc(class), d.py(value(above, 0)))
	for i := range w.Count {
		d.add(`V%sH%s`, d.py(value(above, i)), d.px(w.end(i, &d.frame)))
	}
	for i := w.Count - 1; i >= 0; i-- {
		d.add(`V%sH%s`, d.py(value(below, i)), d.px(float64(i)*w.Length))
	}
	d.add(`Z"/>`)
}

// hits are the tooltips of windows.
func (d *drawing) hits(w Windows) {
	if w.Tip == nil {
		return
	}
	for i := range w.Count {
		from, to := float64(i)*w.Length, w.end(i, &d.frame)
		d.rect("hit", d.x(from), num(100*share(to-from, d.frame.X.Max))+"%", 0, d.height, "", w.Tip(i))
	}
}

func value(list []float64, i int) float64 {
	if i < len(list) {
		return list[i]
	}
	return 0
}
