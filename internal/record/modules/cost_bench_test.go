package modules

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"

	"github.com/whyslow/whyslow/internal/clock"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// What a module adds to an event it listens to, on one worker and on two at once. The events go to no trace,
// so that an event without the module costs next to nothing. Text goes to a writer that drops it. CPU time is
// what counts: it is the same on a busy machine.

// life emits what a CF and its DF go through, 8 events.
func life(ses *prof.Session, s *prof.Stream, i int, inputs []trace.DF) {
	cf, t := trace.MakeCF(s.Node(), uint64(1+s.ID()<<32+i)), start+int64(i)*1000
	df := trace.DF(1 + i%60)
	ses.CFCreated.EmitAt(s, t, cf, trace.Site(1+i%4), 1, 1, 1, nil)
	ses.ForeignStarted.EmitAt(s, t+100, trace.Site(1+i%4))
	ses.CFStarted.EmitAt(s, t+100, cf, 1, inputs)
	ses.CFFinished.EmitAt(s, t+900, cf, 1, -1)
	ses.ForeignEnded.EmitAt(s, t+900, trace.Site(1+i%4))
	ses.DFCreate.EmitAt(s, t+910, df, 800, cf)
	ses.DFDestroy.EmitAt(s, t+920, df, 800, trace.Expired)
	ses.CFDestroyed.EmitAt(s, t+930, cf)
}

var lifeEvents = []trace.Kind{
	trace.KindCFCreated, trace.KindForeignStarted, trace.KindCFStarted, trace.KindCFFinished,
	trace.KindForeignEnded,
	trace.KindDFCreate, trace.KindDFDestroy, trace.KindCFDestroyed,
}

func BenchmarkModule(b *testing.B) {
	logs := b.TempDir()
	for _, m := range []struct {
		name   string
		params map[string]any
	}{
		{"logger_module", map[string]any{"format": "text"}},
		{"logger_module", map[string]any{"format": "csv"}},
		{"logger_module", map[string]any{"format": "json"}},
		{"cf_counter_events_module", nil},
		{"cf_counter_events_module", map[string]any{"by_code": true}},
		{"df_sizer_events_module", map[string]any{"peak": false}},
		{"df_sizer_events_module", map[string]any{"peak": true}},
		{"foreign_block_timer_module", nil},
		{"luna_log_module", map[string]any{"dir": logs}},
	} {
		if !slices.ContainsFunc(prof.Modules(), func(info prof.ModuleInfo) bool { return info.Name == m.name }) {
			continue // left out of this build
		}
		for workers := 1; workers <= 2; workers++ {
			b.Run(fmt.Sprintf("%s%v/%d", m.name, m.params, workers), func(b *testing.B) {
				b.ReportAllocs()
				ses := prof.New()
				ses.SetDescriber(shop)
				run, err := ses.StartModules([]prof.Use{use(b, m.name, m.params)}, prof.RunFacts{Nodes: 1, Workers: 2,
					StartNS: start, Out: io.Discard})
				if err != nil {
					b.Fatal(err)
				}
				inputs := []trace.DF{3, 4}
				var wg sync.WaitGroup
				b.ResetTimer()
				cpu := clock.ProcessCPU()
				for w := range workers {
					wg.Add(1)
					s := ses.Stream(0, w, nil)
					go func() {
						defer wg.Done()
						for i := range b.N {
							life(ses, s, i, inputs)
						}
					}()
				}
				wg.Wait()
				b.StopTimer()
				cpu = clock.ProcessCPU() - cpu
				if err := run.Finish(); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(cpu)/float64(b.N*workers)/heard(use(b, m.name, nil).Info), "cpu-ns/event")
			})
		}
	}
}

// heard is the number of events of a life that a module listens to.
func heard(info prof.ModuleInfo) float64 {
	n := 0.0
	for _, k := range lifeEvents {
		if slices.Contains(info.Events, "*") || slices.Contains(info.Events, k.String()) {
			n++
		}
	}
	return n
}
