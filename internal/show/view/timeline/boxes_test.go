package timeline

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
	_ "github.com/whyslow/whyslow/internal/testkit/effort"
)

// Atomic CFs and gaps tile each lane, and a part of the run shows exactly that part of the whole.
func TestBoxes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := randomRun(t)
		tl, res := made(t, m)
		smallStride(tl, rapid.UintRange(0, 3).Draw(t, "shift"))
		if m.Wall() == 0 {
			return
		}
		all, err := tl.Boxes(BoxQuery{From: 0, To: m.Wall() + 1, Limit: 100000})
		if err != nil || all.More != 0 {
			t.Fatal(all.More, err)
		}
		lanes := brute(t, m, nullOf(&res.Factors))
		covered := make([][]int, len(lanes))
		for i := range covered {
			covered[i] = make([]int, m.Wall())
		}
		for i, lane := range all.CFs.Lane {
			for at := all.CFs.Start[i]; at < all.CFs.End[i] && all.CFs.Structured[i] == 0; at++ {
				covered[lane][at]++
				if !lanes[lane][at].atomic {
					t.Fatalf("%s runs at %d of lane %d", all.CFs.CF[i], at, lane)
				}
			}
		}
		for i, lane := range all.Gaps.Lane {
			for at := all.Gaps.Start[i]; at < all.Gaps.End[i]; at++ {
				k := &lanes[lane][at]
				if tl.names[k.row] != all.Gaps.Factor[i] {
					t.Fatalf("%s at %d of lane %d, want %s", all.Gaps.Factor[i], at, lane, tl.names[k.row])
				}
				if !k.atomic {
					covered[lane][at]++
				}
			}
		}
		for lane, list := range covered {
			for at, n := range list {
				if n != 1 {
					t.Fatalf("%d boxes at %d of lane %d", n, at, lane)
				}
			}
		}
		if want := len(m.ExecCF) - offLanes(tl); len(all.CFs.CF) != want {
			t.Fatalf("%d executions, want %d", len(all.CFs.CF), want)
		}

		q := BoxQuery{Lanes: drawLanes(t, len(lanes)), Limit: 100000}
		q.From, q.To = drawRange(t, m.Wall())
		some, err := tl.Boxes(q)
		if err != nil {
			t.Fatal(err)
		}
		within := func(start, end int64) bool { return start < q.To && (end > q.From || start >= q.From) }
		want := &Boxes{From: q.From, To: q.To, CFs: emptyCFs(), Gaps: emptyGaps()}
		for _, lane := range chosenLanes(tl, q.Lanes) {
			for i := range all.CFs.Lane {
				if c := &all.CFs; c.Lane[i] == lane && within(c.Start[i], c.End[i]) {
					w := &want.CFs
					w.Lane, w.Start, w.End, w.CF = append(w.Lane, lane), append(w.Start, c.Start[i]),
						append(w.End, c.End[i]), append(w.CF, c.CF[i])
					w.Code, w.Label = append(w.Code, c.Code[i]), append(w.Label, c.Label[i])
					w.Structured, w.Running = append(w.Structured, c.Structured[i]), append(w.Running, c.Running[i])
				}
			}
			for i := range all.Gaps.Lane {
				if g := &all.Gaps; g.Lane[i] == lane && within(g.Start[i], g.End[i]) {
					w := &want.Gaps
					w.Lane, w.Start, w.End, w.Factor = append(w.Lane, lane), append(w.Start, g.Start[i]),
						append(w.End, g.End[i]), append(w.Factor, g.Factor[i])
					w.Part, w.Consumer = append(w.Part, g.Part[i]), append(w.Consumer, g.Consumer[i])
					w.Producer, w.DF = append(w.Producer, g.Producer[i]), append(w.DF, g.DF[i])
					title := func(key string) string {
						cf, _ := tl.FindCF(key)
						return m.CFTitle(cf)
					}
					w.ConsumerTitle, w.ProducerTitle = append(w.ConsumerTitle, title(g.Consumer[i])),
						append(w.ProducerTitle, title(g.Producer[i]))
					w.DFTitle = append(w.DFTitle, m.DFString(m.FindDF(g.DF[i])))
				}
			}
		}
		if d := gocmp.Diff(want, some); d != "" {
			t.Fatal(d)
		}
		if n := len(some.CFs.Lane) + len(some.Gaps.Lane); n > 1 {
			q.Limit = rapid.IntRange(1, n-1).Draw(t, "limit")
			few, err := tl.Boxes(q)
			if err != nil || few.More != n || len(few.CFs.Lane)+len(few.Gaps.Lane) > 0 {
				t.Fatalf("%d of %d boxes, more %d, %v", len(few.CFs.Lane), n, few.More, err)
			}
		}
	})
}

// offLanes counts executions on streams that are not workers.
func offLanes(tl *Timeline) (n int) {
	for e := range tl.m.ExecCF {
		if tl.LaneOf(e) < 0 {
			n++
		}
	}
	return n
}

