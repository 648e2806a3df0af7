// Package dot writes the task graph of a run for Graphviz and whatever else reads its language: by code
// fragment, or every CF.
package dot

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/model"
)

// quote makes a text a string of the language. In labels a backslash begins an escape and & an entity, so
// these are doubled and spelled out. Control characters, which would end the string or spoil what Graphviz
// writes, are replaced by their pictures.
func quote(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return -1
		case r < ' ' && r != '\n' && r != '\t':
			return '\u2400' + r
		}
		return r
	}, text)
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "&", "&amp;", "\n", `\n`).Replace(text) + `"`
}

// checkEvery is after how many executions the context is looked at.
const checkEvery = 1 << 14

// use is a DF that an execution was given, of a CF that made it; made is 0 where that is not known.
type use struct {
	made, by model.CF
	df       model.DF
}

// uses calls f for every input of every execution.
func uses(ctx context.Context, m *model.Model, f func(u use)) error {
	for e := range m.Executions() {
		if e%checkEvery == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for _, df := range m.Inputs(e) {
			u := use{by: m.ExecCF[e], df: df}
			if at, ok := m.Creation(df, m.ExecStart[e]); ok {
				u.made = m.MadeBy[at]
			}
			f(u)
		}
	}
	return nil
}

// Codes writes the graph by code fragment: how often each ran and for how long, and along the edges which DFs
// went from one to the other, how many times. Dashed edges lead from structured code to what it created.
func Codes(ctx context.Context, w io.Writer, m *model.Model) error {
	type edge struct {
		from, to int
		name     string
	}
	count, ns := make([]int64, len(m.Codes)), make([]int64, len(m.Codes))
	data, created := map[edge]int64{}, map[edge]int64{}
	for e := range m.Executions() {
		code := m.CodeOf(m.ExecCF[e])
		count[code]++
		ns[code] += m.EndOf(e) - m.ExecStart[e]
	}
	if err := uses(ctx, m, func(u use) {
		if u.made != 0 {
			data[edge{m.CodeOf(u.made), m.CodeOf(u.by), m.DFNameOf(u.df)}]++
		}
	}); err != nil {
		return err
	}
	for cf := range m.CFs() {
		if parent := m.Parent[cf]; parent != 0 {
			created[edge{from: m.CodeOf(parent), to: m.CodeOf(cf)}]++
		}
	}
	out := begin(w, m)
	used := map[int]bool{}
	for _, edges := range []map[edge]int64{data, created} {
		for e := range edges {
			used[e.from], used[e.to] = true, true
		}
	}
	for i, c := range m.Codes {
		if count[i] == 0 && !used[i] {
			continue
		}
		shape := "box"
		if c.Kind != 0 {
			shape = "ellipse"
		}
		out.line("  c%d [shape=%s, label=%s];", i, shape, quote(fmt.Sprintf("%s\n%d x, %.3g ms", c.Name, count[i],
			float64(ns[i])/1e6)))
	}
	order := func(a, b edge) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to), cmp.Compare(a.name, b.name))
	}
	for _, e := range slices.SortedFunc(maps.Keys(data), order) {
		out.line("  c%d -> c%d [label=%s];", e.from, e.to, quote(fmt.Sprintf("%s (%d)", e.name, data[e])))
	}
	for _, e := range slices.SortedFunc(maps.Keys(created), order) {
		out.line("  c%d -> c%d [style=dashed, label=%s];", e.from, e.to, quote(fmt.Sprint(created[e])))
	}
	return out.end()
}

// CFs writes every CF that was recorded and every DF that went from one to another. Dashed edges lead from
// structured CFs to those that they created.
func CFs(ctx context.Context, w io.Writer, m *model.Model) error {
	out := begin(w, m)
	for cf := range m.CFs() {
		shape := "box"
		if !m.Atomic(cf) {
			shape = "ellipse"
		}
		out.line("  t%d [shape=%s, label=%s];", cf, shape, quote(m.CFTitle(cf)))
		if parent := m.Parent[cf]; parent != 0 {
			out.line("  t%d -> t%d [style=dashed];", parent, cf)
		}
	}
	if err := uses(ctx, m, func(u use) {
		if u.made != 0 {
			out.line("  t%d -> t%d [label=%s];", u.made, u.by, quote(m.DFString(u.df)))
		}
	}); err != nil {
		return err
	}
	return out.end()
}

// writer keeps the first error until the end.
type writer struct{ *bufio.Writer }

func begin(w io.Writer, m *model.Model) writer {
	out := writer{bufio.NewWriter(w)}
	out.line("digraph %s {", quote(m.Info.Program))
	out.line("  node [fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\", fontsize=10];")
	return out
}

func (w writer) line(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }

func (w writer) end() error {
	w.line("}")
	return w.Flush()
}
