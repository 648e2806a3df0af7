package engine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/clock"
	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/internal/run/placement"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// call runs the C++ routine of an atomic CF and does what follows from it.
func (w *worker) call(c *cf) {
	e, st := w.n.eng, c.st
	v := &env{f: c.frame, c: c}
	w.args, w.owned = w.args[:0], w.owned[:0]
	for i := range st.Args {
		val, own := w.argument(&st.Args[i], v)
		w.args, w.owned = append(w.args, val), append(w.owned, own)
	}
	if w.err != nil {
		w.releaseArgs()
		return
	}
	times := &w.codes[st.Code]
	site := siteOf(st)
	// The start of a code fragment that runs long is recorded before the call, for those who watch; that of a
	// short one after it, with the time read right beside the user's code.
	long := times.long()
	what := e.measure
	if what == cpp.Shared && long {
		what = cpp.Each
	}
	if long {
		w.started(c, site, clock.Now())
	}
	w.told = long
	if e.balance != nil {
		w.doing.until.Store(clock.Now() + e.balance.expect(c))
	}
	w.calling.Store(c)
	outcome := w.meter.Call(e.fns[st.Routine.ID], w.args, &w.times, uint64(c.id), what)
	w.leaveCall(c)
	if e.balance != nil {
		w.doing.until.Store(0)
	}
	if !w.told {
		w.started(c, site, w.times.Start)
	}
	w.takeEvents(false)
	end := w.times.End
	if outcome.Kind != cpp.Done {
		end = clock.Now()
	}
	w.now = end
	if outcome.Kind == cpp.Done {
		w.blocked(c)
	}
	w.meter.Spans(w.spend)
	e.ses.CFFinished.EmitAt(w.ps, end, c.id, uint64(c.exec), w.times.CPU)
	e.std[trace.KindForeignEnded].ForeignEnded.EmitAt(w.ps, end, site)
	w.stats.atomic++
	if e.rules != nil {
		w.called(c, outcome.Kind == cpp.Done, end)
	}
	if outcome.Kind == cpp.Done {
		w.bounds(c, v)
	}
	w.releaseArgs()
	if outcome.Kind != cpp.Done {
		w.crashed(c, outcome)
		return
	}
	times.runs++
	times.total += end - w.times.Start
	if e.balance != nil {
		e.balance.times[st.ID].add(c, w.n.id, end-w.times.Start, end)
	}
	w.takeOutputs(st)
	for range len(st.Outs) - st.NArgOuts {
		w.outs = append(w.outs, cpp.IntValue(1)) // tokens of ">>"
	}
	if e.cfg.Gate != nil {
		w.tellMade()
	}
	w.effects(c)
}

// started records that a CF and the user code it calls start. Both have one time, so that the call lasts as
// long as the execution: a worker pre-empted in between would otherwise lose time that no CF accounts for.
func (w *worker) started(c *cf, site trace.Site, t int64) {
	e := w.n.eng
	e.std[trace.KindForeignStarted].ForeignStarted.EmitAt(w.ps, t, site)
	w.beforeAt(atCall, c, t)
	e.ses.CFStarted.EmitAt(w.ps, t, c.id, uint64(c.exec), w.inputDFs(c))
}

// bounds looks whether a routine, or others at the same time, wrote beyond the end of a DF that it was given
// or made. The heap is then damaged, and the run ends.
func (w *worker) bounds(c *cf, v *env) {
	out := 0
	for i := range w.args {
		arg := &c.st.Args[i]
		if arg.Kind == luna.NameParam {
			out++
		}
		if w.args[i].Intact() {
			continue
		}
		cpp.FreeNoMore()
		what := "argument " + strconv.Itoa(i+1)
		if arg.Kind == luna.NameParam {
			id, _ := w.refIdent(c.st.Outs[out-1], v)
			what = w.identText(&id)
		} else if x := arg.Expr; x.Op == luna.OpInput {
			id, _ := w.refIdent(c.st.Inputs[x.K].Ref, v)
			what = w.identText(&id)
		}
		w.fail(fmt.Sprintf("%s wrote beyond the end of %s, which has %s", w.n.eng.prog.Codes[c.st.Code].Name, what,
			words.Plural(int(w.args[i].Size()), "byte", "bytes")), "")
		return
	}
}

