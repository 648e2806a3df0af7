package luna

import "testing"

func TestSection4_1_Names(t *testing.T) {
	t.Run("a block has an identity per entry and names that are not used have none", func(t *testing.T) {
		d := body(t, "df a, b, c; put(c[3][-1], 1); for k = 0 .. 1 { df a, z; put(a[k], 1); put(c[k], 1); } if "+
			"1 { none(); }")
		has(t, d, "block 0 values i, q, t names c", "block 1 values k names a", "out c{0.0}[3][-1]",
			"out a{0.0}[v0.0:int]",
			"out c{1.0}[v0.0:int]", "block 2 no frame")
	})
	t.Run("blocks without frame do not count", func(t *testing.T) {
		d := body(t, "df c; if 1 if 2 for k = 0 .. 1 if 3 { df a; if 4 two(c[k], a); }")
		has(t, d, "out c{2.0}[v1.0:int]", "out a{0.0}", "block 4 names a")
	})
	t.Run("inner names hide outer ones", func(t *testing.T) {
		has(t, body(t, "df c; put(c, 1); if 1 { df c; put(c[1], 1); }"), "out c{0.0}", "out c{0.0}[1]")
		has(t, body(t, "for k = 0 .. 1 for k = k .. 2 f(k);"), "from v0.0:int to 2", "args v0.0:int")
		// the nearest declaration, counter or not
		has(t, body(t, "df k; put(k, 1); for k = 0 .. 1 f(k);"), "args v0.0:int")
		has(t, body(t, "for k = 0 .. 1 { if 1 { df k; put(k, 1); f(k); } }"), "wave: in0 k{0.0}")
	})
	t.Run("name parameters", func(t *testing.T) {
		d := dump(compile(t,
			lib+"sub s(name v, int k) { put(v[k][2], k); if k s(v[k], k - 1); } sub main() { df x; s(x[1], 3); "+
				"f(x); }"))
		has(t, d, "out v{p0.0}[v0.1:int][2]", "args &v{p0.0}[v0.1:int], (- v0.1:int 1)", "args &x{0.0}[1], 3")
	})
	t.Run("faults", func(t *testing.T) {
		fails(t, lib+"sub main(int n) {\n df a, a, n; put(a, 1); }",
			"3:8 recom-generation a is already a name of this block",
			"3:11 recom-generation n is already a parameter or counter of this block")
		failsBody(t, "for k = 0 .. 1 { df k; put(k, 1); }",
			"2:56 recom-generation k is already a parameter or counter of this block")
		failsBody(t, "f(zz); put(zz, 1); f(i[1]); put(i, 1); none() >> (q) --> (t) @ { request i; delete zy; };",
			"2:38 recom-generation unknown name zz", "2:47 cpp-generation unknown name zz",
			"2:57 cpp-generation i is a value, not a data fragment, and cannot be indexed",
			"2:68 cpp-generation i is a value, not a data fragment, and cannot be passed as a name",
			"2:86 cpp-generation q is a value, not a data fragment, and cannot be initialised",
			"2:94 cpp-generation t is a value, not a data fragment, and cannot be deleted",
			"2:109 cpp-generation i is a value, not a data fragment, and cannot be requested",
			"2:119 cpp-generation unknown name zy")
		fails(t, lib+"sub main() none(); sub s(int a, name a) none();",
			"2:38 recom-generation parameter a occurs twice")
		fails(t, lib+"sub s() { df x; put(x, 1); }\nsub main() f(x);", "3:14 recom-generation unknown name x")
	})
}

func TestSection4_1_LabelsAreNames(t *testing.T) {
	has(t, body(t, "cf a: none() >> (a); if 1 cf b[1]: none();"), "s1 a{0.0}: none()", "token a{0.0}",
		"block 0 values i, q, t names a:", "block 1 names b:",
		"s3 b{0.0}[1]: none()")
	t.Run("hides an outer data fragment", func(t *testing.T) {
		p := compile(t, lib+"sub main() { df x; put(x, 1); for k = 0 .. 1 { cf x: f(1); g(x); } }")
		has(t, dump(p), "wave: in0 x{0.0}")
		if len(p.Warnings) != 1 {
			t.Error(dump(p))
		}
	})
	has(t, body(t, "df x; cf x: put(x, 1); g(x);"), "block 0 values i, q, t names x", "wave: in0 x{0.0}")
	has(t, dump(compile(t, lib+"sub s(name p) { cf p: put(p, 1); } sub main() { df x; s(x); }")),
		"s2 p{p0.0}: put(p, 1)")
	failsBody(t, "cf a: none(); g(a); cf i: none();", "2:52 recom-generation a is a label, not a data fragment",
		"2:59 recom-generation label i has the name of a parameter or counter")
}

