package engine

import (
	"fmt"
	"math"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/internal/run/luna"
)

// A model of LuNA's typing of expressions: it evaluates a drawn expression as the language reference says it
// (sections 3.2 to 3.4), with no tree of typed nodes and no constant folding in between.

// term is an expression as it is drawn.
type term struct {
	op      string // "5", "2.5": text of a literal; "x": a name; "int", "real", "neg", "?:" or an operator
	a, b, c *term
}

func (e *term) String() string {
	switch {
	case e.op == "?:":
		return fmt.Sprintf("(%v ? %v : %v)", e.a, e.b, e.c)
	case e.op == "int", e.op == "real":
		return fmt.Sprintf("%s(%v)", e.op, e.a)
	case e.op == "neg":
		return fmt.Sprintf("-(%v)", e.a)
	case e.b != nil:
		return fmt.Sprintf("(%v %s %v)", e.a, e.op, e.b)
	}
	return e.op
}

// modelValue is a number as C++ has it ('i' int, 'l' long, 'r' double), or what a DF holds ('d', with held).
type modelValue struct {
	t    byte
	i    int64
	f    float64
	s    string
	held byte // 'i', 'r', 's'
}

var (
	modelDFs = map[string]modelValue{"x": {held: 'i', i: 5}, "y": {held: 'i', i: -7}, "z": {held: 'i'},
		"q": {held: 'r', f: 1.25}, "r": {held: 'r', f: 0.5}, "s": {held: 's', s: "7"}}
	modelScalars = map[string]modelValue{"i": {t: 'i', i: 4}, "h": {t: 'r', f: 2.75}}
)

// model stops with what is wrong by a panic of this type.
type wrong string

func narrow(v int64) modelValue { return modelValue{t: 'i', i: int64(int32(v))} }
func long(v int64) modelValue   { return modelValue{t: 'l', i: v} }
func double(v float64) modelValue {
	return modelValue{t: 'r', f: v}
}

// static is the type of section 3.2: i, r or v; '-' where there is none.
func (e *term) static() byte {
	switch e.op {
	case "int", "%", "<", "<=", ">", ">=", "==", "!=", "&&", "||", "?:":
		return 'i'
	case "real":
		return 'r'
	case "neg":
		return e.a.static()
	case "+", "-", "*", "/":
		return joinKinds(e.a.static(), e.b.static())
	}
	if _, df := modelDFs[e.op]; df {
		return 'v'
	} else if v, ok := modelScalars[e.op]; ok {
		return v.t
	} else if _, err := strconv.ParseInt(e.op, 10, 64); err == nil {
		return 'i'
	}
	return 'r'
}

func joinKinds(a, b byte) byte {
	switch {
	case a == b, b == 'v':
		return a
	case a == 'v':
		return b
	}
	return 'r'
}

// cpp is the value of e as the generated C++ has it; a DF by itself is read as read says: i, r or v.
func (e *term) cpp(read byte) modelValue {
	if df, ok := modelDFs[e.op]; ok {
		if read == 'v' {
			df.t = 'd'
			return df
		} else if df.held != read {
			panic(wrong("holds something else"))
		}
		df.t = read
		return df
	}
	if v, ok := modelScalars[e.op]; ok {
		return v
	}
	switch e.op {
	case "int":
		return e.a.wanted('i')
	case "real":
		return e.a.wanted('r')
	case "neg":
		v := e.a.operand(e.a.static(), read)
		switch v.t {
		case 'i':
			return narrow(-v.i)
		case 'l':
			return long(-v.i)
		case 'r':
			return double(-v.f)
		}
		return dynamic(v, "neg", v)
	case "?:":
		return e.choice(read)
	case "&&", "||":
		k := joinKinds(e.a.static(), e.b.static())
		if e.a.holds(k) != (e.op == "&&") {
			return truth(e.op == "||")
		}
		return truth(e.b.holds(k))
	}
	if e.b == nil {
		if i, err := strconv.ParseInt(e.op, 10, 64); err == nil {
			if i == int64(int32(i)) {
				return narrow(i)
			}
			return long(i)
		}
		f, _ := strconv.ParseFloat(e.op, 64)
		f, _ = strconv.ParseFloat(fmt.Sprintf("%f", f), 64)
		return double(f)
	}
	k := joinKinds(e.a.static(), e.b.static())
	a := e.a.operand(k, k)
	b := e.b.operand(k, k)
	if a.t == 'd' || b.t == 'd' {
		v := dynamic(a, e.op, b)
		if e.static() == 'i' { // % and comparisons of DFs
			if v.held != 'i' {
				panic(wrong("an int"))
			}
			return narrow(v.i)
		}
		return v
	}
	return calculated(a, e.op, b)
}

// operand is an operand of an operation on the static type k. A conditional has static type int.
func (e *term) operand(k, read byte) modelValue {
	if e.op == "?:" {
		v := e.choice('i')
		if v.t == 'r' {
			return narrow(truncated(v.f))
		}
		return v
	}
	v := e.cpp(read)
	if v.t == 'd' && k != 'v' { // an operation on DFs alone, among numbers
		return v.as(map[bool]byte{true: 'i', false: 'r'}[k == 'i' || e.static() == 'i'])
	}
	return v
}

