package engine_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/run/engine"
)

// Rules and the memory of data fragments, section 5 of the language reference.

func TestSection5_1_Events(t *testing.T) {
	t.Run("count", func(t *testing.T) {
		const src = `
			sub main()
			{
				df a, b, c, d;
				out_i("a", a);
				out_i("a'", a[0 + 0] + a);
				put(a, 1) @ { req_count a = 2; };
				put(a[0], 2);
				put(b, 2) @ { req_count b = 2; };
				out_i("b", b);
				out_i("b'", b);
				put(c, 3) @ { req_count c = -1; };
				out_i("c", c);
				put(d, 4) @ { req_count d = 3; };
				out_i("d", d);
			}`
		same(t, src, "b=2\nb'=2\nc=3\nd=4\na=1\na'=3")
		o := run(t, src, one)
		if got := o.trace.destroyed("a", "a[0]", "b", "c",
			"d"); got != "a expired, a[0] end, b expired, c end, d end" {
			t.Error(got)
		}
	})
	t.Run("assigned again", func(t *testing.T) {
		same(t, `
			sub main()
			{
				df x, again, more;
				put(x, 1) @ { req_count x = 1; };
				out_i("x", x) >> (again);
				if again { put(x, 2); out_i("x'", x) >> (more) @ { delete x; }; }
				if more { put(x, 3); out_i("x''", x); }
			}`, "x=1\nx'=2\nx''=3")
	})
	t.Run("delete before the post", func(t *testing.T) {
		// Both vanish: a later request waits for another post.
		same(t, `
			sub main()
			{
				df x, go, done;
				none() >> (go) --> (x);
				if go two(x, done, 1);
				if done { put(x, 5); out_i("x", x); }
			}`, "x=5")
		o := run(t, `sub main() { df x; none() --> (x); put(x, 1); }`, one)
		if got := o.trace.destroyed("x"); got != "x deleted" {
			t.Error(got)
		}
	})
	for _, c := range []struct{ name, body, msg, luna, stmt string }{
		{"twice", "put(x, 1); if go put(x, 2);", "x is assigned twice: first by put(x, 1) (t.fa:1:46), then by " +
			"put(x, 2) (t.fa:1:63)", "Duplicate id in post: ID<0, ", "put(x, 2)"},
		{"unset", "unset(x[3]);", "unset(x[3]) did not set its output x[3]",
			"Posting an unset value, id: ID<0, 0, 3>", "unset(x[3])"},
		{"too many wait", "out_i(\"\", x); out_i(\"\", x); if go[1] put(x, 1) @ { req_count x = 1; };",
			"x was posted by put(x, 1) (t.fa:1:83) to serve 1 request, and 2 wait for it", "Too many requests",
			"put(x, 1)"},
		{"count 0", "put(x, 1) @ { req_count x = 0; }; if go out_i(\"\", x);",
			"x was stored to serve no request, and is requested", "Too many requests", `out_i("", x)`},
		{"request after delete", "none() --> (x); if go out_i(\"\", x);", "x is requested after it was deleted",
			"Destroy present, but request appeared: ID<0, ", `out_i("", x)`},
		{"delete with a count", "put(x, 1) @ { req_count x = 2; }; if go none() --> (x);",
			"x is deleted while 2 of its counted requests are still to come",
			"Attempting to destroy DF with positive requests count", "none()"},
		{"delete with a request", "out_i(\"\", x); if go[1] none() --> (x);",
			"x is deleted while a request waits for it", "Request(s) present at destroy", "none()"},
		{"deleted twice", "none() --> (x); if go none() --> (x);", "x is deleted twice",
			"Duplicate destroy", "none()"},
	} {
		t.Run(c.name, func(t *testing.T) {
			// Without locators all happens on node 0, where go[1] comes after go and so after all that main has
			// created.
			src := "sub main() { df x, go; " + c.body + ` nap(20) >> (go); if go nap(20) >> (go[1]); }`
			src = strings.Replace(src, "none() --> (x); if go", "none() --> (x) @ { locator_cyclic: 0; }; if go", 1)
			fails(t, src, c.msg, c.luna, c.stmt)
		})
	}
}

