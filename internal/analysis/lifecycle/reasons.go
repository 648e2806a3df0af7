package lifecycle

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// Why a DF that a CF waits for does not come.
//
// A DF that has a value came too late, went elsewhere or was destroyed: the trace tells. For a DF without a
// value the question is who could still make it. Two sources answer:
//
//   - What the trace says of the statement (model.Site.DFs): "sum[i], part[i] -> sum[i + 1]". A CF that waits
//     for part[3] has i = 3, so it would make sum[4].
//   - Where it says nothing, as in traces of earlier versions, the statement's other CFs: if they made DFs of
//     that name, themselves or through CFs that they created, another CF of the statement may make this one.
//
// A CF is no root if other waiting CFs would, or may, make everything it waits for.

// Kind says in one word why a DF does not come.
type Kind string

// The kinds of reasons.
const (
	NobodyMakes Kind = "nobody"  // no CF that is left can make it
	Lost        Kind = "lost"    // a rule of the language that is easily missed: see luna.Trap
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
	text     words.Text
}

// In is Why in a language.
func (r *Reason) In(l words.Lang) string { return r.text.In(l) }

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
	apart *apart    // Elsewhere, on another node than the one that was asked
	here  string    // how the statement calls the DF
	own   bool      // WouldMake: the CF itself
	trap  luna.Trap // Lost, NobodyMakes: into which a statement, site, may have fallen; "" none
	mend  string    // see luna.Lost
}

// sameReason is a why, without what differs from DF to DF, for DFs of a name.
type sameReason struct {
	why
	name uint32
}

// makersShown is how many statements a reason names.
const makersShown = 3

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
			if p.places != nil {
				s.programKnows(&w, p.places[k])
			}
			if w.kind == "" {
				continue // it came since
			}
			if p.refs != nil {
				w.here = p.refs[k]
			}
			w.own = w.by == p.CF
			if w.kind == Elsewhere && w.asked != w.node && s.f.program == nil {
				s.findApart(p, &w)
				s.misplaced(p, &w)
			}
			found = append(found, w)
			if w.kind == WouldMake || w.kind == MayMake {
				p.root = false
			}
		}
		p.why = slices.Clip(found[first:])
		// One thing that nothing can make is enough to be at the bottom.
		if slices.ContainsFunc(p.why, func(w why) bool {
			return w.kind == NobodyMakes || w.kind == Lost ||
				w.kind == Destroyed || w.kind == Elsewhere
		}) {
			p.root = true
		}
	}
}

// madeBy is 1 + the statement that made a DF last, 0 where that is not known.
func (s *makers) madeBy(df uint32) uint32 {
	if w := s.where[df]; w != nil && len(w.Made) > 0 {
		return w.Made[len(w.Made)-1].Site
	}
	return 0
}

// misplaced notes a DF that a CF asks the wrong node for.
func (s *makers) misplaced(p *leftover, w *why) {
	df, list := &s.l.DFs[w.df], &s.f.res.Misplaced
	x := Misplaced{same: nameSite{df.Name, p.Site}, DF: df.Full, Asked: int(w.asked), Stored: int(w.node),
		Maker: w.apart.maker, StoredBy: w.apart.put.why(), AskedBy: w.apart.in.why(),
		first: order{N: [5]uint64{uint64(p.Node), uint64(p.CF)}, Text: df.Full}}
	x.Missing, x.Sub = w.apart.missing()
	i := slices.IndexFunc(*list, func(o Misplaced) bool { return o.same == x.same })
	if i < 0 {
		x.Name, x.By = s.f.m.Names[df.Name], s.f.placeOf(int(p.Site))
		i = len(*list)
		*list = append(*list, x)
	}
	old := &(*list)[i]
	x.Count, x.Name, x.By = old.Count+1, old.Name, old.By
	if x.first.compare(&old.first) <= 0 {
		*old = x
	}
	old.Count = x.Count
}

// reasons collects why DFs do not come to the CFs of one group.
type reasons struct {
	f     *finder
	l     *leftovers
	index map[sameReason]*Reason
	order []*Reason
	seen  map[any]bool // DFs: by number, or by what the engine calls them
}

func (f *finder) newReasons(l *leftovers) *reasons {
	return &reasons{f: f, l: l, index: map[sameReason]*Reason{}, seen: map[any]bool{}}
}

