package luna

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSection7_1_Routines(t *testing.T) {
	p := compile(t,
		"import c1(int, real `x, string s, name n, value & v) as l1 : CUDA, NOCPU;\nimport c2(int);\nimport "+
			"never(int) as never;\n"+
			"C++ head ${<H}\nint z;\nH\nC++ sub emb(name a, int b) ${{ a.setValue(b); $}}\nC++ sub unused() ${{ $}}\n"+
			"sub main() { df x, y; l1(1, 2.5, \"s\", x, y); c2(1); emb(y, 3); c2(2); }")
	has(t, dump(p), "head 0: block 0 at t.fa:4:15", "routine 0 l1(int, real, string, name, value): import c1",
		"routine 1 c2(int): import c2",
		"routine 2 emb(name, int): block 1", `args 1, 2.5, "s", &out0, in0?`)
	if len(p.Routines) != 3 || p.Routines[2].Params[0].Name != "a" || p.Routines[2].CName != "" {
		t.Error(dump(p))
	}
	codes := ""
	for _, c := range p.Codes {
		codes += c.Name + " "
	}
	equal(t, codes, "main l1 c2 emb ")
}

func TestSection7_4_Main(t *testing.T) {
	p := compile(t, "C++ sub main() ${{ $}}")
	has(t, dump(p), "sub main() (entry), s0", "s1 main()", "routine 0 main(): block 0")
	compile(t, lib+"sub main(int a, real b, string c) f(a);")
	fails(t, lib+"sub main(int a, name b, value c) f(a);",
		"2:22 cpp-generation sub main cannot have a name or value parameter",
		"2:31 cpp-generation sub main cannot have a name or value parameter")
	fails(t, "C++ sub main(int a) ${{ $}}", "1:9 cpp-generation C++ sub main cannot have parameters")
	fails(t, "import x() as main;", "1:15 cpp-generation an imported routine cannot be main")
	fails(t, lib+"sub s() none();", "1:1 cpp-generation the program has no sub main")
}

func TestSection8_2_FramesAndCodes(t *testing.T) {
	p := compile(t,
		lib+"sub s(int n) { df w; for i = 0 .. n if i while i < 3, k = 0 .. out w none(); }\n\nsub main()\n  s(1);")
	codes := ""
	for _, c := range p.Codes {
		codes += c.Name + "; "
	}
	equal(t, codes, "s; main; for i; if; while k; none; s; ")
	last := p.Main.Body.Stmts[0]
	if last.Line != 5 || last.Pos.Line != 5 || last.Pos.Col != 3 || last.Text != "s(1)" ||
		p.Subs[0].Start.Text != "sub s(int n)" {
		t.Errorf("%+v", last)
	}
}

func TestSection9_2_ReferenceTexts(t *testing.T) {
	p := compile(t, lib+"sub main(int i) { df delta, n; two(delta, n); g(delta[i+1*n]); }")
	r := p.Main.Body.Stmts[1].Inputs[1].Ref
	equal(t, r.Text, "delta[(i)+((1)*(n))]")
	equal(t, r.Src, "delta[i + 1 * n]")
}

func TestSection2_RulesBelongTo(t *testing.T) {
	d := body(t, "for k = 0 .. 9 f(k) @ { locator_cyclic: k; };")
	has(t, d, "home v0.0:int")
	d = body(t, "for k = 0 .. 9 { f(k); } @ { locator_cyclic: i; }")
	has(t, d, "home v0.0:int")
	fails(t, lib+"sub main() for k = 0 .. 9 { f(k); } @ { locator_cyclic: k; }",
		"2:57 recom-generation unknown name k")
}

func TestPreprocessedTextHasOrigins(t *testing.T) {
	p := compile(t, "#define N 4\n"+lib+"sub main() { f($N); /* c */ none(); }")
	i := strings.Index(p.Text, "f(4)")
	if len(p.Origin) != len([]rune(p.Text))+1 || p.Origin[i+2] != (Pos{"t.fa", 3, 16}) ||
		p.Origin[i+3] != (Pos{"t.fa", 3, 18}) {
		t.Errorf("%q %v", p.Text, p.Origin[i:i+4])
	}
}

