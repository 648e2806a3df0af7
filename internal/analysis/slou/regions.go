package slou

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/analysis/pattern"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// Runs with regions, and what the search for patterns says about them.
//
// A run without CFs is divided by its regions alone. Its workers are the program's threads. A worker's time
// outside the operations of its run-time system is U. What a pattern calls waiting is W, with the pattern as
// its part. Transfers are L, by link where there is one peer. The rest of the operations is O. The time
// before the first event of the thread and after its last is S. Factors, parts, splits and windows are the
// same as in other runs; the code fragments are the regions.
//
// Where CFs run as well, the rule divides the time. Only the waits of the regions count: they are cut out
// first, like those that a worker records itself.

// regions is what is known of the regions of a run; nil where it has none.
type regions struct {
	found *pattern.Result
	alone bool // there are no CFs
}

// partName names a part that has no Part: a link of L, or what was waited for.
type partName struct {
	Factor Factor
	Link   Link
	Name   string
}

// nameOf gives the name of a piece's part; false where the part is a Part, or the factor is a whole.
func nameOf(p *Piece) (partName, bool) {
	switch {
	case p.Name != "":
		return partName{Factor: p.Factor, Name: p.Name}, true
	case p.Factor == FactorL:
		return partName{Factor: FactorL, Link: p.Link}, true
	}
	return partName{}, false
}

func (n *partName) String() string {
	if n.Name != "" {
		return n.Name
	}
	return n.Link.String()
}

// OnlyRegions tells whether a run has regions and no CFs.
func OnlyRegions(m *model.Model) bool {
	return m.Count[trace.KindEntered] > 0 &&
		m.Count[trace.KindCFStarted]+m.Count[trace.KindCFFinished]+m.Count[trace.KindCFCreated] == 0
}

// search finds out what the regions of the run say.
func (c *computation) search(ctx context.Context) error {
	if c.m.Count[trace.KindEntered] == 0 {
		return nil
	}
	found := c.opt.Patterns
	if found == nil {
		var err error
		if found, err = pattern.Compute(ctx, c.m, pattern.Options{}, c.group); err != nil || found == nil {
			return err
		}
	}
	c.regions = &regions{found, OnlyRegions(c.m)}
	return nil
}

// workerRegions is what is known of the regions of one worker.
type workerRegions struct {
	pieces []pattern.Piece
	thread *model.Thread // nil: it has none
	// where it was in functions of the program, and in nothing inside of them; ordered
	functions []function
	next      int // the first that ends after the pieces visited so far
}

// function is a stretch of time in a function.
type function struct {
	from, to int64
	call     int32 // index into pattern.Result.Calls
}

func (g *regions) of(m *model.Model, id model.WorkerID) (w workerRegions) {
	if g == nil {
		return w
	}
	w.pieces = g.found.Pieces(id)
	if !g.alone || m.Regions == nil {
		return w
	}
	for i := range m.Regions.Threads {
		if t := &m.Regions.Threads[i]; t.Node == id.Node && t.Stream == id.Worker {
			w.thread, w.functions = t, g.functions(m, t)
		}
	}
	return w
}

// functions finds where a thread was in functions.
func (g *regions) functions(m *model.Model, t *model.Thread) (out []function) {
	type key struct {
		parent int32
		site   uint32
	}
	known := map[key]int32{}
	calls := make([]int32, len(t.Enter))
	var stack []int
	at := t.Start
	until := func(to int64) {
		if n := len(stack); n > 0 && at < to && !m.Operation(t.Site[stack[n-1]]) {
			out = append(out, function{at, to, calls[stack[n-1]]})
		}
		at = max(at, to)
	}
	leave := func(to int64) {
		for n := len(stack); n > 0 && t.Exit[stack[n-1]] <= to; n-- {
			until(t.Exit[stack[n-1]])
			stack = stack[:n-1]
		}
	}
	for v := range t.Enter {
		leave(t.Enter[v])
		until(t.Enter[v])
		stack = append(stack, v)
		k := key{0, t.Site[v]}
		if p := t.Parent[v]; p >= 0 {
			k.parent = calls[p]
		}
		call, ok := known[k]
		if !ok {
			call = g.call(m, k.parent, k.site)
			known[k] = call
		}
		calls[v] = call
	}
	leave(math.MaxInt64)
	return out
}

// call finds the call path of a region called from another; that one itself where there is none.
func (g *regions) call(m *model.Model, parent int32, site uint32) int32 {
	s := &m.Sites[site]
	code := &m.Codes[s.Code]
	find := func(parent int32, fits func(c *pattern.Call, r *pattern.Region) bool) (int32, bool) {
		for i := int(parent) + 1; i < len(g.found.Calls); i++ {
			if c := &g.found.Calls[i]; c.Parent == int(parent) && fits(c, &g.found.Regions[c.Region]) {
				return int32(i), true
			}
		}
		return parent, false
	}
	of := func(c *pattern.Call, r *pattern.Region) bool {
		return r.Name == code.Name && r.Kind == code.Kind.String() && c.File == s.File && c.Line == s.Line
	}
	call, ok := find(parent, of)
	if !ok && s.Function != "" {
		if parent, ok = find(parent,
			func(_ *pattern.Call, r *pattern.Region) bool { return r.Name == s.Function }); ok {
			call, _ = find(parent, of)
		}
	}
	return call
}

func (g *regions) sole() bool { return g != nil && g.alone }

