package slou

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/analysis/pattern"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
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
// first, like those that a worker records itself. Where the CFs are the threads of MPI ranks, everything that
// MPI does is cut out: its waits are W, its transfers L, the rest of its operations O.

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
	case p.Part != PartNone:
		return partName{}, false
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
func search(ctx context.Context, m *model.Model, found *pattern.Result, g procs.Group) (*regions, error) {
	if m.Count[trace.KindEntered] == 0 {
		return nil, nil
	}
	if found == nil {
		var err error
		if found, err = pattern.Compute(ctx, m, g); err != nil || found == nil {
			return nil, err
		}
	}
	return &regions{found, OnlyRegions(m)}, nil
}

// workerRegions is what is known of the regions of one worker.
type workerRegions struct {
	pieces []pattern.Piece
	thread *model.Thread // nil: it has none
}

func (g *regions) of(m *model.Model, id model.WorkerID) (w workerRegions) {
	if g == nil {
		return w
	}
	w.pieces = g.found.Pieces(id)
	for i := range m.Regions.Threads {
		if t := &m.Regions.Threads[i]; t.Node == id.Node && t.Stream == id.Worker {
			w.thread = t
		}
	}
	return w
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

// divideRegions visits the time of a worker that runs no CFs, cuts excepted. What is in no region is S before
// the first event and after the last, between them U of the program.
func (d *divider) divideRegions() {
	d.left = math.MaxInt64 // its time on the processor is not measured
	first, last := d.bounds()
	a := d.m.Start
	emit := func(until int64, p Piece) {
		if p.From, p.To = a, min(until, d.m.End); p.From < p.To {
			d.clip(p)
			a = p.To
		}
	}
	outside := func(until int64) {
		emit(min(first, until), Piece{Factor: FactorS, Name: partStart})
		emit(min(last, until), Piece{Factor: FactorU, Call: 1})
		emit(until, Piece{Factor: FactorS, Name: partEnd})
	}
	for i := range d.regions.pieces {
		p := regionPiece(&d.regions.pieces[i])
		outside(p.From)
		emit(p.To, p)
	}
	outside(d.m.End)
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
		if p := &d.regions.pieces[i]; p.Kind != pattern.Works && !d.sole {
			found = append(found, model.Wait{Interval: model.Interval{From: p.From, To: p.To}, Name: p.Part,
				Doing: doingOf[p.Kind]})
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

// doingOf are the reasons why pieces of package pattern are cut out.
var doingOf = [...]model.Doing{pattern.Waits: model.Waited, pattern.Transfers: model.Transferred,
	pattern.Runs: model.Operated}

// visits is how often a region was entered, as far as the search tells.
func (g *regions) visits(region int) int64 {
	return g.found.Sum("visits", func(call int) bool { return g.found.Calls[call].Region == region }).Total
}

// path writes a call path: "main > solve > upc_barrier (is.c:12)".
func (g *regions) path(call int) string {
	s, c := g.found.Path(call), &g.found.Calls[call]
	if c.File != "" && c.Line > 0 {
		s += fmt.Sprintf(" (%s:%d)", c.File[strings.LastIndexByte(c.File, '/')+1:], c.Line)
	}
	return s
}
