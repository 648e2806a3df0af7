package clock

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestEstimate(t *testing.T) {
	for _, c := range []struct {
		samples           []Sample
		at, offset, bound int64
		ok                bool
	}{
		{nil, 0, 0, 0, false},
		{[]Sample{{100, 1000, 90}}, 0, 0, 0, false},
		{[]Sample{{100, 1000, 120}}, 110, 890, 10, true},
		{[]Sample{{100, 1000, 120}, {200, 1103, 206}, {300, 9999, 400}}, 203, 900, 3, true},
		{[]Sample{{100, -50, 100}}, 100, -150, 0, true},
		{[]Sample{{100, 50, 103}, {200, 160, 203}}, 101, -51, 2, true},
		{[]Sample{{-20, 0, 999_980}}, 499_980, -499_980, 500_100, true},
		{[]Sample{{math.MinInt64, 0, math.MaxInt64}}, 0, 0, 0, false},
	} {
		at, offset, bound, ok := Estimate(c.samples)
		if at != c.at || offset != c.offset || bound != c.bound || ok != c.ok {
			t.Errorf("%v: at %d offset %d bound %d %v, want %v", c.samples, at, offset, bound, ok, c)
		}
	}
}

// TestEstimateStaysWithinItsBound asks clocks that drift over ways as unlike as they can be.
func TestEstimateStaysWithinItsBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := rapid.Int64Range(-1e11, 1e11).Draw(t, "offset")
		drift := rapid.Int64Range(-100, 100).Draw(t, "ppm")
		other := func(own int64) int64 { return own + base + own*drift/1e6 }
		now := rapid.Int64Range(-1e10, 1e10).Draw(t, "start")
		var samples []Sample
		for range rapid.IntRange(1, 20).Draw(t, "samples") {
			there := now + rapid.Int64Range(0, 1e6).Draw(t, "out")
			back := there + rapid.Int64Range(0, 1e6).Draw(t, "back")
			samples = append(samples, Sample{now, other(there), back})
			now = back + rapid.Int64Range(0, 1e6).Draw(t, "pause")
		}
		at, offset, bound, ok := Estimate(samples)
		if !ok {
			t.Fatal("no estimate")
		}
		if d := at + offset - other(at); d > bound+1 || -d > bound+1 {
			t.Fatalf("off by %d, bound %d", d, bound)
		}
	})
}

// TestSkew makes the clock of another process wrong.
func TestSkew(t *testing.T) {
	if Name() != "tsc" {
		if err := Skew(time.Second, 0); err == nil {
			t.Error("a monotonic clock was made a wrong one")
		}
		t.Skip("no time-stamp counter")
	}
	if err := Skew(time.Second, 5); err == nil {
		t.Error("a clock in use was made a wrong one")
	}
	for _, ppm := range []float64{math.NaN(), math.Inf(1), 1e6} {
		if err := Skew(0, ppm); err == nil {
			t.Errorf("a drift of %g", ppm)
		}
	}
	for _, c := range []struct {
		offset time.Duration
		ppm    float64
	}{{0, 0}, {50 * time.Millisecond, 40}, {-70 * time.Millisecond, -3000}, {0, 50_000}} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestSkewHelper$", "-test.v")
		cmd.Env = append(os.Environ(), fmt.Sprintf("CLOCK_SKEW=%d %g", int64(c.offset), c.ppm))
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS") {
			t.Errorf("%v: %v\n%s", c, err, out)
		}
	}
}

// TestSkewHelper is the other process.
func TestSkewHelper(t *testing.T) {
	env := os.Getenv("CLOCK_SKEW")
	if env == "" {
		t.Skip("started by TestSkew")
	}
	var offset int64
	var ppm float64
	if _, err := fmt.Sscan(env, &offset, &ppm); err != nil {
		t.Fatal(err)
	}
	err := Skew(time.Duration(offset), ppm)
	if err != nil || Name() != "tsc" {
		t.Fatal(err, Name())
	}
	if Skew(0, 0) == nil {
		t.Fatal(errors.New("skewed twice"))
	}
	TestParamsConvertAsNowDoes(t)
	// Long enough for a large drift to show beside the error of the calibration. That is
	// taken to be of two readings, 4 ms apart, each as uncertain as this one.
	time.Sleep(30 * time.Millisecond)
	own, mono, uncertain := Pair()
	since := float64(mono - firstNS)
	want := float64(firstNS-start) + float64(offset) + since*(1+ppm/1e6)
	if d := math.Abs(float64(own) - want); d > 5000+since*(50e-6+2*float64(uncertain)/4e6)+float64(uncertain) {
		t.Errorf("%d, want %.0f: off by %.0f ns after %.0f", own, want, d, since)
	}
}

func TestPair(t *testing.T) {
	own, mono, uncertain := Pair()
	later, monoLater, uncertainLater := Pair()
	d := (later - own) - (monoLater - mono)
	if limit := 2000 + uncertain + uncertainLater + (monoLater-mono)/maxDrift; d > limit || -d > limit {
		t.Errorf("own clock %d ns, monotonic %d ns", later-own, monoLater-mono)
	}
}
