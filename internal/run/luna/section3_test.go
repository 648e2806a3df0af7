package luna

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

var posOfMessage = regexp.MustCompile(`^t\.fa:\d+:\d+: error: `)

// argument lowers e passed to a parameter of each kind: int, real, string, value. A rejection is its message.
func argument(t *testing.T, e string) [4]string {
	t.Helper()
	var out [4]string
	for k, f := range []string{"f", "fr", "fs", "g"} {
		src := lib + "sub main(int i, real q, string t) { df x, y; " + f + "(" + e + ") @ { request x, y; }; }"
		p, err := Compile(opts(src, nil))
		if err != nil {
			out[k] = posOfMessage.ReplaceAllString(strings.SplitN(formatted(diags(err)), "\n", 2)[0], "")
			continue
		}
		for _, l := range strings.Split(dump(p), "\n") {
			if a, ok := strings.CutPrefix(strings.TrimSpace(l), "args "); ok {
				out[k] = a
			}
		}
	}
	return out
}

const (
	noInt  = "a string is given where an int is wanted (argument 1 of f)"
	noReal = "a string is given where a real is wanted (argument 1 of fr)"
)

// x is in0, y is in1; i, q, t are v0.0, v0.1, v0.2.
func TestSection3_5_WhatIsAcceptedWhere(t *testing.T) {
	for _, c := range [][5]string{
		{`5`, "5", "5.0", `"5"`, "5"},
		{`2.5`, "2", "2.5", `"2.500000"`, "2.5"},
		{`"lit"`, noInt, noReal, `"lit"`, `"lit"`},
		{`x`, "in0:int", "in0:real", "(string in0?)", "in0?"},
		{`i`, "v0.0:int", "(real v0.0:int)", "(string v0.0:int)", "v0.0:int"},
		{`q`, "(int v0.1:real)", "v0.1:real", "(string v0.1:real)", "v0.1:real"},
		{`t`, noInt, noReal, "v0.2:string", "v0.2:string"},
		{`int(x)`, "in0:int", "(real in0:int)", "(string in0:int)", "in0:int"},
		{`int(2.7)`, "2", "2.0", `"2"`, "2"},
		{`int(q)`, "(int v0.1:real)", "(real (int v0.1:real))", "(string (int v0.1:real))", "(int v0.1:real)"},
		{`real(x)`, "(int in0:real)", "in0:real", "(string in0:real)", "in0:real"},
		{`real(3)`, "3", "3.0", `"3.000000"`, "3.0"},
		{`real(i)`, "(int (real v0.0:int))", "(real v0.0:int)", "(string (real v0.0:int))", "(real v0.0:int)"},
		{`string(x)`, noInt, noReal, "(string in0?)", "(string in0?)"},
		{`string(i+1)`, noInt, noReal, "(string (+ v0.0:int 1))", "(string (+ v0.0:int 1))"},
		{`i*1.0`, "(int (*. (real v0.0:int) 1.0))", "(*. (real v0.0:int) 1.0)", "(string (*. (real v0.0:int) 1.0))",
			"(*. (real v0.0:int) 1.0)"},
		{`x<y`, "(< in0? in1?)", "(real (< in0? in1?))", "(string (< in0? in1?))", "(< in0? in1?)"},
		{`x<1`, "(< in0:int 1)", "(real (< in0:int 1))", "(string (< in0:int 1))", "(< in0:int 1)"},
		{`t=="a"`, `(== v0.2:string "a")`, `(real (== v0.2:string "a"))`, `(string (== v0.2:string "a"))`,
			`(== v0.2:string "a")`},
		{`"a"==x`, `(== "a" (string in0?))`, `(real (== "a" (string in0?)))`, `(string (== "a" (string in0?)))`,
			`(== "a" (string in0?))`},
		{`x=="a"`, `(== (string in0?) "a")`, `(real (== (string in0?) "a"))`, `(string (== (string in0?) "a"))`,
			`(== (string in0?) "a")`},
		{`t<"a"`, badStringOp + "<", badStringOp + "<", badStringOp + "<", badStringOp + "<"},
		{`t-x`, badStringOp + "-", badStringOp + "-", badStringOp + "-", badStringOp + "-"},
		{`i?1:2`, "(if v0.0:int 1 2)", "(real (if v0.0:int 1 2))", "(string (if v0.0:int 1 2))",
			"(if v0.0:int 1 2)"},
		{`i?1:2.5`, "(int (if v0.0:int 1.0 2.5))", "(if v0.0:int 1.0 2.5)", "(string (if v0.0:int 1.0 2.5))",
			"(if v0.0:int 1.0 2.5)"},
		{`i?x:y`, "(if v0.0:int in0:int in1:int)", "(if v0.0:int in0:real in1:real)",
			"(string (if v0.0:int in0? in1?))", "(if v0.0:int in0? in1?)"},
		{`i?x:1`, "(if v0.0:int in0:int 1)", "(real (if v0.0:int in0:int 1))", "(string (if v0.0:int in0:int 1))",
			"(if v0.0:int in0:int 1)"},
		{`x>y?x:y`, "(if (> in0? in1?) in0:int in1:int)", "(if (> in0? in1?) in0:real in1:real)",
			"(string (if (> in0? in1?) in0? in1?))", "(if (> in0? in1?) in0? in1?)"},
		{`t+"a"`, noInt, noReal, `(++ v0.2:string "a")`, `(++ v0.2:string "a")`},
		{`"a"+x`, noInt, noReal, `(++ "a" (string in0?))`, `(++ "a" (string in0?))`},
		{`x+"a"`, noInt, noReal, `(++ (string in0?) "a")`, `(++ (string in0?) "a")`},
		{`"a"+(i+1)`, noInt, noReal, `(++ "a" (++ (string v0.0:int) "1"))`, `(++ "a" (++ (string v0.0:int) "1"))`},
		{`"a"+int(i+1)`, noInt, noReal, `(++ "a" (string (+ v0.0:int 1)))`, `(++ "a" (string (+ v0.0:int 1)))`},
		{`"a"+i*2`, noInt, noReal, `(++ "a" (string (* v0.0:int 2)))`, `(++ "a" (string (* v0.0:int 2)))`},
		{`"a"+2.5`, noInt, noReal, `"a2.500000"`, `"a2.500000"`},
		{`1+2`, "3", "3.0", `"12"`, "3"},
		{`x+1`, "(+ in0:int 1)", "(real (+ in0:int 1))", `(++ (string in0?) "1")`, "(+ in0:int 1)"},
		{`x+y`, "(int (+? in0? in1?))", "(real (+? in0? in1?))", "(++ (string in0?) (string in1?))",
			"(+? in0? in1?)"},
		{`x+x`, "(int (+? in0? in0?))", "(real (+? in0? in0?))", "(++ (string in0?) (string in0?))",
			"(+? in0? in0?)"},
		{`x+1.0`, "(int (+. in0:real 1.0))", "(+. in0:real 1.0)", `(++ (string in0?) "1.000000")`,
			"(+. in0:real 1.0)"},
		{`i+q`, "(int (+. (real v0.0:int) v0.1:real))", "(+. (real v0.0:int) v0.1:real)",
			"(++ (string v0.0:int) (string v0.1:real))", "(+. (real v0.0:int) v0.1:real)"},
		{`-i`, "(neg v0.0:int)", "(real (neg v0.0:int))", "(string (neg v0.0:int))", "(neg v0.0:int)"},
		{`-x`, "(neg in0:int)", "(neg. in0:real)", "(string (neg? in0?))", "(neg? in0?)"},
		{`0-x`, "(- 0 in0:int)", "(real (- 0 in0:int))", "(string (- 0 in0:int))", "(- 0 in0:int)"},
		{`x*y`, "(int (*? in0? in1?))", "(real (*? in0? in1?))", "(string (*? in0? in1?))", "(*? in0? in1?)"},
		{`x%y`, "(int (%? in0? in1?))", "(real (int (%? in0? in1?)))", "(string (int (%? in0? in1?)))", "(int (%? in0? in1?))"},
		{`x%2`, "(% in0:int 2)", "(real (% in0:int 2))", "(string (% in0:int 2))", "(% in0:int 2)"},
		{`q%2`, "the operands of % must be ints", "the operands of % must be ints",
			"the operands of % must be ints", "the operands of % must be ints"},
		{`x&&1`, "(&& in0:int 1)", "(real (&& in0:int 1))", "(string (&& in0:int 1))", "(&& in0:int 1)"},
		{`x||y`, "(|| (!= in0? 0) (!= in1? 0))", "(real (|| (!= in0? 0) (!= in1? 0)))",
			"(string (|| (!= in0? 0) (!= in1? 0)))", "(|| (!= in0? 0) (!= in1? 0))"},
		{`all`, "-1", "-1.0", `"-1"`, "-1"},
	} {
		got := argument(t, c[0])
		for k, want := range c[1:] {
			if got[k] != want {
				t.Errorf("%s to %s:\ngot  %s\nwant %s", c[0], []string{"int", "real", "string", "value"}[k], got[k], want)
			}
		}
	}
}

