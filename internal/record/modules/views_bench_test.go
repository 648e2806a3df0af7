//go:build !no_perfetto_module && !no_state_module && !no_profile_module

package modules

import (
	"testing"

	"github.com/whyslow/whyslow/internal/clock"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// What a module adds to each event that it listens to, in the life of a CF that makes a DF and sends it away.
// The events go to no trace; what they cost without the module is measured as "none".
func BenchmarkModuleViews(b *testing.B) {
	for _, m := range []struct {
		name, module string
		heard        int // events of a life
		params       map[string]any
	}{
		{"none", "", 13, nil},
		{"state", StateName, 10, nil},
		{"state-emit", StateName, 10, map[string]any{"emit": 1}},
		{"profile", ProfileName, 6, map[string]any{"file": "/dev/null"}},
		{"perfetto", PerfettoName, 12, map[string]any{"file": "/dev/null"}},
		{"perfetto-us", PerfettoName, 12, map[string]any{"file": "/dev/null", "precision": "us"}},
		{"perfetto-args", PerfettoName, 12, map[string]any{"file": "/dev/null", "args": true}},
	} {
		b.Run(m.name, func(b *testing.B) {
			b.ReportAllocs()
			ses, finish := prof.New(), func() error { return nil }
			if m.module != "" {
				s, run := viewed(b, m.module, prof.RunFacts{Nodes: 1, Workers: 1}, m.params)
				ses, finish = s, run.Finish
			}
			s := ses.Stream(0, 0, nil)
			inputs := []trace.DF{1, 2}
			begin, n := clock.ProcessCPU(), 0
			for b.Loop() {
				n++
				t, cf, df := int64(n)*1000, trace.MakeCF(0, uint64(n)), trace.DF(n&0xffff)
				ses.CFCreated.EmitAt(s, t, cf, trace.Site(n&1+1), 1, 1, 1, nil)
				ses.CFWaiting.EmitAt(s, t, cf, inputs)
				ses.CFReady.EmitAt(s, t+10, cf, 0)
				ses.ForeignStarted.EmitAt(s, t+20, trace.Site(n&1+1))
				ses.CFStarted.EmitAt(s, t+20, cf, 1, inputs)
				ses.CFFinished.EmitAt(s, t+820, cf, 1, 700)
				ses.ForeignEnded.EmitAt(s, t+820, trace.Site(n&1+1))
				ses.DFCreate.EmitAt(s, t+820, df, 800, cf)
				ses.DFStored.EmitAt(s, t+830, df, 800)
				ses.DFSent.EmitAt(s, t+830, df, 1, 816, uint64(n), 0, 0)
				ses.DFDropped.EmitAt(s, t+840, df, 800)
				ses.DFDestroy.EmitAt(s, t+840, df, 800, trace.Expired)
				ses.CFDestroyed.EmitAt(s, t+850, cf)
			}
			cpu := clock.ProcessCPU() - begin
			if err := finish(); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(cpu)/float64(n*m.heard), "cpu-ns/event")
		})
	}
}
