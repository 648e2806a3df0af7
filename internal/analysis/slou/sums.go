package slou

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
)

// sums collects the pieces of one worker. A process sends its sums to member 0 as they are; fields with
// small letters stay behind. What only the whole run needs goes to a tally, which workers that are divided
// one after another share.
type sums struct {
	*tally
	ID            model.WorkerID
	Cells         cells
	Named         map[partName]int64
	Measured, CFs int64       // useful time measured by the thread's clock; executions of atomic CFs
	Windows       *windowSums // nil: nobody asked
}

// tally collects pieces by code fragment, cause and index.
type tally struct {
	m       *model.Model
	regions *regions
	// Codes has, after an entry for what belongs to no CF, one per code fragment, then, in a run of regions,
	// one per region. Structured has one per code fragment.
	Codes, Structured []codeSum
	Causes            map[causeKey]*causeSum
	Indices           []*indexGroups
	recent            [64]recentCause
	part              bool // of the run; how often regions were entered meanwhile is not known
}

type codeSum struct {
	Count, NS, Max, Measured int64
	Caused                   Caused
	Before                   cells
}

type causeKey struct {
	Factor             Factor
	Part               Part
	Link               Link
	Call               int32 // as Piece.Call
	Producer, Consumer int32 // 1 + code fragment, 0 none
	DF                 uint32
	Name               string
}

type causeSum struct{ NS, Count, Queued int64 }

type recentCause struct {
	key causeKey
	sum *causeSum
}

func newTally(m *model.Model, splits []splitKey, regions *regions) *tally {
	t := &tally{m: m, regions: regions, Causes: map[causeKey]*causeSum{},
		Codes: make([]codeSum, len(m.Codes)+1+regions.count()), Structured: make([]codeSum, len(m.Codes))}
	for _, k := range splits {
		if k.what == byIndex {
			t.Indices = append(t.Indices, newIndexGroups(m, k.index))
		}
	}
	return t
}

func newSums(t *tally) *sums { return &sums{tally: t, Named: map[partName]int64{}} }

func (s *sums) executed(execution int, useful int64, measured bool) {
	cf := s.m.ExecCF[execution]
	c := &s.Codes[s.m.CodeOf(cf)+1]
	c.NS += useful
	c.Max = max(c.Max, useful)
	first := int64(1)
	if s.m.ExecNumber[execution] > 1 && s.m.OpenMP() {
		first = 0 // a task that goes on after an interruption
	}
	c.Count += first
	s.CFs += first
	known := int64(0)
	if measured {
		known = useful
	}
	c.Measured += known
	s.Measured += known
	for _, x := range s.Indices {
		g := x.Found.Groups[x.group(cf)]
		g.CFs += first
		g.Measured += known
	}
}

func (t *tally) ran(cf model.CF, ns int64) {
	c := &t.Structured[t.m.CodeOf(cf)]
	c.Count++
	c.NS += ns
	c.Max = max(c.Max, ns)
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
	s.Cells[at] += ns
	name, named := nameOf(p)
	if named {
		s.Named[name] += ns
	}
	if s.Windows != nil {
		s.Windows.add(p, at)
	}
	for _, x := range s.Indices {
		g := x.group(p.Consumer)
		x.Found.Groups[g].Cells[at] += ns
		if named {
			x.Found.Named[groupPart{g, name}] += ns
		}
	}
	key := causeKey{Factor: p.Factor, Part: p.Part, Consumer: s.code(p.Consumer), Call: p.Call, Name: p.Name}
	if p.Call > 0 {
		key.Consumer = s.region(p.Call)
	}
	s.Codes[key.Consumer].Before[at] += ns
	blamed := key.Consumer
	queued := int64(0)
	if p.Factor.Info().CutOut {
		key.Producer = s.code(p.Producer)
	}
	switch p.Factor {
	case FactorU, FactorLoss:
		return
	case FactorL:
		key.Link, key.Producer, key.DF = p.Link, s.code(p.Producer), s.m.DFName[p.DF]
		blamed = key.Producer
	case FactorS:
		key.Producer, key.DF = s.code(p.Producer), s.m.DFName[p.DF]
		blamed = key.Producer
		if p.Consumer != 0 {
			queued = min(ns, s.queued(p.Producer))
		}
	}
	if blamed != 0 {
		s.Codes[blamed].Caused[p.Factor] += ns
	}
	c := s.cause(key)
	c.NS += ns
	c.Queued += queued
	if !p.Again {
		c.Count++
	}
}