func arg(t *testing.T, e string, k int) string { t.Helper(); return argument(t, e)[k] }

func TestSection3_3_Numbers(t *testing.T) {
	const toInt, toReal, toValue = 0, 1, 3
	for _, c := range []struct {
		e    string
		to   int
		want string
	}{
		{"7/2", toReal, "3.0"}, {"-7/2", toInt, "-3"}, {"-7%2", toInt, "-1"}, {"7/2.0", toInt, "3"},
		{"2147483647+1", toInt, "-2147483648"}, {"-2147483648", toInt, "-2147483648"},
		{"3000000000", toInt, "-1294967296"},
		{"3000000000", toReal, "3e+09"}, {"3.7", toInt, "3"}, {"-3.99", toInt, "-3"}, {"80", toReal, "80.0"},
		{"3.14159265358979", toReal, "3.141593"}, {"0.0000001", toReal, "0.0"}, {"2.9999999", toInt, "3"},
		{"1/0", toInt, "(/ 1 0)"}, {"1%0", toInt, "(% 1 0)"}, {"1.0/0", toReal, "(/. 1.0 0.0)"},
		{"(x+0)*1.0", toReal, "(*. (real (+ in0:int 0)) 1.0)"},
		{"int(x*1.0)", toInt, "(int (*. in0:real 1.0))"},
		{"x*y+1", toInt, "(+ (int (*? in0? in1?)) 1)"},
		{"x*y+1.0", toInt, "(int (+. (real (*? in0? in1?)) 1.0))"},
		{"x/y", toReal, "(real (/? in0? in1?))"},
		{"(x<y)+1.5", toReal, "(+. (real (< in0? in1?)) 1.5)"},
		{"x+1+2.5", toReal, "(+. (real (+ in0:int 1)) 2.5)"},
		{"2.5+x", toReal, "(+. 2.5 in0:real)"}, {"q+x", toReal, "(+. v0.1:real in0:real)"},
		{"q && i", toInt, "(&& (!= v0.1:real 0.0) v0.0:int)"},
		{"0.5 && 1", toInt, "1"}, {"0 && x", toInt, "0"}, {"1 || x", toInt, "1"}, {"1 ? x : y", toInt, "in0:int"},
		{"1 < 2", toValue, "1"}, {"1.5 == 1.5", toValue, "1"},
		{"x[y]", toValue, "in2?"},
	} {
		if got := arg(t, c.e, c.to); got != c.want {
			t.Errorf("%s to %d: got %s, want %s", c.e, c.to, got, c.want)
		}
	}
	t.Run("conditions are truncated", func(t *testing.T) {
		d := body(t, "df x; put(x, 1); if 0.9 f(1); if -1 f(1); if x f(1); if q f(1); for k = 0.9 .. q f(k);")
		has(t, d, "if 0", "if -1", "if in0:int", "if (int v0.1:real)", "from 0 to (int v0.1:real)")
	})
	t.Run("indices", func(t *testing.T) {
		has(t, body(t, "df x, y; put(y, 1); put(x[1.7][q][y], 1);"), "out x{0.0}[1][(int v0.1:real)][in0:int]")
	})
	t.Run("all operands are inputs", func(t *testing.T) {
		has(t, body(t, "df x, y; two(x, y); g(1 ? x : y); g(0 && x);"), "wave: in0 x{0.0}, in1 y{0.1}",
			"wave: in0 x{0.0}")
	})
	t.Run("truncated", func(t *testing.T) {
		warns(t, "sub main() { f((1 ? 1.5 : 2.5) % 3); fr(0.5 ? 1.5 : 2.5); fr(1 ? 1.5 : 2.5); }",
			"2:17 1 ? 1.5 : 2.5 is truncated to an int", "2:41 the condition 0.5 is truncated to an int")
	})
	t.Run("too large", func(t *testing.T) {
		warns(t, "sub main() { f(3000000000); fr(3000000000); f(-2147483648); }",
			"2:16 3000000000 does not fit 32 bits and becomes -1294967296")
		failsBody(t, "f(99999999999999999999);", "2:38 cpp-generation integer 99999999999999999999 is too large")
	})
}

