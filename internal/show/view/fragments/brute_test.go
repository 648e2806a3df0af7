package fragments

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"math"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/show/view/timeline"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
	"github.com/whyslow/whyslow/trace"
)

func randomModel(t *rapid.T) *model.Model {
	r := sloutest.Random(t)
	switch rapid.IntRange(0, 4).Draw(t, "what") {
	case 0:
		r.AddWaits(t)
	case 1:
		r.Kill(t)
	case 2:
		r.Stick(t)
	case 3:
		r.AddWaits(t)
		r.Harm(t)
	}
	return sloutest.Build(t, r.Text())
}

func build(t *rapid.T, m *model.Model) (*Index, []slou.WorkerPieces) {
	pieces, err := slou.Pieces(context.Background(), m, slou.Options{}, procs.Alone())
	if err != nil {
		t.Fatal(err)
	}
	tl, err := timeline.Build(context.Background(), m, timeline.Options{})
	if err != nil {
		t.Fatal(err)
	}
	x, err := Build(context.Background(), tl)
	if err != nil {
		t.Fatal(err)
	}
	steps := rapid.IntRange(0, 9).Draw(t, "steps") // a run as short as this keeps no sums
	x.stepsOnce.Do(func() { x.keepSums(steps) })
	return x, pieces
}

// TestWholeRunIsTheReport compares with the report's figures for the fragments.
func TestWholeRunIsTheReport(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := randomModel(t)
		x, _ := build(t, m)
		res, err := slou.Compute(context.Background(), m, slou.Options{}, procs.Alone())
		if err != nil {
			t.Fatal(err)
		}
		rows, err := x.Rows(0, m.Wall())
		if err != nil {
			t.Fatal(err)
		}
		byName := map[string]FragmentRow{}
		for _, r := range rows {
			byName[r.Name] = r
		}
		for _, f := range res.Fragments {
			r := byName[f.Code]
			if r.Atomic && (r.Count != f.Count || r.TotalNS != f.UsefulNS || r.MeanNS != f.MeanNS ||
				r.MaxNS != f.MaxNS) {
				t.Fatalf("%+v\n%+v", r, f)
			}
			before := slou.Lost(f.Before)
			if before[slou.FactorU] = 0; r.Caused != f.Caused || r.Before != before {
				t.Fatalf("%+v\n%+v", r, f)
			}
		}
		for _, f := range res.Structured {
			if r := byName[f.Code]; r.Count != f.Count || r.TotalNS != f.NS {
				t.Fatalf("%+v\n%+v", r, f)
			}
		}
		atomic := 0
		for _, r := range rows {
			if r.Atomic {
				atomic++
			}
		}
		with := 0
		for _, f := range res.Fragments {
			if m.Codes[byName[f.Code].Code].Kind == trace.Atomic {
				with++
			}
		}
		if atomic != with {
			t.Fatalf("%d fragments, %d in the report", atomic, with)
		}
	})
}

// bruteCF describes a CF without any index.
type bruteCF struct {
	total, lost int64
	starts      []int64
}

type bruteRun struct {
	m      *model.Model
	pieces []slou.WorkerPieces
	useful map[int]int64 // by execution
}

// bruteUseful gives each U piece to the execution that it lies in.
func newBruteRun(m *model.Model, pieces []slou.WorkerPieces) *bruteRun {
	b := &bruteRun{m, pieces, map[int]int64{}}
	for _, w := range pieces {
		worker := &m.Nodes[w.Node].Workers[w.Worker]
		prev := m.Start
		var atomics []int
		for e := worker.First; e < worker.End; e++ {
			if m.Atomic(m.ExecCF[e]) {
				atomics = append(atomics, e)
			} else if m.ExecEnd[e] != model.None {
				b.useful[e] = max(0, min(m.ExecEnd[e], m.End)-max(m.ExecStart[e], m.Start))
			}
		}
		for i, e := range atomics {
			end := m.ExecEnd[e]
			if end == model.None || i+1 < len(atomics) && m.ExecStart[atomics[i+1]] < end {
				end = m.End
				if i+1 < len(atomics) {
					end = m.ExecStart[atomics[i+1]]
				}
			}
			b.useful[e] = 0
			from := max(prev, m.ExecStart[e])
			for t := from; t < end; t++ { // times are small
				for _, p := range w.Pieces {
					if p.From <= t && t < p.To && p.Factor == slou.FactorU {
						b.useful[e]++
					}
				}
			}
			prev = max(prev, from, end)
		}
	}
	return b
}

func within(m *model.Model, t, from, to int64) bool {
	t -= m.Start
	return (from <= 0 || t >= from) && (to >= m.Wall() || t < to)
}

