package lifecycle

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/run/luna"
)

// TestCall reads what traces say of statements.
func TestCall(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "unknown"},
		{"sum[i], part[i] -> sum[i + 1]", "sum[i] part[i] -> sum[i+1]"},
		{"x[i][?], g -> x[n - 1]", "x[i][?] g -> x[n-1]"},
		{"x[c][i - 1] -> x[1 + c][3]", "x[c][i-1] -> x[c+1][3]"},
		{"-> part[?]", "-> part[?]"},
		{"x[i * 2], y[-i] -> z[a b]", "x[?] y[?] -> z[?]"},
		{"x[y[i]] ->", "x[?]"},
		{"->", ""},
		{"x[i, ->", "x[i]"},
		{"x[a][b][c][d][e][f][g][h][i] ->", "unknown"},
	} {
		got := "unknown"
		if call := parseCall(c.text); call != nil {
			var args []string
			made := false
			for _, a := range call.args {
				if a.made && !made {
					args, made = append(args, "->"), true
				}
				s := a.name
				for _, x := range a.indices {
					switch {
					case x.opaque:
						s += "[?]"
					case x.variable < 0:
						s += fmt.Sprintf("[%d]", x.plus)
					case x.plus == 0:
						s += fmt.Sprintf("[%s]", call.variables[x.variable])
					default:
						s += fmt.Sprintf("[%s%+d]", call.variables[x.variable], x.plus)
					}
				}
				args = append(args, s)
			}
			got = strings.Join(args, " ")
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.text, got, c.want)
		}
	}
}

// TestSides reads what traces say of the rules that place DFs.
func TestSides(t *testing.T) {
	c := parseCall("a[i], b[i] -> x[i]; sought a[i] = row: locator_cyclic a[k] => k; " +
		"sought b[i] = by ./p.fa:3:5; sought b[0] = main; stored x[i] = main; dropped y[i] = drop y[i]")
	for _, s := range []struct {
		df   string
		made bool
		want side
	}{
		{"a[7]", false, side{sub: "row", mend: "locator_cyclic a[k] => k"}}, {"a[7]", true, side{}},
		{"a[7][1]", false, side{}}, {"b[7]", false, side{rule: "p.fa:3:5"}},
		{"b[0]", false, side{}}, // by which of the two is not certain
		{"x[2]", true, side{sub: "main"}}, {"x[2]", false, side{}}, {"y[2]", true, side{}},
	} {
		if got := c.sideFor(s.df, s.made); got != s.want {
			t.Errorf("%s, made %t: %+v, want %+v", s.df, s.made, got, s.want)
		}
	}
	if len(c.lost) != 1 || c.lost[0].trap != luna.Dropped {
		t.Errorf("lost: %+v", c.lost)
	}
}

// TestReadings: of all readings of a random statement, those of a CF's inputs include the CF's own.
func TestReadings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := map[string]int64{"i": int64(rapid.IntRange(-2, 5).Draw(t, "i")),
			"j": int64(rapid.IntRange(-2, 5).Draw(t, "j"))}
		var args, dfs []string
		for range rapid.IntRange(1, 4).Draw(t, "args") {
			arg := rapid.SampledFrom([]string{"x", "y"}).Draw(t, "name")
			df := arg
			for range rapid.IntRange(0, 2).Draw(t, "indices") {
				v, plus := rapid.SampledFrom([]string{"i", "j"}).Draw(t, "variable"),
					rapid.IntRange(-2, 2).Draw(t, "plus")
				arg += fmt.Sprintf("[%s + %d]", v, plus)
				if plus < 0 {
					arg = strings.Replace(arg, "+ -", "- ", 1)
				}
				df += fmt.Sprintf("[%d]", value[v]+int64(plus))
			}
			args, dfs = append(args, arg), append(dfs, df)
		}
		c := parseCall(strings.Join(args, ", ") + " ->")
		if c == nil {
			t.Fatal("not understood")
		}
		readings := []bindings{{}}
		for _, df := range dfs {
			name, indices, ok := numbers(df)
			if !ok {
				t.Fatal(df)
			}
			readings = c.match(name, indices, readings, nil)
		}
		for _, r := range readings {
			same := true
			for i := range c.args {
				full, ok := c.args[i].text(r)
				same = same && ok && full == dfs[i]
			}
			if same {
				return
			}
		}
		if len(readings) < maxReadings {
			t.Fatalf("%v for %v: no reading of %d", args, dfs, len(readings))
		}
	})
}

func FuzzCall(f *testing.F) {
	f.Add("sum[i], part[i] -> sum[i + 1]", "sum[3]")
	f.Add("x[i", "x[")
	f.Add("x[[1]][-i] ->", "x[1]]")
	f.Fuzz(func(t *testing.T, text, df string) {
		name, indices, ok := numbers(df)
		if c := parseCall(text); c != nil && ok {
			for _, r := range c.match(name, indices, []bindings{{}}, nil) {
				found := false
				for i := range c.args {
					full, known := c.args[i].text(r)
					found = found || !known || full == df
				}
				if !found && !strings.Contains(df, "[0") && !strings.Contains(df, "-0") &&
					!strings.Contains(df, "+") && strings.HasSuffix(df, "]") {
					t.Errorf("%q with %q: %v has no such DF", text, df, r)
				}
			}
		}
	})
}
