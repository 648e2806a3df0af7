package engine

// What is left when nothing can happen any more: the CFs that wait, for what, and whether anything could have made it.

import (
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"

	"github.com/whyslow/whyslow/internal/luna"
	"github.com/whyslow/whyslow/trace"
)

// StuckError says that the program cannot finish.
type StuckError struct {
	CFs []PendingCF // in order of creation
}

// PendingCF is a CF that can never run (or, Executed, whose superfluous request is never answered).
type PendingCF struct {
	ID       trace.CF
	Node     int
	Stmt     *luna.Stmt
	Executed bool
	Awaits   []AwaitedDF
	Root     bool // no other pending CF would make what it waits for
}

// AwaitedDF is a DF that a pending CF waits for.
type AwaitedDF struct {
	Ref      string  // as written at the CF: row[k]
	Text     string  // the same in canonical form: delta[(i)+(1)]
	Full     string  // by the name it was declared with: grid[7][3]
	ID       []int64 // identity
	Pushed   bool    // waited for by a "wait" rule
	By       *PendingCF
	Makers   []*luna.Stmt // statements that make DFs of this name, whatever the indices
	Declared luna.Pos
}

func (e *StuckError) Error() string {
	waiting := 0
	for i := range e.CFs {
		if !e.CFs[i].Executed {
			waiting++
		}
	}
	if waiting == 0 {
		return fmt.Sprintf("the program cannot finish: %s made a request that nothing answers (the same data fragment asked for twice, its count too small)", count(len(e.CFs), "finished CF", "finished CFs"))
	}
	return fmt.Sprintf("the program cannot finish: %s for data fragments that never come", count(waiting, "CF waits", "CFs wait"))
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// pending collects the CFs that still exist when nothing runs any more.
func (e *engine) pending() []*cf {
	seen := map[*cf]*node{}
	for _, n := range e.nodes {
		for i := range n.shards {
			for _, c := range n.shards[i].table {
				for ; c != nil; c = c.next {
					for _, w := range c.waiters {
						if w.c != nil {
							seen[w.c] = n
						}
					}
					if c.listener != nil {
						seen[c.listener] = n
					}
				}
			}
		}
		for _, w := range n.requests {
			seen[w.c] = n
		}
	}
	var l []*cf
	for c, n := range seen {
		c.home = n
		l = append(l, c)
	}
	sort.Slice(l, func(i, j int) bool { return l[i].id < l[j].id })
	return l
}

// stuck explains the CFs left over.
func (e *engine) stuck(left []*cf) *StuckError {
	s := &StuckError{CFs: make([]PendingCF, len(left))}
	for i, c := range left {
		p := &s.CFs[i]
		*p = PendingCF{ID: c.id, Node: c.home.id, Stmt: c.st, Executed: c.zombie, Root: true}
		if e.cfg.Records != nil && !c.zombie {
			c.home.rts.record(c)
		}
		for k, in := range c.st.Inputs {
			if !c.inputs[k].asked {
				continue
			}
			if c.inputs[k].have && !c.zombie {
				continue
			}
			id, _ := c.home.rts.refIdent(in.Ref, &env{f: c.ctx(), c: c})
			a := AwaitedDF{Ref: in.Ref.Src, Text: in.Ref.Text, Full: e.identText(&id), ID: id.list(), Pushed: in.Push, Declared: e.prog.Decls[id.decl].Pos}
			for j, o := range left {
				if o != c && !o.zombie && e.mayMake(o, &id) {
					a.By = &s.CFs[j]
					p.Root = false
					break
				}
			}
			if a.By == nil {
				a.Makers = e.makersOf(id.decl)
			}
			p.Awaits = append(p.Awaits, a)
		}
	}
	return s
}

// symFrame is a frame that may not exist yet: that of a block which a pending CF would enter. Names declared in it are new
// and can be nobody's awaited DF.
type symFrame struct {
	real   *frame
	parent *symFrame
	params []*ident // of a sub that would be called: the cells passed, as far as known; nil: a new one or no name
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

// prefix resolves a reference as far as it is known: the identity up to the first unknown index, nil for a new name.
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
		switch x.Op {
		case luna.OpAdd:
			a += b
		case luna.OpSub:
			a -= b
		default:
			a *= b
		}
		return a, ok1 && ok2
	}
	return 0, false
}

// mayMake reports whether a pending CF, or a CF it would create, could initialise the DF.
func (e *engine) mayMake(c *cf, x *ident) bool {
	s := symbolic(c.ctx())
	if c.st.Kind == luna.SubBody {
		return blockMakes(c.st.Sub.Body, s, x, map[*luna.Sub]int{})
	}
	return stmtMakes(c.st, s, x, map[*luna.Sub]int{})
}

func blockMakes(b *luna.Block, s *symFrame, x *ident, depth map[*luna.Sub]int) bool {
	return slices.ContainsFunc(b.Stmts, func(st *luna.Stmt) bool { return stmtMakes(st, s, x, depth) })
}

// maxRecursion bounds how deep recursive subs are followed.
const maxRecursion = 3

