package imbalance_test

import (
	"flag"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/analysis/imbalance"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

var update = flag.Bool("update", false, "rewrite the expected results (then check them on paper)")

// TestGolden looks at hand-written traces. Each file opens with its story, and the file windows says how many
// there are.
func TestGolden(t *testing.T) {
	sloutest.Goldens(t, *update, func(t *testing.T, files map[string]string) map[string]string {
		windows, err := strconv.Atoi(strings.TrimSpace(files["windows"]))
		if err != nil {
			t.Fatal(err)
		}
		return map[string]string{"result": text(compute(t, sloutest.Build(t, files["trace"]),
			imbalance.Options{Windows: windows}))}
	})
}

// number shows a number that may not be there.
func number(v *float64) string {
	if v == nil {
		return "null"
	}
	return strconv.FormatFloat(*v, 'g', 4, 64)
}

func whole(v *int64) string {
	if v == nil {
		return "null"
	}
	return strconv.FormatInt(*v, 10)
}

// text writes a result as goldens hold it.
func text(r *imbalance.Result) string {
	var s strings.Builder
	fmt.Fprintf(&s, "wall %d lost %s\n", r.WallNS, whole(r.LostNS))
	efficiency := func(of string, e *imbalance.Efficiency) {
		fmt.Fprintf(&s, "%s: %d workers, useful %d, most %d by %s\n  balance %s (between %s within %s) x "+
			"communication %s = %s\n ", of, e.Workers, e.UsefulNS,
			e.MaxNS, e.MaxWorker, number(e.LoadBalance), number(e.BetweenNodes), number(e.WithinNodes),
			number(e.Communication), number(e.Parallel))
		for _, x := range e.Steps {
			fmt.Fprintf(&s, " %s %d %s", x.Name, x.NS, number(x.Efficiency))
		}
		s.WriteString("\n")
	}
	if r.Efficiency != nil {
		efficiency("all", r.Efficiency)
	}
	for i := range r.Nodes {
		efficiency(fmt.Sprintf("node %d", r.Nodes[i].Node), &r.Nodes[i].Efficiency)
	}
	balance := func(of string, b *imbalance.Balance) {
		fmt.Fprintf(&s, "  %s: mean %d min %d max %d by %s imbalance %s (%s %%), count mean %.4g max %.4g, of", of,
			b.MeanNS, b.MinNS, b.MaxNS, b.Most,
			number(b.Imbalance), number(b.Percent), b.MeanCount, b.MaxCount)
		for _, x := range b.Of {
			fmt.Fprintf(&s, " %d/%d", x.UsefulNS, x.Count)
		}
		s.WriteString("\n")
	}
	fragment := func(f *imbalance.Fragment) {
		fmt.Fprintf(&s, "%q: %d in %d CFs, longest %d; excess %d waited %s, of what was lost %s, achievable %d\n",
			f.Code, f.UsefulNS, f.Count, f.LongestNS,
			f.ExcessNS, whole(f.WaitedNS), number(f.LostShare), f.AchievableNS)
		balance("workers", &f.Workers)
		balance("nodes", &f.Nodes)
	}
	if r.Total != nil {
		fragment(r.Total)
	}
	for i := range r.Fragments {
		fragment(&r.Fragments[i])
	}
	if t := r.Time; t != nil {
		fmt.Fprintf(&s, "%d windows of %d: useful %.4g\n", t.Windows, t.WindowNS, t.Useful)
		for _, n := range t.Nodes {
			fmt.Fprintf(&s, "  node %d: %.4g\n", n.Node, n.Useful)
		}
		for _, v := range t.Variations {
			fmt.Fprintf(&s, "  %s: differ by %.4g, most %v least %v, mean %.4g, largest %+v\n", v.Quantity,
				v.Difference, v.MaxNode, v.MinNode, v.Mean, v.Largest)
		}
	}
	if w := r.Weights; w != nil {
		fmt.Fprintf(&s, "weights: %.4g ns each; imbalance planned %s measured %s\n", w.NSPerWeight,
			number(w.PlannedImbalance), number(w.MeasuredImbalance))
		for _, c := range w.Codes {
			fmt.Fprintf(&s, "  %s: %d CFs of weight %g took %d, %.4g ns each, relative %s correlation %s error %s\n",
				c.Code, c.Count, c.Weight, c.UsefulNS,
				c.NSPerWeight, number(c.Relative), number(c.Correlation), number(c.Error))
		}
		for _, n := range w.Nodes {
			fmt.Fprintf(&s, "  node %d: planned %.4g, took %.4g\n", n.Node, n.PlannedShare, n.MeasuredShare)
		}
	}
	for _, m := range r.Missing {
		fmt.Fprintf(&s, "missing %s: %v\n", m.Event, m.For)
	}
	return s.String()
}
