package lifecycle

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// call is a statement that calls a code fragment, as far as it is needed to tell which DFs a CF of it deals with.
type call struct {
	args []arg
	// makes marks the arguments that CFs of the code fragment have been seen to make; none: it is not known which they make.
	makes []bool
}

// arg is an argument name[index]...; one that is no name of a DF has no name.
type arg struct {
	name    string
	indices []linear
}

// linear is an index variable + plus, or plus alone. One of another form is opaque.
type linear struct {
	variable string
	plus     int64
	opaque   bool
}

// bindings are the values of variables, as far as found.
type bindings map[string]int64

// parseCall reads a statement such as add(sum[i], part[i], sum[i + 1]); nil for one of another form, such as a loop.
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
			c.args = append(c.args, parseArg(text[start:i]))
			start = i + 1
		}
		if depth == 0 {
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

func parseArg(text string) arg {
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
		a.indices = append(a.indices, parseLinear(rest[:end-1]))
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
func parseLinear(text string) linear {
	text = strings.ReplaceAll(text, " ", "")
	if n, err := strconv.ParseInt(text, 10, 32); err == nil {
		return linear{plus: n}
	}
	if isName(text) {
		return linear{variable: text}
	}
	at := strings.LastIndexAny(text, "+-")
	if at <= 0 {
		return linear{opaque: true}
	}
	left, right := text[:at], text[at+1:]
	if n, err := strconv.ParseInt(right, 10, 32); err == nil && isName(left) {
		if text[at] == '-' {
			n = -n
		}
		return linear{variable: left, plus: n}
	}
	if n, err := strconv.ParseInt(left, 10, 32); err == nil && isName(right) && text[at] == '+' {
		return linear{variable: right, plus: n}
	}
	return linear{opaque: true}
}

// maxReadings bounds how many ways of reading a statement are tried.
const maxReadings = 16

// match narrows down the readings of the statement to those in which an awaited DF is one of its arguments.
func (c *call) match(name string, indices []int64, readings []bindings) (out []bindings) {
	for _, vars := range readings {
		for i := range c.args {
			a := &c.args[i]
			if a.name != name || len(a.indices) != len(indices) || c.makes != nil && c.makes[i] {
				continue
			}
			b, ok := a.bind(indices, vars)
			if ok && len(out) < maxReadings && !slices.ContainsFunc(out, func(o bindings) bool { return maps.Equal(o, b) }) {
				out = append(out, b)
			}
		}
	}
	return out
}

// possible tells whether a CF can wait for just what it waits for: what it needs besides must have a value.
func (c *call) possible(vars bindings, has func(full string) bool) bool {
	for i := range c.args {
		if full, ok := c.args[i].text(vars); ok && len(c.args[i].indices) > 0 && c.makes != nil && !c.makes[i] && !has(full) {
			return false
		}
	}
	return true
}

// learn marks the argument that a CF, which was given inputs and made a DF, made: with it as that argument, the inputs
// must be other arguments. Nothing is learnt from what could be several arguments.
func (c *call) learn(name string, indices []int64, inputs []string) {
	at := -1
	for i := range c.args {
		a := &c.args[i]
		if a.name != name || len(a.indices) != len(indices) {
			continue
		}
		vars, ok := a.bind(indices, nil)
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
func (a *arg) bind(indices []int64, known bindings) (bindings, bool) {
	out := bindings{}
	for k, v := range known {
		out[k] = v
	}
	for i, x := range a.indices {
		switch {
		case x.opaque:
		case x.variable == "":
			if x.plus != indices[i] {
				return nil, false
			}
		default:
			v, ok := out[x.variable]
			if ok && v+x.plus != indices[i] {
				return nil, false
			}
			out[x.variable] = indices[i] - x.plus
		}
	}
	return out, true
}

// text is the DF the argument stands for; false if that is not known. An argument without indices may be a value and no
// DF; as such it does no harm.
func (a *arg) text(vars bindings) (string, bool) {
	s := a.name
	for _, x := range a.indices {
		n := x.plus
		if x.opaque {
			return "", false
		}
		if x.variable != "" {
			v, ok := vars[x.variable]
			if !ok {
				return "", false
			}
			n += v
		}
		s += "[" + strconv.FormatInt(n, 10) + "]"
	}
	return s, true
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
