package engine

import (
	"fmt"
	"time"

	"github.com/whyslow/whyslow/internal/clock"
	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/internal/run/placement"
	"github.com/whyslow/whyslow/trace"
)

// newCF gives memory for a CF.
func (w *worker) newCF() *cf {
	if n := len(w.pool); n > 0 {
		c := w.pool[n-1]
		w.pool = w.pool[:n-1]
		return c
	}
	slab := make([]cf, 64)
	for i := range slab[1:] {
		w.pool = append(w.pool, &slab[i+1])
	}
	return &slab[0]
}

// setUp gives a CF that was just made or received its first stage and room for its inputs.
func (c *cf) setUp() {
	c.stage = stageHome
	if c.st.Kind == luna.WhileLoop {
		c.stage = stageStart
	}
	if n := len(c.st.Inputs); n <= len(c.inline) {
		c.inputs = c.inline[:n]
	} else {
		c.inputs = make([]slot, n)
	}
}

// created records a new CF.
func (w *worker) created(c *cf) {
	e := w.n.eng
	if !e.ses.CFCreated.On() {
		return
	}
	v := &env{f: c.frame, c: c}
	weight := 1.0
	w.idx = w.idx[:0]
	if e.static[c.st.ID].label {
		for _, x := range c.st.LabelIdx {
			w.idx = append(w.idx, w.evalInt(x, v))
		}
	}
	if e.static[c.st.ID].weight {
		weight = w.evalReal(c.st.Weight, v)
	}
	e.ses.CFCreated.EmitAt(w.ps, c.born, c.id, siteOf(c.st), c.parent, uint64(c.pexec), weight, w.idx)
}

// newFrame makes the frame of a block entry, or returns parent if the block has none.
func (w *worker) newFrame(b *luna.Block, parent *frame) *frame {
	if !b.Frame {
		return parent
	}
	f := &frame{parent: parent, block: b}
	w.name(f)
	return f
}

// name gives the declared names of a frame their identities.
func (w *worker) name(f *frame) {
	if k := len(f.block.Names); k > 0 {
		f.base = w.firstName(f.block, 1)
	}
}

// firstName gives the names of a block their identities, for so many entries, and returns the first.
func (w *worker) firstName(b *luna.Block, entries int64) uint64 {
	each := uint64(len(b.Names))
	first := w.n.ids.Add(each*uint64(entries)) - each*uint64(entries)
	if r := w.n.eng.cfg.Records; r != nil && each > 0 {
		for i := range uint64(entries) {
			r.Names(w.n.id, first+i*each, b)
		}
	}
	return uint64(w.n.id)<<48 | first
}

// readyIfFree records readiness of a CF that needs nothing, or brought what it needs.
func (a *actor) readyIfFree(c *cf) {
	if len(c.st.Inputs) == 0 || c.wave > 0 {
		c.ready = true
		a.readied.Add(1)
		a.n.eng.ses.CFReady.EmitAt(a.ps, c.born, c.id, 0)
	}
}

// homeNode is the node where the CF is to run; the DFs it depends on are here.
func (w *worker) homeNode(c *cf) int {
	h := &c.st.Home
	switch {
	case c.st.Kind == luna.SubBody || h.Replicating:
		return w.n.id
	}
	if node, ok := w.placed(c); ok {
		return node
	}
	if h.Expr == nil {
		return 0
	}
	return w.modNode(h.Expr, &env{f: c.ctx(), c: c})
}

