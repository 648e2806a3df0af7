package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/trace"
)

// Where things live and run, section 6 of the language reference, and stealing, 8.7.

func TestSection6_Locators(t *testing.T) {
	three := shape{nodes: 3, workers: 1}
	apart := three
	apart.apart = true
	// ran runs a program on three nodes and compares the nodes on which statements ran and DFs were held.
	ran := func(t *testing.T, src string, want map[string][]int) {
		t.Helper()
		for _, s := range []shape{three, apart} {
			o := run(t, src, s)
			if o.err != nil {
				t.Fatal(o.err)
			}
			got := o.trace.ran()
			for text, nodes := range want {
				have := got[text]
				if have == nil {
					have = o.trace.stored(text)
				}
				if !slices.Equal(have, nodes) {
					t.Errorf("%v: %s: nodes %v, wanted %v", s, text, have, nodes)
				}
			}
		}
	}
	t.Run("default", func(t *testing.T) {
		ran(t, `
			sub f(int i) { df x; put(x, i); if x none(); for k = 1 .. 2 say("f"); }
			sub main() { for i = 0 .. 2 f(i) @ { locator_cyclic: i; }; }`,
			map[string][]int{"f(i)": {0, 1, 2}, "put(x, i)": {0, 0, 0}, "if x": {0, 0, 0}, "x": {0},
				`say("f")`: {0, 0, 0, 0, 0, 0}, "sub f(int i)": {0, 1, 2}})
	})
	t.Run("modulo", func(t *testing.T) {
		ran(t, `sub main() { for i = -4 .. 4 say("" + i) @ { locator_cyclic: i; }; }`,
			map[string][]int{`say("" + i)`: {0, 0, 0, 1, 1, 1, 2, 2, 2}})
	})
	t.Run("labels", func(t *testing.T) {
		ran(t, `
			sub main()
			{
				cf a: say("a");
				cf b: say("b") @ { locator_cyclic: 2; };
				for i = 0 .. 1 { cf c: say("c"); } @ { locator_cyclic c => i; }
			} @ { locator_cyclic a => 1; locator_cyclic b => 1; }`, map[string][]int{`say("a")`: {1}, `say("b")`: {2}, `say("c")`: {0, 1}})
	})
	t.Run("from data", func(t *testing.T) {
		ran(t, `
			sub main()
			{
				df x, k;
				say("k" + k) @ { locator_cyclic: k + k; };
				put(x[0], 5) ;
				out_i("x", x[0]) @ { locator_cyclic: x[0] - 1; };
				put(k, 1) @ { locator_cyclic: 1; };
			} @ { locator_cyclic k => 2; locator_cyclic x[i] => 1; }`,
			map[string][]int{`say("k" + k)`: {2}, `out_i("x", x[0])`: {1}, "x[0]": {0, 1}, "k": {0, 2}})
	})
	t.Run("structured", func(t *testing.T) {
		ran(t, `
			sub main()
			{
				df x;
				put(x, 1);
				if x { say("if") @ { locator_cyclic: 2; }; } @ { locator_cyclic: 1; }
				for i = 1 .. x { say("for"); } @ { locator_cyclic: 2; }
			}`, map[string][]int{"if x": {1}, "for i = 1 .. x": {2}, `say("if")`: {2}, `say("for")`: {0}})
	})
	t.Run("nearest rule", func(t *testing.T) {
		ran(t, `
			sub main()
			{
				df x;
				put(x[1], 1);
				for i = 2 .. 2 { put(x[i], 2); } @ { locator_cyclic x[a] => 0; }
				put(x[3], 3) @ { locator_cyclic x[a] => a - 1; };
			} @ { locator_cyclic x[a] => a; }`, map[string][]int{"x[1]": {1}, "x[2]": {0}, "x[3]": {2}})
	})
	t.Run("disagreement", func(t *testing.T) {
		o := run(t, `
			sub reader(name v) { out_i("v", v); } @ { locator_cyclic v => 1; }
			sub main() { df x; put(x, 1); reader(x); } @ { locator_cyclic x => 2; }`, three)
		if o.err == nil {
			t.Error("did not notice that producer and reader disagree")
		}
	})
	t.Run("replicating", func(t *testing.T) {
		const all = `
			sub main()
			{
				df x, y, go;
				put(x, 1) >> (go) @ { req_count x = 1; locator_replicating x => all; };
				for i = 0 .. 2 if go { out_i("x", x) @ { locator_cyclic: i; }; }
				put(y, 2) @ { locator_replicating: 1; };
				for i = 0 .. 2 show("y", y) @ { delete y; locator_cyclic: i; };
			} @ { locator_replicating x => all; locator_replicating y => all; }`
		ran(t, all, map[string][]int{"x": {0, 1, 2}, "y": {0, 1, 2}})
		o := run(t, all, three)
		if got := o.trace.destroyed("x", "y"); got != "x expired expired expired, y deleted deleted deleted" {
			t.Error(got)
		}
	})
	t.Run("replicating every k-th", func(t *testing.T) {
		const src = `
			sub main()
			{
				df x;
				put(x, 1);
				for i = 0 .. 4 out_i("x" + i, x) @ { locator_cyclic: i; };
			} @ { locator_replicating x => 2; }`
		same(t, src, "x0=1\nx1=1\nx2=1\nx3=1\nx4=1", shape{nodes: 5, workers: 1})
		o := run(t, src, shape{nodes: 5, workers: 1})
		asked := map[int]int{}
		for _, e := range o.trace.events {
			if e.kind == trace.KindDFRequested {
				asked[e.node] = int(e.a[2])
			}
		}
		// ((r + k/2)/k)*k, minus k where that is no node.
		if want := map[int]int{0: 0, 1: 2, 2: 2, 3: 4, 4: 4}; fmt.Sprint(asked) != fmt.Sprint(want) {
			t.Errorf("asked %v, wanted %v", asked, want)
		}
	})
	t.Run("values travel", func(t *testing.T) {
		// A CF takes the values of its frames along.
		same(t, `
			sub f(int i, real r, string s, name v)
			{
				for k = -1 .. 0 {
					df own;
					put(own[k][1][2][3][4], i * k) @ { locator_cyclic: 1; };
					say(s + (i + k) + own[k][1][2][3][4] + v[k]) @ { locator_cyclic: 2; };
					out_r("r", r * k) @ { locator_cyclic: 3; };
				} @ { locator_cyclic own[a][b][c][d][e] => a; }
			}
			sub main()
			{
				df x;
				f(7, 2.5, "s", x[1][2][3][4][5]);
				for i = -1 .. 0 put(x[1][2][3][4][5][i], i);
			}`, "s7-1-7-1\nr=-2.5\ns7000\nr=0")
	})
	t.Run("indices", func(t *testing.T) {
		ran(t, `
			sub f(name v, int k) { for i = 0 .. 1 put(v[i][k], i); } @ { locator_cyclic v[a][b] => a + b; }
			sub main()
			{
				df x;
				f(x[7], 1);
				for i = 0 .. 1 out_i("x", x[7][i][1]);
			} @ { locator_cyclic x[a][b][c] => b + c; }`, map[string][]int{"x[7][0][1]": {0, 1}, "x[7][1][1]": {0, 2}})
	})
}

