package main

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func TestQuantile(t *testing.T) {
	s := []float64{5, 1, 4, 2, 3}
	for _, c := range []struct{ q, want float64 }{{0, 1}, {0.2, 1}, {0.21, 2}, {0.5, 3}, {0.95, 5}, {1, 5}} {
		if got := quantile(s, c.q); got != c.want {
			t.Errorf("quantile %v: %v, want %v", c.q, got, c.want)
		}
	}
	if got := quantile(nil, 0.5); !math.IsNaN(got) {
		t.Errorf("of nothing: %v", got)
	}
	if !slices.Equal(s, []float64{5, 1, 4, 2, 3}) {
		t.Error("the sample is changed")
	}
}

// Each run is compared to the two beside it, so that what drifts makes no difference.
func TestPairedCPU(t *testing.T) {
	got := pairedCPU([]float64{100, 100, 200}, []float64{101, 150})
	if !slices.Equal(got, []float64{1, 0}) {
		t.Errorf("%v", got)
	}
}

func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      string
	}{{-1, 0.9, "met"}, {-1, 1.1, "neither"}, {1.1, 2, "missed"}, {math.Inf(-1), math.Inf(1), "nothing"}} {
		if got := verdict(c.low, c.high, 1); !strings.HasPrefix(got, c.want) {
			t.Errorf("%v to %v: %q, want %q", c.low, c.high, got, c.want)
		}
	}
}

func TestStatCPU(t *testing.T) {
	got, err := statCPU("7 (a) b) S 1 7 7 0 -1 4194560 100 0 0 0 123 45 6 7 20 0 5 0 100 0 0")
	if err != nil || got != 168e7 {
		t.Errorf("%v ns, %v; want 1.68e9", got, err)
	}
	for _, bad := range []string{"", "7 (a) S 1", "7 (a) S 1 7 7 0 -1 4194560 100 0 0 0 x y 6 7"} {
		if got, err := statCPU(bad); err == nil {
			t.Errorf("%q is read as %v", bad, got)
		}
	}
}

func TestStatusBytes(t *testing.T) {
	text := "Name:\tx\nVmHWM:\t    20 kB\nVmRSS:\t    10 kB\n"
	if now, peak, none := statusBytes(text, "VmRSS"), statusBytes(text, "VmHWM"),
		statusBytes(text, "VmX"); now != 10240 || peak != 20480 || none != 0 {
		t.Errorf("%v, %v, %v", now, peak, none)
	}
}
