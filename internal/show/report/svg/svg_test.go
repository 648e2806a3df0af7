package svg

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/words"
)

func labels(a Axis) string {
	var s []string
	for _, t := range a.Ticks {
		s = append(s, t.Text)
	}
	return strings.Join(s, ", ")
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		axis Axis
		want string
	}{
		{Time(words.English, 81e6, 8), "0, 20 ms, 40 ms, 60 ms, 80 ms"},
		{Time(words.English, 1.45e9, 8), "0, 0.2 s, 0.4 s, 0.6 s, 0.8 s, 1.0 s, 1.2 s, 1.4 s"},
		{Time(words.English, 60e3, 8), "0, 10 µs, 20 µs, 30 µs, 40 µs, 50 µs, 60 µs"},
		{Time(words.English, 7, 8), "0, 1 ns, 2 ns, 3 ns, 4 ns, 5 ns, 6 ns, 7 ns"},
		{Time(words.English, 1, 8), "0, 0.2 ns, 0.4 ns, 0.6 ns, 0.8 ns, 1.0 ns"},
		{Time(words.English, 150e9, 8), "0, 20 s, 40 s, 60 s, 80 s, 100 s, 120 s, 140 s"},
		{Time(words.English, 600e9, 8), "0, 2 min, 4 min, 6 min, 8 min, 10 min"},
		{Time(words.English, 2.6*3600e9, 8), "0, 30 min, 1 h, 1 h 30, 2 h, 2 h 30"},
		{Time(words.English, 40*86400e9, 8), "0, 5 d, 10 d, 15 d, 20 d, 25 d, 30 d, 35 d, 40 d"},
		{Bytes(words.English, 1.2e6, 4), "0, 0.5 MB, 1.0 MB"},
		{Bytes(words.English, 800, 4), "0, 200 B, 400 B, 600 B, 800 B"},
		{Count(4, 4), "0, 1, 2, 3, 4"},
		{Count(1, 4), "0, 0.5, 1.0"},
		{Count(1100, 4), "0, 500, 1000"},
		{Count(4e6, 4), "0, 1M, 2M, 3M, 4M"},
		{Count(0, 4), ""},
		{Count(math.NaN(), 4), ""},
		{Count(math.Inf(1), 4), ""},
		{Percent(), "0 %, 25 %, 50 %, 75 %, 100 %"},
	} {
		if got := labels(c.axis); got != c.want {
			t.Errorf("up to %g: %s, want %s", c.axis.Max, got, c.want)
		}
	}
}

// TestTicksAlways: there are a few ticks for every maximum, evenly spaced and all different.
func TestTicksAlways(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		maximum := math.Exp(rapid.Float64Range(0, 42).Draw(t, "log"))
		n := rapid.IntRange(2, 10).Draw(t, "n")
		for name, a := range map[string]Axis{"time": Time(words.English, maximum, n),
			"bytes": Bytes(words.English, maximum, n), "count": Count(maximum, n)} {
			if len(a.Ticks) < 2 || len(a.Ticks) > 2*n+2 {
				t.Fatalf("%s: %d ticks up to %g: %.200s", name, len(a.Ticks), maximum, labels(a))
			}
			seen := map[string]bool{}
			for _, tick := range a.Ticks {
				if seen[tick.Text] {
					t.Fatalf("%s: %q twice: %s", name, tick.Text, labels(a))
				}
				seen[tick.Text] = true
			}
		}
	})
}

var (
	numeric = map[string]bool{"x": true, "y": true, "x1": true, "x2": true, "y1": true, "y2": true,
		"width": true, "height": true, "fill-opacity": true}
	inPath = regexp.MustCompile(`-?[0-9.]+|[A-Za-z]+`)
)

// check reads a drawing as XML and tells whether all its numbers are some, and those of rectangles none below
// zero.
func check(t *rapid.T, drawing string) {
	d := xml.NewDecoder(strings.NewReader(drawing))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%v: %s", err, drawing)
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		for _, a := range e.Attr {
			switch {
			case a.Name.Local == "d":
				for _, s := range inPath.FindAllString(a.Value, -1) {
					if _, err := strconv.ParseFloat(s, 64); err != nil && !strings.Contains("MHVLZ", s) || s == "NaN" {
						t.Fatalf("a path has %q: %s", s, a.Value)
					}
				}
			case numeric[a.Name.Local]:
				v, err := strconv.ParseFloat(strings.TrimSuffix(a.Value, "%"), 64)
				if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || e.Name.Local == "rect" && v < 0 ||
					strings.HasSuffix(a.Value, "%") && v > 100.001 {
					t.Fatalf("<%s> has %s=%q", e.Name.Local, a.Name.Local, a.Value)
				}
			case strings.HasPrefix(a.Name.Local, "on"), a.Name.Local == "style", a.Name.Local == "href":
				t.Fatalf("<%s> has an attribute %s", e.Name.Local, a.Name.Local)
			}
		}
	}
}

