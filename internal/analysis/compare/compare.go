// Package compare puts two runs side by side: what got better or worse, and by how much of the
// difference. The runs may be of different sizes, versions or machines.
//
// The differences of the factors, and those of the code fragments, add up to the difference of the
// processor time exactly, in integer nanoseconds.
package compare

import (
	"cmp"
	"maps"
	"slices"

	"github.com/whyslow/whyslow/internal/analysis/counters"
	"github.com/whyslow/whyslow/internal/analysis/critical"
	"github.com/whyslow/whyslow/internal/analysis/pattern"
	"github.com/whyslow/whyslow/internal/analysis/slou"
)

// Run is one of the two runs. SLOU must have the split "code"; Critical, Series and Pattern may be nil: what
// they tell is not compared then.
type Run struct {
	Name     string // as the user calls it
	SLOU     *slou.Result
	Critical *critical.Result
	Series   *counters.Result
	Pattern  *pattern.Result // of a run with regions
}

// Result is the comparison of a run A with a later, or otherwise different, run B.
type Result struct {
	A Side `json:"a"`
	B Side `json:"b"`
	// Whole are figures of the whole runs: time, work, memory and traffic.
	Whole []Row `json:"whole"`
	// Factors are U, S, L, O, W and, where there are such, undivided time; Parts their parts, "O.dispatch".
	// Their shares add up to 1 if the runs' processor times differ at all.
	Factors []Row `json:"factors"`
	Parts   []Row `json:"parts"`
	// Fragments are the code fragments with the time before and in their CFs; what belongs to none is the last,
	// with an empty name. By the size of the difference, largest first.
	Fragments []Fragment `json:"fragments"`
	// Path are the factors of the critical path, with what was lost or could not be divided where there is such,
	// and then its code fragments and the tail after the last CF; nil where a run has none. Factors add up to
	// the path, so do the others.
	Path []Row `json:"path"`
	// Patterns are the metrics of the search for patterns, "pgas.wait-at-barrier", in the order of the
	// tree. Nil where neither run has regions.
	Patterns []Row `json:"pgas,omitempty"`
}

// Side tells which run one of the two is.
type Side struct {
	Name    string `json:"name"`
	Program string `json:"program"`
	Ended   string `json:"ended"`
	Nodes   int    `json:"nodes"`
	Workers int    `json:"workers"` // of all nodes
}

// Row is one figure of both runs, nil where a run does not have it.
type Row struct {
	Name string `json:"name"`
	Unit string `json:"unit"` // "ns", "bytes" or "count"
	A    *int64 `json:"a"`
	B    *int64 `json:"b"`
	// Share is the part of the difference of the processor times (of the critical paths, in Path) that this
	// row makes; 0 where that is not known, or makes no sense.
	Share float64 `json:"share"`
}

// Change is B - A, and whether both runs have the figure.
func (r *Row) Change() (int64, bool) {
	if r.A == nil || r.B == nil {
		return 0, false
	}
	return *r.B - *r.A, true
}

// Fragment compares a code fragment. A run that lacks it counts as 0.
type Fragment struct {
	Code   string `json:"code"` // "" for what belongs to none
	CountA int64  `json:"count_a"`
	CountB int64  `json:"count_b"`
	// Time is all processor time before and in its CFs, Useful the useful part, Mean that of one CF.
	Time   Row `json:"time"`
	Useful Row `json:"useful"`
	Mean   Row `json:"mean"`
}

// Compute compares two runs.
func Compute(a, b Run) *Result {
	r := &Result{A: side(a), B: side(b)}
	total := sums{a.SLOU.TotalNS, b.SLOU.TotalNS}
	r.whole(a, b, total)
	r.factors(a.SLOU, b.SLOU, total)
	r.fragments(a.SLOU, b.SLOU, total)
	r.path(a.Critical, b.Critical)
	r.patterns(a, b, total)
	return r
}

func side(r Run) Side {
	s := Side{Name: r.Name, Program: r.SLOU.Program, Ended: r.SLOU.Ended, Nodes: len(r.SLOU.Nodes)}
	for i := range r.SLOU.Nodes {
		s.Workers += len(r.SLOU.Nodes[i].Workers)
	}
	return s
}

