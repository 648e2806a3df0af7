package debug

import (
	"bytes"
	"encoding/binary"
	"image/color"
	"image/png"
	"math"
	"testing"

	"github.com/whyslow/whyslow/internal/run/cpp"
)

// floatsOf gives raw data.
func floatsOf(list ...float64) (raw []byte) {
	for _, x := range list {
		raw = binary.NativeEndian.AppendUint64(raw, math.Float64bits(x))
	}
	return raw
}

// TestPicture looks at pictures: from black or a dot for the least element to white or @ for the greatest.
func TestPicture(t *testing.T) {
	v := cpp.NewBlock(floatsOf(0, 1, 2, math.NaN(), 4, 3))
	defer v.Release()
	a, err := ArrayOf(v, "double[2][3]")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := a.Picture(), ".-+\nN@#\n. is 0, @ is 4, N is NaN (1)"; got != want {
		t.Errorf("it is\n%s\nnot\n%s", got, want)
	}
	var file bytes.Buffer
	if err := a.PNG(&file); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(&file)
	if err != nil {
		t.Fatal(err)
	}
	if size := img.Bounds().Size(); size.X != 3 || size.Y != 2 {
		t.Fatalf("it has %v pixels", size)
	}
	grey := func(g uint8) color.RGBA { return color.RGBA{g, g, g, 255} }
	for i, want := range []color.RGBA{grey(0), grey(64), grey(128), {R: 255, A: 255}, grey(255), grey(192)} {
		if got := color.RGBAModel.Convert(img.At(i%3, i/3)); got != want {
			t.Errorf("element %d is %v, not %v", i, got, want)
		}
	}

	// What is too large is shown by means.
	large := make([]float64, 100*200)
	for i := range large {
		large[i] = float64(i / 200)
	}
	v2 := cpp.NewBlock(floatsOf(large...))
	defer v2.Release()
	if a, err = ArrayOf(v2, "double[100][200]"); err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split([]byte(a.Picture()), []byte("\n"))
	if len(lines) != mostLines+1 || len(lines[0]) != mostColumns || lines[0][0] != '.' || lines[mostLines-1][0] != '@' {
		t.Errorf("%d lines:\n%s", len(lines), bytes.Join(lines, []byte("\n")))
	}
}

// TestDifference compares values.
func TestDifference(t *testing.T) {
	block := func(list ...float64) cpp.Value { return cpp.NewBlock(floatsOf(list...)) }
	for _, c := range []struct {
		a, b      cpp.Value
		typ, want string // what is wrong begins with !
	}{
		{cpp.IntValue(3), cpp.IntValue(3), "", "they are equal: 3"},
		{cpp.IntValue(3), cpp.IntValue(1), "", "3 and 1: the second is larger by -2"},
		{cpp.RealValue(math.NaN()), cpp.RealValue(math.NaN()), "", "they are equal: NaN"},
		{cpp.NewString("a"), cpp.NewString("b"), "", `"a" and "b"`},
		{cpp.IntValue(3), cpp.RealValue(3), "", "!one is of type int, the other of type real"},
		{cpp.IntValue(3), cpp.IntValue(3), "int", "!only raw data can be shown as an array"},
		{block(1, 2), block(1, 2), "", "all are equal"},
		{block(1, 2), block(1, 2, 3), "double", "one has 2 elements, the other 3; of the first 2 all are equal"},
		{block(1, 2, 3, 4), block(1, 5, 3, 9), "double[2][2]",
			"2 of 4 elements differ, first at [0][1]: 2 and 5, most (by 5) at [1][1]: 4 and 9"},
		{block(1), block(2), "double[9]", "!double[9]: 8 bytes are 1 elements"},
	} {
		got, err := Difference(c.a, c.b, c.typ)
		if err != nil {
			got = "!" + err.Error()
		}
		if got != c.want {
			t.Errorf("%s and %s as %q: %q, not %q", Text(c.a), Text(c.b), c.typ, got, c.want)
		}
		c.a.Release()
		c.b.Release()
	}
}
