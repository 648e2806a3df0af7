package luna

import "testing"

func TestSection5_2_Rules(t *testing.T) {
	t.Run("unknown rules are ignored", func(t *testing.T) {
		warns(t, "sub main() { f(1) @ { unroll_at_once; foo: 1 + zz; bar a, b; baz a = 1; baz a => 2; }; if 1 { "+
			"none(); } @ { x y; } } @ { unroll_at_once; }")
	})
	t.Run("slips of the pen", func(t *testing.T) {
		warns(t, "sub main() { df x; put(x, 1) @ { req_cnt x = 1; locator_cylic: 2; delte x; }; f(x); }",
			"2:34 unknown rule req_cnt is ignored", "2:49 unknown rule locator_cylic is ignored",
			"2:67 unknown rule delte is ignored")
	})
	t.Run("known rules that have no effect", func(t *testing.T) {
		warns(t, "sub main() { df x; put(x, 1) @ { req_count: 1; stealable, x; delete; }; for i = 0 .. 1 { f(x); "+
			"} @ { req_count x = 1; stealable; } }"+
			"@ { delete x; stealable; }", "2:34 rule req_count has no effect in this form",
			"2:48 rule stealable has no effect in this form",
			"2:62 rule delete has no effect in this form", "2:102 rule req_count has no effect on a for",
			"2:119 rule stealable has no effect on a for",
			"2:137 rule delete has no effect on a sub", "2:147 rule stealable has no effect on a sub")
	})
	has(t, body(t, "f(1) @ { stealable; weight: i * 1.5; };"), "stealable", "weight (*. (real v0.0:int) 1.5)")
	warns(t, "sub main() { df x; put(x, 1); f(1) @ { weight: x; }; }",
		"2:48 weight is ignored: it must be a number known when the call is made")
	failsBody(t, "df x; put(x, 1); if x { f(1); } @ { wait x; }",
		"2:72 recom-generation wait: an if cannot obtain data fragments by push")
	failsBody(t, "f(1) @ { locator_cyclic: 1; locator_cyclic: 2; };",
		"2:64 recom-generation two locators for one fragment")
}

func TestSection5_2_Delete(t *testing.T) {
	has(t, body(t, "df x, n; two(x[1], n); f(1) --> (x[n]) @ { delete x[1], n; };"), "wave: in0 n{0.1} control",
		"delete x{0.0}[in0:int]", "delete x{0.0}[1]", "delete n{0.1}")
	has(t, body(t, "df x; put(x, 1); for k = 0 .. 1 { f(x); } @ { delete x; }"), "delete x{0.0}")
	has(t, body(t, "f(1) >> () --> ();"), "args 1")
}

func TestSection5_3_AutomaticPosts(t *testing.T) {
	has(t, body(t, "df x, y; two(x, y) >> (x[2]);"), "post x{0.0} = out0 unlimited",
		"post y{0.1} = out1 unlimited", "post x{0.0}[2] = out2 unlimited")
	t.Run("base names switch it off", func(t *testing.T) {
		d := body(t, "df x; two(x[0], x[1]) @ { req_count x[0] = 1; };")
		has(t, d, "post x{0.0}[0] = out0 count 1")
		hasNot(t, d, "unlimited")
		for _, r := range []string{"drop x[7];", "req_unlimited x[0];", "afterpush x[0] => l;"} {
			hasNot(t, body(t, "df x; cf l: none(); two(x[0], x[1]) @ { "+r+" };"), "post x{0.0}[1]")
		}
	})
	t.Run("calls of subs post nothing by themselves", func(t *testing.T) {
		d := dump(compile(t,
			lib+"sub s(name v) put(v, 1); sub main() { df a, t, u; s(a) >> (t, u) @ { req_unlimited t; }; }"))
		has(t, d, "token t{0.1}", "token u{0.2}", "post t{0.1} = out0 unlimited")
		hasNot(t, d, "post u", "post a")
	})
	t.Run("while", func(t *testing.T) {
		has(t, body(t, "df w; while 0, k = 0 .. out w none();"), "post w{1.0} = out0 unlimited")
		has(t, body(t, "df w; while 0, k = 0 .. out w { none(); } @ { req_count w = 2; }"),
			"post w{1.0} = out0 count 2")
	})
	t.Run("neither produced nor read", func(t *testing.T) {
		warns(t, "sub main() { df x; put(x, 1); f(1) @ { req_count x = 1; }; f(x) @ { req_count x = 2; }; }",
			"2:40 req_count: this statement neither produces nor reads x; running it will fail")
	})
}