func row(name, unit string, a, b *int64) Row { return Row{Name: name, Unit: unit, A: a, B: b} }

// sums are those of two runs to whose difference rows of time contribute, in nanoseconds.
type sums struct{ a, b int64 }

// part is a row of time with its share of the difference.
func (s sums) part(name string, a, b *int64) Row {
	r := row(name, "ns", a, b)
	if d, ok := r.Change(); ok && d != 0 && s.a != s.b {
		r.Share = float64(d) / float64(s.b-s.a)
	}
	return r
}

func (r *Result) whole(a, b Run, total sums) {
	add := func(name, unit string, of func(Run) *int64) {
		r.Whole = append(r.Whole, row(name, unit, of(a), of(b)))
	}
	work := func(name string, of func(*critical.Work) *int64) {
		add(name, "ns", func(x Run) *int64 {
			if x.Critical == nil || x.Critical.Work == nil {
				return nil
			}
			return of(x.Critical.Work)
		})
	}
	sent := func(name, unit string, of func(*slou.Messages) *int64) {
		add(name, unit, func(x Run) *int64 {
			n := of(&x.SLOU.Messages)
			if x.Series != nil && *n == 0 && slices.ContainsFunc(x.Series.Missing, func(m counters.Missing) bool {
				return slices.Contains(m.Series, counters.MessagesSent)
			}) {
				return nil
			}
			return n
		})
	}
	add("wall", "ns", func(x Run) *int64 { return &x.SLOU.WallNS })
	r.Whole = append(r.Whole, total.part("total", &a.SLOU.TotalNS, &b.SLOU.TotalNS))
	add("workers", "count", func(x Run) *int64 { n := int64(side(x).Workers); return &n })
	add("cfs", "count", func(x Run) *int64 {
		var n int64
		for i := range x.SLOU.Nodes {
			n += x.SLOU.Nodes[i].CFs
		}
		return &n
	})
	work("t1", func(w *critical.Work) *int64 { return &w.T1NS })
	work("tinf", func(w *critical.Work) *int64 { return &w.TinfNS })
	add("memory", "bytes", func(x Run) *int64 {
		if x.Series == nil || x.Series.Memory == nil {
			return nil
		}
		return &x.Series.Memory.Total.Bytes
	})
	sent("messages", "count", func(m *slou.Messages) *int64 { return &m.Count })
	sent("bytes", "bytes", func(m *slou.Messages) *int64 { return &m.Bytes })
}

func (r *Result) factors(a, b *slou.Result, total sums) {
	for f := range slou.FactorLoss {
		x, y := a.Factors.Of(f), b.Factors.Of(f)
		r.Factors = append(r.Factors, total.part(f.String(), ofShare(x, ""), ofShare(y, "")))
		var names []string
		for _, s := range []*slou.Share{x, y} {
			if s != nil {
				names = append(names, slices.Collect(maps.Keys(s.Parts))...)
			}
		}
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			p := total.part(f.String()+"."+name, ofShare(x, name), ofShare(y, name))
			if p.A != nil && *p.A != 0 || p.B != nil && *p.B != 0 {
				r.Parts = append(r.Parts, p)
			}
		}
	}
	if a.UndividedNS != 0 || b.UndividedNS != 0 {
		r.Factors = append(r.Factors, total.part("undivided", &a.UndividedNS, &b.UndividedNS))
	}
}

// ofShare is a factor, or a part of one, nil where that is not known.
func ofShare(s *slou.Share, part string) *int64 {
	if s == nil {
		return nil
	}
	v := s.NS
	if part != "" {
		v = s.Parts[part]
	}
	return &v
}

