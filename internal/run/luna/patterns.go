package luna

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Which DFs a CF deals with, as far as its statement tells: what a trace says of a statement, so that a
// reader can tell which CF could have made which DF.
//
//	add(sum[i], part[i], sum[i + 1])     sum[i], part[i] -> sum[i + 1]
//	for j = 0 .. n { make(j, part[j]); } n -> part[?]
//	two(x[0], x[1]) @ { req_count x[0] = 1; }
//	                                     -> x[0]; other x[1] = req_unlimited x[1]
//
// DFs have the names that they are declared with: a parameter of a sub stands for what its calls pass. An
// index is a number, a variable of the statement's surroundings, or one plus or minus a number; any other is
// "?". What CFs in the blocks of a statement would make counts as made by it, but for DFs that are declared
// there. After a semicolon come DFs that its rules lose: the Trap, which DF, and the rule that mends it.
//
// Where statements place DFs of a name by several rules, those of the statement follow in the same way:
//
//	put(a[i], 1)                         -> a[i]; stored a[i] = by prog.fa:9:5
//	use(a[i])                            a[i] ->; sought a[i] = row: locator_cyclic a[k] => k
//
// The first has the rule at that place; the second has none in its sub, row, which lacks the one after the
// colon.

// DFPattern is a name with indices.
type dfPattern struct {
	name    string
	indices []string
}

func (d dfPattern) String() string {
	if len(d.indices) == 0 {
		return d.name
	}
	return d.name + "[" + strings.Join(d.indices, "][") + "]"
}

// maxPatterns bounds how many DFs are listed for a statement, and maxSteps the search for them, which
// would take for ever where subs call each other several times. maxRecursion bounds how deep recursive subs
// are followed for a CF.
const (
	maxPatterns  = 32
	maxSteps     = 1 << 12
	maxRecursion = 3
)

// Frames tells what is known of the frames that a CF sees, by block.
type Frames interface {
	Known(b *Block) bool
	Name(b *Block, n *NameRef) string // the key, see Stuck, of what a name denotes
	Int(b *Block, slot int) int32
}

// patterns collects those of one statement.
type patterns struct {
	p     *Program
	known Frames // nil: no CF is looked at, but what its program says
	// inner are the blocks that the statement has yet to enter: their variables are not known, their names are
	// new.
	inner map[*Block]bool
	// passed are, by sub that the statement would call, the arguments: nil for one that is no name.
	passed map[*Sub][][]dfPattern
	calls  map[*Sub]int // being followed
	makes  []string
	steps  int
}

func (p *Program) newPatterns(known Frames) *patterns {
	return &patterns{p: p, known: known, inner: map[*Block]bool{}, passed: map[*Sub][][]dfPattern{},
		calls: map[*Sub]int{}}
}

// Makes gives the keys, see Stuck, of the DFs that a CF of a statement could make, itself or through CFs that
// it would create, as far as they are known before it runs: those in frames that it has yet to make are new
// and can be nobody's awaited DF.
func (p *Program) Makes(st *Stmt, known Frames) []string {
	x := p.newPatterns(known)
	x.inner[st.Body] = st.Kind == WhileLoop // of which any iteration from this one on is left
	x.whole(st)
	return x.makes
}

// Patterns tells what the CFs of a statement read and make, "sum[i], part[i] -> sum[i + 1]"; "" where that is
// too much.
func (p *Program) Patterns(st *Stmt) string {
	x := p.newPatterns(nil)
	var reads []string
	for k, in := range st.Inputs {
		// One of several possible names would make the reader look for what is not read.
		if list := x.resolve(st.asksIn(k), in.Ref.Name, in.Ref.Idx); len(list) == 1 {
			reads = note(reads, list, maxPatterns)
		}
	}
	x.whole(st)
	if x.steps > maxSteps || len(x.makes) == maxPatterns {
		return ""
	}
	text := strings.TrimSpace(strings.Join(reads, ", ") + " -> " + strings.Join(x.makes, ", "))
	for _, l := range st.Lost {
		for _, d := range x.resolve(st.frame(), l.Ref.Name, l.Ref.Idx) {
			text += fmt.Sprintf("; %s %s = %s", l.Trap, d, l.Mend)
		}
	}
	for k, in := range st.Inputs {
		if !in.Push {
			text += x.placed(st, Sought, st.asksIn(k), in.Ref)
		}
	}
	for i := range st.Effects {
		if f := &st.Effects[i]; f.Kind == Post {
			text += x.placed(st, Stored, st.frame(), f.Ref)
		}
	}
	return text
}

