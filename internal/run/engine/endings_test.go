package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/analysis/lifecycle"
	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/internal/testkit/growth"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// How runs end: crashes, exits, interrupts, programs that cannot finish.

func TestSection8_6_Crashes(t *testing.T) {
	for _, c := range []struct {
		stmt, msg, luna string
		signal          int
	}{
		{"crash(0)", "crash crashed: segmentation fault (SIGSEGV)", "", int(syscall.SIGSEGV)},
		{"crash(1)", "crash crashed: arithmetic exception, such as a division of integers by zero (SIGFPE)", "",
			int(syscall.SIGFPE)},
		{"crash(2)", "crash aborted (SIGABRT)", "", int(syscall.SIGABRT)},
		{"crash(3)", "crash threw an exception that nothing catches: ", "terminate called after throwing an",
			int(syscall.SIGABRT)},
		{"need_int(x[1])", "need_int: not an int: DF<real>(1.500000)", "not an int: DF<real>(1.500000)",
			int(syscall.SIGABRT)},
		{`peek("", x)`, "peek: Cannot get_data of int", "Cannot get_data of int", int(syscall.SIGABRT)},
	} {
		for _, s := range shapes {
			o := run(t, "sub main() { df x; put_r(x[1], 1.5); put(x, 1); if x { say(\"before\"); "+c.stmt+"; } "+
				"say(\"other\"); }", s)
			var e *engine.ProgramError
			if !errors.As(o.err, &e) {
				t.Fatalf("%s: ended with %v", c.stmt, o.err)
			}
			if !strings.HasPrefix(e.Msg, c.msg) || !strings.HasPrefix(e.LunaLine, c.luna) || e.Stmt != c.stmt ||
				e.Signal != c.signal || e.Exited || e.Pos.Line != 1 || e.CF == 0 {
				t.Errorf("%v %s: %v; %+v", s, c.stmt, e, *e)
			}
			if s.nodes*s.workers == 1 && o.out != "other\nbefore\n" {
				t.Errorf("printed %q", o.out)
			}
			// The CF that failed is in the trace.
			if o.trace.cfs[e.CF] == nil || len(o.trace.cfs[e.CF].ends) != 1 {
				t.Errorf("%v %s: CF %v is not in the trace", s, c.stmt, e.CF)
			}
		}
	}
}

// TestThreadCrash lets a thread crash that user code started: the CF waits for it for ever and is abandoned.
func TestThreadCrash(t *testing.T) {
	o := run(t, `sub main() { df x; put(x, 4); crash(x); }`, shape{nodes: 2, workers: 1})
	var e *engine.ProgramError
	if !errors.As(o.err, &e) || e.Signal != int(syscall.SIGSEGV) || !strings.Contains(e.Msg,
		"a thread started by the program's C++ code") {
		t.Errorf("%v", o.err)
	}
	if ran := o.trace.ran(); len(ran["crash(x)"]) != 1 || len(ran["put(x, 4)"]) != 1 {
		t.Errorf("%v", ran)
	}
}

func TestExit(t *testing.T) {
	for _, code := range []string{"0", "3"} {
		for _, s := range shapes {
			o := run(t, "sub main() { df x; put(x, "+code+"); quit(x); out_i(\"never\", x[1]); }", s)
			var e *engine.ProgramError
			if !errors.As(o.err, &e) || !e.Exited || e.ExitCode != int(code[0]-'0') ||
				e.Msg != "quit called exit("+code+")" || e.Stmt != "quit(x)" || e.Signal != 0 {
				t.Errorf("%v: %v", s, o.err)
			}
			if o.out != "quitting\n" {
				t.Errorf("%v: printed %q", s, o.out)
			}
		}
	}
}

