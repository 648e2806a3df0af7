package slou

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
)

// sums collects the pieces of one worker. What is told of the whole run only goes to a tally, which those workers share
// that are divided one after another.
type sums struct {
	*tally
	cells   cells
	link    map[Link]int64
	named   map[namedPart]int64
	useful  struct{ measured, count int64 }
	windows *windowSums // nil: nobody asked
}

// tally collects pieces by code fragment, cause and index.
type tally struct {
	m          *model.Model
	regions    *regions
	codes      []codeSum // 0 for what belongs to no CF, else 1 + code fragment; after those the regions, in a run of regions
	structured []codeSum // by code fragment
	causes     map[causeKey]*causeSum
	recent     [64]recentCause
	indices    []*indexGroups
	names      []string // beyond those of the model, from other processes
}

type codeSum struct {
	count, ns, max, measured int64
	caused                   [FactorLoss + 1]int64
	before                   cells
}

type causeKey struct {
	factor             Factor
	part               Part
	link               Link
	call               int32 // as Piece.Call
	producer, consumer int32 // 1 + code fragment, 0 none
	df                 uint32
	name               string
}

type causeSum struct{ ns, count, queued int64 }

type recentCause struct {
	key causeKey
	sum *causeSum
}

func newTally(m *model.Model, splits []by, regions *regions) *tally {
	t := &tally{m: m, regions: regions, causes: map[causeKey]*causeSum{}, codes: make([]codeSum, len(m.Codes)+1+regions.count()), structured: make([]codeSum, len(m.Codes))}
	for _, b := range splits {
		if b.what == byIndex {
			t.indices = append(t.indices, newIndexGroups(m, b.index))
		}
	}
	return t
}

func newSums(t *tally) *sums {
	return &sums{tally: t, link: map[Link]int64{}, named: map[namedPart]int64{}}
}

func (s *sums) executed(cf model.CF, useful int64, measured bool) {
	c := &s.codes[s.m.CodeOf(cf)+1]
	c.count++
	c.ns += useful
	c.max = max(c.max, useful)
	s.useful.count++
	known := int64(0)
	if measured {
		known = useful
	}
	c.measured += known
	s.useful.measured += known
	for _, x := range s.indices {
		g := x.groups.at(x.group(cf))
		g.cfs++
		g.measured += known
	}
}

func (t *tally) ran(cf model.CF, ns int64) {
	c := &t.structured[t.m.CodeOf(cf)]
	c.count++
	c.ns += ns
	c.max = max(c.max, ns)
}

// code gives 1 + the code fragment of a CF, 0 for no CF.
func (t *tally) code(cf model.CF) int32 {
	if cf == 0 {
		return 0
	}
	return int32(t.m.CodeOf(cf)) + 1
}

func (s *sums) add(p *Piece) {
	ns := p.To - p.From
	at := cell(p.Factor, p.Part)
	s.cells[at] += ns
	if s.windows != nil {
		s.windows.add(p, at)
	}
	for _, x := range s.indices {
		x.add(p, at)
	}
	key := causeKey{factor: p.Factor, part: p.Part, consumer: s.code(p.Consumer), call: p.Call, name: p.Name}
	if p.Call > 0 {
		key.consumer = s.region(p.Call)
	}
	s.codes[key.consumer].before[at] += ns
	if p.Name != "" {
		s.named[namedPart{p.Factor, p.Name}] += ns
	}
	blamed := key.consumer
	queued := int64(0)
	switch p.Factor {
	case FactorU, FactorLoss:
		return
	case FactorL:
		if p.Name == "" {
			s.link[p.Link] += ns
		}
		key.link, key.producer, key.df = p.Link, s.code(p.Producer), s.m.DFName[p.DF]
		blamed = key.producer
	case FactorS:
		key.producer, key.df = s.code(p.Producer), s.m.DFName[p.DF]
		blamed = key.producer
		if p.Consumer != 0 {
			queued = min(ns, s.queued(p.Producer))
		}
	}
	if blamed != 0 {
		s.codes[blamed].caused[p.Factor] += ns
	}
	c := s.cause(key)
	c.ns += ns
	c.queued += queued
	if !p.Again {
		c.count++
	}
}

// cause finds the sum of a cause. A few causes make up nearly all pieces, so a small table comes before the
// map.
func (t *tally) cause(key causeKey) *causeSum {
	h := (uint32(key.factor)*31+uint32(key.part))*0x9e3779b1 + uint32(key.consumer)*0x85ebca6b + uint32(key.call)*0x2545f491 +
		uint32(key.producer)*0xc2b2ae35 + key.df*0x27d4eb2f + uint32(key.link.From)*0x165667b1 + uint32(key.link.To)*0x9e3779b1
	slot := &t.recent[h>>26]
	if slot.sum != nil && slot.key == key {
		return slot.sum
	}
	c := t.causes[key]
	if c == nil {
		c = new(causeSum)
		t.causes[key] = c
	}
	*slot = recentCause{key, c}
	return c
}

func (t *tally) dfName(n uint32) string {
	if int(n) < len(t.m.Names) {
		return t.m.Names[n]
	}
	return t.names[int(n)-len(t.m.Names)]
}

// queued is how long a CF was ready before it started.
func (t *tally) queued(cf model.CF) int64 {
	if cf == 0 {
		return 0
	}
	e := t.m.ExecOf[cf]
	if e == 0 || t.m.Ready[cf] == model.None || !t.m.Atomic(cf) {
		return 0
	}
	return max(t.m.ExecStart[e-1]-t.m.Ready[cf], 0)
}