// as demands that a DF, or the result of an operation on DFs, holds what is wanted.
func (v modelValue) as(t byte) modelValue {
	if v.held != t {
		panic(wrong("holds something else"))
	}
	v.t = t
	return v
}

// wanted is e where an int (i) or a real (r) is wanted.
func (e *term) wanted(t byte) modelValue {
	v := e.cpp(t)
	switch {
	case v.t == 'd':
		return v.as(t)
	case t == 'i' && v.t == 'r':
		return narrow(truncated(v.f))
	case t == 'i':
		return narrow(v.i)
	case v.t == 'r':
		return v
	}
	return double(float64(v.i))
}

func truncated(f float64) int64 {
	if !(f < math.MaxInt32+1.0 && f > math.MinInt32-1.0) {
		return math.MinInt32
	}
	return int64(f)
}

// holds is an operand of && and ||, whose static types have the join k.
func (e *term) holds(k byte) bool {
	v := e.operand(k, k)
	switch v.t {
	case 'd':
		return dynamic(v, "!=", modelValue{t: 'd', held: 'i'}).i != 0
	case 'r':
		return v.f != 0
	}
	return v.i != 0
}

func (e *term) choice(read byte) modelValue {
	var yes bool
	if e.a.static() == 'v' {
		yes = e.a.holds('v')
	} else {
		yes = e.a.wanted('i').i != 0
	}
	sb, sc := e.b.static(), e.c.static()
	k := joinKinds(joinKinds('i', sb), sc)
	if sb == 'v' && sc == 'v' && read != 'i' {
		k = read
	}
	chosen, other := e.b, e.c
	if !yes {
		chosen, other = e.c, e.b
	}
	v := chosen.operand(k, k)
	if other.isReal(k) && v.t != 'r' { // C++ gives both branches one type
		return double(float64(v.i))
	} else if v.t == 'i' && other.isLong() {
		return long(v.i)
	}
	return v
}

// isLong tells whether e is a long in C++: an integer literal of more than 32 bits, or calculated from one.
func (e *term) isLong() bool {
	switch e.op {
	case "neg":
		return e.a.isLong()
	case "?:": // as an operand: a double is narrowed to an int
		k := joinKinds(joinKinds('i', e.b.static()), e.c.static())
		return (e.b.isLong() || e.c.isLong()) && !e.b.isReal(k) && !e.c.isReal(k)
	case "+", "-", "*", "/", "%":
		return (e.a.isLong() || e.b.isLong()) && !e.isReal('i')
	}
	i, err := strconv.ParseInt(e.op, 10, 64)
	return err == nil && i != int64(int32(i))
}

// isReal tells whether e is a double in C++ as an operand of an operation on k.
func (e *term) isReal(k byte) bool {
	switch e.op {
	case "?:", "int", "%", "<", "<=", ">", ">=", "==", "!=", "&&", "||":
		return false
	case "real":
		return true
	case "neg":
		if e.a.op == "?:" {
			return false
		}
		return e.a.isReal(map[bool]byte{true: e.a.static(), false: k}[e.a.static() != 'v'])
	}
	if e.b != nil {
		j := joinKinds(e.a.static(), e.b.static())
		if j == 'v' {
			return k == 'r'
		}
		return e.a.isReal(j) || e.b.isReal(j)
	}
	if s := e.static(); s != 'v' {
		return s == 'r'
	}
	return k == 'r'
}

func truth(b bool) modelValue { return narrow(int64(b2i(b))) }

func ordered[T int64 | float64](x T, op string, y T) bool {
	switch op {
	case "<":
		return x < y
	case "<=":
		return x <= y
	case ">":
		return x > y
	case ">=":
		return x >= y
	case "==":
		return x == y
	}
	return x != y
}

// calculated is an operation of C++.
func calculated(a modelValue, op string, b modelValue) modelValue {
	if a.t == 'r' || b.t == 'r' {
		x, y := a.f, b.f
		if a.t != 'r' {
			x = float64(a.i)
		}
		if b.t != 'r' {
			y = float64(b.i)
		}
		switch op {
		case "+":
			return double(x + y)
		case "-":
			return double(x - y)
		case "*":
			return double(x * y)
		case "/":
			return double(x / y)
		}
		return truth(ordered(x, op, y))
	}
	of := narrow
	if a.t == 'l' || b.t == 'l' {
		of = long
	}
	x, y := a.i, b.i
	switch op {
	case "+":
		return of(x + y)
	case "-":
		return of(x - y)
	case "*":
		return of(x * y)
	case "/", "%":
		if y == 0 {
			panic(wrong("division by zero"))
		} else if op == "/" {
			return of(x / y)
		}
		return of(x % y)
	}
	return truth(ordered(x, op, y))
}

