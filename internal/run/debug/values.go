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

// Text shows a value in one line.
func Text(v cpp.Value) string {
	switch v.Type {
	case cpp.Int:
		return strconv.Itoa(int(v.Int()))
	case cpp.Real:
		return strconv.FormatFloat(v.Real(), 'g', -1, 64)
	case cpp.String:
		return strconv.Quote(v.Str())
	case cpp.Block:
		return hexText(v.Bytes())
	}
	return "(no value)"
}

// shownBytes is how much of raw data is shown in one line.
const shownBytes = 16

func hexText(b []byte) string {
	more := ""
	if len(b) > shownBytes {
		more = " ..."
	}
	return fmt.Sprintf("%d bytes: % x%s", len(b), b[:min(len(b), shownBytes)], more)
}

// Types of elements of raw data.
var elements = map[string]struct {
	size int
	get  func(b []byte) float64
}{
	"double": {8, func(b []byte) float64 { return math.Float64frombits(binary.NativeEndian.Uint64(b)) }},
	"float":  {4, func(b []byte) float64 { return float64(math.Float32frombits(binary.NativeEndian.Uint32(b))) }},
	"int":    {4, func(b []byte) float64 { return float64(int32(binary.NativeEndian.Uint32(b))) }},
	"long":   {8, func(b []byte) float64 { return float64(int64(binary.NativeEndian.Uint64(b))) }},
	"byte":   {1, func(b []byte) float64 { return float64(b[0]) }},
}

// shownElements is how many elements of a row, and how many rows, are shown.
const shownElements, shownRows = 8, 8

// As shows raw data as an array of a type, such as double, int[100] or double[100][100]: statistics, and its
// beginning.
func As(v cpp.Value, typ string) (string, error) {
	name, dims, _ := strings.Cut(strings.TrimSpace(typ), "[")
	e, ok := elements[name]
	if !ok {
		return "", fmt.Errorf("%s: elements are double, float, int, long or byte", typ)
	}
	if v.Type != cpp.Block {
		return "", errors.New("only raw data can be shown as an array")
	}
	b := v.Bytes()
	n := len(b) / e.size
	width := n
	if dims != "" {
		all := 1
		for _, text := range strings.Split(strings.TrimSuffix(dims, "]"), "][") {
			d, err := strconv.Atoi(text)
			if err != nil || d < 1 || d > n {
				return "", fmt.Errorf("%s: %d bytes are %d elements", typ, len(b), n)
			}
			if all, width = all*d, d; all > n {
				return "", fmt.Errorf("%s: %d bytes are %d elements", typ, len(b), n)
			}
		}
		n = all
	}
	least, most, sum, nans := math.Inf(1), math.Inf(-1), 0.0, 0
	for i := range n {
		x := e.get(b[i*e.size:])
		if math.IsNaN(x) {
			nans++
			continue
		}
		least, most, sum = min(least, x), max(most, x), sum+x
	}
	var s strings.Builder
	fmt.Fprintf(&s, "%d elements", n)
	if n > nans {
		fmt.Fprintf(&s, ", from %g to %g, mean %g", least, most, sum/float64(n-nans))
	}
	fmt.Fprintf(&s, ", %d NaN", nans)
	for row := 0; row < shownRows && row*width < n; row++ {
		s.WriteByte('\n')
		for i := range min(width, shownElements) {
			if i > 0 {
				s.WriteByte(' ')
			}
			fmt.Fprintf(&s, "%g", e.get(b[(row*width+i)*e.size:]))
		}
		if width > shownElements {
			s.WriteString(" ...")
		}
	}
	if width > 0 && n/width > shownRows {
		fmt.Fprintf(&s, "\n(%d more rows)", n/width-shownRows)
	}
	return s.String(), nil
}

// parseValue reads a value of a type.
func parseValue(text string, t cpp.Type) (cpp.Value, error) {
	text = strings.TrimSpace(text)
	switch t {
	case cpp.Int:
		n, err := strconv.ParseInt(text, 0, 32)
		if err != nil {
			return cpp.Value{}, fmt.Errorf("%s is no int of 32 bits", text)
		}
		return cpp.IntValue(int32(n)), nil
	case cpp.Real:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return cpp.Value{}, fmt.Errorf("%s is no real", text)
		}
		return cpp.RealValue(f), nil
	case cpp.String:
		if s, err := strconv.Unquote(text); err == nil {
			text = s
		}
		if strings.ContainsRune(text, 0) {
			return cpp.Value{}, errors.New("a string cannot contain a NUL")
		}
		return cpp.NewString(text), nil
	case cpp.Block:
		return cpp.Value{}, errors.New("raw data cannot be changed; an int, a real or a string can")
	}
	return cpp.Value{}, errors.New("it has no value yet")
}

// goValue is a value for expressions; raw data is copied.
func goValue(v cpp.Value) any {
	switch v.Type {
	case cpp.Int:
		return int(v.Int())
	case cpp.Real:
		return v.Real()
	case cpp.String:
		return v.Str()
	case cpp.Block:
		return append([]byte(nil), v.Bytes()...)
	}
	return nil
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
