package advise_test

import (
	"context"
	"os"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/analysis/advise"
	"github.com/whyslow/whyslow/internal/analysis/critical"
	"github.com/whyslow/whyslow/internal/analysis/lifecycle"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/procs"
	_ "github.com/whyslow/whyslow/internal/testkit/effort"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
	"github.com/whyslow/whyslow/internal/words"
)

// TestAnyRun: whatever the trace holds and whatever was computed of it, advice is whole, and in order.
func TestAnyRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := sloutest.Random(t)
		switch rapid.IntRange(0, 4).Draw(t, "harm") {
		case 1:
			r.Kill(t)
		case 2:
			r.Stick(t)
		case 3:
			r.Harm(t)
		case 4:
			r.AddWaits(t)
		}
		m := sloutest.Build(t, r.Text())
		ctx := context.Background()
		res, err := slou.Compute(ctx, m, slou.Options{}, procs.Alone())
		if err != nil {
			t.Fatal(err)
		}
		in := advise.Input{Model: m, SLOU: res}
		if rapid.Bool().Draw(t, "critical") {
			if in.Critical, err = critical.Compute(ctx, m, critical.Options{}, procs.Alone()); err != nil {
				t.Fatal(err)
			}
		}
		if rapid.Bool().Draw(t, "lifecycle") {
			if in.Lifecycle, err = lifecycle.Compute(ctx, m, lifecycle.Options{}, nil); err != nil {
				t.Fatal(err)
			}
		}
		list := advise.Alone(in)
		for i, a := range list {
			b := a.In(words.Russian)
			onlyRussian(t, b.Title+"\n"+b.Text+"\n"+b.Gain+"\n"+b.Bound)
			if !reflect.DeepEqual(a, b.In(words.English)) {
				t.Fatalf("%+v is in Russian %+v", a, b)
			}
			if a.ID == "" || a.Title == "" || a.Text == "" || a.Gain == "" || a.Bound == "" || a.Evidence == nil ||
				strings.Contains(a.Text+a.Bound, "%!") {
				t.Fatalf("%+v", a)
			}
			if a.GainNS < 0 || a.GainNS > res.TotalNS || a.GainWallNS < 0 || a.GainWallNS > res.WallNS ||
				a.GainNS == 0 && a.GainBytes == 0 && !a.Blocking {
				t.Fatalf("of %d ns, wall %d ns: %+v", res.TotalNS, res.WallNS, a)
			}
			if i > 0 && a.Share > list[i-1].Share && !list[i-1].Blocking {
				t.Fatalf("%s (%s) comes after %s (%s)", a.ID, a.Gain, list[i-1].ID, list[i-1].Gain)
			}
		}
	})
}

// BenchmarkAdvise works on the trace named by WHYSLOW_TRACE.
func BenchmarkAdvise(b *testing.B) {
	path := os.Getenv("WHYSLOW_TRACE")
	if path == "" {
		b.Skip("WHYSLOW_TRACE names no trace")
	}
	m := sloutest.Load(b, path)
	ctx := context.Background()
	in := advise.Input{Model: m}
	var err error
	if in.SLOU, err = slou.Compute(ctx, m, slou.Options{}, procs.Alone()); err != nil {
		b.Fatal(err)
	}
	if in.Critical, err = critical.Compute(ctx, m, critical.Options{}, procs.Alone()); err != nil {
		b.Fatal(err)
	}
	if in.Lifecycle, err = lifecycle.Compute(ctx, m, lifecycle.Options{}, nil); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, a := range advise.Alone(in) {
			if os.Getenv("WHYSLOW_SHOW") != "" {
				b.Logf("%s %d %d: %s\n%s", a.ID, a.GainNS, a.GainWallNS, a.Text, a.Bound)
			}
		}
	}
	b.ReportMetric(float64(m.Events), "events")
}