// dynamic is an operation on what DFs hold.
func dynamic(a modelValue, op string, b modelValue) modelValue {
	for _, v := range []*modelValue{&a, &b} {
		if v.t != 'd' {
			v.held = v.t
		}
		if v.held == 's' || op == "%" && v.held != 'i' {
			panic(wrong("types of operands"))
		}
		v.t = v.held
	}
	if op == "neg" {
		a, op, b = narrow(0), "-", a
		if b.t == 'r' {
			return modelValue{t: 'd', held: 'r', f: -b.f}
		}
	}
	v := calculated(a, op, b)
	v.held, v.t = v.t, 'd'
	return v
}

func drawTerm(t *rapid.T, depth int) *term {
	pick := func(what string, of ...string) string { return rapid.SampledFrom(of).Draw(t, what) }
	if depth == 0 || rapid.IntRange(0, 4).Draw(t, "leaf") == 0 {
		return &term{op: pick("leaf", "x", "y", "z", "q", "r", "s", "i", "h", "0", "1", "3", "7", "2147483647",
			"3000000000", "0.5", "1.5", "7.5", "0.0000001")}
	}
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 0:
		return &term{op: "?:", a: drawTerm(t, depth-1), b: drawTerm(t, depth-1), c: drawTerm(t, depth-1)}
	case 1:
		return &term{op: pick("cast", "int", "real", "neg"), a: drawTerm(t, depth-1)}
	}
	return &term{op: pick("operator", "+", "-", "*", "/", "%", "<", "<=", ">", ">=", "==", "!=", "&&", "||"),
		a: drawTerm(t, depth-1), b: drawTerm(t, depth-1)}
}

// modelled is the model's value of e as an int (i), a real (r) or a value (v); "stops" if the program does.
func modelled(e *term, t byte) (out string) {
	defer func() {
		if r := recover(); r != nil {
			_ = r.(wrong)
			out = "stops"
		}
	}()
	v := e.cpp(t)
	if t != 'v' {
		v = e.wanted(t)
	} else if v.t != 'd' {
		v.held = v.t
	}
	switch {
	case v.t == 'd' && v.held == 's':
		return v.s
	case v.t == 'r' || v.t == 'd' && v.held == 'r':
		return strconv.FormatFloat(v.f, 'g', -1, 64)
	}
	return strconv.Itoa(int(int32(v.i)))
}

// evaluated is what the engine makes of e: a value, "stops", or "" if it does not compile.
func evaluated(t *rapid.T, e *term, kind byte) string {
	f := map[byte]string{'i': "f", 'r': "fr", 'v': "g"}[kind]
	p, err := luna.Compile(luna.Options{File: "t.fa", Source: fmt.Appendf(nil, `
		import f(int) as f; import fr(real) as fr;
		import g(value) as g; import put(name) as put;
		sub sub0(int i, real h) { df x, y, z, q, r, s; %s(%v); put(x); put(y); put(z); put(q); put(r); put(s); }
		sub main() sub0(1, 2.0);`, f, e)})
	if err != nil {
		return ""
	}
	st := p.Subs[0].Body.Stmts[0]
	c := &cf{st: st, inputs: make([]slot, len(st.Inputs))}
	for k := range st.Inputs {
		switch df := modelDFs[st.Inputs[k].Ref.Src]; df.held {
		case 'i':
			c.inputs[k].val = cpp.IntValue(int32(df.i))
		case 'r':
			c.inputs[k].val = cpp.RealValue(df.f)
		case 's':
			c.inputs[k].val = cpp.NewString(df.s)
			defer c.inputs[k].val.Release()
		}
	}
	fr := &frame{block: p.Subs[0].Body, vals: []value{{typ: luna.Int, set: true, i: int32(modelScalars["i"].i)},
		{typ: luna.Real, set: true, f: modelScalars["h"].f}}}
	a, v := &actor{n: &node{}, cur: c}, &env{f: fr, c: c}
	out := ""
	switch x := st.Args[0].Expr; kind {
	case 'i':
		out = strconv.Itoa(int(a.evalInt(x, v)))
	case 'r':
		out = strconv.FormatFloat(a.evalReal(x, v), 'g', -1, 64)
	default:
		d, own := a.evalDyn(x, v)
		switch d.Type {
		case cpp.Int:
			out = strconv.Itoa(int(d.Int()))
		case cpp.Real:
			out = strconv.FormatFloat(d.Real(), 'g', -1, 64)
		case cpp.String:
			out = d.Str()
		}
		if own {
			d.Release()
		}
	}
	if a.err != nil {
		return "stops"
	}
	return out
}

// Every expression that compiles has the value, or stops the program, as the model says.
func TestTypingOfExpressions(t *testing.T) {
	compiled, values := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		for range 100 {
			e := drawTerm(t, 3)
			for _, kind := range []byte{'i', 'r', 'v'} {
				got := evaluated(t, e, kind)
				if got == "" {
					continue
				}
				compiled++
				want := modelled(e, kind)
				if want != "stops" {
					values++
				}
				if got != want {
					t.Fatalf("%v as %c: got %s, want %s", e, kind, got, want)
				}
			}
		}
	})
	if compiled < 1000 || values < compiled/10 {
		t.Errorf("only %d compiled, %d of them have a value", compiled, values)
	}
}
