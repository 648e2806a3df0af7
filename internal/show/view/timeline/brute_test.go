package timeline

import (
	"context"
	"encoding/binary"
	"math/big"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
	"github.com/whyslow/whyslow/trace"
)

// known1 describes one nanosecond of a worker's time.
type known1 struct {
	factor, code uint16 // classes
	row          int
	atomic       bool // within the execution of an atomic CF
	exec         int  // that it shows, -1 none
}

// brute tells of every nanosecond of every lane.
func brute(t sloutest.TB, m *model.Model, null map[string]bool) [][]known1 {
	list, err := slou.Pieces(context.Background(), m, slou.Options{}, procs.Alone())
	if err != nil {
		t.Fatal(err)
	}
	var out [][]known1
	for i := range list {
		w := &m.Nodes[list[i].Node].Workers[list[i].Worker]
		lane := make([]known1, m.Wall())
		for _, p := range list[i].Pieces {
			for at := p.From; at < p.To; at++ {
				k := known1{factor: 0xff01 + uint16(p.Factor), row: int(p.Factor), exec: -1}
				if null[p.Factor.String()] {
					k.factor, k.row = 0, 6
				}
				k.code = k.factor
				last := -1
				for e := w.First; e < w.End; e++ {
					if m.Atomic(m.ExecCF[e]) && m.ExecStart[e] <= at {
						last = e
					}
				}
				if last >= 0 && (m.ExecEnd[last] == model.None || at < m.ExecEnd[last]) {
					k.atomic = true
					if p.Factor != slou.FactorLoss {
						k.code, k.exec = uint16(m.CodeOf(m.ExecCF[last])), last
					}
				}
				lane[at-m.Start] = k
			}
		}
		out = append(out, lane)
	}
	return out
}

// randomRun is a run of any kind: whole, killed, with waits, damaged.
func randomRun(t *rapid.T) *model.Model {
	run := sloutest.Random(t)
	if rapid.Bool().Draw(t, "waits") {
		run.AddWaits(t)
	}
	switch rapid.IntRange(0, 3).Draw(t, "fate") {
	case 1:
		run.Kill(t)
	case 2:
		run.Harm(t)
	case 3:
		run.Stick(t)
	}
	return sloutest.Build(t, run.Text())
}

// A part of the run looks as in the whole, and the rest is empty.
func TestKnown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := randomRun(t)
		all, _ := made(t, m)
		var known trace.Span
		known.From, known.To = drawRange(t, m.Wall())
		tl, err := Build(context.Background(), m, Options{Known: &known})
		if err != nil {
			t.Fatal(err)
		}
		smallStride(tl, rapid.UintRange(0, 3).Draw(t, "shift"))
		f, err := tl.Factors(FactorQuery{To: m.Wall() + 1, Windows: 5})
		if err != nil {
			t.Fatal(err)
		}
		want, err := all.Factors(FactorQuery{From: known.From, To: known.To, Windows: 1})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want.Sum, f.Sum); d != "" {
			t.Fatal(d)
		}
		for _, by := range []string{"code", "factor"} {
			width := int(m.Wall()) + 1
			got, err := tl.Tile(TileQuery{To: m.Wall() + 1, Width: width, By: by})
			if err != nil {
				t.Fatal(err)
			}
			whole, err := all.Tile(TileQuery{To: m.Wall() + 1, Width: width, By: by})
			if err != nil {
				t.Fatal(err)
			}
			for lane := range tl.lanes {
				for i := range width {
					k := 8 + lane*width*3 + 2*i
					want := binary.LittleEndian.Uint16(whole[k:])
					if int64(i) < known.From || int64(i) >= known.To {
						want = 0
					}
					if class := binary.LittleEndian.Uint16(got[k:]); class != want {
						t.Fatalf("%x at %d of lane %d, want %x: known is %v", class, i, lane, want, known)
					}
				}
			}
		}
		boxes, err := tl.Boxes(BoxQuery{To: m.Wall() + 1, Limit: 100000})
		if err != nil {
			t.Fatal(err)
		}
		for i, from := range boxes.Gaps.Start {
			if from < known.From || boxes.Gaps.End[i] > known.To {
				t.Fatalf("a gap [%d, %d], known is %v", from, boxes.Gaps.End[i], known)
			}
		}
	})
}