// takeOutputs sets w.outs to what the routine has given its name parameters.
func (w *worker) takeOutputs(st *luna.Stmt) {
	w.outs = w.outs[:0]
	for i := range st.Args {
		if st.Args[i].Kind == luna.NameParam {
			w.outs = append(w.outs, w.args[i])
		}
	}
}

// releaseArgs gives back the arguments that were made for the call.
func (w *worker) releaseArgs() {
	for i, own := range w.owned {
		if own {
			w.args[i].Release()
		}
	}
}

// argument evaluates an argument of a C++ routine; own tells that it is to be released after the call.
func (w *worker) argument(arg *luna.Arg, v *env) (val cpp.Value, own bool) {
	switch arg.Kind {
	case luna.IntParam:
		return cpp.IntValue(w.evalInt(arg.Expr, v)), false
	case luna.RealParam:
		return cpp.RealValue(w.evalReal(arg.Expr, v)), false
	case luna.StringParam:
		if arg.Expr.Op == luna.OpString {
			return w.n.eng.literals[arg.Expr.S], false
		}
		return w.textArg(arg.Expr, v)
	case luna.ValueParam:
		return w.evalDyn(arg.Expr, v)
	}
	return cpp.Value{}, false
}

// effects does what comes after the execution of a CF: w.outs (one reference each, given up here) are
// posted, pushed or dropped; DFs are destroyed.
func (w *worker) effects(c *cf) {
	e, st := w.n.eng, c.st
	v := &env{f: c.ctx(), c: c, outs: w.outs}
	if e.rules != nil {
		w.measure(w.outs)
	}
	w.fresh = w.fresh[:0]
	for range w.outs {
		w.fresh = append(w.fresh, true)
	}
	for i := range st.Effects {
		if w.err != nil {
			break
		}
		x := &st.Effects[i]
		var id ident
		base := w.identInto(&id, x.Ref.Name, x.Ref.Idx, v)
		switch x.Kind {
		case luna.Destroy:
			first, step := w.homes(x.Ref, &id, base, v)
			if step != 0 {
				first = w.n.id // of a replicated DF only the copy here goes
			}
			if w.err != nil {
				break
			}
			if first == w.n.id {
				w.destroy(&id)
			} else {
				w.sendDestroy(&id, first)
			}
		case luna.Post:
			w.doPost(c, x, &id, base, v)
		case luna.Push:
			w.doPush(c, x, &id, v)
		}
	}
	for i, val := range w.outs {
		if w.fresh[i] && e.ses.DFCreate.On() && w.err == nil {
			id, _ := w.refIdent(st.Outs[i], v)
			e.ses.DFCreate.EmitAt(w.ps, w.now, w.number(&id), val.Size(), c.id)
		}
		val.Release()
	}
	w.outs = w.outs[:0]
}

// produced finds the value that an effect is about; made is true the first time for each output: its
// creation is recorded once.
func (w *worker) produced(c *cf, x *luna.Effect, id *ident, v *env) (val cpp.Value, made, ok bool) {
	k := x.Out
	if k < 0 {
		for i, r := range c.st.Outs {
			if o, _ := w.refIdent(r, v); o.equal(id) {
				k = i
				break
			}
		}
	}
	if k >= 0 {
		made = w.fresh[k]
		w.fresh[k] = false
		return w.outs[k], made, true
	}
	for i := range c.inputs {
		if c.inputs[i].have && w.sameCell(c, i, id) {
			return c.inputs[i].val, true, true
		}
	}
	w.failAt(x.Pos, fmt.Sprintf("%s neither makes nor reads %s, so it cannot post it", c.st.Text,
		w.identText(id)), "Posting an unset value, id: "+w.idText(id))
	return cpp.Value{}, false, false
}