func (r *Result) fragments(a, b *slou.Result, total sums) {
	type amounts struct{ time, useful, cfs int64 }
	found := map[string]*[2]amounts{}
	for k, res := range []*slou.Result{a, b} {
		for _, s := range res.Splits {
			for i := range s.Groups {
				g := &s.Groups[i]
				if s.By != "code" {
					continue
				}
				code := g.Key
				if g.Rest {
					code = ""
				}
				if found[code] == nil {
					found[code] = &[2]amounts{}
				}
				x := &found[code][k]
				x.time += g.TotalNS
				x.cfs += g.CFs
				if g.Factors.U != nil {
					x.useful += g.Factors.U.NS
				}
			}
		}
	}
	mean := func(x *amounts) *int64 {
		if x.cfs == 0 {
			return nil
		}
		v := x.useful / x.cfs
		return &v
	}
	for code, of := range found {
		x, y := &of[0], &of[1]
		r.Fragments = append(r.Fragments, Fragment{Code: code, CountA: x.cfs, CountB: y.cfs,
			Time:   total.part("time", &x.time, &y.time),
			Useful: total.part("useful", &x.useful, &y.useful),
			Mean:   row("mean", "ns", mean(x), mean(y))})
	}
	slices.SortFunc(r.Fragments, func(x, y Fragment) int {
		if (x.Code == "") != (y.Code == "") {
			return cmp.Compare(y.Code, x.Code) // what belongs to none comes last
		}
		return cmp.Or(cmp.Compare(size(&y.Time), size(&x.Time)), cmp.Compare(x.Code, y.Code))
	})
}

// size is by how much the runs differ.
func size(r *Row) int64 {
	d, _ := r.Change()
	return max(d, -d)
}

func (r *Result) path(a, b *critical.Result) {
	if a == nil || b == nil || a.Path == nil || b.Path == nil {
		return
	}
	length := sums{a.Path.LengthNS + a.Path.TailNS, b.Path.LengthNS + b.Path.TailNS}
	add := func(name string, x, y *int64) { r.Path = append(r.Path, length.part(name, x, y)) }
	fa, fb := &a.Path.Factors, &b.Path.Factors
	add("path", &length.a, &length.b)
	for f := range fa.NS {
		x, y := fa.Of(slou.Factor(f)), fb.Of(slou.Factor(f))
		if slou.Factor(f) < slou.FactorLoss || *x != 0 || *y != 0 {
			add("path."+slou.Factor(f).String(), x, y)
		}
	}
	found := map[string]*[2]int64{}
	for k, p := range []*critical.Path{a.Path, b.Path} {
		for _, f := range p.Fragments {
			if f.Code == "" {
				continue
			}
			if found[f.Code] == nil {
				found[f.Code] = &[2]int64{}
			}
			found[f.Code][k] += f.NS
		}
	}
	first := len(r.Path)
	for code, ns := range found {
		add("path.code:"+code, &ns[0], &ns[1])
	}
	slices.SortFunc(r.Path[first:], func(x, y Row) int {
		return cmp.Or(cmp.Compare(size(&y), size(&x)), cmp.Compare(x.Name, y.Name))
	})
	add("path.tail", &a.Path.TailNS, &b.Path.TailNS)
}

// Find returns the row of a name: of Whole, Factors, Parts, Path, or "code:NAME" for the time of a code
// fragment; nil if there is none.
func (r *Result) Find(name string) *Row {
	for _, rows := range [][]Row{r.Whole, r.Factors, r.Parts, r.Path, r.Patterns} {
		if i := slices.IndexFunc(rows, func(w Row) bool { return w.Name == name }); i >= 0 {
			return &rows[i]
		}
	}
	for i := range r.Fragments {
		if name == "code:"+r.Fragments[i].Code {
			return &r.Fragments[i].Time
		}
	}
	return nil
}

// patterns compares what the search for patterns found. Both runs have the same metrics, but where one has no
// regions.
func (r *Result) patterns(a, b Run, total sums) {
	most := cmp.Or(a.Pattern, b.Pattern)
	if most == nil {
		return
	}
	for i := range most.Metrics {
		m := &most.Metrics[i]
		name, x, y := "pgas."+m.ID, totalOf(a.Pattern, m.ID), totalOf(b.Pattern, m.ID)
		switch m.Unit {
		case pattern.NS:
			r.Patterns = append(r.Patterns, total.part(name, x, y))
		case pattern.Occ:
			r.Patterns = append(r.Patterns, row(name, "count", x, y))
		default:
			r.Patterns = append(r.Patterns, row(name, string(m.Unit), x, y))
		}
	}
}

// totalOf is a metric over all call paths and threads; nil where the run does not have it.
func totalOf(r *pattern.Result, id string) *int64 {
	if r == nil {
		return nil
	}
	sum := r.Sum(id, nil).Total
	return &sum
}
