package cpp

import (
	"slices"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/run/luna"
)

// TestMisfit: what goes wrong is said, what works in spite of other types is not.
func TestMisfit(t *testing.T) {
	kinds := map[byte]luna.ParamKind{'i': luna.IntParam, 'r': luna.RealParam, 's': luna.StringParam,
		'n': luna.NameParam, 'v': luna.ValueParam}
	for _, c := range []struct{ text, kinds, want string }{
		{`extern "C" void f(int a, double b) {}`, "ir", ""},
		{`extern "C" void f(int a) {}`, "r", "parameter 1 is real, the C++ function takes `int a`"},
		{`extern "C" { void f(const int, float x) {} }`, "ir", "parameter 2 is real, the C++ function takes `float x`"},
		{`void f(double) {}`, "i", "parameter 1 is int, the C++ function takes `double`"},
		{`void f(InputDF &a, OutputDF& b) {}`, "vn", ""},
		{`void f(const luna::ucenv::InputDF &a) {}`, "v", ""},
		{`void f(DF &a) {}`, "i", "parameter 1 is int, the C++ function takes `DF &a`"},
		{`void f(int a) {}`, "v", "parameter 1 is value, the C++ function takes `int a`"},
		{`void f(const char *s) {}`, "i", ""}, // does nothing with it, or else the crash says where
		{`void f(const char *s) {}`, "s", ""},
		{`void f(std::string s) {}`, "s", "parameter 1 is string, the C++ function takes `std::string s`"},
		{`void f(bool a, unsigned long b, size_t c) {}`, "iii", ""},
		{`void f() {}`, "ii", ""},
		{`void f(void) {}`, "i", ""},
		{`void f(int, int) {}`, "i", "the C++ function takes 2 parameters, the import has 1"},
		{`void f(T a, std::vector<int> &b, int (*c)(int)) {}`, "rrr", ""},
		{`// void f(int) {}` + "\n" + `/* f(int) {} */ const char *x = "f(int) {";` + "\n#define f(int) {", "r", ""},
		{`void f(int); void g() { f(1); x.f(1); } `, "r", ""},
		{`void f(int a = 1'000, char b = ')') noexcept` + "\n{}", "rr", "parameter 1 is real, the C++ function takes `int a = 1'000`"},
	} {
		params, _, ok := definition(blank(c.text), "f")
		got := ""
		r := &luna.Routine{CName: "f"}
		for _, k := range []byte(c.kinds) {
			r.Params = append(r.Params, luna.Param{Kind: kinds[k]})
		}
		if ok {
			got = misfit(r, params)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.text, got, c.want)
		}
	}
}

// FuzzDefinition: any text is read, and lines stay what they are.
func FuzzDefinition(f *testing.F) {
	f.Add("void f(int a = ')', \"\\\" */ // x\n#define y \\\n z\n{}")
	f.Fuzz(func(t *testing.T, text string) {
		bare := blank(text)
		if len(bare) != len(text) || strings.Count(bare, "\n") != strings.Count(text, "\n") {
			t.Fatalf("%q became %q", text, bare)
		}
		params, line, ok := definition(bare, "f")
		if ok && (line < 1 || line > 1+strings.Count(text, "\n")) {
			t.Fatal(line)
		}
		if slices.ContainsFunc(params, func(p string) bool { return typeOf(p) > cxxString }) {
			t.Fatal(params)
		}
	})
}
