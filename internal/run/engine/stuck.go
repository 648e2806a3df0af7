package engine

// What is left when nothing can happen any more: the CFs that wait, what for, and whether anything could have
// made it.

import (
	"fmt"
	"slices"

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
			p.Makes = wouldMake(c.cf)
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

// wouldMake gives the keys of the DFs that a pending CF could initialise, itself or through CFs that it would
// create, as far as the identities are known before it runs.
func wouldMake(c *cf) (keys []string) {
	add := func(prefix *ident) {
		if k := prefix.key(); !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	s := symbolic(c.ctx())
	if c.st.Kind == luna.SubBody {
		blockMakes(c.st.Sub.Body, s, add, map[*luna.Sub]int{})
	} else {
		stmtMakes(c.st, s, add, map[*luna.Sub]int{})
	}
	return keys
}

// symFrame is a frame that may not exist yet: that of a block which a pending CF would enter. Names declared
// in it are new and can be nobody's awaited DF.
type symFrame struct {
	real   *frame
	parent *symFrame
	// of a sub that would be called: the cells passed, as far as known; nil: a new one or no name
	params []*ident
}

func symbolic(f *frame) *symFrame {
	if f == nil {
		return nil
	}
	return &symFrame{real: f, parent: symbolic(f.parent)}
}

func (s *symFrame) up(depth int) *symFrame {
	for ; depth > 0 && s != nil; depth-- {
		s = s.parent
	}
	return s
}

// prefix resolves a reference as far as it is known: the identity up to the first unknown index, nil for a
// new name.
func (s *symFrame) prefix(name *luna.NameRef, idx []*luna.Expr) *ident {
	f := s.up(name.Depth)
	var id ident
	switch {
	case f == nil:
		return nil
	case f.real == nil:
		if !name.Param || name.Slot >= len(f.params) || f.params[name.Slot] == nil {
			return nil
		}
		id = *f.params[name.Slot]
	case name.Param:
		id = *f.real.vals[name.Slot].id
	default:
		id = ident{name: f.real.base + uint64(name.Slot), decl: f.real.block.Names[name.Slot]}
	}
	for _, x := range idx {
		n, ok := s.int(x)
		if !ok {
			break
		}
		id.push(n)
	}
	return &id
}

// int evaluates what needs neither DFs nor values of frames that do not exist yet.
func (s *symFrame) int(x *luna.Expr) (int32, bool) {
	switch x.Op {
	case luna.OpInt:
		return x.I, true
	case luna.OpValue:
		f := s.up(x.Depth)
		if f == nil || f.real == nil || x.Type != luna.Int {
			return 0, false
		}
		if f.real.vals == nil {
			return f.real.counter, true
		}
		return f.real.vals[x.Slot].i, true
	case luna.OpNeg:
		a, ok := s.int(x.A)
		return -a, ok
	case luna.OpAdd, luna.OpSub, luna.OpMul:
		a, ok1 := s.int(x.A)
		b, ok2 := s.int(x.B)
		return luna.Arith(x.Op, a, b), ok1 && ok2
	}
	return 0, false
}

func blockMakes(b *luna.Block, s *symFrame, add func(*ident), depth map[*luna.Sub]int) {
	for _, st := range b.Stmts {
		stmtMakes(st, s, add, depth)
	}
}

// maxRecursion bounds how deep recursive subs are followed.
const maxRecursion = 3

// stmtMakes calls add with what a statement would post or push, or CFs that it would create.
func stmtMakes(st *luna.Stmt, s *symFrame, add func(*ident), depth map[*luna.Sub]int) {
	body, own := s, s
	if st.Body != nil && st.Body.Frame {
		body = &symFrame{parent: s}
	}
	if st.Kind == luna.WhileLoop {
		// what is left is any iteration from this one on
		if s != nil && s.real != nil && s.real.block == st.Body {
			body.parent = s.parent
		}
		own = body
	}
	for i := range st.Effects {
		if f := &st.Effects[i]; f.Kind != luna.Destroy {
			if p := own.prefix(f.Ref.Name, f.Ref.Idx); p != nil {
				add(p)
			}
		}
	}
	switch st.Kind {
	case luna.ForLoop, luna.IfCond, luna.WhileLoop:
		blockMakes(st.Body, body, add, depth)
	case luna.SubCall:
		if depth[st.Sub] >= maxRecursion {
			return
		}
		callee := &symFrame{params: make([]*ident, len(st.Sub.Params))}
		for i := range st.Args {
			if a := &st.Args[i]; a.Kind == luna.NameParam {
				callee.params[i] = s.prefix(a.Name, a.Idx)
			}
		}
		depth[st.Sub]++
		blockMakes(st.Sub.Body, callee, add, depth)
		depth[st.Sub]--
	}
}
