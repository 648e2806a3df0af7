package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/whyslow/whyslow/internal/analysis/balance"
	"github.com/whyslow/whyslow/internal/analysis/simulate"
	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/internal/run/placement"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// anyPlacement puts most CFs and DFs of a program anywhere.
func anyPlacement(p *luna.Program, nodes int, seed uint64) *placement.Bound {
	r := rand.New(rand.NewPCG(seed, 0))
	table := func(first, last int32) placement.Table {
		t := placement.Table{}
		var add func(key uint64, depth int)
		add = func(key uint64, depth int) {
			if r.IntN(8) > 0 {
				t[key] = uint16(r.IntN(nodes))
			}
			for v := first; v <= last && depth < 3; v++ {
				add(placement.Add(key, v), depth+1)
			}
		}
		add(placement.Start, 0)
		return t
	}
	b := &placement.Bound{CFs: make([]placement.Table, len(p.Stmts)), DFs: make([]placement.Table, len(p.Decls))}
	for _, st := range p.Stmts {
		if placement.Movable(st) {
			b.CFs[st.ID] = table(0, 8)
		}
	}
	replicated := p.Replicated()
	for id := range p.Decls {
		if !replicated[luna.DeclID(id)] {
			b.DFs[id] = table(-3, 8)
		}
	}
	return b
}

// The paths that are found in a trace are those by which the engine knows CFs: each runs where the placement
// says, through loops, conditions, subs that call each other, and their DFs.
func TestPlaced(t *testing.T) {
	p := compile(t, `
		sub leaf(int i, name v) { df own; put(own, i); show("own", own); out_i("v", v[i]); }
		sub tree(int depth, int i)
		{
			out_i("tree", i);
			if depth > 0 { tree(depth - 1, 2 * i); tree(depth - 1, 2 * i + 1); }
		}
		sub main()
		{
			df x, y, n, go;
			for i = 3 .. 8 { put(x[i], i); leaf(i, x); }
			for i = 1 .. 2 { for k = i .. 3 { if k > 1 { out_i("k", i * 10 + k); } } }
			put(go[0], 1);
			while go[t] < 4, t = 0 .. out n {
				put(go[t + 1], t + 2);
				for s = 0 .. 1 { cf step[t][s]: out_i("t", t * 10 + s); }
			}
			out_i("n", n);
			tree(2, 1);
		}`)
	recorded := runProgram(t, p, one)
	if recorded.err != nil {
		t.Fatal(recorded.err)
	}
	s, err := simulate.Portable(context.Background(), sloutest.Load(t, recorded.trace.dir))
	if err != nil {
		t.Fatal(err)
	}
	r, err := balance.Compute(context.Background(), s,
		balance.Options{Machine: s.Complete(simulate.Machine{Nodes: 3, Latency: -1, Bandwidth: -1})})
	if err != nil {
		t.Fatal(err)
	}
	for _, trial := range r.Trials {
		f := r.Program.File(trial.Place, "t.fa")
		bound, err := f.Bind(p)
		if err != nil || bound.Unknown != "" {
			t.Fatalf("%v, %q", err, bound.Unknown)
		}
		want := map[string][]int{}
		for _, g := range f.CFs {
			for _, b := range g.Places {
				n := 1
				for _, r := range b.At {
					n *= int((r.Last-r.First)/r.Step + 1)
				}
				want[g.Statement] = append(want[g.Statement], slices.Repeat([]int{b.Node}, n)...)
			}
		}
		for _, shape := range []shape{{nodes: 3, workers: 1}, {nodes: 3, workers: 2, apart: true}} {
			shape.set = func(c *engine.Config) { c.Place = bound }
			o := runProgram(t, p, shape)
			if o.err != nil || o.res.Unplaced > 0 || o.sorted() != recorded.sorted() {
				t.Fatalf("%s, %v: %v, %d without a place, printed %s", trial.Strategy, shape, o.err, o.res.Unplaced,
					o.out)
			}
			ran := o.trace.ran()
			for text, nodes := range want {
				slices.Sort(nodes)
				if fmt.Sprint(ran[text]) != fmt.Sprint(nodes) {
					t.Errorf("%s, %v: %s ran on %v, not %v", trial.Strategy, shape, text, ran[text], nodes)
				}
			}
		}
	}
}
