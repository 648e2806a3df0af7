package report

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/show/view/timeline"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// ofPage fails where the factors of a report on an interval are not those of the page, to the nanosecond.
func ofPage(t sloutest.TB, m *model.Model, r *slou.Result, v *slou.Interval) {
	t.Helper()
	tl, err := timeline.Build(context.Background(), m, timeline.Options{})
	if err != nil {
		t.Fatal(err)
	}
	page, err := tl.Factors(timeline.FactorQuery{From: v.FromNS, To: v.ToNS, Windows: 1})
	if err != nil {
		t.Fatal(err)
	}
	sum := r.UndividedNS + r.Loss.NS
	for row, name := range page.Rows {
		got := int64(0)
		switch name {
		case "undivided":
			got = r.UndividedNS
		case "loss":
			got = r.Loss.NS
		default:
			if f := r.Factors.Of(slou.FactorOf(name)); f != nil {
				got = f.NS
				sum += got
			}
		}
		if got != page.Sum[row] {
			t.Fatal(fmt.Sprintf("%s of %v is %d ns in the report, %d ns on the page", name, *v, got, page.Sum[row]))
		}
	}
	if want := int64(m.Workers()) * (min(v.ToNS, m.Wall()) - v.FromNS); sum != want {
		t.Fatal(fmt.Sprintf("the factors of %v add up to %d ns, not %d", *v, sum, want))
	}
}

// TestInterval: the report on an interval has the factors of the page, by code fragment and window too; all
// its faces show it; and what it says of links and causes adds up.
func TestInterval(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		run := sloutest.Random(r)
		for _, change := range []func(*rapid.T){run.AddWaits, run.Stick, run.Harm, run.Kill} {
			if rapid.IntRange(0, 3).Draw(r, "changed") == 0 {
				change(r)
			}
		}
		m := sloutest.Build(t, run.Text())
		if m.Wall() < 2 {
			return
		}
		v := &slou.Interval{FromNS: rapid.Int64Range(0, m.Wall()-1).Draw(r, "from")}
		v.ToNS = rapid.Int64Range(v.FromNS+1, m.Wall()).Draw(r, "to")
		all, err := Compute(context.Background(), m, Wanted{Splits: splitsOfTest, Within: v,
			Windows: rapid.IntRange(1, 30).Draw(r, "windows")}, nil)
		if err != nil {
			r.Fatal(err)
		}
		if len(all.Failed) > 0 {
			r.Fatalf("%s failed: %s\n%s", all.Failed[0].Analysis, all.Failed[0].Why, run.Text())
		}
		ofPage(r, m, all.SLOU, v)
		checkPage(t, pageOf(t, all))
		checkPage(t, pageOf(t, all.In("ru")))
		render(t, all, "terminal full width=100")
		var out bytes.Buffer
		if err := CSV(&out, all, Options{}); err != nil {
			r.Fatal(err)
		}
	})
}

var splitsOfTest = []string{"node", "worker", "code", "index:0"}

// TestIntervalRecorded: of programs that ran, also by several processes.
func TestIntervalRecorded(t *testing.T) {
	for _, name := range []string{"cholesky", "balance"} {
		dir := sloutest.Recorded(t, name, 1)
		m := sloutest.Load(t, dir)
		v := &slou.Interval{FromNS: m.Wall() / 4, ToNS: m.Wall() / 2}
		all := sameBy(t, dir, Wanted{Splits: splitsOfTest, Within: v})
		ofPage(t, m, all.SLOU, v)
		if len(all.LeftOut) == 0 || all.Critical != nil || all.Blame == nil {
			t.Error(name, "left out", all.LeftOut)
		}
	}
}

// TestIteration: several processes find the same time of a CF and of what it created as one that has all.
func TestIteration(t *testing.T) {
	dir := sloutest.Recorded(t, "cholesky", 1)
	m := sloutest.Load(t, dir)
	asked := map[string]bool{}
	for e := range m.Executions() {
		asked[m.CFTitle(m.ExecCF[e])] = true
	}
	if len(asked) < 5 {
		t.Fatal(asked)
	}
	for name := range asked {
		var one *model.Interval
		for _, processes := range []int{1, 2, 3} {
			got, err := sloutest.Share(dir, processes, model.Options{},
				func(m *model.Model, g procs.Group) (*model.Interval, error) {
					v, ok, err := m.SpanOf(name, g)
					if err == nil && !ok {
						err = errors.New("no such CF")
					}
					if err != nil || g.Rank() != 0 {
						return nil, err
					}
					return &v, nil
				})
			if err != nil {
				t.Fatal(name, processes, err)
			}
			if one == nil {
				one = got
			}
			if *got != *one || got.From > got.To {
				t.Errorf("%s with %d processes: %v, not %v", name, processes, *got, *one)
			}
		}
	}
	for _, name := range []string{"", "[3]", "step[", "step[x]", "step[1]x", "nothing"} {
		if v, ok, err := m.SpanOf(name, procs.Alone()); ok || err != nil {
			t.Errorf("%q: %v, %v", name, v, err)
		}
	}
}
