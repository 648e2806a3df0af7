package lifecycle

import (
	"slices"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/run/luna"
)

// call is what the trace says of a statement's CFs: which DFs each reads and makes (model.Site.DFs).
type call struct {
	args      []arg
	lost      []lost
	placed    []placed
	variables []string
}

// arg is a DF name[index]... that the CFs read or make.
type arg struct {
	name    string
	indices []linear
	made    bool
}

// linear is an index variable + plus, or plus alone. One of another form is opaque.
type linear struct {
	variable int // index into variables, -1 none
	plus     int64
	opaque   bool
}

// maxVariables is how many variables a statement may have to be understood.
const maxVariables = 8

// bindings are the values of variables, as far as known.
type bindings struct {
	value [maxVariables]int64
	known uint8 // a bit for each
}

// placed is by which rule the CFs store a DF, or look for one.
type placed struct {
	arg
	side
}

// parseCall reads "sum[i], part[i] -> sum[i + 1]; dropped x[i] = drop x[i]; sought part[i] = by a.fa:3:5";
// nil where nothing is known.
func parseCall(dfs string) *call {
	if dfs == "" {
		return nil
	}
	c := &call{}
	parts := strings.Split(dfs, ";")
	for i, list := range strings.SplitN(parts[0], "->", 2) {
		for text := range strings.SplitSeq(list, ",") {
			if a := c.parseArg(text); a.name != "" {
				a.made = i == 1
				c.args = append(c.args, a)
			}
		}
	}
	for _, part := range parts[1:] {
		text, mend, _ := strings.Cut(part, " = ")
		trap, df, _ := strings.Cut(strings.TrimSpace(text), " ")
		if a := c.parseArg(df); trap == luna.Sought || trap == luna.Stored {
			a.made = trap == luna.Stored
			c.placed = append(c.placed, placed{a, parseSide(mend)})
		} else {
			c.lost = append(c.lost, lost{a, luna.Trap(trap), mend})
		}
	}
	if len(c.variables) > maxVariables {
		return nil
	}
	return c
}

func (c *call) parseArg(text string) (a arg) {
	name, indices := splitDF(strings.TrimSpace(text))
	a.name = name
	for _, index := range indices {
		a.indices = append(a.indices, c.parseLinear(index))
	}
	return a
}

// splitDF takes grid[7][i + 1] apart.
func splitDF(df string) (name string, indices []string) {
	name, rest, has := strings.Cut(df, "[")
	if has {
		indices = strings.Split(strings.TrimSuffix(rest, "]"), "][")
	}
	return name, indices
}

// parseLinear reads 3, i, i + 1, i - 1 or 1 + i.
func (c *call) parseLinear(text string) linear {
	variable, plus := "", int64(0)
	sign := int64(1)
	for _, word := range strings.Fields(strings.NewReplacer("+", " + ", "-", " - ").Replace(text)) {
		n, err := strconv.ParseInt(word, 10, 32)
		switch {
		case word == "+":
			sign = 1
		case word == "-":
			sign = -1
		case err == nil:
			plus += sign * n
		case variable == "" && sign == 1 && isName(word):
			variable = word
		default:
			return linear{variable: -1, opaque: true}
		}
	}
	if variable == "" {
		return linear{variable: -1, plus: plus}
	}
	return linear{variable: c.variable(variable), plus: plus}
}

func isName(s string) bool {
	for i, c := range s {
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

func (c *call) variable(name string) int {
	i := slices.Index(c.variables, name)
	if i < 0 {
		i = len(c.variables)
		c.variables = append(c.variables, name)
	}
	return i
}

// maxReadings bounds how many ways of reading a statement are tried.
const maxReadings = 16

// match appends to out those readings of the statement in which an awaited DF is one that its CFs read.
func (c *call) match(name string, indices []int64, readings, out []bindings) []bindings {
	for _, vars := range readings {
		for i := range c.args {
			a := &c.args[i]
			if a.name != name || len(a.indices) != len(indices) || a.made {
				continue
			}
			b, ok := a.bind(indices, vars)
			if ok && len(out) < maxReadings && !slices.Contains(out, b) {
				out = append(out, b)
			}
		}
	}
	return out
}

// possible tells whether a CF can wait for just what it waits for: what it needs besides must have a value.
func (c *call) possible(vars bindings, has func(full string) bool) bool {
	for i := range c.args {
		a := &c.args[i]
		if full, ok := a.text(vars); ok && len(a.indices) > 0 && !a.made && !has(full) {
			return false
		}
	}
	return true
}

// bind gives the variables' values with which the argument has these indices.
func (a *arg) bind(indices []int64, vars bindings) (bindings, bool) {
	for i, x := range a.indices {
		switch {
		case x.opaque:
		case x.variable < 0:
			if x.plus != indices[i] {
				return vars, false
			}
		default:
			if vars.known&(1<<x.variable) != 0 && vars.value[x.variable]+x.plus != indices[i] {
				return vars, false
			}
			vars.value[x.variable] = indices[i] - x.plus
			vars.known |= 1 << x.variable
		}
	}
	return vars, true
}

// text is the DF the argument stands for; false, and only the first indices, if that is not known.
func (a *arg) text(vars bindings) (string, bool) {
	s := append(make([]byte, 0, 32), a.name...)
	for _, x := range a.indices {
		n := x.plus
		if x.opaque || x.variable >= 0 && vars.known&(1<<x.variable) == 0 {
			return string(s), false
		}
		if x.variable >= 0 {
			n += vars.value[x.variable]
		}
		s = append(strconv.AppendInt(append(s, '['), n, 10), ']')
	}
	return string(s), true
}
