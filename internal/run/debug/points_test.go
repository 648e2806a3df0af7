package debug

import (
	"math"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/internal/run/luna"
)

const source = `C++ sub more(int v, name y) ${{ y = v + 1; $}}
sub main(int n)
{
	df u;
	for i = 0 .. n
		cf step[i][0]: more(i, u[i]);
	more(1, u[n + 1]);
}
`

func program(t testing.TB) *luna.Program {
	p, err := luna.Compile(luna.Options{File: "t.fa", Source: []byte(source)})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestParse reads breakpoints, and says what is wrong with others.
func TestParse(t *testing.T) {
	prog := program(t)
	for text, want := range map[string]string{
		"more": "", "step": "", "step[3][*]": "", "t.fa:6": "", ":6": "", "made u[4]": "",
		"dropped u[*] node 1 hit 3":                       "",
		"step hit 2 node 0 log i = {i} if i > 2 && i < 7": "",
		"":        "needs a name",
		"nowhere": "no code fragment or label nowhere; it has for i, main, more",
		"more[1]": "no label more; it has step", "made x": "no DF x; it has u", "t.fa:1": "t.fa:1: no statement of the program begins there",
		"step[": "indices are numbers", "step[x]": "indices are numbers", "step hit": "after the name come",
		"step node x": "a number from 0", "step at 3": "after the name come", "step if i >": "the condition i >",
		"sent u if 1 == 1": "only breakpoints of CFs",
	} {
		p, err := parse(prog, text)
		if want == "" && (err != nil || p.Text != text) || want != "" && (err == nil ||
			!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%q: %v, not %q", text, err, want)
		}
	}
	p, err := parse(prog, "step[3][*]")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"step[3][0]": true, "step[3][9]": true, "step[4][0]": false,
		"step": false, "step[3]": false, "steps[3][0]": false} {
		if p.matches(name) != want {
			t.Errorf("step[3][*] matches %s: %v", name, !want)
		}
	}
}

// FuzzParse gives parse whatever there is.
func FuzzParse(f *testing.F) {
	prog := program(f)
	for _, text := range []string{"step[3][*] node 1", "made u[4] hit 2", "t.fa:6 if i == 3",
		"step log {x} if (", "[", ":"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := parse(prog, text); err == nil {
			p.matches(text)
		}
	})
}

// TestValues shows and reads values.
func TestValues(t *testing.T) {
	block := cpp.NewBlock(make([]byte, 48))
	defer block.Release()
	raw := cpp.NewBlock(floatsOf(0, 1, 2, math.NaN(), 4, 3))
	defer raw.Release()
	if got, err := As(raw, "double[2][3]"); err != nil ||
		got != "6 elements, from 0 to 4, mean 2, 1 NaN\n0 1 2\nNaN 4 3" {
		t.Errorf("%q, %v", got, err)
	}
	for typ, want := range map[string]string{
		"double": "6 elements, from 0 to 0, mean 0, 0 NaN\n0 0 0 0 0 0", "double[2][3]": "\n0 0 0\n0 0 0",
		"byte[48]": " ...",
	} {
		if got, err := As(block, typ); err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: %q, %v", typ, got, err)
		}
	}
	for _, typ := range []string{"double[7]", "double[2][4]", "word", "int[x]", "int[0]", "int[-1]",
		"double[99999999999]", "byte" + strings.Repeat("[48]", 99)} {
		if got, err := As(block, typ); err == nil {
			t.Errorf("%s: %q", typ, got)
		}
	}
	if _, err := As(cpp.IntValue(1), "int"); err == nil {
		t.Error("an int is no array")
	}
	for text, typ := range map[string]cpp.Type{"12": cpp.Int, "-1": cpp.Int, "0.5": cpp.Real} {
		if v, err := parseValue(text, typ); err != nil || Text(v) != text {
			t.Errorf("%s: %s, %v", text, Text(v), err)
		}
	}
	for text, typ := range map[string]cpp.Type{"x": cpp.Int, "3000000000": cpp.Int, "1,5": cpp.Real,
		"1": cpp.Block, "": cpp.Unset} {
		if v, err := parseValue(text, typ); err == nil {
			t.Errorf("%s as %v: %s", text, typ, Text(v))
		}
	}
}
