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
	Ref    string  // as written at the CF: row[k]
	Text   string  // the same in canonical form: delta[(i)+(1)]
	Full   string  // by the name it was declared with: grid[7][3]
	ID     []int64 // identity
	Key    string
	Decl   DeclID
	In     *DFRef // how the CF asks for it
	Push   bool   // it waits for a push instead
	Reader *Stmt  // the statement of that CF
	// Asked is the node that was asked, and Stored one that has it, -1 where none does. There Maker stored it,
	// by Put; nil where not known.
	Asked, Stored int
	Maker         *Stmt
	Put           *DFRef
}

// NameUses is what the program does to DFs of one declared name, whatever the indices: under that name or as
// a parameter.
type NameUses struct {
	Makers, Deleters []*Stmt
	Counted          bool // some maker limits the requests served (req_count)

	lost  []LostUse
	posts []placing
}

// origin is where a name comes from: a declaration, or (sub not nil) a parameter of a sub.
type origin struct {
	decl DeclID
	sub  *Sub
	slot int
}

func originOf(st *Stmt, n *NameRef) (o origin, ok bool) { return originFrom(st.frame(), n) }

// originFrom is originOf for a name that is evaluated in the frame of a block.
func originFrom(b *Block, n *NameRef) (o origin, ok bool) {
	b = outward(b, n.Depth)
	switch {
	case b == nil:
		return origin{}, false
	case n.Param:
		return origin{-1, b.Sub, n.Slot}, true
	}
	return origin{decl: b.Names[n.Slot]}, true
}

// passes says what the calls of subs pass: by what a name stands for, the parameters that get it.
type passes map[origin][]pass

// pass is a parameter that is given a name with so many indices.
type pass struct {
	to      origin
	indices int
}

func (p *Program) passes() passes {
	all := passes{}
	for _, st := range p.Stmts {
		if st.Kind != SubCall {
			continue
		}
		for i := range st.Args {
			if a := &st.Args[i]; a.Kind == NameParam {
				if o, ok := originOf(st, a.Name); ok {
					all[o] = append(all[o], pass{origin{-1, st.Sub, i}, len(a.Idx)})
				}
			}
		}
	}
	return all
}

// slices gives all names by which the program speaks of DFs of a declared name: itself, and parameters of
// subs. Its values are how many indices the name stands for already, several where that differs from call to
// call.
func (all passes) slices(decl DeclID) map[origin]int {
	first := origin{decl: decl}
	known, left := map[origin]int{first: 0}, []origin{first}
	for len(left) > 0 {
		o := left[len(left)-1]
		left = left[:len(left)-1]
		for _, pass := range all[o] {
			n := known[o]
			if n != several {
				n += pass.indices
			}
			old, found := known[pass.to]
			if found && old != n {
				n = several // a sub that calls itself with a part of what it was given, too
			}
			if !found || old != n {
				known[pass.to] = n
				left = append(left, pass.to)
			}
		}
	}
	return known
}

const several = -1

// Posts gives the references by which a statement stores DFs of a declared name.
func (p *Program) Posts(st *Stmt, decl DeclID) (list []*DFRef) {
	known := p.passes().slices(decl)
	for i := range st.Effects {
		f := &st.Effects[i]
		if o, ok := originOf(st, f.Ref.Name); ok && f.Kind == Post {
			if _, found := known[o]; found {
				list = append(list, f.Ref)
			}
		}
	}
	return list
}

// Uses finds what the program does to DFs of a declared name.
func (p *Program) Uses(decl DeclID) (u NameUses) {
	known := p.passes().slices(decl)
	for _, st := range p.Stmts {
		makes, deletes := false, false
		for _, l := range st.Lost {
			if o, ok := originOf(st, l.Ref.Name); ok && l.Trap != NoPush {
				if fixed, found := known[o]; found {
					u.lost = append(u.lost, LostUse{placing{st, l.Ref, fixed}, l})
				}
			}
		}
		for i := range st.Effects {
			f := &st.Effects[i]
			o, ok := originOf(st, f.Ref.Name)
			if fixed, found := known[o]; ok && found {
				if f.Kind == Post {
					u.posts = append(u.posts, placing{st, f.Ref, fixed})
				}
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
