package engine_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// shuffler is a balancer that moves CFs anywhere.
type shuffler struct{ random *rand.Rand }

func (shuffler) Start(*prof.Host) error { return nil }
func (shuffler) Finish() error          { return nil }
func (shuffler) Period() time.Duration  { return 50 * time.Microsecond }

func (s shuffler) Balance(r prof.Runtime) {
	for from := range r.Nodes() {
		for _, w := range r.Load(from).Work {
			r.Move(prof.Move{Code: w.Code, From: from, To: s.random.IntN(r.Nodes()), CFs: 1 + s.random.Int64N(w.CFs)})
		}
	}
}

// shuffled gives a run a shuffler. In a run of many processes each has one.
func shuffled(seed uint64) func(*engine.Config) {
	return func(c *engine.Config) { c.Balancer = shuffler{rand.New(rand.NewPCG(seed, 0))} }
}

// A node hands CFs over that have asked for nothing yet, and CFs that are ready, which take their inputs
// along. They wait for each other, and their node has one worker, so the program ends only if they move.
func TestBalancerMoves(t *testing.T) {
	for what, src := range map[string]string{
		"fresh": `sub main() { for i = 0 .. 2 { meet(3); } }`,
		"ready": `sub main() { df x; for i = 0 .. 2 { meet(x); } nap(1) >> (x[1]); put(x, 3) @ { request x[1]; }; }`,
	} {
		p := compile(t, "\n"+src)
		for _, s := range []shape{{nodes: 3, workers: 1}, {nodes: 3, workers: 1, apart: true}} {
			s.set = shuffled(1)
			o := runProgram(t, p, s)
			if o.err != nil {
				t.Errorf("%s, %v: %v", what, s, o.err)
				continue
			}
			var moved uint64
			for _, e := range o.trace.events {
				if e.kind == trace.KindBalanced {
					moved += e.a[2]
				}
			}
			if k := o.trace.kinds; moved < 2 || moved != uint64(k[trace.KindCFMigrated]) {
				t.Errorf("%s, %v: decisions about %d CFs, %d moved", what, s, moved, k[trace.KindCFMigrated])
			}
		}
	}
}

// mover is a balancer that moves all CFs of a code fragment from node 0 to node 1.
type mover struct {
	shuffler
	code string
}

func (m mover) Balance(r prof.Runtime) { r.Move(prof.Move{Code: m.code, To: 1, CFs: 1}) }

// DFs follow: a CF that was moved keeps its output, and the CF that reads it goes there too, so it is not
// sent. Until the block is made the worker of node 0 waits for the one of node 1.
func TestDFsFollow(t *testing.T) {
	p := compile(t, `
		sub main()
		{
			df x, made;
			meet(2);
			block(x, 1000, 5) >> (made) @ { req_count x = 1; };
			show("read", x);
			meet(2) @ { locator_cyclic: 1; request made; };
		}`)
	for _, s := range []shape{{nodes: 2, workers: 1}, {nodes: 2, workers: 1, apart: true}} {
		s.set = func(c *engine.Config) { c.Balancer = mover{code: "block"} }
		o := runProgram(t, p, s)
		if o.err != nil || !contains(o.out, "read") {
			t.Errorf("%v: %v, printed %q", s, o.err, o.out)
		}
		for id, c := range o.trace.cfs {
			if contains(o.trace.sites[c.site], "show") && (len(c.nodes) != 1 || c.nodes[0] != 1) {
				t.Errorf("%v: CF %v, which reads the block, ran on %v", s, id, c.nodes)
			}
		}
		for _, e := range o.trace.events {
			if e.kind == trace.KindDFSent && e.a[2] >= 1000 {
				t.Errorf("%v: node %d sent %d bytes", s, e.node, e.a[2])
			}
		}
	}
}
