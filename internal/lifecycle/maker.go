package lifecycle

import (
	"cmp"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// makers tells who could still make a DF.
type makers struct {
	f *finder
	// sites gives, by name of DFs, the statements whose CFs made such DFs, in the order of the source.
	sites map[uint32][]uint32
	// through is the same with the statements whose CFs did it through others that they created, or, where none has run,
	// that name it; for the statements of left.
	through map[uint32][]uint32
	// anything are the statements of left of which nothing is known.
	anything []uint32
	// left counts, by statement and state, the CFs that are left and not in exact.
	left map[uint32]map[State]int64
	// exact gives the waiting CF that would make a DF, and inside that would make some DFs whose names begin like it.
	exact, inside map[string]made
	awaited       []string // of solve
	readings      [2][]bindings
	identities    []identity                 // of DFs that were looked at
	identityOf    []uint32                   // by DF: 1 + index into identities, 0 not looked at
	values        map[string]map[string]bool // by name: the DFs of that name with a value, where somebody asked
	copies        map[model.DF][]model.Copy  // of awaited DFs that have a value
	coming        map[model.DF][]int32       // likewise: the nodes they were sent to and had not come to
	asked         map[asking]asked           // likewise: requests to other nodes
}

type asking struct {
	df model.DF
	cf model.CF
}

type asked struct {
	node     int32
	answered bool
}

// made says which CF would make a DF; guess that another reading of its statement is possible.
type made struct {
	cf    model.CF
	guess bool
}

// maxExact bounds how many CFs are looked at one by one; the others count by their statements.
const maxExact = 1 << 18

func newMakers(f *finder, left []standing) *makers {
	s := &makers{f: f, sites: map[uint32][]uint32{}, through: map[uint32][]uint32{}, left: map[uint32]map[State]int64{},
		exact: map[string]made{}, inside: map[string]made{}, values: map[string]map[string]bool{}}
	m := f.m
	calls := map[uint32]*call{}
	structured := false
	for i := range left {
		site := m.SiteOf[left[i].cf]
		if _, known := calls[site]; !known {
			calls[site] = parseCall(m.Sites[site].Text)
		}
		structured = structured || !m.Atomic(left[i].cf)
	}
	s.findSites(calls)
	for i := range left {
		p := &left[i]
		site := m.SiteOf[p.cf]
		c := calls[site]
		if p.state == Waiting && c != nil && i < maxExact && s.solve(p, c) {
			continue
		}
		if s.left[site] == nil {
			s.left[site] = map[State]int64{}
		}
		s.left[site][p.state]++
	}
	s.findThrough(calls, left, structured)
	s.findCopies(left)
	return s
}

// solve finds what a waiting CF would make from its statement; false if that does not tell.
func (s *makers) solve(p *standing, c *call) bool {
	m := s.f.m
	awaited, readings, spare := s.awaited[:0], append(s.readings[0][:0], bindings{}), s.readings[1]
	for _, df := range m.Awaits.Of(p.await) {
		d := s.identity(df)
		if !d.ok || df == 0 {
			return false
		}
		spare = c.match(d.name, d.indices, readings, spare[:0])
		readings, spare = spare, readings
		if len(readings) == 0 {
			return false
		}
		awaited = append(awaited, d.full)
	}
	s.readings = [2][]bindings{readings, spare}
	s.awaited = awaited
	if len(readings) > 1 {
		readings = slices.DeleteFunc(readings, func(vars bindings) bool {
			return !c.possible(vars, func(full string) bool { return slices.Contains(awaited, full) || s.hasValue(full) })
		})
		if len(readings) == 0 {
			return false
		}
	}
	var out []string
	for i := range c.args {
		if c.args[i].name == "" || c.makes != nil && !c.makes[i] {
			continue
		}
		full, ok := c.args[i].text(readings[0])
		if !ok {
			return false
		}
		out = append(out, full)
	}
	to := s.exact
	if !m.Atomic(p.cf) {
		to = s.inside
	}
	for _, full := range out {
		if _, taken := to[full]; !taken && !slices.Contains(awaited, full) {
			// Where several readings are possible the first is taken: what is made mostly comes last.
			to[full] = made{p.cf, len(readings) > 1}
		}
	}
	return true
}

// identity is the name of a DF taken apart. Many CFs wait for the same DF.
type identity struct {
	full, name string
	indices    []int64
	ok         bool
}

func (s *makers) identity(df model.DF) *identity {
	if s.identityOf == nil {
		s.identityOf, s.identities = make([]uint32, s.f.m.DFs()), make([]identity, 0, 1024)
	}
	i := s.identityOf[df]
	if i == 0 {
		d := identity{full: s.f.m.DFString(df)}
		d.name, d.indices, d.ok = splitDF(d.full)
		s.identities = append(s.identities, d)
		i = uint32(len(s.identities))
		s.identityOf[df] = i
	}
	return &s.identities[i-1]
}

// hasValue tells whether the DF with this name and these indices got a value.
func (s *makers) hasValue(full string) bool {
	m := s.f.m
	name, _, _ := strings.Cut(full, "[")
	if s.values[name] == nil {
		s.values[name] = map[string]bool{}
		for df := model.DF(1); int(df) < m.DFs(); df++ {
			if m.DFNameOf(df) == name && s.f.made(df) {
				s.values[name][m.DFString(df)] = true
			}
		}
	}
	return s.values[name][full]
}

// samples is how many CFs of each code fragment are looked at to see which of its arguments they make.
const samples = 16

// findSites goes through the creations of all DFs.
func (s *makers) findSites(calls map[uint32]*call) {
	m := s.f.m
	seenOf, byCode := make([]int, len(m.Codes)), make([][]*call, len(m.Codes))
	for site, c := range calls {
		if code := m.Sites[site].Code; c != nil && m.Codes[code].Kind == trace.Atomic {
			byCode[code] = append(byCode[code], c)
		}
	}
	type pair struct{ name, site uint32 }
	seen, last := map[pair]bool{}, pair{}
	for df := 1; df < m.DFs(); df++ {
		for i := m.MadeFrom[df]; i < m.MadeFrom[df+1]; i++ {
			if code := m.CodeOf(m.MadeBy[i]); byCode[code] != nil && seenOf[code] < samples && m.MadeBy[i] != 0 {
				seenOf[code]++
				s.learn(model.DF(df), m.MadeBy[i], byCode[code])
			}
			k := pair{m.DFName[df], m.SiteOf[m.MadeBy[i]]}
			if k == last || m.MadeBy[i] == 0 || seen[k] {
				continue
			}
			last, seen[k] = k, true
			s.sites[k.name] = append(s.sites[k.name], k.site)
		}
	}
	for _, list := range s.sites {
		s.sort(list)
	}
}

// learn looks at the statement of a CF that made a DF; all calls of the same code fragment make the same arguments.
func (s *makers) learn(df model.DF, by model.CF, calls []*call) {
	m := s.f.m
	e := m.ExecOf[by]
	c := parseCall(m.Sites[m.SiteOf[by]].Text)
	d := *s.identity(df)
	if c == nil || e == 0 || !d.ok {
		return
	}
	var inputs []string
	for _, in := range m.Inputs(int(e - 1)) {
		inputs = append(inputs, s.identity(in).full)
	}
	c.learn(d.name, d.indices, inputs)
	at := slices.Index(c.makes, true)
	for _, o := range calls {
		if at < 0 || len(o.args) != len(c.args) {
			continue
		}
		if o.makes == nil {
			o.makes = make([]bool, len(o.args))
		}
		o.makes[at] = true
	}
}

func (s *makers) sort(sites []uint32) {
	slices.SortFunc(sites, func(a, b uint32) int {
		x, y := &s.f.m.Sites[a], &s.f.m.Sites[b]
		return cmp.Or(cmp.Compare(x.File, y.File), cmp.Compare(x.Line, y.Line), cmp.Compare(a, b))
	})
}

// findThrough finds what the statements of left have made through the CFs that their CFs created.
func (s *makers) findThrough(calls map[uint32]*call, left []standing, structured bool) {
	m := s.f.m
	names := map[uint32]map[uint32]bool{} // by statement
	add := func(site, name uint32) {
		if names[site] == nil {
			names[site] = map[uint32]bool{}
		}
		names[site][name] = true
	}
	for name, sites := range s.sites {
		for _, site := range sites {
			add(site, name)
		}
	}
	if structured {
		type edge struct{ up, down uint32 }
		edges, last := map[edge]bool{}, edge{}
		for cf, p := range m.Parent {
			if k := (edge{m.SiteOf[p], m.SiteOf[cf]}); p != 0 && k != last {
				edges[k], last = true, k
			}
		}
		for grown := true; grown; {
			grown = false
			for k := range edges {
				before := len(names[k.up])
				for name := range names[k.down] {
					add(k.up, name)
				}
				grown = grown || len(names[k.up]) > before
			}
		}
	}
	for name, list := range s.unrun(calls, left) {
		for _, site := range list {
			add(site, name)
		}
	}
	for site := range s.left {
		if len(names[site]) == 0 && m.Codes[m.Sites[site].Code].Kind == trace.Atomic && !s.ran(site) {
			if c := calls[site]; c == nil {
				s.anything = append(s.anything, site)
			} else {
				for _, name := range s.named(c) {
					add(site, name)
				}
			}
		}
		for name := range names[site] {
			s.through[name] = append(s.through[name], site)
		}
	}
	for _, list := range s.through {
		s.sort(list)
	}
	s.sort(s.anything)
}

// named gives the names of DFs that a statement names.
func (s *makers) named(c *call) (names []uint32) {
	for i := range c.args {
		for name, text := range s.f.m.Names {
			if text != "" && text == c.args[i].name {
				names = append(names, uint32(name))
			}
		}
	}
	return names
}

// unrun finds, by name of DFs, the structured statements of left of which no CF has run that may make such DFs. What is in
// their blocks is not known, but these can only be statements of which no CF has been created, further down in the same
// file. These name the DFs, unless they call them by the name of a parameter: so what was passed to the subs around
// counts, too. In a run that was cut short, a statement whose CFs have run may not have created all of its block.
func (s *makers) unrun(calls map[uint32]*call, left []standing) map[uint32][]uint32 {
	m := s.f.m
	out := map[uint32][]uint32{}
	var created []bool
	done := map[uint32]bool{}
	for i := range left {
		site := m.SiteOf[left[i].cf]
		if m.Atomic(left[i].cf) || done[site] || s.left[site] == nil || s.f.res.Final && s.ran(site) {
			continue
		}
		done[site] = true
		if created == nil {
			created = make([]bool, len(m.Sites))
			for cf := range m.SiteOf {
				created[m.SiteOf[cf]] = created[m.SiteOf[cf]] || m.Created[cf] != model.None
			}
		}
		about := map[uint32]bool{}
		note := func(c *call) {
			if c == nil {
				return
			}
			for _, name := range s.named(c) {
				about[name] = true
			}
		}
		note(calls[site])
		here := &m.Sites[site]
		known := here.Text != "" && here.File != ""
		for k := range m.Sites {
			x := &m.Sites[k]
			if !created[k] && x.File == here.File && x.Line >= here.Line && x.Text != "" {
				c := parseCall(x.Text)
				note(c)
				known = known && (c != nil || m.Codes[x.Code].Kind != trace.Atomic)
			}
		}
		for up, n := m.Parent[left[i].cf], 0; up != 0 && n < maxDepth; up, n = m.Parent[up], n+1 {
			note(parseCall(m.Sites[m.SiteOf[up]].Text))
		}
		if !known {
			s.anything = append(s.anything, site)
			continue
		}
		for name := range about {
			out[name] = append(out[name], site)
		}
	}
	return out
}

// maxDepth ends a way up through ancestors that absurd traces make a circle.
const maxDepth = 1000

// ran tells whether a CF of a statement has ended: if it made nothing, others of it will not either.
func (s *makers) ran(site uint32) bool {
	m := s.f.m
	for e, cf := range m.ExecCF {
		if m.SiteOf[cf] == site && m.ExecEnd[e] != model.None {
			return true
		}
	}
	return false
}

func (s *makers) findCopies(left []standing) {
	m := s.f.m
	want, some := newBits(m.DFs()), false
	for i := range left {
		if left[i].state != Waiting {
			continue
		}
		for _, df := range m.Awaits.Of(left[i].await) {
			if s.f.made(df) {
				want.set(df)
				some = true
			}
		}
	}
	s.copies, s.coming, s.asked = map[model.DF][]model.Copy{}, map[model.DF][]int32{}, map[asking]asked{}
	if !some {
		return
	}
	for i := range m.Copies {
		if c := m.Copies[i]; want.has(c.DF) {
			s.copies[c.DF] = append(s.copies[c.DF], c)
		}
	}
	answered := map[uint32]bool{}
	for i := range m.DFMessages {
		switch g := &m.DFMessages[i]; {
		case !want.has(g.DF):
		case g.Received != model.None:
			answered[g.Request] = true
		case g.Sent != model.None:
			s.coming[g.DF] = append(s.coming[g.DF], g.To)
		}
	}
	for i := 1; i < len(m.Requests); i++ {
		if q := &m.Requests[i]; q.Sent != model.None && want.has(q.DF) {
			s.asked[asking{q.DF, q.CF}] = asked{q.To, answered[uint32(i)]}
		}
	}
}

// why says why a DF does not come to a CF that waits for it since a time; its kind is "" if it has come.
func (s *makers) why(cf model.CF, df model.DF, since int64) why {
	m := s.f.m
	if s.f.made(df) {
		return s.whereabouts(cf, df, since)
	}
	full := s.identity(df).full
	if q, ok := s.exact[full]; ok && q.cf != cf {
		return q.why(df, m.SiteOf[q.cf])
	}
	for prefix := full; prefix != "" && len(s.inside) > 0; prefix = parentDF(prefix) {
		if q, ok := s.inside[prefix]; ok && q.cf != cf {
			q.guess = true // it may make other indices only
			return q.why(df, m.SiteOf[q.cf])
		}
	}
	best := why{df: df, kind: NobodyMakes}
	for _, list := range [][]uint32{s.through[m.DFName[df]], s.anything} {
		for _, site := range list {
			for _, state := range []State{Running, Ready, Moving, Created} {
				if n := s.left[site][state]; n > 0 {
					return why{df: df, kind: UnderWay, site: site, n: n, state: state}
				}
			}
			n := s.left[site][Waiting]
			if m.SiteOf[cf] == site {
				n--
			}
			if n > 0 && best.kind == NobodyMakes {
				best = why{df: df, kind: MayMake, site: site, n: n}
			}
		}
	}
	return best
}

func (q made) why(df model.DF, site uint32) why {
	w := why{df: df, kind: WouldMake, by: q.cf, site: site}
	if q.guess {
		w.kind = MayMake
	}
	return w
}

// whereabouts tells what became of a DF with a value that a CF waits for: what it asked another node for comes as the answer,
// anything else by itself.
func (s *makers) whereabouts(cf model.CF, df model.DF, since int64) why {
	f, m := s.f, s.f.m
	node := f.nodeAt(cf, m.End)
	first, end := m.Creations(df)
	request, remote := s.asked[asking{df, cf}]
	if remote && request.answered {
		return why{}
	}
	w := why{df: df, kind: Elsewhere, node: int32(m.MadeNode[end-1]), asked: int32(node)}
	if remote {
		w.asked = request.node
	} else {
		for i := first; i < end; i++ {
			if int(m.MadeNode[i]) == node && m.MadeTime[i] >= since && m.Count[trace.KindDFStored] == 0 {
				return why{}
			}
		}
		for _, i := range m.Receipts(df, node) {
			if m.DFMessages[i].Received >= since {
				return why{}
			}
		}
	}
	at := model.None
	for _, c := range s.copies[df] {
		switch {
		case c.What == model.CopyStored && int(c.Node) == node && c.Time >= since && !remote:
			return why{}
		case c.What == model.CopyStored && w.kind == Elsewhere:
			w.node = int32(c.Node)
		case (c.What == model.CopyExpired || c.What == model.CopyDeleted) && c.Time >= at:
			w.kind, w.node, w.what, at = Destroyed, int32(c.Node), c.What, c.Time
		}
	}
	if slices.Contains(s.coming[df], int32(node)) {
		w = why{df: df, kind: Coming}
	}
	return w
}

// parentDF is the name of a DF without its last index, "" of one without indices.
func parentDF(full string) string {
	if i := strings.LastIndexByte(full, '['); i >= 0 {
		return full[:i]
	}
	return ""
}
