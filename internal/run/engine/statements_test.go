package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/run/engine"
)

// Statements, names and scopes, section 4 of the language reference.

func TestSection4_1_Names(t *testing.T) {
	t.Run("families", func(t *testing.T) {
		same(t, `
			sub main()
			{
				df x;
				let big = 1000000 {
					put(x, 1);
					put(x[3], 2);
					put(x[3][-1], 3);
					put(x[big][1][2][3][4][5][6], 4);
					put(x[big][1][2][3][4][5][7], 5);
					out_i("a", x + x[3] + x[3][0-1]);
					out_i("b", x[1000000][1][2][3][4][5][6] * 10 + x[big][1][2][3][4][5][7]);
				}
				put(x[2.9], 6);
				out_i("c", x[2]);
			}`, "a=6\nb=45\nc=6")
	})
	t.Run("fresh", func(t *testing.T) {
		same(t, `
			sub f(int k) { df x; put(x, k); if k > 1 { df x; put(x, 10 * k); out_i("if", x); } out_i("f", x); }
			sub main() { f(1); f(2); for i = 3 .. 4 { df x; put(x, i); out_i("for", x); } }`,
			"for=3\nfor=4\nf=1\nf=2\nif=20")
	})
	t.Run("slices", func(t *testing.T) {
		same(t, `
			sub leaf(name v, int k) { put(v[k][k], k); out_i("leaf", v[k][k]); }
			sub mid(name v) { leaf(v[2], 3); out_i("mid", v[2][3][3]); }
			sub main() { df a; mid(a[1]); out_i("main", a[1][2][3][3]); }`, "leaf=3\nmain=3\nmid=3")
	})
	t.Run("indices from data", func(t *testing.T) {
		same(t, `
			sub main()
			{
				df x, y, z;
				out_i("x", x[y[z]]);
				put(x[y[z] + 1], 8);
				put(z, 2);
				put(y[2], 5);
				put(x[5], 7);
				out_i("x'", x[6]);
			}`, "x=7\nx'=8")
	})
	t.Run("labels", func(t *testing.T) {
		// A label is a name of its block, and the same one as a df of that block.
		same(t, `
			sub main()
			{
				df x;
				cf x: put(x, 1);
				for i = 1 .. 2 { cf lab[i]: put(x[i], i); }
				out_i("sum", x + x[1] + x[2]);
			}`, "sum=4")
		stuck(t, `
			sub main()
			{
				df x;
				put(x, 1);
				for i = 1 .. 2 { cf x: put(x[i], i); out_i("x", x); }
			}`, `
			the program cannot finish: 2 CFs wait for data fragments that never come
			t.fa:6:42: out_i("x", x) (2 CFs) wait for
			x: no remaining CF can make it; x is made by put(x[i], i) at t.fa:6:22`)
	})
}

func TestSection4_2_Calls(t *testing.T) {
	t.Run("sub arguments", func(t *testing.T) {
		same(t, `
			sub f(int i, real r, string s, name n) { put(n, i * 2); out_r("r", r + 0.5); say(s); }
			sub main()
			{
				df i, r, s, n, k;
				f(i, r, s + "!", n[k]);
				out_i("n", n[9]);
				put(k, 9);
				put(i, 4);
				put_r(r, 1.0);
				put_s(s, "s");
			}`, "r=1.5\ns!\nn=8")
	})
	t.Run("recursion", func(t *testing.T) {
		same(t, `
			sub fact(int n, name r) { df p; if n == 0 put(r, 1); if n > 0 { fact(n - 1, p); put(r, n * p); } }
			sub main() { df r; fact(10, r); out_i("fact", r); }`, "fact=3628800")
	})
	t.Run("own output", func(t *testing.T) {
		stuck(t, "sub main() { df x; put(x, x + 1); }", `
			the program cannot finish: 1 CF waits for data fragments that never come
			t.fa:1:42: put(x, x + 1) waits for
			x: the CF itself would make it`)
		fails(t, "sub main() { df x; two(x, x, 1); }", "x is assigned twice", "Duplicate id", "two(x, x, 1)")
	})
	t.Run("single statement", func(t *testing.T) { same(t, `sub main() say("one");`, "one") })
}

func TestSection4_3_For(t *testing.T) {
	same(t, `
		sub main()
		{
			df n, m;
			for i = 1 .. n say("i" + i);
			for i = n + 1 .. n * 2 { say("j" + i); out_i("m", m[i]); }
			for i = 3 .. 2 say("never");
			for i = -1 .. -1 say("k" + i);
			for i = 1 .. 2 for j = i .. 2 say("l" + i + j);
			for i = 2147483646 .. 2147483647 say("max " + i);
			put(n, 2);
			put(m[3], 30);
			put(m[4], 40);
		}`, "k-1\nmax 2147483646\nmax 2147483647\nl11\nl12\nl22\ni1\ni2\nj3\nm=30\nj4\nm=40")
}

