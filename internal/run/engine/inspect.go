package engine

// What a debugger sees and changes. Everything here is called within Control.Do or a question to the gate, so
// no kept CF goes on meanwhile; others may, and each fact is true of the moment at which it is looked up.

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/trace"
)

// DFState is a DF in the store of a node.
type DFState struct {
	Name    string   // with its indices; those of several blocks may share it
	ID      string   // ID<0, 3, 1>: of this one alone
	DF      trace.DF // its number at the node
	Node    int
	Value   cpp.Value `json:"-"` // borrowed; unset while the DF is awaited or another node keeps it
	Stored  bool
	Keeper  int      // the node that keeps its value, if not this one; else -1
	Left    int      // how many requests it still serves, -1 for any number
	Maker   trace.CF // 0: not known
	MadeBy  string   // its statement and place
	Waiting []string // CFs of this node that wait for it
}

// CFState is a CF that exists.
type CFState struct {
	CF     trace.CF
	Name   string
	Stmt   *luna.Stmt `json:"-"`
	Node   int
	Worker int      // where it runs, else -1
	State  string   // waiting, ready, running, kept
	Parent trace.CF // that created it
	Awaits []string // DFs that it waits for
}

// States of CFs.
const (
	StateWaiting = "waiting"
	StateQueued  = "queued" // its worker is to look at it
	StateRunning = "running"
	StateKept    = "kept"
)

// DFs calls f for the DFs that nodes hold or that are awaited there, until it returns false.
func (c *Control) DFs(f func(*DFState) bool) {
	for _, n := range c.e.here {
		for i := range n.shards {
			s := &n.shards[i]
			s.mu.Lock()
			list := n.cells(s)
			s.mu.Unlock()
			for k := range list {
				goOn := f(&list[k])
				list[k].Value.Release()
				if !goOn {
					for _, rest := range list[k+1:] {
						rest.Value.Release()
					}
					return
				}
			}
		}
	}
}

// cells describes the DFs of a shard, with a reference of each value.
func (n *node) cells(s *shard) (list []DFState) {
	a := &actor{n: n}
	for _, k := range s.table {
		for ; k != nil; k = k.next {
			if !k.stored && len(k.waiters) == 0 {
				continue
			}
			x := DFState{Name: a.identText(&k.id), ID: a.idText(&k.id), DF: k.num, Node: n.id, Stored: k.stored,
				Keeper: -1, Left: int(k.count)}
			if k.stored {
				x.Maker, x.MadeBy = k.producer.id, a.cfText(k.producer)
				if x.Value = retained(k.val); k.kept != 0 {
					x.Keeper = int(k.kept) - 1
				}
			}
			for _, w := range k.waiters {
				if w.c != nil {
					x.Waiting = append(x.Waiting, n.cfName(w.c))
				}
			}
			list = append(list, x)
		}
	}
	return list
}

// CFs gives the CFs that exist, of those in queues as many as most.
func (c *Control) CFs(most int) (list []CFState) {
	queued := 0
	for _, n := range c.e.here {
		state := func(x *cf, s string) CFState {
			return CFState{CF: x.id, Name: n.cfName(x), Stmt: x.st, Node: n.id, Worker: -1, State: s, Parent: x.parent}
		}
		for _, w := range n.workers {
			if x := w.calling.Load(); x != nil && x != frozen && x != taken {
				s := state(x, StateRunning)
				s.Worker = w.id
				list = append(list, s)
			}
		}
		n.heldMu.Lock()
		for x := range n.held {
			if !x.let {
				list = append(list, state(x, StateKept))
			}
		}
		n.heldMu.Unlock()
		n.queue.mu.Lock()
		for _, f := range append(n.queue.first, n.queue.woken, n.queue.created) {
			for _, i := range f.rest() {
				if queued >= most {
					break
				}
				if i.c != nil {
					list = append(list, state(i.c, StateQueued))
					queued++
					continue
				}
				for k := i.b.next; k < i.b.end && queued < most; k++ {
					x := &cf{}
					i.b.fill(c.e, x, k, i.b.frameOf(k))
					list = append(list, state(x, StateQueued))
					queued++
				}
			}
		}
		n.queue.mu.Unlock()
		list = append(list, n.waiting()...)
	}
	slices.SortStableFunc(list, func(a, b CFState) int { return strings.Compare(a.State, b.State) })
	return list
}

// waiting are the node's CFs that wait for DFs.
func (n *node) waiting() (list []CFState) {
	at := map[*cf]int{}
	note := func(w waiter, df string) {
		if w.c == nil {
			return
		}
		w.c.mu.Lock()
		waits := w.c.suspended && w.gen == w.c.gen
		w.c.mu.Unlock()
		if !waits {
			return
		}
		i, ok := at[w.c]
		if !ok {
			i = len(list)
			at[w.c] = i
			list = append(list, CFState{CF: w.c.id, Name: n.cfName(w.c), Stmt: w.c.st, Node: n.id, Worker: -1,
				State: StateWaiting, Parent: w.c.parent})
		}
		list[i].Awaits = append(list[i].Awaits, df)
	}
	for i := range n.shards {
		s := &n.shards[i]
		type asked struct {
			w  waiter
			df string
		}
		var all []asked
		s.mu.Lock()
		for _, k := range s.table {
			for ; k != nil; k = k.next {
				for _, w := range k.waiters {
					all = append(all, asked{w, n.eng.identText(&k.id)})
				}
			}
		}
		s.mu.Unlock()
		for _, x := range all {
			note(x.w, x.df)
		}
	}
	n.pendingMu.Lock()
	requests := make([]waiter, 0, len(n.requests))
	for _, w := range n.requests {
		requests = append(requests, w)
	}
	n.pendingMu.Unlock()
	a := &actor{n: n} // no worker's: faults were told when the DFs were requested
	for _, w := range requests {
		if w.c != nil && int(w.k) < len(w.c.st.Inputs) {
			id, _ := a.refIdent(w.c.st.Inputs[w.k].Ref, &env{f: w.c.ctx(), c: w.c})
			note(w, a.identText(&id))
		}
	}
	slices.SortFunc(list, func(a, b CFState) int { return int(a.CF) - int(b.CF) })
	return list
}

