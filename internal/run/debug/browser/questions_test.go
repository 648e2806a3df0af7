package browser

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/run/cpp"
)

// FuzzContent shows whatever raw data as whatever type, from anywhere.
func FuzzContent(f *testing.F) {
	f.Add(make([]byte, 4800), "double[20][30]", 3, 2)
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xf8\x7f and more of it"), "double[2][2]", 1, 1)
	f.Add([]byte{0, 0, 0x80, 0x7f, 1, 2, 3, 4}, "float", 0, 9)
	f.Add([]byte{}, "int", math.MaxInt, math.MaxInt)
	f.Add([]byte("text"), "", 3, 0)
	f.Fuzz(func(t *testing.T, raw []byte, typ string, from, column int) {
		v := cpp.NewBlock(raw)
		defer v.Release()
		c := content{From: max(0, from)}
		if err := c.fill(v, typ, max(0, column)); err != nil {
			if strings.Contains(err.Error(), "\n") && !strings.Contains(typ, "\n") {
				t.Errorf("more than a line: %q", err)
			}
			return
		}
		if _, err := json.Marshal(c); err != nil {
			t.Fatal(err)
		}
		if len(c.Hex) > hexRows {
			t.Errorf("%d rows of bytes", len(c.Hex))
		}
		if c.Array == nil {
			return
		}
		if len(c.Array.Rows) > valueRows {
			t.Errorf("%d rows", len(c.Array.Rows))
		}
		if p := c.Array.Picture; p != nil && (len(p.Shades) != p.Width*p.Height || len(p.Shades) > mostSide*mostSide) {
			t.Errorf("%d shades of %d × %d pixels", len(p.Shades), p.Width, p.Height)
		}
	})
}

// TestPicture: the least element is 0, the greatest 254, what is no number 255.
func TestPicture(t *testing.T) {
	raw := make([]byte, 0, 48)
	for _, x := range []float32{1, 2, 3, float32(math.NaN()), 5, float32(math.Inf(1))} {
		b := math.Float32bits(x)
		raw = append(raw, byte(b), byte(b>>8), byte(b>>16), byte(b>>24))
	}
	v := cpp.NewBlock(raw)
	defer v.Release()
	c := content{}
	if err := c.fill(v, "float[2][3]", 1); err != nil {
		t.Fatal(err)
	}
	if got := string(c.Array.Picture.Shades); got != "\x00\x3f\x7f\xff\xfe\xff" {
		t.Errorf("% x", got)
	}
	if a := c.Array; a.Least != "1" || a.Most != "+Inf" || a.NaNs != 1 || strings.Join(a.Rows[1], " ") != "5 +Inf" {
		t.Errorf("%+v", a)
	}
}

// FuzzDo gives whatever arguments to actions of a program that has not begun.
func FuzzDo(f *testing.F) {
	f.Add("step", []byte(`{"cf":"0.1","node":0}`))
	f.Add("break", []byte(`{`))
	f.Add("dance", []byte(nil))
	f.Fuzz(func(t *testing.T, action string, args []byte) {
		if err := New().Do(action, args); err == nil {
			t.Errorf("%s did something", action)
		}
	})
}