func made(t sloutest.TB, m *model.Model) (*Timeline, *slou.Result) {
	res, err := slou.Compute(context.Background(), m, slou.Options{}, procs.Alone())
	if err != nil {
		t.Fatal(err)
	}
	tl, err := Build(context.Background(), m, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tl, res
}

func nullOf(f *slou.Factors) map[string]bool {
	return map[string]bool{"U": f.U == nil, "S": f.S == nil, "L": f.L == nil, "O": f.O == nil, "W": f.W == nil}
}

// smallStride makes even runs of a few pieces use sums.
func smallStride(t *Timeline, shift uint) {
	for i := range t.lanes {
		t.lanes[i].index(t, shift)
	}
}

func drawRange(t *rapid.T, wall int64) (from, to int64) {
	from = rapid.Int64Range(-20, wall+10).Draw(t, "from")
	return from, from + rapid.Int64Range(1, wall+30).Draw(t, "length")
}

func drawLanes(t *rapid.T, n int) []int {
	if n == 0 || rapid.Bool().Draw(t, "all") {
		return nil
	}
	return rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 0, n, rapid.ID[int]).Draw(t, "lanes")
}

func chosenLanes(tl *Timeline, lanes []int) []int {
	all, err := tl.chosen(lanes)
	if err != nil {
		panic(err)
	}
	return all
}

// Every column of every tile against a count by the nanosecond.
func TestTiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := randomRun(t)
		tl, res := made(t, m)
		if shift := rapid.UintRange(0, 3).Draw(t, "shift"); shift < 3 {
			smallStride(tl, shift)
		}
		lanes := brute(t, m, nullOf(&res.Factors))
		q := TileQuery{By: rapid.SampledFrom([]string{"code", "factor"}).Draw(t, "by"),
			Width: rapid.IntRange(1, 60).Draw(t, "width")}
		q.From, q.To = drawRange(t, m.Wall())
		q.Lanes = drawLanes(t, len(lanes))
		chosen := chosenLanes(tl, q.Lanes)
		tile, err := tl.Tile(q)
		if err != nil {
			t.Fatal(err)
		}
		if len(tile) != 8+len(chosen)*q.Width*3 || int(binary.LittleEndian.Uint32(tile)) != len(chosen) ||
			int(binary.LittleEndian.Uint32(tile[4:])) != q.Width {
			t.Fatalf("%d bytes: % x", len(tile), tile[:8])
		}
		edge := func(i int) int64 {
			x := new(big.Int).Mul(big.NewInt(q.To-q.From), big.NewInt(int64(i)))
			return q.From + x.Div(x, big.NewInt(int64(q.Width))).Int64()
		}
		for i, n := range chosen {
			row := tile[8+i*q.Width*3:]
			for c := range q.Width {
				from, to := edge(c), edge(c+1)
				to = max(to, from+1)
				sum := map[uint16]int64{}
				for at := max(from, 0); at < min(to, m.Wall()); at++ {
					k := lanes[n][at]
					if q.By == "code" {
						sum[k.code]++
					} else {
						sum[k.factor]++
					}
				}
				class, most := uint16(0), int64(0)
				for k, ns := range sum {
					if ns > most || ns == most && k < class {
						class, most = k, ns
					}
				}
				share := most * 255 / (to - from)
				if most > 0 {
					share = max(share, 1)
				}
				gotClass, gotShare := binary.LittleEndian.Uint16(row[2*c:]), row[2*q.Width+c]
				if gotClass != class || int64(gotShare) != share {
					t.Fatalf("lane %d column %d [%d, %d): class %x share %d, want %x %d of %v", n, c, from, to, gotClass,
						gotShare, class, share, sum)
				}
			}
		}
	})
}

