package engine_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/record/pgas/symbols"
	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/trace"
)

// TestInside: a CF that does not come back from user code is named while nothing else happens, and when the
// run is ended, wherever it is. Its start is in the trace even if such CFs were short before.
func TestInside(t *testing.T) {
	defer engine.Attentive()()
	places := func(addresses []string) map[string]engine.Place {
		found := map[string]engine.Place{}
		for text, p := range symbols.Resolve(addresses) {
			found[text] = engine.Place{Function: p.Function, File: p.File, Line: p.Line}
		}
		return found
	}
	const src = `sub main()
		{
			for i = 0 .. 20 { cf here[i]: stay(i / 20 * 1000000000) @ { locator_cyclic: 1; }; }
		}`
	unread := 0 // stacks of threads that were just about to wait, or on a busy machine never got there
	for _, s := range []shape{{nodes: 2, workers: 1}, {nodes: 1, workers: 2},
		{nodes: 2, workers: 1, apart: true}, {nodes: 3, workers: 2, apart: true}} {
		ctx, cancel := context.WithCancel(t.Context())
		said := make(chan trace.InsideInfo, 1)
		set := func(cfg *engine.Config) {
			cfg.StuckAfter, cfg.Places = 50*time.Millisecond, places
			cfg.Inside = func(cf trace.InsideInfo, others int) {
				if others != 0 {
					t.Errorf("%v: %d others", s, others)
				}
				select {
				case said <- cf:
					cancel()
				default:
				}
			}
		}
		s.ctx, s.set, s.part = ctx, set, set
		o := run(t, src, s)
		if !errors.Is(o.err, engine.ErrInterrupted) || len(o.res.Inside) != 1 {
			t.Fatalf("%v: %v, %+v", s, o.err, o.res)
		}
		check := func(x trace.InsideInfo) {
			t.Helper()
			if len(x.Stack) == 0 {
				unread++
				x.Stack = []trace.InsideCall{{Function: "c_stay", File: "codes.cpp", Line: 65}}
			}
			if x.Name != "here[20]" || x.Line != 3 || x.Node != 1%s.nodes || x.NS <= 0 || x.NS > math.MaxInt32*10 ||
				x.Doing != "sleep" && x.Doing != "computes" || len(x.Stack) != 1 || x.Stack[0].Function != "c_stay" ||
				x.Stack[0].File != "codes.cpp" || x.Stack[0].Line != 65 {
				t.Errorf("%v: %+v", s, x)
			}
		}
		check(<-said)
		check(o.res.Inside[0])
		if ran := o.trace.ran(); len(ran["stay(i / 20 * 1000000000)"]) != 21 {
			t.Errorf("%v: %v", s, ran)
		}
	}
	if unread > 4 {
		t.Errorf("%d stacks of 8 could not be read", unread)
	}
}