func TestSection4_2_Calls(t *testing.T) {
	t.Run("waits for inputs and indices", func(t *testing.T) {
		d := body(t, "df x, y, n; two(x, y); two(n, n[1]); put(y[n], x[n[1]] + 1);")
		has(t, d, "wave: in0 n{0.2} control, in1 n{0.2}[1] control", "wave: in2 x{0.0}[in1:int]",
			"args &out0, (+ in2:int 1)", "out y{0.1}[in0:int]",
			"post y{0.1}[in0:int] = out0 unlimited")
	})
	t.Run("of a sub: only indices of names", func(t *testing.T) {
		d := dump(compile(t,
			lib+"sub s(name v, int a, real b, string c) g(v); sub main() { df x, n; two(x, n); s(x[n], n + 1, n * "+
				"1.0, n); }"))
		has(t, d, "wave: in0 n{0.1} control",
			"args &x{0.0}[in0:int], (+ in0:int 1), (*. in0:real 1.0), (string in0?)")
	})
	t.Run("recursion", func(t *testing.T) { compile(t, lib+"sub s(int n) if n s(n - 1); sub main() s(3);") })
	t.Run("faults", func(t *testing.T) {
		failsBody(t, "fx(1); f(); f(1, 2); put(1, 2); put(i + 1, 2); mian();",
			"2:36 recom-generation unknown sub or routine fx",
			"2:43 recom-generation f takes 1 argument, 0 given", "2:48 recom-generation f takes 1 argument, 2 given",
			"2:61 cpp-generation argument 1 of put must be a name, not a constant",
			"2:72 cpp-generation argument 1 of put must be a name, not an expression",
			"2:83 recom-generation unknown sub or routine mian")
		fails(t, lib+"sub s(value v) g(v); sub main() { df x; s(x); }",
			"2:43 cpp-generation argument 1 of s: a sub cannot be called with a value parameter")
		compile(t, lib+"sub s(value v) g(v); sub main() none();")
		fails(t, lib+"sub main() none(); sub never() f(nothing);", "2:34 recom-generation unknown name nothing")
	})
	t.Run("a result that is an argument", func(t *testing.T) {
		warns(t, "sub main() { df x; put(x, x + 1); }",
			"2:24 the call reads x and initialises it as well; it will wait for itself or fail")
		warns(t, "sub main() { df x; two(x[1], x[1]); }",
			"2:30 this call initialises x[1] twice; running it will fail")
	})
}

func TestSection4_3_For(t *testing.T) {
	has(t, body(t, "df a, b; two(a, b); for k = a .. b[a] f(k);"), "wave: in0 a{0.0} control",
		"wave: in1 b{0.1}[in0:int] control", "from in0:int to in1:int")
}

func TestSection4_4_While(t *testing.T) {
	d := body(t, "df x, w, n; put(n, 0); while x[k] < n, k = i .. out w[k] { df y; put(y, 1); put(x[k + 1], "+
		"y); } @ { req_count w[k] = x[k]; }")
	has(t, d, "wave: in0 x{1.0}[v0.0:int] control, in1 n{1.2} control",
		"start v0.0:int while (< in0? in1?)",
		"out w{1.1}[v0.0:int]", "post w{1.1}[v0.0:int] = out0 count in0:int", "block 1 values k names y",
		"out x{1.0}[(+ v0.0:int 1)]")
	t.Run("names of the body are not seen by the condition", func(t *testing.T) {
		has(t, body(t, "df x, w; put(x, 0); while x, k = 0 .. out w { df x; put(x, 1); f(x); }"),
			"wave: in0 x{1.0} control", "out x{0.0}")
	})
	t.Run("data fragments in start, indices of the result and locator", func(t *testing.T) {
		d := body(t,
			"df s, w; put(s, 0); while 0, k = s + 1 .. out w[s[2]] { none(); } @ { locator_cyclic: k + s; }")
		has(t, d, "home (+ v0.0:int in0:int)", "home wave: in0 s{1.0} control", "start wave: in1 s{0.0} control",
			"wave: in2 s{1.0}[2] control",
			"out w{1.1}[in2:int]", "start (+ in1:int 1) while 0")
	})
	failsBody(t, "df k; while 1, k = 0 .. out k none(); while 1, j = 0 .. out i none();",
		"2:64 cpp-generation k is a value, not a data fragment, and cannot be the result of while",
		"2:96 cpp-generation i is a value, not a data fragment, and cannot be the result of while")
}

func TestSection4_5_If(t *testing.T) {
	has(t, body(t, "df x; put(x, 1); if x && x[1] > 2 f(1);"), "wave: in0 x{0.0} control, in1 x{0.0}[1] control",
		"if (&& in0:int (> in1:int 2))")
}

