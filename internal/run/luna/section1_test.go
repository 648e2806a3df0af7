package luna

import (
	"strings"
	"testing"
)

func TestSection1_1_Input(t *testing.T) {
	t.Run("CR LF", func(t *testing.T) {
		equal(t, pre(t, "a\r\nb\rc", nil), "a\nb\nc")
		compile(t, strings.ReplaceAll(lib+"sub main() {\n\tf(1);\n}\n", "\n", "\r\n"))
	})
	t.Run("#!/ line", func(t *testing.T) {
		equal(t, pre(t, "#!/opt/luna\nx", nil), "x")
		preFails(t, "#!/opt\n$X", nil, "2:1 undefined identifier: X")
		fails(t, "#! /usr/bin/x\nsub main() none();", "1:1 parse sub, import or C++ expected, not '#'",
			"1:2 parse invalid symbol: !")
	})
	t.Run("byte order mark", func(t *testing.T) { equal(t, pre(t, "\uFEFF#!/x\ny", nil), "y") })
}

func TestSection1_3_Comments(t *testing.T) {
	for src, want := range map[string]string{
		"a // b\nc":            "a \nc",
		"a // b\\\nc\nd":       "a \nd",
		"a/**/b":               "ab",
		"a/* /* */ b */":       "a b */",
		"f(int `n, `in value)": "f(int ,  value)",
		"`-x":                  "-x",
		"`\\-x y":              " y",
		"// \"x":               "",
	} {
		equal(t, pre(t, src, nil), want)
	}
	preFails(t, "x /* y", nil, "1:3 multiline comment reaches end of file")
	compile(t, "import f(int `n, `in value `v) as f;\nsub main() { df x; f(1, x) >> (x); }")
}

func TestSection1_4_Strings(t *testing.T) {
	equal(t, pre(t, "#define A b\n\"$A // \\\" /*\n\"$A", nil), "\n\"$A // \\\" /*\n\"b")
	preFails(t, "a\n \"b", nil, "2:2 unmatched quote ('\"')")
}

