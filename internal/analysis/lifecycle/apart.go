package lifecycle

import (
	"path/filepath"
	"strings"

	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/internal/words"
)

// DFs that lie on another node than where CFs look for them: by which rules the two statements place them,
// and which line is missing. The engine knows that of a program that cannot finish; the trace of such a run
// has it with the statements (model.Site.DFs).

// apart are the two sides: who made the DF (the zero value: not known) and put it where it lies, and the CF
// that looks for it.
type apart struct {
	maker   Place
	put, in side
}

// side is by which rule a statement places a DF: one at a position or none, in a sub that lacks the line mend
// ("": that cannot be said). The zero value: not known.
type side struct{ rule, sub, mend string }

// sideOf is the side of a statement that refers to a DF; other is how the other side does.
func sideOf(st *luna.Stmt, ref, other *luna.DFRef) (s side) {
	switch {
	case st == nil || ref == nil:
	case ref.Loc.Rule != nil:
		s.rule = placeIn("", ref.Loc.Rule.Pos).position()
	default:
		s.sub = st.SubOf().Name
		if other != nil && other.Loc.Rule != nil {
			s.mend = other.Loc.Rule.For(ref.Name.Name, len(ref.Idx))
		}
	}
	return s
}

// parseSide reads what a trace says: "by prog.fa:9:5", or "row: locator_cyclic a[k] => k".
func parseSide(text string) (s side) {
	if at, ok := strings.CutPrefix(text, "by "); ok {
		return side{rule: filepath.Clean(at)}
	}
	s.sub, s.mend, _ = strings.Cut(text, ": ")
	return s
}

// sideFor is by which rule the CFs store a DF, or look for it; the zero value where that is not certain.
func (c *call) sideFor(full string, made bool) (s side) {
	if c == nil {
		return s
	}
	for i := range c.placed {
		p := &c.placed[i]
		switch {
		case p.made != made || !p.mayBe(full):
		case s != side{} && s != p.side:
			return side{}
		default:
			s = p.side
		}
	}
	return s
}

// findApart tells of both sides what the trace does, for a DF that a CF looks for on another node.
func (s *makers) findApart(p *leftover, w *why) {
	df := &s.l.DFs[w.df]
	x := apart{in: s.calls[p.Site].sideFor(df.Full, false)}
	if by := s.madeBy(w.df); by != 0 {
		x.maker, x.put = s.f.placeOf(int(by-1)), s.calls[by-1].sideFor(df.Full, true)
	}
	w.apart = s.keep(x)
}

// keep gives equal sides one place in memory.
func (s *makers) keep(x apart) *apart {
	if s.apart == nil {
		s.apart = map[apart]*apart{}
	}
	if s.apart[x] == nil {
		s.apart[x] = &x
	}
	return s.apart[x]
}

// why names the rule, or says that there is none.
func (s *side) why() words.Text {
	switch {
	case s.rule != "":
		return words.Say(" (rule at %s)", " (правило в %s)", s.rule)
	case s.sub != "":
		return words.Say(" (sub %s has no rule for it)", " (в подпрограмме %s нет правила для него)", s.sub)
	}
	return words.Text{}
}

// missing gives the rule that one side lacks, and the sub that it belongs to; "" where that is not known.
func (x *apart) missing() (rule, sub string) {
	switch {
	case x.in.mend != "":
		return x.in.mend, x.in.sub
	case x.in.rule != "":
		return x.put.mend, x.put.sub
	}
	return "", ""
}

// words says where the DF is stored, where it is looked for, by which rules, and what to do.
func (x *apart) words(stored, asked int32) words.Text {
	made := words.Say("it was made", "он вычислен")
	if x.maker != (Place{}) {
		made = words.Say("it was made by %s", "его вычислил %s", x.maker)
	}
	text := words.Say("%s and lies on node %d%s, but is looked for on node %d%s",
		"%s и находится на узле %d%s, а ищут его на узле %d%s", made, stored, x.put.why(), asked, x.in.why())
	if rule, sub := x.missing(); rule != "" {
		return words.Say("%s: add `%s;` to %s", "%s: добавьте `%s;` в %s", text, rule, sub)
	}
	return words.Say("%s: both must place it alike", "%s: оба должны размещать его одинаково", text)
}
