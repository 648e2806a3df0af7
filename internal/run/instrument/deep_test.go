package instrument

import (
	"strings"
	"testing"
)

// TestDeep takes texts in which a construct is nested or repeated a thousand times: what they cost must
// not explode.
func TestDeep(t *testing.T) {
	for _, c := range []struct{ open, inside, close string }{
		{"{", "", "}"},
		{"(", "", ")"},
		{"f([] {", "return EXIT;", "});"},
		{"struct S { int f() { ", "return EXIT;", "} };"},
		{"struct S { S() : a([] { ", "return EXIT;", "}), };"},
		{"struct S { S() : a(1), b([] { ", "return EXIT;", "}) { } };"},
		{"if (x) ", "return EXIT;", ""},
		{"if (x) ", "return EXIT;", " else y;"},
		{"do ", "return EXIT;", " while (x);"},
		{"MACRO(x) { ", "return EXIT;", "}"},
		{"X<Y(", "x", ")>"},
		{"auto f = [](int x) -> T<", "x", "> { };"},
		{"namespace a {", "int f() { return EXIT; }", "}"},
		{"template <class T = A<", "x", ">> void f() { }"},
		{"else ", "return EXIT;", ""},
		{"\n#if A\n", "return EXIT;", "\n#endif\n"},
		{"\n#if A(", "x", ") && B\n#endif\n"},
		{"\n#if A && (", "x", ")\n#endif\n"},
	} {
		t.Run(strings.TrimSpace(c.open), func(t *testing.T) {
			for _, n := range []int{3, 500} {
				nested := "int f() { " + strings.Repeat(c.open, n) + c.inside + strings.Repeat(c.close, n) + " }"
				reversible(t, []byte(nested), programRules)
				reversible(t, []byte(strings.TrimSuffix(strings.TrimPrefix(nested, "int f() { "), " }")), programRules)
				reversible(t, []byte(strings.Repeat(c.open+c.inside+c.close, n)), programRules)
				reversible(t, []byte("int f() { "+strings.Repeat(c.open+c.inside+c.close, n)+" }"), programRules)
				reversible(t, []byte(strings.Repeat(c.open, n)), programRules)
			}
		})
	}
}
