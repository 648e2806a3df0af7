package placement

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/whyslow/whyslow/internal/run/luna"
)

// Table gives nodes for paths, or for indices. A nil Table has none.
type Table map[uint64]uint16

// Bound is a placement made ready for a program.
type Bound struct {
	CFs []Table // by luna.Stmt.ID
	DFs []Table // by luna.DeclID
	// Unknown says in one line what of the file the program does not have, "" for nothing.
	Unknown string
}

// Sum tells placements apart, 0 for none.
func (b *Bound) Sum() (sum uint64) {
	if b == nil {
		return 0
	}
	for i, list := range [][]Table{b.CFs, b.DFs} {
		for id, t := range list {
			for key, node := range t { // in any order
				sum += Add(Add(key, int32(node)), int32(2*id+i))
			}
		}
	}
	return sum
}

// ErrOther says that a placement is about another program.
var ErrOther = errors.New("it is for another program")

// Start is what Add begins with.
const Start uint64 = 0x9e3779b97f4a7c15

// Add appends a number to the key of a path, or of indices.
func Add(key uint64, v int32) uint64 {
	key = (key ^ uint64(uint32(v))) * 0xbf58476d1ce4e5b9
	return key ^ key>>31
}

// Key of a path or of indices.
func Key(at []int32) uint64 {
	k := Start
	for _, v := range at {
		k = Add(k, v)
	}
	return k
}

// table spreads boxes out; where they overlap the later one counts.
func table(list []Box) Table {
	t := Table{}
	for i := range list {
		b := &list[i]
		var spread func(dim int, key uint64)
		spread = func(dim int, key uint64) {
			if dim == len(b.At) {
				t[key] = uint16(b.Node)
				return
			}
			r := b.At[dim]
			for v := int64(r.First); v <= int64(r.Last); v += int64(r.Step) {
				spread(dim+1, Add(key, int32(v)))
			}
		}
		spread(0, Start)
	}
	return t
}

// Movable tells whether CFs of a statement may be placed. Bodies of subs run where they are called, stealable
// CFs of replicated labels where they were created; DFs are pushed to where a label's locator says.
func Movable(st *luna.Stmt) bool {
	return st.Kind != luna.SubBody && !st.Home.Replicating &&
		!slices.ContainsFunc(st.Inputs, func(i *luna.Input) bool { return i.Push })
}

// Bind finds the statements and DFs of a program that a file is about. What of the file the program does not
// have, or may not be placed, is left to locators. It fails with ErrOther where that is all, or, if the
// program has another name, most.
func (f *File) Bind(p *luna.Program) (*Bound, error) {
	b := &Bound{CFs: make([]Table, len(p.Stmts)), DFs: make([]Table, len(p.Decls))}
	statements := f.statements(p)
	found, unknown := 0, ""
	for i := range f.CFs {
		g := &f.CFs[i]
		st := statements[i]
		if st == nil {
			unknown = cmp.Or(unknown, g.Statement)
			continue
		}
		found++
		if Movable(st) {
			b.CFs[st.ID] = table(g.Places)
		}
	}
	replicated := p.Replicated()
	for i := range f.DFs {
		g := &f.DFs[i]
		known := false
		var t Table
		for id, d := range p.Decls {
			if d.Name != g.Name || d.Label {
				continue
			}
			if !known {
				known, t = true, table(g.Places)
			}
			if !replicated[luna.DeclID(id)] {
				b.DFs[id] = t
			}
		}
		if known {
			found++
		} else {
			unknown = cmp.Or(unknown, g.Name)
		}
	}
	all := len(f.CFs) + len(f.DFs)
	if renamed := filepath.Base(p.File) != f.Program; all > 0 && (found == 0 || renamed && 2*found < all) {
		return nil, fmt.Errorf("%w, %s", ErrOther, f.Program)
	}
	if found < all {
		b.Unknown = fmt.Sprintf("the program has changed since: it has no %s; %d of %d entries do not count",
			unknown, all-found, all)
	}
	return b, nil
}

// statement finds the one that an entry is about, among those of its text: that on its line; or, where the
// program has as many as the file, that at its place among them.
func statement(g *CFs, same []*CFs, list []*luna.Stmt) *luna.Stmt {
	for _, st := range list {
		if st.Pos.Line == g.Line {
			return st
		}
	}
	if i := slices.Index(same, g); len(list) == len(same) {
		return list[i]
	}
	return nil
}

// CallNumber is the number, from 0, of a statement that calls a sub among those of its block that call the
// same one: what the path of its CFs goes on with.
func CallNumber(st *luna.Stmt) (n int32) {
	if st.Kind != luna.SubCall || st.Block == nil {
		return 0
	}
	for _, o := range st.Block.Stmts {
		if o == st {
			break
		}
		if o.Kind == luna.SubCall && o.Sub == st.Sub {
			n++
		}
	}
	return n
}
