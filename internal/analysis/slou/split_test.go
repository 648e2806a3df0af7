package slou_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// goldenOptions reads the name of a section of a golden that wants splits or windows: "split BY", "split BY
// max N", "windows N", "windows N ns".
func goldenOptions(name string) (opt slou.Options, ok bool) {
	var by, unit string
	if n, _ := fmt.Sscanf(name, "split %s max %d", &by, &opt.MaxGroups); n > 0 {
		opt.Splits = []string{by}
		return opt, true
	}
	var n int64
	if count, _ := fmt.Sscanf(name, "windows %d %s", &n, &unit); count > 0 {
		if unit == "ns" {
			opt.WindowNS = n
		} else {
			opt.Windows = int(n)
		}
		return opt, true
	}
	return opt, false
}

func computeText(t testing.TB, m *model.Model, opt slou.Options) string {
	res, err := slou.Compute(context.Background(), m, opt, procs.Alone())
	if err != nil {
		t.Fatal(err)
	}
	var s strings.Builder
	for _, split := range res.Splits {
		for _, g := range split.Groups {
			fmt.Fprintf(&s, "%s CFs=%d total=%d", g.Key, g.CFs, g.TotalNS)
			if g.LossNS != 0 {
				fmt.Fprintf(&s, " loss=%d", g.LossNS)
			}
			if f := g.Factors.U; f != nil && f.NS > 0 {
				fmt.Fprintf(&s, " U=%d", f.NS)
				if f.MeasuredNS > 0 {
					fmt.Fprintf(&s, " measured=%d", f.MeasuredNS)
				}
			}
			for i, f := range []*slou.Share{g.Factors.S, g.Factors.L, g.Factors.O, g.Factors.W} {
				if f == nil {
					continue
				}
				var parts []string
				for k, v := range f.Parts {
					if v != 0 {
						parts = append(parts, fmt.Sprintf(" %c.%s=%d", "SLOW"[i], k, v))
					}
				}
				slices.Sort(parts)
				s.WriteString(strings.Join(parts, ""))
			}
			s.WriteString("\n")
		}
	}
	if w := res.Windows; w != nil {
		fmt.Fprintf(&s, "%d of %d ns\n", w.Count, w.LengthNS)
		table := func(name string, rows []slou.Row, ns [][]int64) {
			for i, r := range rows {
				fmt.Fprintf(&s, "%s %s.%s %s\n", name, r.Factor, r.Part,
					strings.Trim(fmt.Sprint(ns[i]), "[]"))
			}
		}
		table("run", w.Rows, w.NS)
		for _, n := range w.Nodes {
			table(fmt.Sprint(n.Node), w.WorkerRows, n.NS)
			for _, worker := range n.Workers {
				table(fmt.Sprintf("%d.%d", n.Node, worker.Worker), w.WorkerRows, worker.NS)
			}
		}
	}
	return s.String()
}

// TestOptions: what cannot be done is told.
func TestOptions(t *testing.T) {
	m := sloutest.Build(t, golden(t, "figure1"))
	for _, c := range []struct {
		opt  slou.Options
		want string
	}{
		{slou.Options{Splits: []string{"hour"}}, `cannot split by "hour"; use node, worker, code or index:K`},
		{slou.Options{Splits: []string{"index:"}}, "cannot split by"},
		{slou.Options{Splits: []string{"index:-1"}}, "cannot split by"},
		{slou.Options{Windows: -1}, "neither can be negative"},
		{slou.Options{Windows: 1, WindowNS: 1}, "either the number of windows (1) or their length (1 ns)"},
	} {
		if _, err := slou.Compute(context.Background(), m, c.opt, procs.Alone()); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want %q", c.opt, err, c.want)
		}
	}
	long := sloutest.Build(t, "0 Global.onProgramStarted\n0 CF.onStarted 0.1\n9000000000 CF.onFinished "+
		"0.1\n9000000000 Global.onProgramFinished\n")
	if _, err := slou.Compute(context.Background(), long, slou.Options{WindowNS: 100},
		procs.Alone()); err == nil || !strings.Contains(err.Error(),
		"90000000 windows of 1 workers are too many") {
		t.Errorf("error %v", err)
	}
	for _, by := range []string{"node", "worker", "code", "index:0", "index:3"} {
		if err := slou.CheckBy(by); err != nil {
			t.Error(err)
		}
	}
}

// TestEmptyRun: a run without any time or any worker has empty splits and no windows.
func TestEmptyRun(t *testing.T) {
	for _, text := range []string{"#node 0\n", "0 Global.onProgramStarted\n0 Global.onProgramFinished\n"} {
		res, err := slou.Compute(context.Background(), sloutest.Build(t, text),
			slou.Options{Windows: 10, Splits: []string{"node", "worker", "code", "index:0"}}, procs.Alone())
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Splits) != 4 || res.Windows == nil || res.Windows.Count != 0 {
			t.Errorf("%+v %+v", res.Splits, res.Windows)
		}
		for _, s := range res.Splits[2:] {
			if len(s.Groups) != 0 {
				t.Errorf("by %s: %+v", s.By, s.Groups)
			}
		}
	}
}

// TestNullSplits: time of factors that cannot be computed is told as undivided in every group and window.
func TestNullSplits(t *testing.T) {
	text := `#run {"ended":"done"}` + "\n" + without(golden(t, "late_request"), "DF.onSent")
	res, err := slou.Compute(context.Background(), sloutest.Build(t, text),
		slou.Options{Windows: 7, Splits: []string{"node", "code"}}, procs.Alone())
	if err != nil {
		t.Fatal(err)
	}
	if res.UndividedNS == 0 || res.Factors.L != nil || res.Factors.O != nil {
		t.Fatalf("%+v", res.Factors)
	}
	for _, s := range res.Splits {
		undivided := int64(0)
		for _, g := range s.Groups {
			undivided += g.UndividedNS
			if g.Factors.L != nil || g.Factors.O != nil || g.Factors.U == nil {
				t.Errorf("%+v", g.Factors)
			}
		}
		if undivided != res.UndividedNS {
			t.Errorf("by %s: %d undivided, of %d", s.By, undivided, res.UndividedNS)
		}
	}
	undivided := int64(0)
	for _, v := range res.Windows.Factor(res.Windows.Rows, res.Windows.NS, "undivided") {
		undivided += v
	}
	if undivided != res.UndividedNS || res.Windows.Factor(res.Windows.Rows, res.Windows.NS, "O") != nil {
		t.Errorf("windows: %d undivided, of %d; rows %v", undivided, res.UndividedNS, res.Windows.Rows)
	}
}

// FuzzCheckBy: what is accepted is one of the three words or a small position.
func FuzzCheckBy(f *testing.F) {
	for _, by := range []string{"node", "worker", "code", "index:0", "index:65535", "index:65536", "index:+1",
		"index:1x", ""} {
		f.Add(by)
	}
	f.Fuzz(func(t *testing.T, by string) {
		err := slou.CheckBy(by)
		var k int
		_, scan := fmt.Sscanf(by, "index:%d", &k)
		want := by == "node" || by == "worker" || by == "code" || scan == nil && k >= 0 && k < 1<<16 &&
			strings.Trim(by[len("index:"):], "0123456789") == ""
		if (err == nil) != want {
			t.Errorf("%q: error %v", by, err)
		}
	})
}
