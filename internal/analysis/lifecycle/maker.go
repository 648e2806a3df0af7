package lifecycle

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// makers tells who could still make a DF.
type makers struct {
	f *finder
	l *leftovers
	// sites gives, by name of DFs, the statements whose CFs made such DFs or, as the trace says, would, in the
	// order of the source.
	sites map[uint32][]uint32
	// through is the same for the statements of left, with what their CFs made through others that they created.
	through map[uint32][]uint32
	// left counts, by statement and state, the CFs that are left and not in could.
	left     map[uint32]map[State]int64
	could    map[string][2]made // by key of a DF: the waiting CFs that would make it
	awaited  []string           // of solve
	readings [2][]bindings
	hasValue func(full string) bool // tells whether the DF with this name and these indices got a value
	where    map[uint32]*whereabouts
	told     bool     // the trace says of statements what they make
	calls    []*call  // by statement; nil: the trace does not tell
	losers   []uint32 // statements whose CFs lose DFs
	apart    map[apart]*apart
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

// parentDF is the name of a DF without its last index, "" of one without indices.
func parentDF(full string) string { return full[:max(strings.LastIndexByte(full, '['), 0)] }

// maxExact bounds how many CFs are looked at one by one; the others count by their statements.
const maxExact = 1 << 18

// newMakers looks through all CFs that are left; the processes of other ranks than 0, which have none, answer
// its questions and get nil.
func (s *finder) newMakers(l *leftovers) (*makers, error) {
	if l == nil {
		_, err := s.ask(question{})
		if err == nil {
			_, err = s.haveValues(nil)
		}
		return nil, err
	}
	x := &makers{f: s, l: l, sites: map[uint32][]uint32{}, through: map[uint32][]uint32{},
		left: map[uint32]map[State]int64{}, could: map[string][2]made{},
		where: map[uint32]*whereabouts{}, calls: make([]*call, len(s.m.Sites))}
	for site := range s.m.Sites {
		c := parseCall(s.m.Sites[site].DFs)
		x.calls[site] = c
		x.told = x.told || s.m.Sites[site].DFs != ""
		if c != nil && len(c.lost) > 0 {
			x.losers = append(x.losers, uint32(site))
		}
	}
	var q question
	for i := range l.CFs {
		site := l.CFs[i].Site
		q.Edges = q.Edges || !x.atomic(site) && x.calls[site] == nil
	}
	for i := range l.DFs {
		if l.DFs[i].Made {
			q.DFs = append(q.DFs, l.DFs[i].DF)
		}
	}
	a, err := s.ask(q)
	if err != nil {
		return nil, err
	}
	n := 0
	for i := range l.DFs {
		if l.DFs[i].Made {
			x.where[uint32(i)] = &a.DFs[n]
			n++
		}
	}
	if err := x.findValues(); err != nil {
		return nil, err
	}
	for i := range l.CFs {
		p := &l.CFs[i]
		if x.exact(i) && x.solve(p, x.calls[p.Site]) {
			continue
		}
		if x.left[p.Site] == nil {
			x.left[p.Site] = map[State]int64{}
		}
		x.left[p.Site][p.State]++
	}
	x.findSites(a)
	return x, nil
}

func (s *makers) atomic(site uint32) bool {
	m := s.f.m
	return m.Codes[m.Sites[site].Code].Kind == trace.Atomic
}

// exact tells whether a CF that is left is looked at by itself: it waits, and the trace says what it makes.
func (s *makers) exact(i int) bool {
	p := &s.l.CFs[i]
	return i < maxExact && p.State == Waiting && s.calls[p.Site] != nil
}

// findValues prepares hasValue: all that may be asked is asked of all processes at once.
func (s *makers) findValues() error {
	asked := map[string]bool{}
	s.hasValue = func(full string) bool {
		asked[full] = true
		return true
	}
	for i := range s.l.CFs {
		if s.exact(i) {
			s.readingsOf(&s.l.CFs[i], s.calls[s.l.CFs[i].Site])
		}
	}
	have, err := s.f.haveValues(asked)
	s.hasValue = func(full string) bool { return have[full] }
	return err
}

// readingsOf gives the ways in which the statement of a waiting CF can be read; none if it does not tell what
// the CF would make.
func (s *makers) readingsOf(p *leftover, c *call) []bindings {
	awaited, readings, spare := s.awaited[:0], append(s.readings[0][:0], bindings{}), s.readings[1]
	for _, df := range p.Awaits {
		name, indices, ok := numbers(s.l.DFs[df].Full)
		if !ok || df == 0 {
			return nil
		}
		spare = c.match(name, indices, readings, spare[:0])
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
				return slices.Contains(awaited, full) || s.hasValue(full)
			})
		})
	}
	return readings
}