func (b *bruteRun) rows(from, to int64) []FragmentRow {
	m := b.m
	rows := make([]FragmentRow, len(m.Codes))
	values := make([][]int64, len(m.Codes))
	for e, v := range b.useful {
		if within(m, m.ExecStart[e], from, to) {
			values[m.CodeOf(m.ExecCF[e])] = append(values[m.CodeOf(m.ExecCF[e])], v)
		}
	}
	for c := range rows {
		r, v := &rows[c], values[c]
		slices.Sort(v)
		*r = FragmentRow{Code: c, Name: m.Codes[c].Name, Count: int64(len(v)),
			Atomic: m.Codes[c].Kind == trace.Atomic, File: m.Codes[c].File, Line: m.Codes[c].Line}
		for _, n := range v {
			r.TotalNS += n
		}
		at := func(percent int) int64 { return v[(len(v)*percent+99)/100-1] }
		if len(v) > 0 {
			r.MeanNS, r.MinNS, r.MaxNS = r.TotalNS/r.Count, v[0], v[len(v)-1]
			r.P50NS, r.P90NS, r.P99NS = at(50), at(90), at(99)
		}
	}
	for _, w := range b.pieces {
		for _, p := range w.Pieces {
			ns := min(p.To-m.Start, to) - max(p.From-m.Start, from)
			if ns <= 0 {
				continue
			}
			if p.Consumer != 0 {
				c := &rows[m.CodeOf(p.Consumer)]
				if slices.Contains([]slou.Factor{slou.FactorS, slou.FactorL, slou.FactorO, slou.FactorW}, p.Factor) {
					c.Before[p.Factor] += ns
				}
				if p.Factor == slou.FactorO {
					c.Caused[slou.FactorO] += ns
				}
			}
			if p.Producer != 0 && p.Factor == slou.FactorS {
				rows[m.CodeOf(p.Producer)].Caused[slou.FactorS] += ns
			}
			if p.Producer != 0 && p.Factor == slou.FactorL {
				rows[m.CodeOf(p.Producer)].Caused[slou.FactorL] += ns
			}
		}
	}
	rows = slices.DeleteFunc(rows,
		func(r FragmentRow) bool { return r.Count == 0 && r.Caused == slou.Caused{} && r.Before == slou.Lost{} })
	slices.SortStableFunc(rows, func(a, b FragmentRow) int {
		if a.Atomic != b.Atomic {
			return map[bool]int{true: -1, false: 1}[a.Atomic]
		}
		return cmp.Or(cmp.Compare(b.TotalNS, a.TotalNS), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name))
	})
	return rows
}

func drawInterval(t *rapid.T, m *model.Model) (from, to int64) {
	if rapid.Bool().Draw(t, "whole") {
		return 0, m.Wall()
	}
	from = rapid.Int64Range(0, m.Wall()).Draw(t, "from")
	return from, rapid.Int64Range(from+1, m.Wall()+2).Draw(t, "to")
}

func TestAgainstBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := randomModel(t)
		x, pieces := build(t, m)
		b := newBruteRun(m, pieces)
		from, to := drawInterval(t, m)
		rows, err := x.Rows(from, to)
		if err != nil {
			t.Fatal(err)
		}
		if d := gocmp.Diff(b.rows(from, to), rows); d != "" {
			t.Fatalf("%d to %d (-want +got):\n%s", from, to, d)
		}
		for _, r := range rows {
			b.checkCFs(t, x, &r, from, to)
			b.checkDetail(t, x, &r, from, to)
		}
	})
}

func (b *bruteRun) cfs(code int, from, to int64) map[model.CF]*bruteCF {
	m := b.m
	out := map[model.CF]*bruteCF{}
	for e, cf := range m.ExecCF {
		if m.CodeOf(cf) != code || !within(m, m.ExecStart[e], from, to) {
			continue
		}
		if out[cf] == nil {
			out[cf] = &bruteCF{}
		}
		out[cf].starts = append(out[cf].starts, m.ExecStart[e]-m.Start)
	}
	for cf, c := range out {
		for e, v := range b.useful {
			if m.ExecCF[e] == cf {
				c.total += v
			}
		}
		for _, w := range b.pieces {
			for _, p := range w.Pieces {
				if p.Consumer == cf && p.Factor != slou.FactorU && p.Factor != slou.FactorLoss {
					c.lost += p.To - p.From
				}
			}
		}
	}
	return out
}