func TestSection3_4_Strings(t *testing.T) {
	const toString = 2
	for e, want := range map[string]string{
		`"n"+(i+1)`:                `(++ "n" (++ (string v0.0:int) "1"))`,
		`"n"+int(1+1)`:             `"n2"`,
		`"n="+x+", "+y[1]`:         `(++ (++ (++ "n=" (string in0?)) ", ") (string in2?))`,
		`i ? "a" : "b"+x`:          `(if v0.0:int "a" (++ "b" (string in0?)))`,
		`"a" == "b" ? "c" : "d"+1`: `(if (== "a" "b") "c" "d1")`,
		`"\\n\u0022"`:              `"\n\""`,
	} {
		if got := arg(t, e, toString); got != want {
			t.Errorf("%s: got %s, want %s", e, got, want)
		}
	}
	failsBody(t, `fs("a" - 1); fs(i == "a"); fs("\q"); if "a" f(1); for k = 0 .. t f(k);`,
		"2:43 cpp-generation "+badStringOp+"-",
		"2:54 cpp-generation a string can be compared with a string or a data fragment only",
		"2:66 cpp-generation unknown escape \\q in a string",
		"2:76 cpp-generation a string stands where an int is wanted (condition of if)",
		"2:99 cpp-generation a string stands where an int is wanted (bound of for)")
	equal(t, fmt.Sprint(join(kValue, kString), join(kString, kValue), join(kInt, kReal), join(kValue, kInt)),
		"mixed string real int")
}

func (k kind) String() string {
	return [...]string{"int", "real", "string", "value", "mixed", "bad"}[k]
}