// TestInterrupt: none of these programs would end by itself in hours.
func TestInterrupt(t *testing.T) {
	defer engine.Unhurried()()
	const src = `
		sub main()
		{
			df x, n, never;
			put(x[0], 0);
			while x[i] < 100000000, i = 0 .. out n { put(x[i + 1], x[i] + 1) --> (x[i - 2]); }
			out_i("never", never);
			put(x[-1], 1);
			put(x[-2], 1);
		}`
	for _, s := range shapes {
		var o *outcome
		// the machine may be busy
		for s.after = 60 * time.Millisecond; o == nil ||
			o.res.Atomic == 0 && s.after < 10*time.Second; s.after *= 4 {
			o = run(t, src, s)
		}
		if !errors.Is(o.err, engine.ErrInterrupted) {
			t.Errorf("%v: %v", s, o.err)
		}
		// The end is recorded, since all workers could be stopped.
		if n := o.trace.kinds[trace.KindProgramFinished]; n != s.nodes*(s.workers+2) {
			t.Errorf("%v: %d streams ended", s, n)
		}
		if o.res.Atomic == 0 || o.res.CFs == 0 {
			t.Errorf("%v: %+v", s, *o.res)
		}
	}
	t.Run("loops that never wait", func(t *testing.T) {
		for _, src := range []string{"sub main() { df n; while 1, i = 0 .. out n { none(); } }",
			"sub main() { for i = 0 .. 2000000000 none(); }"} {
			o := run(t, src, shape{nodes: 1, workers: 2, after: 5 * time.Millisecond})
			if !errors.Is(o.err, engine.ErrInterrupted) || !o.trace.whole() {
				t.Errorf("%s: %v", src, o.err)
			}
		}
	})
	t.Run("before it starts", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		for _, apart := range []bool{false, true} {
			if o := run(t, src, shape{nodes: 2, workers: 2, ctx: ctx, apart: apart}); !errors.Is(o.err,
				engine.ErrInterrupted) {
				t.Error(o.err)
			}
		}
	})
	t.Run("user code that does not return", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		started := 0
		watch := func(ses *prof.Session) {
			if err := ses.ConnectAny("GlobalEvents", "onForeignStarted", "count", 0, func(*prof.Stream, *prof.Any) {
				if started++; started == 3 { // one worker runs them, in this order
					cancel()
				}
			}); err != nil {
				t.Error(err)
			}
		}
		o := run(t, `sub main() { df x; say("before"); put(x, 1000000000); stay(x); }`,
			shape{nodes: 2, workers: 1, ctx: ctx, session: watch})
		if !errors.Is(o.err, engine.ErrInterrupted) {
			t.Error(o.err)
		}
		ran := o.trace.ran()
		if len(ran[`say("before")`]) != 1 || len(ran["stay(x)"]) != 1 || o.out != "before\n" {
			t.Errorf("%v, printed %q", ran, o.out)
		}
	})
}