func stmtMakes(st *luna.Stmt, s *symFrame, x *ident, depth map[*luna.Sub]int) bool {
	body := s
	inside := s != nil && s.real != nil && s.real.block == st.Body // a while loop that has its iteration's frame
	if st.Body != nil && st.Body.Frame && !inside {
		body = &symFrame{parent: s}
	}
	own := s
	if st.Kind == luna.WhileLoop {
		own = body
	}
	for i := range st.Effects {
		if f := &st.Effects[i]; f.Kind != luna.Destroy {
			if p := own.prefix(f.Ref.Name, f.Ref.Idx); p != nil && x.hasPrefix(p) {
				return true
			}
		}
	}
	switch st.Kind {
	case luna.ForLoop, luna.IfCond, luna.WhileLoop:
		return blockMakes(st.Body, body, x, depth)
	case luna.SubCall:
		if depth[st.Sub] >= maxRecursion {
			return false
		}
		callee := &symFrame{params: make([]*ident, len(st.Sub.Params))}
		for i := range st.Args {
			if a := &st.Args[i]; a.Kind == luna.NameParam {
				callee.params[i] = s.prefix(a.Name, a.Idx)
			}
		}
		depth[st.Sub]++
		defer func() { depth[st.Sub]-- }()
		return blockMakes(st.Sub.Body, callee, x, depth)
	}
	return false
}

// makersOf lists the statements that post or push a DF of the declared name, directly or through a name parameter of the
// same spelling in another sub.
func (e *engine) makersOf(decl luna.DeclID) []*luna.Stmt {
	d := e.prog.Decls[decl]
	var l []*luna.Stmt
	for _, st := range e.prog.Stmts {
		for i := range st.Effects {
			f := &st.Effects[i]
			if f.Kind == luna.Destroy || f.Ref.Name.Param {
				continue
			}
			if b := frameBlock(st, f.Ref.Name.Depth); b != nil && b == d.Block && b.Names[f.Ref.Name.Slot] == decl {
				l = append(l, st)
				break
			}
		}
		for i := range st.Args {
			a := &st.Args[i]
			if st.Kind == luna.SubCall && a.Kind == luna.NameParam && !a.Name.Param {
				if b := frameBlock(st, a.Name.Depth); b != nil && b == d.Block && b.Names[a.Name.Slot] == decl && !slices.Contains(l, st) {
					l = append(l, st)
				}
			}
		}
	}
	return l
}

// frameBlock is the block whose frame is depth frames up from where the statement's effects are evaluated.
func frameBlock(st *luna.Stmt, depth int) *luna.Block {
	b := st.Block
	if st.Kind == luna.WhileLoop {
		b = st.Body
	}
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

// shownDFs is how many awaited DFs of one statement are listed.
const shownDFs = 4

// Explain prints which CFs wait, for which DFs, and whether anything can still make them. Without all, CFs that wait for
// other pending CFs are only counted.
func (e *StuckError) Explain(out io.Writer, all bool) error {
	w := &strings.Builder{}
	roots := 0
	for i := range e.CFs {
		if e.CFs[i].Root {
			roots++
		}
	}
	if roots == 0 {
		fmt.Fprintln(w, "Each of these CFs waits for another one of them: a cycle.")
		all = true
	}
	var order []*luna.Stmt
	groups := map[*luna.Stmt][]*PendingCF{}
	for i := range e.CFs {
		p := &e.CFs[i]
		if !all && !p.Root {
			continue
		}
		if groups[p.Stmt] == nil {
			order = append(order, p.Stmt)
		}
		groups[p.Stmt] = append(groups[p.Stmt], p)
	}
	for _, st := range order {
		explainStmt(w, st, groups[st])
	}
	if rest := len(e.CFs) - roots; rest > 0 && !all {
		fmt.Fprintf(w, "%s for what these would have made.\n", count(rest, "more CF waits", "more CFs wait"))
	}
	_, err := io.WriteString(out, w.String())
	return err
}

func explainStmt(w *strings.Builder, st *luna.Stmt, cfs []*PendingCF) {
	fmt.Fprintf(w, "  %s: %s", posText(st.Pos), st.Text)
	switch {
	case cfs[0].Executed:
		fmt.Fprint(w, " has run, but asked twice for")
	case len(cfs) == 1:
		fmt.Fprint(w, " never ran, it waits for")
	default:
		fmt.Fprintf(w, " never ran (%d CFs), they wait for", len(cfs))
	}
	shown, more := map[string]bool{}, 0
	for _, p := range cfs {
		for i := range p.Awaits {
			a := &p.Awaits[i]
			if shown[a.Full] {
				continue
			}
			if len(shown) == shownDFs {
				more++
				continue
			}
			shown[a.Full] = true
			fmt.Fprintf(w, "\n    %s", a.Full)
			if a.Ref != a.Full {
				fmt.Fprintf(w, " (here %s)", a.Ref)
			}
			switch {
			case p.Executed:
				fmt.Fprint(w, ": its count serves fewer requests than there are")
			case a.By != nil:
				fmt.Fprintf(w, ": would be made by %s at %s, which waits too", a.By.Stmt.Text, posText(a.By.Stmt.Pos))
			case len(a.Makers) == 0:
				fmt.Fprintf(w, ": no statement of the program makes %s (declared at %s)", nameOf(a.Full), posText(a.Declared))
			default:
				fmt.Fprintf(w, ": nothing that is left can make it; %s is made by", nameOf(a.Full))
				for i, m := range a.Makers {
					if i == 3 {
						fmt.Fprintf(w, " and %d more", len(a.Makers)-i)
						break
					}
					if i > 0 {
						fmt.Fprint(w, ",")
					}
					fmt.Fprintf(w, " %s at %s", m.Text, posText(m.Pos))
				}
			}
		}
	}
	if more > 0 {
		fmt.Fprintf(w, "\n    and %d more", more)
	}
	fmt.Fprintln(w)
}

// nameOf is the declared name in grid[7][3].
func nameOf(full string) string {
	for i, c := range full {
		if c == '[' {
			return full[:i]
		}
	}
	return full
}
