package lifecycle

import (
	"cmp"
	"maps"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// Rank 0 asks all processes about what the remaining CFs wait for: which statements made DFs of each name,
// and where the DFs with a value are. Every process answers for its nodes.

// question is what rank 0 asks.
type question struct {
	Edges bool     // structured CFs are left, and the trace does not say what they make
	DFs   []uint64 // that have a value and that CFs wait for
}

// answers to it.
type answers struct {
	Made  map[nameSite]bool // the statements whose CFs made DFs of a name
	Edges map[edge]bool     // if asked for: between statements whose CFs created others, and theirs
	DFs   []whereabouts     // of question.DFs
}

type nameSite struct{ Name, Site uint32 }

type edge struct{ Up, Down uint32 }

// whereabouts is what became of a DF with a value.
type whereabouts struct {
	Made     []event // in order of time
	Copies   []event
	Coming   []int32 // nodes it was sent to and had not come to
	Came     []event
	Requests map[trace.CF]requested // the last of each CF to another node
}

type event struct {
	Time int64
	Node int32
	Site uint32           // of Made: 1 + the statement of the CF that made the DF; 0 not known
	What model.CopyChange // of Copies
}

type requested struct {
	Sent     int64
	To       int32
	Answered bool
}

// ask asks all processes. Those of other ranks than 0 give no question, and their answers count for nothing.
func (s *finder) ask(q question) (*answers, error) {
	q, err := procs.FromMember(s.g, 0, q)
	if err != nil {
		return nil, err
	}
	own := s.answer(&q)
	err = procs.Collect(s.g, func() answers { return *own }, func(_ int, theirs *answers) error {
		maps.Copy(own.Made, theirs.Made)
		maps.Copy(own.Edges, theirs.Edges)
		for i := range theirs.DFs {
			x, y := &own.DFs[i], &theirs.DFs[i]
			x.Made, x.Copies = append(x.Made, y.Made...), append(x.Copies, y.Copies...)
			x.Coming, x.Came = append(x.Coming, y.Coming...), append(x.Came, y.Came...)
			for cf, r := range y.Requests {
				x.request(cf, r)
			}
		}
		return nil
	})
	for i := range own.DFs {
		slices.SortStableFunc(own.DFs[i].Made, func(x, y event) int { return cmp.Compare(x.Time, y.Time) })
	}
	return own, err
}

func (w *whereabouts) request(cf trace.CF, r requested) {
	old, ok := w.Requests[cf]
	if !ok || cmp.Or(cmp.Compare(r.Sent, old.Sent), cmp.Compare(r.To, old.To)) > 0 {
		w.Requests[cf] = r
	}
}

// answer tells what is known of the own nodes.
func (s *finder) answer(q *question) *answers {
	m := s.m
	a := &answers{Made: map[nameSite]bool{}, Edges: map[edge]bool{}, DFs: make([]whereabouts, len(q.DFs))}
	made := nameSite{}
	for df := range m.DFs() {
		for i := m.MadeFrom[df]; i < m.MadeFrom[df+1]; i++ {
			by := m.MadeBy[i]
			if k := (nameSite{m.DFName[df], m.SiteOf[by]}); by != 0 && m.Own(int(m.MadeNode[i])) && k != made {
				a.Made[k], made = true, k
			}
		}
	}
	last := edge{}
	for i := 0; q.Edges && i < len(m.Created); i++ {
		cf := model.CF(i)
		k := edge{m.SiteOf[m.Parent[cf]], m.SiteOf[cf]}
		if m.Parent[cf] != 0 && k != last && m.Owner(m.CFID(cf).Node()) == s.g.Rank() {
			a.Edges[k], last = true, k
		}
	}
	if len(q.DFs) > 0 {
		s.answerWhere(a, q)
	}
	return a
}

// answerWhere tells where DFs are.
func (s *finder) answerWhere(a *answers, q *question) {
	m := s.m
	index := map[uint64]int{}
	for i, d := range q.DFs {
		index[d] = i + 1
		a.DFs[i].Requests = map[trace.CF]requested{}
	}
	of := make([]*whereabouts, m.DFs())
	for df := model.DF(1); int(df) < m.DFs(); df++ {
		if !s.made(df) || index[m.DFGlobal(df)] == 0 {
			continue
		}
		of[df] = &a.DFs[index[m.DFGlobal(df)]-1]
		for k := m.MadeFrom[df]; k < m.MadeFrom[df+1]; k++ {
			if m.Own(int(m.MadeNode[k])) {
				e := event{Time: m.MadeTime[k], Node: int32(m.MadeNode[k])}
				if m.MadeBy[k] != 0 {
					e.Site = m.SiteOf[m.MadeBy[k]] + 1
				}
				of[df].Made = append(of[df].Made, e)
			}
		}
	}
	for i := range m.Copies {
		if c := &m.Copies[i]; of[c.DF] != nil {
			of[c.DF].Copies = append(of[c.DF].Copies, event{Time: c.Time, Node: int32(c.Node), What: c.What})
		}
	}
	answered := map[uint32]bool{}
	for i := range m.DFMessages {
		g := &m.DFMessages[i]
		w := of[g.DF]
		switch {
		case w == nil:
		case g.Received != model.None:
			answered[g.Request] = true
			if m.Own(int(g.To)) {
				w.Came = append(w.Came, event{Time: g.Received, Node: g.To})
			}
		case g.Sent != model.None && m.Own(int(g.From)):
			w.Coming = append(w.Coming, g.To)
		}
	}
	for i := 1; i < len(m.Requests); i++ {
		if r := &m.Requests[i]; r.Sent != model.None && of[r.DF] != nil && m.Own(int(r.From)) {
			of[r.DF].request(m.CFID(r.CF), requested{r.Sent, r.To, answered[uint32(i)]})
		}
	}
}

// haveValues finds out which DFs, by name and indices, have a value, for rank 0; the others ask for nothing.
func (s *finder) haveValues(asked map[string]bool) (map[string]bool, error) {
	asked, err := procs.FromMember(s.g, 0, asked)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for full := range asked {
		name, _ := splitDF(full)
		names[name] = true
	}
	have := map[string]bool{}
	for df := model.DF(1); int(df) < s.m.DFs() && len(asked) > 0; df++ {
		if names[s.m.DFNameOf(df)] && s.made(df) {
			if full := s.m.DFString(df); asked[full] {
				have[full] = true
			}
		}
	}
	return have, procs.Collect(s.g, func() map[string]bool { return have },
		func(_ int, theirs *map[string]bool) error {
			maps.Copy(have, *theirs)
			return nil
		})
}
