package luna

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

var opNames = [...]string{OpNeg: "neg", OpAdd: "+", OpSub: "-", OpMul: "*", OpDiv: "/", OpMod: "%", OpLT: "<",
	OpLE: "<=",
	OpGT: ">", OpGE: ">=", OpEQ: "==", OpNE: "!=", OpAnd: "&&", OpOr: "||", OpToInt: "int", OpToReal: "real",
	OpToStr: "string", OpConcat: "++"}

// String is a short form for dumps: (+ value[0.1] in2:int). Operations on values known at run time only have
// a "?".
func (e *Expr) String() string {
	if e == nil {
		return "-"
	}
	t := ":" + e.Type.String()
	if e.Type == Dyn {
		t = "?"
	}
	switch e.Op {
	case OpInt:
		return strconv.Itoa(int(e.I))
	case OpReal:
		s := strconv.FormatFloat(e.F, 'g', -1, 64)
		if e.F == math.Trunc(e.F) && !strings.ContainsAny(s, "eIN") {
			s += ".0"
		}
		return s
	case OpString:
		return strconv.Quote(e.S)
	case OpValue:
		return fmt.Sprintf("v%d.%d%s", e.Depth, e.Slot, t)
	case OpInput:
		return fmt.Sprintf("in%d%s", e.K, t)
	case OpOutput:
		return fmt.Sprintf("out%d%s", e.K, t)
	case OpIndex:
		return fmt.Sprintf("idx%d", e.K)
	case OpCond:
		return fmt.Sprintf("(if %s %s %s)", e.A, e.B, e.C)
	case OpUnset:
		return "(unset)"
	}
	name := opNames[e.Op]
	if e.Type == Dyn {
		name += "?"
	} else if e.Type == Real && e.Op <= OpMod {
		name += "."
	}
	if e.B == nil {
		return fmt.Sprintf("(%s %s)", name, e.A)
	}
	return fmt.Sprintf("(%s %s %s)", name, e.A, e.B)
}

// String is a short form for dumps: x{1.0}[v0.0:int], the name with depth and slot, p before that of a
// parameter.
func (n *NameRef) String() string {
	p := ""
	if n.Param {
		p = "p"
	}
	return fmt.Sprintf("%s{%s%d.%d}", n.Name, p, n.Depth, n.Slot)
}

func indexText(idx []*Expr) string {
	s := ""
	for _, i := range idx {
		s += "[" + i.String() + "]"
	}
	return s
}

// String is a short form for dumps, with " @ node" if the reference has a locator.
func (r *DFRef) String() string {
	s := r.Name.String() + indexText(r.Idx)
	switch r.Loc.Kind {
	case LocCyclic:
		s += " @ " + r.Loc.Expr.String()
	case LocReplicating:
		s += " @ every " + r.Loc.Expr.String()
	case LocReplicatingAll:
		s += " @ all"
	}
	return s
}

type dumper struct {
	io.Writer
	p *Program
}

// Dump writes the lowered program as text: subs, blocks, statements with inputs by waves, outputs and
// effects. Errors of w are ignored.
func (p *Program) Dump(w io.Writer) {
	d := dumper{w, p}
	for i, h := range p.Heads {
		fmt.Fprintf(d, "head %d: block %d at %s\n", i, h.Index, h.Pos)
	}
	for _, r := range p.Routines {
		var kinds []string
		for _, q := range r.Params {
			kinds = append(kinds, q.Kind.String())
		}
		from := "import " + r.CName
		if r.Body != nil {
			from = fmt.Sprintf("block %d", r.Body.Index)
		}
		fmt.Fprintf(d, "routine %d %s(%s): %s\n", r.ID, r.Name, strings.Join(kinds, ", "), from)
	}
	for _, s := range p.Subs {
		entry := ""
		if s == p.Main {
			entry = " (entry)"
		}
		fmt.Fprintf(d, "%s%s, s%d\n", s.Start.Text, entry, s.Start.ID)
		d.block(s.Body, "  ")
	}
	for _, warning := range p.Warnings {
		fmt.Fprintf(d, "warning %s: %s\n", warning.Pos, warning.Msg)
	}
}

