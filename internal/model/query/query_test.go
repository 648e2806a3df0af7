package query

import (
	"errors"
	"io/fs"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/trace"
)

func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []int
	}{{"", nil}, {"all", nil}, {"3", []int{3}}, {"0-2,7", []int{0, 1, 2, 7}}, {"7, 0-1 ,1", []int{0, 1, 7}}} {
		if got, err := Numbers(c.in, "node", 8); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q: %v, %v", c.in, got, err)
		}
	}
	for in, kind := range map[string]error{"x": fs.ErrInvalid, "3-1": fs.ErrInvalid, "1,,2": fs.ErrInvalid,
		"-1": fs.ErrInvalid, "1-": fs.ErrInvalid,
		"8": fs.ErrNotExist, "0-99999999": fs.ErrNotExist, "99999999999": fs.ErrInvalid} {
		if _, err := Numbers(in, "node", 8); !errors.Is(err, kind) {
			t.Errorf("%q: %v", in, err)
		}
	}
}

func TestLinksAndCFs(t *testing.T) {
	if l, err := ParseLink("2->0", 3); err != nil || l != (Link{2, 0}) {
		t.Error(l, err)
	}
	for in, kind := range map[string]error{"": fs.ErrInvalid, "1": fs.ErrInvalid, "1->": fs.ErrInvalid,
		"a->1": fs.ErrInvalid, "1->3": fs.ErrNotExist} {
		if _, err := ParseLink(in, 3); !errors.Is(err, kind) {
			t.Errorf("%q: %v", in, err)
		}
	}
	if cf, err := ParseCF("3.17"); err != nil || cf != trace.MakeCF(3, 17) {
		t.Error(cf, err)
	}
	for _, in := range []string{"", "3", "3.", ".3", "3.0", "65536.1", "0.281474976710656", "0.-1", "0.1.2"} {
		if _, err := ParseCF(in); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%q: %v", in, err)
		}
	}
}

func TestTimes(t *testing.T) {
	if err := Interval(1, 1); !errors.Is(err, fs.ErrInvalid) {
		t.Error(err)
	}
	if Shift(math.MaxInt64-1, 5) != math.MaxInt64 || Shift(math.MinInt64+1, -5) != math.MinInt64 ||
		Shift(3, 4) != 7 {
		t.Error("Shift leaves the range")
	}
}

func FuzzNumbers(f *testing.F) {
	for _, s := range []string{"", "all", "0-3,7", "0-7,0-7,0-7", "1-,2", "-", "٣"} {
		f.Add(s, 8)
	}
	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit = min(limit, 1000)
		list, err := Numbers(s, "node", limit)
		if err != nil {
			if !errors.Is(err, fs.ErrInvalid) && !errors.Is(err, fs.ErrNotExist) ||
				strings.Contains(err.Error(), "\n") {
				t.Fatalf("%q", err)
			}
			return
		}
		if !slices.IsSorted(list) || len(list) > limit && len(list) > 0 ||
			len(list) > 0 && (list[0] < 0 || list[len(list)-1] >= limit) {
			t.Fatalf("%q: %v", s, list)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"0->1", "0.17", "1->", "->", "65535.281474976710655"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if cf, err := ParseCF(s); err == nil {
			if again, err := ParseCF(cf.String()); err != nil || again != cf {
				t.Fatalf("%q: %v", s, cf)
			}
		}
		if l, err := ParseLink(s, 9); err == nil && (l.From < 0 || l.From >= 9 || l.To < 0 || l.To >= 9) {
			t.Fatalf("%q: %v", s, l)
		}
	})
}