// Arrows within an interval against all messages; also where it begins or ends with a message, whatever the
// clocks say of that.
func TestArrows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := randomRun(t)
		from, to := drawRange(t, m.Wall())
		intervals := []stretch{{from, to}}
		disagree := rapid.Bool().Draw(t, "clocks disagree")
		for i := range m.DFMessages {
			g := &m.DFMessages[i]
			if g.Sent == model.None || g.Received == model.None {
				continue
			}
			if disagree {
				g.Sent, g.Received = g.Received, g.Sent
			}
			for _, at := range []int64{g.Sent - m.Start, g.Received - m.Start} {
				intervals = append(intervals, stretch{at, at + to - from}, stretch{at + from - to, at})
			}
		}
		tl, _ := made(t, m)
		q := ArrowQuery{Limit: rapid.SampledFrom([]int{1, 3, 100000}).Draw(t, "limit"),
			Lanes: drawLanes(t, len(tl.lanes))}
		for _, in := range intervals {
			q.From, q.To = in.from, in.to
			checkArrows(t, tl, m, q)
		}
	})
}

func checkArrows(t *rapid.T, tl *Timeline, m *model.Model, q ArrowQuery) {
	got, err := tl.Arrows(q)
	if err != nil {
		t.Fatal(err)
	}
	lanes := chosenLanes(tl, q.Lanes)
	var want []Arrow
	for kind := range kindNames {
		list := tl.list(kind)
		for i := range list {
			g := &list[i]
			t0, t1 := g.Sent, g.Received
			if t0 == model.None {
				t0 = t1
			}
			if t1 == model.None {
				t1 = t0
			}
			if t0 == model.None || g.From == g.To || min(t0, t1)-m.Start >= q.To || max(t0, t1)-m.Start < q.From {
				continue
			}
			a := tl.arrow(kind, g)
			touches := func(node, lane int) bool {
				return lane >= 0 && slices.Contains(lanes, lane) ||
					lane < 0 && slices.ContainsFunc(lanes, func(i int) bool { return tl.lanes[i].id.Node == node })
			}
			if len(lanes) == len(tl.lanes) || touches(a.FromNode, a.FromLane) || touches(a.ToNode, a.ToLane) {
				want = append(want, a)
			}
		}
	}
	slices.SortFunc(want, func(a, b Arrow) int { return cmp.Compare(b.T1-b.T0, a.T1-a.T0) })
	n := min(q.Limit, len(want))
	if len(got.Arrows) != n || got.More != len(want)-n {
		t.Fatalf("%d arrows and %d more, want %d and %d", len(got.Arrows), got.More, n, len(want)-n)
	}
	for i, a := range got.Arrows { // of equally long ones any may be there
		k := slices.Index(want, a)
		if k < 0 || a.T1-a.T0 != want[i].T1-want[i].T0 {
			t.Fatalf("arrow %d: %+v, want %+v", i, a, want[i])
		}
		want[i], want[k] = want[k], want[i]
	}
	for _, a := range got.Arrows {
		for _, end := range [][2]int{{a.FromLane, a.FromNode}, {a.ToLane, a.ToNode}} {
			if end[0] >= 0 && tl.lanes[end[0]].id.Node != end[1] {
				t.Fatalf("lane %d is not of node %d", end[0], end[1])
			}
		}
	}
}

// Arrows do not depend on the numbers of messages, which differ from one reading of a trace to the next.
func TestArrowsAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := randomRun(t)
		tl, _ := made(t, m)
		q := ArrowQuery{To: max(m.Wall(), 1), Limit: rapid.IntRange(1, 5).Draw(t, "limit")}
		want, err := tl.Arrows(q)
		if err != nil {
			t.Fatal(err)
		}
		slices.Reverse(m.DFMessages)
		tl, _ = made(t, m)
		if got, err := tl.Arrows(q); err != nil || gocmp.Diff(want, got) != "" {
			t.Fatal(err, gocmp.Diff(want, got))
		}
	})
}

// What a CF waited for: an arrow for each of its inputs.
func TestWaits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := randomRun(t)
		tl, _ := made(t, m)
		for cf := range m.CFs() {
			got, err := tl.Arrows(ArrowQuery{CF: tl.CFKey(cf)})
			if err != nil {
				t.Fatal(err)
			}
			for e := range m.ExecutionsOf(cf) {
				for _, df := range m.Inputs(e) {
					if !slices.ContainsFunc(got.Arrows, func(a Arrow) bool {
						return a.Kind == "wait" && a.What == m.DFString(df) && a.DF == m.DFKey(df) &&
							a.T1 == m.ExecStart[e]-m.Start && a.ToLane == tl.LaneOf(e) && a.Consumer == tl.CFKey(cf)
					}) {
						t.Fatalf("%s did not wait for %s", m.CFString(cf), m.DFString(df))
					}
				}
			}
			if n := len(got.Arrows); n > 1 {
				few, err := tl.Arrows(ArrowQuery{CF: tl.CFKey(cf), Limit: 1})
				if err != nil || len(few.Arrows) != 1 || few.More == 0 {
					t.Fatalf("%d arrows and %d more, %v", len(few.Arrows), few.More, err)
				}
			}
		}
	})
}

