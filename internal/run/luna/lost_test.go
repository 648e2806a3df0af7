package luna

import (
	"strings"
	"testing"
)

// TestLost: what the source shows of DFs that are made and never come, and what traces are told.
func TestLost(t *testing.T) {
	const both = "sub st(name x) put(x, 1);\n"
	for _, c := range []struct{ name, main, warning, hint, told string }{
		{">> on a call of a sub", "df x, t; st(x) >> (t); f(t);",
			"t is not posted: >> on a call of a sub posts nothing by itself; f(t) at t.fa:3:37 waits for it for ever",
			"add req_unlimited t; to the call", "-> x; token t = req_unlimited t"},
		{"posted", "df x, t; st(x) >> (t) @ { req_count t = 1; }; f(t);", "", "", ""},
		{"nobody reads it", "df x, t; st(x) >> (t);", "", "", "-> x; token t = req_unlimited t"},
		{"posted by another", "df x, t; st(x) >> (t); put(t, 1); f(t);", "", "", "-> x; token t = req_unlimited t"},
		{"of the same name, read elsewhere", "df x, t; st(x) >> (t[0]); put(t[1], 1); f(t[1]);", "", "",
			"-> x; token t[0] = req_unlimited t[0]"},
		{"dropped", "df x; put(x, 1) @ { drop x; }; f(x);",
			"x is dropped here; f(x) at t.fa:3:45 waits for it for ever", "remove drop x;", "->; dropped x = drop x"},
		{"dropped and counted", "df x; put(x, 1) @ { drop x; req_count x = 1; }; f(x);", "", "", ""},
		{"another cell", "df x; two(x[0], x[1]) @ { req_count x[0] = 1; }; f(x[0]); f(x[1]);",
			"x[1] is not posted: a rule for another DF of this name ends the automatic posts of all; f(x[1]) at " +
				"t.fa:3:72 waits for it for ever", "add req_unlimited x[1]; to the call",
			"-> x[0]; other x[1] = req_unlimited x[1]"},
		{"perhaps the same cell", "df x; for i = 0 .. 1 two(x[0], x[1]) @ { req_count x[i] = 1; }; f(x[1]);", "", "", ""},
		{"read through a parameter", "df x; put(x[3][4], 1) @ { drop x[3][4]; }; h(x[3]); } sub h(name y) { f(y[4]);",
			"x[3][4] is dropped here; f(y[4]) at t.fa:3:84 waits for it for ever", "remove drop x[3][4];",
			"->; dropped x[3][4] = drop x[3][4]"},
		{"pushed, and asked for", "df x; cf r: f(x); put(x, 1) @ { afterpush x => r; };",
			"x is pushed here and, because of that, not posted; f(x) at t.fa:3:20 waits for it for ever",
			"add req_unlimited x; to the call", "-> x; pushed x = req_unlimited x"},
		{"pushed and waited for", "df x; cf r: f(x) @ { wait x; }; put(x, 1) @ { afterpush x => r; };", "", "",
			"-> x; pushed x = req_unlimited x"},
		{"never pushed", "df x; cf r[3]: f(x) @ { wait x; }; put(x, 1);",
			"f(x) waits for ever: it wants x pushed, and nothing pushes it",
			"add afterpush x => r[...]; to put(x, 1) at t.fa:3:49", "x ->; unpushed x = afterpush x => r[...]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := compile(t, lib+both+"sub main() { "+c.main+" }")
			var got, hints, told []string
			for _, d := range p.Warnings {
				got, hints = append(got, d.Msg), append(hints, d.Hint)
			}
			for _, st := range p.Stmts {
				if len(st.Lost) > 0 {
					told = append(told, p.Patterns(st))
				}
			}
			if strings.Join(got, "\n") != c.warning || strings.Join(hints, "\n") != c.hint ||
				strings.Join(told, "\n") != c.told {
				t.Errorf("got  %q, hint %q, traces %q\nwant %q, hint %q, traces %q", got, hints, told, c.warning,
					c.hint, c.told)
			}
		})
	}
}