// Sought and Stored introduce what a trace says of the rules by which CFs look for DFs and store them.
const (
	Sought = "sought"
	Stored = "stored"
)

// placed tells by which rule a statement places the DFs of a reference, if others do it by another one.
func (x *patterns) placed(st *Stmt, what string, from *Block, r *DFRef) (text string) {
	if len(r.Places) == 0 {
		return ""
	}
	by := st.SubOf().Name
	if rule := r.Loc.Rule; rule != nil {
		by = "by " + rule.Pos.String()
	} else if rule := r.Missing(); rule != "" {
		by += ": " + rule
	}
	if strings.Contains(by, ";") {
		return "" // a file of such a name
	}
	for _, d := range x.resolve(from, r.Name, r.Idx) {
		if line := fmt.Sprintf("; %s %s = %s", what, d, by); !strings.Contains(text, line) {
			text += line
		}
	}
	return text
}

// asksIn is the block in whose frame a statement asks for an input.
func (st *Stmt) asksIn(input int) *Block {
	if slices.ContainsFunc(st.StartWaves, func(wave []int) bool { return slices.Contains(wave, input) }) {
		return st.Block
	}
	return st.frame()
}

// note adds patterns that are not there, as long as there are fewer than most.
func note(list []string, more []dfPattern, most int) []string {
	for _, d := range more {
		if s := d.String(); len(list) < most && !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// whole looks at the statement that this is about.
func (x *patterns) whole(st *Stmt) {
	x.statement(st)
	if st.Kind == SubBody {
		x.block(st.Sub.Body)
	}
}

func (x *patterns) statement(st *Stmt) {
	most, recursion := maxPatterns, 1
	if x.known != nil {
		most, recursion = math.MaxInt, maxRecursion
	} else if x.steps++; x.steps > maxSteps {
		return
	}
	for i := range st.Effects {
		if f := &st.Effects[i]; f.Kind != Destroy {
			x.makes = note(x.makes, x.resolve(st.frame(), f.Ref.Name, f.Ref.Idx), most)
		}
	}
	switch st.Kind {
	case ForLoop, IfCond, WhileLoop:
		x.enter(st.Body)
	case SubCall:
		if x.calls[st.Sub] == recursion || st.Sub.Body == nil {
			return // recursive: it makes the same DFs again, with other indices
		}
		args := make([][]dfPattern, len(st.Args))
		for i := range st.Args {
			if a := &st.Args[i]; a.Kind == NameParam {
				args[i] = x.resolve(st.frame(), a.Name, a.Idx)
			}
		}
		outer := x.passed[st.Sub]
		x.passed[st.Sub] = args
		x.calls[st.Sub]++
		x.enter(st.Sub.Body)
		x.calls[st.Sub]--
		x.passed[st.Sub] = outer
	}
}

// enter looks at a block that is yet to be entered.
func (x *patterns) enter(b *Block) {
	was := x.inner[b]
	x.inner[b] = true
	x.block(b)
	x.inner[b] = was
}

func (x *patterns) block(b *Block) {
	for _, st := range b.Stmts {
		x.statement(st)
	}
}

// isNew tells whether the frame of a block does not exist yet.
func (x *patterns) isNew(b *Block) bool { return x.inner[b] || x.known != nil && !x.known.Known(b) }

// resolve gives what a reference in the frame of a block may stand for.
func (x *patterns) resolve(from *Block, n *NameRef, idx []*Expr) (list []dfPattern) {
	b := outward(from, n.Depth)
	switch {
	case b == nil:
		return nil
	case !n.Param && x.isNew(b):
		return nil // declared where the statement has yet to come
	case x.known != nil && !x.isNew(b):
		list = []dfPattern{{name: x.known.Name(b, n)}}
	case !n.Param:
		list = []dfPattern{{name: x.p.Decls[b.Names[n.Slot]].Name}}
	case x.isNew(b):
		if args := x.passed[b.Sub]; n.Slot < len(args) {
			list = slices.Clone(args[n.Slot])
		}
	default:
		seen := map[origin]bool{}
		list = x.p.passedTo(b.Sub, n.Slot, seen)
	}
	for i := range list {
		list[i].indices = slices.Clip(list[i].indices)
		for _, e := range idx {
			text := x.index(from, e)
			if x.known != nil && text == unknownIndex {
				break // the indices before it stand for all DFs that begin so
			}
			list[i].indices = append(list[i].indices, text)
		}
	}
	return list
}

// passedTo gives what the calls of a sub pass as a parameter. Variables of the calls are not those of the
// statement. seen are the parameters that have been looked at.
func (p *Program) passedTo(sub *Sub, slot int, seen map[origin]bool) (list []dfPattern) {
	o := origin{-1, sub, slot}
	if seen[o] {
		return nil
	}
	seen[o] = true
	for _, st := range p.Stmts {
		if st.Kind != SubCall || st.Sub != sub || slot >= len(st.Args) || st.Args[slot].Kind != NameParam {
			continue
		}
		a := &st.Args[slot]
		from, ok := originOf(st, a.Name)
		var passed []dfPattern
		switch {
		case !ok:
		case from.sub != nil:
			passed = p.passedTo(from.sub, from.slot, seen)
		default:
			passed = []dfPattern{{name: p.Decls[from.decl].Name}}
		}
		for _, d := range passed {
			for _, e := range a.Idx {
				d.indices = append(slices.Clip(d.indices), constant(e))
			}
			if !slices.ContainsFunc(list, func(o dfPattern) bool { return o.String() == d.String() }) {
				list = append(list, d)
			}
		}
	}
	return list
}

const unknownIndex = "?"

func constant(e *Expr) string {
	if e.Op == OpInt {
		return strconv.FormatInt(e.I, 10)
	}
	return unknownIndex
}

// int evaluates what needs neither DFs nor values of frames that do not exist yet.
func (x *patterns) int(from *Block, e *Expr) (int32, bool) {
	switch e.Op {
	case OpInt:
		return int32(e.I), true
	case OpValue:
		if b := outward(from, e.Depth); b != nil && !x.isNew(b) && e.Type == Int {
			return x.known.Int(b, e.Slot), true
		}
	case OpNeg:
		a, ok := x.int(from, e.A)
		return -a, ok
	case OpAdd, OpSub, OpMul:
		a, ok1 := x.int(from, e.A)
		b, ok2 := x.int(from, e.B)
		return Arith(e.Op, a, b), ok1 && ok2
	}
	return 0, false
}

// index is "3", "i", "i + 1", "i - 1", or "?"; of a CF a number or "?".
func (x *patterns) index(from *Block, e *Expr) string {
	if x.known != nil {
		if n, ok := x.int(from, e); ok {
			return strconv.Itoa(int(n))
		}
		return unknownIndex
	}
	variable := func(e *Expr) string {
		if b := outward(from, e.Depth); e.Op == OpValue && b != nil && !x.inner[b] && e.Slot < len(b.Values) {
			return b.Values[e.Slot]
		}
		return ""
	}
	switch {
	case e.Op == OpValue:
		if v := variable(e); v != "" {
			return v
		}
	case e.Op == OpAdd || e.Op == OpSub:
		a, b := e.A, e.B
		if e.Op == OpAdd && a.Op == OpInt {
			a, b = b, a
		}
		if v := variable(a); v != "" && b.Op == OpInt {
			return v + map[Op]string{OpAdd: " + ", OpSub: " - "}[e.Op] + constant(b)
		}
	}
	return constant(e)
}