func (r *reasons) add(w *why) {
	f, df := r.f, &r.l.DFs[w.df]
	same := any(w.df)
	if df.program != "" {
		same = df.Full
	}
	if r.seen[same] {
		return
	}
	r.seen[same] = true
	key := sameReason{*w, df.Name}
	key.df, key.by, key.n = 0, 0, 0
	g := r.index[key]
	if g == nil {
		g = &Reason{here: w.here, Kind: w.kind, Name: f.m.Names[df.Name], DFs: []string{}, Makers: []Place{}}
		g.text = f.words(w, g, df)
		g.Why = g.text.In(words.English)
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
	// Which CF came first, and with it which DF, differs from run to run: so names decide.
	name := func(g *Reason) string { return strings.Join(g.DFs[:min(1, len(g.DFs))], "") }
	slices.SortStableFunc(r.order, func(a, b *Reason) int {
		return cmp.Or(cmp.Compare(a.Kind.rank(), b.Kind.rank()), cmp.Compare(b.Count, a.Count),
			cmp.Compare(name(a), name(b)))
	})
	out := []Reason{}
	for _, g := range r.order[:min(len(r.order), limit)] {
		out = append(out, *g)
	}
	return out, len(r.order) - len(out)
}

// rank puts first what no other CF can help with.
func (k Kind) rank() int {
	return slices.Index([]Kind{NobodyMakes, Lost, Destroyed, Elsewhere, Coming, UnderWay, WouldMake, MayMake,
		NotKnown, AskedTwice}, k)
}

// words says why, as `whyslow run` does, and notes the statements that it names.
func (f *finder) words(w *why, g *Reason, df *awaited) words.Text {
	name := f.m.Names[df.Name]
	site := func() Place {
		g.Makers = append(g.Makers, f.placeOf(int(w.site)))
		return g.Makers[0]
	}
	switch w.kind {
	case AskedTwice:
		return fewRequests.With()
	case WouldMake:
		if w.own {
			return words.Say("the CF itself would make it", "его вычислил бы сам этот ФВ")
		}
		return words.Say("would be made by %s, which waits too", "его вычислил бы %s, но он тоже ждёт", site())
	case MayMake, UnderWay:
		switch {
		case w.by != 0:
			return words.Say("may be made by %s, which waits too", "его может вычислить %s, но он тоже ждёт", site())
		case w.kind == MayMake:
			return words.Say("may be made by %s, of which %s", "его может вычислить %s: %s", site(),
				words.Number{N: w.n, What: waitingToo})
		}
		return words.Say("may be made by %s, of which %s %s when the trace ended",
			"его может вычислить %s: %s, состояние в конце трассы: %s", site(), words.Number{N: w.n, What: cfsWere},
			stateWords[w.state].With())
	case Destroyed:
		if w.what == model.CopyDeleted {
			return words.Say("it was made, and deleted on node %d before it was asked for",
				"он был вычислен и удалён на узле %d до того, как его запросили", w.node)
		}
		return words.Say("it was made, and its requests on node %d were used up: %s",
			"он был вычислен, и запросы к нему на узле %d исчерпаны: %s", w.node, fewRequests.With())
	case Elsewhere:
		did := words.Say("did not come", "не пришёл")
		if !f.res.Final {
			did = words.Say("had not arrived when the trace ended", "к концу трассы ещё не пришёл")
		}
		if w.apart != nil && f.res.Final {
			return w.apart.words(w.node, w.asked)
		}
		if w.asked != w.node {
			return words.Say("it was made, and is on node %d; node %d was asked for it, and it %s",
				"он вычислен и находится на узле %d; запрошен он у узла %d и %s", w.node, w.asked, did)
		}
		return words.Say("it was made on node %d, and %s", "он вычислен на узле %d и %s", w.node, did)
	case Coming:
		return words.Say("it was made and was in flight when the trace ended",
			"он вычислен и в конце трассы был в пути")
	case Lost:
		return f.makers.trapped(w, df)
	case NobodyMakes:
		if f.program != nil {
			text := f.makers.programSays(g, df)
			if w.trap != "" {
				text = words.Say("%s; %s", "%s; %s", text, f.makers.trapped(w, df))
			}
			return text
		}
		var places []Place
		for _, site := range f.makers.sites[df.Name] {
			places = append(places, f.placeOf(int(site)))
		}
		switch told := f.makers.told; {
		case len(places) == 0 && told:
			return words.Say("no statement of the program makes %s", "в программе ничто не вычисляет %s", name)
		case len(places) == 0:
			return words.Say("no remaining CF is known to make it; no CF of this run made %s",
				"неизвестно, чтобы его мог вычислить кто-то из оставшихся; ни один ФВ этого запуска не вычислил %s",
				name)
		case !told:
			return words.Say("no remaining CF is known to make it; %s",
				"неизвестно, чтобы его мог вычислить кто-то из оставшихся; %s", madeBy(g, name, places))
		}
		return words.Say("no remaining CF can make it; %s", "его не может вычислить никто из оставшихся; %s",
			madeBy(g, name, places))
	}
	return words.Say("what it waits for was not recorded", "чего он ждёт, не записано")
}

// madeBy names the statements that make DFs of a name.
func madeBy(g *Reason, name string, by []Place) words.Text {
	g.Makers = append(g.Makers, by[:min(len(by), makersShown)]...)
	g.MoreBy = len(by) - len(g.Makers)
	return words.Say("%s is made by %s", "%s вычисляют: %s", name, listed(by))
}

// listed names some statements.
func listed(by []Place) words.Text {
	shown := placeList(by[:min(len(by), makersShown)])
	if more := len(by) - len(shown); more > 0 {
		return words.Say("%s and %d more", "%s и ещё %d", shown, more)
	}
	return words.Say("%s", "%s", shown)
}

type placeList []Place

// In lists them.
func (p placeList) In(l words.Lang) string {
	var list []string
	for _, x := range p {
		list = append(list, x.In(l))
	}
	return strings.Join(list, ", ")
}

var (
	fewRequests = words.Phrase{"its req_count serves fewer requests than there are",
		"его req_count рассчитан на меньшее число запросов"}
	waitingToo = words.Noun{One: "CF waits too", More: "CFs wait too",
		Russian: [3]string{"ФВ тоже ждёт", "ФВ тоже ждут", "ФВ тоже ждут"}}
	cfsWere    = words.Noun{One: "CF was", More: "CFs were", Russian: words.CFs.Russian}
	stateWords = map[State]words.Phrase{Created: {"not examined yet", "не рассмотрены"},
		Ready: {"ready", "готовы"}, Running: {"running", "исполняются"},
		Moving: {"in flight to another node", "переносятся на другой узел"}}
)

// String is "add(sum[i], part[i], sum[i + 1]) at wrong.fa:16".
func (p Place) String() string { return p.In(words.English) }

// In is the same in a language.
func (p Place) In(l words.Lang) string {
	s := cmp.Or(p.Text, p.Code)
	if p.File == "" {
		return s
	}
	return words.Say("%s at %s", "%s (%s)", s, p.position()).In(l)
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