// join adds the sums of another worker. The tallies are joined apart.
func (s *sums) join(o *sums) {
	s.cells.join(&o.cells)
	for k, v := range o.link {
		s.link[k] += v
	}
	for k, v := range o.named {
		s.named[k] += v
	}
	s.useful.measured += o.useful.measured
	s.useful.count += o.useful.count
}

func (t *tally) join(o *tally) {
	joinCodes(t.codes, o.codes)
	joinCodes(t.structured, o.structured)
	for k, v := range o.causes {
		c := t.causes[k]
		if c == nil {
			c = new(causeSum)
			t.causes[k] = c
		}
		c.ns += v.ns
		c.count += v.count
		c.queued += v.queued
	}
	for i := range t.indices {
		t.indices[i].join(o.indices[i])
	}
}

func joinCodes(to, from []codeSum) {
	for i := range from {
		a, b := &to[i], &from[i]
		a.count += b.count
		a.ns += b.ns
		a.max = max(a.max, b.max)
		a.measured += b.measured
		a.before.join(&b.before)
		for f := range b.caused {
			a.caused[f] += b.caused[f]
		}
	}
}

func (l Link) String() string { return fmt.Sprintf("%d->%d", l.From, l.To) }

// factors gives the shares, leaving out those that cannot be computed.
func (s *sums) factors(null map[Factor]bool) (f Factors) {
	share := func(factor Factor) *Share {
		if null[factor] {
			return nil
		}
		h := &Share{NS: s.cells.factor(factor), Parts: map[string]int64{}}
		for _, p := range partsOf[factor] {
			h.Parts[p.String()] = s.cells.part(p)
		}
		return h
	}
	if u := share(FactorU); u != nil {
		f.U = &Useful{Share: *u, MeasuredNS: s.useful.measured}
	}
	f.S, f.O = share(FactorS), share(FactorO)
	if f.L = share(FactorL); f.L != nil {
		for k, v := range s.link {
			f.L.Parts[k.String()] = v
		}
	}
	f.W = share(FactorW)
	for k, v := range s.named {
		if h := [...]*Share{FactorS: f.S, FactorL: f.L, FactorO: f.O, FactorW: f.W}[k.factor]; h != nil {
			h.Parts[k.name] += v
		}
	}
	return f
}

func (t *tally) fragments() []Fragment {
	out := []Fragment{}
	for i := range t.codes[1:] {
		c := t.codes[i+1]
		if t.regions.sole() {
			c.ns, c.count = c.before.factor(FactorU), t.regions.visits(i-len(t.m.Codes))
			if c.ns == 0 {
				continue // an operation
			}
		}
		if c.count == 0 && c.caused == [FactorLoss + 1]int64{} {
			continue
		}
		code := t.codeAt(i + 1)
		f := Fragment{Code: code.Name, Count: c.count, UsefulNS: c.ns, MaxNS: c.max, File: code.File, Line: code.Line,
			Caused: Caused{S: c.caused[FactorS], L: c.caused[FactorL], O: c.caused[FactorO]},
			Before: Before{c.before.factor(FactorU), c.before.factor(FactorS), c.before.factor(FactorL), c.before.factor(FactorO), c.before.factor(FactorW)}}
		if c.count > 0 {
			f.MeanNS = c.ns / c.count
		}
		out = append(out, f)
	}
	slices.SortStableFunc(out, func(a, b Fragment) int {
		return cmp.Or(cmp.Compare(b.UsefulNS, a.UsefulNS), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Code, b.Code))
	})
	return out
}

func (t *tally) structuredList() []Structured {
	out := []Structured{}
	for i := range t.structured {
		if c := &t.structured[i]; c.count > 0 {
			out = append(out, Structured{Code: t.m.Codes[i].Name, Kind: t.m.Codes[i].Kind.String(), Count: c.count, NS: c.ns})
		}
	}
	slices.SortStableFunc(out, func(a, b Structured) int { return cmp.Or(cmp.Compare(b.NS, a.NS), cmp.Compare(a.Code, b.Code)) })
	return out
}

func (t *tally) causeList(null map[Factor]bool) []Cause {
	name := func(code int32) string {
		if code == 0 {
			return ""
		}
		return t.codeAt(int(code)).Name
	}
	out := []Cause{}
	for k, v := range t.causes {
		if null[k.factor] {
			continue
		}
		c := Cause{Factor: k.factor.String(), Part: k.part.String(), Producer: name(k.producer), DF: t.dfName(k.df),
			Consumer: name(k.consumer), NS: v.ns, Count: v.count, QueuedNS: v.queued}
		switch {
		case k.name != "":
			c.Part = k.name
		case k.factor == FactorL:
			c.Link = k.link.String()
			c.Part = c.Link
		}
		if k.call > 0 {
			c.Consumer = t.regions.path(int(k.call - 1))
		}
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(b.NS, a.NS), cmp.Compare(a.Factor, b.Factor), cmp.Compare(a.Part, b.Part),
			cmp.Compare(a.Producer, b.Producer), cmp.Compare(a.DF, b.DF), cmp.Compare(a.Consumer, b.Consumer),
			cmp.Compare(b.Count, a.Count), cmp.Compare(b.QueuedNS, a.QueuedNS))
	})
	return out
}
