package lifecycle

import (
	"cmp"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// Rank 0 asks all processes two questions about what the remaining CFs wait for: which statements made DFs of
// each name, and where the DFs with a value are. Every process answers for its nodes.

// question is what rank 0 asks.
type question struct {
	Sites []uint32 // of CFs that are left
	DFs   []dfName // that have a value and that they wait for
}

// answers to it.
type answers struct {
	Made    map[nameSite]bool // the statements whose CFs made DFs of a name
	Samples map[int][]sample  // by code fragment: what is seen from the first CFs of it, by id
	Edges   map[edge]bool     // between statements whose CFs created others, and theirs
	Ran     map[uint32]bool   // statements of which a CF has ended
	Created map[uint32]bool   // and of which one was created
	DFs     []whereabouts     // of question.DFs
}

type nameSite struct{ Name, Site uint32 }

type edge struct{ Up, Down uint32 }

// sample is that a CF, as its statement tells, made the argument At of Args; At is -1 if that is not told.
type sample struct {
	CF       trace.CF
	DF       string
	At, Args int
}

// whereabouts is what became of a DF with a value.
type whereabouts struct {
	Made     []event
	Copies   []copyEvent
	Coming   []int32         // nodes it was sent to and had not come to
	Came     map[int32]int64 // by node: when it came there last
	Requests map[trace.CF]requested
}

type event struct {
	Time int64
	Node int32
}

type copyEvent struct {
	What model.CopyChange
	At   event
}

// requested is the last request of a CF to another node.
type requested struct {
	Sent     int64
	To       int32
	Answered bool
}

// answers asks all processes. Those of other ranks than 0 give no leftovers, and get nil.
func (s *finder) answers(l *leftovers) (*answers, error) {
	var q question
	if l != nil {
		seen := map[uint32]bool{}
		for i := range l.CFs {
			if site := l.CFs[i].Site; !seen[site] {
				seen[site] = true
				q.Sites = append(q.Sites, site)
			}
		}
		for i := range l.DFs {
			if l.DFs[i].Made {
				q.DFs = append(q.DFs, l.DFs[i].DF)
			}
		}
	}
	b, err := procs.Broadcast(s.g, 0, procs.Encode(&q))
	if err != nil {
		return nil, err
	}
	q = question{}
	if err := procs.Decode(b, &q); err != nil {
		return nil, err
	}
	own := s.answer(&q)
	if s.g.Size() == 1 {
		return own, nil
	}
	var mine []byte
	if s.g.Rank() != 0 {
		mine = procs.Encode(own)
	}
	in, err := procs.Gather(s.g, 0, mine)
	if err != nil || s.g.Rank() != 0 {
		return nil, err
	}
	for rank := 1; rank < len(in); rank++ {
		var theirs answers
		if err := procs.Decode(in[rank], &theirs); err != nil {
			return nil, procs.Told(rank, err)
		}
		if !theirs.whole(s.m, len(q.DFs)) {
			return nil, procs.Told(rank, errShare)
		}
		own.join(&theirs)
	}
	own.settle()
	return own, nil
}

// whole tells whether what another process answered makes sense.
func (a *answers) whole(m *model.Model, dfs int) bool {
	ok := len(a.DFs) == dfs
	site := func(n uint32) { ok = ok && int(n) < len(m.Sites) }
	for k := range a.Made {
		site(k.Site)
		ok = ok && int(k.Name) < len(m.Names)
	}
	for k := range a.Edges {
		site(k.Up)
		site(k.Down)
	}
	return ok
}

func (a *answers) join(o *answers) {
	for k := range o.Made {
		a.Made[k] = true
	}
	for k := range o.Edges {
		a.Edges[k] = true
	}
	for k := range o.Ran {
		a.Ran[k] = true
	}
	for k := range o.Created {
		a.Created[k] = true
	}
	for code, list := range o.Samples {
		a.Samples[code] = append(a.Samples[code], list...)
	}
	for i := range o.DFs {
		x, y := &a.DFs[i], &o.DFs[i]
		x.Made, x.Copies, x.Coming = append(x.Made, y.Made...), append(x.Copies, y.Copies...),
			append(x.Coming, y.Coming...)
		for n, t := range y.Came {
			x.came(n, t)
		}
		for cf, r := range y.Requests {
			x.request(cf, r)
		}
	}
}

// settle puts in order what came from several processes.
func (a *answers) settle() {
	for code, list := range a.Samples {
		a.Samples[code] = first(list)
	}
	for i := range a.DFs {
		slices.SortStableFunc(a.DFs[i].Made, func(x, y event) int { return cmp.Compare(x.Time, y.Time) })
	}
}

func (w *whereabouts) came(node int32, t int64) {
	if w.Came == nil {
		w.Came = map[int32]int64{}
	}
	if old, ok := w.Came[node]; !ok || t > old {
		w.Came[node] = t
	}
}

func (w *whereabouts) request(cf trace.CF, r requested) {
	if w.Requests == nil {
		w.Requests = map[trace.CF]requested{}
	}
	if old, ok := w.Requests[cf]; !ok || cmp.Or(cmp.Compare(r.Sent, old.Sent),
		cmp.Compare(r.To, old.To)) > 0 {
		w.Requests[cf] = r
	}
}

// samples is how many CFs of each code fragment are looked at to see which of its arguments they make.
const samples = 16

// first leaves the first samples.
func first(list []sample) []sample {
	slices.SortFunc(list, func(x, y sample) int {
		return cmp.Or(cmp.Compare(x.CF, y.CF),
			cmp.Compare(x.DF, y.DF))
	})
	return list[:min(len(list), samples)]
}

// answer tells what is known of the own nodes.
func (s *finder) answer(q *question) *answers {
	m := s.m
	a := &answers{Made: map[nameSite]bool{}, Samples: map[int][]sample{}, Edges: map[edge]bool{},
		Ran: map[uint32]bool{}, Created: map[uint32]bool{},
		DFs: make([]whereabouts, len(q.DFs))}
	structured := false
	sampled := make([]bool, len(m.Codes))
	for _, site := range q.Sites {
		if int(site) >= len(m.Sites) {
			continue
		}
		code := m.Sites[site].Code
		atomic := m.Codes[code].Kind == trace.Atomic
		c := callOf(&m.Sites[site])
		structured = structured || !atomic && (c == nil || !c.told)
		sampled[code] = atomic && c != nil && !c.told || sampled[code]
	}
	s.answerMade(a, sampled)
	last := edge{}
	for i := range m.Created {
		cf := model.CF(i)
		id := m.CFID(cf)
		if id == 0 || m.Owner(id.Node()) != s.g.Rank() {
			continue
		}
		if m.Created[cf] != model.None {
			a.Created[m.SiteOf[cf]] = true
		}
		if k := (edge{m.SiteOf[m.Parent[cf]], m.SiteOf[cf]}); structured && m.Parent[cf] != 0 && k != last {
			a.Edges[k], last = true, k
		}
	}
	from, end := m.OwnExecutions()
	for e := from; e < end; e++ {
		if m.ExecEnd[e] != model.None {
			a.Ran[m.SiteOf[m.ExecCF[e]]] = true
		}
	}
	s.answerWhere(a, q)
	return a
}

// answerMade goes through the creations of all DFs on own nodes.
func (s *finder) answerMade(a *answers, sampled []bool) {
	m := s.m
	last := nameSite{}
	type making struct {
		by trace.CF
		df model.DF
	}
	firsts := map[int][]making{}
	for df := 1; df < m.DFs(); df++ {
		for i := m.MadeFrom[df]; i < m.MadeFrom[df+1]; i++ {
			by := m.MadeBy[i]
			if by == 0 || !m.Own(int(m.MadeNode[i])) {
				continue
			}
			if k := (nameSite{m.DFName[df], m.SiteOf[by]}); k != last {
				a.Made[k], last = true, k
			}
			if code := m.CodeOf(by); sampled[code] {
				list, x := firsts[code], making{m.CFID(by), model.DF(df)}
				if n := len(list); n < samples || x.by < list[n-1].by || x.by == list[n-1].by {
					at, _ := slices.BinarySearchFunc(list, x,
						func(a, b making) int { return cmp.Compare(a.by, b.by) })
					list = slices.Insert(list, at, x)
					// All of the last CF are kept: which of them come first their names tell.
					for len(list) > samples && list[len(list)-1].by != list[samples-1].by {
						list = list[:len(list)-1]
					}
					firsts[code] = list
				}
			}
		}
	}
	for code, list := range firsts {
		for _, x := range list {
			a.Samples[code] = append(a.Samples[code], s.sample(m.FindCF(x.by), x.df))
		}
		a.Samples[code] = first(a.Samples[code])
	}
}

// sample looks at the statement of a CF that made a DF.
func (s *finder) sample(by model.CF, df model.DF) sample {
	m := s.m
	x := sample{m.CFID(by), m.DFString(df), -1, 0}
	c, e := parseCall(m.Sites[m.SiteOf[by]].Text), m.ExecOf[by]
	name, indices, ok := splitDF(x.DF)
	if c == nil || e == 0 || !ok {
		return x
	}
	var inputs []string
	for _, in := range m.Inputs(int(e - 1)) {
		inputs = append(inputs, m.DFString(in))
	}
	c.learn(name, indices, inputs)
	x.At, x.Args = slices.Index(c.makes, true), len(c.args)
	return x
}

// answerWhere tells where DFs are.
func (s *finder) answerWhere(a *answers, q *question) {
	if len(q.DFs) == 0 {
		return
	}
	m := s.m
	index := map[dfName]int{}
	for i, d := range q.DFs {
		index[d] = i + 1
	}
	of := make([]*whereabouts, m.DFs())
	for i := 1; i < m.DFs(); i++ {
		df := model.DF(i)
		if !s.made(df) {
			continue
		}
		n := index[nameOf(m, df)]
		if n == 0 {
			continue
		}
		of[df] = &a.DFs[n-1]
		for k := m.MadeFrom[df]; k < m.MadeFrom[df+1]; k++ {
			if m.Own(int(m.MadeNode[k])) {
				of[df].Made = append(of[df].Made, event{m.MadeTime[k], int32(m.MadeNode[k])})
			}
		}
	}
	for i := range m.Copies {
		if c := &m.Copies[i]; of[c.DF] != nil {
			of[c.DF].Copies = append(of[c.DF].Copies, copyEvent{c.What, event{c.Time, int32(c.Node)}})
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
				w.came(g.To, g.Received)
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

// haveValues finds out which DFs, by name and indices, have a value, for rank 0.
func (s *finder) haveValues(asked map[string]bool) (map[string]bool, error) {
	b, err := procs.Broadcast(s.g, 0, procs.Encode(asked))
	if err != nil {
		return nil, err
	}
	asked = nil
	if err := procs.Decode(b, &asked); err != nil {
		return nil, err
	}
	names := make([]bool, len(s.m.Names))
	for full := range asked {
		name, _, _ := splitDF(full)
		for i, text := range s.m.Names {
			names[i] = names[i] || text == name
		}
	}
	have := map[string]bool{}
	for i := 1; i < s.m.DFs() && len(asked) > 0; i++ {
		if df := model.DF(i); names[s.m.DFName[df]] && s.made(df) {
			if full := s.m.DFString(df); asked[full] {
				have[full] = true
			}
		}
	}
	in, err := procs.Gather(s.g, 0, procs.Encode(have))
	if err != nil || s.g.Rank() != 0 {
		return nil, err
	}
	for rank, b := range in {
		if err := procs.Decode(b, &have); err != nil {
			return nil, procs.Told(rank, err)
		}
	}
	return have, nil
}
