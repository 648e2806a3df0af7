package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// Events that the program's own code emits.

// What user code emits is in the trace, on the worker that runs the CF, and modules see it.
func TestEventsByHand(t *testing.T) {
	w := &seen{}
	o := run(t, `sub main() { for i = 1..4 { emit(i); } }`, shape{nodes: 2, workers: 2,
		session: func(ses *prof.Session) {
			ses.Choose(func(ns, _ string) bool { return ns != "Quiet" && ns != "CFEventsUser" })
			w.watch(t, ses, "*")
		}})
	for name, want := range map[string]int{"Solver.onStep": 4, "Solver.onStep2": 4, "CFEventsUser.onCreated": 4,
		"Quiet.onNothing": 0} {
		if n := w.count(name); n != want {
			t.Errorf("%d %s, not %d", n, name, want)
		}
		if n := recorded(o, name); n != want {
			t.Errorf("%d %s in the trace, not %d", n, name, want)
		}
	}
	// Each lies within a call, on its worker.
	within := func(x sight) bool {
		for _, s := range w.events["GlobalEvents.onForeignStarted"] {
			for _, end := range w.events["GlobalEvents.onForeignEnded"] {
				if s.node == x.node && s.stream == x.stream && end.stream == s.stream && end.node == s.node &&
					s.t <= x.t && x.t <= end.t {
					return true
				}
			}
		}
		return false
	}
	for _, x := range w.events["Solver.onStep"] {
		if !within(x) {
			t.Errorf("%+v lies in no call", x)
		}
		i := x.args["arg1"].(string)
		if x.args["arg4"] != "s"+i || x.args["arg6"] != "1" || x.args["arg3"] != "step" {
			t.Errorf("%+v", x.args)
		}
	}
}

// Events of a CF that goes on are seen meanwhile: this one waits until its event has been seen. It may emit
// many.
func TestEventsByHandOfALongCF(t *testing.T) {
	file := filepath.Join(t.TempDir(), "seen")
	o := run(t, fmt.Sprintf(`sub main() { emit_wait(%q); }`, file), shape{nodes: 1, workers: 1,
		set: func(c *engine.Config) { c.StuckAfter, c.Inside = 20*time.Millisecond, func(trace.InsideInfo, int) {} },
		session: func(ses *prof.Session) {
			if err := ses.ConnectMatching([]string{"Solver.onWait"}, "see", 0, func(_ *prof.Stream, _ *prof.Any) {
				if err := os.WriteFile(file, nil, 0o666); err != nil {
					t.Error(err)
				}
			}); err != nil {
				t.Fatal(err)
			}
		}})
	if n := recorded(o, "Solver.onMany"); n != 20000 {
		t.Errorf("%d events", n)
	}
}

var otherTypes sync.Once

// What modules take otherwise is not emitted. The program's code keeps in mind that it is off.
func TestEventsByHandOfOtherTypes(t *testing.T) {
	first := false
	if otherTypes.Do(func() { first = true }); !first {
		t.Skip("the library stays loaded between runs of this test")
	}
	var warned []string
	o := run(t, `sub main() { emit_taken(1); }`, shape{nodes: 1, workers: 1,
		set: func(c *engine.Config) { c.Warn = func(s string) { warned = append(warned, s) } },
		session: func(ses *prof.Session) {
			u, err := ses.User("Solver", "onTaken")
			if err == nil {
				err = u.Connect("f", 0, func(string) {})
			}
			if err != nil {
				t.Fatal(err)
			}
		}})
	all := strings.Join(warned, "\n")
	if !strings.Contains(all, "event Solver.onTaken takes (arg0 Name); definition has (arg1 Int)") {
		t.Error(all)
	}
	if n := recorded(o, "Solver.onTaken"); n != 1 {
		t.Errorf("%d events with the types that the module takes:\n%s", n, o.trace.text())
	}
}

// recorded counts the events of a name in the trace.
func recorded(o *outcome, name string) int {
	lines := regexp.MustCompile(`(?m)^[0-9].* ` + regexp.QuoteMeta(name) + `( |$)`)
	return len(lines.FindAllString(o.trace.text(), -1))
}