func TestSection1_5_Define(t *testing.T) {
	for _, c := range [][2]string{
		{"#define N 10\n$N", "\n10"},
		{"#define N  10 \n[$N]", "\n[ 10 ]"}, // one blank is dropped
		{"#define N\t1\n$N", "\n1"},
		{"#define F(a, b) $b-$a\n$F(1, 2)", "\n  2-1"}, // nothing is dropped after a parameter list
		{"#define F(a)$a\n$F(x)y", "\nxy"},
		{"x #define N 1\n$N", "x \n1"},             // anywhere in a line
		{"#define A $B\n#define B 2\n$A", "\n\n2"}, // bodies are expanded where used
		{"#define A 1\n#undef A \n#define A 2\n$A", "\n\n\n2"},
		{"#define F(a) [$a]\n$F(x\\,y\\))", "\n [x,y)]"},
		{"#define F(a,b) [$a|$b]\n$F( x , y )", "\n [ x | y ]"},
		{"#define F(a) [$a]\n#define N 3\n$F($N)", "\n\n [3]"}, // arguments are preprocessed
	} {
		equal(t, pre(t, c[0], nil), c[1])
	}
	t.Run("no expansion in strings, comments, blocks", func(t *testing.T) {
		equal(t, pre(t, "#define A 1\n\"$A\"/*$X*/${{$X$}}", nil), "\n\"$A\"__block(0)")
	})
	t.Run("body with a comment", func(t *testing.T) {
		equal(t, pre(t, "#define N 10 // ten\nfor i=0..$N-1 {", nil), "\nfor i=0..10 -1 {")
		equal(t, pre(t, "#define U \"http://x\" // c\n$U;", nil), "\n\"http://x\" ;")
		equal(t, pre(t, "#define N 1/* a\nb */2\n$N", nil), "\n12")
	})
	t.Run("body of several lines", func(t *testing.T) {
		equal(t, pre(t, "#define S a; \\\nb;\n$S", nil), "\na; \nb;")
	})
	t.Run("at the end of the file", func(t *testing.T) { equal(t, pre(t, "a#define N 1", nil), "a") })
	t.Run("what looks like parameters", func(t *testing.T) {
		equal(t, pre(t, "#define E (10)\n$E", nil), "\n(10)")
		equal(t, pre(t, "#define E (x)\n$E", nil), "\n(x)")
		equal(t, pre(t, "#define E (x+1)\n$E", nil), "\n(x+1)")
		equal(t, pre(t, "#define E(x+1)\n$E", nil), "\n(x+1)")
		equal(t, pre(t, "#define E (x) [$x]\n$E(2)", nil), "\n [2]")
		equal(t, pre(t, "#define g() z\n$g", nil), "\n() z")
	})
	t.Run("parameters by prefix", func(t *testing.T) {
		equal(t, pre(t, "#define F(a) $ab\n$F(x)", nil), "\n xb")
		equal(t, pre(t, "#define F(a,ab) $ab\n$F(x,y)", nil), "\n y")
		equal(t, pre(t, "#define ab 7\n#define F(a) $ab\n$F(x)", nil), "\n\n 7")
	})
	t.Run("-D", func(t *testing.T) {
		equal(t, pre(t, "$N", nil, Define{"N", "4"}), "4")
		equal(t, pre(t, "#ifdef N\n1\n#endif", nil, Define{"N", ""}), "\n1\n")
	})
	t.Run("faults", func(t *testing.T) {
		preFails(t, "#define N 1\n #define N 2\n", nil, "2:10 duplicate definition: N")
		preFails(t, "a $N $M", nil, "1:3 undefined identifier: N", "1:6 undefined identifier: M")
		preFails(t, "#define F(a) $a\n$F (1)", nil, "2:1 argument(s) expected")
		preFails(t, "#define F(a,b) $a\n$F(1) $F(1,2,3)", nil, "2:1 more arguments expected (provided: 1, need: 2)",
			"2:7 unexpected argument (2 expected, got 3)")
		preFails(t, "#define F(a) $a\n$F(1", nil, "2:3 arguments of macro F reach end of file")
		preFails(t, "#define A x$B\n#define B $A\n$A", nil,
			"3:1 macro A expands to itself (in expansion of macro $B)")
		preFails(t, "#define A $X\n\n  $A", nil, "3:3 undefined identifier: X (in expansion of macro $A)")
		preFails(t, "#define 1\n", nil, "1:9 #define: name expected")
		preFails(t, "#define N 1\n", nil)
	})
	t.Run("doubling macros", func(t *testing.T) {
		src := "#define A0 xxxxxxxxxxxxxxxx\n"
		for i := 'a'; i < 'z'; i++ {
			prev := string(i - 1)
			if i == 'a' {
				prev = "A0"
			}
			src += "#define " + string(i) + " $" + prev + " $" + prev + "\n"
		}
		rep := &reporter{}
		preprocess(opts(src+"$y", nil), rep)
		if ds := diags(rep.err()); len(ds) != 1 || !strings.HasPrefix(ds[0].Msg, "macros expand to more than") {
			t.Error(ds)
		}
	})
}

func TestSection1_5_ArgumentsEndAtTheFirstParenthesis(t *testing.T) {
	o := opts("#define F(a) [$a]\n$F((1+2))", nil)
	rep := &reporter{}
	equal(t, encode(preprocess(o, rep).text), "\n [(1+2])")
	if len(rep.warnings) != 1 || rep.warnings[0].Pos.Line != 2 {
		t.Error(rep.warnings)
	}
}

