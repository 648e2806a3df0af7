package slou_test

import (
	"context"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// The parts of a run add up to it: time by factor, by cause and by code fragment.
func TestWithin(t *testing.T) {
	addUp(t, sloutest.Build(t, sloutest.Golden(t, "figure1")), 7)
	rapid.Check(t, func(t *rapid.T) {
		r := sloutest.Random(t)
		if rapid.Bool().Draw(t, "killed") {
			r.Kill(t)
		}
		addUp(t, sloutest.Build(t, r.Text()), rapid.Int64Range(1, 9).Draw(t, "parts"))
	})
}

func addUp(t interface {
	Context() context.Context
	Fatal(args ...any)
	Errorf(format string, args ...any)
}, m *model.Model, parts int64) {
	whole, err := slou.Compute(t.Context(), m, slou.Options{}, procs.Alone())
	if err != nil {
		t.Fatal(err)
	}
	sums := func(sign int64, r *slou.Result, into map[string]int64) {
		for _, f := range []slou.Factor{slou.FactorU, slou.FactorS, slou.FactorL, slou.FactorO, slou.FactorW} {
			if s := r.Factors.Of(f); s != nil {
				into[f.String()] += sign * s.NS
			}
		}
		for _, c := range r.Causes {
			into["cause "+c.Factor+" "+c.Part+" "+c.Producer+" "+c.DF+" "+c.Consumer] += sign * c.NS
		}
		for _, f := range r.Fragments {
			into["code "+f.Code] += sign * f.UsefulNS
		}
		into["wall"] += sign * r.WallNS
		into["total"] += sign * (r.TotalNS - r.ExtraCoresNS)
	}
	left := map[string]int64{}
	sums(1, whole, left)
	step := max(m.Wall()/parts, 1)
	for from := int64(0); from < m.Wall(); from += step {
		part, err := slou.Compute(t.Context(), m, slou.Options{
			Within: &slou.Interval{FromNS: from, ToNS: min(from+step, m.Wall())}}, procs.Alone())
		if err != nil {
			t.Fatal(err)
		}
		sums(-1, part, left)
	}
	for what, ns := range left {
		if ns != 0 {
			t.Errorf("%s: the parts lack %d ns of the whole", what, ns)
		}
	}
}