func TestSection4_4_While(t *testing.T) {
	t.Run("does not wait for its body", func(t *testing.T) {
		same(t, `
			sub main()
			{
				df n, never, go;
				while i < 3, i = 0 .. out n { say("body " + i + go); }
				out_i("n", n);
				put(go, 0);
			}`, "n=3\nbody 00\nbody 10\nbody 20")
	})
	t.Run("fails at once", func(t *testing.T) {
		same(t, `sub main() { df n; while 0, i = 7 .. out n[i] say("never"); out_i("n", n[7]); }`, "n=7")
	})
	t.Run("paced by data", func(t *testing.T) {
		same(t, `
			sub main()
			{
				df x, n;
				while x[i] > 0 && i < 5, i = -1 .. out n[i + 1] { df y; put(y, x[i] - 1); put(x[i + 1], y); }
				out_i("n", n[3]);
				put(x[-1], 3);
			}`, "n=2")
	})
	t.Run("requests in each test", func(t *testing.T) {
		same(t, `
			sub main()
			{
				df lim, n;
				put(lim, 4) @ { req_count lim = 5; };
				while i < lim, i = 0 .. out n none();
				out_i("n", n);
			}`, "n=4")
		stuck(t, `
			sub main()
			{
				df lim, n;
				put(lim, 4) @ { req_count lim = 3; };
				while i < lim, i = 0 .. out n none();
				out_i("n", n);
			}`, `
			the program cannot finish: 2 CFs wait for data fragments that never come
			t.fa:6:5: while i < lim, i = 0 .. out n waits for
			lim: no remaining CF can make it; lim is made by put(lim, 4) at t.fa:5:5; its req_count may be used up
			1 more CF waits for their results.`)
	})
	t.Run("rules at the end", func(t *testing.T) {
		same(t, `
			sub main()
			{
				df x, n;
				put(x, 2);
				while i < x, i = 0 .. out n { none(); } @ { delete x; req_count n = 2; }
				out_i("n", n);
				if n { put(x, 5); out_i("x", x); }
			}`, "n=2\nx=5", shape{nodes: 2, workers: 1})
	})
	t.Run("wanders", func(t *testing.T) {
		const src = `
			sub main()
			{
				df x, y, n;
				put(x[0], 0);
				put(y, 0);
				while x[i] < 6 + y, i = 0 .. out n { put(x[i + 1], x[i] + 1) @ { locator_cyclic: 2 - i; }; } @ { locator_cyclic: i; }
				out_i("n", n);
			} @ { locator_cyclic x[i] => i; locator_cyclic n => 2; }`
		same(t, src, "n=6")
		o := run(t, src, shape{nodes: 3, workers: 1})
		ran := o.trace.ran()["while x[i] < 6 + y, i = 0 .. out n"]
		if len(ran) != 7 || ran[0] != 0 || ran[3] != 1 || ran[6] != 2 {
			t.Errorf("tests on nodes %v", ran)
		}
	})
	t.Run("the same cell by two texts", func(t *testing.T) {
		// The second request may still be open when the next test starts.
		same(t, `
			sub main()
			{
				df x, n;
				put(x[0], 40) @ { locator_cyclic: 1; };
				while x[i] + x[i + 0] > 0, i = 0 .. out n { put(x[i + 1], x[i] - 1) @ { locator_cyclic: i; }; } @ { locator_cyclic: i / 3; }
				out_i("n", n);
			} @ { locator_cyclic x[i] => i; }`, "n=40")
	})
	t.Run("start from data", func(t *testing.T) {
		// LuNA aborts here; the start is fetched like any other DF.
		same(t, `
			sub main()
			{
				df s, k, n, x;
				while i + x < 5, i = s[k] + s[k + 0] - 2 .. out n[i] { out_i("i", i); } @ { locator_cyclic: i + s[2]; }
				out_i("n", n[5]);
				put(s[2], 2);
				put(x, 0);
				put(k, 2);
			} @ { locator_cyclic s[i] => i; }`, "i=2\ni=3\ni=4\nn=5")
	})
	t.Run("indexed by data of the test", func(t *testing.T) {
		same(t, `
			sub main()
			{
				df x, k, n;
				for i = 0 .. 5 { put(k[i], i * 10); put(x[i * 10], i); }
				while x[k[i]] + k[i + 0] * 0 < 5, i = 0 .. out n none();
				out_i("n", n);
			} @ { locator_cyclic x[i] => i; locator_cyclic k[i] => i + 1; }`, "n=5")
	})
}

func TestSection4_5_If(t *testing.T) {
	same(t, `
		sub main()
		{
			df x;
			if x > 1 { df y; put(y, x); out_i("y", y); }
			if x > 2 say("never");
			put(x, 2);
		}`, "y=2")
}

