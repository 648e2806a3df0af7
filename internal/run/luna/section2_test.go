package luna

import (
	"strings"
	"testing"
)

// parsed returns the canonical text of an expression.
func parsed(t *testing.T, e string) string {
	t.Helper()
	rep := &reporter{}
	pre := preprocess(opts("sub main() f("+e+");", nil), rep)
	defs, _ := parse(&source{rep, pre})
	if err := rep.err(); err != nil {
		t.Fatal(e, formatted(diags(err)))
	}
	return canonText(defs[0].body.stmts[0].args[0])
}

func TestSection2_Grammar(t *testing.T) {
	for _, src := range []string{
		"sub main() f(1);",
		"sub << static, 1, 2+x >> main() { f(1); }",
		"sub main() { df a, b; put(a, 1); f(a); } @ { locator_cyclic a => 1; unroll_at_once; }",
		"import h(int, real `x, string s, name &, value & v) as hh : CUDA, NOCPU; import k() : CUDA; sub " +
			"main() none();",
		"sub main() { df w; for <<rush>> i = 1 .. 2 while <<unrolling, 2>> i < 1, j = 0 .. out w[i] if 1 f(j); }",
		"sub main() { df x; cf lab[1][2]: put(x, 1) >> (x[2]) --> (x[3], x[4]) @ { a: 1; b; c, d; e f, g[1]; h " +
			"i = 1; j k => 2; }; }",
		"sub main() { none() >> () --> (); }",
		"sub main() { if 1 { none(); } @ { foo; } for i = 0 .. 1 { none(); } @ { foo; } }",
		"sub a() b(); sub b() none(); sub main() a();",
		"sub request(int all) f(all); sub main() request(2);",
	} {
		compile(t, lib+src)
	}
	for _, c := range [][]string{
		{"", "1:1 parse the program defines nothing"},
		{"// x\n", "2:1 parse the program defines nothing"},
		{"sub main() { }", "1:14 parse statement expected, not '}'"},
		{"sub main() { df x; }", "1:20 parse statement expected, not '}'"},
		{"sub main() { { f(); } }", "1:14 parse statement expected, not '{'"},
		{"sub main() { f(); ; }", "1:19 parse statement expected, not ';'"},
		{"sub main() { if 1 f(); else g(); }", "1:24 parse statement expected, not the reserved word else"},
		{"sub main() { if 1 { f(); }; }", "1:27 parse statement expected, not ';'"},
		{"sub main() { f(); };", "1:20 parse sub, import or C++ expected, not ';'"},
		{"sub main() { f(); df x; }", "1:19 parse statement expected, not the reserved word df"},
		{"sub main() { cf a: for i = 0 .. 1 f(); }",
			"1:20 parse name of a routine or sub expected, not the reserved word for"},
		{"sub main() { f() @ { }; }", "1:22 parse a behaviour block needs at least one rule"},
		{"sub main() { f() @ { a; } --> (x); }", "1:27 parse ';' expected after the call of f, not '-->'"},
		{"sub main() {\n f()\n g(;\n h() }", "2:4 parse ';' expected after the call of f",
			"3:4 parse expression expected, not ';'",
			"4:4 parse ';' expected after the call of h"},
		{"sub main() {\n  if 1 {\n  f();\n", "2:8 parse '{' is never closed (body of if)"},
		{"sub main( { f(); }\nsub b() { g(1; }\n", "1:11 parse type of a parameter expected, not '{'",
			"2:14 parse ',' expected or ) in the list, not ';'"},
		{"sub main() f(a<--1);", "1:15 parse ',' expected or ) in the list, not '<--'"},
		{"C++ tail ${{ $}}\nsub main() f(;", "1:5 parse C++ tail is unknown",
			"2:14 parse expression expected, not ';'"},
		{"C++ sub f(int x) { }", "1:18 parse C++ block expected, not '{'"},
		{"sub main() { x = 1; }", "1:16 parse '(' expected after x, not '='"},
		{"import f(foo);", "1:10 parse type of a parameter expected, not 'foo'"},
		{"sub main() f(" + strings.Repeat("(", 500) + ");", "1:413 parse nested too deeply"},
	} {
		fails(t, c[0], c[1:]...)
	}
}

func TestSection2_1_Precedence(t *testing.T) {
	for e, want := range map[string]string{
		"a?b:c?d:e":   "((a) ? (b) : (c)) ? (d) : (e)",
		"a?b?c:d:e":   "(a) ? ((b) ? (c) : (d)) : (e)",
		"a?b:c+d":     "(a) ? (b) : ((c)+(d))",
		"a||b?c:d||e": "((a)||(b)) ? (c) : ((d)||(e))",
		"a==b<c":      "((a)==(b))<(c)",
		"a||b&&c":     "(a)||((b)&&(c))",
		"a&&b==c":     "(a)&&((b)==(c))",
		"a<b+c*d":     "(a)<((b)+((c)*(d)))",
		"a-b-c":       "((a)-(b))-(c)",
		"a/b*c%d":     "(((a)/(b))*(c))%(d)",
		"-a*b":        "(-(a))*(b)",
		"--a":         "-(-(a))",
		"-(a+b)":      "-((a)+(b))",
		"int(a+1)*2":  "(int((a)+(1)))*(2)",
		"x[i+1][-j]":  "x[(i)+(1)][-(j)]",
	} {
		equal(t, parsed(t, e), want)
	}
	for _, e := range []string{"+a", "!a", "f(1)", "(a)[1]", "a&b", "a=b", "1e5", ""} {
		if e != "" {
			rep := &reporter{}
			parse(&source{rep, preprocess(opts("sub main() f("+e+");", nil), rep)})
			if rep.err() == nil {
				t.Error(e, "was accepted")
			}
		}
	}
	t.Run("printing", func(t *testing.T) {
		for e, want := range map[string]string{
			"(a+b)*c-(d-e)": "(a + b) * c - (d - e)", "(a-b)-c": "a - b - c", "-(a*b)": "-(a * b)",
			"x[(i)+1]":          "x[i + 1]",
			"(a?b:c)?d:(e?1:2)": "a ? b : c ? d : (e ? 1 : 2)", "(a||b)&&c": "(a || b) && c",
		} {
			p := compileExpr(t, e)
			equal(t, srcText(p), want)
		}
	})
}

func compileExpr(t *testing.T, e string) *expr {
	t.Helper()
	rep := &reporter{}
	defs, _ := parse(&source{rep, preprocess(opts("sub main() f("+e+");", nil), rep)})
	if rep.err() != nil {
		t.Fatal(formatted(diags(rep.err())))
	}
	return defs[0].body.stmts[0].args[0]
}

func TestSection2_Replacement(t *testing.T) {
	p := compile(t, "import a(int) as f; import b(int) as f; sub main() f(1); sub s() f(1); sub s() f(2); "+
		"sub t() s();")
	if p.Routines[0].CName != "b" || len(p.Subs) != 3 || len(p.Warnings) != 1 {
		t.Error(dump(p))
	}
}