func TestSection5_3_AutomaticPosts(t *testing.T) {
	t.Run("base names", func(t *testing.T) {
		// A rule on any cell of a name switches the automatic posts of all outputs of that name off.
		stuck(t, `
			sub main()
			{
				df x, y;
				two(x[0], x[1], 1) @ { req_count x[0] = 1; };
				two(y, x[2], 5) @ { drop y; };
				out_i("0", x[0]);
				out_i("2", x[2]);
				out_i("1", x[1]);
			}`, `
			the program cannot finish: 1 CF waits for data fragments that never come
			t.fa:9:5: out_i("1", x[1]) waits for
			x[1]: two(x[0], x[1], 1) at t.fa:5:5 makes it and does not post it, because a rule there is for another DF of this name: add `+"`req_unlimited x[1];`"+` to that call`)
	})
	t.Run("unlimited", func(t *testing.T) {
		same(t, `
			sub main()
			{
				df x;
				two(x[0], x[1], 1) @ { req_unlimited x[0], x[1]; };
				out_i("0", x[0] + x[1]);
				out_i("1", x[1]);
			}`, "0=3\n1=2")
	})
	t.Run("tokens", func(t *testing.T) {
		same(t, `
			sub f() say("f");
			sub main()
			{
				df x, k;
				f() >> (x[1]) @ { req_unlimited x[1]; };
				for i = 1 .. 2 { none(); } @ { delete x[1]; }
				none() >> (x[2], x[k]);
				out_i("2", x[2]);
				out_i("3", x[3]);
				put(k, 3);
				none() >> () --> ();
			}`, "f\n2=1\n3=1")
		stuck(t, `sub f() none(); sub main() { df x; f() >> (x); out_i("", x); }`, `
			the program cannot finish: 1 CF waits for data fragments that never come
			t.fa:1:70: out_i("", x) waits for
			x: f() at t.fa:1:58 calls a sub, so its >> posts nothing: add `+"`req_unlimited x;`"+` to that call`)
	})
	t.Run("while", func(t *testing.T) {
		same(t, `sub main() { df n; while i < 2, i = 0 .. out n { none(); } @ { req_count n = 1; } out_i("n", n); }`, "n=2")
	})
	t.Run("ignored rules", func(t *testing.T) {
		same(t, `sub main() { df x; put(x, 1) @ { unroll_at_once; no_such x => 3; weight: 2; nothing x = 4; request : 2; }; out_i("x", x); }`, "x=1")
	})
}

