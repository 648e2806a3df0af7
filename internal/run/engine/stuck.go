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

// stuck collects what is known of the CFs left over.
func (e *engine) stuck(left []*leftover) *StuckError {
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
			ref := c.st.Inputs[x.k].Ref
			p.Awaits = append(p.Awaits, luna.AwaitedDF{Ref: ref.Src, Text: ref.Text, Full: e.identText(&x.id),
				ID: x.id.list(), Key: x.id.key(), Decl: x.id.decl})
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
