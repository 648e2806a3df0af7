package lifecycle

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/internal/words"
)

// A program that cannot finish is explained from what the engine knows, like from a trace. The engine knows
// for sure what its CFs would make.

// shownDFs is how many reasons Explain gives for one statement, and how many DFs it names for each.
const shownDFs = 4

// Explain prints which CFs wait, for which DFs, and why these do not come. Without all, CFs that wait only
// for what other waiting CFs would make are counted.
func Explain(out io.Writer, left *luna.Stuck, all bool) error {
	f := &finder{m: &model.Model{}, res: &Result{Final: true},
		opt: Options{All: all, Examples: shownDFs, Groups: math.MaxInt}, program: left}
	for _, d := range left.Program.Decls {
		f.m.Names = append(f.m.Names, d.Name)
	}
	l := &leftovers{DFs: make([]awaited, 1)}
	f.makers = &makers{f: f, l: l, could: map[string][2]made{}}
	numbers := map[string]uint32{}
	for i := range left.CFs {
		p := &left.CFs[i]
		x := leftover{CF: p.ID, Site: uint32(p.Stmt.ID), State: Waiting, Node: p.Node}
		for k := range p.Awaits {
			a := &p.Awaits[k]
			n, known := numbers[a.Key]
			if !known {
				n = uint32(len(l.DFs))
				numbers[a.Key] = n
				l.DFs = append(l.DFs, awaited{Full: a.Full, Name: uint32(a.Decl), program: a.Key,
					decl: a.Decl})
			}
			x.Awaits, x.refs = append(x.Awaits, n), append(x.refs, a.Ref)
			x.places = append(x.places, a)
			if p.Executed {
				x.why = append(x.why, why{df: n, kind: AskedTwice, here: a.Ref})
			}
		}
		if p.Executed {
			x.State, x.root = Executed, true
		}
		for _, key := range p.Makes {
			f.makers.add(key, made{cf: p.ID, site: x.Site, within: true, itself: p.Stmt.Kind == luna.Atomic})
		}
		l.CFs = append(l.CFs, x)
	}
	f.makers.findRoots()
	cfs := CFs{Circle: true}
	for i := range l.CFs {
		cfs.Circle = cfs.Circle && !l.CFs[i].root
	}
	w := &strings.Builder{}
	if cfs.Circle && len(l.CFs) > 1 {
		fmt.Fprintln(w, "Each of these CFs waits for another one of them: a cycle.")
	}
	for _, g := range f.group(&cfs, l) {
		g.explain(w)
	}
	if cfs.More > 0 {
		fmt.Fprintf(w, "%s for their results.\n",
			words.Plural(cfs.More, "more CF waits", "more CFs wait"))
	}
	_, err := io.WriteString(out, words.CutLines(w.String()))
	return err
}

// explain prints why the CFs of a statement wait.
func (g *Left) explain(w io.Writer) {
	fmt.Fprintf(w, "  %s: %s", g.Place.position(), g.Text)
	switch {
	case g.State == Executed:
		fmt.Fprint(w, " has run, but asked twice for")
	case g.Count > 1:
		fmt.Fprintf(w, " (%d CFs) wait for", g.Count)
	default:
		fmt.Fprint(w, " waits for")
	}
	more := int64(0)
	for i, r := range g.For {
		if i >= shownDFs {
			more += r.Count
			continue
		}
		fmt.Fprintf(w, "\n    %s", strings.Join(r.DFs, ", "))
		if n := r.Count - int64(len(r.DFs)); n > 0 {
			fmt.Fprintf(w, " and %d more", n)
		}
		if r.Count > 1 || r.here != r.DFs[0] {
			fmt.Fprintf(w, " (here %s)", r.here)
		}
		fmt.Fprintf(w, ": %s", r.Why)
	}
	if more > 0 {
		fmt.Fprintf(w, "\n    and %s", words.Plural(more, "other data fragment", "other data fragments"))
	}
	fmt.Fprintln(w)
}

// programSays tells from the program that nothing that is left makes a DF, and what might have.
func (s *makers) programSays(g *Reason, df *awaited) words.Text {
	name, uses := g.Name, s.f.program.Names[df.decl]
	if len(uses.Makers) == 0 {
		return words.Say("no statement of the program makes %s (declared at %s)",
			"в программе ничто не вычисляет %s (объявлен в %s)", name,
			placeIn("", s.f.program.Program.Decls[df.decl].Pos).position())
	}
	text := words.Say("no remaining CF can make it; %s", "его не может вычислить никто из оставшихся; %s",
		madeBy(g, name, places(uses.Makers)))
	if uses.Counted {
		text = words.Say("%s; its req_count may be used up", "%s; возможно, его req_count исчерпан", text)
	}
	if len(uses.Deleters) > 0 {
		text = words.Say("%s; deleted by %s", "%s; удаляют: %s", text, listed(places(uses.Deleters)))
	}
	return text
}

func places(list []*luna.Stmt) (out []Place) {
	for _, st := range list {
		out = append(out, placeIn(st.Text, st.Pos))
	}
	return out
}

func placeIn(text string, pos luna.Pos) Place {
	p := Place{Text: text, Line: pos.Line, col: pos.Col}
	if pos.File != "" {
		p.File = filepath.Clean(pos.File)
	}
	return p
}
