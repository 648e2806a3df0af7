//go:build !no_foreign_block_timer_module

package modules

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

const ms = 1_000_000

// callsOf emits calls: [function, start, end] in ms.
func callsOf(ses *prof.Session, s *prof.Stream, calls ...[3]int64) {
	for _, c := range calls {
		ses.ForeignStarted.EmitAt(s, c[1]*ms, trace.Site(c[0]))
		ses.ForeignEnded.EmitAt(s, c[2]*ms, trace.Site(c[0]))
	}
}

func TestForeignBlockTimer(t *testing.T) {
	for order, want := range map[string]string{
		"name": "Func: mult, PID: 1405, TID: 0 => 10388 ms total\nFunc: mult, PID: 1405, TID: 3 => 10393 " +
			"ms total\n" +
			"Func: put, PID: 1405, TID: 1 => 1 ms total\nFunc: put, PID: 1405, TID: 3 => 43 ms total\n",
		"time": "Func: mult, PID: 1405, TID: 3 => 10393 ms total\nFunc: mult, PID: 1405, TID: 0 => 10388 " +
			"ms total\n" +
			"Func: put, PID: 1405, TID: 3 => 43 ms total\nFunc: put, PID: 1405, TID: 1 => 1 ms total\n",
	} {
		if diff := cmp.Diff(want, timed(t, order)); diff != "" {
			t.Errorf("%s: %s", order, diff)
		}
	}
}

// timed is what the module prints of a few calls.
func timed(t *testing.T, order string) string {
	r := startRun(t, 2, 2, use(t, "foreign_block_timer_module", map[string]any{"sort": order}))
	callsOf(r.ses, r.ses.Stream(1, 1, nil), [3]int64{3, 0, 43}, [3]int64{2, 50, 10443}) // put, mult
	callsOf(r.ses, r.ses.Stream(0, 0, nil), [3]int64{2, 0, 388}, [3]int64{4, 400, 10400})
	callsOf(r.ses, r.ses.Stream(0, 1, nil), [3]int64{3, 7, 8})
	return r.finish(t)
}

func init() {
	examples = append(examples, example{"foreign_block_timer_module example",
		func(t *testing.T) string { return timed(t, "name") }})
}

// Calls within calls: each function's own time counts once, and what never ends does not count.
func TestForeignBlockTimerNested(t *testing.T) {
	r := startRun(t, 1, 1, use(t, "foreign_block_timer_module", nil))
	s := r.ses.Stream(0, 0, nil)
	for _, e := range [][2]int64{{+1, 0}, {+2, 10}, {+4, 20}, {-4, 30}, {-2, 40}, {+3, 50}, {-1, 60}, {-3, 65},
		{-2, 70}, {+2, 80}} {
		if e[0] > 0 {
			r.ses.ForeignStarted.EmitAt(s, e[1]*ms, trace.Site(e[0]))
		} else {
			r.ses.ForeignEnded.EmitAt(s, e[1]*ms, trace.Site(-e[0]))
		}
	}
	m := r.modules.Get("foreign_block_timer_module").(*ForeignBlockTimer)
	want := []ForeignTime{{"main", 1405, 0, 60 * ms, 1}, {"mult", 1405, 0, 30 * ms, 2}}
	if diff := cmp.Diff(want, m.Times()); diff != "" {
		t.Error(diff)
	}
	r.finish(t)
}

func TestForeignBlockTimerManyStreams(t *testing.T) {
	r := startRun(t, 3, 4, use(t, "foreign_block_timer_module", nil))
	crowd(r.ses, 3, 4, func(s *prof.Stream) {
		for i := range int64(1000) {
			callsOf(r.ses, s, [3]int64{2 + i%3, 10 * i, 10*i + 3})
		}
	})
	times := r.modules.Get("foreign_block_timer_module").(*ForeignBlockTimer).Times()
	if len(times) != 24 {
		t.Fatalf("%d lines", len(times))
	}
	for i, f := range times {
		want := ForeignTime{"mult", 1405, i, 667 * 3 * ms, 667} // sites 2 and 4
		if i >= 12 {
			want = ForeignTime{"put", 1405, i - 12, 333 * 3 * ms, 333}
		}
		if f != want {
			t.Errorf("%+v, want %+v", f, want)
		}
	}
	r.finish(t)
}
