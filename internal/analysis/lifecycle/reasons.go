package lifecycle

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// Why a DF that a CF waits for does not come.
//
// A DF that has a value came too late, went elsewhere or was destroyed: the trace tells. For a DF without a
// value the question is who could still make it. Three sources answer:
//
//   - What the trace says of the statement (model.Site.DFs): "sum[i], part[i] -> sum[i + 1]". A CF that waits
//     for part[3] has i = 3, so it would make sum[4].
//   - In traces of earlier versions, the statement as written: add(sum[i], part[i], sum[i + 1]). A DF that it
//     names, that has no value and that the CF does not wait for is what it would make (maker.go).
//   - Otherwise its fellows: if CFs of a statement made DFs of that name, themselves or through CFs that they
//     created, another CF of the statement may make this one.
//
// A CF is no root if other waiting CFs would, or may, make everything it waits for.

// Kind says in one word why a DF does not come.
type Kind string

// The kinds of reasons.
const (
	NobodyMakes Kind = "nobody"  // no CF that is left can make it
	WouldMake   Kind = "waits"   // a CF that waits, too, would make it
	MayMake     Kind = "maybe"   // CFs of a statement that may make it wait, too
	UnderWay    Kind = "running" // CFs of a statement that may make it were ready, running or not looked at
	Destroyed   Kind = "destroyed"
	Coming      Kind = "coming"    // it was on its way
	Elsewhere   Kind = "elsewhere" // it has a value and did not come
	NotKnown    Kind = "unknown"   // which DFs it waits for was not recorded
	AskedTwice  Kind = "asked"     // a CF that has run asked for it once more than it is given
)

// Reason is why DFs of one name do not come to the CFs of a group.
type Reason struct {
	Kind     Kind     `json:"kind"`
	Name     string   `json:"name"` // of the DFs, without indices
	Why      string   `json:"why"`  // in words
	Count    int64    `json:"count"`
	DFs      []string `json:"dfs"`      // some of them
	Makers   []Place  `json:"makers"`   // statements that make DFs of this name, as far as the run shows
	MoreBy   int      `json:"more_by"`  // makers that are not listed
	Examples []string `json:"examples"` // CFs that would make them
	by       []trace.CF
	here     string // how the statement calls them; "" where not known
}

// why is the reason for one DF of one CF.
type why struct {
	df    uint32 // index into leftovers.DFs
	kind  Kind
	by    trace.CF // WouldMake: who
	site  uint32   // WouldMake, MayMake, UnderWay: whose statement
	n     int64    // UnderWay, MayMake: how many CFs of it are left
	state State    // UnderWay
	node  int32    // Destroyed, Elsewhere: where
	asked int32    // Elsewhere: the node that was asked for it
	what  model.CopyChange
	here  string // how the statement calls the DF
	own   bool   // WouldMake: the CF itself
}

// sameReason is a why without what differs from DF to DF.
type sameReason struct {
	name, site uint32
	kind       Kind
	state      State
	node       int32
	asked      int32
	what       model.CopyChange
	here       string
	own        bool
}

// makersShown is how many statements a reason names.
const makersShown = 3

// reasons finds out for each CF that waits what it waits for and whether it is a root, at rank 0.
func (s *finder) reasons(l *leftovers) error {
	var all *leftovers
	if s.g.Rank() == 0 {
		all = l
	}
	x, err := s.newMakers(all)
	if err != nil || all == nil {
		return err
	}
	s.makers = x
	x.findRoots()
	return nil
}

// findRoots finds out why what the CFs wait for does not come, and which of them no other one can help.
func (s *makers) findRoots() {
	l, n := s.l, 0
	for i := range l.CFs {
		n += len(l.CFs[i].Awaits)
	}
	found := make([]why, 0, n)
	for i := range l.CFs {
		p := &l.CFs[i]
		if p.State != Waiting {
			continue
		}
		p.root = true
		first := len(found)
		for k, df := range p.Awaits {
			if df == 0 {
				continue
			}
			w := s.why(p, df)
			if w.kind == "" {
				continue // it came since
			}
			if p.refs != nil {
				w.here = p.refs[k]
			}
			w.own = w.by == p.CF
			found = append(found, w)
			if w.kind == WouldMake || w.kind == MayMake {
				p.root = false
			}
		}
		p.why = slices.Clip(found[first:])
		// One thing that nothing can make is enough to be at the bottom.
		if slices.ContainsFunc(p.why, func(w why) bool {
			return w.kind == NobodyMakes ||
				w.kind == Destroyed
		}) {
			p.root = true
		}
	}
}

// reasons collects why DFs do not come to the CFs of one group.
type reasons struct {
	f     *finder
	l     *leftovers
	index map[sameReason]*Reason
	order []*Reason
	seen  map[any]bool // DFs: by number, or by what the engine calls them
}