// The path tiles the run, however few steps are asked for.
func TestPath(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := randomRun(t)
		tl, _ := made(t, m)
		if m.Wall() == 0 {
			return
		}
		limit := rapid.SampledFrom([]int{1, 2, 7, 100, 1000000}).Draw(t, "limit")
		p, err := tl.Path(context.Background(), PathQuery{To: m.Wall(), Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		res, err := tl.critical(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if res.Path == nil {
			if len(p.Steps) > 0 || len(p.Missing) == 0 {
				t.Fatalf("%+v", p)
			}
			return
		}
		if len(p.Steps) > 2*limit+2 || limit > int(m.Wall()) && len(p.Steps) != len(res.Path.Steps) {
			t.Fatalf("%d steps of %d, limit %d", len(p.Steps), len(res.Path.Steps), limit)
		}
		at := int64(0)
		for _, s := range p.Steps {
			if s.From != at || s.To <= s.From || s.Lane >= len(tl.lanes) ||
				s.Lane < 0 && s.CF != "" && offLanes(tl) == 0 {
				t.Fatalf("%+v at %d", s, at)
			}
			at = s.To
		}
		if at != m.Wall() {
			t.Fatalf("ends at %d of %d", at, m.Wall())
		}
	})
}

// What the worker of each CF lost before it, against the pieces.
func TestBefore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := randomRun(t)
		tl, res := made(t, m)
		if len(res.Missing) > 0 {
			return
		}
		var want, got slou.Lost
		waits := map[string]int64{}
		for i := range tl.lanes {
			l := &tl.lanes[i]
			for k := range l.end {
				ns := l.end[k] - l.from(k)
				p := &tl.parts[l.part[k]&^inside]
				switch {
				case l.consumer[k] == 0:
				case l.part[k]&inside != 0:
					if p.factor == slou.FactorW {
						waits[p.name] += ns
					}
				case p.factor == slou.FactorS:
					want[slou.FactorS] += ns
				case p.factor == slou.FactorL:
					want[slou.FactorL] += ns
				case p.factor == slou.FactorO:
					want[slou.FactorO] += ns
				case p.factor == slou.FactorW:
					want[slou.FactorW] += ns
				}
			}
		}
		for e := range m.ExecCF {
			for f, ns := range tl.Before(e) {
				got[f] += ns
			}
			for _, s := range tl.Stood(e) {
				waits[s.For] -= s.NS
			}
		}
		// A wait that ends after a CF that ended at once is charged to that CF, whose gap it is not in.
		w := slou.FactorW
		if got[w] > want[w] || [4]int64(got[:w]) != [4]int64(want[:w]) {
			t.Fatalf("%+v, want %+v", got, want)
		}
		for name, ns := range waits {
			if ns > 0 {
				t.Fatalf("%s: %d too little", name, ns)
			}
		}
	})
}

func TestBadQueries(t *testing.T) {
	m := emptyRun(t)
	tl, _ := made(t, m)
	tile := func(q TileQuery) error { _, err := tl.Tile(q); return err }
	factors := func(q FactorQuery) error { _, err := tl.Factors(q); return err }
	boxes := func(q BoxQuery) error { _, err := tl.Boxes(q); return err }
	arrows := func(q ArrowQuery) error { _, err := tl.Arrows(q); return err }
	path := func(q PathQuery) error { _, err := tl.Path(context.Background(), q); return err }
	for name, err := range map[string]error{
		"empty":            tile(TileQuery{From: 5, To: 5, Width: 1, By: "code"}),
		"backwards":        factors(FactorQuery{From: 5, To: 4, Windows: 1}),
		"far":              boxes(BoxQuery{From: math.MinInt64, To: 1}),
		"far off":          path(PathQuery{From: 0, To: math.MaxInt64}),
		"no width":         tile(TileQuery{To: 5, By: "code"}),
		"wide":             tile(TileQuery{To: 5, By: "code", Width: 20001}),
		"by":               tile(TileQuery{To: 5, By: "node", Width: 1}),
		"no windows":       factors(FactorQuery{To: 5}),
		"many windows":     factors(FactorQuery{To: 5, Windows: 20001}),
		"lane":             boxes(BoxQuery{To: 5, Lanes: []int{2}}),
		"negative lane":    tile(TileQuery{To: 5, Width: 1, By: "code", Lanes: []int{-1}}),
		"lane twice":       arrows(ArrowQuery{To: 5, Lanes: []int{1, 1}}),
		"negative limit":   arrows(ArrowQuery{To: 5, Limit: -1}),
		"limit":            path(PathQuery{To: 5, Limit: 1000001}),
		"no CF":            arrows(ArrowQuery{CF: "17"}),
		"empty of nothing": path(PathQuery{}),
	} {
		if !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := arrows(ArrowQuery{CF: "0.17"}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := tl.FindDF("0:17"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
