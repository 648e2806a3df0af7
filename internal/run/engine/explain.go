package engine

// The words for a program that cannot finish.

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/internal/words"
)

// shownDFs is how many reasons are given for one statement, and how many DFs are named for each.
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
		if len(e.CFs) > 1 {
			fmt.Fprintln(w, "Each of these CFs waits for another one of them: a cycle.")
		}
		all = true
	}
	type kind struct {
		st       *luna.Stmt
		executed bool
	}
	var order []kind
	groups := map[kind][]*PendingCF{}
	for i := range e.CFs {
		p := &e.CFs[i]
		if !all && !p.Root {
			continue
		}
		k := kind{p.Stmt, p.Executed}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], p)
	}
	slices.SortStableFunc(order, func(x, y kind) int { return cmp.Compare(x.st.ID, y.st.ID) })
	for _, k := range order {
		explainStmt(w, k.st, groups[k])
	}
	if rest := len(e.CFs) - roots; rest > 0 && !all {
		fmt.Fprintf(w, "%s for what these would have made.\n", words.Plural(rest, "more CF waits", "more CFs wait"))
	}
	_, err := io.WriteString(out, w.String())
	return err
}

// reason is why DFs will not come, which they are, and how the statement calls them.
type reason struct {
	why, ref string
	dfs      []*AwaitedDF
}

func explainStmt(w *strings.Builder, st *luna.Stmt, cfs []*PendingCF) {
	fmt.Fprintf(w, "  %s: %s", posText(st.Pos), st.Text)
	switch {
	case cfs[0].Executed:
		fmt.Fprint(w, " has run, but asked twice for")
	case len(cfs) > 1:
		fmt.Fprintf(w, " (%d CFs) wait for", len(cfs))
	default:
		fmt.Fprint(w, " waits for")
	}
	var reasons []*reason
	seen, more := map[string]bool{}, 0
	for _, p := range cfs {
		for i := range p.Awaits {
			a := &p.Awaits[i]
			if seen[a.Full] {
				continue
			}
			seen[a.Full] = true
			r := reason{why: a.why(p), ref: a.Ref}
			k := slices.IndexFunc(reasons, func(o *reason) bool { return o.why == r.why && o.ref == r.ref })
			if k < 0 {
				if len(reasons) == shownDFs {
					more++
					continue
				}
				k = len(reasons)
				reasons = append(reasons, &r)
			}
			reasons[k].dfs = append(reasons[k].dfs, a)
		}
	}
	byID := func(x, y *AwaitedDF) int { return slices.Compare(x.ID, y.ID) }
	for _, r := range reasons {
		slices.SortFunc(r.dfs, byID)
	}
	slices.SortStableFunc(reasons, func(x, y *reason) int { return byID(x.dfs[0], y.dfs[0]) })
	for _, r := range reasons {
		fmt.Fprint(w, "\n    ", r.dfs[0].Full)
		for _, a := range r.dfs[1:min(len(r.dfs), shownDFs)] {
			fmt.Fprint(w, ", ", a.Full)
		}
		if n := len(r.dfs) - shownDFs; n > 0 {
			fmt.Fprintf(w, " and %d more", n)
		}
		if len(r.dfs) > 1 || r.ref != r.dfs[0].Full {
			fmt.Fprintf(w, " (here %s)", r.ref)
		}
		fmt.Fprintf(w, ": %s", r.why)
	}
	if more > 0 {
		fmt.Fprintf(w, "\n    and %s", words.Plural(more, "other data fragment", "other data fragments"))
	}
	fmt.Fprintln(w)
}

// why says why the DF that p waits for will not come.
func (a *AwaitedDF) why(p *PendingCF) string {
	name := nameOf(a.Full)
	switch {
	case p.Executed:
		return "its req_count serves fewer requests than there are"
	case a.By == p:
		return "the CF itself would make it"
	case a.By != nil:
		return fmt.Sprintf("would be made by %s, which waits too", stmtList([]*luna.Stmt{a.By.Stmt}))
	case len(a.Makers) == 0:
		return fmt.Sprintf("no statement of the program makes %s (declared at %s)", name, posText(a.Declared))
	}
	s := fmt.Sprintf("nothing that is left can make it; %s is made by %s", name, stmtList(a.Makers))
	if a.Counted {
		s += "; its req_count may be used up"
	}
	if len(a.Deleters) > 0 {
		s += "; deleted by " + stmtList(a.Deleters)
	}
	return s
}

// stmtList names at most three statements.
func stmtList(l []*luna.Stmt) string {
	var b strings.Builder
	for i, st := range l {
		if i == 3 {
			fmt.Fprintf(&b, " and %d more", len(l)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s at %s", st.Text, posText(st.Pos))
	}
	return b.String()
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
