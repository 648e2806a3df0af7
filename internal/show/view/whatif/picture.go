package whatif

import (
	"cmp"
	"math"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
)

// Size of pictures.
const (
	columns  = 600 // of lanes
	windows  = 120 // of loads
	mostRows = 64  // lanes, and rows of loads
)

// Picture is what workers and nodes do over time, from the start of the run to its end or in an interval.
type Picture struct {
	// Lanes are those of the first workers: by column of equal length the number of the code fragment that ran
	// longest in it, 0 where none ran.
	Lanes [][]uint16 `json:"lanes"`
	// Shares are those of the columns' time in which any ran, from 0 to 1000.
	Shares [][]uint16 `json:"shares"`
	// Load is the share of all workers' time in which they ran user code, from 0 to 1000: by row of so many
	// nodes, then by window.
	Load  [][]uint16 `json:"load"`
	Nodes int        `json:"nodes"` // of a row; the last may have fewer
}

// Pair is what happens in an interval of the recorded run, and of the predicted one.
type Pair struct {
	Measured  *Picture `json:"measured"`
	Predicted *Picture `json:"predicted"`
}

// span is an interval in nanoseconds since the start of a run.
type span struct{ from, to int64 }

var all = span{0, math.MaxInt64}

// film collects executions in a span until the length of the run is known.
type film struct {
	m     *model.Model
	span  span
	lanes [][]frame
	load  [][]int64 // by row and window
	row   []int     // by worker
	each  int       // nodes of a row
	wide  int64     // ns of a window; it doubles when the run turns out to be longer
}

// frame is an execution on a lane.
type frame struct {
	from, to int64
	code     uint16
}

// fine is how many windows there are at least while the length of the run is not known.
const fine = 16 * windows

// newFilm starts a film of nodes with so many workers each.
func newFilm(m *model.Model, workers []int, in span) *film {
	f := &film{m: m, span: in, each: (len(workers) + mostRows - 1) / mostRows, wide: 1}
	for node, n := range workers {
		for range n {
			f.row = append(f.row, node/f.each)
		}
	}
	f.lanes = make([][]frame, min(len(f.row), mostRows))
	f.load = make([][]int64, (len(workers)+f.each-1)/f.each)
	for i := range f.load {
		f.load[i] = make([]int64, 2*fine)
	}
	return f
}

// see takes in a CF that a worker executes.
func (f *film) see(worker int, from, to int64, cf model.CF) {
	if from, to = max(from, f.span.from)-f.span.from, min(to, f.span.to)-f.span.from; from >= to {
		return
	}
	if worker < len(f.lanes) {
		f.lanes[worker] = append(f.lanes[worker], frame{from, to, uint16(f.m.CodeOf(cf))})
	}
	for to > f.wide*2*fine {
		for _, row := range f.load {
			for i := range fine {
				row[i] = row[2*i] + row[2*i+1]
			}
			clear(row[fine:])
		}
		f.wide *= 2
	}
	addSpan(f.load[f.row[worker]], f.wide, from, to)
}

// addSpan adds a stretch of time to windows of a length.
func addSpan(list []int64, wide, from, to int64) {
	for i := from / wide; from < to; i++ {
		end := min(to, (i+1)*wide)
		list[i] += end - from
		from = end
	}
}

// picture draws a run of a length.
func (f *film) picture(wall int64) *Picture {
	if f.span != all {
		wall = f.span.to - f.span.from
	}
	p := &Picture{Lanes: make([][]uint16, len(f.lanes)), Shares: make([][]uint16, len(f.lanes)),
		Load: make([][]uint16, len(f.load)), Nodes: f.each}
	wall = max(wall, 1)
	for i, frames := range f.lanes {
		slices.SortStableFunc(frames, func(a, b frame) int { return cmp.Compare(a.from, b.from) })
		p.Lanes[i], p.Shares[i] = lane(frames, wall, len(f.m.Codes))
	}
	workers := make([]int64, len(f.load))
	for _, row := range f.row {
		workers[row]++
	}
	for i, row := range f.load {
		p.Load[i] = make([]uint16, windows)
		for k := range windows {
			from, to := wall*int64(k)/windows, wall*int64(k+1)/windows
			ns := 0.0
			// These windows are finer than those shown. After the last CF there are none.
			for j := from / f.wide; j*f.wide < to && j < int64(len(row)); j++ {
				a, b := max(from, j*f.wide), min(to, (j+1)*f.wide)
				ns += float64(row[j]) * float64(b-a) / float64(f.wide)
			}
			p.Load[i][k] = uint16(min(1000, 1000*ns/float64(max(1, workers[i]*(to-from)))+0.5))
		}
	}
	return p
}

// lane draws the executions of a worker.
func lane(frames []frame, wall int64, codes int) (list, shares []uint16) {
	list, shares = make([]uint16, columns), make([]uint16, columns)
	sums := make([]int64, codes)
	at := 0
	for c := range list {
		from, to := wall*int64(c)/columns, wall*int64(c+1)/columns
		clear(sums)
		busy := int64(0)
		for at < len(frames) && frames[at].to <= from {
			at++
		}
		for i := at; i < len(frames) && frames[i].from < to; i++ {
			ns := min(to, frames[i].to) - max(from, frames[i].from)
			sums[frames[i].code] += ns
			busy += ns
		}
		for code, ns := range sums {
			if ns > sums[list[c]] {
				list[c] = uint16(code)
			}
		}
		if busy > 0 {
			shares[c] = uint16(min(1000, max(1, busy*1000/(to-from))))
		}
	}
	return list, shares
}

// recorded draws a span of the run of a model.
func recorded(m *model.Model, in span) *Picture {
	workers := make([]int, len(m.Nodes))
	first := make([]int, len(m.Nodes))
	all := 0
	for n := range m.Nodes {
		first[n], workers[n] = all, len(m.Nodes[n].Workers)
		all += workers[n]
	}
	f := newFilm(m, workers, in)
	for e := range m.Executions() {
		if id, ok := m.WorkerIDOf(e); ok && m.Atomic(m.ExecCF[e]) {
			if from, to := m.ExecStart[e]-m.Start, m.EndOf(e)-m.Start; from >= 0 && from < to {
				f.see(first[id.Node]+id.Worker, from, to, m.ExecCF[e])
			}
		}
	}
	return f.picture(m.Wall())
}
