package engine_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/analysis/lifecycle"
	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/internal/run/placement"
	"github.com/whyslow/whyslow/internal/testkit/effort"
	"github.com/whyslow/whyslow/internal/testkit/graphs"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// graph is a random task graph, see graphs.Draw.
type graph struct{ *graphs.Graph }

func drawGraph(t *rapid.T) graph { return graph{graphs.Draw(t, "main")} }

// check runs the program. With modules, rules emit events at every point, and all that handlers see is
// checked too.
func (g graph) check(t testing.TB, p *luna.Program, s shape, modules bool) []string {
	var l *ledger
	w := &seen{}
	if modules {
		set := s.set
		s.set = func(c *engine.Config) {
			set(c)
			c.DescribeDFs, c.Rules = true, checked(t, everyPoint("cf", "inputs", "input_bytes", "outputs", "label"))
		}
		s.session = func(ses *prof.Session) {
			l = keepLedger(t, ses)
			w.watch(t, ses, "User.*")
		}
	}
	o, faults := execute(t, p, s)
	if modules && o.err == nil {
		faults = append(faults, l.faults...)
		faults = append(faults, conserved(o, w, o.trace.kinds[trace.KindBlockMigrated])...)
		if b := l.balance(); b != "" {
			faults = append(faults, b)
		}
	}
	if o.err != nil {
		var b strings.Builder
		var e *engine.StuckError
		if errors.As(o.err, &e) {
			lifecycle.Explain(&b, &e.Stuck, true)
		}
		return append(faults, fmt.Sprintf("%v\n%s", o.err, b.String()))
	}
	got := map[string]bool{}
	for _, l := range o.lines() {
		got[l] = true
	}
	if len(o.lines()) != len(g.Want) {
		faults = append(faults, fmt.Sprintf("%d lines, wanted %d", len(o.lines()), len(g.Want)))
	}
	for l := range g.Want {
		if !got[l] {
			faults = append(faults, "did not print "+l)
		}
	}
	return faults
}

func TestRandomPrograms(t *testing.T) {
	deadline := time.Now().Add(time.Duration(effort.Times(2, 7)) * time.Second)
	runs := 0
	defer engine.KeepAll()()
	rapid.Check(t, func(rt *rapid.T) {
		if time.Now().After(deadline) {
			return
		}
		g := drawGraph(rt)
		p := compile(t, "\n"+g.Src)
		for range 2 {
			s := shape{nodes: rapid.IntRange(1, 5).Draw(rt, "nodes"), workers: rapid.IntRange(1, 3).Draw(rt,
				"workers"), apart: rapid.Bool().Draw(rt, "apart")}
			if s.apart && rapid.Bool().Draw(rt, "delays") {
				s.delays = rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
			}
			steal, latency := rapid.Bool().Draw(rt, "steal"),
				rapid.SampledFrom([]time.Duration{0, 0, 50 * time.Microsecond, time.Millisecond}).Draw(rt, "latency")
			var place *placement.Bound
			if rapid.Bool().Draw(rt, "placed") {
				place = anyPlacement(p, s.nodes, rapid.Uint64().Draw(rt, "places"))
			}
			balance, balanced := func(*engine.Config) {}, rapid.Bool().Draw(rt, "balanced")
			if balanced {
				balance = shuffled(rapid.Uint64().Draw(rt, "moves"))
			}
			s.set = func(c *engine.Config) {
				c.Steal, c.LinkLatency, c.Place = steal, latency, place
				balance(c)
				if latency > 0 {
					c.LinkBandwidth = 1e7
				}
			}
			runs++
			modules := !s.apart && rapid.Bool().Draw(rt, "modules")
			if faults := g.check(t, p, s, modules); len(faults) > 0 {
				rt.Fatalf("%v (stealing %v, latency %v, modules %v, placed %v, balanced %v): %s\n%s", s, steal,
					latency, modules, place != nil, balanced, strings.Join(faults, "\n"), g.Src)
			}
		}
	})
	t.Logf("%d runs", runs)
}

// Whatever the nodes and workers, a program prints the same.
func TestShapesAgree(t *testing.T) {
	programs := 0
	rapid.Check(t, func(rt *rapid.T) {
		for range effort.Times(1, 30) {
			g := drawGraph(rt)
			p := compile(t, "\n"+g.Src)
			for _, s := range []shape{one, {nodes: 1, workers: 4}, {nodes: 2, workers: 1}, {nodes: 4, workers: 2}} {
				s.set = func(c *engine.Config) { c.Steal = true }
				if faults := g.check(t, p, s, false); len(faults) > 0 {
					rt.Fatalf("%v: %s\n%s", s, strings.Join(faults, "\n"), g.Src)
				}
			}
			programs++
		}
	})
	t.Logf("%d programs", programs)
}