func TestStuck(t *testing.T) {
	t.Run("groups", func(t *testing.T) {
		stuck(t, `
			sub fill(name row, int upto) for k = 0 .. upto put(row[k], k * k);
			sub consume(name row, int upto) for k = 0 .. upto out_i("row", row[k]) >> (row[k][1]);
			sub main()
			{
				df grid, lost, other;
				fill(grid[7], 2);
				consume(grid[7], 12);
				put(other, lost + 1);
				out_i("other", other);
				if grid[7][12][1] put(lost[3], 1);
			}`, `
			the program cannot finish: 13 CFs wait for data fragments that never come
			t.fa:3:54: out_i("row", row[k]) (10 CFs) wait for
			grid[7][3], grid[7][4], grid[7][5], grid[7][6] and 6 more (here row[k]): no remaining CF can make it; grid is made by put(row[k], k * k) at t.fa:2:51, out_i("row", row[k]) at t.fa:3:54
			t.fa:9:5: put(other, lost + 1) waits for
			lost: no remaining CF can make it; lost is made by put(lost[3], 1) at t.fa:11:23
			2 more CFs wait for their results.`)
	})
	t.Run("all", func(t *testing.T) {
		o := run(t, `
			sub main()
			{
				df a, b, c, x, n;
				put(a, b[7]);
				put(c, a);
				out_i("x", x + x[0]);
				put(x[1], 1) @ { req_count x[1] = 1; };
				out_i("x", x[1] + x[0 + 1]);
				while n[i] > 0, i = 3 .. out n { put(n[i + 1], n[i] - 1); }
				put(n[3], 1);
				put(n[4], n[9]) ;
			}`, one)
		var e *engine.StuckError
		if errors.As(o.err, &e) {
			var b strings.Builder
			lifecycle.Explain(&b, &e.Stuck, true)
			o.out = b.String()
		}
		if want := `
			t.fa:5:5: put(a, b[7]) waits for
			b[7]: no statement of the program makes b (declared at t.fa:4:11)
			t.fa:7:5: out_i("x", x + x[0]) waits for
			x: no remaining CF can make it; x is made by put(x[1], 1) at t.fa:8:5; its req_count may be used up
			x[0]: no remaining CF can make it; x is made by put(x[1], 1) at t.fa:8:5; its req_count may be used up
			t.fa:9:5: out_i("x", x[1] + x[0 + 1]) has run, but asked twice for
			x[1] (here x[0 + 1]): its req_count serves fewer requests than there are
			t.fa:12:5: put(n[4], n[9]) waits for
			n[9]: no remaining CF can make it; n is made by while n[i] > 0, i = 3 .. out n at t.fa:10:5, put(n[i + 1], n[i] - 1) at t.fa:10:38, put(n[3], 1) at t.fa:11:5 and 1 more
			t.fa:6:5: put(c, a) waits for
			a: would be made by put(a, b[7]) at t.fa:5:5, which waits too`; lines(o.out) != lines(want) {
			t.Errorf("%v\n%s", o.err, o.out)
		}
	})
	t.Run("made by what waits", func(t *testing.T) {
		stuck(t, `
			sub f(name v, int n) { put(v[2 * 3 - n], 7); if n { df own; put(own, 1); put(v[0][own], 1); } for i = 1 .. n put(v[10 + i], i); }
			sub g(name v, int n) { if n g(v, n - 1); put(v[-5], n); while v[i], i = 0 .. out v[n] none(); }
			sub main()
			{
				df a, b, c, k;
				f(a[1], k);
				g(b, k);
				out_i("a", a[1][0][9] + a[1][12] + a[2]);
				out_i("b", b[-5] + b[7]);
				if k[1] { put(c[3], 1); }
				out_i("c", c[2] + c[3]);
			}`, `
			the program cannot finish: 6 CFs wait for data fragments that never come
			t.fa:7:5: f(a[1], k) waits for
			k: no statement of the program makes k (declared at t.fa:6:17)
			t.fa:8:5: g(b, k) waits for
			k: no statement of the program makes k (declared at t.fa:6:17)
			t.fa:9:5: out_i("a", a[1][0][9] + a[1][12] + a[2]) waits for
			a[2]: no remaining CF can make it; a is made by put(v[2 * 3 - n], 7) at t.fa:2:27, put(v[0][own], 1) at t.fa:2:77, put(v[10 + i], i) at t.fa:2:113
			a[1][0][9]: would be made by f(a[1], k) at t.fa:7:5, which waits too
			a[1][12]: would be made by f(a[1], k) at t.fa:7:5, which waits too
			t.fa:11:5: if k[1] waits for
			k[1]: no statement of the program makes k (declared at t.fa:6:17)
			t.fa:12:5: out_i("c", c[2] + c[3]) waits for
			c[2]: no remaining CF can make it; c is made by put(c[3], 1) at t.fa:11:15
			c[3]: would be made by if k[1] at t.fa:11:5, which waits too
			1 more CF waits for their results.`)
	})
	t.Run("in words", func(t *testing.T) {
		o := run(t, "sub main() { df x; put(x, 1 / (x[1] - 1)); put(x[1], 1); }", one)
		if got := fmt.Sprint(o.err); got != "division by zero, in CF put(x, 1 / (x[1] - 1)) at t.fa:1:49 (node 0)" {
			t.Error(got)
		}
	})
	t.Run("cycle", func(t *testing.T) {
		stuck(t, `
			sub f(name a, name b) { if a put(b, 1); }
			sub main() { df x, y; f(x, y); f(y, x); }`, `
			the program cannot finish: 2 CFs wait for data fragments that never come
			Each of these CFs waits for another one of them: a cycle.
			t.fa:2:28: if a (2 CFs) wait for
			x (here a): would be made by if a at t.fa:2:28, which waits too
			y (here a): would be made by if a at t.fa:2:28, which waits too`)
	})
	t.Run("it is on another node", func(t *testing.T) {
		p := compile(t, `
			sub row(name a, int i) out_i("a", a[i]) @ { locator_cyclic: 2; };
			sub main() { df x; put(x[1], 1); row(x, 1); } @ { locator_cyclic x[k] => k; }`)
		want := "x[1] (here a[i]): it was made by put(x[1], 1) at t.fa:3:23 and lies on node 1 (rule at t.fa:3:54), " +
			"but is looked for on node 0 (sub row has no rule for it): add `locator_cyclic a[k] => k;` to row"
		for _, s := range []shape{{nodes: 3, workers: 2}, {nodes: 3, workers: 1, apart: true}} {
			o := runProgram(t, p, s)
			var e *engine.StuckError
			if !errors.As(o.err, &e) {
				t.Errorf("%v: ended with %v", s, o.err)
				continue
			}
			var b strings.Builder
			lifecycle.Explain(&b, &e.Stuck, false)
			if got := b.String(); !strings.Contains(got, want) {
				t.Errorf("%v: explained as\n%s\nwanted\n%s", s, got, want)
			}
		}
	})
	t.Run("many", func(t *testing.T) {
		var e *engine.StuckError
		growth.Linear(t, 20_000, func(n int) func() {
			p := compile(t, fmt.Sprintf(`
				sub main()
				{
					df x, y;
					for i = 1 .. %d { put(x[i], x[i - 1]); }
					for i = 1 .. %[1]d { out_i("", y); }
				}`, n))
			return func() {
				if o := runProgram(t, p, one); !errors.As(o.err, &e) || len(e.CFs) != 2*n {
					t.Fatal(o.err)
				}
			}
		})
		var b strings.Builder
		if err := lifecycle.Explain(&b, &e.Stuck, false); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"put(x[i], x[i - 1]) waits for\n", "(20000 CFs) wait for\n",
			"\n19999 more CFs wait for"} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%q is missing in\n%s", want, b.String())
			}
		}
	})
}