func (w *worker) doPost(c *cf, x *luna.Effect, id *ident, base int32, v *env) {
	count := int32(-1)
	if x.Count != nil {
		count = max(-1, w.evalInt(x.Count, v))
	}
	first, step := w.homes(x.Ref, id, base, v)
	if w.err != nil {
		return
	}
	val, made, ok := w.produced(c, x, id, v)
	if !ok {
		return
	}
	if val.Type == cpp.Unset {
		w.fail(fmt.Sprintf("%s did not set its output %s", c.st.Text, x.Ref.Src),
			"Posting an unset value, id: "+w.idText(id))
		return
	}
	w.recordHome(x.Ref, id, base, v, first)
	for r := first; r < len(w.n.eng.nodes); r += step {
		val.Retain()
		if r == w.n.id {
			w.post(id, val, count, c.maker(), made)
		} else if step != 0 || !w.keeps(c, id, val, count, made, r) {
			num := w.numberMade(id, made, val, c)
			w.sendPost(id, num, val, count, c.maker(), r)
		}
		made = false
		if step == 0 {
			break
		}
	}
}

// numberMade is number; if the DF is made here for another node, its creation is recorded.
func (w *worker) numberMade(id *ident, made bool, val cpp.Value, c *cf) trace.DF {
	num := w.number(id)
	if made {
		w.n.eng.ses.DFCreate.EmitAt(w.ps, w.now, num, val.Size(), c.id)
	}
	return num
}

func (w *worker) doPush(c *cf, x *luna.Effect, id *ident, v *env) {
	label, _ := w.identOf(x.To, x.ToIdx, v)
	to := 0
	if x.ToLoc.Expr != nil {
		to = w.modNode(x.ToLoc.Expr, v)
	}
	val, made, ok := w.produced(c, x, id, v)
	if !ok || w.err != nil {
		return
	}
	num := w.numberMade(id, made, val, c)
	val.Retain()
	if to == w.n.id {
		w.n.eng.ses.DFStored.EmitAt(w.ps, w.now, num, val.Size())
		w.pushTo(&label, pushedDF{id: *id, val: val, at: w.now})
	} else {
		w.sendPush(&label, id, num, val, c.id, to)
	}
}

// static is what is known of a statement before it runs.
type static struct {
	// It may be stolen. Not so where DFs are pushed to it: they go to the node that its label's locator names.
	stealable bool
	label     bool         // the label's indices can be evaluated when the CF is created
	weight    bool         // there is a weight, and it can
	twins     bool         // two inputs may denote the same cell
	early     bool         // its node is known when the CF is created
	call      int32        // of a sub: its number, see placement.CallNumber
	start     []*luna.Stmt // of a sub: the CF that it creates
	// while: the inputs of the start expression, which belong to the frame the loop stands in
	starts map[int]bool
}

func study(st *luna.Stmt) static {
	s := static{label: st.Label != nil, weight: st.Weight != nil && !refersToDFs(st.Weight),
		early: len(st.Home.Waves) == 0 && st.Kind != luna.SubBody && st.Kind != luna.WhileLoop,
		call:  placement.CallNumber(st)}
	if st.Kind == luna.SubCall {
		s.start = []*luna.Stmt{st.Sub.Start}
	}
	for _, x := range st.LabelIdx {
		s.label = s.label && !refersToDFs(x)
	}
	s.starts = map[int]bool{}
	for _, k := range slices.Concat(st.StartWaves...) {
		s.starts[k] = true
	}
	s.stealable = st.Stealable && !slices.ContainsFunc(st.Inputs, func(i *luna.Input) bool { return i.Push })
	for i, a := range st.Inputs {
		for _, b := range st.Inputs[:i] {
			s.twins = s.twins || mayBeTwins(a.Ref, b.Ref)
		}
	}
	return s
}