func TestSection5_4_AutomaticRequests(t *testing.T) {
	t.Run("distinct texts", func(t *testing.T) {
		same(t, `
			sub main()
			{
				df x;
				put(x, 1) @ { req_count x = 2; };
				out_i("same text", x + x);
				put(x[2], 2) @ { req_count x[2] = 2; };
				out_i("two texts", x[2] + x[1 + 1]);
				put(x[4], 4) @ { req_count x[4] = 2; };
				out_i("explicit", x[2 + 2]) @ { request x[4]; };
				out_i("last", x);
			}`, "same text=2\ntwo texts=4\nexplicit=4\nlast=1")
	})
	t.Run("left behind", func(t *testing.T) {
		// The CF went to another node while its second request for x[1] was still open.
		stuck(t, `
			sub main()
			{
				df x;
				put(x[1], 1) @ { req_count x[1] = 1; };
				if x[0] { say("run") @ { locator_cyclic: x[1] + x[1 + 0]; }; }
				nap(10) >> (x[0]);
			}`, `
			the program cannot finish: 1 finished CF made a request that nothing answers (the same data fragment asked for twice, its count too small)
			t.fa:6:15: say("run") has run, but asked twice for
			x[1] (here x[1 + 0]): its req_count serves fewer requests than there are`)
		// A loop asks anew in every test; a late answer to an earlier one must not be taken for it.
		same(t, `
			sub main()
			{
				df x, n;
				while x[i] * x[i + 0] > 0, i = 0 .. out n { put(x[i + 1], 3 - i); }
				out_i("n", n);
				nap(5) >> (x[0]);
			} @ { locator_cyclic x[i] => i; }`, "n=4", shape{nodes: 2, workers: 4})
	})
	t.Run("without a trace", func(t *testing.T) {
		p := compile(t,
			`sub main() { df x; put(x[2], 2) @ { req_count x[2] = 1; }; if x[0] out_i("x", x[2] + x[1 + 1]); put(x[0], 1); }`)
		o := &outcome{}
		o.out = captured(t, func() {
			o.res, o.err = engine.Run(t.Context(), engine.Config{Program: p, Library: open(t, p), Nodes: 1,
				Workers: 1})
		})
		var e *engine.StuckError
		if !errors.As(o.err, &e) || !e.CFs[0].Executed || o.out != "x=4\n" {
			t.Errorf("%v, printed %q", o.err, o.out)
		}
	})
	t.Run("too few", func(t *testing.T) {
		// The CF has run, but its second request for the same cell is never answered.
		stuck(t, `
			sub main()
			{
				df x;
				put(x[2], 2) @ { req_count x[2] = 1; } ;
				if x[0] out_i("two texts", x[2] + x[1 + 1]);
				nap(10) >> (x[0]);
			}`, `
			the program cannot finish: 1 finished CF made a request that nothing answers (the same data fragment asked for twice, its count too small)
			t.fa:6:13: out_i("two texts", x[2] + x[1 + 1]) has run, but asked twice for
			x[2] (here x[1 + 1]): its req_count serves fewer requests than there are`)
	})
	t.Run("locators", func(t *testing.T) {
		same(t, `
			sub main()
			{
				df x, y;
				put(x, 1) @ { req_count x = 3; };
				out_i("x", x) @ { locator_cyclic: x + x * 2; };
				put(y, 2) @ { req_count y = 3; };
				for i = y .. 3 out_i("i", i) @ { locator_cyclic: y; };
			}`, "x=1\ni=2\ni=3")
	})
	t.Run("waves", func(t *testing.T) {
		same(t, `
			sub main()
			{
				df x, y, z, t;
				out_i("x", x[y[z]]) >> (t[y[z]]) @ { request y; request x[y]; delete x[y[z + 1]]; };
				out_i("t", t[3]);
				put(x[3], 30);
				put(x[4], 40);
				put(z, 1);
				put(y, 4);
				put(y[1], 3);
				put(y[2], 4);
			}`, "x=30\nt=1")
	})
	t.Run("explicit", func(t *testing.T) {
		same(t, `
			sub main()
			{
				df x, n;
				none() >> (x[1]) @ { request n; req_count x[1] = n; };
				out_i("1", x[1]);
				for i = 1 .. 2 { say("for " + i); } @ { request n, x[2]; }
				if 1 { say("if"); } @ { request x[3]; }
				put(n, 1);
				put(x[2], 2);
				put(x[3], 2);
			}`, "1=1\nfor 1\nfor 2\nif")
	})
	t.Run("own outputs", func(t *testing.T) {
		same(t, `
			sub main()
			{
				df x, n;
				two(n, x, 2) @ { req_count x = n; req_unlimited n; };
				out_i("x", x);
				out_i("x", x);
			}`, "x=3\nx=3")
		o := run(t, "sub main() { df x, n; two(n, x, 1) @ { req_count x = n; req_unlimited n; }; none() @ { "+
			"request x; }; }", one)
		if got := o.trace.destroyed("x"); o.err != nil || got != "x expired" {
			t.Error(o.err, got)
		}
	})
}

func TestSection5_5_Order(t *testing.T) {
	// "-->" comes before the rules as written, these before automatic posts: a reader of x may post it again.
	same(t, `
		sub main()
		{
			df x, y, z, go;
			put(x, 1) @ { req_count x = 1; };
			out_i("x", x) >> (go) @ { req_count x = 2; };
			if go { out_i("x'", x); out_i("x''", x); }
			put(y, 5);
			put_v(z, y) --> (y) @ { req_unlimited y; };
			out_i("z", z);
			if z out_i("y", y);
		}`, "x=1\nz=5\nx'=1\nx''=1\ny=5", shape{nodes: 2, workers: 1})
	// Children of a sub call, for or if come after what these do.
	stuck(t, `
		sub f(name x) { out_i("", x); }
		sub main() { df x, go; put(x, 1) >> (go); if go f(x) --> (x); }`, `
		the program cannot finish: 1 CF waits for data fragments that never come
		t.fa:2:19: out_i("", x) waits for
		x: no remaining CF can make it; x is made by put(x, 1) at t.fa:3:26; deleted by f(x) at t.fa:3:51`)
}

