//go:build !no_cf_counter_events_module

package modules

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

func TestCFCounter(t *testing.T) {
	for _, byCode := range []bool{false, true} {
		r := startRun(t, 2, 1, use(t, "cf_counter_events_module", map[string]any{"by_code": byCode}))
		story(r.ses)
		s := r.ses.Stream(0, 0, nil)
		r.ses.CFReceived.Emit(s, trace.MakeCF(9, 1), 9, 1, 1) // created in another process
		r.ses.CFCreated.Emit(s, trace.MakeCF(0, 4), 4, trace.MakeCF(0, 1), 1, 1, nil)
		want := `CF created: 4
CF started: 2
CF waiting: 1
CF finished: 2
CF migrated: 1
CF stolen: 1
CF received: 2
CF destroyed: 2
`
		if byCode {
			want += `  created  started  waiting  finished  migrated  stolen  received  destroyed  code
        2        0        1         0         1       1         1          0  mult
        1        1        0         1         0       0         0          1  main
        1        1        0         1         0       0         0          1  put
        0        0        0         0         0       0         1          0  unknown
`
		}
		if diff := cmp.Diff(want, r.finish(t)); diff != "" {
			t.Error(diff)
		}
	}
}

// CFs that are created by one worker and run by another are counted once, under their code fragment.
func TestCFCounterManyStreams(t *testing.T) {
	r := startRun(t, 2, 2, use(t, "cf_counter_events_module", map[string]any{"by_code": true}))
	m := r.modules.Get("cf_counter_events_module").(*CFCounter)
	const n = 4000
	ready := make(chan trace.CF, 100)
	crowd(r.ses, 2, 2, func(s *prof.Stream) {
		if s.ID() == 0 {
			for i := range n {
				cf := trace.MakeCF(s.Node(), uint64(i+1))
				r.ses.CFCreated.Emit(s, cf, trace.Site(1+i%4), 0, 1, 1, nil)
				ready <- cf
			}
			return
		}
		for range n {
			cf := <-ready
			r.ses.CFStarted.Emit(s, cf, 1, nil)
			r.ses.CFFinished.Emit(s, cf, 1, -1)
			r.ses.CFDestroyed.Emit(s, cf)
			finished := m.Count(trace.KindCFFinished)
			if started := m.Count(trace.KindCFStarted); started < finished {
				t.Errorf("%d started, %d finished", started, finished)
			}
		}
	})
	if got := m.Count(trace.KindCFFinished); got != 2*n {
		t.Errorf("%d", got)
	}
	want := `CF created: 8000
CF started: 8000
CF waiting: 0
CF finished: 8000
CF migrated: 0
CF stolen: 0
CF received: 0
CF destroyed: 8000
  created  started  waiting  finished  migrated  stolen  received  destroyed  code
     4000     4000        0      4000         0       0         0       4000  mult
     2000     2000        0      2000         0       0         0       2000  main
     2000     2000        0      2000         0       0         0       2000  put
`
	if diff := cmp.Diff(want, r.finish(t)); diff != "" {
		t.Error(diff)
	}
}

func init() {
	examples = append(examples, example{"cf_counter_events_module example", printed("cf_counter_events_module",
		map[string]any{"by_code": true})})
}
