package engine

// How a CF gets its inputs. It requests them wave by wave: a DF indexed by another DF comes after that. Then
// it waits for the first missing input only: the answer queues the CF again, and the worker looks at the next
// one. With one worker this gives the order that LuNA programs see. The goroutine that
// brings the last input records readiness; if all came while the CF was queued, the worker that notices does.

import (
	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/trace"
)

// fetch gets the inputs of all waves, wave by wave. It returns false if the CF must wait (it is then no
// longer ours) or something failed. last tells that these are the last waves before execution.
func (w *worker) fetch(c *cf, waves [][]int, last bool) bool {
	for int(c.wave) < len(waves) {
		wave := waves[c.wave]
		if !c.issued {
			c.issued, c.cursor = true, 0
			w.issue(c, wave)
			if w.err != nil {
				return false
			}
			if last && c.wave == 0 && w.n.eng.cfg.Gate != nil && Requests(c.st) {
				w.tellDone(w.execution(c, AtRequest))
			}
		}
		if c.shared {
			c.mu.Lock()
			for int(c.cursor) < len(wave) && c.inputs[wave[c.cursor]].hasOrFar() {
				c.cursor++
			}
			if c.fars > 0 && int(c.cursor) == len(wave) {
				w.followNow(c, wave)
				return false
			}
			if int(c.cursor) < len(wave) {
				w.suspend(c, wave, last && int(c.wave) == len(waves)-1)
				c.mu.Unlock()
				w.left(atWait)
				return false
			}
			c.mu.Unlock()
		}
		c.wave++
		c.issued = false
	}
	c.wave = 0
	return true
}

// suspend lets the CF wait for the first missing input of the wave. c.mu is held; after it is released the CF
// may be running on another worker already.
func (w *worker) suspend(c *cf, wave []int, last bool) {
	ses := w.n.eng.ses
	w.dfs = w.dfs[:0]
	for _, k := range wave {
		if !c.inputs[k].hasOrFar() {
			w.dfs = append(w.dfs, c.inputs[k].df)
		}
	}
	c.missing = int32(len(w.dfs))
	c.waiting, c.last = int32(wave[c.cursor]), last
	ses.CFWaiting.EmitAt(w.ps, w.now, c.id, w.dfs)
	w.n.eng.std[trace.KindBlockWaiting].BlockWaiting.EmitAt(w.ps, w.now, siteOf(c.st), c.block())
	w.leave(atWait, c)
	c.suspended, c.since = true, w.now
}

// issue sends the requests of one wave.
func (w *worker) issue(c *cf, wave []int) {
	e := w.n.eng
	c.lock()
	for _, k := range wave {
		if s := &c.inputs[k]; e.balance == nil && !c.brought || !s.hasOrFar() { // else it came along with the CF
			s.asked = true
			c.open++
		}
	}
	c.unlock()
	listen := false
	v := &env{f: c.ctx(), c: c}
	if c.stage == stageStart {
		v.f = c.frame
	}
	for _, k := range wave {
		// Not whether it is here: by now it may be, as the twin of another, and is to be asked for all the same.
		if !c.inputs[k].asked {
			c.shared = c.shared || c.fars > 0
			continue
		}
		in := c.st.Inputs[k]
		var id ident
		base := w.identInto(&id, in.Ref.Name, in.Ref.Idx, v)
		if w.err != nil {
			return
		}
		if in.Push {
			num := w.number(&id)
			c.lock()
			w.n.denote(&c.inputs[k], num)
			c.unlock()
			listen = true
			continue
		}
		node := w.askedNode(in.Ref, &id, base, v)
		if w.err != nil {
			return
		}
		if node == w.n.id {
			num, val, at, ok := w.request(&id, waiter{c: c, k: int32(k), gen: c.gen})
			e.ses.DFRequested.EmitAt(w.ps, w.now, num, c.id, node, 0)
			c.shared = c.shared || !ok
			c.lock()
			s := &c.inputs[k]
			w.n.denote(s, num)
			if ok {
				s.val, s.at, s.have, s.asked, s.own = val, at, true, false, false
				c.open--
			}
			c.unlock()
		} else {
			num := w.number(&id)
			c.lock()
			w.n.denote(&c.inputs[k], num)
			c.unlock()
			c.shared = true
			w.sendRequest(c, k, &id, num, node)
		}
		if e.static[c.st.ID].twins {
			w.satisfyTwin(c, k, &id)
		}
	}
	if listen {
		label, _ := w.identOf(c.st.Label, c.st.LabelIdx, v)
		if w.err == nil {
			c.label = &label
			c.shared = true
			w.listen(&label, c)
		}
	}
}

