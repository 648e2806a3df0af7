package luna

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// What to write where, so that CFs and DFs go elsewhere: the rules that place them, as changes of the source.

// Edit replaces the source from one position up to, without, another in the same file.
type Edit struct {
	From, To Pos
	Text     string
}

// span is a stretch of the source: From up to, without, To. It is unknown where macros have written an end of
// it.
type span struct {
	from, to Pos
	known    bool
}

// blank is where a rule is to be written.
type blank struct {
	at  span
	how blankKind
}

type blankKind uint8

const (
	instead blankKind = iota // of a rule that is there
	inside                   // a block of rules, behind its brace
	beside                   // a statement or sub without such a block
)

// span is that of the preprocessed text from one offset up to another.
func (c *checker) span(from, to int32) span {
	first, last := c.org[from], c.org[max(to-1, from)]
	s := span{from: c.posOf(first), to: c.posOf(last),
		known: first.exp == 0 && last.exp == 0 && first.file == last.file}
	s.to.Col++
	return s
}

// blank is one for rules behind open, or if that is 0 for a block of them at end.
func (c *checker) blank(open, end int32) blank {
	b := blank{how: beside}
	if open > 0 {
		b.how, end = inside, open
	}
	if end > 0 { // else the compiler has made it itself
		b.at = c.span(end-1, end)
		b.at.from = b.at.to
	}
	return b
}

var errMacro = errors.New("a macro writes its rules")

// write gives the edit that writes a rule. indent stands before it in a block of its own.
func (b *blank) write(rule, indent string) (Edit, error) {
	if !b.at.known {
		return Edit{}, errMacro
	}
	space, last := " ", " "
	if indent != "" {
		space, last = "\n"+indent, "\n"
	}
	switch b.how {
	case inside:
		rule = space + rule
	case beside:
		rule = " @ {" + space + rule + last + "}"
	}
	return Edit{b.at.from, b.at.to, rule}, nil
}

// Loop is a loop around a statement.
type Loop struct {
	Counter string
	First   string // the first value of the counter, as written; "" where it is not known
	Number  bool   // First is a number
}

// Loops gives the loops around a statement, within its sub, outermost first.
func (st *Stmt) Loops() (list []Loop) {
	for b := st.Block; b != nil && b.Owner.Kind != SubBody; b = b.Owner.Block {
		o := b.Owner
		if o.Kind != ForLoop && o.Kind != WhileLoop {
			continue
		}
		l, first := Loop{Counter: o.Body.Values[0]}, o.Lo
		if o.Kind == WhileLoop {
			first = o.Start
		}
		if first.Op == OpInt {
			l.First, l.Number = fmt.Sprint(first.I), true
		} else if _, text, ok := strings.Cut(o.Text, "= "); ok && o.Kind == ForLoop {
			l.First, _, _ = strings.Cut(text, " .. ")
		}
		list = append(list, l)
	}
	slices.Reverse(list)
	return list
}

// PlaceCFs gives what is to be written for the CFs of a call to go where an expression says, which may have
// the counters of its loops. line is the rule.
func (p *Program) PlaceCFs(st *Stmt, expression string) (line string, edits []Edit, err error) {
	line = "locator_cyclic: " + expression + ";"
	e, err := st.rules.write(line, "")
	return line, []Edit{e}, err
}

// PlaceDFs gives what is to be written for the DFs of a name to go where an expression says: expression gets
// the names of their indices, "" for those that a rule does not see. The subs that are given the DFs have
// rules of their own, all of which are written.
func (p *Program) PlaceDFs(decl DeclID, expression func(indices []string) (string, error)) (lines []string,
	edits []Edit, err error) {
	passes := p.passes()
	known := passes.slices(decl)
	for other := range p.Decls {
		if other != int(decl) {
			for o := range passes.slices(DeclID(other)) {
				if _, shared := known[o]; shared {
					return nil, nil, fmt.Errorf("a sub is given %s as well as %s", p.Decls[decl].Name, p.Decls[other].Name)
				}
			}
		}
	}
	seen, added := map[*LocRule]bool{}, map[string]bool{}
	p.references(func(st *Stmt, b *Block, r *DFRef) {
		o, ok := originFrom(b, r.Name)
		fixed, ours := known[o]
		if !ok || !ours || err != nil || r.Loc.Rule != nil && seen[r.Loc.Rule] {
			return
		}
		seen[r.Loc.Rule] = true
		if fixed == several || r.Loc.Kind == LocReplicating || r.Loc.Kind == LocReplicatingAll {
			err = errors.New("it is replicated, or subs get parts of it of several kinds")
			return
		}
		vars, where, indent := make([]string, len(r.Idx)), st.SubOf().rules, "    "
		for i := range vars {
			vars[i] = string(rune('i' + i%18))
		}
		if rule := r.Loc.Rule; rule != nil {
			vars, where = rule.vars, blank{at: rule.span}
		} else if key := st.SubOf().Name + " " + r.Name.Name; added[key] {
			return
		} else {
			added[key] = true
		}
		text, wrong := expression(append(make([]string, fixed), vars...))
		if wrong != nil {
			err = wrong
			return
		}
		line := "locator_cyclic " + r.Name.Name
		for _, v := range vars {
			line += "[" + v + "]"
		}
		line += " => " + text + ";"
		e, wrong := where.write(line, indent)
		lines, edits, err = append(lines, line), append(edits, e), wrong
	})
	return lines, edits, err
}
