package luna

import (
	"strings"
	"testing"
)

// TestRulesThatDisagree: a sub that looks for what it is given by other rules than its caller's waits for
// ever, and the source shows it.
func TestRulesThatDisagree(t *testing.T) {
	program := func(sub, rules, main string) string {
		return "sub row(name a, int i) { " + sub + " } " + rules +
			"\nsub main() { df x; for i = 0 .. 9 for j = 0 .. 9 put(x[i][j], 1); " + main +
			" } @ { locator_cyclic x[i][j] => i; }"
	}
	for _, c := range []struct{ name, sub, rules, main, want, hint string }{
		{"no rule in the sub", "f(a[i][0]);", "", "row(x, 3);",
			"sub row looks for a[i][0] on node 0, for lack of a rule, but put(x[i][j], 1) at t.fa:3:50 stores it " +
				"by the rule at t.fa:3:84", "add locator_cyclic a[i][j] => i; to row"},
		{"another rule", "f(a[i][0]);", "@ { locator_cyclic a[p][q] => p + 1; }", "row(x, 3);",
			"sub row looks for a[i][0] by the rule at t.fa:2:44, but put(x[i][j], 1) at t.fa:3:50 stores it by the " +
				"rule at t.fa:3:84", ""},
		{"the same rule", "f(a[i][0]);", "@ { locator_cyclic a[p][q] => p; }", "row(x, 3);", "", ""},
		{"the same in other words", "f(a[i][0]);", "@ { locator_cyclic a[p][q] => 2 * p - p; }", "row(x, 3);", "", ""},
		{"only where both agree", "f(a[0][i]);", "", "row(x, 3);", "", ""},
		{"a slice: its rule needs what the sub is not given", "f(a[i]);", "", "row(x[2], 3);",
			"sub row looks for a[i] on node 0, for lack of a rule, but put(x[i][j], 1) at t.fa:3:50 stores it by " +
				"the rule at t.fa:3:87", ""},
		{"a rule that only a run can tell", "f(a[i][0]);", "@ { locator_cyclic a[p][q] => i; }", "row(x, 3);", "", ""},
		{"made in the sub as well", "put(a[i][10], 1); f(a[i][10]);", "", "row(x, 3);", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := compile(t, lib+program(c.sub, c.rules, c.main))
			var got, hints []string
			for _, d := range p.Warnings {
				got, hints = append(got, d.Msg), append(hints, d.Hint)
			}
			if strings.Join(got, "\n") != c.want || strings.Join(hints, "\n") != c.hint {
				t.Errorf("got  %q, hint %q\nwant %q, hint %q", got, hints, c.want, c.hint)
			}
		})
	}
}

// TestRuleMissingWhereMade: the sub that makes the DFs lacks the rule.
func TestRuleMissingWhereMade(t *testing.T) {
	p := compile(t, lib+"sub row(name a, int i) { put(a[i], 1); }\n"+
		"sub main() { df x; for i = 0 .. 9 row(x, i); f(x[4]); } @ { locator_cyclic x[k] => k; }")
	if len(p.Warnings) != 1 || p.Warnings[0].Msg != "sub main looks for x[4] by the rule at t.fa:3:61, but "+
		"put(a[i], 1) at t.fa:2:26 stores it on node 0, for lack of a rule" ||
		p.Warnings[0].Hint != "add locator_cyclic a[k] => k; to row" {
		t.Errorf("%+v", p.Warnings)
	}
}

func TestLocRuleFor(t *testing.T) {
	p := compile(t, lib+"sub main() { df x, y, z; put(x[1][2], 1); put(y[1], 1); put(z, 1); } @ { "+
		"locator_cyclic x[i][j] => i - j; locator_cyclic y[k] => 7; locator_replicating z => all; }")
	rules := map[string]*LocRule{}
	for _, st := range p.Stmts {
		for _, f := range st.Effects {
			rules[f.Ref.Name.Name] = f.Ref.Loc.Rule
		}
	}
	for _, c := range []struct {
		name    string
		indices int
		want    string
	}{
		{"x", 2, "locator_cyclic a[i][j] => i - j"}, {"x", 3, "locator_cyclic a[n0][i][j] => i - j"},
		{"x", 1, ""}, {"y", 0, "locator_cyclic a => 7"}, {"y", 2, "locator_cyclic a[n0][k] => 7"},
		{"z", 1, "locator_replicating a[n0] => all"},
	} {
		if got := rules[c.name].For("a", c.indices); got != c.want {
			t.Errorf("%s for %d indices: %q, want %q", c.name, c.indices, got, c.want)
		}
	}
}
