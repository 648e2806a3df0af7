package critical

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// longestSteps is how many steps are named unless Options says otherwise.
const longestSteps = 10

// result sums the steps up. undivided: L and O cannot be told apart.
func (w *walker) result(longest int, undivided bool) *Path {
	m := w.m
	steps := w.inOrder()
	p := &Path{Last: w.last, LengthNS: m.Wall(), Count: int64(len(steps)), Steps: steps, names: w.names,
		titles: w.titles, dfs: w.dfs, m: m, undivided: undivided,
		Fragments: []PathFragment{}, Longest: []NamedStep{}}
	type factorSums = [slou.FactorUndivided + 1]int64
	var sums factorSums
	var kinds [kindCount]Part
	for k := range kinds {
		kinds[k].Name = Kind(k).String()
	}
	parts, codes := map[Step]*Part{}, make([]factorSums, len(m.Codes)+1)
	tail := &codes[len(m.Codes)]
	run, end := ReasonSum{Reason: "run"}, ReasonSum{Reason: "tail"}
	for i := range steps {
		s := &steps[i]
		ns := s.To - s.From
		sums[s.Factor] += ns
		kinds[s.Kind].add(ns)
		key := Step{Factor: s.Factor, Part: s.Part, Waited: s.Waited}
		switch {
		case undivided && (s.Factor == slou.FactorL || s.Factor == slou.FactorO):
			key = Step{Factor: slou.FactorO}
		case s.Factor == slou.FactorL:
			key.Node, key.Peer = s.Node, s.Peer
		}
		part := parts[key]
		if part == nil {
			part = &Part{Name: p.Name(s)}
			parts[key] = part
		}
		part.add(ns)
		f := tail
		if s.Kind == KindTail {
			p.TailNS += ns
			end.Count++
			end.NS += ns
		} else {
			f = &codes[m.CodeOf(s.CF)]
		}
		f[s.Factor] += ns
		if s.Running {
			run.NS += ns
		}
	}
	p.LengthNS -= p.TailNS
	p.Factors = factors(sums, undivided)
	for _, part := range parts {
		p.Parts = append(p.Parts, *part)
	}
	p.Kinds = slices.DeleteFunc(kinds[:], func(k Part) bool { return k.Count == 0 })
	for _, list := range [][]Part{p.Parts, p.Kinds} {
		slices.SortFunc(list, func(a, b Part) int {
			return cmp.Or(cmp.Compare(b.NS, a.NS), cmp.Compare(a.Name, b.Name))
		})
	}
	for i := range codes {
		f := PathFragment{Factors: factors(codes[i], undivided)}
		for _, ns := range codes[i] {
			f.NS += ns
		}
		if i < len(m.Codes) {
			f.Code, f.Kind, f.File, f.Line, f.Count = m.Codes[i].Name, m.Codes[i].Kind.String(),
				m.Codes[i].File,
				m.Codes[i].Line, w.count[i]
			if m.Codes[i].Kind == trace.Atomic {
				p.CFs += f.Count
			} else {
				p.Structured += f.Count
			}
		}
		if f.Count > 0 || f.NS > 0 {
			p.Fragments = append(p.Fragments, f)
		}
	}
	slices.SortStableFunc(p.Fragments, func(a, b PathFragment) int { return cmp.Compare(b.NS, a.NS) })
	run.Count = p.CFs + p.Structured
	p.Reasons = []ReasonSum{run, end}
	for r, sum := range w.reasons {
		sum.Reason = Reason(r).String()
		p.Reasons = append(p.Reasons, sum)
	}
	p.Reasons = slices.DeleteFunc(p.Reasons, func(r ReasonSum) bool { return r.Count == 0 })
	slices.SortStableFunc(p.Reasons, func(a, b ReasonSum) int { return cmp.Compare(b.NS, a.NS) })
	if longest == 0 {
		longest = longestSteps
	}
	for _, i := range p.longest(longest) {
		p.Longest = append(p.Longest, p.Named(&p.Steps[i]))
	}
	return p
}

// factors gives the sums without those that cannot be told apart.
func factors(ns [slou.FactorUndivided + 1]int64, undivided bool) Factors {
	if undivided {
		ns[slou.FactorUndivided] = ns[slou.FactorL] + ns[slou.FactorO]
	}
	return Factors{ns, undivided}
}

func (p *Part) add(ns int64) {
	p.NS += ns
	p.Count++
}

// longest gives the n longest steps, the longest first, of equal ones the earliest.
func (p *Path) longest(n int) (list []int) {
	longer := func(a, b int) int {
		x, y := &p.Steps[a], &p.Steps[b]
		return cmp.Or(cmp.Compare(y.To-y.From, x.To-x.From), cmp.Compare(a, b))
	}
	for i := range p.Steps {
		if n <= 0 || len(list) == n && longer(i, list[n-1]) > 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(list, i, longer)
		list = slices.Insert(list, at, i)
		list = list[:min(n, len(list))]
	}
	return list
}

// Name is the factor of a step, and its part, as in Part.Name.
func (p *Path) Name(s *Step) string {
	switch {
	case p.undivided && (s.Factor == slou.FactorL || s.Factor == slou.FactorO):
		return "L+O"
	case s.Factor == slou.FactorL:
		return s.Factor.String() + "." + p.link(s)
	case s.Waited > 0:
		return s.Factor.String() + "." + p.names[s.Waited-1]
	case s.Part != slou.PartNone:
		return s.Factor.String() + "." + s.Part.String()
	}
	return s.Factor.String()
}

func (p *Path) link(s *Step) string { return fmt.Sprintf("%d->%d", s.Peer, s.Node) }

func (p *Path) title(cf model.CF) string {
	if title, ok := p.titles[cf]; ok {
		return title
	}
	return p.m.CFString(cf)
}

// Named gives a step in words.
func (p *Path) Named(s *Step) NamedStep {
	n := NamedStep{FromNS: s.From, ToNS: s.To, Kind: s.Kind.String(), Name: p.Name(s), Node: int(s.Node),
		Worker: int(s.Worker)}
	if s.Kind != KindTail {
		n.CF, n.Code, n.Reason = p.title(s.CF), p.m.Codes[p.m.CodeOf(s.CF)].Name, s.Reason.String()
	}
	if known := p.m.DFs(); int(s.DF) >= known {
		n.DF = p.dfs[int(s.DF)-known]
	} else if s.DF != 0 {
		n.DF = p.m.DFString(s.DF)
	}
	if s.Factor == slou.FactorL {
		n.Link = p.link(s)
	}
	return n
}