// cause finds the sum of a cause. A few causes make up nearly all pieces, so a small table comes before the
// map.
func (t *tally) cause(key causeKey) *causeSum {
	h := (uint32(key.Factor)*31+uint32(key.Part))*0x9e3779b1 + uint32(key.Consumer)*0x85ebca6b +
		uint32(key.Call)*0x2545f491 +
		uint32(key.Producer)*0xc2b2ae35 + key.DF*0x27d4eb2f + uint32(key.Link.From)*0x165667b1 +
		uint32(key.Link.To)*0x9e3779b1
	slot := &t.recent[h>>26]
	if slot.sum != nil && slot.key == key {
		return slot.sum
	}
	*slot = recentCause{key, t.known(key)}
	return slot.sum
}

// known finds the sum of a cause in the map.
func (t *tally) known(key causeKey) *causeSum {
	c := t.Causes[key]
	if c == nil {
		c = new(causeSum)
		t.Causes[key] = c
	}
	return c
}

// queued is how long a CF was ready before it started.
func (t *tally) queued(cf model.CF) int64 {
	if cf == 0 {
		return 0
	}
	e, ok := t.m.Execution(cf, 1)
	if !ok || t.m.Ready[cf] == model.None || !t.m.Atomic(cf) {
		return 0
	}
	return max(t.m.ExecStart[e]-t.m.Ready[cf], 0)
}

// join adds the sums of another worker. The tallies are joined apart.
func (s *sums) join(o *sums) {
	s.Cells.join(&o.Cells)
	addTo(s.Named, o.Named)
	s.Measured += o.Measured
	s.CFs += o.CFs
}

// check fails where parts do not add up to the sums.
func (s *sums) check(what string, parts ...*sums) error {
	got := newSums(nil)
	for _, p := range parts {
		got.join(p)
	}
	if got.Cells != s.Cells || got.Measured != s.Measured || got.CFs != s.CFs ||
		!maps.Equal(got.Named, s.Named) {
		return fmt.Errorf("internal error: %s the time does not add up to the whole: %v of %v", what, got.Cells,
			s.Cells)
	}
	return nil
}

// addTo adds to each sum the one with the same key.
func addTo[K comparable](sums, more map[K]int64) {
	for k, ns := range more {
		sums[k] += ns
	}
}

func (t *tally) join(o *tally) {
	joinCodes(t.Codes, o.Codes)
	joinCodes(t.Structured, o.Structured)
	for k, v := range o.Causes {
		c := t.known(k)
		c.NS += v.NS
		c.Count += v.Count
		c.Queued += v.Queued
	}
	for i := range t.Indices {
		t.Indices[i].join(o.Indices[i])
	}
}