func (b *bruteRun) checkCFs(t *rapid.T, x *Index, r *FragmentRow, from, to int64) {
	want := b.cfs(r.Code, from, to)
	by := rapid.SampledFrom([]string{"start", "-start", "total", "-total", "wait", "-wait", "label", "-label",
		""}).Draw(t, "sort")
	var all []CFRow
	for {
		p, err := x.CFs(CFQuery{Code: r.Code, From: from, To: to, Sort: by, Offset: len(all), Limit: 3})
		if err != nil {
			t.Fatal(err)
		}
		if p.Total != len(want) || p.Offset != len(all) {
			t.Fatalf("%d CFs from %d on, want %d", p.Total, p.Offset, len(want))
		}
		if all = append(all, p.Rows...); len(p.Rows) == 0 {
			break
		}
	}
	seen := map[string]bool{}
	for i, row := range all {
		id := findCF(b.m, row.CF)
		w := want[id]
		if w == nil || seen[row.CF] {
			t.Fatalf("%s is not of the interval, or twice", row.CF)
		}
		seen[row.CF] = true
		if row.TotalNS != w.total || row.WaitNS != w.lost {
			t.Fatalf("%+v, want %+v", row, w)
		}
		if i == 0 {
			continue
		}
		before := all[i-1]
		bad := map[string]bool{"total": before.TotalNS > row.TotalNS, "-total": before.TotalNS < row.TotalNS,
			"wait": before.WaitNS > row.WaitNS, "-wait": before.WaitNS < row.WaitNS,
			"start":  slices.Min(want[findCF(b.m, before.CF)].starts) > slices.Min(w.starts),
			"-start": slices.Min(want[findCF(b.m, before.CF)].starts) < slices.Min(w.starts),
			"label":  slices.Compare(b.m.Label(findCF(b.m, before.CF)), b.m.Label(id)) > 0,
			"-label": slices.Compare(b.m.Label(findCF(b.m, before.CF)), b.m.Label(id)) < 0}
		if bad[by] {
			t.Fatalf("by %s %+v comes before %+v", by, before, row)
		}
	}
}

func findCF(m *model.Model, id string) model.CF {
	for cf := range m.CFs() {
		if m.CFID(cf).String() == id {
			return cf
		}
	}
	return 0
}

func (b *bruteRun) checkDetail(t *rapid.T, x *Index, r *FragmentRow, from, to int64) {
	d, err := x.Detail(DetailQuery{Code: r.Code, From: from, To: to, Bins: rapid.IntRange(1, 9).Draw(t, "bins"),
		Node: -1})
	if err != nil {
		t.Fatal(err)
	}
	count, nodes, total := int64(0), int64(0), int64(0)
	for i, bin := range d.Bins {
		count += bin.Count
		inside := int64(0)
		for e, v := range b.useful {
			if b.m.CodeOf(b.m.ExecCF[e]) == r.Code && within(b.m, b.m.ExecStart[e], from, to) && v >= bin.From &&
				v < bin.To {
				inside++
			}
		}
		if inside != bin.Count || bin.From >= bin.To || i > 0 && d.Bins[i-1].To != bin.From {
			t.Fatalf("bin %d of %+v should count %d", i, d.Bins, inside)
		}
	}
	for _, n := range d.ByNode {
		nodes, total = nodes+n.Count, total+n.TotalNS
	}
	if count != r.Count || nodes != r.Count || total != r.TotalNS || d.CFs != len(b.cfs(r.Code, from, to)) {
		t.Fatalf("%+v\n%+v", d, r)
	}
	for i := range d.Longest {
		if i > 0 && d.Longest[i-1].TotalNS < d.Longest[i].TotalNS {
			t.Fatalf("%+v", d.Longest)
		}
	}
}

func TestHistogram(t *testing.T) {
	for _, v := range [][]int64{{}, {0}, {5, 5, 5}, {0, 1, 1_000_000_000_000}, {1, math.MaxInt64 / 2}, {7, 8}} {
		n := 0
		for _, b := range histogram(slices.Clone(v), 10) {
			n += int(b.Count)
		}
		if n != len(v) {
			t.Errorf("%v: %v", v, histogram(v, 10))
		}
	}
}

func TestBadQueries(t *testing.T) {
	m := sloutest.Build(t, sloutest.Golden(t, "fragments"))
	tl, err := timeline.Build(context.Background(), m, timeline.Options{})
	if err != nil {
		t.Fatal(err)
	}
	x, err := Build(context.Background(), tl)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []struct {
		kind error
		ask  func() error
	}{
		{fs.ErrInvalid, func() error { _, err := x.Rows(5, 5); return err }},
		{fs.ErrNotExist, func() error { _, err := x.Detail(DetailQuery{Code: 99, To: 10, Node: -1}); return err }},
		{fs.ErrNotExist, func() error { _, err := x.Detail(DetailQuery{Code: -1, To: 10, Node: -1}); return err }},
		{fs.ErrNotExist, func() error { _, err := x.Detail(DetailQuery{Code: 1, To: 10, Node: 9}); return err }},
		{fs.ErrInvalid, func() error {
			_, err := x.Detail(DetailQuery{Code: 1, To: 10, Node: -1, Bins: 9999})
			return err
		}},
		{fs.ErrInvalid, func() error { _, err := x.CFs(CFQuery{Code: 1, To: 10, Sort: "colour"}); return err }},
		{fs.ErrInvalid, func() error { _, err := x.CFs(CFQuery{Code: 1, To: 10, Offset: -1}); return err }},
		{fs.ErrInvalid, func() error { _, err := x.CFs(CFQuery{Code: 1, To: 10, Limit: 1 << 20}); return err }},
		{fs.ErrInvalid, func() error { _, err := x.CFs(CFQuery{Code: 1, From: 10, To: 10}); return err }},
	} {
		if err := f.ask(); !errors.Is(err, f.kind) {
			t.Errorf("%v is not %v", err, f.kind)
		}
	}
}