func TestSection5_4_AutomaticRequests(t *testing.T) {
	t.Run("waves", func(t *testing.T) {
		has(t, body(t, "df x, y, z; two(x, y); put(z, 1); g(x[y[z]]);"), "wave: in0 z{0.2} control",
			"wave: in1 y{0.1}[in0:int] control",
			"wave: in2 x{0.0}[in1:int]")
	})
	t.Run("one request per text", func(t *testing.T) {
		has(t, body(t, "df x; put(x, 1); f(x + x);"), "wave: in0 x{0.0}")
		has(t, body(t, "df x; put(x, 1); f(x[2] + x[1+1]);"), "wave: in0 x{0.0}[2], in1 x{0.0}[2]")
		has(t, body(t, "df x; put(x, 1); f(x[2+2]) @ { request x[4]; };"), "wave: in0 x{0.0}[4] control",
			"wave: in1 x{0.0}[4]")
		has(t, body(t, "df x; put(x, 1); f(x[2]) @ { request x[(2)]; };"), "wave: in0 x{0.0}[2]")
	})
	t.Run("explicit requests come first, in order", func(t *testing.T) {
		d := body(t, "df x, y, n; two(x, y); put(n, 1); f(y) @ { request x, y[1]; request n; request x[n]; };")
		has(t, d, "wave: in0 x{0.0} control, in1 y{0.1}[1] control", "wave: in2 n{0.2} control",
			"wave: in3 x{0.0}[in2:int] control", "wave: in4 y{0.1}")
		has(t, body(t, "df x, n; two(x, n); f(1) @ { request x[n]; };"), "wave: in0 n{0.1} control",
			"wave: in1 x{0.0}[in0:int] control")
	})
	t.Run("locator_cyclic asks additionally, once per occurrence", func(t *testing.T) {
		d := body(t, "df x; put(x, 1); f(x) @ { locator_cyclic: x + x; };")
		has(t, d, "home wave: in0 x{0.0} control, in1 x{0.0} control", "wave: in2 x{0.0}",
			"home (int (+? in0? in1?))")
	})
	t.Run("indices of what is deleted or initialised", func(t *testing.T) {
		has(t, body(t, "df x, n; two(x, n); f(1) >> (x[n]); for k = 0 .. 1 { f(k); } @ { delete x[n[1]]; }"),
			"wave: in0 n{0.1} control", "wave: in0 n{0.1}[1] control")
	})
	t.Run("where LuNA would abort", func(t *testing.T) {
		d := body(t, "df x, n; put(n, 1); put(x, 1) @ { req_count x = n + x; };")
		has(t, d, "wave: in0 n{0.1} control", "post x{0.0} = out0 count (int (+? in0? out0?))")
		d = body(t, "df x, n, y; two(n, n[1]); put(y, 1) @ { req_count y = n[y] + y[n]; };")
		has(t, d, "wave: in0 y{0.1} control, in2 n{0.0} control") // waits for itself, about which it warns
		d = dump(compile(t,
			lib+"sub s() { none(); } @ { nfparam p; } sub main() { df n; put(n, 1); s() @ { nfparam p => n; }; }"))
		has(t, d, "wave: in0 n{0.0} control", "args nf in0:int")
		d = dump(compile(t,
			lib+"sub main() { df x, n; two(x[0], n); f(x[0]); } @ { locator_cyclic x[i] => n[i] + n; }"))
		has(t, d, "wave: in0 n{0.1}[0] control, in1 n{0.1} control", "wave: in2 x{0.0}[0] @ (int (+? in0? in1?))")
	})
	t.Run("control", func(t *testing.T) {
		d := body(t, "df x, n; two(x, n); f(n + x[n]); for k = 0 .. n f(n);")
		has(t, d, "wave: in0 n{0.1}", "wave: in1 x{0.0}[in0:int]", "wave: in0 n{0.1} control")
	})
}

func TestSection5_5_OrderOfEffects(t *testing.T) {
	p := compile(t,
		lib+"sub main() { df x, y; two(x, x[1]); f(x) >> (y) --> (x[1]) @ { delete x; req_count x = 1; }; }")
	st := p.Main.Body.Stmts[1]
	got := ""
	for _, e := range st.Effects {
		got += []string{"post ", "delete ", "push "}[e.Kind] + e.Ref.Text + "; "
	}
	equal(t, got, "delete x[1]; delete x; post x; post y; ")
}

