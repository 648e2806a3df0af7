package imbalance_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/analysis/imbalance"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	_ "github.com/whyslow/whyslow/internal/testkit/effort"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

type failer interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

func compute(t failer, m *model.Model, opt imbalance.Options) *imbalance.Result {
	t.Helper()
	r, err := imbalance.Compute(context.Background(), m, opt, procs.Alone())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Fatal(err)
	}
	return r
}

// near tells whether a number is what it should be; NaN stands for nil.
func near(got *float64, want float64) bool {
	if got == nil || math.IsNaN(want) {
		return got == nil && (math.IsNaN(want) || math.IsInf(want, 0))
	}
	return math.Abs(*got-want) <= 1e-9*max(1, math.Abs(want))
}

// TestByDefinition compares with what the pieces of every worker's time give.
func TestByDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := sloutest.Random(t)
		if rapid.Bool().Draw(t, "waits") {
			run.AddWaits(t)
		}
		switch rapid.IntRange(0, 4).Draw(t, "end") {
		case 0:
			run.Kill(t)
		case 1:
			run.Stick(t)
		case 2:
			run.Harm(t)
		}
		m := sloutest.Build(t, run.Text())
		for _, w := range m.AllWorkers() {
			if !slices.IsSortedFunc(w.Waits, func(a,
				b model.Wait) int {
				return cmp.Compare(a.From, b.From)
			}) {
				return // the clock ran backwards while it waited: no one can tell what was cut out
			}
		}
		ctx := context.Background()
		s, err := slou.Compute(ctx, m, slou.Options{}, procs.Alone())
		if err != nil {
			t.Fatal(err)
		}
		pieces, err := slou.Pieces(ctx, m, slou.Options{}, procs.Alone())
		if err != nil {
			t.Fatal(err)
		}
		opt := imbalance.Options{Windows: rapid.IntRange(1, 20).Draw(t, "windows")}
		if rapid.Bool().Draw(t, "given") {
			opt.SLOU = s
		}
		r := compute(t, m, opt)
		if s.Factors.U == nil {
			if r.Efficiency != nil || len(r.Missing) == 0 {
				t.Fatalf("useful time cannot be computed, efficiency is %v, missing %v", r.Efficiency,
					r.Missing)
			}
			return
		}
		checkEfficiency(t, m, r, s)
		checkFragments(t, m, r, s, pieces)
		checkTime(t, m, r, pieces)
	})
}

// checkEfficiency checks quotients and products.
func checkEfficiency(t *rapid.T, m *model.Model, r *imbalance.Result, s *slou.Result) {
	t.Helper()
	list := []imbalance.Efficiency{*r.Efficiency}
	useful := [][]int64{nil}
	most := 0.0
	for i, n := range r.Nodes {
		list, useful = append(list, n.Efficiency), append(useful, nil)
		sum := 0.0
		for _, w := range s.Nodes[i].Workers {
			useful[0] = append(useful[0], w.Factors.U.NS)
			useful[i+1] = append(useful[i+1], w.Factors.U.NS)
			sum += float64(w.Factors.U.NS)
		}
		most = max(most, sum/float64(len(s.Nodes[i].Workers)))
	}
	for i, e := range list {
		sum, top := 0.0, 0.0
		for _, u := range useful[i] {
			sum, top = sum+float64(u), max(top, float64(u))
		}
		mean, wall := sum/float64(len(useful[i])), float64(m.Wall())
		if e.Workers != len(useful[i]) || float64(e.UsefulNS) != sum || float64(e.MaxNS) != top ||
			!near(e.LoadBalance, mean/top) || !near(e.Communication, top/wall) ||
			!near(e.Parallel, mean/wall) {
			t.Fatalf("efficiency %d of %v: %+v", i, useful[i], e)
		}
		if e.LoadBalance != nil && e.Communication != nil &&
			!near(e.Parallel, *e.LoadBalance**e.Communication) {
			t.Fatalf("efficiency %d is no product: %+v", i, e)
		}
		product, ns := 1.0, e.MaxNS
		for _, step := range e.Steps {
			ns += step.NS
			if step.NS < 0 {
				t.Fatalf("%s took %d ns", step.Name, step.NS)
			}
			if step.Efficiency != nil {
				product *= *step.Efficiency
			}
		}
		if ns != m.Wall() || (e.Communication != nil && !near(e.Communication, product)) {
			t.Fatalf("efficiency %d: steps add up to %d of %d, their product is %g: %+v", i, ns, m.Wall(),
				product, e)
		}
	}
	if e := list[0]; !near(e.BetweenNodes, float64(e.UsefulNS)/float64(e.Workers)/most) ||
		!near(e.WithinNodes, most/float64(e.MaxNS)) {
		t.Fatalf("between %v within %v", e.BetweenNodes, e.WithinNodes)
	}
}