// Waiting calls f with a CF that waits for DFs, as it is now, and reports whether there is one of that id.
func (c *Control) Waiting(id trace.CF, f func(*Execution)) bool {
	for _, n := range c.e.here {
		var found *cf
		look := func(w waiter) {
			if w.c != nil && w.c.id == id {
				found = w.c
			}
		}
		for i := range n.shards {
			s := &n.shards[i]
			s.mu.Lock()
			for _, k := range s.table {
				for ; k != nil; k = k.next {
					for _, w := range k.waiters {
						look(w)
					}
				}
			}
			s.mu.Unlock()
		}
		n.pendingMu.Lock()
		for _, w := range n.requests {
			look(w)
		}
		n.pendingMu.Unlock()
		if found == nil {
			continue
		}
		found.mu.Lock()
		waits := found.suspended
		copied := &cf{id: found.id, st: found.st, frame: found.frame, iter: found.iter, parent: found.parent,
			exec: found.exec, path: found.path, stage: found.stage, inputs: slices.Clone(found.inputs)}
		for i := range copied.inputs {
			if s := &copied.inputs[i]; s.have {
				s.val.Retain()
			}
		}
		found.mu.Unlock()
		if waits {
			x := n.workers[0].execution(copied, AtRequest)
			x.Worker = AnyWorker
			f(x)
		}
		for i := range copied.inputs {
			if s := &copied.inputs[i]; s.have {
				s.val.Release()
			}
		}
		return waits
	}
	return false
}

// ErrNoDF says that no node stores a DF.
var ErrNoDF = errors.New("no node stores it")

// SetDF changes the value of a stored DF, known by its name with indices or by its ID; later requests get it.
// It takes over the reference of v. The type stays as it is.
func (c *Control) SetDF(name string, v cpp.Value) error {
	found := ErrNoDF
	for _, n := range c.e.here {
		a := &actor{n: n}
		for i := range n.shards {
			s := &n.shards[i]
			s.mu.Lock()
			for _, k := range s.table {
				for ; k != nil; k = k.next {
					if !k.stored || k.kept != 0 || a.identText(&k.id) != name && a.idText(&k.id) != name {
						continue
					}
					if k.val.Type != v.Type {
						found = fmt.Errorf("it is of type %v, not %v", k.val.Type, v.Type)
						continue
					}
					old := k.val
					k.val = retained(v)
					old.Release()
					found = nil
				}
			}
			s.mu.Unlock()
		}
	}
	v.Release()
	return found
}

// SetInput changes an input of a kept execution, for it alone. It takes over the reference of v.
func (x *Execution) SetInput(name string, v cpp.Value) error {
	a := &actor{n: x.w.n}
	x.c.lock()
	defer x.c.unlock()
	for i := range x.c.inputs {
		s := &x.c.inputs[i]
		if !s.have {
			continue
		}
		if id, _ := a.refIdent(x.Stmt.Inputs[i].Ref, &env{f: x.c.ctx(), c: x.c}); a.identText(&id) != name {
			continue
		}
		if s.val.Type != v.Type {
			v.Release()
			return fmt.Errorf("%s is of type %v, not %v", name, s.val.Type, v.Type)
		}
		s.val.Release()
		s.val = v
		return nil
	}
	v.Release()
	return fmt.Errorf("%s has no input %s", x.Name(), name)
}

// Scalars gives the counters of the loops that an execution is in, and the numbers that its subs were called
// with; inner ones come first.
func (x *Execution) Scalars() []NamedValue { return x.c.scalars() }

func (c *cf) scalars() (list []NamedValue) {
	for f := c.ctx(); f != nil; f = f.parent {
		for i, name := range f.block.Values {
			if f.vals == nil {
				list = append(list, NamedValue{Name: name, Value: cpp.IntValue(f.counter)})
				continue
			}
			switch v := &f.vals[i]; v.typ {
			case luna.Int:
				list = append(list, NamedValue{Name: name, Value: cpp.IntValue(v.i)})
			case luna.Real:
				list = append(list, NamedValue{Name: name, Value: cpp.RealValue(v.f)})
			}
		}
	}
	return list
}

// Left says which CFs are left over, where nothing moves and nothing is kept: the run is stuck.
func (c *Control) Left() *StuckError {
	var all []*remains
	for _, n := range c.e.here {
		all = append(all, n.remains())
	}
	if left := joined(all); len(left) > 0 {
		return c.e.stuck(left, all)
	}
	return nil
}