func TestSection5_6_Push(t *testing.T) {
	t.Run("early and late", func(t *testing.T) {
		same(t, `
			sub main()
			{
				df m, x;
				cf late: out_i("late", m[1] + x) @ { wait m[1]; };
				put(m[1], 1) @ { afterpush m[1] => late; };
				put(m[2], 2) @ { afterpush m[2] => early; };
				nap(20) >> (x[1]);
				if x[1] { cf inner: none(); put(m[3], 3) @ { afterpush m[3] => other; }; }
				cf early: out_i("early", m[2] + x[1]) @ { wait m[2]; };
				cf other: out_i("other", m[3]) @ { wait m[3]; };
				put(x, 10);
			} @ { locator_cyclic late => 1; locator_cyclic early => 2; locator_cyclic m[i] => i; }`, "early=3\nlate=11\nother=3")
	})
	t.Run("several", func(t *testing.T) {
		same(t, `
			sub main()
			{
				df m, s;
				cf sum: add(m[1], m[2], s) @ { wait m[1], m[2]; };
				cf also: out_i("also", m[1]) @ { wait m[1]; };
				put(m[1], 1) @ { afterpush m[1] => sum; afterpush m[1] => also; req_count m[1] = 1; };
				put(m[2], 2) @ { afterpush m[2] => sum; };
				out_i("stored", m[1]);
				out_i("sum", s);
			} @ { locator_cyclic sum => 3; locator_cyclic also => 1; locator_cyclic m[i] => i; }`, "stored=1\nalso=1\nsum=3")
	})
	t.Run("indexed labels", func(t *testing.T) {
		same(t, `
			sub relay(name m, int i)
			{
				cf r[i]: out_i("got " + i, m[i]) @ { wait m[i]; };
				if i > 0 { put(m[i], i * 5) @ { afterpush m[i] => r[i]; }; }
			}
			sub main() { df m; for i = 1 .. 3 relay(m, i); }`, "got 1=5\ngot 2=10\ngot 3=15")
	})
	t.Run("label and DF of one name", func(t *testing.T) {
		same(t, `sub main() { df x; cf x: out_i("x", x) @ { wait x; }; put(x, 1) @ { afterpush x => x; }; }`, "x=1")
		same(t, `sub main() { df x; put(x, 1) @ { afterpush x => x; req_unlimited x; }; out_i("other", x); cf x: out_i("x", x) @ { wait x; }; }`, "other=1\nx=1")
	})
	t.Run("not stored", func(t *testing.T) {
		stuck(t, `
			sub main()
			{
				df m;
				cf r: out_i("r", m) @ { wait m; };
				put(m, 1) @ { afterpush m => r; };
				out_i("other", m);
			}`, `
			the program cannot finish: 1 CF waits for data fragments that never come
			t.fa:7:5: out_i("other", m) waits for
			m: put(m, 1) at t.fa:6:5 only pushes it (afterpush): add `+"`req_unlimited m;`"+` to that call; the `+
			`CF that it is pushed to needs the rule wait`)
	})
	t.Run("never pushed", func(t *testing.T) {
		stuck(t, `sub main() { df m; cf r: out_i("r", m) @ { wait m; }; }`, `
			the program cannot finish: 1 CF waits for data fragments that never come
			t.fa:1:42: out_i("r", m) waits for
			m: no statement of the program makes m (declared at t.fa:1:39)`)
	})
	t.Run("two waiters", func(t *testing.T) {
		fails(t, `sub main() { df m; cf r[1]: out_i("", m) @ { wait m; }; cf r[1 + 0]: out_i("", m) @ { wait m; }; }`,
			"two CFs with the label r[1] wait for pushes: ", "Duplicate waiter", `out_i("", m)`)
	})
}

func TestSection5_7_NFParam(t *testing.T) {
	const src = `
		sub inner(name v, int n)
		{
			for i = 0 .. n put(v[i], i) ;
		} @ { nfparam a; nfparam b; locator_cyclic v[i] => a * i + b; }
		sub main()
		{
			df v, d;
			put(d, 1);
			inner(v, 3) @ { nfparam b => d; nfparam a => 2; nfparam unknown => 7; request d; };
			for i = 0 .. 3 out_i("v", v[i]);
		} @ { locator_cyclic v[k] => 1 + 2 * k; }`
	same(t, src, "v=0\nv=1\nv=2\nv=3")
	o := run(t, src, shape{nodes: 4, workers: 1})
	for df, want := range map[string][]int{"v[0]": {0, 1}, "v[1]": {0, 3}, "v[2]": {0, 1}, "v[3]": {0, 3}} {
		if got := o.trace.stored(df); !slices.Equal(got, want) {
			t.Errorf("%s was stored on nodes %v, wanted %v", df, got, want)
		}
	}
	missing := strings.Replace(src, "nfparam b => d;", "", 1)
	o = run(t, missing, shape{nodes: 2, workers: 1})
	var e *engine.ProgramError
	if !errors.As(o.err, &e) || e.Msg != "the hidden parameter b has no value: the call does not give it" ||
		e.LunaLine != "get_int failed for type (unset)" {
		t.Error(o.err)
	}
}