// count is how many regions stand beside the code fragments.
func (g *regions) count() int {
	if !g.sole() {
		return 0
	}
	return len(g.found.Regions)
}

// region gives the place, among the code fragments, of the region of a call path.
func (t *tally) region(call int32) int32 {
	return int32(len(t.m.Codes)+1) + int32(t.regions.found.Calls[call-1].Region)
}

// codeAt is what is known of an entry of codes, 1 or more.
func (t *tally) codeAt(i int) model.Code {
	if i <= len(t.m.Codes) {
		return t.m.Codes[i-1]
	}
	r := &t.regions.found.Regions[i-1-len(t.m.Codes)]
	return model.Code{Name: r.Name, File: r.File, Line: r.Line}
}

// divideRegions visits the time of a worker that runs no CFs, cuts excepted.
func (d *divider) divideRegions() {
	d.left = math.MaxInt64 // its time on the processor is not measured
	first, last := d.bounds()
	a := d.m.Start
	for i := range d.regions.pieces {
		p := regionPiece(&d.regions.pieces[i])
		p.From, p.To = max(p.From, a), min(p.To, d.m.End)
		if p.From < p.To {
			d.outside(a, p.From, first, last)
			d.clip(p)
			a = p.To
		}
	}
	d.outside(a, d.m.End, first, last)
}

// bounds are the times of the worker's first and last event, within the run.
func (d *divider) bounds() (first, last int64) {
	w := d.worker
	first, last = w.Started, max(w.Finished, w.Last)
	if t := d.regions.thread; t != nil {
		first, last = t.Start, t.End
	}
	if first == model.None {
		first = last
	}
	return min(max(first, d.m.Start), d.m.End), min(max(last, d.m.Start), d.m.End)
}

// outside divides what is in no operation: S before the first event and after the last, between them U of the
// function.
func (d *divider) outside(from, to, first, last int64) {
	emit := func(until int64, p Piece) {
		if p.From, p.To = from, min(until, to); p.From < p.To {
			d.clip(p)
			from = p.To
		}
	}
	emit(first, Piece{Factor: FactorS, Name: partStart})
	r := &d.regions
	for ; r.next < len(r.functions) && r.functions[r.next].from < min(to, last); r.next++ {
		f := r.functions[r.next]
		emit(min(f.from, last), Piece{Factor: FactorU, Call: 1})
		emit(min(f.to, last), Piece{Factor: FactorU, Call: f.call + 1})
		if f.to > to {
			break // what is left of it comes after the operation
		}
	}
	emit(last, Piece{Factor: FactorU, Call: 1})
	emit(to, Piece{Factor: FactorS, Name: partEnd})
}

// regionPiece gives the piece of this package for one of the search's.
func regionPiece(p *pattern.Piece) Piece {
	out := Piece{From: p.From, To: p.To, Name: p.Part, Call: int32(p.Call) + 1, Factor: factorOfPiece[p.Kind]}
	if link, ok := parseLink(p.Part); ok && out.Factor == FactorL {
		out.Link, out.Name = link, ""
	}
	return out
}

// parseLink reads what Link.String writes.
func parseLink(s string) (Link, bool) {
	from, to, ok := strings.Cut(s, "->")
	if !ok {
		return Link{}, false
	}
	a, err1 := strconv.ParseInt(from, 10, 32)
	b, err2 := strconv.ParseInt(to, 10, 32)
	return Link{int32(a), int32(b)}, err1 == nil && err2 == nil
}

// waits are the worker's waits: those it tells of, and those of its regions, ordered by start.
func (d *divider) waits() []model.Wait {
	var found []model.Wait
	for i := range d.regions.pieces {
		if p := &d.regions.pieces[i]; p.Kind == pattern.Waits && !d.sole {
			found = append(found, model.Wait{Interval: model.Interval{From: p.From, To: p.To}, Name: p.Part})
		}
	}
	if len(found) == 0 {
		return d.worker.Waits
	}
	// What the worker tells of encloses what the search made of it: among those that begin together it comes
	// first.
	all := append(slices.Clone(d.worker.Waits), found...)
	slices.SortStableFunc(all, func(a, b model.Wait) int { return cmp.Compare(a.From, b.From) })
	return all
}

// visits is how often a region was entered, as far as the search tells; the program, once by each thread.
func (g *regions) visits(region int) (n int64) {
	if region == 0 {
		return int64(len(g.found.Threads))
	}
	for i := range g.found.Metrics {
		metric := &g.found.Metrics[i]
		if metric.ID != visitsMetric || region < 0 {
			continue
		}
		for _, row := range metric.Rows {
			if g.found.Calls[row.Call].Region == region {
				for _, v := range row.Values {
					n += v
				}
			}
		}
	}
	return n
}

// visitsMetric is the metric that counts how often a call path was entered.
const visitsMetric = "visits"

// path writes a call path: "main > solve > upc_barrier (is.c:12)".
func (g *regions) path(call int) string {
	calls := g.found.Calls
	at := &calls[call]
	s := g.found.Regions[at.Region].Name
	if at.File != "" && at.Line > 0 {
		file := at.File[strings.LastIndexByte(at.File, '/')+1:]
		s += " (" + file + ":" + strconv.Itoa(at.Line) + ")"
	}
	for hops := 0; at.Parent > 0 && hops < len(calls); hops++ {
		at = &calls[at.Parent]
		s = g.found.Regions[at.Region].Name + " > " + s
	}
	return s
}
