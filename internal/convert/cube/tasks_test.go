package cube

import (
	"bytes"
	"context"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
	"github.com/whyslow/whyslow/internal/words"
)

// TestTasks: of any run of tasks the sums over call paths and workers are the report's, and both readers read
// what is written.
func TestTasks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := sloutest.Build(t, sloutest.Random(t).Text())
		r, err := Tasks(context.Background(), m)
		if err != nil {
			t.Fatal(err)
		}
		res, err := slou.Compute(context.Background(), m, slou.Options{}, procs.Alone())
		if err != nil {
			t.Fatal(err)
		}
		sums := map[string]int64{}
		for _, x := range r.Metrics {
			for _, row := range x.Rows {
				for _, v := range row.Values {
					sums[x.ID] += v
				}
			}
			if x.Parent > 0 {
				sums["parts of "+r.Metrics[x.Parent].ID] += sums[x.ID]
			}
		}
		if sums["time"] != res.TotalNS {
			t.Fatalf("time is %d, the report has %d", sums["time"], res.TotalNS)
		}
		for i, share := range res.Factors.All() {
			id := ofFactors + words.Factors[i].Letter
			if share != nil && sums[id] != share.NS {
				t.Fatalf("%s is %d, the report has %d", id, sums[id], share.NS)
			}
			named := int64(0)
			if share != nil {
				for _, ns := range share.Parts {
					named += ns
				}
			}
			if sums["parts of "+id] != named {
				t.Fatalf("parts of %s are %d, those of the report %d", id, sums["parts of "+id], named)
			}
		}
		if sums[ofFactors+"undivided"] != res.UndividedNS {
			t.Fatalf("undivided is %d, not %d", sums[ofFactors+"undivided"], res.UndividedNS)
		}
		if sums["visits"] < int64(m.Executions()) {
			t.Fatalf("%d visits of %d executions", sums["visits"], m.Executions())
		}
		var three, four bytes.Buffer
		if err := Write3(&three, r, m); err != nil {
			t.Fatal(err)
		}
		if err := Write(&four, r, m, time.Unix(0, 0)); err != nil {
			t.Fatal(err)
		}
		got, hosts, err := read3(three.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		check(t, got, wanted(r), hosts, r)
		if got, hosts, err = readCubex(four.Bytes()); err != nil {
			t.Fatal(err)
		}
		check(t, got, wanted(r), hosts, r)
	})
}