// TestDrawings: whatever the numbers and names, a drawing is well formed.
func TestDrawings(t *testing.T) {
	// Names come through Printable in the end; here too, as XML has no control characters.
	name := rapid.Map(rapid.String(), Printable)
	anything := rapid.OneOf(rapid.Float64(), rapid.Float64Range(0, 1e10),
		rapid.SampledFrom([]float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1)}))
	values := rapid.SliceOfN(anything, 0, 20)
	rapid.Check(t, func(t *rapid.T) {
		most := anything.Draw(t, "max")
		f := Frame{Label: name.Draw(t, "label"),
			Height: rapid.IntRange(0, 200).Draw(t, "height"), X: Time(words.English, most, 8),
			Y: Bytes(words.English, anything.Draw(t, "y"), 4)}
		w := Windows{Count: rapid.IntRange(0, 20).Draw(t, "windows"), Length: anything.Draw(t, "length"),
			Tip: func(int) string { return name.Draw(t, "tip") }}
		check(t, Stack(f, w, []Layer{{"u", values.Draw(t, "a")}, {"s", values.Draw(t, "b")}}))
		check(t, Level(f, w, Line{"u", values.Draw(t, "line"), values.Draw(t, "low"), values.Draw(t, "high")}))
		var boxes []Box
		var parts []Part
		names := []string{name.Draw(t, "lane"), "b", "c"}
		for i, v := range values.Draw(t, "parts") {
			parts = append(parts, Part{"u", v, name.Draw(t, "part")})
			boxes = append(boxes, Box{i % len(names), v, anything.Draw(t, "to"), "l", name.Draw(t, "box")})
		}
		check(t, Strip(name.Draw(t, "strip"), 12, parts))
		check(t, Lanes(f, names, boxes))
		heat := Heat{Class: func(int, int) string { return "u" }, Rows: names, Columns: names, Count: 3,
			RowHeight: 20,
			Max:       anything.Draw(t, "full"),
			Value:     func(int, int) float64 { return anything.Draw(t, "cell") }, Tip: func(int, int) string {
				return name.Draw(t, "cell's")
			}}
		check(t, heat.Draw(f))
		curve := Curve{"c0", values.Draw(t, "x"), values.Draw(t, "y"), true, func(int) string { return names[0] }}
		check(t, File(500, ".c0 { stroke: #000 }", names, Curves(f, []Curve{curve, {Class: "c1"}}), f.Height,
			[]Key{{"c0", names[0]}}))
	})
}

// TestStack works a small stack out.
func TestStack(t *testing.T) {
	got := Stack(Frame{Height: 100, X: Axis{Max: 25}, Y: Axis{Max: 2}}, Windows{Count: 3, Length: 10},
		[]Layer{{"u", []float64{1, 2, 0}}, {"s", []float64{1, 0, 1}}, {"l", nil}})
	for _, want := range []string{
		// From the left: above, then back below; the last window is half as long.
		`<path class="u" d="M0 500V500H4000V0H8000V1000H10000V1000H8000V1000H4000V1000H0Z"/>`,
		`<path class="s" d="M0 0V0H4000V0H8000V500H10000V1000H8000V0H4000V500H0Z"/>`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	if strings.Contains(got, `"l"`) {
		t.Errorf("a layer of nothing is drawn:\n%s", got)
	}
}

// TestLabels: labels are cut, their whole is the tooltip.
func TestLabels(t *testing.T) {
	got := Lanes(Frame{X: Axis{Max: 1}}, []string{"a_very_long_name_of_a_code_fragment"}, nil)
	if !strings.Contains(got, ">a_very_…<title>a_very_long_name_of_a_code_fragment</title>") {
		t.Errorf("%s", got)
	}
}

func FuzzPrintable(f *testing.F) {
	f.Add("a\x1b[31m\u202e<b>\xff\n")
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range Printable(s) {
			if r != '\n' && !unicode.IsPrint(r) {
				t.Errorf("%U in %q", r, s)
			}
		}
	})
}
