package slou_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/analysis/pattern"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// TestRegionsRandom checks that the pieces of such runs tile every worker's time, and that all splits and
// windows add up.
func TestRegionsRandom(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := sloutest.Build(rt, sloutest.RandomRegions(rt))
		pieces, err := slou.Pieces(context.Background(), m, slou.Options{}, procs.Alone())
		if err != nil {
			rt.Fatal(err)
		}
		agree(rt, m, slou.Options{}, pieces)
		if _, err := slou.Compute(context.Background(), m, slou.Options{Windows: rapid.IntRange(0, 5).Draw(rt,
			"windows"), Splits: []string{"node", "worker", "code", "index:0"}}, procs.Alone()); err != nil {
			rt.Fatal(err)
		}
	})
}

// TestRegionsCauses looks at what is told beside the factors: functions, and who waited where.
func TestRegionsCauses(t *testing.T) {
	m := sloutest.Build(t, sloutest.Golden(t, "regions/threads"))
	found, err := pattern.Compute(context.Background(), m, procs.Alone())
	if err != nil {
		t.Fatal(err)
	}
	res, err := slou.Compute(context.Background(), m, slou.Options{Patterns: found}, procs.Alone())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range res.Fragments {
		got = append(got, fmt.Sprintf("%s %d %d %d", f.Code, f.Count, f.UsefulNS, f.MeanNS))
	}
	for _, c := range res.Causes[:3] {
		got = append(got, fmt.Sprintf("%s.%s %d %d %s", c.Factor, c.Part, c.NS, c.Count, c.Consumer))
	}
	want := []string{"main 2 193 96", "is.upc 2 35 17", "work 1 20 20", "S.start 40 1 ",
		"W.wait-at-barrier 30 1 main > upc_barrier (is.upc:5)",
		"L.1->0 20 1 main > upc_memget (is.upc:9)"}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("got\n%s\nwant\n%s", g, w)
	}
}