func TestSection1_6_Include(t *testing.T) {
	files := map[string]string{"a.inc": "#define N 5\n[$M]", "d/b.inc": "x #include \"a.inc\"\n",
		"self": "#include \"self\" ",
		"open": "#ifdef N\n", "bang": "#!/x\ny"}
	equal(t, pre(t, "#define M 1\n#include \n \"a.inc\"\n$N", files), "\n\n[1]\n5")
	equal(t, pre(t, "#define M 1\n#include \"d/b.inc\"$N", files), "\nx \n[1]\n5")
	equal(t, pre(t, "#include \"bang\"", files), "y")
	equal(t, pre(t, "#ifdef X\n#include \"nowhere\"\n#endif", files), "")
	preFails(t, "#include <a>", files, "1:1 #include: path in quotes expected")
	preFails(t, "#include \"nowhere\"\n$X", files, "1:10 failed to read 'nowhere'",
		"2:1 undefined identifier: X")
	preFails(t, "#include \"self\"", files, "1:1 maximum parse recursion depth reached")
	preFails(t, "#include \"open\"", files, "1:1 unmatched #ifdef")
	t.Run("positions", func(t *testing.T) {
		_, err := Compile(opts("#include \"e.inc\"\nsub main() g(x);",
			map[string]string{"e.inc": "import g(value)\n  as g;\nsub s() g(y);\n"}))
		equal(t, formatted(diags(err)), `t.fa:2:14: error: unknown name x
    sub main() g(x);
                 ^
    hint: declare it with df x; at the beginning of the block
e.inc:3:11: error: unknown name y
    sub s() g(y);
              ^
    hint: declare it with df y; at the beginning of the block
`)
	})
}

func TestSection1_7_Conditionals(t *testing.T) {
	for _, c := range [][2]string{
		{"#ifdef A\n1\n#else\n2\n#endif\n3", "\n2\n\n3"},
		{"#ifndef A \n1\n#else\n2\n#endif\n3", " \n1\n\n3"},
		{"#define A\n#ifdef A\n1#ifdef B\n2#else 3#endif 4#else 5#endif", "\n\n1 3 4"},
		{"#ifdef A\n#ifdef B\n#else\n1#endif#endif 2", " 2"},
		{"#ifdef A // comment\n1#endif", ""},
		{"#ifdef A\n$X #foo \"#endif\" /*#endif*/ #define B 1\n#endif#ifdef B\n1#endif", ""},
		{"#ifdef A\n${{x$}}#endif${{y$}}", "__block(0)"},
	} {
		got := pre(t, c[0], nil)
		if strings.TrimLeft(got, " \n") != strings.TrimLeft(c[1], " \n") {
			t.Errorf("%q: got %q, want %q", c[0], got, c[1])
		}
	}
	preFails(t, "\n #ifdef A\n", nil, "2:2 unmatched #ifdef")
	preFails(t, "#else #endif", nil, "1:1 unmatched #else", "1:7 unmatched #endif")
	preFails(t, "#ifdef A\n#else\n#else\n#endif", nil, "3:1 #endif expected")
	preFails(t, "#foo x\n#defin y\n", nil, "1:1 unknown directive: #foo", "2:1 unknown directive: #defin")
	preFails(t, "#ifdef A\n\"\n#endif", nil, "2:1 unmatched quote ('\"')")
	preFails(t, strings.Repeat("#ifdef A\n", 65), nil, "65:1 maximum parse recursion depth reached")
}

