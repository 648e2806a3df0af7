package lifecycle

import (
	"cmp"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/trace"
)

// makers tells who could still make a DF.
type makers struct {
	f *finder
	l *leftovers
	a *answers
	// sites gives, by name of DFs, the statements whose CFs made such DFs, in the order of the source.
	sites map[uint32][]uint32
	// through is the same with the statements whose CFs did it through others that they created, or, where
	// none has run, that name it; for the statements of left.
	through map[uint32][]uint32
	// anything are the statements of left of which nothing is known.
	anything []uint32
	// left counts, by statement and state, the CFs that are left and not in could.
	left       map[uint32]map[State]int64
	could      map[string][2]made // by key of a DF: the waiting CFs that would make it
	awaited    []string           // of solve
	readings   [2][]bindings
	identities []identity             // by DF of leftovers
	hasValue   func(full string) bool // tells whether the DF with this name and these indices got a value
	where      map[uint32]*whereabouts
	program    *luna.Stuck // nil: only the trace is known
	told       bool        // the trace says of statements what they make
}

// made says which CF would make a DF.
type made struct {
	cf     trace.CF
	site   uint32
	guess  bool // another reading of its statement is possible, or it may make other indices only
	within bool // it would make DFs whose keys begin so
	itself bool // what it waits for counts, too: that it makes this very DF is certain
}

// add notes that a CF would make a DF. Two are kept, so that one is left besides the CF that asks.
func (s *makers) add(key string, q made) {
	l := s.could[key]
	switch {
	case l[0].cf == 0:
		l[0] = q
	case l[0].cf != q.cf && l[1].cf == 0:
		l[1] = q
	}
	s.could[key] = l
}

// find gives a CF that would make a DF that another one, or it itself, waits for.
func (s *makers) find(key string, asking trace.CF) (made, bool) {
	for prefix := key; prefix != "" && len(s.could) > 0; prefix = parentDF(prefix) {
		for _, q := range s.could[prefix] {
			if q.cf != 0 && (q.within || prefix == key) && (q.cf != asking || q.itself && prefix == key) {
				return q, true
			}
		}
	}
	return made{}, false
}

// maxExact bounds how many CFs are looked at one by one; the others count by their statements.
const maxExact = 1 << 18

// newMakers looks through all CFs that are left; the processes of other ranks than 0, which have none, answer
// its questions and get nil.
func (s *finder) newMakers(l *leftovers) (*makers, error) {
	a, err := s.answers(l)
	if err != nil {
		return nil, err
	}
	if l == nil {
		_, err := s.haveValues(nil)
		return nil, err
	}
	x := &makers{f: s, l: l, a: a, sites: map[uint32][]uint32{}, through: map[uint32][]uint32{},
		left:  map[uint32]map[State]int64{},
		could: map[string][2]made{}, identities: make([]identity, len(l.DFs)),
		where: map[uint32]*whereabouts{}}
	calls := map[uint32]*call{}
	structured := false
	for i := range l.CFs {
		site := l.CFs[i].Site
		if _, known := calls[site]; !known {
			calls[site] = callOf(&s.m.Sites[site])
		}
		structured = structured || !x.atomic(site) && !told(calls[site])
	}
	n := 0
	for i := range l.DFs {
		if l.DFs[i].Made {
			x.where[uint32(i)] = &a.DFs[n]
			n++
		}
	}
	x.findSites(calls)
	if err := x.findValues(s, calls); err != nil {
		return nil, err
	}
	for i := range l.CFs {
		p := &l.CFs[i]
		c := calls[p.Site]
		if p.State == Waiting && c != nil && i < maxExact && x.solve(p, c) {
			continue
		}
		if x.left[p.Site] == nil {
			x.left[p.Site] = map[State]int64{}
		}
		x.left[p.Site][p.State]++
	}
	x.findThrough(calls, structured)
	return x, nil
}

func (s *makers) atomic(site uint32) bool {
	m := s.f.m
	return m.Codes[m.Sites[site].Code].Kind == trace.Atomic
}

// findValues prepares hasValue: where it takes other processes to answer, all that may be asked is asked
// before.
func (s *makers) findValues(x *finder, calls map[uint32]*call) error {
	asked := map[string]bool{}
	if x.g.Size() == 1 {
		s.hasValue = s.f.hasValue()
		return nil
	}
	s.hasValue = func(full string) bool {
		asked[full] = true
		return true
	}
	for i := range s.l.CFs {
		if p := &s.l.CFs[i]; p.State == Waiting && calls[p.Site] != nil && i < maxExact {
			s.readingsOf(p, calls[p.Site])
		}
	}
	have, err := x.haveValues(asked)
	s.hasValue = func(full string) bool { return have[full] }
	return err
}

