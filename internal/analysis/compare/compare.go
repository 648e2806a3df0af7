// Package compare puts two runs side by side: what got better or worse, and by how much of the
// difference. The runs may be of different sizes, versions or machines.
//
// The differences of the factors, and those of the code fragments, add up to the difference of the
// processor time exactly, in integer nanoseconds.
package compare

import (
	"cmp"
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
	r.whole(a, b)
	r.factors(a.SLOU, b.SLOU)
	r.fragments(a.SLOU, b.SLOU)
	r.path(a.Critical, b.Critical)
	r.patterns(a, b)
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

func (r *Result) whole(a, b Run) {
	add := func(name, unit string, of func(Run) *int64) {
		r.Whole = append(r.Whole, row(name, unit, of(a), of(b)))
	}
	add("wall", "ns", func(x Run) *int64 { return &x.SLOU.WallNS })
	add("total", "ns", func(x Run) *int64 { return &x.SLOU.TotalNS })
	add("workers", "count", func(x Run) *int64 { n := int64(side(x).Workers); return &n })
	add("cfs", "count", func(x Run) *int64 {
		var n int64
		for i := range x.SLOU.Nodes {
			n += x.SLOU.Nodes[i].CFs
		}
		return &n
	})
	path := func(of func(*critical.Result) *int64) func(Run) *int64 {
		return func(x Run) *int64 {
			if x.Critical == nil || x.Critical.Work == nil {
				return nil
			}
			return of(x.Critical)
		}
	}
	add("t1", "ns", path(func(c *critical.Result) *int64 { return &c.Work.T1NS }))
	add("tinf", "ns", path(func(c *critical.Result) *int64 { return &c.Work.TinfNS }))
	add("memory", "bytes", func(x Run) *int64 {
		if x.Series == nil || x.Series.Memory == nil {
			return nil
		}
		return &x.Series.Memory.Total.Bytes
	})
	sent := func(n *int64, x Run) *int64 {
		if x.Series != nil && *n == 0 && slices.ContainsFunc(x.Series.Missing, func(m counters.Missing) bool {
			return slices.Contains(m.Series, counters.MessagesSent)
		}) {
			return nil
		}
		return n
	}
	add("messages", "count", func(x Run) *int64 { return sent(&x.SLOU.Messages.Count, x) })
	add("bytes", "bytes", func(x Run) *int64 { return sent(&x.SLOU.Messages.Bytes, x) })
	for i := range r.Whole {
		if w := &r.Whole[i]; w.Name == "total" {
			w.Share = share(w, a.SLOU.TotalNS, b.SLOU.TotalNS)
		}
	}
}

// share is the part that a row makes of the way from one sum to another.
func share(r *Row, from, to int64) float64 {
	d, ok := r.Change()
	if !ok || d == 0 || from == to {
		return 0
	}
	return float64(d) / float64(to-from)
}

func (r *Result) factors(a, b *slou.Result) {
	fa, fb := named(&a.Factors), named(&b.Factors)
	add := func(rows *[]Row, name string, x, y *int64) {
		w := row(name, "ns", x, y)
		w.Share = share(&w, a.TotalNS, b.TotalNS)
		*rows = append(*rows, w)
	}
	ns := func(s *slou.Share) *int64 {
		if s == nil {
			return nil
		}
		return &s.NS
	}
	part := func(s *slou.Share, name string) *int64 {
		if s == nil {
			return nil
		}
		v := s.Parts[name]
		return &v
	}
	for i, f := range []string{"U", "S", "L", "O", "W"} {
		add(&r.Factors, f, ns(fa[i]), ns(fb[i]))
		var names []string
		for _, s := range []*slou.Share{fa[i], fb[i]} {
			if s != nil {
				for p, v := range s.Parts {
					if v != 0 && !slices.Contains(names, p) {
						names = append(names, p)
					}
				}
			}
		}
		slices.Sort(names)
		for _, p := range names {
			add(&r.Parts, f+"."+p, part(fa[i], p), part(fb[i], p))
		}
	}
	if a.UndividedNS != 0 || b.UndividedNS != 0 {
		add(&r.Factors, "undivided", &a.UndividedNS, &b.UndividedNS)
	}
}

// named gives the factors U, S, L, O, W, nil where one is not known.
func named(f *slou.Factors) []*slou.Share {
	out := []*slou.Share{nil, f.S, f.L, f.O, f.W}
	if f.U != nil {
		out[0] = &f.U.Share
	}
	return out
}

func (r *Result) fragments(a, b *slou.Result) {
	at := map[string]int{}
	get := func(code string) *Fragment {
		i, ok := at[code]
		if !ok {
			i = len(r.Fragments)
			at[code] = i
			f := Fragment{Code: code, Time: row("time", "ns", new(int64), new(int64)),
				Useful: row("useful", "ns", new(int64), new(int64)), Mean: row("mean", "ns", nil, nil)}
			r.Fragments = append(r.Fragments, f)
		}
		return &r.Fragments[i]
	}
	for k, res := range []*slou.Result{a, b} {
		for _, s := range res.Splits {
			if s.By != "code" {
				continue
			}
			for i := range s.Groups {
				g := &s.Groups[i]
				code := g.Key
				if g.Rest {
					code = ""
				}
				f := get(code)
				time, useful, count, mean := f.Time.A, f.Useful.A, &f.CountA, &f.Mean.A
				if k == 1 {
					time, useful, count, mean = f.Time.B, f.Useful.B, &f.CountB, &f.Mean.B
				}
				*time += g.TotalNS
				*count += g.CFs
				if g.Factors.U != nil {
					*useful += g.Factors.U.NS
				}
				if *count > 0 {
					v := *useful / *count
					*mean = &v
				}
			}
		}
	}
	for i := range r.Fragments {
		f := &r.Fragments[i]
		f.Time.Share = share(&f.Time, a.TotalNS, b.TotalNS)
		f.Useful.Share = share(&f.Useful, a.TotalNS, b.TotalNS)
	}
	size := func(f *Fragment) int64 {
		d, _ := f.Time.Change()
		return max(d, -d)
	}
	slices.SortStableFunc(r.Fragments, func(x, y Fragment) int {
		if (x.Code == "") != (y.Code == "") {
			return cmp.Compare(y.Code, x.Code) // what belongs to none comes last
		}
		return cmp.Or(cmp.Compare(size(&y), size(&x)), cmp.Compare(x.Code, y.Code))
	})
}

func (r *Result) path(a, b *critical.Result) {
	if a == nil || b == nil || a.Path == nil || b.Path == nil {
		return
	}
	from, to := a.Path.LengthNS+a.Path.TailNS, b.Path.LengthNS+b.Path.TailNS
	add := func(name string, x, y *int64) {
		w := row(name, "ns", x, y)
		w.Share = share(&w, from, to)
		r.Path = append(r.Path, w)
	}
	fa, fb := &a.Path.Factors, &b.Path.Factors
	add("path", &from, &to)
	add("path.U", &fa.U, &fb.U)
	add("path.S", &fa.S, &fb.S)
	add("path.L", fa.L, fb.L)
	add("path.O", fa.O, fb.O)
	add("path.W", &fa.W, &fb.W)
	if fa.Loss != 0 || fb.Loss != 0 {
		add("path.loss", &fa.Loss, &fb.Loss)
	}
	if fa.Undivided != 0 || fb.Undivided != 0 {
		add("path.undivided", &fa.Undivided, &fb.Undivided)
	}
	sums := map[string]*[2]int64{}
	var codes []string
	for k, p := range []*critical.Path{a.Path, b.Path} {
		for _, f := range p.Fragments {
			if f.Code == "" {
				continue
			}
			s := sums[f.Code]
			if s == nil {
				s = &[2]int64{}
				sums[f.Code] = s
				codes = append(codes, f.Code)
			}
			s[k] += f.NS
		}
	}
	slices.SortFunc(codes, func(x, y string) int {
		dx, dy := sums[x][1]-sums[x][0], sums[y][1]-sums[y][0]
		return cmp.Or(cmp.Compare(max(dy, -dy), max(dx, -dx)), cmp.Compare(x, y))
	})
	for _, c := range codes {
		add("path.code:"+c, &sums[c][0], &sums[c][1])
	}
	add("path.tail", &a.Path.TailNS, &b.Path.TailNS)
}

// Find returns the row of a name: of Whole, Factors, Parts, Path, or "code:NAME" for the time of a code
// fragment; nil if there is none.
func (r *Result) Find(name string) *Row {
	for _, rows := range [][]Row{r.Whole, r.Factors, r.Parts, r.Path, r.Patterns} {
		for i := range rows {
			if rows[i].Name == name {
				return &rows[i]
			}
		}
	}
	for i := range r.Fragments {
		if name == "code:"+r.Fragments[i].Code {
			return &r.Fragments[i].Time
		}
	}
	return nil
}