func TestSection5_6_Push(t *testing.T) {
	d := body(t, "df m; cf r: g(m[1] + m[2]) @ { wait m[1]; }; cf w[1]: put(m[1], 7) @ { afterpush m[1] => r; "+
		"}; put(m[2], 1); put(m[3], 1) @ { afterpush m[3] => w[i]; req_count m[3] = 1; };")
	has(t, d, "wave: in0 m{0.0}[1] pushed", "wave: in1 m{0.0}[2]", "push m{0.0}[1] = out0 to r{0.1}",
		"push m{0.0}[3] = out0 to w{0.2}[v0.0:int]",
		"post m{0.0}[3] = out0 count 1", "post m{0.0}[2] = out0 unlimited")
	hasNot(t, d, "post m{0.0}[1]")
	has(t, dump(compile(t,
		lib+"sub main() { df m; cf r[2]: g(m) @ { wait m; }; put(m, 7) @ { afterpush m => r[2]; }; } @ { "+
			"locator_cyclic r[i] => i + 1; locator_cyclic m => 3; }")),
		"home 3", "wave: in0 m{0.0} pushed", "push m{0.0} = out0 to r{0.1}[2] on 3")
	warns(t, "sub main() { df m; put(m, 1); g(m) @ { wait m; }; }",
		"2:40 wait on a call without label: nothing can be pushed to it")
	failsBody(t, "df m; put(m, 1) @ { afterpush m => r; }; cf r: none(); put(m, 1) @ { afterpush m => zz; }; "+
		"put(m, 1) @ { afterpush m => i; };",
		"2:120 cpp-generation unknown name zz",
		"2:156 cpp-generation i is a value, not a data fragment, and cannot be the target of a push")
}

func TestSection5_7_NFParam(t *testing.T) {
	src := func(body string) string {
		return lib + "sub s(name v, int n) { " + body +
			" } @ { nfparam a; nfparam b; locator_cyclic v[i] => a + i * b; }\nsub main() { df v; put(v[0], " +
			"1); s(v, " +
			"1) @ { nfparam b => 2; nfparam a => 1; nfparam c => 3; }; }"
	}
	d := dump(compile(t, src("f(v[n]);")))
	has(t, d, "block 0 values v, n, a, b", "wave: in0 v{p0.0}[v0.1:int] @ (+ v0.2:int (* idx0 v0.3:int))",
		"args &v{0.0}, 1, nf 1, nf 2")
	fails(t, src("f(a);"), "2:26 recom-generation nfparam a can be used in locator maps only")
	fails(t, src("f(1) @ { locator_cyclic: b; };"),
		"2:49 recom-generation nfparam b can be used in locator maps only")
	fails(t, lib+"sub s(int p) { none(); } @ { nfparam p; } sub main() none();",
		"2:38 recom-generation nfparam p has the name of a parameter")
	warns(t, "sub s() { none(); } @ { nfparam p; } sub main() s();",
		"2:49 nfparam p of s is not given; a locator that uses it fails")
}

