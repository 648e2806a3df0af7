package cli

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/analysis/consistency"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// wrongClocks are tens of milliseconds off and drift by tens of millionths, each in another way; rank 0's is
// the right one. What is said of errors rests on what is said of the drift: as usual it would be less, and a
// comparison that is recorded late would be wrong by more than it says.
const wrongClocks = "1=20ms,30;2=-35ms,-40;3=50ms,15"

var wrongDrift = []float64{0, 30, -40, 15}

// TestMPIClocks makes the clocks of three of four ranks wrong and compares what becomes of their times with
// the clock that they share, the host's, which run.json pairs with each of theirs at the start and at the
// end.
func TestMPIClocks(t *testing.T) {
	needMPI(t)
	home, dir := lunaHome(t), t.TempDir()
	heat, err := filepath.Abs("../examples/heat/heat.fa")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ sync, more string }{{"off", ""}, {"start", ""},
		{"periodic", "--clock-precision 2us"}} {
		stdout, stderr, code, err := shell(dir, home, fmt.Sprintf(
			"mpirun -n 4 whyslow run -q -w 1 -o %s.trace --clock-sync %[1]s --clock-drift 50 %s --clock-skew '%s' %s "+
				"100 8 0.02 4", c.sync, c.more, wrongClocks, heat))
		if err != nil || code != 0 {
			if strings.Contains(stderr, "time-stamp counter") {
				t.Skip(stderr)
			}
			t.Fatalf("%s: exit code %d, %v\n%s%s", c.sync, code, err, stdout, stderr)
		}
		r, err := trace.Open(filepath.Join(dir, c.sync+".trace"))
		if err != nil {
			t.Fatal(err)
		}
		checkClocks(t, r, c.sync)
		r.Close()
		stdout, stderr, code, err = shell(dir, home, "whyslow doctor "+c.sync+".trace")
		if err != nil || code != 0 || !strings.Contains(stdout, "clock of node 3") || !strings.Contains(stdout,
			"after repair, as in reports:                0") {
			t.Errorf("exit code %d, %v\n%s%s", code, err, stdout, stderr)
		}
	}
}

func checkClocks(t *testing.T, r *trace.Reader, sync string) {
	ctx := context.Background()
	found, err := consistency.Check(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	if !found.Consistent || !found.Whole {
		t.Errorf("%s: %+v, %v", sync, found.Findings, found.Problems)
	}
	plain, err := model.Build(ctx, r, model.Options{Interpolated: true})
	if err != nil {
		t.Fatal(err)
	}
	m, err := model.Build(ctx, r, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	k := m.Clocks
	t.Logf("%s: of %d messages, received before they were sent: raw %d, by up to %.1f us; interpolated %d, by "+
		"up to %.1f us; repaired %d",
		sync, k.Messages, k.Raw.Count, us(k.Raw.LargestNS), k.Interpolated.Count, us(k.Interpolated.LargestNS),
		k.Left.Count)
	if k.Messages == 0 || k.Raw.Count == 0 || k.Left.Count != 0 {
		t.Errorf("%s: %+v", sync, k)
	}
	zero := truthOf(t, r.Run(), 0)
	for n := 1; n < 4; n++ {
		own, clock := truthOf(t, r.Run(), n), found.Clocks[n]
		// The factors of two processes' counters are measured to some millionths each.
		if ppm := (zero.rate()/own.rate() - 1) * 1e6; math.Abs(ppm-wrongDrift[n]) > 14 {
			t.Errorf("%s: the clock of node %d drifts by %.1f ppm, meant were %.0f", sync, n, ppm, wrongDrift[n])
		}
		list := plain.Clock(n)
		if sync == "off" {
			if len(list) != 0 || clock.Compared != 0 {
				t.Errorf("off: node %d compared its clock: %+v", n, clock)
			}
			continue
		}
		if len(list) < 2 {
			t.Fatalf("%s: node %d compared its clock %d times", sync, n, len(list))
		}
		begin, end := list[0].Time, list[len(list)-1].Time
		// errors are the mean and the largest difference between a way to correct times and the truth.
		errors := func(list []model.ClockSync) (mean, largest float64) {
			const samples = 500
			for i := range samples {
				at := begin + (end-begin)*int64(i)/(samples-1)
				d := math.Abs(float64(model.Common(at, list) - zero.own(own.host(at))))
				mean, largest = mean+d/samples, max(largest, d)
			}
			return mean, largest
		}
		for _, way := range []struct {
			name string
			list []model.ClockSync
		}{{"none", nil}, {"the first", list[:1]}, {"the first and the last",
			[]model.ClockSync{list[0], list[len(list)-1]}}, {"all", list}, {"as in reports", m.Clock(n)}} {
			mean, largest := errors(way.list)
			t.Logf("%s: node %d, %.3f s, %d comparisons, error at most %.2f us; used: %s; error mean %.2f us, "+
				"largest %.2f us",
				sync, n, float64(end-begin)/1e9, len(list), us(clock.ErrorNS), way.name, mean/1e3, largest/1e3)
		}
		// The bound of the comparisons, what the truth itself is uncertain by, and a microsecond, or one a second,
		// for the host's clock, which may be adjusted a little.
		limit := float64(clock.ErrorNS+own.uncertain+zero.uncertain) + 1000 + float64(end-begin)/1e6
		if _, largest := errors(list); largest > limit {
			t.Errorf("%s: node %d is off by up to %.0f ns, which must be at most %.0f", sync, n, largest, limit)
		}
		if _, largest := errors(m.Clock(n)); largest > limit+float64(clock.Repair.MovedNS) {
			t.Errorf("%s: node %d is off by up to %.0f ns after repair, which must be at most %.0f + %d", sync, n,
				largest, limit, clock.Repair.MovedNS)
		}
		first, _ := errors(list[:1])
		if mean, _ := errors(m.Clock(n)); n == 2 && mean > first+float64(clock.ErrorNS) {
			t.Errorf("%s: the mean error of node %d is %.0f ns, and %.0f with one comparison only", sync, n,
				mean, first)
		}
	}
}

func us(ns int64) float64 { return float64(ns) / 1e3 }

// truth is how a process's clock and that of its host go.
type truth struct {
	first, last trace.ClockPair
	uncertain   int64
}

func truthOf(t *testing.T, info *trace.RunInfo, node int) truth {
	t.Helper()
	list := info.Processes[info.Node(node).Process].Monotonic
	if len(list) != 2 || list[0].Own >= list[1].Own {
		t.Fatalf("node %d: %+v", node, list)
	}
	return truth{list[0], list[1], max(list[0].Uncertainty, list[1].Uncertainty)}
}

// rate is how fast the host's clock goes by the process's.
func (v truth) rate() float64 {
	return float64(v.last.Monotonic-v.first.Monotonic) / float64(v.last.Own-v.first.Own)
}

// host gives the host's time at a time of the process's clock.
func (v truth) host(own int64) int64 {
	return v.first.Monotonic + int64(float64(own-v.first.Own)*v.rate())
}

// own is the inverse of host.
func (v truth) own(host int64) int64 {
	return v.first.Own + int64(float64(host-v.first.Monotonic)/v.rate())
}
