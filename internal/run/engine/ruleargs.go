package engine

// What events emitted by rule may carry.

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/trace"
)

// source says where an argument has its value from.
type source struct {
	// what the statement determines, nil where it is not known before a CF runs; outs tells that the outputs are
	// known at the point
	fixed func(e *engine, st *luna.Stmt, outs bool) any
	of    func(a *actor, c *cf, locked bool) any // of the CF, while it is here
	at    func(a *actor, t int64) any            // of the time and place of the emission
}

// argument is an expression that rules may pass.
type argument struct {
	name  string
	field string // of the event
	typ   trace.FieldType
	doc   string
	source
}

// arg is one argument of an emission.
type arg struct {
	*argument // nil: a constant, or calculated
	v         any
	calc      *calc // nil: not calculated
}

var arguments = []argument{
	{"__func__", "func", trace.FieldName, "name of the code fragment",
		source{fixed: func(e *engine, st *luna.Stmt, _ bool) any { return e.prog.Codes[st.Code].Name }}},
	{"std::chrono::system_clock::now()", "time", trace.FieldNS, "time of day, nanoseconds since 1970",
		source{at: systemTime}},
	{"std::chrono::high_resolution_clock::now()", "time", trace.FieldNS, "the same, as with g++",
		source{at: systemTime}},
	{"std::chrono::steady_clock::now()", "time", trace.FieldNS, "nanoseconds of CLOCK_MONOTONIC",
		source{at: func(a *actor, t int64) any { return t + a.n.eng.steady }}},
	{"now", "now", trace.FieldNS, "nanoseconds since the run began",
		source{at: func(a *actor, t int64) any { return t - a.n.eng.started }}},
	{"pid", "pid", trace.FieldUint, "id of the process",
		source{fixed: func(*engine, *luna.Stmt, bool) any { return uint64(os.Getpid()) }}},
	{"tid", "tid", trace.FieldUint, "id of the thread that emits the event; a worker may change threads",
		source{at: func(*actor, int64) any { return uint64(unix.Gettid()) }}},
	{"node", "node", trace.FieldNode, "number of the node",
		source{of: func(a *actor, _ *cf, _ bool) any { return int64(a.n.id) }}},
	{"worker", "worker", trace.FieldUint, "number of the worker in its node",
		source{of: func(a *actor, _ *cf, _ bool) any { return uint64(a.ps.ID()) }}},
	{"cf", "cf", trace.FieldCF, "the CF", source{of: func(_ *actor, c *cf, _ bool) any { return c.id }}},
	{"parent", "parent", trace.FieldCF, "the structured CF that created it",
		source{of: func(_ *actor, c *cf, _ bool) any { return c.parent }}},
	{"code", "code", trace.FieldSite, "the statement whose CF it is",
		source{fixed: func(_ *engine, st *luna.Stmt, _ bool) any { return siteOf(st) }}},
	{"file", "file", trace.FieldName, "file of the statement",
		source{fixed: func(_ *engine, st *luna.Stmt, _ bool) any { return st.Pos.File }}},
	{"line", "line", trace.FieldUint, "line of the statement",
		source{fixed: func(_ *engine, st *luna.Stmt, _ bool) any { return uint64(st.Pos.Line) }}},
	{"block", "block", trace.FieldUint, "number of the block",
		source{of: func(_ *actor, c *cf, _ bool) any { return c.block() }}},
	{"execution", "execution", trace.FieldUint, "executions begun, the present one included",
		source{of: func(_ *actor, c *cf, _ bool) any { return uint64(c.exec) }}},
	{"label", "label", trace.FieldName, "label with its indices, such as job[3]; empty if there is none",
		source{fixed: func(e *engine, st *luna.Stmt, _ bool) any {
			return unless(e.static[st.ID].label && len(st.LabelIdx) > 0, st.LabelName)
		}, of: func(a *actor, c *cf, _ bool) any { return a.labelText(c) }}},
	{"inputs", "inputs", trace.FieldUint, "number of input DFs that the CF holds",
		source{of: func(_ *actor, c *cf, locked bool) any { n, _ := c.inputSizes(locked); return n }}},
	{"input_bytes", "input_bytes", trace.FieldBytes, "their size",
		source{of: func(_ *actor, c *cf, locked bool) any { _, bytes := c.inputSizes(locked); return bytes }}},
	{"outputs", "outputs", trace.FieldUint, "number of outputs made",
		source{fixed: func(_ *engine, _ *luna.Stmt, outs bool) any { return unless(outs, uint64(0)) },
			of: func(a *actor, _ *cf, _ bool) any { return uint64(a.made.n) }}},
	{"output_bytes", "output_bytes", trace.FieldBytes, "their size",
		source{fixed: func(_ *engine, _ *luna.Stmt, outs bool) any { return unless(outs, int64(0)) },
			of: func(a *actor, _ *cf, _ bool) any { return a.made.bytes }}},
	{"weight", "weight", trace.FieldFloat, "weight of the CF",
		source{of: func(a *actor, c *cf, _ bool) any { return a.weight(c) }}},
	{"queue", "queue", trace.FieldUint, "length of the node's queue of CFs that can go on",
		source{at: func(a *actor, _ int64) any { return uint64(a.n.queue.len()) }}},
}

