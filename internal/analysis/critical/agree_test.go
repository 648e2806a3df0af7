package critical_test

import (
	"context"
	"reflect"
	"testing"

	"github.com/whyslow/whyslow/internal/analysis/critical"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
)

type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

var _ failer = (*testing.T)(nil)

// agree checks what holds for every trace, however damaged: the steps tile the run, everything that divides
// the path adds up to it, the bounds are bounds, and what is on the path has no slack. In nonsense executions
// of a worker overlap: then T1 may differ from SLOU's U, since which CF a debugger held is anybody's guess,
// and a chain may be longer than the run.
func agree(t failer, m *model.Model, r *critical.Result, nonsense bool) {
	t.Helper()
	if p := r.Path; p != nil {
		agreePath(t, m, p)
	}
	if r.Work != nil {
		agreeWork(t, m, r, nonsense)
	}
	for _, f := range r.Slack {
		if f.MinNS < 0 || f.MinNS > f.MeanNS || f.MeanNS > f.MaxNS || (f.MaxNS > m.Wall() && !nonsense) ||
			f.SumNS < f.MaxNS || (f.Critical == 0) != (f.MinNS > 0) {
			t.Errorf("slack of %s: min %d mean %d max %d sum %d, %d critical", f.Code, f.MinNS, f.MeanNS,
				f.MaxNS,
				f.SumNS, f.Critical)
		}
		if f.AllNS == nil || *f.AllNS > f.MinNS || *f.AllNS < f.MinNS/f.Count {
			t.Errorf("slack of %s: %v for all, %d for each", f.Code, f.AllNS, f.MinNS)
		}
		if f.OnPath > f.Critical {
			t.Errorf("%s: %d on the path, %d without slack", f.Code, f.OnPath, f.Critical)
		}
	}
}

func agreePath(t failer, m *model.Model, p *critical.Path) {
	t.Helper()
	var at, tail, execute int64
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.From != at || s.From >= s.To {
			t.Fatalf("step %d is [%d, %d], the one before ended at %d", i, s.From, s.To, at)
		}
		at = s.To
		if s.Kind == critical.KindTail {
			tail += s.To - s.From
			if i != len(p.Steps)-1 {
				t.Errorf("the tail is step %d of %d", i, len(p.Steps))
			}
		}
		if s.Running {
			execute += s.To - s.From
		}
		if n := p.Named(s); n.Name == "" || n.ToNS != s.To {
			t.Errorf("step %d: %+v", i, n)
		}
	}
	if at != m.Wall() || p.LengthNS+p.TailNS != m.Wall() || tail != p.TailNS ||
		p.Count != int64(len(p.Steps)) {
		t.Errorf("the steps end at %d, the run at %d; length %d, tail %d and %d", at, m.Wall(), p.LengthNS,
			p.TailNS, tail)
	}
	sum := func(what string, parts ...int64) {
		t.Helper()
		var ns int64
		for _, v := range parts {
			if v < 0 {
				t.Errorf("%s: %v", what, parts)
			}
			ns += v
		}
		if ns != m.Wall() {
			t.Errorf("%s add up to %d, not to %d: %v", what, ns, m.Wall(), parts)
		}
	}
	if !p.Factors.Undivided {
		sum("factors", p.Factors.NS[:]...)
	}
	var parts, kinds, codes, reasons []int64
	for _, v := range p.Parts {
		parts = append(parts, v.NS)
	}
	for _, v := range p.Kinds {
		kinds = append(kinds, v.NS)
	}
	for _, f := range p.Fragments {
		codes = append(codes, f.NS)
		all := int64(0)
		for _, ns := range f.Factors.NS {
			all += ns
		}
		if !f.Factors.Undivided && all != f.NS {
			t.Errorf("fragment %+v does not add up", f)
		}
	}
	for _, v := range p.Reasons {
		reasons = append(reasons, v.NS)
		if v.Reason == "run" && v.NS != execute {
			t.Errorf("run %d, the steps say %d", v.NS, execute)
		}
	}
	sum("parts", parts...)
	sum("kinds", kinds...)
	sum("fragments", codes...)
	sum("reasons", reasons...)
	for i, s := range p.Longest {
		if i > 0 && s.ToNS-s.FromNS > p.Longest[i-1].ToNS-p.Longest[i-1].FromNS {
			t.Errorf("step %d of the longest is longer than the one before", i)
		}
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		if n := len(p.Longest); n > 0 && s.To-s.From > p.Longest[0].ToNS-p.Longest[0].FromNS {
			t.Errorf("step %d is longer than the longest", i)
		}
	}
}

func agreeWork(t failer, m *model.Model, r *critical.Result, nonsense bool) {
	t.Helper()
	w := r.Work
	s, err := slou.Compute(context.Background(), m, slou.Options{}, procs.Alone())
	if err != nil {
		t.Fatal(err)
	}
	if !nonsense && s.Factors.U != nil && s.Factors.U.NS != w.T1NS {
		t.Errorf("T1 is %d, SLOU's U %d", w.T1NS, s.Factors.U.NS)
	}
	if w.TinfNS > w.T1NS || !nonsense && (w.TinfNS > m.Wall() || w.LostNS < 0) {
		t.Errorf("T1 %d, Tinf %d, wall %d, lost %d", w.T1NS, w.TinfNS, m.Wall(), w.LostNS)
	}
	if l := w.TinfLinksNS; l != nil && (*l < w.TinfNS || *l > m.Wall() && !nonsense) {
		t.Errorf("Tinf %d, with links %d, wall %d", w.TinfNS, *l, m.Wall())
	}
	var chain int64
	for _, c := range w.Chain {
		chain += c.NS
	}
	if chain != w.TinfNS {
		t.Errorf("the chain adds up to %d, Tinf is %d", chain, w.TinfNS)
	}
	found := false
	for i, b := range w.Bounds {
		found = found || reflect.DeepEqual(b, w.Own)
		if b.LeastNS > b.GreedyNS || b.GreedyNS > 2*b.LeastNS || (i == 0 && b.LeastNS != w.T1NS) ||
			(i > 0 && (b.Workers <= w.Bounds[i-1].Workers || b.LeastNS > w.Bounds[i-1].LeastNS)) {
			t.Errorf("bounds %+v", w.Bounds)
		}
		if (b.LeastNS == w.TinfNS) != (b.Workers >= w.HelpfulWorkers) {
			t.Errorf("%d workers help, bounds %+v", w.HelpfulWorkers, w.Bounds)
		}
	}
	if !found {
		t.Errorf("%+v is not in %+v", w.Own, w.Bounds)
	}
}