func TestSection6_Locators(t *testing.T) {
	t.Run("default", func(t *testing.T) { hasNot(t, body(t, "df x; put(x, 1); f(x);"), "home", "@") })
	t.Run("innermost rule by name text", func(t *testing.T) {
		d := dump(compile(t,
			lib+"sub main() { df x; put(x[1], 1); if 1 { df x; put(x[2], 1); f(x[2]) @ { locator_cyclic x[a] => a "+
				"* 4; }; } @ { locator_cyclic x[j] => 3; } } @ { locator_cyclic x[i] => i; }"))
		has(t, d, "post x{0.0}[1] @ idx0 = out0 unlimited", "post x{0.0}[2] @ 3 = out0 unlimited",
			"wave: in0 x{0.0}[2] @ (* idx0 4)")
	})
	t.Run("own rule of a loop applies to its bounds and body", func(t *testing.T) {
		d := body(t, "df n; put(n, 1); for k = 0 .. n { f(n); } @ { locator_cyclic n => 2; locator_cyclic: 5; }")
		has(t, d, "home 5", "wave: in0 n{0.0} @ 2 control", "wave: in0 n{1.0} @ 2")
	})
	t.Run("evaluated in the scope of the use", func(t *testing.T) {
		d := dump(compile(t,
			lib+"sub main() { df x; for k = 0 .. 1 put(x[k], 1); for k = 0 .. 1 for j = 0 .. 1 f(x[j]); } @ "+
				"{ locator_cyclic x[i] => k - i; }"))
		has(t, d, "post x{1.0}[v0.0:int] @ (- v0.0:int idx0) = out0 unlimited",
			"wave: in0 x{2.0}[v0.0:int] @ (- v1.0:int idx0)")
	})
	t.Run("labels", func(t *testing.T) {
		d := dump(compile(t,
			lib+"sub main() { cf a: f(1); cf b[2][3]: f(2); cf c: f(3); cf d: f(4); cf a: f(5) @ { locator_cyclic: "+
				"9; }; } @ { locator_cyclic a => 1; locator_cyclic b[i][j] => i * j; locator_replicating c => all; "+
				"locator_replicating d => 2; }"))
		has(t, d, "home 1", "home 6", "home where created", "home 9")
		d = body(t, "df n; put(n, 1); cf a: f(n) @ { locator_cyclic a => n; };")
		has(t, d, "home wave: in0 n{0.0}", "home in0:int")
		hasNot(t, d, "in1")
	})
	t.Run("replicating", func(t *testing.T) {
		d := dump(compile(t,
			lib+"sub main(int p) { df x, y; two(x, y[1]); } @ { locator_replicating x => all; locator_replicating "+
				"y[i] => p; }"))
		has(t, d, "post x{0.0} @ all = out0 unlimited", "post y{0.1}[1] @ every v0.0:int = out1 unlimited")
	})
	t.Run("passing a slice is no placement", func(t *testing.T) {
		compile(t, lib+"sub s(name v) f(v); sub main() { df x; put(x[1][2], 1); s(x[1]); } @ { locator_cyclic "+
			"x[i][j] => i; }")
	})
	t.Run("faults", func(t *testing.T) {
		fails(t, lib+"sub main() { df x; put(x[1], 1); f(x); } @ { locator_cyclic x[i] => i; }",
			"2:36 recom-generation idx length missmatch: x has 0 indices, its locator x[i] has 1")
		fails(t, lib+"sub main() { df x; put(x, 1); } @ { locator_cyclic x => 1; locator_cyclic x => 2; "+
			"locator_cyclic x[i+1][j][j] => 2; }",
			"2:60 recom-generation two locators for x", "2:83 recom-generation two locators for x")
		fails(t, lib+"sub main() { df x; put(x[1][2], 1); } @ { locator_cyclic x[1][a[2]] => 2; }",
			"2:60 recom-generation indices of a locator's left side must be different plain names",
			"2:63 recom-generation indices of a locator's left side must be different plain names")
		fails(t, lib+"sub main() { df x; put(x[1], 1); put(x[2], 1); } @ { locator_cyclic x[i] => i + zz; }",
			"2:81 recom-generation unknown name zz")
		fails(t, lib+"sub main() { df x; put(x[1], 1); } @ { locator_cyclic x[i] => x[i - 1]; }",
			"2:40 recom-generation the place of x depends on the place of x itself")
		fails(t, lib+"sub main() { df x; put(x, 1); } @ { locator_replicating x => 0; }",
			"2:62 recom-generation locator_replicating with 0")
	})
	t.Run("rules that match nothing", func(t *testing.T) {
		warns(t, "sub s(name v) f(v); sub main() { df x, y; put(x, 1); s(x); } @ { locator_cyclic x => 0; "+
			"locator_cyclic z[i] => 2; locator_cyclic y => 2; }",
			"2:89 this locator matches nothing: z does not occur here",
			"2:115 this locator matches nothing: y does not occur here")
	})
}

func TestWarnUninitialised(t *testing.T) {
	warns(t, "sub main() { df x, y; put(x, y); f(x); }", "2:30 y is read, but nothing initialises it")
	warns(t, "sub r(name a) f(a); sub w(name a, int n) { if n w(a, n - 1); put(a[n], 1); } sub main() { df x, "+
		"y, z, w; r(x); w(y, 2); r(y); w(z, 1); while w[k], k = 0 .. out w[1] none(); }",
		"2:108 x is read, but nothing initialises it")
	warns(t, "sub main() { df x, y; none() >> (x); if x f(x[2]); put(y, 1) @ { afterpush y => l; }; cf l: f(y) "+
		"@ { wait y; }; }")
}
