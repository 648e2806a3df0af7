package engine_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// The order of execution with one worker, section 8.4 of the language reference, and its check list, section
// 13; and what several workers begin with.

func TestSection8_4_Order(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"children in textual order after the queue",
			`if 1 { say("a"); say("b"); } for i = 1 .. 2 { say("c" + i); say("d" + i); } say("first");`,
			"first a b c1 d1 c2 d2"},
		{"a loop that need not wait keeps its worker",
			`while i < 3, i = 0 .. out n say("i" + i); say("first"); out_i("n", n);`, "first n=3 i0 i1 i2"},
		{"a post wakes in the order of requests",
			`say("a" + x); say("b" + x); say("c" + x); put(x, 1); say("first");`, "first a1 b1 c1"},
		{"a woken CF goes to the end", `say("a" + x); put(x, 1); say("b"); put(y, 1); say("c");`, "b c a1"},
		{"waiting for the first missing DF", `say("a" + x + y); say("b" + y); put(y, 2); put(x, 1); say("c");`,
			"c b2 a12"},
		{"then for the next", `say("a" + x + y); say("b" + x); put(x, 1); put(z, 1); if z { put(y, 2); say("c"); }`,
			"b1 c a12"},
		{"stored DFs are there at once",
			`put(x, 1); say("a" + x); if x say("c"); say("b" + x[x - 1 + 0] + x); put(x[0], 7);`, "a1 c b71"},
		{"several outputs", `say("b" + y); say("a" + x); two(x, y, 1); say("first");`, "first a1 b2"},
		{"tokens after arguments", `say("t" + y); say("a" + x); put(x, 1) >> (y);`, "a1 t1"},
		{"rules before automatic posts", `say("a" + x); say("b" + y); two(x, y, 1) @ { req_unlimited y; };`,
			"b2 a1"},
		{"effects of a call come before its children", `f() >> (x) @ { req_unlimited x; }; say("a" + x);`, "a1 f"},
		{"bodies of subs", `f(); f(); say("first");`, "first f f"},
		{"nested", `for i = 1 .. 2 for j = 1 .. 2 { f(); say("a" + i + j); } say("first");`,
			"first a11 a12 a21 a22 f f f f"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := run(t, `sub f() say("f"); sub main() { df x, y, z, n; `+c.body+" }", one)
			if got := strings.Join(o.lines(), " "); o.err != nil || got != c.want {
				t.Errorf("%s\n%v: %s\nwanted %s", c.body, o.err, got, c.want)
			}
		})
	}
	t.Run("the same every time", func(t *testing.T) {
		p := compile(t, `
			sub tree(int n, name r) { df a, b; if n < 2 { put(r, n); say("leaf"); } if n > 1 { tree(n - 1, a); tree(n - 2, b); put(r, a + b); out_i("n" + n, r); } }
			sub main() { df r; tree(9, r); out_i("r", r); }`)
		first := runProgram(t, p, one)
		for range 3 {
			if o := runProgram(t, p, one); o.out != first.out || o.err != nil {
				t.Fatalf("%v: printed\n%s\nand before\n%s", o.err, o.out, first.out)
			}
		}
		if !strings.Contains(first.out, "r=34\n") {
			t.Error(first.out)
		}
	})
}

func TestSection8_5_Termination(t *testing.T) {
	// Messages under way and sleeping workers do not end a run too early: a chain from node to node.
	const src = `
		sub main()
		{
			df x, n;
			put(x[0], 0);
			while x[i] < 300, i = 0 .. out n { put(x[i + 1], x[i] + 1) @ { locator_cyclic: i * 7; }; } @ { locator_cyclic: i * 3; }
			out_i("n", n) @ { locator_cyclic: n; };
		} @ { locator_cyclic x[i] => i * 5; locator_cyclic n => 1; }`
	p := compile(t, src)
	for _, s := range []shape{{nodes: 2, workers: 1}, {nodes: 8, workers: 1}, {nodes: 5, workers: 3},
		{nodes: 16, workers: 2}} {
		if o := runProgram(t, p, s); o.err != nil || o.out != "n=300\n" {
			t.Errorf("%v: %v, printed %q", s, o.err, o.out)
		}
	}
	// What is stored, asked for by the dead or deleted too early is no reason to go on.
	same(t, `sub main() { df x, y; put(x, 1); none() --> (y); out_i("x", x); }`, "x=1")
}