// readingsOf gives the ways in which the statement of a waiting CF can be read; none if it does not tell what
// the CF would make.
func (s *makers) readingsOf(p *leftover, c *call) []bindings {
	awaited, readings, spare := s.awaited[:0], append(s.readings[0][:0], bindings{}), s.readings[1]
	for _, df := range p.Awaits {
		d := s.identity(df)
		if !d.ok || df == 0 {
			return nil
		}
		spare = c.match(d.name, d.indices, readings, spare[:0])
		readings, spare = spare, readings
		if len(readings) == 0 {
			return nil
		}
		awaited = append(awaited, s.l.DFs[df].Full)
	}
	s.readings = [2][]bindings{readings, spare}
	s.awaited = awaited
	if len(readings) > 1 {
		readings = slices.DeleteFunc(readings, func(vars bindings) bool {
			return !c.possible(vars, func(full string) bool {
				return slices.Contains(awaited, full) ||
					s.hasValue(full)
			})
		})
	}
	return readings
}

// solve finds what a waiting CF would make from its statement; false if that does not tell.
func (s *makers) solve(p *leftover, c *call) bool {
	readings := s.readingsOf(p, c)
	if len(readings) == 0 {
		return false
	}
	type making struct {
		full string
		made
	}
	var out []making
	for i := range c.args {
		if c.args[i].name == "" || c.makes != nil && !c.makes[i] {
			continue
		}
		full, whole := c.args[i].text(readings[0])
		if !whole && !c.told {
			return false
		}
		if !slices.Contains(s.awaited, full) {
			// Where several readings are possible the first is taken: what is made mostly comes last.
			some := !s.atomic(p.Site) || !whole
			out = append(out, making{full, made{p.CF, p.Site, len(readings) > 1 || some, some, false}})
		}
	}
	for _, x := range out {
		s.add(x.full, x.made)
	}
	return true
}

// identity is the name of a DF taken apart. Many CFs wait for the same DF.
type identity struct {
	name    string
	indices []int64
	ok      bool
	known   bool
}

func (s *makers) identity(df uint32) *identity {
	d := &s.identities[df]
	if !d.known {
		d.name, d.indices, d.ok = splitDF(s.l.DFs[df].Full)
		d.known = true
	}
	return d
}

// hasValue gives a function that tells whether the DF with a name and indices got a value.
func (f *finder) hasValue() func(full string) bool {
	values := map[string]map[string]bool{} // by name, where somebody asked
	return func(full string) bool {
		name, _, _ := strings.Cut(full, "[")
		if values[name] == nil {
			values[name] = map[string]bool{}
			for df := model.DF(1); int(df) < f.m.DFs(); df++ {
				if f.m.DFNameOf(df) == name && f.made(df) {
					values[name][f.m.DFString(df)] = true
				}
			}
		}
		return values[name][full]
	}
}

// findSites takes up which statements made DFs of which names, and which arguments.
func (s *makers) findSites(calls map[uint32]*call) {
	m := s.f.m
	for k := range s.a.Made {
		s.sites[k.Name] = append(s.sites[k.Name], k.Site)
	}
	// What the program says of statements of which no CF has run.
	for site := range m.Sites {
		x := &m.Sites[site]
		if x.DFs == "" {
			continue
		}
		s.told = true
		if c := callOf(x); c != nil && s.atomic(uint32(site)) {
			for _, name := range s.named(c) {
				if !s.a.Made[nameSite{name, uint32(site)}] && !slices.Contains(s.sites[name], uint32(site)) {
					s.sites[name] = append(s.sites[name], uint32(site))
				}
			}
		}
	}
	for _, list := range s.sites {
		s.sort(list)
	}
	for site, c := range calls {
		if c == nil || c.told {
			continue
		}
		for _, x := range s.a.Samples[m.Sites[site].Code] {
			if x.At < 0 || x.Args != len(c.args) {
				continue // all calls of the same code fragment make the same arguments
			}
			if c.makes == nil {
				c.makes = make([]bool, len(c.args))
			}
			c.makes[x.At] = true
		}
	}
}

func (s *makers) sort(sites []uint32) {
	slices.SortFunc(sites, func(a, b uint32) int {
		x, y := &s.f.m.Sites[a], &s.f.m.Sites[b]
		return cmp.Or(cmp.Compare(x.File, y.File), cmp.Compare(x.Line, y.Line), cmp.Compare(a, b))
	})
}

