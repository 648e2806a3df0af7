package slou

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
)

// sums collects the pieces of one worker.
type sums struct {
	m      *model.Model
	ns     [FactorLoss + 1]int64
	parts  [partCount]int64
	link   map[Link]int64
	wait   map[string]int64
	useful struct{ measured, count int64 }

	codes      []codeSum // by code fragment
	structured []codeSum
	causes     map[causeKey]*causeSum
	recent     [64]recentCause
}

type codeSum struct {
	count, ns, max int64
	caused, before [FactorLoss + 1]int64
}

type causeKey struct {
	factor             Factor
	part               Part
	link               Link
	producer, consumer int32 // 1 + code fragment, 0 none
	df                 uint32
	name               string
}

type causeSum struct{ ns, count, queued int64 }

type recentCause struct {
	key causeKey
	sum *causeSum
}

func newSums(m *model.Model) *sums {
	return &sums{m: m, link: map[Link]int64{}, wait: map[string]int64{}, causes: map[causeKey]*causeSum{},
		codes: make([]codeSum, len(m.Codes)), structured: make([]codeSum, len(m.Codes))}
}

func (s *sums) executed(cf model.CF, useful int64, measured bool) {
	c := &s.codes[s.m.CodeOf(cf)]
	c.count++
	c.ns += useful
	c.max = max(c.max, useful)
	s.useful.count++
	if measured {
		s.useful.measured += useful
	}
}

func (s *sums) ran(cf model.CF, ns int64) {
	c := &s.structured[s.m.CodeOf(cf)]
	c.count++
	c.ns += ns
	c.max = max(c.max, ns)
}

// code gives 1 + the code fragment of a CF, 0 for no CF.
func (s *sums) code(cf model.CF) int32 {
	if cf == 0 {
		return 0
	}
	return int32(s.m.CodeOf(cf)) + 1
}