// mayBeTwins reports whether two references of one statement may denote the same cell: the same name with
// indices that do not differ in a constant, or two name parameters, for which a call may give cells of one
// name.
func mayBeTwins(a, b *luna.DFRef) bool {
	if a.Name.Param && b.Name.Param && (a.Name.Slot != b.Name.Slot || a.Name.Depth != b.Name.Depth) {
		return true
	}
	return a.Name.Param == b.Name.Param && a.Name.Depth == b.Name.Depth && a.Name.Slot == b.Name.Slot &&
		len(a.Idx) == len(b.Idx) && !differ(a.Idx, b.Idx)
}

// differ reports whether index lists differ in a constant, so that the cells cannot be the same.
func differ(a, b []*luna.Expr) bool {
	for i := range a {
		if a[i].Op == luna.OpInt && b[i].Op == luna.OpInt && a[i].I != b[i].I {
			return true
		}
	}
	return false
}

func refersToDFs(x *luna.Expr) bool {
	return x != nil && (x.Op == luna.OpInput || x.Op == luna.OpOutput || refersToDFs(x.A) ||
		refersToDFs(x.B) || refersToDFs(x.C))
}

// record hands the CF to LuNA's debug records. It leaves out what cannot be evaluated while the CF waits.
func (a *actor) record(c *cf) {
	v := &env{f: c.ctx(), c: c}
	starting := c.st.Kind == luna.WhileLoop && c.iter == nil
	starts := a.n.eng.static[c.st.ID].starts
	err := a.err
	list := func(l [][]int64, r *luna.DFRef) [][]int64 {
		a.err = nil
		if id, _ := a.refIdent(r, v); a.err == nil {
			l = append(l, id.list())
		}
		return l
	}
	var in, out [][]int64
	for k, i := range c.st.Inputs {
		if !i.Push && starts[k] == starting {
			in = list(in, i.Ref)
		}
	}
	for i := range c.st.Effects {
		if x := &c.st.Effects[i]; x.Kind == luna.Post && !starting {
			out = list(out, x.Ref)
		}
	}
	a.err = err
	a.n.eng.cfg.Records.CF(c.id, c.parent, c.st, in, out)
}

// list is the identity as LuNA prints it: creating node, number, indices.
func (d *ident) list() []int64 { return d.appendList(nil) }

func (d *ident) appendList(l []int64) []int64 {
	l = append(l, int64(d.name>>48), int64(d.name&(1<<48-1)))
	for i := range int(d.n) {
		l = append(l, int64(d.at(i)))
	}
	return l
}

// idText is the identity in LuNA's messages: ID<0, 3, 1>.
func (a *actor) idText(d *ident) string {
	return "ID<" + strings.Trim(strings.ReplaceAll(fmt.Sprint(d.list()), " ", ", "), "[]") + ">"
}

// identText is the identity in our messages: grid[7][3].
func (a *actor) identText(d *ident) string { return a.n.eng.identText(d) }

func (e *engine) identText(d *ident) string {
	return e.prog.Decls[d.decl].Name + d.indexText()
}

// drop gives back, at the end of the run, every DF that is still stored on the node.
func (a *actor) drop() {
	a.now = clock.Now()
	for i := range a.n.shards {
		s := &a.n.shards[i]
		for _, c := range s.table {
			for ; c != nil; c = c.next {
				switch {
				case c.stored && c.kept != 0:
					a.n.eng.ses.DFDestroy.EmitAt(a.ps, a.now, c.num, c.size, trace.End)
				case c.stored && c.keeps:
					a.giveUp(c.num, c.val, &c.id, c.producer)
				case c.stored:
					a.gone(c.num, c.val, trace.End, &c.id, c.producer)
				}
				c.stored = false
				for _, p := range c.pushed {
					a.n.eng.ses.DFDropped.EmitAt(a.ps, a.now, a.number(&p.id), p.val.Size())
					p.val.Release()
				}
			}
		}
	}
}
