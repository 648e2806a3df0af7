package fragments

import (
	"context"
	"math"
	"testing"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/show/view/eventlist"
	"github.com/whyslow/whyslow/trace"
)

// TestCurves: events over time, and what Tell tells, add up to the statistics of the whole run.
func TestCurves(t *testing.T) {
	dir := t.TempDir()
	w, err := trace.Create(dir, 0, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	kind, err := w.DefineKind(trace.KindSpec{Namespace: "my", Name: "step", Fields: []trace.Field{
		{Name: "size", Type: trace.FieldInt},
		{Name: "error", Type: trace.FieldFloat}, {Name: "name", Type: trace.FieldName}}})
	if err != nil {
		t.Fatal(err)
	}
	name := w.Name("x")
	for i := range int64(90) {
		w.Stream(int(i%2)).Emit(i*10, kind, uint64(i), math.Float64bits(float64(i)/4), uint64(name))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ctx := context.Background()
	m, err := model.Build(ctx, r, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l := eventlist.Open(r, m)
	defer l.Close()
	stats, err := UserEvents(ctx, l, 0, m.Wall())
	if err != nil {
		t.Fatal(err)
	}
	c, err := Curves(ctx, l, nil, 0, m.Wall(), 7)
	if err != nil || len(c.Curves) != 3 || len(stats) != 1 {
		t.Fatalf("%v: %+v, %+v", err, c, stats)
	}
	sums := map[string]float64{}
	for _, u := range c.Curves {
		n := int64(0)
		for i, count := range u.Count {
			n += count
			if len(u.Mean) > 0 && count > 0 {
				sums[u.Name] += *u.Mean[i] * float64(count)
			}
		}
		if n != stats[0].Count {
			t.Errorf("%s: %d of %d events", u.Name, n, stats[0].Count)
		}
	}
	for i, field := range []string{"my.step.size", "my.step.error"} {
		told := 0.0
		if err := Tell(ctx, l, field, m.Wall(), func(node, stream int, at int64, v float64) {
			told += v
			if node != 0 || stream != int(at/10)%2 {
				t.Errorf("node %d, stream %d told at %d", node, stream, at)
			}
		}); err != nil {
			t.Fatal(err)
		}
		want := *stats[0].Fields[i].Sum
		if math.Abs(told-want) > 1e-6 || math.Abs(sums[field]-want) > 1e-6 {
			t.Errorf("%s: %v told, %v in windows, the sum is %v", field, told, sums[field], want)
		}
	}
	some, err := Curves(ctx, l, []string{"my.step.size"}, 100, 200, 4)
	if err != nil || len(some.Curves) != 1 || len(some.Curves[0].Mean) != 4 || *some.Curves[0].Mean[0] < 9 {
		t.Errorf("%v: %+v", err, some)
	}
}
