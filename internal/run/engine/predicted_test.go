package engine_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/analysis/simulate"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/internal/testkit/effort"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// Programs that ran on one node with one worker are predicted to take what they took, less what the worker
// waited for a core that others had: half of them within 5 %, although they last a millisecond and no two of
// their CFs are alike. And wherever they ran, on any other machine they end, having executed all that they
// executed.
func TestPredicted(t *testing.T) {
	deadline := time.Now().Add(time.Duration(effort.Times(2, 30)) * time.Second)
	var off []float64 // parts by which predictions were
	rapid.Check(t, func(rt *rapid.T) {
		if time.Now().After(deadline) {
			return
		}
		p := compile(t, "\n"+drawGraph(rt).Src)
		s := shape{nodes: rapid.IntRange(1, 3).Draw(rt, "nodes"), workers: rapid.IntRange(1, 2).Draw(rt, "workers")}
		steal := rapid.Bool().Draw(rt, "steal")
		s.set = func(c *engine.Config) { c.Steal = steal }
		o := runProgram(t, p, s)
		if o.err != nil {
			rt.Fatal(o.err)
		}
		m := sloutest.Load(t, o.trace.dir)
		sim, err := simulate.New(context.Background(), m)
		if err != nil {
			rt.Fatal(err)
		}
		for _, machine := range []simulate.Machine{{}, {Nodes: 1, Workers: 1}, {Nodes: 4, Workers: 2},
			{Nodes: 2, Latency: 1e5, Bandwidth: 1e6}} {
			r, err := sim.Run(context.Background(), machine)
			if err != nil {
				rt.Fatal(err)
			}
			if r.Left > 0 || r.Executed != m.Executions() || r.WallNS < r.LeastNS {
				rt.Fatalf("recorded on %v, on %+v: %+v of %d executions\n%s", s, machine, r, m.Executions(), p.Text)
			}
			if machine.Nodes == 0 && s.nodes*s.workers == 1 {
				took, waited := lastEnd(m)
				wrong := max(0, r.WallNS-took, took-waited-r.WallNS)
				if wrong > took/2+200_000 {
					rt.Fatalf("%d ns, of which %d were waited for a core; predicted %d\n%s", took, waited, r.WallNS, p.Text)
				}
				off = append(off, float64(wrong)/float64(took))
			}
		}
	})
	if slices.Sort(off); len(off) > 0 {
		n := len(off)
		t.Logf("%d programs on one worker: half within %.1f %%, 90 of 100 within %.1f %%, all within %.1f %%", n,
			100*off[n/2], 100*off[n*9/10], 100*off[n-1])
		if n >= 20 && off[n/2] > 0.05 {
			t.Error("more than half are over 5 % off")
		}
	}
}

// lastEnd is when the last CF of one worker ended after its start, and what its thread waited for a core.
func lastEnd(m *model.Model) (took, waited int64) {
	busy := m.BusyUntil()
	for _, w := range m.AllWorkers() {
		if w.First < w.End {
			took = busy[w.End-1] - w.Started
		}
		for _, off := range w.Off {
			waited += off.Queued + off.Before
		}
	}
	return took, waited
}

// DFs that several nodes keep take the messages that they took, and so they do where they were kept by one.
func TestPredictedReplication(t *testing.T) {
	const nodes = 5
	record := func(rule string) (*model.Model, *simulate.Simulator) {
		p := compile(t, `sub main() { df x; put(x, 5) @ { locator_cyclic: 3; };
			for n = 0 .. 4 { for i = 1 .. 3 out_i("", x) @ { locator_cyclic: n; }; } } @ { `+rule+`; }`)
		o := runProgram(t, p, shape{nodes: nodes, workers: 1})
		if o.err != nil {
			t.Fatal(o.err)
		}
		m := sloutest.Load(t, o.trace.dir)
		sim, err := simulate.Portable(context.Background(), m)
		if err != nil {
			t.Fatal(err)
		}
		return m, sim
	}
	messages := func(sim *simulate.Simulator, machine simulate.Machine) int64 {
		r, err := sim.Run(context.Background(), machine)
		if err != nil || r.Left > 0 {
			t.Fatalf("%+v, %v", r, err)
		}
		return r.Messages
	}
	kept := map[string]int64{}
	for _, rule := range []string{"locator_cyclic x => 0", "locator_replicating x => all",
		"locator_replicating x => 2", "locator_replicating x => 4"} {
		m, sim := record(rule)
		for _, list := range [][]model.Message{m.DFMessages, m.Requests, m.Moves} {
			for i := range list {
				if list[i].Sent != model.None && list[i].From != list[i].To {
					kept[rule]++
				}
			}
		}
		if got := messages(sim, simulate.Machine{}); got != kept[rule] {
			t.Errorf("%s: %d messages, %d are predicted", rule, kept[rule], got)
		}
	}
	all := kept["locator_replicating x => all"]
	if kept["locator_cyclic x => 0"] <= all {
		t.Errorf("%v", kept)
	}
	_, sim := record("locator_cyclic x => 0")
	if got := messages(sim, simulate.Machine{Replicated: []string{"x"}}); got != all {
		t.Errorf("copies on all nodes take %d messages, %d are predicted", all, got)
	}
	_, sim = record("locator_replicating x => all")
	if got := messages(sim, simulate.Machine{Nodes: 3}); got != 2+9 {
		t.Errorf("%d messages on three nodes: two copies, and the CFs of nodes 1, 2 and 4", got)
	}
}