func TestSection1_8_ForeignBlocks(t *testing.T) {
	for _, c := range [][3]string{
		{"${<%%%} a } $x #y \"%%%", " a } $x #y \"", "__block(0)"},
		{"${<END} {x; }END", " {x; }", "__block(0)"},
		{"${<!}{ }!", "{ }", "__block(0)"},
		{"${{ // $}}\n", "{ // }", "__block(0)\n"},
		{"${{x\xff\xfey$}}", "{x\xff\xfey}", "__block(0)"},
	} {
		rep := &reporter{}
		p := preprocess(opts(c[0], nil), rep)
		equal(t, encode(p.text), c[2])
		equal(t, p.blocks[0].Text, c[1])
	}
	preFails(t, "x ${{ y", nil, "1:3 foreign block reaches end of file: '$}}' not found")
	preFails(t, "${<E} y", nil, "1:1 foreign block reaches end of file: 'E' not found")
	preFails(t, "${<}", nil, "1:1 foreign block: empty terminator")
	t.Run("order and position", func(t *testing.T) {
		p := compile(t, "C++ head ${<H}\nint x;H\nC++ sub a() ${{ x = 1; $}}\nC++ head ${{ $}}\nsub main() a();")
		if len(p.Heads) != 2 || p.Heads[0].Text != "\nint x;" || p.Heads[1].Index != 2 || p.Heads[1].Text != "{ }" {
			t.Error(p.Heads)
		}
		b := p.Routines[0].Body
		if b.Index != 1 || b.Text != "{ x = 1; }" || b.Pos != (Pos{"t.fa", 3, 16}) {
			t.Error(b)
		}
	})
}

func TestSection1_9_Tokens(t *testing.T) {
	lexed := func(src string) string {
		rep := &reporter{}
		p := preprocess(opts(src, nil), rep)
		var out []string
		for _, tok := range lex(&source{rep, p}) {
			out = append(out, tok.text)
		}
		return strings.Join(out[:len(out)-1], " ")
	}
	for src, want := range map[string]string{
		"1..5":        "1 .. 5",
		"1.5.2":       "1.5 . 2",
		"1.":          "1 .",
		"a<--1":       "a <-- 1",
		"a< --1":      "a < - - 1",
		"i---i":       "i - - - i",
		"a-->b":       "a --> b",
		"C++ sub":     "C++ sub",
		"CC++":        "CC + +",
		"a=>b>=c<=d":  "a => b >= c <= d",
		"0x10":        "0 x10",
		"<<rush>>":    "<< rush >>",
		"\"a\\\"b\"c": "\"a\\\"b\" c",
	} {
		equal(t, lexed(src), want)
	}
	t.Run("reserved words", func(t *testing.T) {
		for w := range reserved {
			if w == "__block" || w == "sub" || w == "import" {
				continue
			}
			fails(t, lib+"sub "+w+"() none(); sub main() none();",
				"2:5 parse name of the sub expected, not the reserved word "+w)
		}
		compile(t, lib+"sub request(int head, int all, int nfparam) f(head+all+nfparam); sub main() "+
			"request(1, 2, 3);")
	})
	failsBody(t, "f(007);", "2:38 parse number with a leading zero: 007")
	failsBody(t, "f(1 ! 2);", "2:40 parse invalid symbol: !",
		"2:42 parse ',' expected or ) in the list, not '2'")
}

func TestSection1_9_StringContents(t *testing.T) {
	for lit, want := range map[string]string{
		`"a\nb\tc"`:       "a\nb\tc",
		`"a\\nb"`:         "a\nb",
		`"\\\\"`:          `\`,
		`"\\b\\a\\x41"`:   "\b\aA",
		`"\/"`:            "/",
		`"\u0041\u0022"`:  `A"`,
		`"%d"`:            "%d",
		`"\"q\""`:         `"q"`,
		"\"real\n\ttab\"": "real\n\ttab",
		`"\u00e9"`:        "é",
		`"\ud83d\ude00"`:  "😀",
		`"é"`:             "é",
		`"\\101\\u0042"`:  "AB",
		`"a\\0b"`:         "a",
	} {
		got, _, err := unquote(lit)
		if err != nil || got != want {
			t.Errorf("%s: %q %v, want %q", lit, got, err, want)
		}
	}
	for _, lit := range []string{`"\q"`, `"\u12"`, `"a\\"`, `"\\xfff"`, `"`} {
		if v, _, err := unquote(lit); err == nil {
			t.Errorf("%s: %q", lit, v)
		}
	}
}
