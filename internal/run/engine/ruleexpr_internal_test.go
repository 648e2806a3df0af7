package engine

import (
	"errors"
	"math"
	"testing"
)

// What arguments of rules calculate, of constants.
func TestRuleExpressions(t *testing.T) {
	for text, want := range map[string]any{
		"1 + 2 * 3": int64(7), "(1 + 2) * 3": int64(9), "7 / 2": int64(3), "-7 % 4": int64(-3), "7 / 2.0": 3.5,
		"1/0": int64(0), "1 % 0": int64(0), "- -3": int64(3), "!0": int64(1), "!2.5": int64(0), "+4": int64(4),
		"1 < 2 == 1": int64(1), "2 <= 1.5 || 0": int64(0), `"a" < "b"`: int64(1), `"a" == "b"`: int64(0),
		"1 && 2": int64(1), "0 || 0.0": int64(0), "10 - 4 - 3": int64(3), "1e3 * 2": 2000.0, "0x10+1": int64(17),
		"-9223372036854775808": int64(math.MinInt64), "-9223372036854775808 / -1": int64(math.MinInt64),
		"1e-3": 0.001, `"text"`: "text",
	} {
		_, a, err := parseArg(text)
		if err != nil || a.v != want {
			t.Errorf("%s is %v, not %v: %v", text, a.v, want, err)
		}
	}
	for text, offset := range map[string]int{"1 +": 3, "1 + cf": 2, "node nodee": 5, "(1": 2, `1 == "a"`: 2,
		"1 < 2 < 3": 6, "2.5 % 2": 4, "": 0, "1 + nodee": 4, `"a" + "b"`: 4, "1 = 2": 2} {
		_, _, err := parseArg(text)
		var bad *RuleArgError
		if !errors.As(err, &bad) || bad.Offset != offset {
			t.Errorf("%q: %+v, not at %d", text, err, offset)
		}
	}
}

// Whatever the text, an argument is read or refused with a place in it, and can be calculated.
func FuzzRuleArgs(f *testing.F) {
	for _, s := range []string{"1 + 2 * -3", `"a" == "b" || !node`, "(index0 % 4) / 2.5", "steady_clock::now() - now",
		"((((", "1 << 2", "0x", "1e", "a.b().c", `"\\`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		field, a, err := parseArg(text)
		var bad *RuleArgError
		switch {
		case err != nil:
			if !errors.As(err, &bad) || bad.Offset < 0 || bad.Offset > len(text) || bad.Error() == "" {
				t.Errorf("%q: %#v", text, err)
			}
		case field.Name == "":
			t.Errorf("%q: no field", text)
		case a.calc != nil:
			vals := make([]any, len(a.calc.leaves))
			for i, x := range a.calc.leaves {
				if vals[i] = x.v; x.argument != nil {
					vals[i] = map[bool]any{true: "x", false: uint64(3)}[x.typ.String() == "Name"]
					if x.typ.String() == "Float" {
						vals[i] = 2.5
					}
				}
			}
			switch a.calc.root.value(vals).(type) {
			case int64:
				if field.Type.String() != "Int" {
					t.Errorf("%q is whole, but %v", text, field.Type)
				}
			case float64:
				if field.Type.String() != "Float" {
					t.Errorf("%q is real, but %v", text, field.Type)
				}
			}
		}
	})
}
