package luna

import (
	"fmt"
	"slices"
	"strings"
)

// Rules of the language by which a DF that is made does not come to those that read it, and that are easily
// missed. A program that falls into such a trap waits for ever.

// Trap is such a rule. Traces have its name.
type Trap string

// The traps.
const (
	SubToken  Trap = "token"    // >> on a call of a sub posts nothing by itself
	Dropped   Trap = "dropped"  // drop
	OtherRule Trap = "other"    // a rule for one DF ends the automatic post of all outputs of its name
	OnlyPush  Trap = "pushed"   // afterpush ends the automatic post
	NoPush    Trap = "unpushed" // wait, and no statement pushes the DF
)

// Traps are all there are.
var Traps = []Trap{SubToken, Dropped, OtherRule, OnlyPush, NoPush}

// Lost is a DF that a statement's CFs make and do not store or, for NoPush, wait for.
type Lost struct {
	Ref  *DFRef
	Trap Trap
	// Mend is the rule to add, for Dropped the one to remove. For NoPush it belongs to the statement that makes
	// the DF.
	Mend string
}

// lost finds the outputs that are not posted.
func (x *stmtCtx) lost() {
	for k, out := range x.outExprs {
		if out == nil || slices.ContainsFunc(x.posted, func(e *expr) bool { return maySame(e, out) }) {
			continue
		}
		key, r := keyText(out), x.st.Outs[k]
		l := &Lost{Ref: r, Trap: OtherRule, Mend: "req_unlimited " + r.Src}
		switch {
		case x.dropped[key]:
			l.Trap, l.Mend = Dropped, "drop "+r.Src
		case x.st.Kind == SubCall:
			l.Trap = SubToken
		case slices.ContainsFunc(x.st.Effects, func(f Effect) bool { return f.Kind == Push && f.Out == k }):
			l.Trap = OnlyPush
		}
		x.st.Lost = append(x.st.Lost, l)
	}
}

// maySame tells whether two resolved ids may stand for the same DF.
func maySame(a, b *expr) bool {
	if a == b {
		return true
	}
	if a.sym != b.sym || len(a.idx) != len(b.idx) {
		return false
	}
	for i := range a.idx {
		x, m := withoutSum(a.idx[i])
		y, n := withoutSum(b.idx[i])
		if x == y && m != n {
			return false
		}
	}
	return true
}

// withoutSum takes an index e + n or e - n apart.
func withoutSum(e *expr) (text string, n int64) {
	switch {
	case e.op == xInt:
		return "", e.i
	case e.op == xBinary && e.b.op == xInt && (e.name == "+" || e.name == "-"):
		text, n = withoutSum(e.a)
		if e.name == "-" {
			return text, n - e.b.i
		}
		return text, n + e.b.i
	}
	return keyText(e), 0
}

// warnLost warns about reads of DFs of a declared name that are made but never come: every read of them
// waits for ever. all are the references to that name.
func (c *checker) warnLost(all []use, warned map[any]bool) {
	meets := func(r *use, hows ...useHow) *use {
		for i := range all {
			if slices.Contains(hows, all[i].how) && meet(&all[i].placing, &r.placing) {
				return &all[i]
			}
		}
		return nil
	}
	for i := range all {
		r := &all[i]
		switch {
		case r.how == useRead && meets(r, usePost) == nil:
			if m := meets(r, useLost); m != nil && !warned[m.lost] {
				warned[m.lost] = true
				c.warn(StageRecom, m.ref.off, m.lost.hint(), "%s %s; %s at %s waits for it for ever", m.ref.Src,
					m.lost.warning(), r.st.Text, r.st.Pos)
			}
		case r.how == useWait && meets(r, usePush) == nil && !warned[r.ref]:
			warned[r.ref] = true
			l := &Lost{Ref: r.ref, Trap: NoPush, Mend: "afterpush " + r.ref.Src + " => label"}
			if r.st.LabelName != "" {
				l.Mend = fmt.Sprintf("afterpush %s => %s%s", r.ref.Src, r.st.LabelName,
					strings.Repeat("[...]", len(r.st.LabelIdx)))
			}
			r.st.Lost = append(r.st.Lost, l)
			if m := meets(r, usePost, useLost); m != nil && r.st.LabelName != "" { // else it is warned of already
				c.warn(StageRecom, r.ref.off, "add "+l.Mend+"; to "+m.st.Text+" at "+m.st.Pos.String(),
					"%s waits for ever: it wants %s pushed, and nothing pushes it", r.st.Text, r.ref.Src)
			}
		}
	}
}

// warning says what happens to the DF.
func (l *Lost) warning() string {
	switch l.Trap {
	case SubToken:
		return "is not posted: >> on a call of a sub posts nothing by itself"
	case Dropped:
		return "is dropped here"
	case OnlyPush:
		return "is pushed here and, because of that, not posted"
	}
	return "is not posted: a rule for another DF of this name ends the automatic posts of all"
}

func (l *Lost) hint() string {
	if l.Trap == Dropped {
		return "remove " + l.Mend + ";"
	}
	return "add " + l.Mend + "; to the call"
}

// LostUse is a statement that loses DFs of a declared name.
type LostUse struct {
	placing
	*Lost
}

// Stmt is the statement.
func (u *LostUse) Stmt() *Stmt { return u.st }

// LostOf gives the statement that loses a DF with such indices; nil: none. posted tells that another may
// store it.
func (u *NameUses) LostOf(indices []int64) (found *LostUse, posted bool) {
	for i := range u.lost {
		if found == nil && u.lost[i].mayBe(indices) {
			found = &u.lost[i]
		}
	}
	return found, slices.ContainsFunc(u.posts, func(p placing) bool { return p.mayBe(indices) })
}

// mayBe tells whether a reference may be to the DF with these indices.
func (p *placing) mayBe(indices []int64) bool {
	if p.fixed == several || p.indices() != len(indices) {
		return p.fixed == several
	}
	for k := range indices {
		if v, known := p.constant(k); known && int64(v) != indices[k] {
			return false
		}
	}
	return true
}