// Sums of windows against a count by the nanosecond, and of the whole run against slou.Compute.
func TestFactors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := randomRun(t)
		tl, res := made(t, m)
		smallStride(tl, rapid.UintRange(0, 3).Draw(t, "shift"))
		lanes := brute(t, m, nullOf(&res.Factors))
		q := FactorQuery{Windows: rapid.IntRange(1, 40).Draw(t, "windows"), Lanes: drawLanes(t, len(lanes))}
		q.From, q.To = drawRange(t, m.Wall())
		f, err := tl.Factors(q)
		if err != nil {
			t.Fatal(err)
		}
		if f.Windows < 1 || f.Windows > q.Windows || f.WindowNS*int64(f.Windows) < q.To-q.From ||
			f.WindowNS*int64(f.Windows-1) >= q.To-q.From {
			t.Fatalf("%d windows of %d ns for %d in %d", f.Windows, f.WindowNS, q.To-q.From, q.Windows)
		}
		rows := len(f.Rows)
		sum, total := make([]int64, rows), newTable(rows, f.Windows)
		byNode, byLane := map[int][][]int64{}, map[int][]int64{}
		for _, n := range chosenLanes(tl, q.Lanes) {
			node := tl.lanes[n].id.Node
			if byNode[node] == nil {
				byNode[node] = newTable(rows, f.Windows)
			}
			byLane[n] = make([]int64, rows)
			for at := max(q.From, 0); at < min(q.To, m.Wall()); at++ {
				row, w := lanes[n][at].row, (at-q.From)/f.WindowNS
				sum[row]++
				total[row][w]++
				byNode[node][row][w]++
				byLane[n][row]++
			}
		}
		if d := cmp.Diff([]any{sum, total}, []any{f.Sum, f.Total}); d != "" {
			t.Fatal(d)
		}
		for _, n := range f.Nodes {
			if d := cmp.Diff(byNode[n.Node], n.Windows); d != "" {
				t.Fatal(d)
			}
			for row, ns := range n.Sum {
				for _, v := range n.Windows[row] {
					ns -= v
				}
				if ns != 0 {
					t.Fatalf("node %d, row %d is off by %d", n.Node, row, ns)
				}
			}
			delete(byNode, n.Node)
		}
		for _, l := range f.Lanes {
			if d := cmp.Diff(byLane[l.Lane], l.Sum); d != "" {
				t.Fatal(d)
			}
			delete(byLane, l.Lane)
		}
		if len(byNode)+len(byLane) > 0 {
			t.Fatalf("missing: nodes %v, lanes %v", byNode, byLane)
		}
		if m.Wall() > 0 {
			checkWhole(t, tl, res)
		}
	})
}

func newTable(rows, columns int) [][]int64 {
	out := make([][]int64, rows)
	for i := range out {
		out[i] = make([]int64, columns)
	}
	return out
}

func checkWhole(t sloutest.TB, tl *Timeline, res *slou.Result) {
	t.Helper()
	f, err := tl.Factors(FactorQuery{To: tl.Wall(), Windows: 7})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for i, row := range f.Rows {
		got[row] = f.Sum[i]
	}
	want := map[string]int64{"U": 0, "S": 0, "L": 0, "O": 0, "W": 0, "loss": res.Loss.NS}
	if res.Factors.U != nil {
		want["U"] = res.Factors.U.NS
	}
	for name, s := range map[string]*slou.Share{"S": res.Factors.S, "L": res.Factors.L, "O": res.Factors.O,
		"W": res.Factors.W} {
		if s != nil {
			want[name] = s.NS
		}
	}
	want["O"] -= res.ExtraCoresNS
	if len(f.Rows) > rowUndivided {
		want["undivided"] = res.UndividedNS
		if res.Factors.O == nil {
			want["O"], want["undivided"] = 0, res.UndividedNS-res.ExtraCoresNS
		}
	}
	if d := cmp.Diff(want, got); d != "" || f.ExtraCoresNS != res.ExtraCoresNS {
		t.Fatal("extra", f.ExtraCoresNS, d)
	}
}

// emptyRun has two workers that do nothing.
func emptyRun(t sloutest.TB) *model.Model {
	return sloutest.Build(t, `#run {"ended":"done","nodes":[{"node":0,"workers":2}]}
#node 0
0 n0 s0 Global.onProgramStarted
0 n0 s1 Global.onProgramStarted
9 n0 s0 Global.onProgramFinished
9 n0 s1 Global.onProgramFinished
`)
}
