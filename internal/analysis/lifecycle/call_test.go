package lifecycle

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestCall reads statements as they stand in traces.
func TestCall(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"add(sum[i], part[i], sum[i + 1])", "sum[i] part[i] sum[i+1]"},
		{"cf a[i]: f(x[i][3-1], i, 2 + j, g)", "x[i][?] i ? g"},
		{"f(x[c][i - 1], total / n / length, x[1 + c][i])", "x[c][i-1] ? x[c+1][i]"},
		{"f(x[y[i]], x[f(2, 3)])", "x[?] x[?]"},
		{"f(x[i] + 1)", "?"},
		{"f()", "?"},
		{"for i = 0 .. f(2)", ""},
		{"while f(x[i])", ""},
		{"if i != 3", ""},
		{"sub main()", ""},
		{"f(x[i], y", ""},
		{"f(x[i)", ""},
		{"(x)", ""},
		{"f(a, b, c, d, x[a][b][c][d][e][f][g][h][i])", ""},
	} {
		got := ""
		if call := parseCall(c.text); call != nil {
			var args []string
			for _, a := range call.args {
				s := a.name
				if s == "" {
					s = "?"
				}
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
		c := parseCall("f(" + strings.Join(args, ", ") + ")")
		if c == nil {
			t.Fatal("not understood")
		}
		readings := []bindings{{}}
		for _, df := range dfs {
			name, indices, ok := splitDF(df)
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
	f.Add("add(sum[i], part[i], sum[i + 1])", "sum[3]")
	f.Add("f(x[i", "x[")
	f.Add("f(x[[1]][-i])", "x[1]]")
	f.Fuzz(func(t *testing.T, text, df string) {
		name, indices, ok := splitDF(df)
		if c := parseCall(text); c != nil && ok {
			for _, r := range c.match(name, indices, []bindings{{}}, nil) {
				found := false
				for i := range c.args {
					full, known := c.args[i].text(r)
					found = found || !known || full == df
				}
				if !found && !strings.Contains(df, "[0") && !strings.Contains(df, "-0") &&
					!strings.Contains(df, "+") {
					t.Errorf("%q with %q: %v has no such argument", text, df, r)
				}
			}
			c.learn(name, indices, []string{df})
		}
	})
}