func (s *sums) add(p *Piece) {
	ns := p.To - p.From
	s.ns[p.Factor] += ns
	s.parts[p.Part] += ns
	key := causeKey{factor: p.Factor, part: p.Part, consumer: s.code(p.Consumer)}
	if key.consumer != 0 {
		s.codes[key.consumer-1].before[p.Factor] += ns
	}
	blamed := key.consumer
	queued := int64(0)
	switch p.Factor {
	case FactorU, FactorLoss:
		return
	case FactorL:
		s.link[p.Link] += ns
		key.link, key.producer, key.df = p.Link, s.code(p.Producer), s.m.DFName[p.DF]
		blamed = key.producer
	case FactorS:
		key.producer, key.df = s.code(p.Producer), s.m.DFName[p.DF]
		blamed = key.producer
		if p.Consumer != 0 {
			queued = min(ns, s.queued(p.Producer))
		}
	case FactorW:
		s.wait[p.Name] += ns
		key.name = p.Name
	}
	if blamed != 0 {
		s.codes[blamed-1].caused[p.Factor] += ns
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
func (s *sums) cause(key causeKey) *causeSum {
	h := (uint32(key.factor)*31+uint32(key.part))*0x9e3779b1 + uint32(key.consumer)*0x85ebca6b +
		uint32(key.producer)*0xc2b2ae35 + key.df*0x27d4eb2f + uint32(key.link.From)*0x165667b1 + uint32(key.link.To)*0x9e3779b1
	slot := &s.recent[h>>26]
	if slot.sum != nil && slot.key == key {
		return slot.sum
	}
	c := s.causes[key]
	if c == nil {
		c = new(causeSum)
		s.causes[key] = c
	}
	*slot = recentCause{key, c}
	return c
}

// queued is how long a CF was ready before it started.
func (s *sums) queued(cf model.CF) int64 {
	if cf == 0 {
		return 0
	}
	e := s.m.ExecOf[cf]
	if e == 0 || s.m.Ready[cf] == model.None || !s.m.Atomic(cf) {
		return 0
	}
	return max(s.m.ExecStart[e-1]-s.m.Ready[cf], 0)
}

// join adds the sums of another worker.
func (s *sums) join(o *sums) {
	for i := range s.ns {
		s.ns[i] += o.ns[i]
	}
	for i := range s.parts {
		s.parts[i] += o.parts[i]
	}
	for k, v := range o.link {
		s.link[k] += v
	}
	for k, v := range o.wait {
		s.wait[k] += v
	}
	s.useful.measured += o.useful.measured
	s.useful.count += o.useful.count
	joinCodes(s.codes, o.codes)
	joinCodes(s.structured, o.structured)
	for k, v := range o.causes {
		c := s.causes[k]
		if c == nil {
			c = new(causeSum)
			s.causes[k] = c
		}
		c.ns += v.ns
		c.count += v.count
		c.queued += v.queued
	}
}

func joinCodes(to, from []codeSum) {
	for i := range from {
		a, b := &to[i], &from[i]
		a.count += b.count
		a.ns += b.ns
		a.max = max(a.max, b.max)
		for f := range b.caused {
			a.caused[f] += b.caused[f]
			a.before[f] += b.before[f]
		}
	}
}

func (l Link) String() string { return fmt.Sprintf("%d->%d", l.From, l.To) }

// total is the time the factors add up to.
func (s *sums) total() (ns int64) {
	for _, v := range s.ns[:FactorLoss] {
		ns += v
	}
	return ns
}

// factors gives the shares, leaving out those that cannot be computed.
func (s *sums) factors(null map[Factor]bool) (f Factors) {
	share := func(factor Factor, parts ...Part) *Share {
		if null[factor] {
			return nil
		}
		h := &Share{NS: s.ns[factor], Parts: map[string]int64{}}
		for _, p := range parts {
			h.Parts[p.String()] = s.parts[p]
		}
		return h
	}
	if u := share(FactorU); u != nil {
		f.U = &Useful{Share: *u, MeasuredNS: s.useful.measured}
	}
	f.S = share(FactorS, PartNowhere, PartHere, PartElsewhere)
	if f.L = share(FactorL); f.L != nil {
		for k, v := range s.link {
			f.L.Parts[k.String()] = v
		}
	}
	f.O = share(FactorO, PartCreate, PartRequest, PartSend, PartDeliver, PartDispatch, PartPreempt, PartSteal, PartExtra)
	if f.W = share(FactorW); f.W != nil {
		for k, v := range s.wait {
			f.W.Parts[k] = v
		}
	}
	return f
}

func (s *sums) undivided(null map[Factor]bool) (ns int64) {
	for f := range FactorLoss {
		if null[f] {
			ns += s.ns[f]
		}
	}
	return ns
}

func (s *sums) fragments() []Fragment {
	out := []Fragment{}
	for i := range s.codes {
		c := &s.codes[i]
		if c.count == 0 && c.caused == [FactorLoss + 1]int64{} {
			continue
		}
		code := &s.m.Codes[i]
		f := Fragment{Code: code.Name, Count: c.count, UsefulNS: c.ns, MaxNS: c.max, File: code.File, Line: code.Line,
			Caused: Caused{S: c.caused[FactorS], L: c.caused[FactorL], O: c.caused[FactorO]},
			Before: Before{c.before[FactorU], c.before[FactorS], c.before[FactorL], c.before[FactorO], c.before[FactorW]}}
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

func (s *sums) structuredList() []Structured {
	out := []Structured{}
	for i := range s.structured {
		if c := &s.structured[i]; c.count > 0 {
			out = append(out, Structured{Code: s.m.Codes[i].Name, Kind: s.m.Codes[i].Kind.String(), Count: c.count, NS: c.ns})
		}
	}
	slices.SortStableFunc(out, func(a, b Structured) int { return cmp.Or(cmp.Compare(b.NS, a.NS), cmp.Compare(a.Code, b.Code)) })
	return out
}

func (s *sums) causeList(null map[Factor]bool) []Cause {
	name := func(code int32) string {
		if code == 0 {
			return ""
		}
		return s.m.Codes[code-1].Name
	}
	out := []Cause{}
	for k, v := range s.causes {
		if null[k.factor] {
			continue
		}
		c := Cause{Factor: k.factor.String(), Part: k.part.String(), Producer: name(k.producer), DF: s.m.Names[k.df],
			Consumer: name(k.consumer), NS: v.ns, Count: v.count, QueuedNS: v.queued}
		switch k.factor {
		case FactorL:
			c.Link = k.link.String()
			c.Part = c.Link
		case FactorW:
			c.Part = k.name
		}
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(b.NS, a.NS), cmp.Compare(a.Factor, b.Factor), cmp.Compare(a.Part, b.Part),
			cmp.Compare(a.Producer, b.Producer), cmp.Compare(a.DF, b.DF), cmp.Compare(a.Consumer, b.Consumer))
	})
	return out
}
