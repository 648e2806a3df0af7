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

// op says how an argument gets its value.
type op uint8

const (
	opConst op = iota
	opFunc
	opSystem // system time of the event
	opSteady // CLOCK_MONOTONIC
	opNow    // since the run began
	opPID
	opTID
	opNode
	opWorker
	opCF
	opSite
	opBlock
	opExecution
	opLabel
	opIndex
	opFile
	opLine
	opInputs
	opInputBytes
	opOutputs
	opOutputBytes
	opParent
	opWeight
	opQueue
)

// arg is one argument: an operation, or with opConst its value.
type arg struct {
	op op
	i  int // opIndex: which
	v  any
}

// argument is an expression that rules may pass.
type argument struct {
	name  string
	op    op
	field string // of the event
	typ   trace.FieldType
	doc   string
}

var arguments = []argument{
	{"__func__", opFunc, "func", trace.FieldName, "name of the code fragment"},
	{"std::chrono::system_clock::now()", opSystem, "time", trace.FieldNS,
		"time of day, nanoseconds since 1970"},
	{"std::chrono::high_resolution_clock::now()", opSystem, "time", trace.FieldNS, "the same, as with g++"},
	{"std::chrono::steady_clock::now()", opSteady, "time", trace.FieldNS, "nanoseconds of CLOCK_MONOTONIC"},
	{"now", opNow, "now", trace.FieldNS, "nanoseconds since the run began"},
	{"pid", opPID, "pid", trace.FieldUint, "id of the process"},
	{"tid", opTID, "tid", trace.FieldUint, "id of the thread that emits the event; a worker may change" +
		" threads"},
	{"node", opNode, "node", trace.FieldNode, "number of the node"},
	{"worker", opWorker, "worker", trace.FieldUint, "number of the worker in its node"},
	{"cf", opCF, "cf", trace.FieldCF, "the CF"},
	{"parent", opParent, "parent", trace.FieldCF, "the structured CF that created it"},
	{"code", opSite, "code", trace.FieldSite, "the statement whose CF it is"},
	{"file", opFile, "file", trace.FieldName, "file of the statement"},
	{"line", opLine, "line", trace.FieldUint, "line of the statement"},
	{"block", opBlock, "block", trace.FieldUint, "number of the block"},
	{"execution", opExecution, "execution", trace.FieldUint, "executions begun, the present one included"},
	{"label", opLabel, "label", trace.FieldName, "label with its indices, such as job[3]; empty if there" +
		" is none"},
	{"inputs", opInputs, "inputs", trace.FieldUint, "number of input DFs that the CF holds"},
	{"input_bytes", opInputBytes, "input_bytes", trace.FieldBytes, "their size"},
	{"outputs", opOutputs, "outputs", trace.FieldUint, "number of outputs made"},
	{"output_bytes", opOutputBytes, "output_bytes", trace.FieldBytes, "their size"},
	{"weight", opWeight, "weight", trace.FieldFloat, "weight of the CF"},
	{"queue", opQueue, "queue", trace.FieldUint, "length of the node's queue of CFs that can go on"},
}

// maxIndex is the last of index0, index1, ...
const maxIndex = 7

// readArgs reads the arguments of a rule and gives the event fields for them.
func readArgs(texts []string) ([]trace.Field, []arg, error) {
	var fields []trace.Field
	var args []arg
	used := map[string]int{}
	for _, text := range texts {
		f, a, err := parseArg(text)
		if err != nil {
			return nil, nil, err
		}
		if used[f.Name]++; used[f.Name] > 1 {
			f.Name += strconv.Itoa(used[f.Name])
		}
		fields, args = append(fields, f), append(args, a)
	}
	return fields, args, nil
}

