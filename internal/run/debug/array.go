package debug

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/run/cpp"
)

// element is a type of elements of raw data.
type element struct {
	size int // bytes
	get  func(b []byte) float64
}

var elements = map[string]element{
	"double": {8, func(b []byte) float64 { return math.Float64frombits(binary.NativeEndian.Uint64(b)) }},
	"float": {4, func(b []byte) float64 {
		return float64(math.Float32frombits(binary.NativeEndian.Uint32(b)))
	}},
	"int":  {4, func(b []byte) float64 { return float64(int32(binary.NativeEndian.Uint32(b))) }},
	"long": {8, func(b []byte) float64 { return float64(int64(binary.NativeEndian.Uint64(b))) }},
	"byte": {1, func(b []byte) float64 { return float64(b[0]) }},
}

// Array is raw data seen as an array of a type. It borrows the data.
type Array struct {
	Dims []int // at least one; the last is the length of a row
	of   element
	raw  []byte
}

// ArrayOf sees raw data as an array of a type, such as double, int[100] or double[100][100]. Without
// dimensions it has as many elements as there is room for.
func ArrayOf(v cpp.Value, typ string) (*Array, error) {
	name, dims, _ := strings.Cut(strings.TrimSpace(typ), "[")
	e, ok := elements[name]
	if !ok {
		return nil, fmt.Errorf("%s: elements are double, float, int, long or byte", typ)
	}
	if v.Type != cpp.Block {
		return nil, errors.New("only raw data can be shown as an array")
	}
	a := &Array{of: e, raw: v.Bytes()}
	n, all := len(a.raw)/e.size, 1
	if dims == "" {
		a.Dims = []int{n}
		return a, nil
	}
	for _, text := range strings.Split(strings.TrimSuffix(dims, "]"), "][") {
		d, err := strconv.Atoi(text)
		if err != nil || d < 1 || d > n || all*d > n {
			return nil, fmt.Errorf("%s: %d bytes are %d elements", typ, len(a.raw), n)
		}
		all *= d
		a.Dims = append(a.Dims, d)
	}
	return a, nil
}

// Len is the number of elements.
func (a *Array) Len() int { return a.Rows() * a.Width() }

// Width is the length of a row.
func (a *Array) Width() int { return a.Dims[len(a.Dims)-1] }

// Rows is the number of rows, of all dimensions but the last.
func (a *Array) Rows() int {
	n := 1
	for _, d := range a.Dims[:len(a.Dims)-1] {
		n *= d
	}
	return n
}

// At is element i, counted row by row.
func (a *Array) At(i int) float64 { return a.of.get(a.raw[i*a.of.size:]) }

// Statistics of the elements of an array. NaNs do not count for the least, the greatest and the mean, which
// are 0 where there is nothing else.
type Statistics struct {
	Least, Most, Mean float64
	NaNs              int
}

// Statistics looks at all elements.
func (a *Array) Statistics() (s Statistics) {
	n := a.Len()
	least, most, sum := math.Inf(1), math.Inf(-1), 0.0
	for i := range n {
		x := a.At(i)
		if math.IsNaN(x) {
			s.NaNs++
			continue
		}
		least, most, sum = min(least, x), max(most, x), sum+x
	}
	if n > s.NaNs {
		s.Least, s.Most, s.Mean = least, most, sum/float64(n-s.NaNs)
	}
	return s
}

// shownElements is how many elements of a row, and how many rows, are shown.
const shownElements, shownRows = 8, 8

// As shows raw data as an array of a type, see ArrayOf: statistics, and its beginning.
func As(v cpp.Value, typ string) (string, error) {
	a, err := ArrayOf(v, typ)
	if err != nil {
		return "", err
	}
	var s strings.Builder
	n, st := a.Len(), a.Statistics()
	fmt.Fprintf(&s, "%d elements", n)
	if n > st.NaNs {
		fmt.Fprintf(&s, ", from %g to %g, mean %g", st.Least, st.Most, st.Mean)
	}
	fmt.Fprintf(&s, ", %d NaN", st.NaNs)
	width := a.Width()
	for row := 0; row < shownRows && row*width < n; row++ {
		s.WriteByte('\n')
		for i := range min(width, shownElements) {
			if i > 0 {
				s.WriteByte(' ')
			}
			fmt.Fprintf(&s, "%g", a.At(row*width+i))
		}
		if width > shownElements {
			s.WriteString(" ...")
		}
	}
	if a.Rows() > shownRows {
		fmt.Fprintf(&s, "\n(%d more rows)", a.Rows()-shownRows)
	}
	return s.String(), nil
}

// arrayOf reads raw data in expressions.
func arrayOf(typ string, raw []byte) []float64 {
	e := elements[typ]
	list := make([]float64, len(raw)/e.size)
	for i := range list {
		list[i] = e.get(raw[i*e.size:])
	}
	return list
}

func doubles(raw []byte) []float64 { return arrayOf("double", raw) }
func floats(raw []byte) []float64  { return arrayOf("float", raw) }
func ints(raw []byte) []float64    { return arrayOf("int", raw) }
