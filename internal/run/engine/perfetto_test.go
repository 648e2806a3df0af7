package engine_test

import (
	"context"
	"encoding/json"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/whyslow/whyslow/internal/analysis/counters"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/record/modules"
	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// perfettoRecord is what these tests look at in Perfetto's file.
type perfettoRecord struct {
	Name, Cat string
	TS, Dur   float64 // microseconds
	Args      struct {
		CF    string
		Bytes int64
	}
}

// What Perfetto shows is what the report says, to the nanosecond: a slice of user code is the useful time of
// its CF, what the thread did not have the processor in it, and its waits; the peak of DFHeld is that of
// memory.
func TestPerfettoAgreesWithTheReport(t *testing.T) {
	const src = `sub main() {
			df x, y;
			put(x[0], 0) @ { req_count x[0] = 1; };
			for i = 1..40 {
				mix(x[i], x[i - 1], i) @ { req_count x[i] = 1; };
				block(y[i], 100 * i, 1) @ { req_count y[i] = 1; };
				peek("", y[i]);
			}
			need_int(x[40]);
			for i = 1..8 { nap(1); busy(2000); }
		}`
	for _, s := range []shape{one, {nodes: 1, workers: 4}} {
		file := filepath.Join(t.TempDir(), "perfetto.json")
		var active *prof.ModuleRun
		s.set = func(c *engine.Config) { c.ThreadClock = engine.ClockOn }
		s.session = func(ses *prof.Session) {
			all := prof.Modules()
			i := slices.IndexFunc(all, func(m prof.ModuleInfo) bool { return m.Name == modules.PerfettoName })
			var err error
			if active, err = ses.StartModules([]prof.Use{{Info: all[i], Params: map[string]any{"file": file,
				"args": true}}}, prof.RunFacts{Nodes: 1, Workers: s.workers}); err != nil {
				t.Fatal(err)
			}
		}
		o := run(t, src, s)
		if o.err != nil {
			t.Fatal(o.err)
		}
		if err := active.Finish(); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var records []perfettoRecord
		if err := json.Unmarshal(text, &records); err != nil {
			t.Fatal(err)
		}
		shown, most := map[string]int64{}, int64(0)
		for _, r := range records {
			switch {
			case r.Cat == "ForeignBlock":
				shown[r.Args.CF] += int64(math.Round(1000 * r.Dur))
			case r.Name == "DFHeld":
				most = max(most, r.Args.Bytes)
			}
		}
		r, err := trace.Open(o.trace.dir)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		m, err := model.Build(context.Background(), r, model.Options{})
		if err != nil {
			t.Fatal(err)
		}
		told := map[string]int64{}
		if err := slou.Visit(context.Background(), m, slou.Options{Parallel: 1}, procs.Alone(),
			func(_ model.WorkerID, chunks iter.Seq[[]slou.Piece]) {
				for list := range chunks {
					for _, p := range list {
						if p.Consumer != 0 && (p.Factor == slou.FactorU || p.Factor == slou.FactorW ||
							p.Factor == slou.FactorO && p.Part == slou.PartPreempt) {
							told[m.CFID(p.Consumer).String()] += p.To - p.From
						}
					}
				}
			}); err != nil {
			t.Fatal(err)
		}
		if len(told) != len(shown) || len(told) < 80 {
			t.Errorf("%v: %d CFs ran, Perfetto shows %d", s, len(told), len(shown))
		}
		for cf, ns := range told {
			if shown[cf] != ns {
				t.Errorf("%v: CF %s ran and waited for %d ns, its slice has %d", s, cf, ns, shown[cf])
			}
		}
		c, err := counters.Compute(context.Background(), m, counters.Options{}, procs.Alone())
		if err != nil {
			t.Fatal(err)
		}
		if peak := c.Memory.Nodes[0].Bytes; most != peak || most == 0 {
			t.Errorf("%v: DFHeld is at most %d, the report says %d", s, most, peak)
		}
	}
}