// step works on a CF until it is finished, must wait, or goes to another node.
func (w *worker) step(c *cf) {
	e := w.n.eng
	site := siteOf(c.st)
	w.now = clock.Now()
	w.before(atHead, c)
	e.std[trace.KindBlockStarted].BlockStarted.EmitAt(w.ps, w.now, site, c.block())
	w.after(atHead, c)
	for w.err == nil && !e.stopping.Load() {
		switch c.stage {
		case stageStart:
			if !w.fetch(c, c.st.StartWaves, false) {
				return
			}
			f := &frame{parent: c.frame, block: c.st.Body, counter: w.evalInt(c.st.Start, &env{f: c.frame, c: c})}
			if w.err != nil {
				return
			}
			w.ending(c, stageHome)
			w.renew(c)
			c.iter = f
			w.goOn(c, stageHome)

		case stageHome:
			if !c.placed {
				if !w.fetch(c, c.st.Home.Waves, false) {
					return
				}
				to := w.n.id
				if len(e.nodes) > 1 {
					to = w.homeNode(c)
				}
				if w.err != nil {
					return
				}
				if to != w.n.id {
					e.std[trace.KindBlockMigrated].BlockMigrated.EmitAt(w.ps, w.now, site, stageHome)
					w.migrate(c, to, atMigrate)
					return
				}
				c.placed = true
			}
			if e.static[c.st.ID].stealable && w.giveAway(c) {
				return
			}
			w.ending(c, stageMain)
			w.goOn(c, stageMain)

		case stageMain:
			if e.cfg.Gate != nil && c.wave == 0 && !c.issued && !c.brought && Requests(c.st) && w.kept(c, AtRequest) {
				return
			}
			if !w.fetch(c, c.st.Waves, true) || w.err != nil {
				return
			}
			w.recordPlace(c)
			c.stage = stageRun

		case stageRun:
			waited := c.ready // and was counted; else it starts at once
			if !waited {
				c.ready = true
				w.noticeReady(c)
			}
			if w.sendAway(c) || w.hold(c) || e.cfg.Gate != nil && w.kept(c, AtStart) {
				if !waited {
					w.readied.Add(1)
				}
				return
			}
			if waited {
				w.readied.Add(-1)
			}
			if w.begins {
				w.begins = false
				w.n.queue.turn.Add(-1)
			}
			var x *Execution
			if e.cfg.Gate != nil {
				x = w.tellStarted(c)
			}
			ended := w.execute(c)
			if x != nil {
				w.tellDone(x)
			}
			if ended {
				if w.err != nil {
					e.std[trace.KindBlockExited].BlockExited.EmitAt(w.ps, w.now, site, stageMain)
					w.before(atFailed, c)
				}
				return
			}
		}
	}
}

// ending is what happens before a block ends with CONTINUE, to go on at a stage.
func (w *worker) ending(c *cf, stage uint8) {
	w.n.eng.std[trace.KindBlockContinued].BlockContinued.EmitAt(w.ps, w.now, siteOf(c.st), uint64(stage))
	w.before(atContinue, c)
}

// goOn takes the CF to the stage.
func (w *worker) goOn(c *cf, stage uint8) {
	c.stage = stage
	w.after(atContinue, c)
}

// noticeReady records readiness that is noticed only now: the inputs had come while the CF was queued.
func (w *worker) noticeReady(c *cf) {
	ses := w.n.eng.ses
	if !ses.CFReady.On() {
		return
	}
	since := max(c.born, c.since)
	for i := range c.inputs {
		since = max(since, c.inputs[i].at)
	}
	ses.CFReady.EmitAt(w.ps, w.now, c.id, max(0, w.now-since))
}

// hold keeps a CF back for the time that Config.Hold names.
func (w *worker) hold(c *cf) bool {
	e := w.n.eng
	d := e.hold[c.st.Code]
	if d == 0 {
		return false
	}
	if c.held {
		c.held = false
		e.ses.CFResumed.Emit(w.ps, c.id)
		return false
	}
	c.held = true
	e.ses.CFHeld.Emit(w.ps, c.id)
	e.enter()
	n := w.n
	n.heldMu.Lock()
	n.held[c] = true
	n.heldMu.Unlock()
	time.AfterFunc(d, func() {
		n.heldMu.Lock()
		if n.held[c] { // else the run has ended
			delete(n.held, c)
			n.queue.push(e, c)
		}
		n.heldMu.Unlock()
		e.leave()
	})
	return true
}

// exit ends a CF after its execution; one with unanswered requests stays in existence until they are
// answered.
func (w *worker) exit(c *cf) {
	w.now = clock.Now()
	w.n.eng.std[trace.KindBlockExited].BlockExited.EmitAt(w.ps, w.now, siteOf(c.st), stageMain)
	w.leave(atExit, c)
	c.stage = stageDone
	if c.label != nil {
		w.unlisten(c.label)
	}
	c.lock()
	if c.open > 0 {
		c.zombie, c.since = true, w.now
		c.unlock()
		w.left(atExit)
		return
	}
	c.unlock()
	w.destroyCF(c)
	w.recycle(c)
	w.left(atExit)
}

// destroyCF gives back what a finished CF holds.
func (a *actor) destroyCF(c *cf) {
	for i := range c.inputs {
		a.letGo(&c.inputs[i])
	}
	a.n.forgetInputs(c)
	a.n.eng.ses.CFDestroyed.EmitAt(a.ps, a.now, c.id)
}