func systemTime(a *actor, t int64) any { return t + a.n.eng.wall }

// index is the argument that gives an index of the label.
func index(i int) *argument {
	return &argument{fmt.Sprint("index", i), fmt.Sprint("index", i), trace.FieldInt, "index of the label",
		source{fixed: func(e *engine, st *luna.Stmt, _ bool) any {
			return unless(e.static[st.ID].label && i < len(st.LabelIdx), int64(0))
		}, of: func(a *actor, c *cf, _ bool) any { return int64(a.labelIndex(c, i)) }}}
}

// maxIndex is the last of index0, index1, ...
const maxIndex = 7

// readArgs reads the arguments of a rule and gives the event fields for them.
func readArgs(texts []string) ([]trace.Field, []arg, error) {
	var fields []trace.Field
	var args []arg
	used := map[string]int{}
	for i, text := range texts {
		f, a, err := parseArg(text)
		if bad := (*RuleArgError)(nil); errors.As(err, &bad) {
			bad.Arg = i
			return nil, nil, bad
		}
		if used[f.Name]++; used[f.Name] > 1 {
			f.Name += strconv.Itoa(used[f.Name])
		}
		fields, args = append(fields, f), append(args, a)
	}
	return fields, args, nil
}

// named finds an argument by its name.
func named(text string) (trace.Field, arg, error) {
	// Expressions may be written with blanks and without std::chrono::; a count of a clock is what it gives
	// anyway.
	short := strings.Join(strings.Fields(text), "")
	short = strings.TrimSuffix(short, ".time_since_epoch().count()")
	found := slices.IndexFunc(arguments, func(x argument) bool {
		return short == x.name || short == strings.TrimPrefix(x.name, "std::chrono::") || "std::"+short == x.name
	})
	var x *argument
	if n, ok := strings.CutPrefix(short, "index"); found >= 0 {
		x = &arguments[found]
	} else if ok && len(n) == 1 && n[0] >= '0' && n[0] <= '0'+maxIndex {
		x = index(int(n[0] - '0'))
	}
	if x != nil {
		return trace.Field{Name: x.field, Type: x.typ, Doc: x.doc}, arg{argument: x}, nil
	}
	var names strings.Builder
	for _, x := range arguments {
		names.WriteString(x.name + ", ")
	}
	return trace.Field{}, arg{}, fmt.Errorf("there is no argument %s in LuNA programs: there are %sindex0 to "+
		"index%d, numbers, \"strings\" and operators of C", text, &names, maxIndex)
}

// resolve turns what the statement determines into constants. outs tells that the outputs are known at the
// point.
func (e *engine) resolve(args []arg, st *luna.Stmt, outs bool) []arg {
	args = slices.Clone(args)
	for i, a := range args {
		if k := a.calc; k != nil {
			args[i].calc = &calc{k.root, e.resolve(k.leaves, st, outs), k.late}
		}
		if a.argument != nil && a.fixed != nil {
			if v := a.fixed(e, st, outs); v != nil {
				args[i] = arg{v: v}
			}
		}
	}
	return args
}

// unless is a constant, or nil where the CF tells more.
func unless(more bool, v any) any {
	if more {
		return nil
	}
	return v
}

// values appends the values of the arguments of an event; timed gives the rest. At atWait the CF is locked.
func (a *actor) values(dst []any, em *emission, c *cf, p point) []any {
	for i := range em.args {
		x := &em.args[i]
		v := x.v
		if x.argument != nil && x.of != nil {
			v = x.of(a, c, p == atWait)
		} else if x.calc != nil {
			v = x.calc.gather(a, c, p == atWait)
		}
		dst = append(dst, v)
	}
	return dst
}

// timed fills in what depends on the time and place of the emission.
func (a *actor) timed(vals []any, em *emission, t int64) {
	for i := range em.args {
		if x := &em.args[i]; x.argument != nil && x.at != nil {
			vals[i] = x.at(a, t)
		} else if g, ok := vals[i].(gathered); ok {
			vals[i] = g.timed(a, t)
		}
	}
}

// labelIndex evaluates an index of the CF's label. One that cannot be evaluated is a fault of the program,
// which has been found when the CF was created.
func (a *actor) labelIndex(c *cf, i int) int32 {
	err := a.err
	v := a.evalInt(c.st.LabelIdx[i], &env{f: c.frame, c: c})
	a.err = err
	return v
}

func (a *actor) labelText(c *cf) string {
	b := []byte(c.st.LabelName)
	for i := range c.st.LabelIdx {
		b = fmt.Appendf(b, "[%d]", a.labelIndex(c, i))
	}
	return string(b)
}

// inputSizes counts the inputs that are here, and their bytes.
func (c *cf) inputSizes(locked bool) (n uint64, bytes int64) {
	if !locked {
		c.lock()
		defer c.unlock()
	}
	for i := range c.inputs {
		if s := &c.inputs[i]; s.have {
			n++
			bytes += s.val.Size()
		}
	}
	return n, bytes
}
