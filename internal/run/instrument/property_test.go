package instrument

import (
	"fmt"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/run/config"
	"pgregory.net/rapid"
)

// program is a random C++ source as it is and as it must become by the rules of programRules.
type program struct {
	t       *rapid.T
	in, out strings.Builder
	ifs     int // #if so far
	returns int // of EXIT
	blocks  int // functions with result BlockRetStatus
	foreign int // statements that call user code
}

var programRules = []Rule{
	{Event: "G::onStarted", At: config.Rule{Point: "BlockRetStatus"}},
	{Event: "G::onExited", At: config.Rule{Before: true, Point: "return EXIT"},
		Args: []string{"__func__", "f(1, 2)"}},
	{Event: "G::onBegin", At: config.Rule{Before: true, Point: "foreign call"}},
	{Event: "G::onEnd", At: config.Rule{Point: "foreign call"}},
}

const (
	emitStarted = "/*whyslow*/ EMIT_EVENT(G, onStarted);"
	emitExited  = "/*whyslow*/ EMIT_EVENT(G, onExited, __func__, f(1, 2));"
	emitBegin   = "/*whyslow*/ EMIT_EVENT(G, onBegin);"
	emitEnd     = "/*whyslow*/ EMIT_EVENT(G, onEnd);"
)

func (p *program) pick(list ...string) string { return rapid.SampledFrom(list).Draw(p.t, "pick") }
func (p *program) n(max int) int              { return rapid.IntRange(0, max).Draw(p.t, "n") }

// both writes text that stays.
func (p *program) both(s string) {
	p.in.WriteString(s)
	p.out.WriteString(s)
}

// gap writes white space and comments that may stand between tokens.
func (p *program) gap() {
	p.both(p.pick(" ", " ", " ", "\n", "\t", " /* return EXIT; */ ", " // return EXIT; {\n", " \\\n", "  "))
}

func (p *program) words(words ...string) {
	for i, w := range words {
		if i > 0 {
			p.gap()
		}
		p.both(w)
	}
}

// governed writes a statement with insertions before and after.
func (p *program) governed(sub bool, before, after string, write func()) {
	if sub {
		p.out.WriteString("/*whyslow*/ { ")
	}
	p.out.WriteString(before)
	if before != "" {
		p.out.WriteString(" ")
	}
	write()
	if after != "" {
		p.out.WriteString(" " + after)
	}
	if sub {
		p.out.WriteString(" /*whyslow*/ }")
	}
}

