package luna

import "github.com/whyslow/whyslow/trace"

// Stuck is what is left of a program that cannot finish, as an engine knows it. Package lifecycle explains
// it.
//
// A key names a DF as the program tells DFs apart: the number of the declared name at run time, then the
// indices as far as they are known, "17[3][4]".
type Stuck struct {
	Program *Program
	CFs     []PendingCF // in order of creation
	Names   map[DeclID]NameUses
}

// PendingCF is a CF that can never run (or, Executed, whose superfluous request is never answered).
type PendingCF struct {
	ID       trace.CF
	Node     int
	Stmt     *Stmt
	Executed bool
	Awaits   []AwaitedDF
	// Makes are the keys of what it would make, itself or through CFs that it would create. One with fewer
	// indices than the DF has stands for all DFs that begin so.
	Makes []string
}

// AwaitedDF is a DF that a pending CF waits for.
type AwaitedDF struct {
	Ref  string  // as written at the CF: row[k]
	Text string  // the same in canonical form: delta[(i)+(1)]
	Full string  // by the name it was declared with: grid[7][3]
	ID   []int64 // identity
	Key  string
	Decl DeclID
}

// NameUses is what the program does to DFs of one declared name, whatever the indices: under that name or as
// a parameter.
type NameUses struct {
	Makers, Deleters []*Stmt
	Counted          bool // some maker limits the requests served (req_count)
}

// origin is where a name comes from: a declaration, or (sub not nil) a parameter of a sub.
type origin struct {
	decl DeclID
	sub  *Sub
	slot int
}

func originOf(st *Stmt, n *NameRef) (o origin, ok bool) {
	b := outward(st.frame(), n.Depth)
	switch {
	case b == nil:
		return origin{}, false
	case n.Param:
		return origin{-1, b.Sub, n.Slot}, true
	}
	return origin{decl: b.Names[n.Slot]}, true
}

// Uses finds what the program does to DFs of a declared name.
func (p *Program) Uses(decl DeclID) (u NameUses) {
	known := map[origin]bool{{decl: decl}: true}
	for before := 0; len(known) > before; {
		before = len(known)
		for _, st := range p.Stmts {
			for i := range st.Args {
				if a := &st.Args[i]; st.Kind == SubCall && a.Kind == NameParam {
					if o, ok := originOf(st, a.Name); ok && known[o] {
						known[origin{-1, st.Sub, i}] = true
					}
				}
			}
		}
	}
	for _, st := range p.Stmts {
		makes, deletes := false, false
		for i := range st.Effects {
			f := &st.Effects[i]
			if o, ok := originOf(st, f.Ref.Name); ok && known[o] {
				makes = makes || f.Kind != Destroy
				deletes = deletes || f.Kind == Destroy
				u.Counted = u.Counted || f.Kind == Post && f.Count != nil
			}
		}
		if makes {
			u.Makers = append(u.Makers, st)
		}
		if deletes {
			u.Deleters = append(u.Deleters, st)
		}
	}
	return u
}

// frame is the block in whose frame the statement's effects are evaluated, and what it asks for once it has
// started.
func (st *Stmt) frame() *Block {
	if st.Kind == WhileLoop {
		return st.Body
	}
	return st.Block
}

// outward is the block whose frame is depth frames up from a block.
func outward(b *Block, depth int) *Block {
	for b != nil {
		if b.Frame {
			if depth == 0 {
				return b
			}
			depth--
		}
		if b.Owner == nil {
			return nil
		}
		b = b.Owner.Block
	}
	return nil
}
