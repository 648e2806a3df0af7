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
			r.Move(prof.Move{Code: w.Code, Class: w.Class, From: from, To: s.random.IntN(r.Nodes()),
				CFs: 1 + s.random.Int64N(w.CFs)})
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

// foreseer is a balancer that wants the CFs that node 0 executes again and again at node 1.
type foreseer struct{ shuffler }

func (foreseer) Balance(r prof.Runtime) {
	for _, w := range r.Load(0).Again {
		r.Move(prof.Move{Code: w.Code, Class: w.Class, To: 1, CFs: w.CFs, Next: true})
	}
}

// An order may be about CFs that are to come: here each is made by the end of the one before.
func TestBalancerForesees(t *testing.T) {
	p := compile(t, `
		sub main()
		{
			df x;
			for t = 0 .. 40
				for s = 0 .. 0
					nap(1) >> (x[t + 1]) @ { request x[t]; };
			put(x[0], 1);
		}`)
	for _, s := range []shape{{nodes: 2, workers: 1}, {nodes: 2, workers: 1, apart: true}} {
		s.set = func(c *engine.Config) { c.Balancer = foreseer{} }
		o := runProgram(t, p, s)
		if o.err != nil || o.trace.kinds[trace.KindBalanced] == 0 {
			t.Errorf("%v: %v, %d decisions", s, o.err, o.trace.kinds[trace.KindBalanced])
		}
	}
}

// DFs follow: a CF that was moved keeps its output, and the CF that reads it goes there too, so it is not
// sent. Until the block is made the worker of node 0 waits for the one of node 1.
func TestDFsFollow(t *testing.T) {
	t.Run("one", func(t *testing.T) {
		follows(t, "show", `
		sub main()
		{
			df x, made;
			meet(2);
			block(x, 1000, 5) >> (made) @ { req_count x = 1; };
			show("read", x);
			meet(2) @ { locator_cyclic: 1; request made; };
		}`)
	})
	// It is not known before they run whether the inputs are one.
	t.Run("two", func(t *testing.T) {
		follows(t, "swap", `
		sub pair(int i, int j, name x, name y) swap(x[i], x[j], y[1], y[2]);
		sub main()
		{
			df x, y, made;
			meet(2);
			block(x[1], 1000, 5) >> (made) @ { req_count x[1] = 1; };
			put(x[2], 3);
			pair(1, 2, x, y);
			show("read", y[1]);
			meet(2) @ { locator_cyclic: 1; request made; };
		}`)
	})
}

// A CF two of whose inputs are kept elsewhere stays where most of its bytes are. Those two come one after the
// other, and it waits for both.
func TestFarInputsCome(t *testing.T) {
	p := compile(t, `
		sub main()
		{
			df x, big, made, sum;
			meet(2);
			block(x[1], 100, 1) >> (made[1]) @ { req_count x[1] = 1; };
			block(x[2], 50000, 2) >> (made[2]) @ { req_count x[2] = 1; };
			firsts(x[1], x[2], big, sum);
			show("sum", sum);
			none() >> (made[3]) @ { request made[1]; request made[2]; locator_cyclic: 1; };
			meet(2) >> (made[4]) @ { locator_cyclic: 1; request made[3]; };
			block(big, 100000, 4) @ { locator_cyclic: 2; request made[4]; };
		}`)
	for _, s := range []shape{{nodes: 3, workers: 1}, {nodes: 3, workers: 1, apart: true}} {
		s.set = func(c *engine.Config) { c.Balancer, c.LinkBandwidth = mover{code: "block"}, 1e7 }
		o := runProgram(t, p, s)
		if o.err != nil || !contains(o.out, "sum DF<int>(7)") {
			t.Errorf("%v: %v, printed %q", s, o.err, o.out)
		}
	}
}

// follows demands that a block made on node 1 is not sent, and that its reader runs there.
func follows(t *testing.T, reader, src string) {
	p := compile(t, src)
	for _, s := range []shape{{nodes: 2, workers: 1}, {nodes: 2, workers: 1, apart: true}} {
		s.set = func(c *engine.Config) { c.Balancer = mover{code: "block"} }
		o := runProgram(t, p, s)
		if o.err != nil || !contains(o.out, "read") {
			t.Errorf("%v: %v, printed %q", s, o.err, o.out)
		}
		for id, c := range o.trace.cfs {
			if contains(o.trace.sites[c.site], reader) && (len(c.nodes) != 1 || c.nodes[0] != 1) {
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