// letGo releases the value of an input.
func (a *actor) letGo(s *slot) {
	if s.val.Type == cpp.Unset {
		return
	}
	if s.own {
		a.n.eng.ses.DFDropped.EmitAt(a.ps, a.now, s.df, s.val.Size())
		s.own = false
	}
	s.val.Release()
	s.val = cpp.Value{}
	if cpp.HeapDamaged() != 0 {
		a.heapDamaged("an input was freed")
	}
}

// satisfyTwin gives input k the value of another input that denotes the same cell, if that has come: the CF
// need not wait for its second request, although it lives until that is answered.
func (w *worker) satisfyTwin(c *cf, k int, id *ident) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inputs[k].have {
		return
	}
	for j := range c.inputs {
		if j != k && c.inputs[j].have && w.sameCell(c, j, id) {
			c.inputs[k].val, c.inputs[k].have, c.inputs[k].at = retained(c.inputs[j].val), true, c.inputs[j].at
			return
		}
	}
}

func (a *actor) sameCell(c *cf, j int, id *ident) bool {
	other, _ := a.refIdent(c.st.Inputs[j].Ref, &env{f: c.ctx(), c: c})
	return a.err == nil && other.equal(id)
}

// answer gives input k of a CF its value, one reference of which passes to the CF.
func (c *cf) answer(a *actor, k int, gen uint32, val cpp.Value, num trace.DF, at int64, own bool) {
	e := a.n.eng
	c.mu.Lock()
	// Another worker may have recorded something of the CF or the DF since this actor last read the clock.
	a.now = max(a.now, c.since, at)
	s := &c.inputs[k]
	c.open--
	switch {
	case gen != c.gen:
		a.spare(num, val, own)
	case s.have:
		s.asked = false
		a.spare(num, val, own) // a twin had it
	default:
		s.asked = false
		s.val, s.at, s.have, s.own = val, at, true, own
		a.n.denote(s, num)
		c.arrived(a)
		if e.static[c.st.ID].twins {
			c.satisfyOthers(a, k)
		}
	}
	if c.zombie {
		gone := c.open == 0
		c.mu.Unlock()
		if gone {
			a.destroyCF(c)
		}
		return
	}
	if c.suspended && c.missing == 0 && c.fars > 0 {
		c.suspended = false
		a.follow(c)
		return
	}
	queue := c.suspended && c.inputs[c.waiting].have
	c.suspended = c.suspended && !queue
	c.mu.Unlock()
	if queue {
		a.n.queue.wake(e, c)
	}
}

// spare gives up a value that came for an input that needs it no more.
func (a *actor) spare(num trace.DF, v cpp.Value, own bool) {
	a.letGo(&slot{val: v, df: num, own: own})
}

// renew prepares the CF to ask for its inputs anew. Answers that still come are for inputs it no longer has.
func (w *worker) renew(c *cf) {
	c.lock()
	c.gen++
	for i := range c.inputs {
		s := &c.inputs[i]
		w.letGo(s)
		w.n.denote(s, 0)
		*s = slot{}
	}
	c.since = w.now
	c.unlock()
}

// arrived counts an input that has come; the last one of the last wave makes the CF ready. c.mu is held.
func (c *cf) arrived(a *actor) {
	if c.missing == 0 {
		return
	}
	if c.missing--; c.missing == 0 && c.last && c.fars == 0 {
		c.ready = true
		a.readied.Add(1)
		a.n.eng.ses.CFReady.EmitAt(a.ps, a.now, c.id, 0)
	}
}

func (c *cf) satisfyOthers(a *actor, k int) {
	id, _ := a.refIdent(c.st.Inputs[k].Ref, &env{f: c.ctx(), c: c})
	for j := range c.inputs {
		o := &c.inputs[j]
		if j != k && o.asked && !o.have && a.sameCell(c, j, &id) {
			o.val, o.at, o.have = retained(c.inputs[k].val), c.inputs[k].at, true
			c.arrived(a)
		}
	}
}

// pushInput finds the input that waits for a pushed DF, or -1.
func (c *cf) pushInput(a *actor, id *ident) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, in := range c.st.Inputs {
		if in.Push && c.inputs[k].asked && !c.inputs[k].have && a.sameCell(c, k, id) {
			c.inputs[k].asked = false // so that the same DF pushed again is not taken for this input
			return k
		}
	}
	return -1
}