// solve finds what a waiting CF would make; false if what it waits for does not tell.
func (s *makers) solve(p *leftover, c *call) bool {
	readings := s.readingsOf(p, c)
	if len(readings) == 0 {
		return false
	}
	for i := range c.args {
		// Where several readings are possible the first is taken.
		full, whole := c.args[i].text(readings[0])
		if c.args[i].made && !slices.Contains(s.awaited, full) {
			some := !s.atomic(p.Site) || !whole
			s.add(full, made{p.CF, p.Site, len(readings) > 1 || some, some, false})
		}
	}
	return true
}

// numbers takes grid[7][3] apart; false where that is not a name with numbers.
func numbers(full string) (name string, indices []int64, ok bool) {
	name, texts := splitDF(full)
	ok = isName(name)
	for _, text := range texts {
		n, err := strconv.ParseInt(text, 10, 64)
		indices, ok = append(indices, n), ok && err == nil
	}
	return name, indices, ok
}

// findSites finds out which statements make DFs of which names: what the trace says of them and, where it
// says nothing, what CFs of theirs made, themselves or through CFs that they created.
func (s *makers) findSites(a *answers) {
	m := s.f.m
	ids := map[string][]uint32{} // of names
	for n, text := range m.Names {
		ids[text] = append(ids[text], uint32(n))
	}
	names := map[uint32]map[uint32]bool{} // by statement
	add := func(site, name uint32) {
		if names[site] == nil {
			names[site] = map[uint32]bool{}
		}
		names[site][name] = true
	}
	say := func(site uint32, c *call) {
		for i := range c.args {
			for _, name := range ids[c.args[i].name] {
				if c.args[i].made {
					add(site, name)
				}
			}
		}
	}
	for k := range a.Made {
		add(k.Site, k.Name)
	}
	for site, c := range s.calls {
		if c != nil && s.atomic(uint32(site)) {
			say(uint32(site), c)
		}
	}
	s.sites = s.byName(names)
	for grown := true; grown; {
		grown = false
		for k := range a.Edges {
			before := len(names[k.Up])
			for name := range names[k.Down] {
				add(k.Up, name)
			}
			grown = grown || len(names[k.Up]) > before
		}
	}
	for site := range names {
		if s.left[site] == nil {
			delete(names, site)
		}
	}
	for site := range s.left {
		if c := s.calls[site]; c != nil {
			clear(names[site])
			say(site, c)
		}
	}
	s.through = s.byName(names)
}

// byName turns names by statement round. The statements are in the order of the source.
func (s *makers) byName(names map[uint32]map[uint32]bool) map[uint32][]uint32 {
	out := map[uint32][]uint32{}
	for site, list := range names {
		for name := range list {
			out[name] = append(out[name], site)
		}
	}
	for _, sites := range out {
		slices.SortFunc(sites, func(a, b uint32) int {
			x, y := &s.f.m.Sites[a], &s.f.m.Sites[b]
			return cmp.Or(cmp.Compare(x.File, y.File), cmp.Compare(x.Line, y.Line), cmp.Compare(a, b))
		})
	}
	return out
}