func TestSection13_List(t *testing.T) {
	t.Run("8: the loop does not wait", func(t *testing.T) {
		same(t, `sub main() { df n, x; while i < 2, i = 0 .. out n put(x[i], i); out_i("n", n); out_i("s", x[0] + x[1]); }`, "n=2\ns=1")
	})
	t.Run("11: requests are counted by text", func(t *testing.T) {
		o := run(t,
			`sub main() { df x; put(x[1], 1) @ { req_count x[1] = 1; }; if x[0] out_i("x", x[1] + x[0 + 1]); put(x[0], 1); }`, one)
		var e *engine.StuckError
		if !errors.As(o.err, &e) || len(e.CFs) != 1 || !e.CFs[0].Executed || o.out != "x=2\n" {
			t.Errorf("%v, printed %q", o.err, o.out)
		}
	})
	t.Run("12: both branches", func(t *testing.T) {
		for _, cond := range []string{"1 ? x : y", "x || y", "0 && y"} {
			o := run(t, fmt.Sprintf(`sub main() { df x, y; put(x, 1); out_i("", %s); }`, cond), one)
			var e *engine.StuckError
			if !errors.As(o.err, &e) || e.CFs[0].Awaits[0].Full != "y" {
				t.Errorf("%s: %v", cond, o.err)
			}
		}
	})
	t.Run("14: detected only while stored", func(t *testing.T) {
		same(t, `sub main() { df x, g; put(x, 1) @ { req_count x = 1; }; out_i("x", x) >> (g); if g put(x, 2); }`,
			"x=1")
	})
	t.Run("18: ordinary names", func(t *testing.T) {
		same(t, `sub main() { df head, request, all, nfparam, main; put(head, 1); put(request, 2); put(main, 3); out_i("s", head + request + main); }`, "s=6")
	})
	t.Run("20: ignored", func(t *testing.T) {
		same(t, `import nowhere(value &, int) as nowhere : CUDA, NOCPU; sub main() { none() @ { whatever: 1; flag; }; }`, "")
	})
}

// Several workers begin all chains before one of them is done, though all CFs of a chain are created before
// those of the next. Else one chain would be left for the end, and the other workers idle.
func TestChainsBeginTogether(t *testing.T) {
	const length = 300
	for _, c := range []struct{ chains, workers int }{{3, 2}, {5, 2}, {6, 4}} {
		p := compile(t, fmt.Sprintf(`sub main() { df x, all; for i = 1 .. %[1]d { meet(%[1]d) >> (all[i]); }
			for c = 1 .. %[2]d { put(x[c][0], all[c %% %[1]d + 1]);
				for i = 1 .. %[3]d { cf link[c][i]: put_v(x[c][i], x[c][i - 1]); } } }`, c.workers, c.chains, length))
		o := runProgram(t, p, shape{nodes: 1, workers: c.workers, session: inStep(t, c.workers)})
		if o.err != nil {
			t.Fatal(o.err)
		}
		m := sloutest.Load(t, o.trace.dir)
		started := make([]int, len(m.ExecCF))
		for x := range started {
			started[x] = x
		}
		slices.SortFunc(started, func(a, b int) int { return cmp.Compare(m.ExecStart[a], m.ExecStart[b]) })
		begun := map[int32]int{} // CFs by chain
		for _, x := range started {
			if label := m.Label(m.ExecCF[x]); label != nil {
				if begun[label[0]]++; begun[label[0]] == length {
					break
				}
			}
		}
		if len(begun) < c.chains {
			t.Errorf("%d chains on %d workers: one is done when %d have begun: %v", c.chains, c.workers,
				len(begun), begun)
		}
	}
}

// inStep lets none of a node's workers finish a CF that has a label before all others have finished as many
// or have nothing to do: as if these CFs took the same time, on a computer that is not busy.
func inStep(t *testing.T, workers int) func(s *prof.Session) {
	var mu sync.Mutex
	changed := sync.NewCond(&mu)
	labelled, done, idle := map[trace.CF]bool{}, make([]int, workers), make([]bool, workers)
	behind := func(n int) bool {
		for w := range done {
			if !idle[w] && done[w] < n {
				return true
			}
		}
		return false
	}
	rests := func(idles bool) func(*prof.Stream, int64) {
		return func(s *prof.Stream, _ int64) {
			mu.Lock()
			defer mu.Unlock()
			idle[s.ID()], done[s.ID()] = idles, slices.Max(done)
			changed.Broadcast()
		}
	}
	return func(s *prof.Session) {
		err := errors.Join(s.Idle.Connect("in step", 0, rests(true)), s.Busy.Connect("in step", 0, rests(false)),
			s.CFCreated.Connect("in step", 0, func(_ *prof.Stream, _ int64, cf trace.CF, _ trace.Site, _ trace.CF,
				_ uint64, _ float64, indices []int32) {
				mu.Lock()
				defer mu.Unlock()
				labelled[cf] = len(indices) > 0
			}),
			s.CFFinished.Connect("in step", 0, func(s *prof.Stream, _ int64, cf trace.CF, _ uint64, _ int64) {
				mu.Lock()
				defer mu.Unlock()
				if !labelled[cf] {
					return
				}
				done[s.ID()]++
				changed.Broadcast()
				for n := done[s.ID()]; behind(n); {
					changed.Wait()
				}
			}))
		if err != nil {
			t.Error(err)
		}
	}
}