func TestSection4_6_Let(t *testing.T) {
	t.Run("substitution", func(t *testing.T) {
		d := body(t, "df a; let n = 3, m = n + 1, r = a[m] { put(r[n], m * 2); f(r[n]); for k = n .. m if k == "+
			"m cf l[m]: none() >> (r[1][k]); }")
		has(t, d, "out a{0.0}[4][3]", "args &out0, 8", "wave: in0 a{0.0}[4][3]", "from 3 to 4",
			"if (== v0.0:int 4)", "s5 l{0.0}[4]: none()",
			"token a{2.0}[4][1][v1.0:int]")
	})
	t.Run("is textual", func(t *testing.T) {
		has(t, body(t, "let s = 1 + 2 fs(s);"), `args "12"`)
		has(t, body(t, "df a; let r = a[k] for k = 1 .. 2 put(r, k);"), "out a{1.0}[v0.0:int]")
	})
	t.Run("while", func(t *testing.T) {
		has(t, body(t, "df x; let n = 5, w = x[1] while k < n, k = n .. out w[2] none();"),
			"start 5 while (< v0.0:int 5)", "out x{1.0}[1][2]")
	})
	t.Run("scopes", func(t *testing.T) {
		has(t, body(t, "let k = 9 { for k = 1 .. 2 f(k); f(k); }"), "args v0.0:int", "args 9")
		has(t, body(t, "let n = 1 let n = n + 1 f(n);"), "args 2")
		has(t, body(t, "df n; put(n, 1); let n = 1 { f(n); } f(n);"), "args 1", "args in0:int")
	})
	t.Run("what LuNA rejects", func(t *testing.T) {
		d := body(t, "df a; let r = a[4], b = r, n = 2 { df z; put(b, 1) @ { req_count r = n; }; put(z, b); "+
			"none() @ { locator_cyclic: n; }; }")
		has(t, d, "post a{0.0}[4] = out0 count 2", "out z{0.1}", "home 2")
	})
	t.Run("not in later rules if the name means something there", func(t *testing.T) {
		p := compile(t,
			lib+"sub main() { df r, a; put(r, 1); let r = a[1] { put(r, 2) --> (r[7]) @ { delete r[8]; }; none() >> "+
				"(r[2]) --> (r[9]); } }")
		has(t, dump(p), "out a{0.1}[1]", "delete a{0.1}[1][7]", "delete r{0.0}[8]", "token a{0.1}[1][2]",
			"delete r{0.0}[9]")
		if len(p.Warnings) != 2 {
			t.Error(dump(p))
		}
	})
	t.Run("where LuNA would substitute otherwise", func(t *testing.T) {
		warns(t, "sub main() { let n = 1 let n = n + 1 f(n); }",
			"2:28 let variable n hides the one at t.fa:2:18; LuNA would substitute that one")
		warns(t, "sub main() { let k = 9 for k = 1 .. 2 f(k); }",
			"2:28 counter k hides the let variable at t.fa:2:18; LuNA would substitute that inside the loop")
		warns(t, "sub main() { for k = 1 .. 2 let n = k + 1 for k = 1 .. 2 f(n); }",
			"2:60 in the definition of the let variable n, k means the one declared at t.fa:2:47 here, not the one "+
				"at t.fa:2:18")
	})
	t.Run("rules of the let's own block", func(t *testing.T) {
		warns(t, "sub main() { let n = 1 { f(n); } @ { delete n; } }", "2:38 rules after a let have no effect")
	})
	t.Run("faults", func(t *testing.T) {
		failsBody(t, "let n = 3, m = n + 1 { f(n[1]); f(m[1]); put(n, 1); f(k); }",
			"2:61 compilation substitution of iconst instead of id is not allowed",
			"2:70 compilation substitution of expression instead of id is not allowed",
			"2:81 cpp-generation n is a constant, not a data fragment, and cannot be passed as a name",
			"2:90 recom-generation unknown name k")
		failsBody(t, "let n = zz f(n);", "2:49 recom-generation unknown name zz")
	})
	t.Run("growth", func(t *testing.T) {
		src := "let a = i + i"
		for c := 'b'; c <= 'z'; c++ {
			if c != 'i' && c != 'q' && c != 't' {
				prev := string(c - 1)
				if prev == "i" || prev == "q" || prev == "t" {
					prev = string(c - 2)
				}
				src += ", " + string(c) + " = " + prev + " * " + prev
			}
		}
		_, err := Compile(opts(lib+"sub main(int i) "+src+" f(z);", nil))
		if err == nil {
			t.Error("accepted")
		}
	})
}

func TestSection4_7_Pragmas(t *testing.T) {
	compile(t, lib+"sub << rush >> main() { df w; for << static_for, nothing, 1 + here >> i = 0 .. 1 f(i); "+
		"while << unrolling, 3 >> i < 1, i = 0 .. out w f(i); }")
}