// genExpr draws an expression as a tree.
func genExpr(t *rapid.T, depth int) *expr {
	if depth == 0 || rapid.IntRange(0, 3).Draw(t, "leaf") == 0 {
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			return &expr{op: xInt, name: rapid.SampledFrom([]string{"7", "5000000000"}).Draw(t, "literal")}
		case 1:
			return &expr{op: xReal, name: "2.5"}
		case 2:
			return &expr{op: xString, name: `"s"`}
		}
		e := &expr{op: xID, name: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "name")}
		for range rapid.IntRange(0, min(2, depth)).Draw(t, "indices") {
			e.idx = append(e.idx, genExpr(t, depth-1))
		}
		return e
	}
	switch rapid.IntRange(0, 6).Draw(t, "op") {
	case 0:
		return &expr{op: xNeg, a: genExpr(t, depth-1)}
	case 1:
		return &expr{op: xCond, a: genExpr(t, depth-1), b: genExpr(t, depth-1), c: genExpr(t, depth-1)}
	case 2:
		return &expr{op: rapid.SampledFrom([]exprOp{xToInt, xToReal, xToString}).Draw(t, "cast"),
			a: genExpr(t, depth-1)}
	}
	op := rapid.SampledFrom([]string{"+", "-", "*", "/", "%", "<", "<=", ">", ">=", "==", "!=", "&&",
		"||"}).Draw(t, "operator")
	return &expr{op: xBinary, name: op, a: genExpr(t, depth-1), b: genExpr(t, depth-1)}
}

// The printed form is parsed back to the same tree, and so is LuNA's form.
func TestPrintingRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := genExpr(t, 4)
		for _, text := range []string{srcText(e), canonText(e)} {
			rep := &reporter{}
			defs, _ := parse(&source{rep, preprocess(opts("sub main() f("+text+");", nil), rep)})
			if err := rep.err(); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if got := canonText(defs[0].body.stmts[0].args[0]); got != canonText(e) {
				t.Fatalf("%s is read as %s", text, got)
			}
		}
	})
}

// For any expression and parameter, the compiler accepts it or says why not, and constant folding keeps its
// type.
func TestAnyExpressionIsTypedOrRejected(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := srcText(genExpr(t, 4))
		for k, f := range []string{"f", "fr", "fs", "g"} {
			p, err := Compile(opts(lib+"sub main(int a) { df b; put(b, 1); "+f+"("+text+"); }", nil))
			if err != nil {
				continue
			}
			want := []Type{Int, Real, String}
			e := p.Main.Body.Stmts[1].Args[0].Expr
			if k < 3 && e.Type != want[k] {
				t.Fatalf("%s to %s: %s has type %s", text, f, e, e.Type)
			}
			walk(e, func(n *Expr) { checkTypes(t, text, n) })
		}
	})
}

// checkTypes checks what program.go says about the types of operands.
func checkTypes(t *rapid.T, text string, e *Expr) {
	bad := false
	ints := map[Type]bool{Int: true, Long: true}
	switch e.Op {
	case OpAdd, OpSub, OpMul, OpDiv, OpMod:
		bad = e.Type == Int && (e.A.Type != Int || e.B.Type != Int) || e.Type == String ||
			e.Type == Real && (e.A.Type != Real || e.B.Type != Real) ||
			e.Type == Long && !(ints[e.A.Type] && ints[e.B.Type])
	case OpLT, OpLE, OpGT, OpGE, OpEQ, OpNE:
		bad = e.Type != Int || e.A.Type != e.B.Type && e.A.Type != Dyn && !(ints[e.A.Type] && ints[e.B.Type])
	case OpAnd, OpOr:
		bad = e.A.Type != Int || e.B.Type != Int || e.Type != Int
	case OpCond:
		bad = e.A.Type != Int || e.B.Type != e.Type && !(e.Type == Long && e.B.Type == Int) ||
			e.C.Type != e.Type && !(e.Type == Long && e.C.Type == Int)
	case OpConcat:
		bad = e.A.Type != String || e.B.Type != String
	case OpToInt:
		bad = e.A.Type == Int || e.A.Type == String
	case OpToReal:
		bad = e.A.Type == Real || e.A.Type == String
	case OpUnset:
		bad = true
	}
	if bad {
		t.Fatalf("%s: operand types in %s", text, e)
	}
}