// checkFragments adds up the pieces by code fragment.
func checkFragments(t *rapid.T, m *model.Model, r *imbalance.Result, s *slou.Result,
	pieces []slou.WorkerPieces) {
	t.Helper()
	starved := map[string]int64{}
	useful := map[string][]int64{}
	for i, w := range pieces {
		for _, p := range w.Pieces {
			ns := p.To - p.From
			name := func(cf model.CF) string { return m.Codes[m.CodeOf(cf)].Name }
			switch p.Factor {
			case slou.FactorU:
				for _, code := range []string{name(p.Consumer), ""} {
					if useful[code] == nil {
						useful[code] = make([]int64, len(pieces))
					}
					useful[code][i] += ns
				}
			case slou.FactorS:
				starved[""] += ns
				if p.Producer != 0 {
					starved[name(p.Producer)] += ns
				}
			}
		}
	}
	var count, total int64
	for _, f := range append([]imbalance.Fragment{*r.Total}, r.Fragments...) {
		u := useful[f.Code]
		if u == nil {
			u = make([]int64, len(pieces))
		}
		var sum, most int64
		for i, ns := range u {
			sum, most = sum+ns, max(most, ns)
			if of := f.Workers.Of[i]; of.UsefulNS != ns || of.Node != pieces[i].Node ||
				of.Worker != pieces[i].Worker {
				t.Fatalf("%q on worker %d: %+v, the pieces add up to %d", f.Code, i, of, ns)
			}
		}
		excess := int64(len(u))*most - sum
		if f.UsefulNS != sum || f.Workers.MaxNS != most || f.ExcessNS != excess ||
			!near(f.Workers.Imbalance, float64(most)*float64(len(u))/float64(sum)) {
			t.Fatalf("%q: %+v of %v", f.Code, f, u)
		}
		if s.Factors.S != nil && *f.WaitedNS != min(excess, starved[f.Code]) {
			t.Fatalf("%q: waited %d, excess %d, starved %d", f.Code, *f.WaitedNS, excess, starved[f.Code])
		}
		if f.Code != "" {
			count += f.Count
			total += f.UsefulNS
		}
	}
	var cfs int64
	for _, n := range s.Nodes {
		cfs += n.CFs
	}
	if count != cfs || r.Total.Count != cfs || total != s.Factors.U.NS {
		t.Fatalf("%d CFs, %d in total, and %d ns; there are %d and %d", count, r.Total.Count, total, cfs,
			s.Factors.U.NS)
	}
}

// checkTime adds up the pieces by window.
func checkTime(t *rapid.T, m *model.Model, r *imbalance.Result, pieces []slou.WorkerPieces) {
	t.Helper()
	want := make([][]float64, len(m.Nodes)+1)
	workers := make([]float64, len(want))
	for i := range want {
		want[i] = make([]float64, r.Time.Windows)
	}
	for _, w := range pieces {
		workers[w.Node]++
		workers[len(m.Nodes)]++
		for _, p := range w.Pieces {
			for now := p.From; p.Factor == slou.FactorU && now < p.To; now++ {
				at := (now - m.Start) / r.Time.WindowNS
				want[w.Node][at]++
				want[len(m.Nodes)][at]++
			}
		}
	}
	for n := range want {
		for i := range want[n] {
			if length := min(int64(i+1)*r.Time.WindowNS, m.Wall()) - int64(i)*r.Time.WindowNS; length > 0 {
				want[n][i] /= float64(length) * workers[n]
			}
		}
	}
	got := append([]imbalance.NodeUseful{}, r.Time.Nodes...)
	got = append(got, imbalance.NodeUseful{Node: len(m.Nodes), Useful: r.Time.Useful})
	for _, n := range got {
		for i, v := range n.Useful {
			if !near(&v, want[n.Node][i]) {
				t.Fatalf("node %d window %d: %g, the pieces add up to %g", n.Node, i, v, want[n.Node][i])
			}
		}
	}
	if len(m.Nodes) == 1 {
		if len(r.Time.Variations) > 0 {
			t.Fatal("a node differs from itself")
		}
		return
	}
	v := r.Time.Variations[0]
	largest := -1.0
	for i := range v.Difference {
		low, high := math.Inf(1), math.Inf(-1)
		for n := range m.Nodes {
			low, high = min(low, want[n][i]), max(high, want[n][i])
		}
		d := v.Difference[i]
		if !near(&d, high-low) || !near(&want[v.MaxNode[i]][i], high) || !near(&want[v.MinNode[i]][i], low) {
			t.Fatalf("window %d: %g between nodes %d and %d, should be %g", i, d, v.MaxNode[i], v.MinNode[i],
				high-low)
		}
		largest = max(largest, high-low)
	}
	if l := v.Largest; !near(&largest, l.Max-l.Min) || l.FromNS != int64(l.Window)*r.Time.WindowNS ||
		v.Difference[l.Window] != l.Max-l.Min {
		t.Fatalf("largest %+v, should be %g", l, largest)
	}
}