func (r *reasons) add(w *why) {
	if r.index == nil {
		r.index, r.seen = map[sameReason]*Reason{}, map[any]bool{}
	}
	f, df := r.f, &r.l.DFs[w.df]
	same := any(w.df)
	if df.program != "" {
		same = df.Full
	}
	if r.seen[same] {
		return
	}
	r.seen[same] = true
	key := sameReason{df.Name, w.site, w.kind, w.state, w.node, w.asked, w.what, w.here, w.own}
	g := r.index[key]
	if g == nil {
		g = &Reason{here: w.here, Kind: w.kind, Name: f.m.Names[df.Name], DFs: []string{}, Makers: []Place{},
			Examples: []string{}}
		g.Why = f.words(w, g, df)
		r.index[key] = g
		r.order = append(r.order, g)
	}
	g.Count++
	if len(g.DFs) < f.opt.Examples {
		g.DFs = append(g.DFs, df.Full)
	}
	if w.by != 0 && len(g.by) < f.opt.Examples {
		g.by = append(g.by, w.by)
	}
}

func (r *reasons) list(limit int) ([]Reason, int) {
	slices.SortStableFunc(r.order, func(a, b *Reason) int {
		return cmp.Or(cmp.Compare(a.Kind.rank(), b.Kind.rank()), cmp.Compare(b.Count, a.Count))
	})
	out := []Reason{}
	for i, g := range r.order {
		if i == limit {
			break
		}
		out = append(out, *g)
	}
	return out, len(r.order) - len(out)
}

// rank puts first what no other CF can help with.
func (k Kind) rank() int {
	return slices.Index([]Kind{NobodyMakes, Destroyed, Elsewhere, Coming, UnderWay, WouldMake, MayMake,
		NotKnown, AskedTwice}, k)
}

// words says why in the words of `whyslow run`.
func (f *finder) words(w *why, g *Reason, df *awaited) string {
	name := f.m.Names[df.Name]
	statement := func() string { return f.placeOf(int(w.site)).String() }
	switch w.kind {
	case AskedTwice:
		return "its req_count serves fewer requests than there are"
	case WouldMake:
		if w.own {
			return "the CF itself would make it"
		}
		g.Makers = append(g.Makers, f.placeOf(int(w.site)))
		return "would be made by " + statement() + ", which waits too"
	case MayMake:
		g.Makers = append(g.Makers, f.placeOf(int(w.site)))
		if w.by != 0 {
			return "may be made by " + statement() + ", which waits too"
		}
		return fmt.Sprintf("may be made by %s, of which %s", statement(),
			words.Plural(w.n, "CF waits too", "CFs wait too"))
	case UnderWay:
		g.Makers = append(g.Makers, f.placeOf(int(w.site)))
		if w.by != 0 {
			return "may be made by " + statement() + ", which waits too"
		}
		return fmt.Sprintf("may be made by %s, of which %s when the trace ends", statement(),
			words.Plural(w.n, "CF was", "CFs were")+" "+stateWords[w.state])
	case Destroyed:
		if w.what == model.CopyDeleted {
			return fmt.Sprintf("it was made, and deleted on node %d before it was asked for", w.node)
		}
		return fmt.Sprintf("it was made, and its requests on node %d were used up: "+
			"its req_count serves fewer requests than there are", w.node)
	case Elsewhere:
		did := "did not come"
		if !f.res.Final {
			did = "had not come when the trace ends"
		}
		if w.asked != w.node {
			return fmt.Sprintf("it was made, and is on node %d; node %d was asked for it, and it %s", w.node,
				w.asked, did)
		}
		return fmt.Sprintf("it was made on node %d, and %s", w.node, did)
	case Coming:
		return "it was made, and was on its way when the trace ends"
	case NobodyMakes:
		if f.makers.program != nil {
			return f.makers.programSays(g, df)
		}
		sites := f.makers.sites[df.Name]
		if len(sites) == 0 && f.makers.told {
			return "no statement of the program makes " + name
		}
		if len(sites) == 0 {
			return fmt.Sprintf("nothing that is left is known to make it; no CF of this run made %s", name)
		}
		places := make([]Place, len(sites))
		for i, site := range sites {
			places[i] = f.placeOf(int(site))
		}
		return madeBy(g, name, places)
	}
	return "what it waits for was not recorded"
}

// madeBy names the statements that make DFs of a name, though nothing that is left makes the one in question.
func madeBy(g *Reason, name string, by []Place) string {
	g.Makers = append(g.Makers, by[:min(len(by), makersShown)]...)
	g.MoreBy = len(by) - len(g.Makers)
	return fmt.Sprintf("nothing that is left can make it; %s is made by %s", name, listed(by))
}

// listed names some statements.
func listed(by []Place) string {
	var list []string
	for _, p := range by[:min(len(by), makersShown)] {
		list = append(list, p.String())
	}
	s := strings.Join(list, ", ")
	if more := len(by) - len(list); more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}

var stateWords = map[State]string{Created: "not looked at yet", Ready: "ready", Running: "running",
	Moving: "on the way to another node"}

// String is "add(sum[i], part[i], sum[i + 1]) at wrong.fa:16".
func (p Place) String() string {
	s := p.Text
	if s == "" {
		s = p.Code
	}
	if p.File != "" {
		s += " at " + p.position()
	}
	return s
}

// position is "wrong.fa:16", with the column where it is known.
func (p Place) position() string {
	if p.File == "" {
		return "unknown position"
	}
	s := fmt.Sprintf("%s:%d", p.File, p.Line)
	if p.col > 0 {
		s += fmt.Sprintf(":%d", p.col)
	}
	return s
}
