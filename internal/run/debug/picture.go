package debug

import (
	"cmp"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/run/cpp"
)

// shades are the characters of a picture, from the least element to the greatest; noNumber stands for NaNs.
const (
	shades   = ".:-=+*#%@"
	noNumber = 'N'
)

// Most characters and pixels of a picture; what is larger is shown by means of several elements.
const (
	mostColumns, mostLines = 72, 36
	mostPixels             = 4096
)

// cells are the means of the elements of an array, in a grid of at most so many columns and rows. A cell with
// a NaN is one.
func (a *Array) cells(columns, rows int) (means [][]float64) {
	h, w := a.Rows(), a.Width()
	columns, rows = min(columns, w), min(rows, h)
	for r := range rows {
		row := make([]float64, columns)
		for c := range columns {
			n := 0
			for y := r * h / rows; y < (r+1)*h/rows; y++ {
				for x := c * w / columns; x < (c+1)*w/columns; x++ {
					row[c] += a.At(y*w + x)
					n++
				}
			}
			row[c] /= float64(n)
		}
		means = append(means, row)
	}
	return means
}

// level is where a value lies between the least and the greatest, from 0 to below levels.
func (s *Statistics) level(v float64, levels int) int {
	if s.Most <= s.Least {
		return 0
	}
	x := (v/2 - s.Least/2) / (s.Most/2 - s.Least/2) // halves do not overflow
	if math.IsNaN(x) {
		x = 0 // an infinite one among them
	}
	return int(max(0, min(float64(levels-1), x*float64(levels))))
}

// Picture shows the array in characters, one line for a row or for several, and says what they mean.
func (a *Array) Picture() string {
	var b strings.Builder
	s := a.Statistics()
	for _, row := range a.cells(mostColumns, mostLines) {
		for _, v := range row {
			if math.IsNaN(v) {
				b.WriteByte(noNumber)
			} else {
				b.WriteByte(shades[s.level(v, len(shades))])
			}
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "%c is %g, %c is %g", shades[0], s.Least, shades[len(shades)-1], s.Most)
	if s.NaNs > 0 {
		fmt.Fprintf(&b, ", %c is NaN (%d)", noNumber, s.NaNs)
	}
	return b.String()
}

// PNG writes a picture in greys, from black for the least element to white for the greatest; NaNs are red.
func (a *Array) PNG(w io.Writer) error {
	s, cells := a.Statistics(), a.cells(mostPixels, mostPixels)
	img := image.NewRGBA(image.Rect(0, 0, len(cells[0]), len(cells)))
	for y, row := range cells {
		for x, v := range row {
			if math.IsNaN(v) {
				img.SetRGBA(x, y, color.RGBA{R: 255, A: 255})
				continue
			}
			g := uint8(s.level(v, 256))
			img.SetRGBA(x, y, color.RGBA{g, g, g, 255})
		}
	}
	return png.Encode(w, img)
}

// Difference says how two DFs differ; see Difference.
func (d *Debugger) Difference(a, b, typ string) (text string, err error) {
	var first cpp.Value
	if err = d.Value(a, func(v cpp.Value) error {
		first = v
		first.Retain()
		return nil
	}); err != nil {
		return "", err
	}
	defer first.Release()
	err = d.Value(b, func(v cpp.Value) (err error) {
		text, err = Difference(first, v, typ)
		return err
	})
	return text, err
}

// Difference says how two values differ: raw data is compared as arrays of a type (see ArrayOf), or else byte
// by byte. NaNs are equal to each other.
func Difference(a, b cpp.Value, typ string) (string, error) {
	if a.Type != b.Type {
		return "", fmt.Errorf("one is of type %v, the other of type %v", a.Type, b.Type)
	}
	switch {
	case a.Type == cpp.Block:
	case typ != "":
		return "", errors.New("only raw data can be shown as an array")
	case a.Type == cpp.String && a.Str() == b.Str(), a.Type == cpp.Int && a.Int() == b.Int(),
		a.Type == cpp.Real && same(a.Real(), b.Real()):
		return "they are equal: " + Text(a), nil
	case a.Type == cpp.Int:
		return fmt.Sprintf("%s and %s: the second is larger by %d", Text(a), Text(b),
			int64(b.Int())-int64(a.Int())), nil
	case a.Type == cpp.Real:
		return fmt.Sprintf("%s and %s: the second is larger by %g", Text(a), Text(b), b.Real()-a.Real()), nil
	default:
		return Text(a) + " and " + Text(b), nil
	}
	x, err := ArrayOf(a, cmp.Or(typ, "byte"))
	if err != nil {
		return "", err
	}
	y, err := ArrayOf(b, cmp.Or(typ, "byte"))
	if err != nil {
		return "", err
	}
	n, first, at, count, most := min(x.Len(), y.Len()), -1, 0, 0, -1.0
	for i := range n {
		p, q := x.At(i), y.At(i)
		if same(p, q) {
			continue
		}
		if count++; first < 0 {
			first, at = i, i
		}
		if by := math.Abs(q - p); by > most { // no difference of a NaN is
			most, at = by, i
		}
	}
	text := ""
	if x.Len() != y.Len() {
		text = fmt.Sprintf("one has %d elements, the other %d; of the first %d ", x.Len(), y.Len(), n)
	}
	if count == 0 {
		return text + "all are equal", nil
	}
	show := func(i int) string {
		return fmt.Sprintf("at %s: %g and %g", x.place(i), x.At(i), y.At(i))
	}
	text += fmt.Sprintf("%d of %d elements differ, first %s", count, n, show(first))
	if most >= 0 {
		text += fmt.Sprintf(", most (by %g) %s", most, show(at))
	}
	return text, nil
}

func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

// place is the index of element i in brackets.
func (a *Array) place(i int) string {
	var list []string
	for _, d := range slices.Backward(a.Dims) {
		list = append(list, fmt.Sprintf("[%d]", i%d))
		i /= d
	}
	slices.Reverse(list)
	return strings.Join(list, "")
}
