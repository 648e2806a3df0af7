package engine

// What is left when nothing can happen any more: the CFs that wait, what for, and whether anything could have
// made it.

import (
	"fmt"

	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/internal/words"
)

// StuckError says that the program cannot finish. Package lifecycle explains why.
type StuckError struct{ luna.Stuck }

func (e *StuckError) Error() string {
	waiting := 0
	for i := range e.CFs {
		if !e.CFs[i].Executed {
			waiting++
		}
	}
	if waiting == 0 {
		return fmt.Sprintf("the program cannot finish: %s made a request that nothing answers (the same data "+
			"fragment asked for twice, its count too small)",
			words.Plural(int64(len(e.CFs)), "finished CF", "finished CFs"))
	}
	return fmt.Sprintf("the program cannot finish: %s for data fragments that never come",
		words.Plural(int64(waiting), "CF waits", "CFs wait"))
}

// storedAt is where a DF is, and the CF that made it.
type storedAt struct {
	node  int
	maker maker
}

// whereStored finds those of the DFs that are waited for that are stored after all.
func whereStored(left []*leftover, all []*remains) map[string]storedAt {
	found := map[string]storedAt{}
	for _, l := range left {
		for i := range l.asks {
			found[l.asks[i].id.key()] = storedAt{node: -1}
		}
	}
	for _, r := range all {
		for i := range r.stored {
			key := r.stored[i].id.key()
			if _, asked := found[key]; asked {
				found[key] = storedAt{r.node, r.stored[i].maker}
			}
		}
	}
	return found
}

// put gives the statement that stored a DF of a declared name, and its reference; nil where that is not sure.
func (e *engine) put(m maker, decl luna.DeclID) (*luna.Stmt, *luna.DFRef) {
	if m.id == 0 || int(m.site) >= len(e.prog.Stmts) {
		return nil, nil
	}
	st := e.prog.Stmts[m.site]
	list := e.prog.Posts(st, decl)
	for _, r := range list {
		if r.Loc.Rule != list[0].Loc.Rule {
			return st, nil
		}
	}
	if len(list) == 0 {
		return st, nil
	}
	return st, list[0]
}

// stuck collects what is known of the CFs left over.
func (e *engine) stuck(left []*leftover, all []*remains) *StuckError {
	stored := whereStored(left, all)
	s := &StuckError{luna.Stuck{Program: e.prog, CFs: make([]luna.PendingCF, len(left)),
		Names: map[luna.DeclID]luna.NameUses{}}}
	for i, c := range left {
		p := &s.CFs[i]
		*p = luna.PendingCF{ID: c.id, Node: c.node, Stmt: c.st, Executed: c.executed}
		if !p.Executed {
			known := frames{}
			for f := c.ctx(); f != nil; f = f.parent {
				known[f.block] = f
			}
			p.Makes = e.prog.Makes(c.st, known)
		}
		for _, x := range c.asks {
			if !p.Executed && (x.late || x.have) {
				continue
			}
			in := c.st.Inputs[x.k]
			a := luna.AwaitedDF{Ref: in.Ref.Src, Text: in.Ref.Text, Full: e.identText(&x.id), ID: x.id.list(),
				Key: x.id.key(), Decl: x.id.decl, In: in.Ref, Push: in.Push, Reader: c.st, Asked: x.asked, Stored: -1}
			if at := stored[a.Key]; !in.Push && at.node != x.asked {
				a.Stored = at.node
				a.Maker, a.Put = e.put(at.maker, a.Decl)
			}
			p.Awaits = append(p.Awaits, a)
			if _, known := s.Names[x.id.decl]; !known {
				s.Names[x.id.decl] = e.prog.Uses(x.id.decl)
			}
		}
	}
	return s
}

// key is the luna.Stuck key of an identity.
func (d *ident) key() string { return fmt.Sprint(d.name) + d.indexText() }

// indexText is the indices in brackets.
func (d *ident) indexText() string {
	var b []byte
	for i := range int(d.n) {
		b = fmt.Appendf(b, "[%d]", d.at(i))
	}
	return string(b)
}

// frames are those that a CF sees, by block. They implement luna.Frames.
type frames map[*luna.Block]*frame

func (fs frames) Known(b *luna.Block) bool { return fs[b] != nil }

func (fs frames) Name(b *luna.Block, n *luna.NameRef) string {
	if n.Param {
		return fs[b].vals[n.Slot].id.key()
	}
	return fmt.Sprint(fs[b].base + uint64(n.Slot))
}

func (fs frames) Int(b *luna.Block, slot int) int32 {
	if vals := fs[b].vals; vals != nil {
		return vals[slot].i
	}
	return fs[b].counter
}