func TestSection8_7_Stealing(t *testing.T) {
	const src = `
		sub main()
		{
			df x, done;
			for i = 1 .. 60 {
				put(x[i], i);
				cf job: mix(done[i], x[i], 7) >> () @ { stealable; request x[i]; };
				busy(300) ;
			}
			for i = 2 .. 60 put(done[i], done[i]) @ { drop done; };
			out_i("last", done[60]);
		}`
	steal := func(c *engine.Config) { c.Steal = true }
	p := compile(t, src)
	without := runProgram(t, p, shape{nodes: 3, workers: 1})
	if without.err != nil || without.res.Stolen != 0 {
		t.Fatal(without.err, without.res.Stolen)
	}
	stolen := int64(0)
	for i := range 10 {
		o := runProgram(t, p, shape{nodes: 3, workers: 1, set: steal, apart: i%2 == 1})
		if o.err != nil || o.out != without.out {
			t.Fatalf("%v, printed %q, wanted %q", o.err, o.out, without.out)
		}
		if int(o.res.Stolen) != o.trace.kinds[trace.KindCFStolen] {
			t.Errorf("%d CFs stolen, %d in the trace", o.res.Stolen, o.trace.kinds[trace.KindCFStolen])
		}
		stolen += o.res.Stolen
	}
	if stolen == 0 {
		t.Error("nothing was stolen")
	}
	t.Logf("%d of 600 CFs stolen", stolen)
	if o := runProgram(t, p, shape{nodes: 1, workers: 4, set: steal}); o.err != nil || o.res.Stolen != 0 {
		t.Error(o.err, o.res.Stolen)
	}
	if o := runProgram(t, p, shape{nodes: 4, workers: 3, set: func(c *engine.Config) {
		c.Steal = true
		c.LinkLatency = 200 * time.Microsecond
	}}); o.err != nil || o.out != without.out {
		t.Error(o.err, o.out)
	}
}