// TestEveryKind makes what the other tests may not, and checks that every kind of event of the engine's
// namespaces was recorded.
func TestEveryKind(t *testing.T) {
	all := func(t *testing.T, src string, s shape) {
		t.Helper()
		if o := run(t, src, s); o.err != nil {
			t.Error(o.err)
		}
	}
	all(t, push, shape{nodes: 2, workers: 2})
	all(t, places, shape{nodes: 3, workers: 2})
	all(t, collatz, shape{nodes: 1, workers: 2})
	all(t, `sub main() { df x; put(x, 1); none() @ { locator_cyclic: x; }; }`, shape{nodes: 2, workers: 1})
	o := run(t, `sub main() { df x; put(x, 1); put(x, 2); }`, one)
	if o.err == nil || o.trace.kinds[trace.KindDFDuplicate] != 1 {
		t.Error("no duplicate")
	}
	hold := func(t *testing.T, apart bool) {
		began := time.Now()
		o := run(t, `sub main() { df x; put(x, 1); for i = 1 .. 3 out_i("x", x) @ { locator_cyclic: i; }; }`,
			shape{nodes: 2, workers: 1, apart: apart, set: func(c *engine.Config) {
				c.Hold = map[string]time.Duration{"out_i": 20 * time.Millisecond}
			}})
		if o.err != nil || o.trace.kinds[trace.KindCFHeld] != 3 || o.trace.kinds[trace.KindCFResumed] != 3 ||
			time.Since(began) < 20*time.Millisecond || o.sorted() != "x=1\nx=1\nx=1" {
			t.Errorf("%v, printed %q", o.err, o.out)
		}
	}
	t.Run("hold", func(t *testing.T) { hold(t, false) })
	t.Run("hold apart", func(t *testing.T) { hold(t, true) })
	t.Run("stealing", func(t *testing.T) {
		for range 20 {
			o := run(t, `sub main() { for i = 1 .. 20 { busy(200) @ { stealable; }; } }`,
				shape{nodes: 2, workers: 1, set: func(c *engine.Config) { c.Steal = true }})
			if o.err != nil || o.res.Stolen > 0 {
				return
			}
		}
	})
	t.Run("links and queues", func(t *testing.T) {
		all(t, `
			sub main()
			{
				df x, y;
				for i = 1 .. 30 { busy(500); block(x[i], 100, i) @ { locator_cyclic: 1; }; put_v(y[i], x[i]) @ { locator_cyclic: i; }; }
			} @ { locator_cyclic x[i] => i + 1; locator_cyclic y[i] => i + 2; }`,
			shape{nodes: 3, workers: 1, set: func(c *engine.Config) {
				c.LinkLatency, c.LinkBandwidth = 2*time.Millisecond, 1e5
			}})
	})
	t.Run("lost", func(t *testing.T) {
		// One small buffer and a slow codec: what does not fit is dropped and counted.
		s := shape{nodes: 1, workers: 2, loose: true, options: trace.Options{BufferBytes: 1024, Pool: 1, Level: 4,
			Full: trace.Drop}}
		for range 10 {
			dir := t.TempDir()
			w, err := trace.Create(dir, 0, s.options)
			if err != nil {
				t.Fatal(err)
			}
			p := compile(t, `sub main() { df n; for i = 1 .. 30000 { none(); } }`)
			if _, err := engine.Run(context.Background(), engine.Config{Program: p, Library: open(t, p), Nodes: 1,
				Workers: 2, Session: prof.New(), Writers: []*trace.Writer{w}}); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			r, err := trace.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			lost := false
			r.Each(1, func(b *trace.Batch) error {
				for _, k := range b.Kind[:b.N] {
					lost = lost || k == trace.KindLost
				}
				return nil
			})
			r.Close()
			if lost {
				seenKinds[trace.KindLost]++
				return
			}
		}
	})
	elsewhere := []string{"RegionEvents", "SyncEvents", "MessageEvents"} // of programs that are no task graphs
	onDemand := []trace.Kind{trace.KindRelations, trace.KindUsage}
	for _, k := range trace.Kinds() {
		if seenKinds[k.Kind] == 0 && !slices.Contains(elsewhere, k.Namespace) &&
			!slices.Contains(onDemand, k.Kind) {
			t.Errorf("%v was never recorded", k.Kind)
		}
	}
}