// why says why a DF does not come to a CF that waits for it; its kind is "" if it has come.
func (s *makers) why(p *leftover, df uint32) why {
	d := &s.l.DFs[df]
	if w := (why{df: df}); s.f.program == nil && len(s.sites[d.Name]) > 0 && s.loses(&w, p.Site, d.Full, true) {
		return w
	}
	if d.Made {
		w := s.whereabouts(p, df)
		w.df = df
		s.lostWhenMade(&w, s.where[df], d.Full)
		return w
	}
	w := s.unmade(p.CF, p.Site, d.key(), d.Name)
	w.df = df
	if w.kind == NobodyMakes && s.f.program == nil {
		s.findLoser(&w, d.Full)
	}
	return w
}

// unmade says why a DF without a value does not come to a CF.
func (s *makers) unmade(cf trace.CF, of uint32, key string, name uint32) why {
	if q, ok := s.find(key, cf); ok {
		w := why{kind: WouldMake, by: q.cf, site: q.site}
		if q.guess {
			w.kind = MayMake
		}
		return w
	}
	best := why{kind: NobodyMakes}
	for _, site := range s.through[name] {
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
	return best
}

// whereabouts tells what became of a DF with a value that a CF waits for. What the CF asked another node for
// comes as the answer, anything else by itself.
func (s *makers) whereabouts(p *leftover, df uint32) why {
	d, node := s.where[df], int32(p.Node)
	request, remote := d.Requests[p.CF]
	if remote && request.Answered {
		return why{}
	}
	since := func(e event) bool { return e.Node == node && e.Time >= p.Since }
	w := why{df: df, kind: Elsewhere, asked: node}
	if n := len(d.Made); n > 0 {
		w.node = d.Made[n-1].Node
	}
	if remote {
		w.asked = request.To
	} else if slices.ContainsFunc(d.Came, since) ||
		s.f.m.Count[trace.KindDFStored] == 0 && slices.ContainsFunc(d.Made, since) {
		return why{}
	}
	at := model.None
	for _, c := range d.Copies {
		switch {
		case c.What == model.CopyStored && since(c) && !remote:
			return why{}
		case c.What == model.CopyStored && w.kind == Elsewhere:
			w.node = c.Node
		case (c.What == model.CopyExpired || c.What == model.CopyDeleted) && c.Time >= at:
			w.kind, w.node, w.what, at = Destroyed, c.Node, c.What, c.Time
		}
	}
	if slices.Contains(d.Coming, node) {
		w = why{df: df, kind: Coming}
	}
	return w
}

// Makers tells which of the CFs that wait at the end would make what others wait for. Any number of
// goroutines may ask.
type Makers struct {
	mu sync.Mutex // asking keeps names of DFs
	s  *makers    // nil: nothing is known
}

// FindMakers looks through the CFs that are left, once: a second for some hundred thousand of them.
func FindMakers(m *model.Model) *Makers {
	s := newFinder(m, Options{}, nil)
	if !s.need("cfs", trace.KindCFCreated, trace.KindCFStarted, trace.KindCFFinished, trace.KindDFCreate) {
		return &Makers{}
	}
	l, err := s.leftovers()
	if err == nil {
		var x *makers
		if x, err = s.newMakers(l); err == nil {
			return &Makers{s: x}
		}
	}
	panic(err) // nobody else can make it fail
}

// Of gives the waiting CF that would make a DF that another CF waits for, 0 where none is known. sure is
// false where its statement can be read in another way, too.
func (x *Makers) Of(waiting model.CF, df model.DF) (by model.CF, sure bool) {
	if x.s == nil || df == 0 || x.s.f.made(df) {
		return 0, false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	m := x.s.f.m
	w := x.s.unmade(m.CFID(waiting), m.SiteOf[waiting], m.DFString(df), m.DFName[df])
	return m.FindCF(w.by), w.by != 0 && w.kind == WouldMake
}