func parseArg(text string) (trace.Field, arg, error) {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, `"`) {
		s, err := strconv.Unquote(text)
		if err != nil {
			return trace.Field{}, arg{}, fmt.Errorf("argument %s is no string as in C", text)
		}
		return trace.Field{Name: "text", Type: trace.FieldName}, arg{v: s}, nil
	}
	if f, a, ok, err := constant(text); ok {
		return f, a, err
	}
	// Expressions may be written with blanks and without std::chrono::; a count of a clock is what it gives
	// anyway.
	short := strings.Join(strings.Fields(text), "")
	short = strings.TrimSuffix(short, ".time_since_epoch().count()")
	for _, x := range arguments {
		if short == x.name || short == strings.TrimPrefix(x.name, "std::chrono::") || "std::"+short == x.name {
			return trace.Field{Name: x.field, Type: x.typ, Doc: x.doc}, arg{op: x.op}, nil
		}
	}
	if n, ok := strings.CutPrefix(short, "index"); ok && len(n) == 1 && n[0] >= '0' && n[0] <= '0'+maxIndex {
		return trace.Field{Name: short, Type: trace.FieldInt, Doc: "index of the label"}, arg{op: opIndex,
			i: int(n[0] - '0')}, nil
	}
	var names strings.Builder
	for _, x := range arguments {
		names.WriteString(x.name + ", ")
	}
	return trace.Field{}, arg{}, fmt.Errorf("there is no argument %s in LuNA programs: there are %sindex0 to "+
		"index%d, numbers and \"strings\"", text, &names, maxIndex)
}

// constant reads an integer or real constant; ok tells that the text is meant to be one.
func constant(text string) (f trace.Field, a arg, ok bool, err error) {
	digits := strings.TrimLeft(text, "+-.")
	if digits == "" || digits[0] < '0' || digits[0] > '9' {
		return f, a, false, nil
	}
	f.Name = "value"
	if i, err := strconv.ParseInt(text, 0, 64); err == nil {
		f.Type, a.v = trace.FieldInt, i
		return f, a, true, nil
	} else if errors.Is(err, strconv.ErrRange) {
		return f, a, true, fmt.Errorf("argument %s does not fit 64 bits", text)
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return f, a, true, fmt.Errorf("argument %s is no number", text)
	}
	f.Type, a.v = trace.FieldFloat, x
	return f, a, true, nil
}

// resolve turns what the statement determines into constants. outs tells that the outputs are known at the
// point.
func (e *engine) resolve(args []arg, st *luna.Stmt, outs bool) []arg {
	args = slices.Clone(args)
	for i := range args {
		a := &args[i]
		var v any
		switch a.op {
		case opFunc:
			v = e.prog.Codes[st.Code].Name
		case opPID:
			v = uint64(os.Getpid())
		case opSite:
			v = siteOf(st)
		case opFile:
			v = st.Pos.File
		case opLine:
			v = uint64(st.Pos.Line)
		case opLabel:
			v = unless(e.static[st.ID].label && len(st.LabelIdx) > 0, st.LabelName)
		case opIndex:
			v = unless(e.static[st.ID].label && a.i < len(st.LabelIdx), int64(0))
		case opWeight:
			v = unless(e.static[st.ID].weight, 1.0)
		case opOutputs:
			v = unless(outs, uint64(0))
		case opOutputBytes:
			v = unless(outs, int64(0))
		}
		if v != nil {
			*a = arg{v: v}
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
		switch x.op {
		case opNode:
			v = int64(a.n.id)
		case opWorker:
			v = uint64(a.ps.ID())
		case opCF:
			v = c.id
		case opParent:
			v = c.parent
		case opBlock:
			v = c.block()
		case opExecution:
			v = uint64(c.exec)
		case opLabel:
			v = a.labelText(c)
		case opIndex:
			v = int64(a.labelIndex(c, x.i))
		case opInputs:
			n, _ := c.inputSizes(p == atWait)
			v = n
		case opInputBytes:
			_, bytes := c.inputSizes(p == atWait)
			v = bytes
		case opOutputs:
			v = uint64(a.made.n)
		case opOutputBytes:
			v = a.made.bytes
		case opWeight:
			v = a.weight(c)
		}
		dst = append(dst, v)
	}
	return dst
}

// timed fills in what depends on the time and place of the emission.
func (a *actor) timed(vals []any, em *emission, t int64) {
	e := a.n.eng
	for i := range em.args {
		switch em.args[i].op {
		case opSystem:
			vals[i] = t + e.wall
		case opSteady:
			vals[i] = t + e.steady
		case opNow:
			vals[i] = t - e.started
		case opTID:
			vals[i] = uint64(unix.Gettid())
		case opQueue:
			vals[i] = uint64(a.n.queue.len())
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
