package lifecycle

import (
	"slices"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/model"
)

// call is a statement that calls a code fragment, as far as it is needed to tell which DFs a CF of it deals
// with.
type call struct {
	args      []arg
	variables []string
	// makes marks the arguments that CFs make; none: it is not known which they make. It is told by the trace
	// or, where that is from an earlier version, learnt from CFs that have run.
	makes []bool
	told  bool
}

// arg is an argument name[index]...; one that is no name of a DF has no name.
type arg struct {
	name    string
	indices []linear
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

// callOf gives what is known of the DFs of a statement; nil for nothing.
func callOf(s *model.Site) *call {
	if s.DFs == "" {
		return parseCall(s.Text)
	}
	c := &call{told: true}
	for i, list := range strings.SplitN(s.DFs, "->", 2) {
		for text := range strings.SplitSeq(list, ",") {
			if a := c.parseArg(text); a.name != "" {
				c.args, c.makes = append(c.args, a), append(c.makes, i == 1)
			}
		}
	}
	if len(c.variables) > maxVariables {
		return nil
	}
	return c
}

// parseCall reads a statement such as add(sum[i], part[i], sum[i + 1]); nil for one of another form, such as
// a loop.
func parseCall(text string) *call {
	open := strings.IndexByte(text, '(')
	if open < 0 {
		return nil
	}
	head := strings.Fields(text[:open])
	if len(head) == 0 || !isName(head[len(head)-1]) || keyword[head[0]] || keyword[head[len(head)-1]] {
		return nil
	}
	c := &call{}
	depth, start := 0, open+1
	for i := open; i < len(text); i++ {
		switch text[i] {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		}
		if depth == 0 || depth == 1 && text[i] == ',' {
			c.args = append(c.args, c.parseArg(text[start:i]))
			start = i + 1
		}
		if depth == 0 {
			if len(c.variables) > maxVariables {
				return nil
			}
			return c
		}
	}
	return nil // cut short
}

var keyword = map[string]bool{"for": true, "while": true, "if": true, "sub": true, "let": true}

func isName(s string) bool {
	for i, c := range s {
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

func (c *call) parseArg(text string) arg {
	name, rest, _ := strings.Cut(strings.TrimSpace(text), "[")
	if name = strings.TrimSpace(name); !isName(name) {
		return arg{}
	}
	a := arg{name: name}
	for rest != "" {
		depth, end := 1, 0
		for ; end < len(rest) && depth > 0; end++ {
			switch rest[end] {
			case '[':
				depth++
			case ']':
				depth--
			}
		}
		if depth > 0 {
			return arg{}
		}
		a.indices = append(a.indices, c.parseLinear(rest[:end-1]))
		rest = strings.TrimSpace(rest[end:])
		if rest == "" {
			break
		}
		if rest[0] != '[' {
			return arg{} // an expression such as x[1] + 2
		}
		rest = rest[1:]
	}
	return a
}

// parseLinear reads i, 3, i + 1, i - 1 or 1 + i.
func (c *call) parseLinear(text string) linear {
	text = strings.ReplaceAll(text, " ", "")
	if n, err := strconv.ParseInt(text, 10, 32); err == nil {
		return linear{variable: -1, plus: n}
	}
	if isName(text) {
		return linear{variable: c.variable(text)}
	}
	at := strings.LastIndexAny(text, "+-")
	if at <= 0 {
		return linear{variable: -1, opaque: true}
	}
	left, right := text[:at], text[at+1:]
	if n, err := strconv.ParseInt(right, 10, 32); err == nil && isName(left) {
		if text[at] == '-' {
			n = -n
		}
		return linear{variable: c.variable(left), plus: n}
	}
	if n, err := strconv.ParseInt(left, 10, 32); err == nil && isName(right) && text[at] == '+' {
		return linear{variable: c.variable(right), plus: n}
	}
	return linear{variable: -1, opaque: true}
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

// match appends to out those readings of the statement in which an awaited DF is one of its arguments.
func (c *call) match(name string, indices []int64, readings, out []bindings) []bindings {
	for _, vars := range readings {
		for i := range c.args {
			a := &c.args[i]
			if a.name != name || len(a.indices) != len(indices) || c.makes != nil && c.makes[i] {
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
		if full, ok := c.args[i].text(vars); ok && len(c.args[i].indices) > 0 && c.makes != nil &&
			!c.makes[i] && !has(full) {
			return false
		}
	}
	return true
}

// learn marks the argument that a CF, which was given inputs and made a DF, made: with it as that argument,
// the inputs must be other arguments. Nothing is learnt from what could be several arguments.
func (c *call) learn(name string, indices []int64, inputs []string) {
	at := -1
	for i := range c.args {
		a := &c.args[i]
		if a.name != name || len(a.indices) != len(indices) {
			continue
		}
		vars, ok := a.bind(indices, bindings{})
		for k := 0; ok && k < len(inputs); k++ {
			ok = slices.ContainsFunc(c.args, func(o arg) bool {
				text, known := o.text(vars)
				return o.name != "" && (!known || text == inputs[k])
			})
		}
		if ok && at >= 0 {
			return
		}
		if ok {
			at = i
		}
	}
	if at < 0 {
		return
	}
	if c.makes == nil {
		c.makes = make([]bool, len(c.args))
	}
	c.makes[at] = true
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

// text is the DF the argument stands for; false, and only the first indices, if that is not known. An
// argument without indices may be a value and no DF; as such it does no harm.
func (a *arg) text(vars bindings) (string, bool) {
	if len(a.indices) == 0 {
		return a.name, true
	}
	s := make([]byte, 0, 32)
	s = append(s, a.name...)
	for _, x := range a.indices {
		n := x.plus
		if x.opaque {
			return string(s), false
		}
		if x.variable >= 0 {
			if vars.known&(1<<x.variable) == 0 {
				return string(s), false
			}
			n += vars.value[x.variable]
		}
		s = append(strconv.AppendInt(append(s, '['), n, 10), ']')
	}
	return string(s), true
}

// splitDF takes grid[7][3] apart.
func splitDF(full string) (name string, indices []int64, ok bool) {
	name, rest, has := strings.Cut(full, "[")
	for has {
		var index string
		if index, rest, has = strings.Cut(rest, "]"); !has {
			return "", nil, false
		}
		n, err := strconv.ParseInt(index, 10, 64)
		if err != nil {
			return "", nil, false
		}
		indices = append(indices, n)
		if rest == "" {
			break
		}
		if rest[0] != '[' {
			return "", nil, false
		}
		rest = rest[1:]
	}
	return name, indices, isName(name)
}
