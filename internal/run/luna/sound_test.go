package luna

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// checkProgram checks what an engine relies on: numbering, waves, references.
func checkProgram(t interface{ Fatalf(string, ...any) }, p *Program) {
	for id, st := range p.Stmts {
		if st.ID != id || st.Code < 0 || st.Code >= len(p.Codes) || p.Codes[st.Code].Kind != st.Kind {
			t.Fatalf("statement %d: %s", id, st.Text)
		}
		seen := map[int]bool{}
		for _, waves := range [][][]int{st.Home.Waves, st.StartWaves, st.Waves} {
			for _, w := range waves {
				for _, k := range w {
					if seen[k] || k < 0 || k >= len(st.Inputs) {
						t.Fatalf("%s: input %d", st.Text, k)
					}
					// An input's dependencies are requested in an earlier wave.
					r := st.Inputs[k].Ref
					for _, e := range append([]*Expr{r.Loc.Expr}, r.Idx...) {
						walk(e, func(e *Expr) {
							if e.Op == OpInput && !seen[e.K] || e.Op == OpOutput {
								t.Fatalf("%s: input %d needs %s", st.Text, k, e)
							}
						})
					}
				}
				for _, k := range w {
					seen[k] = true
				}
			}
		}
		if len(seen) != len(st.Inputs) {
			t.Fatalf("%s: inputs in no wave", st.Text)
		}
		if (st.Kind == Atomic) != (st.Routine != nil) ||
			st.Kind == SubCall && len(st.NFArgs) != len(st.Sub.NFParams) {
			t.Fatalf("%s: callee", st.Text)
		}
		checkRefs(t, p, st)
	}
	for id, b := range p.Blocks {
		if b.ID != id || b.Frame != (len(b.Values)+len(b.Names) > 0 || b.Owner.Kind == SubBody) {
			t.Fatalf("block %d", id)
		}
	}
}

// checkRefs follows every reference of a statement through the frames to the name it was written with.
func checkRefs(t interface{ Fatalf(string, ...any) }, p *Program, st *Stmt) {
	frame := st.Block
	if st.Kind == WhileLoop {
		frame = st.Body
	}
	up := func(b *Block, depth int) *Block {
		for {
			if b.Frame {
				if depth == 0 {
					return b
				}
				depth--
			}
			if b.Owner.Block == nil {
				t.Fatalf("%s: reference beyond the sub", st.Text)
			}
			b = b.Owner.Block
		}
	}
	expr := func(from *Block, e *Expr) {
		walk(e, func(e *Expr) {
			if e.Op == OpValue && e.Slot >= len(up(from, e.Depth).Values) {
				t.Fatalf("%s: %s", st.Text, e)
			}
			if e.Op == OpInput && e.K >= len(st.Inputs) || e.Op == OpOutput && e.K >= len(st.Outs) {
				t.Fatalf("%s: %s", st.Text, e)
			}
		})
	}
	name := func(from *Block, n *NameRef) {
		b := up(from, n.Depth)
		var got string
		if n.Param {
			got = b.Values[n.Slot]
		} else {
			d := p.Decls[b.Names[n.Slot]]
			if got = d.Name; d.Block != b {
				t.Fatalf("%s: %s is declared elsewhere", st.Text, n)
			}
		}
		if got != n.Name {
			t.Fatalf("%s: %s refers to %s", st.Text, n, got)
		}
	}
	ref := func(from *Block, r *DFRef) {
		name(from, r.Name)
		for _, i := range r.Idx {
			expr(from, i)
		}
		expr(from, r.Loc.Expr)
		walk(r.Loc.Expr, func(e *Expr) {
			if e.Op == OpIndex && e.K >= len(r.Idx) {
				t.Fatalf("%s: %s", st.Text, r)
			}
		})
	}
	start := map[int]bool{}
	for _, w := range st.StartWaves {
		for _, k := range w {
			start[k] = true
		}
	}
	for k, in := range st.Inputs {
		if start[k] {
			ref(st.Block, in.Ref)
		} else {
			ref(frame, in.Ref)
		}
	}
	for _, o := range st.Outs {
		ref(frame, o)
	}
	for _, a := range st.Args {
		expr(frame, a.Expr)
		if a.Name != nil {
			name(frame, a.Name)
		}
		for _, i := range a.Idx {
			expr(frame, i)
		}
	}
	for _, e := range st.Effects {
		ref(frame, e.Ref)
		expr(frame, e.Count)
		if e.To != nil {
			name(frame, e.To)
			expr(frame, e.ToLoc.Expr)
		}
	}
	if st.Label != nil {
		name(frame, st.Label)
	}
	for _, e := range append([]*Expr{st.Home.Expr, st.Lo, st.Hi, st.Cond, st.Weight},
		append(st.NFArgs, st.LabelIdx...)...) {
		expr(frame, e)
	}
	expr(st.Block, st.Start)
}

