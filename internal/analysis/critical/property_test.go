package critical_test

import (
	"context"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/analysis/critical"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	_ "github.com/whyslow/whyslow/internal/testkit/effort"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

func compute(t sloutest.TB, text string) (*model.Model, *critical.Result) {
	t.Helper()
	m := sloutest.Build(t, text)
	r, err := critical.Compute(context.Background(), m, critical.Options{}, procs.Alone())
	if err != nil {
		t.Fatal(err)
	}
	return m, r
}

// TestAgainstBruteForce compares everything with what is worked out from the list of events by trying all.
func TestAgainstBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := sloutest.Random(t)
		m, r := compute(t, run.Text())
		agree(t, m, r, false)
		b := newBrute(run)
		defer func() {
			if t.Failed() {
				t.Log("\n" + run.EventText())
			}
		}()
		var plain, links int64
		for i := range b.execs {
			plain, links = max(plain, b.longest(i, false)), max(links, b.longest(i, true))
		}
		if r.Work.TinfNS != plain || (r.Work.TinfLinksNS != nil && *r.Work.TinfLinksNS != links) {
			t.Errorf("Tinf %d, with links %v, want %d and %d", r.Work.TinfNS, *r.Work.TinfLinksNS, plain,
				links)
		}
		compareSlack(t, b, r)
		if b.end() > 0 {
			comparePath(t, m, b, r.Path)
		}
	})
}

func compareSlack(t *rapid.T, b *brute, r *critical.Result) {
	for _, f := range r.Slack {
		var code int
		if _, err := fmt.Sscanf(f.Code, "c%d", &code); err != nil {
			t.Fatal(err)
		}
		var count, sum, critical int64
		least, most := always, int64(0)
		for i, x := range b.execs {
			if x.code != code {
				continue
			}
			s := b.slack(func(k int) bool { return k == i })
			if s == 0 {
				critical++
			}
			count, sum, least, most = count+1, sum+s, min(least, s), max(most, s)
		}
		all := b.slack(func(i int) bool { return b.execs[i].code == code })
		if f.Count != count || f.SumNS != sum || f.MinNS != least || f.MaxNS != most ||
			f.Critical != critical ||
			f.MeanNS != sum/count {
			t.Errorf("slack %+v, want count %d sum %d min %d max %d critical %d", f, count, sum, least, most,
				critical)
		}
		if *f.AllNS != all {
			t.Errorf("all CFs of %s can take %d longer, want %d", f.Code, *f.AllNS, all)
		}
	}
}

// comparePath checks that the path goes through the same CFs.
func comparePath(t *rapid.T, m *model.Model, b *brute, p *critical.Path) {
	var got, want []string
	for i := len(p.Steps) - 1; i >= 0; i-- {
		s := &p.Steps[i]
		if !s.Running {
			continue
		}
		name := fmt.Sprintf("%s/%d", m.CFID(s.CF), m.ExecNumber[s.Execution])
		if len(got) == 0 || got[len(got)-1] != name {
			got = append(got, name)
		}
	}
	for _, i := range b.path() {
		want = append(want, fmt.Sprintf("%s/%d", b.execs[i].cf, b.execs[i].number))
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("path %v, want %v", got, want)
	}
}

// TestDamaged checks what holds for any trace: of killed and stuck runs, with waits, and of nonsense.
func TestDamaged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := sloutest.Random(t)
		if rapid.Bool().Draw(t, "waits") {
			run.AddWaits(t)
		}
		harm := rapid.IntRange(0, 3).Draw(t, "harm")
		switch harm {
		case 0:
			run.Kill(t)
		case 1:
			run.Stick(t)
		case 2:
			run.Harm(t)
		}
		m, r := compute(t, run.Text())
		agree(t, m, r, harm == 2)
		if t.Failed() {
			t.Log("\n" + run.EventText())
		}
	})
}