func joinCodes(to, from []codeSum) {
	for i := range from {
		a, b := &to[i], &from[i]
		a.Count += b.Count
		a.NS += b.NS
		a.Max = max(a.Max, b.Max)
		a.Measured += b.Measured
		a.Before.join(&b.Before)
		for f, ns := range b.Caused {
			a.Caused[f] += ns
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
		h := &Share{NS: s.Cells.factor(factor), Parts: map[string]int64{}}
		for _, p := range factor.Parts() {
			if ns := s.Cells.part(p); ns != 0 || !p.Info().Rare {
				h.Parts[p.String()] = ns
			}
		}
		return h
	}
	if u := share(FactorU); u != nil {
		f.U = &Useful{Share: *u, MeasuredNS: s.Measured}
	}
	for k := FactorS; k < FactorLoss; k++ {
		*f.share(k) = share(k)
	}
	for k, ns := range s.Named {
		if h := f.Of(k.Factor); h != nil {
			h.Parts[k.String()] += ns
		}
	}
	return f
}

func (t *tally) fragments() []Fragment {
	out := []Fragment{}
	for i := range t.Codes[1:] {
		c := t.Codes[i+1]
		if t.regions.sole() {
			if c.NS = c.Before.factor(FactorU); !t.part {
				c.Count = t.regions.visits(i - len(t.m.Codes))
			}
			if c.NS == 0 {
				continue // an operation
			}
		}
		if c.Count == 0 && c.Caused == (Caused{}) && !(t.part && t.regions.sole()) {
			continue
		}
		code := t.codeAt(i + 1)
		f := Fragment{Code: code.Name, Count: c.Count, UsefulNS: c.NS, MaxNS: c.Max, File: code.File,
			Line: code.Line, Before: c.Before.times()}
		for _, k := range CausedFactors {
			f.Caused[k] = c.Caused[k]
		}
		if c.Count > 0 {
			f.MeanNS = c.NS / c.Count
		}
		out = append(out, f)
	}
	slices.SortStableFunc(out, func(a, b Fragment) int {
		return cmp.Or(cmp.Compare(b.UsefulNS, a.UsefulNS), cmp.Compare(b.Count, a.Count),
			cmp.Compare(a.Code, b.Code))
	})
	return out
}

func (t *tally) structuredList() []Structured {
	out := []Structured{}
	for i := range t.Structured {
		if c := &t.Structured[i]; c.Count > 0 {
			out = append(out, Structured{Code: t.m.Codes[i].Name, Kind: t.m.Codes[i].Kind.String(),
				Count: c.Count,
				NS:    c.NS})
		}
	}
	slices.SortStableFunc(out, func(a, b Structured) int {
		return cmp.Or(cmp.Compare(b.NS, a.NS), cmp.Compare(a.Code, b.Code))
	})
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
	for k, v := range t.Causes {
		if null[k.Factor] {
			continue
		}
		c := Cause{Factor: k.Factor.String(), Part: k.Part.String(), Producer: name(k.Producer),
			DF:       t.m.Names[k.DF],
			Consumer: name(k.Consumer), NS: v.NS, Count: v.Count, QueuedNS: v.Queued}
		switch {
		case k.Part != PartNone:
			c.What = k.Name
		case k.Name != "":
			c.Part = k.Name
		case k.Factor == FactorL:
			c.Link = k.Link.String()
			c.Part = c.Link
		}
		if k.Call > 0 {
			c.Consumer = t.regions.path(int(k.Call - 1))
		}
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(b.NS, a.NS), cmp.Compare(a.Factor, b.Factor), cmp.Compare(a.Part, b.Part),
			cmp.Compare(a.Producer, b.Producer), cmp.Compare(a.DF, b.DF), cmp.Compare(a.Consumer, b.Consumer),
			cmp.Compare(a.What, b.What),
			cmp.Compare(b.Count, a.Count), cmp.Compare(b.QueuedNS, a.QueuedNS))
	})
	return out
}

// cells holds an amount of time for every factor and part. Parts whose names are not known beforehand, of L,
// W and in runs of regions, are stored as a whole.
type cells [cellCount]int64

const cellCount = int(FactorLoss) + int(PartCount)

// cell gives the place of a factor and part.
func cell(f Factor, p Part) int {
	if p != PartNone {
		return int(FactorLoss) + int(p)
	}
	return int(f)
}

func (c *cells) part(p Part) int64 { return c[int(FactorLoss)+int(p)] }

// factor gives the time of a factor with all its parts.
func (c *cells) factor(f Factor) int64 {
	ns := c[f]
	for _, p := range partsOf[f] {
		ns += c.part(p)
	}
	return ns
}

// times gives the time of each factor.
func (c *cells) times() (t Times) {
	for f := range t {
		t[f] = c.factor(Factor(f))
	}
	return t
}

// total is the time the factors add up to.
func (c *cells) total() (ns int64) {
	for i, v := range c {
		if i != int(FactorLoss) {
			ns += v
		}
	}
	return ns
}

// undivided is the time of the factors that cannot be computed.
func (c *cells) undivided(null map[Factor]bool) (ns int64) {
	for f := range FactorLoss {
		if null[f] {
			ns += c.factor(f)
		}
	}
	return ns
}

func (c *cells) join(o *cells) {
	for i, v := range o {
		c[i] += v
	}
}
