package counters_test

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/analysis/counters"
	_ "github.com/whyslow/whyslow/internal/testkit/effort"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// lifeEvents are the kinds that tell what a CF does, in the order in which they happen at one nanosecond.
var lifeEvents = []string{"CFEvents.onCreated", "CFEvents.onReceived", "CFEvents.onReady",
	"CFEvents.onStarted", "CFEvents.onFinished",
	"CFEvents.onMigrated", "CFEvents.onStolen"}

// stateAt says what a CF does at t and where, from its events in order: what the last event by t says; gone
// after its last onFinished.
func stateAt(events []sloutest.Event, t int64) (string, int) {
	last := -1
	for i, e := range events {
		if e.Time <= t {
			last = i
		}
	}
	if last < 0 {
		return "", -1
	}
	e := events[last]
	switch e.Kind {
	case "CFEvents.onReady":
		return counters.CFsReady, e.Node
	case "CFEvents.onStarted":
		return counters.CFsRunning, e.Node
	case "CFEvents.onMigrated", "CFEvents.onStolen":
		return counters.CFsMoving, -1
	case "CFEvents.onFinished":
		if last == len(events)-1 {
			return "", -1
		}
	}
	return counters.CFsWaiting, e.Node
}

func livesOf(run *sloutest.Run) map[string][]sloutest.Event {
	lives := map[string][]sloutest.Event{}
	for _, e := range run.Events {
		if slices.Contains(lifeEvents, e.Kind) {
			if e.Kind == "CFEvents.onReady" {
				e.Time -= e.Late
			}
			lives[e.CF] = append(lives[e.CF], e)
		}
	}
	for _, l := range lives {
		rank := func(e sloutest.Event) int {
			i := slices.Index(lifeEvents, e.Kind)
			if e.Kind == "CFEvents.onFinished" {
				i-- // starts and ends are in the order they were made
			}
			return i
		}
		slices.SortStableFunc(l, func(a, b sloutest.Event) int {
			return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(rank(a), rank(b)))
		})
	}
	return lives
}

// TestCFsByDefinition compares the states of CFs in random runs, ended, killed and stuck, with what the
// definition gives at every nanosecond.
func TestCFsByDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := sloutest.Random(t)
		switch rapid.IntRange(0, 3).Draw(t, "end") {
		case 0:
			run.Kill(t)
		case 1:
			run.Stick(t)
		}
		m := sloutest.Build(t, run.Text())
		r := compute(t, m, counters.Options{Windows: rapid.IntRange(1, 30).Draw(t, "windows")})
		checkPartition(t, r)
		if !slices.ContainsFunc(run.Events,
			func(e sloutest.Event) bool { return e.Kind == "CFEvents.onStarted" }) {
			return
		}
		want := map[string][]values{}
		for _, name := range []string{counters.CFs, counters.CFsWaiting, counters.CFsReady,
			counters.CFsRunning, counters.CFsMoving} {
			want[name] = make([]values, run.Nodes+1)
			for n := range want[name] {
				want[name][n] = make(values, m.Wall()+1)
			}
		}
		for _, events := range livesOf(run) {
			for now := range m.Wall() + 1 {
				state, node := stateAt(events, m.Start+now)
				if state == "" {
					continue
				}
				for _, name := range []string{state, counters.CFs} {
					want[name][run.Nodes][now]++
					if node >= 0 {
						want[name][node][now]++
					}
				}
			}
		}
		null := map[string]bool{}
		for _, miss := range r.Missing {
			for _, name := range miss.Series {
				null[name] = true
			}
		}
		for name, list := range want {
			for n, v := range list {
				node := n
				if n == run.Nodes {
					node = -1
				} else if name == counters.CFsMoving {
					continue
				}
				if null[name] || name == counters.CFsMoving && len(m.Moves) == 0 {
					continue
				}
				if err := v.check(r, name, node, ""); err != nil {
					t.Fatalf("%v\n%s", err, run.EventText())
				}
			}
		}
	})
}

// checkPartition checks that the means of the states add up to that of all CFs, and that all CFs are those of
// the nodes and those under way.
func checkPartition(t *rapid.T, r *counters.Result) {
	all := r.Find(counters.CFs, -1, "")
	if all == nil {
		return
	}
	for i := range all.Mean {
		states, nodes := 0.0, 0.0
		for k := range r.Series {
			s := &r.Series[k]
			switch s.Name {
			case counters.CFsWaiting, counters.CFsReady, counters.CFsRunning, counters.CFsMoving:
				if s.Total() {
					states += s.Mean[i]
				}
			}
			if s.Name == counters.CFs && s.Node >= 0 || s.Name == counters.CFsMoving {
				nodes += s.Mean[i]
			}
		}
		if r.Find(counters.CFsWaiting, -1, "") != nil && diff(states, all.Mean[i]) > 1e-6 {
			t.Fatalf("window %d: the states add up to %g, there are %g CFs", i, states, all.Mean[i])
		}
		if diff(nodes, all.Mean[i]) > 1e-6 {
			t.Fatalf("window %d: nodes and links have %g CFs, there are %g", i, nodes, all.Mean[i])
		}
	}
}

// TestDamaged follows runs of which parts vanished or make no sense: the sums still fit, and no level of a
// whole is less than 0.
func TestDamaged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := sloutest.Random(t)
		run.AddWaits(t)
		run.Harm(t)
		m := sloutest.Build(t, run.Text())
		r := compute(t, m, counters.Options{Windows: 7})
		checkPartition(t, r)
		for _, s := range r.Series {
			for _, v := range s.Min {
				if v < 0 {
					t.Fatalf("%s node %d link %q: %d\n%s", s.Name, s.Node, s.Link, v, run.EventText())
				}
			}
		}
	})
}