// TestNetwork checks that an emulated network is what the trace shows: no message is faster than the link
// allows.
func TestNetwork(t *testing.T) {
	const latency, bandwidth = 4 * time.Millisecond, 2e6
	o := run(t, `
		sub main()
		{
			df x, s;
			for i = 0 .. 7 { block(x[i], 2500, i) @ { locator_cyclic: i; }; peek("x" + i, x[i]) @ { locator_cyclic: i + 1; }; }
		} @ { locator_cyclic x[i] => i + 2; }`,
		shape{nodes: 4, workers: 1, set: func(c *engine.Config) {
			c.LinkLatency, c.LinkBandwidth = latency, bandwidth
		}})
	if want := "x0=0\nx1=1\nx2=2\nx3=3\nx4=4\nx5=5\nx6=6\nx7=7"; o.err != nil || o.sorted() != want {
		t.Fatalf("%v, printed %q", o.err, o.out)
	}
	sent := map[uint64]event{}
	flights := 0
	for _, e := range o.trace.events {
		switch e.kind {
		case trace.KindDFSent:
			sent[e.a[3]] = e
		case trace.KindDFReceived:
			s := sent[e.a[3]]
			least := latency + time.Duration(float64(s.a[2])/bandwidth*1e9)
			if d := time.Duration(e.t - s.t); d < least {
				t.Errorf("%d bytes from node %d to %d took %v, at least %v were to be", s.a[2], s.node, e.node, d, least)
			}
			if s.a[2] < 10000 {
				t.Errorf("a block of 10000 bytes went in a message of %d", s.a[2])
			}
			flights++
		}
	}
	if flights != 16 {
		t.Errorf("%d messages with DFs", flights)
	}
	// Of what is still on its way when the run is interrupted nothing is left in memory.
	for i := range 3 {
		live := cpp.Live()
		o := run(t, `
			sub main()
			{
				df x, y;
				put(x[0], 1);
				while x[i], i = 0 .. out y { df b; block(b, 1000, i); peek("", b) @ { locator_cyclic: i; }; busy(100); put(x[i + 1], 1); }
			}`,
			shape{nodes: 3, workers: 1, apart: i == 1, after: 20 * time.Millisecond, set: func(c *engine.Config) {
				c.LinkLatency = 5 * time.Millisecond
			}})
		if !errors.Is(o.err, engine.ErrInterrupted) {
			t.Error(o.err)
		}
		if n := cpp.Live() - live; n != 0 {
			t.Errorf("%d buffers leaked", n)
		}
	}
}
