package engine

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/internal/run/unwind"
	"github.com/whyslow/whyslow/trace"
)

// Values of trace.InsideInfo.Doing beside the names of cpp.Reason.
const (
	doesCompute = "computes"
	doesWait    = "waits"
)

// working is the share of the time that a thread runs from which its CF computes, even if it happens to wait
// when somebody looks.
const working = 0.5

// mostCalls is how many calls of user code are named.
const mostCalls = 8

// insideInfo says which CF is inside user code. The worker must not leave it meanwhile: what a finished CF
// has is given to others.
func (w *worker) insideInfo(s *seen, now int64) trace.InsideInfo {
	st := s.c.st
	return trace.InsideInfo{CF: s.c.id.String(), Name: w.n.cfName(s.c), File: filepath.Clean(st.Pos.File),
		Line: st.Pos.Line, Node: w.n.id, Worker: w.id, NS: now - s.since, CPUNS: -1}
}

// whereabouts adds to x what the CF is doing, now. ran is the share of the time that its thread ran lately.
func (w *worker) whereabouts(x *trace.InsideInfo, s *seen, ran float64) cpp.Where {
	if cpu, ok := w.meter.CPU(); ok {
		from := w.meter.Started()
		if late := s.first.at - s.since; from < 0 && s.first.cpu >= 0 && late < x.NS/4 {
			from = s.first.cpu
		}
		if from >= 0 {
			x.CPUNS = min(max(cpu-from, 0), x.NS)
		}
	}
	where := w.meter.Where(ran < working)
	switch {
	case where.Runs || ran >= working:
		x.Doing = doesCompute
	case where.Known:
		x.Doing = where.Wait.Reason.String()
		if x.What = where.Wait.File; where.Wait.Holder != 0 {
			x.What = trace.CF(where.Wait.Holder).String()
		}
	case where.Waits:
		x.Doing = doesWait
	}
	x.Call, x.Stack = w.n.eng.calls(where)
	return where
}

// cfName is the CF's label or code fragment, with its indices.
func (n *node) cfName(c *cf) string {
	e, st := n.eng, c.st
	name := e.prog.Codes[st.Code].Name
	if st.LabelName != "" {
		name = st.LabelName
	}
	if !e.static[st.ID].label {
		return name
	}
	a := &actor{n: n} // no worker's: a fault of the label was told when the CF was made
	for _, x := range st.LabelIdx {
		name += "[" + strconv.Itoa(int(a.evalInt(x, &env{f: c.frame, c: c}))) + "]"
	}
	return name
}

// calls names the calls of the program's code that a place is in, and the function of a library that they
// have called, "" for none.
func (e *engine) calls(where cpp.Where) (call string, stack []trace.InsideCall) {
	if e.cfg.Places == nil {
		return "", nil
	}
	library := e.cfg.Library.Path()
	own, _ := os.Executable() // what has called the library, and where it reports waits
	all := slices.DeleteFunc(where.Calls, func(c unwind.Code) bool { return c.File == "" || c.File == own })
	texts := make([]string, len(all))
	for i, c := range all {
		texts[i] = c.File + "+0x" + strconv.FormatUint(c.Offset, 16)
	}
	places := e.cfg.Places(texts)
	for i, c := range all {
		p := places[texts[i]]
		name := cpp.Readable(p.Function)
		switch {
		case len(stack) == mostCalls:
			return call, stack
		case c.File != library:
			// Names of C++ functions are mangled; those that they call say as much.
			if len(stack) == 0 && name != "" && !strings.HasPrefix(name, "_Z") {
				call = strings.TrimLeft(name, "_")
			}
		case cpp.Ours(p.File, p.Function):
		case name != "" && p.Line > 0:
			stack = append(stack, trace.InsideCall{Function: name, File: filepath.Base(p.File), Line: p.Line})
		case name != "":
			stack = append(stack, trace.InsideCall{Function: name})
		}
	}
	return call, stack
}