// TestNoTrace checks that nothing depends on being recorded.
func TestNoTrace(t *testing.T) {
	for name, set := range map[string]func(*engine.Config){
		"no session": func(c *engine.Config) { c.Session, c.Writers = nil, nil },
		"no writers": func(c *engine.Config) { c.Writers = nil },
		"all off":    func(c *engine.Config) { c.Session.EnableAll(false) },
	} {
		for _, s := range shapes {
			p := compile(t, places)
			cfg := engine.Config{Program: p, Library: open(t, p), Nodes: s.nodes, Workers: s.workers,
				Session: prof.New()}
			for i := range s.nodes {
				w, err := trace.Create(t.TempDir(), i, trace.Options{})
				if err != nil {
					t.Fatal(err)
				}
				defer w.Close()
				cfg.Writers = append(cfg.Writers, w)
			}
			set(&cfg)
			o := &outcome{}
			o.out = captured(t, func() { o.res, o.err = engine.Run(context.Background(), cfg) })
			if want := "default=0\ndefault=1\ndefault=2\npart=0\npart=1\npart=4"; o.err != nil || o.sorted() != want {
				t.Errorf("%s, %v: %v, printed %q", name, s, o.err, o.out)
			}
		}
	}
}

func TestThreadClock(t *testing.T) {
	const src = `sub main() { for i = 1 .. 40 none(); for i = 1 .. 20 busy(200); }`
	for clock, want := range map[engine.ThreadClock][2]bool{engine.ClockOn: {true, true},
		engine.ClockOff: {false, false}, engine.ClockAuto: {false, true}} {
		o := run(t, src, shape{nodes: 1, workers: 1, set: func(c *engine.Config) { c.ThreadClock = clock }})
		measured := map[string]int{}
		for _, e := range o.trace.events {
			if e.kind == trace.KindCFFinished && int64(e.a[2]) >= 0 {
				measured[o.trace.sites[o.trace.cf(e.a[0]).site]]++
			}
		}
		if got := [2]bool{measured["none()"] > 30, measured["busy(200)"] > 10}; got != want ||
			measured["for i = 1 .. 40"] != 0 {
			t.Errorf("setting %d: measured %v", clock, measured)
		}
	}
}

