package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	debugger "github.com/whyslow/whyslow/internal/run/debug"
	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/internal/run/order"
	"github.com/whyslow/whyslow/internal/testkit/effort"
	"github.com/whyslow/whyslow/trace"
)

// steered runs a program under a gate, and checks what it prints, its trace and its memory.
func (g graph) steered(rt *rapid.T, t *testing.T, p *luna.Program, s shape, gate engine.Gate) *outcome {
	s.set = func(c *engine.Config) {
		c.Gate = gate
		if r, ok := gate.(*order.Recorded); ok {
			c.Place = r.Places
		}
	}
	o, faults := execute(t, p, s)
	for l := range g.Want {
		if !strings.Contains("\n"+o.out, "\n"+l+"\n") {
			faults = append(faults, "did not print "+l)
		}
	}
	if len(faults) > 0 || o.err != nil {
		rt.Fatalf("%v under %T: %v, %s\n%s", s, gate, o.err, strings.Join(faults, "\n"), g.Src)
	}
	return o
}

// TestOrders runs random programs in orders at random, and their recorded runs again: every CF starts in its
// turn.
func TestOrders(t *testing.T) {
	open(t, compile(t, "sub main() none();"))
	deadline := time.Now().Add(time.Duration(effort.Times(1, 20)) * time.Second)
	runs := 0
	rapid.Check(t, func(rt *rapid.T) {
		if time.Now().After(deadline) {
			return
		}
		g := drawGraph(rt)
		p := compile(t, "\n"+g.Src)
		s := shape{nodes: rapid.IntRange(1, 4).Draw(rt, "nodes"), workers: rapid.IntRange(1, 3).Draw(rt, "workers")}
		var gate engine.Gate
		if rapid.Bool().Draw(rt, "at random") {
			gate = order.NewFuzz(rapid.Uint64().Draw(rt, "seed"), s.workers)
		}
		results := []*order.Results{order.NewResults(gate), nil}
		first := g.steered(rt, t, p, s, results[0])
		info := &trace.RunInfo{}
		for range s.nodes {
			info.Nodes = append(info.Nodes, trace.NodeInfo{Workers: s.workers})
		}
		if err := trace.WriteRunInfo(first.dir, info); err != nil {
			t.Fatal(err)
		}
		r, err := trace.Open(first.dir)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		recorded, err := order.Read(r, p)
		if err != nil {
			t.Fatal(err)
		}
		results[1] = order.NewResults(recorded)
		again := g.steered(rt, t, p, s, results[1])
		c := recorded.Count()
		if c.Missing > 0 || c.New > 0 || c.Elsewhere > 0 || int64(c.Executions) != again.res.Atomic {
			rt.Fatalf("%v: of the order %+v, %d executions\n%s", s, c, again.res.Atomic, g.Src)
		}
		if d := results[0].Differs(results[1]); d != "" {
			rt.Fatalf("%v: %s\n%s", s, d, g.Src)
		}
		runs++
	})
	t.Logf("%d runs", runs)
}

// TestDebuggedPrograms stops random programs at random, while others look at everything.
func TestDebuggedPrograms(t *testing.T) {
	open(t, compile(t, "sub main() none();"))
	deadline := time.Now().Add(time.Duration(effort.Times(1, 20)) * time.Second)
	stops, moved := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		if time.Now().After(deadline) {
			return
		}
		g := drawGraph(rt)
		p := compile(t, "\n"+g.Src)
		s := shape{nodes: rapid.IntRange(1, 3).Draw(rt, "nodes"), workers: rapid.IntRange(1, 3).Draw(rt, "workers")}
		o := debugger.Options{Program: p, AtEntry: true}
		if rapid.IntRange(0, 2).Draw(rt, "order") == 0 {
			o.Under = order.NewFuzz(rapid.Uint64().Draw(rt, "seed"), s.workers)
		}
		d, err := debugger.New(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		moves := rapid.SliceOfN(rapid.SampledFrom([]int{0, 1, 2, 3, 4, 4, 5, 5}), 10, 60).Draw(rt, "moves")
		done := make(chan struct{})
		go func() {
			defer close(done)
			for i := 0; ; i++ {
				stop := <-d.Stops()
				if stop.Reason == debugger.Ended {
					return
				}
				stops++
				list, _ := d.CFs(100)
				_ = d.DFs("", func(f *debugger.DFState) bool { return f.Shown.Text != "no" })
				move := 0
				if i < len(moves) {
					move = moves[i]
				}
				switch move {
				case 1, 2:
					if d.Step(0, -1, move-2) == nil {
						continue
					}
				case 4, 5: // what may move goes to another node, and runs there
					for k, c := range list {
						if c.State == engine.StateKept && k%2 == move%2 && d.Move(c.CF, "", (c.Node+k)%s.nodes) == nil {
							moved++
						}
					}
					if d.Step(0, -1, -1) == nil {
						continue
					}
				case 3:
					if d.Continue() == nil {
						_ = d.Pause()
						continue
					}
				}
				_ = d.Continue()
			}
		}()
		g.steered(rt, t, p, s, d)
		d.End()
		<-done
	})
	t.Logf("%d stops, %d CFs moved", stops, moved)
}