// statement writes one. sub: it is governed by what stands before it. bare: it may be an if without else.
func (p *program) statement(depth int, sub, bare bool) {
	simple := 8
	kinds := simple + 12
	if depth <= 0 {
		kinds = simple
	}
	switch k := p.n(kinds - 1); k {
	case 0, 1, 2:
		p.returns++
		p.governed(sub, emitExited, "", func() {
			switch p.n(3) {
			case 0:
				p.words("return", "EXIT", ";")
			case 1:
				p.words("return", "(", "EXIT", ")", ";")
			case 2:
				p.words("return", "luna", "::", "EXIT", ";")
			default:
				p.both("return EXIT;")
			}
		})
	case 3:
		p.words("return", p.pick("WAIT", "EXIT + 1", "EXIT(2)", "exits", "{EXIT}", `"return EXIT;"`,
			`R"(return EXIT; { )"`), ";")
	case 4:
		p.both(p.pick("x = 1;", ";", "break;", `puts("return EXIT; }");`, "c = '\"';", "n = 1'000;",
			"int y{3};", "m[{1, 2}] = {3};",
			"std::vector<std::pair<int, int>> v{{1, 2}};", "label_x:;", "sizeof(mult(1));", "o.mult(1);"))
	case 5:
		p.foreign++
		p.governed(sub, emitBegin, emitEnd, func() {
			p.words(p.pick("mult", "x = mult", "int z = 1 + mult", "::mult"), "(", "1", ",", "{2}", ")", ";")
		})
	case 6:
		if sub {
			p.both("x--;")
			return
		}
		p.both("\n" + p.pick("#if 0\n return EXIT; }}} it's\n#endif", "#define M(x) return 1",
			"#pragma once", "#include <x>") + "\n")
		p.both("x++;")
	case 7:
		p.both("MACRO(x)")
		p.gap()
		p.returns++
		p.governed(true, emitExited, "", func() { p.both("return EXIT;") })
	case simple, simple + 1:
		p.words("if", p.pick("(x)", "(int y = x; y)", "constexpr (x)", "([] { return WAIT; }())"))
		p.gap()
		if bare && p.n(1) == 0 {
			p.statement(depth-1, true, bare)
			return
		}
		p.statement(depth-1, true, false)
		p.gap()
		p.both("else")
		p.gap()
		p.statement(depth-1, true, bare)
	case simple + 2:
		p.words("for", "(int i = 0; i < 3; i++)")
		p.gap()
		p.statement(depth-1, true, bare)
	case simple + 3:
		p.words("while", "(x)")
		p.gap()
		p.statement(depth-1, true, bare)
	case simple + 4:
		p.both("do")
		p.gap()
		p.statement(depth-1, true, true)
		p.gap()
		p.words("while", "(x)", ";")
	case simple + 5:
		p.words("switch", "(x)", "{")
		for range p.n(3) {
			p.gap()
			p.both(p.pick("case 1:", "default:", "case A::b:", "case x ? 1 : 2:"))
			p.gap()
			p.statement(depth-1, false, true)
		}
		p.gap()
		p.both("}")
	case simple + 6:
		p.words("try", "")
		p.block(depth - 1)
		p.words("", "catch", "(...)", "")
		p.block(depth - 1)
	case simple + 7:
		end := p.pick(";", ");", "();")
		p.both(map[string]string{";": "auto f = ", ");": "run(1, ", "();": "return "}[end])
		p.both(p.pick("[&]", "[=, this](int x) mutable", "[](auto... x) noexcept(true) -> A<int>") + " ")
		p.block(depth - 1)
		p.both(end)
	case simple + 8:
		p.both("MACRO(x) ")
		p.block(depth - 1)
	case simple + 9:
		p.both("label:")
		p.gap()
		p.statement(depth-1, sub, bare)
	case simple + 10:
		if sub {
			p.block(depth - 1)
			return
		}
		p.ifs++
		p.both(fmt.Sprintf(p.pick("\n#ifdef A%d\n", "\n#if B%d > 1 // {\n", "\n#if !(defined(C%d) && X)\n"), p.ifs))
		p.statement(depth-1, false, true)
		p.both("\n#else\n")
		p.statement(depth-1, false, true)
		p.both("\n#endif\n")
		p.both(";")
	default:
		p.block(depth - 1)
	}
}

func (p *program) block(depth int) {
	p.both("{")
	p.inside(depth)
}

func (p *program) inside(depth int) {
	for range p.n(3) {
		p.gap()
		p.statement(depth, false, true)
	}
	p.gap()
	p.both("}")
}

func (p *program) function(depth int) {
	p.both(p.pick("static ", "", "", "template <class T, bool B = (1 > 2)>\n", "[[nodiscard]] "))
	if p.n(1) == 0 {
		p.blocks++
		p.words(p.pick("BlockRetStatus", "luna::BlockRetStatus", "BlockRetStatus const"),
			p.pick("f", "A::f", "A<int>::operator()"), "(", "int x", ")", "")
		p.both("{")
		p.out.WriteString(" " + emitStarted)
		p.inside(depth)
	} else {
		p.words(p.pick("int", "std::vector<BlockRetStatus>", "BlockRetStatus *", "auto"),
			p.pick("g", "A::operator+"), "(int x = {3})", p.pick("", "noexcept(true)", "const"), "")
		p.block(depth)
	}
	p.both("\n")
}