// progGen draws programs that are valid by construction.
type progGen struct {
	*rapid.T
	strings.Builder
	dfs, ints []string
	n         int
}

func (g *progGen) fresh(p string) string { g.n++; return fmt.Sprintf("%s%d", p, g.n) }
func (g *progGen) pick(n int) int        { return rapid.IntRange(0, n-1).Draw(g.T, "pick") }

func (g *progGen) df(depth int) string {
	s := g.dfs[g.pick(len(g.dfs))]
	if depth > 0 && g.pick(2) == 0 {
		s += "[" + g.int(depth-1) + "]"
	}
	return s
}

func (g *progGen) int(depth int) string {
	switch k := g.pick(6); {
	case k == 0 && len(g.ints) > 0, k == 1 && len(g.ints) > 0:
		return g.ints[g.pick(len(g.ints))]
	case k == 2 && depth > 0 && len(g.dfs) > 0:
		return g.df(depth - 1)
	case k == 3 && depth > 0:
		return "(" + g.int(depth-1) + []string{" + ", " * ", " < ", " && "}[g.pick(4)] + g.int(depth-1) + ")"
	}
	return fmt.Sprint(g.pick(9))
}

func (g *progGen) rules() string {
	s := ""
	for range g.pick(3) {
		d := g.df(1)
		s += []string{"request " + d + "; ", "locator_replicating " + g.fresh("z") + "[i] => all; ", "delete " + d +
			"; ", "req_count " + d + " = " + g.int(2) + "; ", "foo; "}[g.pick(5)]
	}
	if g.pick(3) == 0 {
		s += "locator_cyclic: " + g.int(2) + "; "
	}
	if s == "" {
		return ""
	}
	return " @ { " + s + "}"
}

func (g *progGen) block(depth int) {
	dfs, ints := g.dfs, g.ints
	g.WriteString("{ ")
	if g.pick(2) == 0 {
		d := g.fresh("d")
		g.WriteString("df " + d + "; ")
		g.dfs = append(g.dfs[:len(g.dfs):len(g.dfs)], d)
	}
	for range 1 + g.pick(3) {
		g.stmt(depth)
	}
	g.WriteString("}")
	g.dfs, g.ints = dfs, ints
}

func (g *progGen) stmt(depth int) {
	k := g.pick(8)
	if depth == 0 {
		k = g.pick(4)
	}
	ints, dfs := g.ints, g.dfs
	counter := func() {
		c := g.fresh("c")
		g.WriteString(c)
		g.ints = append(g.ints[:len(g.ints):len(g.ints)], c)
	}
	switch k {
	case 0:
		g.WriteString("put(" + g.df(2) + ", " + g.int(3) + ")" + g.rules() + "; ")
	case 1:
		g.WriteString("cf " + g.fresh("l") + "[" + g.int(1) + "]: g(" + g.df(2) + ") >> (" + g.df(1) + ") --> (" +
			g.df(2) + ")" + g.rules() + "; ")
	case 2:
		g.WriteString("s(" + g.df(2) + ", " + g.int(2) + ") @ { nfparam p => " + g.int(1) + "; }; ")
	case 3:
		g.WriteString("fs(\"a\" + " + g.df(1) + "); ")
	case 4:
		lo, hi := g.int(2), g.int(2)
		g.WriteString("for ")
		counter()
		g.WriteString(" = " + lo + " .. " + hi + " ")
		g.block(depth - 1)
		g.ints = ints
		g.WriteString(g.rules() + " ")
	case 5:
		g.WriteString("if " + g.int(3) + " ")
		g.block(depth - 1)
		g.WriteString(g.rules() + " ")
	case 6:
		start, cond := g.int(2), g.int(2)
		g.WriteString("while " + cond + ", ")
		counter()
		g.WriteString(" = " + start + " .. out " + g.df(2) + " ")
		g.block(depth - 1)
		g.WriteString(g.rules() + " ")
	case 7:
		d, n := g.fresh("r"), g.fresh("n")
		g.WriteString("let " + d + " = " + g.df(1) + ", " + n + " = " + g.int(1) + " ")
		g.dfs = append(g.dfs[:len(g.dfs):len(g.dfs)], d)
		g.ints = append(g.ints[:len(g.ints):len(g.ints)], n)
		g.block(depth - 1)
		g.ints, g.dfs = ints, dfs
		g.WriteString(g.rules() + " ")
	}
	g.ints, g.dfs = ints, dfs
}

func TestRandomProgramsAreSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := &progGen{T: t}
		g.WriteString(lib)
		g.WriteString("sub s(name v, int n) ")
		g.dfs, g.ints = []string{"v"}, []string{"n"}
		g.block(3)
		g.WriteString(" @ { nfparam p; locator_cyclic w => p; }")
		src := g.String()
		src += "\nsub main() { df x; s(x, 1); }"
		p, err := Compile(opts(src, nil))
		if err != nil {
			t.Fatalf("%s\n%s", src, formatted(diags(err)))
		}
		checkProgram(t, p)
	})
}
