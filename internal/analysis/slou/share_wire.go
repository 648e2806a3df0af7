package slou

import "github.com/whyslow/whyslow/internal/model"

// Sums as one process tells them another.

type wireRun struct {
	Workers []wireSums
	Tally   wireTally
	Others  others
}

type wireSums struct {
	ID              model.WorkerID
	Cells           cells
	Link            map[Link]int64
	Named           []wireAmount
	Measured, Count int64
	Windows         []cells
	WindowLinks     []wireAmount
	WindowNamed     []wireAmount
}

// wireAmount is time of a group or window, on a link or in a part with a name.
type wireAmount struct {
	At     int
	Link   Link
	Factor Factor
	Name   string
	NS     int64
}

func (a *wireAmount) part() namedPart { return namedPart{a.Factor, a.Name} }

type wireTally struct {
	Codes, Structured []wireCode
	Causes            []wireCause
	Indices           []wireIndex
}

type wireCode struct {
	Count, NS, Max, Measured int64
	Caused                   [FactorLoss + 1]int64
	Before                   cells
}

type wireCause struct {
	Factor             Factor
	Part               Part
	Link               Link
	Producer, Consumer int32
	DF, Name           string
	Call               int32
	NS, Count, Queued  int64
}

type wireIndex struct {
	Values []int32 // by group, the first of which is the remainder
	Groups []wireGroup
	Links  []wireAmount
	Named  []wireAmount
}

type wireGroup struct {
	Cells         cells
	CFs, Measured int64
}

func (r *run) wire(workers []*sums, t *tally) *wireRun {
	w := &wireRun{Others: *othersOf(r.m)}
	for i, id := range r.workers {
		s := workers[i]
		v := wireSums{ID: id, Cells: s.cells, Link: s.link, Measured: s.useful.measured, Count: s.useful.count}
		for k, ns := range s.named {
			v.Named = append(v.Named, wireAmount{Factor: k.factor, Name: k.name, NS: ns})
		}
		if s.windows != nil {
			v.Windows = s.windows.cells
			for k, ns := range s.windows.links {
				v.WindowLinks = append(v.WindowLinks, wireAmount{At: k.window, Link: k.link, NS: ns})
			}
			for k, ns := range s.windows.named {
				v.WindowNamed = append(v.WindowNamed, wireAmount{At: k.window, Factor: k.factor, Name: k.name, NS: ns})
			}
		}
		w.Workers = append(w.Workers, v)
	}
	w.Tally = wireTally{Codes: wireCodes(t.codes), Structured: wireCodes(t.structured)}
	for k, v := range t.causes {
		w.Tally.Causes = append(w.Tally.Causes, wireCause{k.factor, k.part, k.link, k.producer, k.consumer, t.dfName(k.df), k.name, k.call, v.ns, v.count, v.queued})
	}
	for _, x := range t.indices {
		v := wireIndex{Values: x.values}
		for g := range x.groups.n {
			at := x.groups.at(g)
			v.Groups = append(v.Groups, wireGroup{at.cells, at.cfs, at.measured})
		}
		for k, ns := range x.links {
			v.Links = append(v.Links, wireAmount{At: k.group, Link: k.link, NS: ns})
		}
		for k, ns := range x.named {
			v.Named = append(v.Named, wireAmount{At: k.group, Factor: k.factor, Name: k.name, NS: ns})
		}
		w.Tally.Indices = append(w.Tally.Indices, v)
	}
	return w
}

func wireCodes(list []codeSum) (out []wireCode) {
	for _, c := range list {
		out = append(out, wireCode{c.count, c.ns, c.max, c.measured, c.caused, c.before})
	}
	return out
}

func codesOf(list []wireCode) (out []codeSum) {
	for _, c := range list {
		out = append(out, codeSum{c.Count, c.NS, c.Max, c.Measured, c.Caused, c.Before})
	}
	return out
}

func (v *wireSums) sums(t *tally, m *model.Model, window int64) *sums {
	s := newSums(t)
	s.cells, s.useful.measured, s.useful.count = v.Cells, v.Measured, v.Count
	if v.Link != nil {
		s.link = v.Link
	}
	for _, a := range v.Named {
		s.named[a.part()] = a.NS
	}
	if window > 0 {
		s.windows = newWindowSums(m, window)
		copy(s.windows.cells, v.Windows)
		for _, a := range v.WindowLinks {
			s.windows.links[windowLink{a.At, a.Link}] = a.NS
		}
		for _, a := range v.WindowNamed {
			s.windows.named[windowNamed{a.At, a.part()}] = a.NS
		}
	}
	return s
}

// tally makes a tally that can be joined with to; names of DFs that the model does not have are added to that.
func (w *wireTally) tally(to *tally, splits []by) *tally {
	m := to.m
	t := newTally(m, splits, to.regions)
	t.codes, t.structured = codesOf(w.Codes), codesOf(w.Structured)
	number := map[string]uint32{}
	for n, name := range m.Names {
		number[name] = uint32(n)
	}
	for n, name := range to.names {
		number[name] = uint32(len(m.Names) + n)
	}
	for _, c := range w.Causes {
		df, ok := number[c.DF]
		if !ok {
			df = uint32(len(m.Names) + len(to.names))
			to.names = append(to.names, c.DF)
			number[c.DF] = df
		}
		key := causeKey{factor: c.Factor, part: c.Part, link: c.Link, producer: c.Producer, consumer: c.Consumer, df: df, name: c.Name, call: c.Call}
		t.causes[key] = &causeSum{c.NS, c.Count, c.Queued}
	}
	for i, v := range w.Indices {
		x := t.indices[i]
		for g, value := range v.Values {
			to := 0
			if g > 0 {
				to = x.number(value)
			}
			*x.groups.at(to) = group{v.Groups[g].Cells, v.Groups[g].CFs, v.Groups[g].Measured}
		}
		for _, a := range v.Links {
			x.links[groupLink{a.At, a.Link}] = a.NS
		}
		for _, a := range v.Named {
			x.named[groupNamed{a.At, a.part()}] = a.NS
		}
	}
	return t
}

func (o *others) join(p *others) {
	o.Uses = uses{o.Uses.Inputs || p.Uses.Inputs, o.Uses.Foreign || p.Uses.Foreign, o.Uses.Requests || p.Uses.Requests}
	for i, ns := range p.Awake.NS {
		o.Awake.NS[i] += ns
		o.Awake.Unknown[i] = o.Awake.Unknown[i] || p.Awake.Unknown[i]
	}
	o.Messages.Count += p.Messages.Count
	o.Messages.Bytes += p.Messages.Bytes
	o.Messages.FlightNS += p.Messages.FlightNS
	o.Messages.Repeated += p.Messages.Repeated
	o.Messages.RepeatBytes += p.Messages.RepeatBytes
	o.Messages.Violations += p.Messages.Violations
	o.Messages.Half += p.Messages.Half
	o.Unfinished += p.Unfinished
	o.Collisions = append(o.Collisions[:len(o.Collisions):len(o.Collisions)], p.Collisions...)
}
