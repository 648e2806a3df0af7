package placement

import (
	"cmp"
	"errors"
	"reflect"
	"slices"
	"strconv"

	"github.com/whyslow/whyslow/internal/run/luna"
)

// Rule is what to write in a program for a statement or name to go where a placement says.
type Rule struct {
	What string   `json:"what"` // a statement or name
	File string   `json:"file"`
	Line int      `json:"line"`
	Text []string `json:"text,omitempty"` // the rules
	Why  string   `json:"why,omitempty"`  // why there are none
}

var errNoExpression = errors.New("no expression of its indices gives these nodes")

// Source finds the rules to write in a program, and the edits that write them, for what goes elsewhere than
// by another placement, which is to be what the program says now.
func (f *File) Source(p *luna.Program, was *File) (rules []Rule, edits []luna.Edit) {
	add := func(r Rule, own []luna.Edit, err error) {
		if err != nil {
			r.Text, r.Why, own = nil, err.Error(), nil
		} else {
			r.File, r.Line = own[0].From.File, own[0].From.Line
		}
		rules, edits = append(rules, r), append(edits, own...)
	}
	statements := f.statements(p)
	for i := range f.CFs {
		g, st := &f.CFs[i], statements[i]
		same := func(o CFs) bool {
			return o.Statement == g.Statement && o.Line == g.Line && reflect.DeepEqual(o.Places, g.Places)
		}
		if st == nil || !Movable(st) || slices.ContainsFunc(was.CFs, same) {
			continue
		}
		r := Rule{What: g.Statement, File: st.Pos.File, Line: st.Pos.Line}
		points := spread(g.Places)
		text := ""
		if vars, ok := counters(st, points); ok {
			text = express(points, vars, f.Nodes)
		}
		if text == "" {
			add(r, nil, errNoExpression)
			continue
		}
		line, own, err := p.PlaceCFs(st, text)
		r.Text = []string{line}
		add(r, own, err)
	}
	replicated := p.Replicated()
	for i := range f.DFs {
		g := &f.DFs[i]
		same := func(o DFs) bool { return o.Name == g.Name && reflect.DeepEqual(o.Places, g.Places) }
		if slices.ContainsFunc(was.DFs, same) {
			continue
		}
		var decls []luna.DeclID
		for id, d := range p.Decls {
			if d.Name == g.Name && !d.Label && !replicated[luna.DeclID(id)] {
				decls = append(decls, luna.DeclID(id))
			}
		}
		if len(decls) == 0 {
			continue
		}
		at := p.Decls[decls[0]].Pos
		r := Rule{What: g.Name, File: at.File, Line: at.Line}
		if len(decls) > 1 {
			add(r, nil, errors.New("several names are called so"))
			continue
		}
		points := spread(g.Places)
		lines, own, err := p.PlaceDFs(decls[0], func(indices []string) (string, error) {
			vars := make([]variable, len(indices))
			for i, name := range indices {
				vars[i].name = name
			}
			if text := express(points, vars, f.Nodes); text != "" {
				return text, nil
			}
			return "", errNoExpression
		})
		if err == nil && len(own) == 0 {
			continue
		}
		r.Text = lines
		add(r, own, err)
	}
	slices.SortStableFunc(rules, func(a, b Rule) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return rules, edits
}

// statements finds those of a program that the entries are about; nil where there is none.
func (f *File) statements(p *luna.Program) []*luna.Stmt {
	texts := map[string][]*luna.Stmt{}
	for _, st := range p.Stmts {
		texts[st.Text] = append(texts[st.Text], st)
	}
	same := map[string][]*CFs{}
	for i := range f.CFs {
		g := &f.CFs[i]
		same[g.Statement] = append(same[g.Statement], g)
	}
	list := make([]*luna.Stmt, len(f.CFs))
	for i := range f.CFs {
		g := &f.CFs[i]
		list[i] = statement(g, same[g.Statement], texts[g.Statement])
	}
	return list
}

// spread gives the points of boxes.
func spread(list []Box) (points []Point) {
	for i := range list {
		b := &list[i]
		at := make([]int32, len(b.At))
		var each func(dim int)
		each = func(dim int) {
			if dim == len(at) {
				points = append(points, Point{slices.Clone(at), uint16(b.Node)})
				return
			}
			r := b.At[dim]
			for v := int64(r.First); v <= int64(r.Last); v += int64(r.Step) {
				at[dim] = int32(v)
				each(dim + 1)
			}
		}
		each(0)
	}
	return points
}

// counters are the variables of the paths of a statement: the counters of its loops, without names for the
// loops and calls around its sub.
func counters(st *luna.Stmt, points []Point) ([]variable, bool) {
	loops := st.Loops()
	n := len(points[0].At)
	if n < len(loops) {
		return nil, false
	}
	vars := make([]variable, n)
	for i, l := range loops {
		v := &vars[n-len(loops)+i]
		for j := range vars { // of two with one name only the inner one is seen
			if vars[j].name == l.Counter {
				vars[j].name = ""
			}
		}
		if l.First == "" {
			continue
		}
		v.name = l.Counter
		if l.Number {
			first, _ := strconv.Atoi(l.First) // it is a number
			v.first = int32(first)
		} else {
			v.minus = l.First
		}
	}
	return vars, true
}