// TestWeightsByDefinition compares with sums over all CFs, worked out in two passes.
func TestWeightsByDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := sloutest.Random(t)
		text := run.Text()
		weight := map[string]float64{}
		for i := range run.Events {
			if e := &run.Events[i]; e.Kind == "CFEvents.onCreated" {
				w := float64(rapid.IntRange(0, 8).Draw(t, "weight")) / 2
				if rapid.IntRange(0, 9).Draw(t, "odd") == 0 {
					w = math.Inf(1)
				}
				weight[e.CF] = w
				was := fmt.Sprintf("onCreated cf=%s site=%d parent=", e.CF, e.Code)
				text = strings.Replace(text, was, fmt.Sprintf("onCreated weight=%v cf=%s site=%d parent=", w,
					e.CF,
					e.Code), 1)
			}
		}
		m := sloutest.Build(t, text)
		r := compute(t, m, imbalance.Options{})
		type pair struct {
			w, u float64
			node int
		}
		pairs, given := map[string][]pair{}, map[string]bool{}
		for id, w := range m.AllWorkers() {
			for e := w.First; e < w.End; e++ {
				cf := m.ExecCF[e]
				if !m.Atomic(cf) {
					continue
				}
				ns := m.ExecEnd[e] - m.ExecStart[e]
				if cpu := m.CPU(e); cpu >= 0 {
					ns = min(ns, cpu)
				}
				if p := (pair{weight[m.CFID(cf).String()], float64(ns), id.Node}); !math.IsInf(p.w, 0) {
					code := m.Codes[m.CodeOf(cf)].Name
					pairs[code], given[code] = append(pairs[code], p), given[code] || p.w != 1
				}
			}
		}
		var allW, allU float64
		planned, took := map[int]float64{}, map[int]float64{}
		count := 0
		for code := range pairs {
			for _, p := range pairs[code] {
				if given[code] {
					allW, allU = allW+p.w, allU+p.u
					planned[p.node] += p.w
					took[p.node] += p.u
				}
			}
			if given[code] {
				count++
			}
		}
		if count == 0 {
			if r.Weights != nil {
				t.Fatal(r.Weights)
			}
			return
		}
		if len(r.Weights.Codes) != count {
			t.Fatalf("%d code fragments, should be %d", len(r.Weights.Codes), count)
		}
		for _, c := range r.Weights.Codes {
			var w, u, ww, uu, wu, square float64
			list := pairs[c.Code]
			n := float64(len(list))
			for _, p := range list {
				w, u = w+p.w/n, u+p.u/n
			}
			k := 0.0
			if w > 0 {
				k = u / w
			}
			for _, p := range list {
				ww, uu, wu = ww+(p.w-w)*(p.w-w), uu+(p.u-u)*(p.u-u), wu+(p.w-w)*(p.u-u)
				square += (p.u - k*p.w) * (p.u - k*p.w) / n
			}
			correlation := math.NaN()
			if ww > 1e-9 && uu > 1e-9 {
				correlation = wu / math.Sqrt(ww*uu)
			}
			if c.Count != int64(len(list)) || !near(&c.NSPerWeight, k) ||
				(c.Correlation != nil && !near(c.Correlation, correlation)) {
				t.Fatalf("%+v of %v: correlation %g", c, list, correlation)
			}
			if c.Error != nil && math.Abs(*c.Error-math.Sqrt(square)/u) > 1e-6 {
				t.Fatalf("%+v of %v: error %g, should be %g", c, list, *c.Error, math.Sqrt(square)/u)
			}
		}
		for _, n := range r.Weights.Nodes {
			if allW > 0 && !near(&n.PlannedShare, planned[n.Node]/allW) || allU > 0 &&
				!near(&n.MeasuredShare, took[n.Node]/allU) {
				t.Fatalf("%+v: planned %g of %g, took %g of %g", n, planned[n.Node], allW, took[n.Node], allU)
			}
		}
	})
}

func TestOptions(t *testing.T) {
	m := sloutest.Build(t, "#run "+
		"{\"ended\":\"done\",\"nodes\":[{\"node\":0,\"process\":0,\"workers\":1}]}\n#node 0\n0 n0 s0 "+
		"GlobalEvents.onProgramStarted\n0 n0 s0 GlobalEvents.onProgramFinished\n")
	for _, bad := range []imbalance.Options{{Windows: -1}, {Windows: 1 << 30}} {
		if _, err := imbalance.Compute(context.Background(), m, bad, procs.Alone()); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
	r := compute(t, m, imbalance.Options{})
	if !slices.Equal(r.Time.Useful, []float64{0}) || r.Efficiency.Parallel != nil {
		t.Errorf("a run of no length: %v %+v", r.Time.Useful, r.Efficiency)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := imbalance.Compute(ctx, m, imbalance.Options{}, procs.Alone()); err == nil {
		t.Error("goes on after the end of the context")
	}
}