// recycle keeps a CF's memory for the next one made by this worker.
func (w *worker) recycle(c *cf) {
	if len(w.pool) >= 4096 {
		return
	}
	*c = cf{}
	w.pool = append(w.pool, c)
}

// execute runs a CF whose inputs are here, once. It returns false if the CF goes on (while).
func (w *worker) execute(c *cf) bool {
	e, st := w.n.eng, c.st
	w.unplaced(c)
	c.exec++
	if e.cfg.Records != nil {
		w.record(c)
	}
	if st.Kind == luna.Atomic {
		w.call(c)
		if w.err == nil {
			w.exit(c)
		}
		return true
	}
	e.ses.CFStarted.Emit(w.ps, c.id, uint64(c.exec), w.inputDFs(c))
	v := &env{f: c.ctx(), c: c}
	again := false
	var out cpp.Value
	switch st.Kind {
	case luna.SubBody:
		w.create(c, st.Sub.Body.Stmts, c.frame, c.path, 1)
	case luna.SubCall:
		f := w.subFrame(c, v)
		w.create(c, e.static[st.ID].start, f, placement.Add(c.path, e.static[st.ID].call), 1)
	case luna.ForLoop:
		lo, hi := int64(w.evalInt(st.Lo, v)), int64(w.evalInt(st.Hi, v))
		if w.err == nil {
			w.createTurns(c, lo, hi)
		}
	case luna.IfCond:
		if w.evalInt(st.Cond, v) != 0 && w.err == nil {
			w.create(c, st.Body.Stmts, w.newFrame(st.Body, c.frame), c.path, 1)
		}
	case luna.WhileLoop:
		if again = w.evalInt(st.Cond, v) != 0; again && w.err == nil {
			w.name(c.iter)
			w.create(c, st.Body.Stmts, c.iter, placement.Add(c.path, int32(c.exec-1)), 1)
		}
		out = cpp.IntValue(c.iter.counter)
	}
	t := clock.Now()
	w.now = t
	e.ses.CFFinished.EmitAt(w.ps, t, c.id, uint64(c.exec), -1)
	if w.err != nil {
		return true
	}
	if again {
		w.flush()
		if w.err != nil {
			return true
		}
		w.ending(c, stageHome)
		w.renew(c)
		c.iter = &frame{parent: c.frame, block: st.Body, counter: c.iter.counter + 1}
		c.placed, c.ready = false, false
		w.goOn(c, stageHome)
		return false
	}
	w.outs = w.outs[:0]
	for range st.Outs {
		w.outs = append(w.outs, cpp.IntValue(1)) // tokens of ">>"
	}
	if st.Kind == luna.WhileLoop {
		w.outs[0] = out
	}
	w.effects(c)
	w.flush()
	if w.err == nil {
		w.exit(c)
	}
	return true
}

// subFrame evaluates the arguments of a sub call into the frame of its body.
func (w *worker) subFrame(c *cf, v *env) *frame {
	sub := c.st.Sub
	f := &frame{block: sub.Body, vals: make([]value, len(sub.Params)+len(sub.NFParams))}
	for i := range c.st.Args {
		arg, d := &c.st.Args[i], &f.vals[i]
		d.set = true
		switch arg.Kind {
		case luna.IntParam:
			d.typ, d.i = luna.Int, w.evalInt(arg.Expr, v)
		case luna.RealParam:
			d.typ, d.f = luna.Real, w.evalReal(arg.Expr, v)
		case luna.StringParam:
			d.typ, d.s = luna.String, w.evalString(arg.Expr, v)
		case luna.NameParam:
			id, _ := w.identOf(arg.Name, arg.Idx, v)
			d.typ, d.id = luna.Dyn, &id
		}
	}
	for i, x := range c.st.NFArgs {
		if x != nil {
			f.vals[len(sub.Params)+i] = value{typ: luna.Int, set: true, i: w.evalInt(x, v)}
		}
	}
	w.name(f)
	return f
}

// inputDFs lists the DFs of the CF's inputs for the trace.
func (w *worker) inputDFs(c *cf) []trace.DF {
	w.dfs = w.dfs[:0]
	for i := range c.inputs {
		if c.inputs[i].have {
			w.dfs = append(w.dfs, c.inputs[i].df)
		}
	}
	return w.dfs
}

func (a *actor) cfText(m maker) string {
	if int(m.site) < len(a.n.eng.prog.Stmts) && m.id != 0 {
		st := a.n.eng.prog.Stmts[m.site]
		return fmt.Sprintf("%s (%s)", st.Text, posText(st.Pos))
	}
	return "an unknown CF"
}