func (d dumper) block(b *Block, in string) {
	fmt.Fprintf(d, "%sblock %d", in, b.ID)
	if !b.Frame {
		fmt.Fprint(d, " no frame")
	}
	if len(b.Values) > 0 {
		fmt.Fprintf(d, " values %s", strings.Join(b.Values, ", "))
	}
	for i, n := range b.Names {
		sep := ", "
		if i == 0 {
			sep = " names "
		}
		fmt.Fprint(d, sep+d.p.Decls[n].Name)
		if d.p.Decls[n].Label {
			fmt.Fprint(d, ":")
		}
	}
	fmt.Fprintln(d)
	for _, s := range b.Stmts {
		d.stmt(s, in+"  ")
	}
}

func (d dumper) stmt(s *Stmt, in string) {
	fmt.Fprintf(d, "%ss%d", in, s.ID)
	if s.Label != nil {
		fmt.Fprintf(d, " %s%s:", s.Label, indexText(s.LabelIdx))
	}
	fmt.Fprintf(d, " %s\n", s.Text)
	in += "    "
	if s.Home.Expr != nil || s.Home.Replicating {
		fmt.Fprintf(d, "%shome %s\n", in, homeText(s.Home))
	}
	d.waves(s, in, "home wave", s.Home.Waves)
	d.waves(s, in, "start wave", s.StartWaves)
	d.waves(s, in, "wave", s.Waves)
	if s.Stealable {
		fmt.Fprintf(d, "%sstealable\n", in)
	}
	if s.Weight != nil {
		fmt.Fprintf(d, "%sweight %s\n", in, s.Weight)
	}
	var args []string
	for _, a := range s.Args {
		switch {
		case a.Expr != nil:
			args = append(args, a.Expr.String())
		case a.Out >= 0:
			args = append(args, fmt.Sprintf("&out%d", a.Out))
		default:
			args = append(args, "&"+a.Name.String()+indexText(a.Idx))
		}
	}
	for _, a := range s.NFArgs {
		args = append(args, "nf "+a.String())
	}
	if args != nil {
		fmt.Fprintf(d, "%sargs %s\n", in, strings.Join(args, ", "))
	}
	for k, o := range s.Outs {
		what := "out"
		if s.Kind != WhileLoop && k >= s.NArgOuts {
			what = "token"
		}
		fmt.Fprintf(d, "%s%s %s%s\n", in, what, o.Name, indexText(o.Idx))
	}
	switch s.Kind {
	case ForLoop:
		fmt.Fprintf(d, "%sfrom %s to %s\n", in, s.Lo, s.Hi)
	case WhileLoop:
		fmt.Fprintf(d, "%sstart %s while %s\n", in, s.Start, s.Cond)
	case IfCond:
		fmt.Fprintf(d, "%sif %s\n", in, s.Cond)
	}
	for _, e := range s.Effects {
		d.effect(e, in)
	}
	if s.Body != nil {
		d.block(s.Body, in)
	}
}

func homeText(h Home) string {
	if h.Replicating {
		return "where created"
	}
	return h.Expr.String()
}

func (d dumper) waves(s *Stmt, in, what string, waves [][]int) {
	for _, w := range waves {
		fmt.Fprintf(d, "%s%s", in, what)
		for i, k := range w {
			sep := ","
			if i == 0 {
				sep = ":"
			}
			fmt.Fprintf(d, "%s in%d %s", sep, k, s.Inputs[k].Ref)
			if s.Inputs[k].Push {
				fmt.Fprint(d, " pushed")
			}
			if s.Inputs[k].Control {
				fmt.Fprint(d, " control")
			}
		}
		fmt.Fprintln(d)
	}
}

func (d dumper) effect(e Effect, in string) {
	value := ""
	if e.Out >= 0 {
		value = fmt.Sprintf(" = out%d", e.Out)
	}
	switch e.Kind {
	case Post:
		count := "unlimited"
		if e.Count != nil {
			count = "count " + e.Count.String()
		}
		fmt.Fprintf(d, "%spost %s%s %s\n", in, e.Ref, value, count)
	case Destroy:
		fmt.Fprintf(d, "%sdelete %s\n", in, e.Ref)
	case Push:
		fmt.Fprintf(d, "%spush %s%s to %s%s", in, e.Ref, value, e.To, indexText(e.ToIdx))
		if e.ToLoc.Expr != nil || e.ToLoc.Replicating {
			fmt.Fprintf(d, " on %s", homeText(e.ToLoc))
		}
		fmt.Fprintln(d)
	}
}