// findThrough finds what the statements of left have made through the CFs that their CFs created.
func (s *makers) findThrough(calls map[uint32]*call, structured bool) {
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
		for grown := true; grown; {
			grown = false
			for k := range s.a.Edges {
				before := len(names[k.Up])
				for name := range names[k.Down] {
					add(k.Up, name)
				}
				grown = grown || len(names[k.Up]) > before
			}
		}
	}
	for name, list := range s.unrun(calls) {
		for _, site := range list {
			add(site, name)
		}
	}
	for site := range s.left {
		if c := calls[site]; told(c) {
			clear(names[site])
			for _, name := range s.named(c) {
				add(site, name)
			}
		} else if len(names[site]) == 0 && s.atomic(site) && !s.a.Ran[site] {
			if c == nil {
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

// told tells that the trace says what CFs of a statement read and make.
func told(c *call) bool { return c != nil && c.told }

// named gives the names of DFs that a statement names or, where that is told, makes.
func (s *makers) named(c *call) (names []uint32) {
	for i := range c.args {
		if c.told && !c.makes[i] {
			continue
		}
		for name, text := range s.f.m.Names {
			if text != "" && text == c.args[i].name {
				names = append(names, uint32(name))
			}
		}
	}
	return names
}

// unrun finds, by name of DFs, the structured statements of left of which no CF has run that may make such
// DFs. What is in their blocks is not known, but these can only be statements of which no CF has been
// created, further down in the same file. These name the DFs, unless they call them by the name of a
// parameter: so what was passed to the subs around counts, too. In a run that was cut short, a statement
// whose CFs have run may not have created all of its block.
func (s *makers) unrun(calls map[uint32]*call) map[uint32][]uint32 {
	m := s.f.m
	out := map[uint32][]uint32{}
	for site := range s.left {
		if s.atomic(site) || told(calls[site]) || s.f.res.Final && s.a.Ran[site] {
			continue
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
			if !s.a.Created[uint32(k)] && x.File == here.File && x.Line >= here.Line && x.Text != "" {
				c := parseCall(x.Text)
				note(c)
				known = known && (c != nil || m.Codes[x.Code].Kind != trace.Atomic)
			}
		}
		for _, up := range s.l.Up[site].Sites {
			note(parseCall(m.Sites[up].Text))
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

// why says why a DF does not come to a CF that waits for it; its kind is "" if it has come.
func (s *makers) why(p *leftover, df uint32) why {
	if s.l.DFs[df].Made {
		return s.whereabouts(p, df)
	}
	w := s.unmade(p.CF, p.Site, s.l.DFs[df].key(), s.l.DFs[df].Name)
	w.df = df
	return w
}

// unmade says why a DF without a value does not come to a CF.
func (s *makers) unmade(cf trace.CF, of uint32, key string, name uint32) why {
	if q, ok := s.find(key, cf); ok {
		return q.why()
	}
	best := why{kind: NobodyMakes}
	for _, list := range [][]uint32{s.through[name], s.anything} {
		for _, site := range list {
			for _, state := range []State{Running, Ready, Moving, Created} {
				if n := s.left[site][state]; n > 0 {
					return why{kind: UnderWay, site: site, n: n, state: state}
				}
			}
			n := s.left[site][Waiting]
			if of == site {
				n--
			}
			if n > 0 && best.kind == NobodyMakes {
				best = why{kind: MayMake, site: site, n: n}
			}
		}
	}
	return best
}

func (q made) why() why {
	w := why{kind: WouldMake, by: q.cf, site: q.site}
	if q.guess {
		w.kind = MayMake
	}
	return w
}

// whereabouts tells what became of a DF with a value that a CF waits for: what it asked another node for
// comes as the answer, anything else by itself.
func (s *makers) whereabouts(p *leftover, df uint32) why {
	d, node := s.where[df], int32(p.Node)
	request, remote := d.Requests[p.CF]
	if remote && request.Answered {
		return why{}
	}
	w := why{df: df, kind: Elsewhere, asked: node}
	if n := len(d.Made); n > 0 {
		w.node = d.Made[n-1].Node
	}
	if remote {
		w.asked = request.To
	} else {
		for _, e := range d.Made {
			if e.Node == node && e.Time >= p.Since && s.f.m.Count[trace.KindDFStored] == 0 {
				return why{}
			}
		}
		if t, ok := d.Came[node]; ok && t >= p.Since {
			return why{}
		}
	}
	at := model.None
	for _, c := range d.Copies {
		switch {
		case c.What == model.CopyStored && c.At.Node == node && c.At.Time >= p.Since && !remote:
			return why{}
		case c.What == model.CopyStored && w.kind == Elsewhere:
			w.node = c.At.Node
		case (c.What == model.CopyExpired || c.What == model.CopyDeleted) && c.At.Time >= at:
			w.kind, w.node, w.what, at = Destroyed, c.At.Node, c.What, c.At.Time
		}
	}
	if slices.Contains(d.Coming, node) {
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