func TestWeight(t *testing.T) {
	const src = `
		sub main()
		{
			df x;
			put(x, 1) @ { weight: 2.5; };
			for i = 1 .. 3 { cf l[i][7]: out_i("x", x) @ { weight: i * 2; locator_cyclic: i; }; }
			none() @ { weight: x + 1.0; };
		}`
	o := run(t, src, shape{nodes: 2, workers: 1})
	got := map[string][]string{}
	for _, e := range o.trace.events {
		if e.kind == trace.KindCFCreated {
			text := o.trace.sites[trace.Site(e.a[1])]
			got[text] = append(got[text], fmt.Sprint(math.Float64frombits(e.a[4]), e.list))
		}
		if (e.kind == trace.KindCFMigrated || e.kind == trace.KindCFReceived) && math.Float64frombits(e.a[3]) < 2 {
			t.Errorf("%v with weight %v", e.kind, math.Float64frombits(e.a[3]))
		}
	}
	// A weight that depends on a DF is not known when the CF is created.
	if s := fmt.Sprint(got["put(x, 1)"], got[`out_i("x", x)`],
		got["none()"]); s != "[2.5 []] [2 [1 7] 4 [2 7] 6 [3 7]] [1 []]" {
		t.Error(s)
	}
}

func TestBadConfig(t *testing.T) {
	for _, c := range []engine.Config{{}, {Nodes: 1}, {Nodes: 1, Workers: 5000},
		{Nodes: engine.MaxNodes + 1, Workers: 1}} {
		c.Program = &luna.Program{}
		if _, err := engine.Run(context.Background(), c); err == nil {
			t.Errorf("%d x %d was accepted", c.Nodes, c.Workers)
		}
	}
}

// TestHoldOnce checks that a CF that was held does not ask for its inputs again.
func TestHoldOnce(t *testing.T) {
	hold := func(c *engine.Config) {
		c.Hold = map[string]time.Duration{"peek": 3 * time.Millisecond, "if": time.Millisecond,
			"while i": time.Millisecond}
	}
	for _, s := range shapes {
		s.set = hold
		o := run(t, `
			sub main()
			{
				df x, n;
				block(x, 2, 5) @ { req_count x = 4; };
				for i = 1 .. 4 if i > 0 peek("x", x) @ { locator_cyclic: i; };
				while i < 3, i = 0 .. out n { none(); }
				out_i("n", n);
			}`, s)
		if o.err != nil || o.sorted() != "n=3\nx=5\nx=5\nx=5\nx=5" {
			t.Errorf("%v: %v, printed %q", s, o.err, o.out)
		}
		if o.trace.kinds[trace.KindCFHeld] != 4+4+4 {
			t.Errorf("%v: held %d times", s, o.trace.kinds[trace.KindCFHeld])
		}
	}
}

// TestFaultsFarAway checks that the CF at fault is named also where the fault is noticed on another node.
func TestFaultsFarAway(t *testing.T) {
	for _, c := range []struct{ src, msg, stmt string }{
		{`sub main() { df x, g; put(x, 1) >> (g); if g { nap(5) >> (g[1]); } if g[1] put(x, 2); } @ { locator_cyclic x => 1; }`, "x is assigned twice: first by put(x, 1)", "put(x, 2)"},
	} {
		o := run(t, c.src, shape{nodes: 2, workers: 1})
		var e *engine.ProgramError
		if !errors.As(o.err, &e) || !strings.HasPrefix(e.Msg, c.msg) || e.Stmt != c.stmt || e.CF == 0 ||
			e.Node != 1 {
			t.Errorf("%s: %v", c.src, o.err)
		}
	}
}