func TestSection4_6_Let(t *testing.T) {
	same(t, `
		sub main()
		{
			df a, b;
			let r = a[4], k = 1 + 1, q = r[k] {
				put(q, k * 3);
				for i = 0 .. k if i == k out_i("q", r[i]) >> (b[k]);
				if b[2] out_i("b", b[k]);
			}
		}`, "q=6\nb=1")
}

func TestSection4_7_Pragmas(t *testing.T) {
	same(t, `
		sub << static, 1, 2 >> f(int n) for << unrolling, 4 >> i = 1 .. n say("i" + i);
		sub main() { df n; f(2); while << rush >> 0, i = 1 .. out n none(); out_i("n", n); }`, "n=1\ni1\ni2")
}

func TestSection7_3_Sharing(t *testing.T) {
	// One buffer for producer, store and readers of one node. The order of poke and peek is by data.
	const src = `
		sub main()
		{
			df a, b, done, c, d;
			block(a, 3, 7);
			put_v(b, a);
			poke(b, 9, done);
			if done peek("a", a);
			replace(c, c[1]);
			block(c, 1, 5);
			if c[1] peek("c", c);
			swap(a, c, d[1], d[2]);
			if done { peek("d1", d[1]); peek("d2", d[2]); }
		}`
	same(t, src, "a=9\nd1=5\nd2=9\nc=5", shape{nodes: 4, workers: 3})
	// Another node has a copy of its own.
	const far = `
		sub main()
		{
			df a, done;
			block(a, 3, 7);
			poke(a, 9, done) @ { locator_cyclic: 1; };
			if done peek("a", a);
		}`
	for nodes, want := range map[int]string{1: "a=9\n", 2: "a=7\n"} {
		if o := run(t, far, shape{nodes: nodes, workers: 2}); o.err != nil || o.out != want {
			t.Errorf("%d nodes: %v, printed %q", nodes, o.err, o.out)
		}
	}
}

func TestSection7_4_Main(t *testing.T) {
	p := compile(t, `sub main(int a, real b, string c) { say(a + " " + c); out_r("b", b); }`)
	for _, c := range []struct {
		args            []string
		out, err, lunaE string
	}{
		{[]string{"5", "2.5", "word"}, "5 word\nb=2.5\n", "", ""},
		{[]string{"-5x", "1e3 and", "", "more"}, "-5 \nb=1000\n", "", ""},
		{[]string{"+7", "rubbish", "a b"}, "7 a b\nb=0\n", "", ""},
		{[]string{"1", "1.5e", "w"}, "1 w\nb=0\n", "", ""},
		{[]string{"1", "-1e400", "w"}, "1 w\nb=-1.797693135e+308\n", "", ""},
		{[]string{"5", "2.5"}, "", "main(int a, real b, string c) needs 3 arguments, 2 given",
			"Argv index out of range: 2>=2"},
		{nil, "", "needs 3 arguments, 0 given", "Argv index out of range: 0>=0"},
		{[]string{"x5", "2", "w"}, "", `argument 1 of main, int a: "x5"`,
			"terminate called after throwing an instance of 'std::invalid_argument'"},
		{[]string{"5000000000", "2", "w"}, "", `"5000000000" is not a number that fits 32 bits`, "terminate called"},
	} {
		var warned []string
		o := runProgram(t, p, shape{nodes: 2, workers: 1, args: c.args, loose: c.err != "",
			set: func(cfg *engine.Config) {
				cfg.Warn = func(s string) { warned = append(warned, s) }
			}})
		want := map[string]string{
			"rubbish": `argument 2 of main, real b: "rubbish" is not a number, taken as 0`,
			"1.5e":    `argument 2 of main, real b: "1.5e" is not a number, taken as 0`,
			"-1e400": `argument 2 of main, real b: "-1e400" is too large for a real, taken as ` +
				`-1.7976931348623157e+308`,
		}
		if warning := strings.Join(warned, "\n"); len(c.args) > 1 && warning != want[c.args[1]] {
			t.Errorf("%q: warned %q", c.args, warning)
		}
		if err := engine.CheckArgs(p, c.args); fmt.Sprint(err) != fmt.Sprint(o.err) {
			t.Errorf("%q: checked: %v, run: %v", c.args, err, o.err)
		}
		var e *engine.ArgError
		switch {
		case c.err == "" && (o.err != nil || o.out != c.out):
			t.Errorf("%q: %v, printed %q", c.args, o.err, o.out)
		case c.err != "" && !errors.As(o.err, &e):
			t.Errorf("%q: %v", c.args, o.err)
		case c.err != "" && (!contains(e.Msg, c.err) || !contains(e.LunaLine, c.lunaE)):
			t.Errorf("%q: %v, %q", c.args, e, e.LunaLine)
		}
	}
}