// TestRandomPrograms compares with what a generator of programs knows.
func TestRandomPrograms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &program{t: t}
		p.both(p.pick("", "\xef\xbb\xbf"))
		p.both("extern \"C\" int mult(int, A);\n")
		depth := rapid.IntRange(0, 4).Draw(t, "depth")
		for range 1 + p.n(3) {
			switch p.n(3) {
			case 0:
				p.both("namespace a { ")
				p.function(depth)
				p.both("}\n")
			case 1:
				p.both("struct S : B<int> { int x = 3; S() : x(1), y{2} { }\n")
				p.function(depth)
				p.both("};\n")
			default:
				p.function(depth)
			}
		}
		in, want := p.in.String(), p.out.String()
		if p.n(1) == 0 {
			in, want = strings.ReplaceAll(in, "\n", "\r\n"), strings.ReplaceAll(want, "\n", "\r\n")
		}
		out, insertions, warnings := Source("x.cpp", []byte(in), programRules)
		for _, w := range warnings {
			if w.Skipped {
				t.Fatalf("%v in:\n%s", w, in)
			}
		}
		if string(out) != want {
			t.Fatalf("from:\n%s\nbecame:\n%s\nnot:\n%s", in, out, want)
		}
		if n := p.returns + p.blocks + 2*p.foreign; len(insertions) != n {
			t.Fatalf("%d insertions, not %d, in:\n%s", len(insertions), n, out)
		}
		for _, i := range insertions {
			if line := strings.Split(string(out), "\n")[i.Line-1]; !strings.Contains(line, i.Text) {
				t.Fatalf("%v is not in line %q", i, line)
			}
		}
		reversible(t, []byte(in), programRules)
	})
}

func TestRandomBytes(t *testing.T) {
	words := strings.Fields(`return EXIT ; { } ( ) [ ] < > if else for while do switch case default : :: , = " ' /* */ // # \ ? BlockRetStatus mult extern "C"
		/*whyslow*/ EMIT_EVENT operator ~ const template class struct namespace R"( )" #if #else #endif #define x 1 a.b -> & * ...`)
	words = append(words, " ", "\n", "\r\n", "\t", "\\\n", "\x80", "/*whyslow*/ { ",
		"/*whyslow*/ EMIT_EVENT(a, b); ", "int f() { ", "\n#if A\n", "\n#endif\n", "return EXIT;")
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.SampledFrom(words), 0, 40).Draw(t, "words")
		reversible(t, []byte(strings.Join(list, rapid.SampledFrom([]string{"", " "}).Draw(t, "between"))),
			programRules)
	})
}

func FuzzSource(f *testing.F) {
	for _, seed := range []string{"", "int f() { return EXIT; }", "\xef\xbb\xbfint f(){return EXIT;}",
		"/*whyslow*/ { /*whyslow*/ }",
		"extern \"C\" { int mult(int); } int f() { if (x) mult(1); else return EXIT; }",
		"BlockRetStatus A::f() const try { return EXIT; } catch (...) { }",
		"#if A\n{\n#else\n{\n#endif\n}", "#define X return EXIT\n",
		"auto f = [](int x) -> BlockRetStatus { return EXIT; };",
		"R\"x( )\" )x\" 1'0 '\\'' <% <: %:if\n", "template <class T> A<T>::A() : x{1}, y(2) { return EXIT; }"} {
		f.Add([]byte(seed))
	}
	for _, file := range goldenSources(f) {
		f.Add(file)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		toks := lex(text, 0, len(text))
		at := 0
		for _, tok := range toks {
			if tok.start < at || tok.end <= tok.start || tok.end > len(text) {
				t.Fatalf("token %v after %d in %q", tok, at, text)
			}
			at = tok.end
		}
		reversible(t, text, programRules)
	})
}

func ExampleSource() {
	rules := []Rule{{Event: "My::onLeft", At: config.Rule{Before: true, Point: "return EXIT"}}}
	out, insertions, _ := Source("block.cpp", []byte("BlockRetStatus f() { if (x) return EXIT; }"), rules)
	fmt.Println(string(out))
	fmt.Println(len(insertions), insertions[0].Function, insertions[0].Line, insertions[0].Col)
	// Output:
	// BlockRetStatus f() { if (x) /*whyslow*/ { /*whyslow*/ EMIT_EVENT(My, onLeft); return EXIT; /*whyslow*/ } }
	// 1 f 1 29
}

// Source is Run for the text of one file.
func Source(name string, text []byte, rules []Rule) (out []byte, insertions []Insertion, warnings []Warning) {
	list, warnings := compile(rules)
	f := open(name, text)
	foreign, blocks := names{}, names{}
	f.parse(readMacros([]*file{f}), foreign, blocks)
	out, insertions, more := f.apply(list, foreign, blocks)
	return out, insertions, append(warnings, more...)
}
