package slou

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
)

// Windows divides the time of each of a number of equal stretches of the run. Tables are lists of rows; a
// row has one number, in nanoseconds, per window. Rows of the whole run have every part; those of nodes and
// workers have links, and waits with names of their own, as one row each of L and W, so that their size does
// not grow with the square of the number of nodes. Rows without any time are left out. The rows of a table
// add up to the run, node or worker; the run's without ExtraCoresNS, which is known of the whole run only.
type Windows struct {
	Count int `json:"count"`
	// of every window; the last one may be shorter. Window i starts i x LengthNS after the start of the run, or
	// of Result.Interval
	LengthNS int64 `json:"length_ns"`
	// Rows says what the rows of NS are, WorkerRows what those of the nodes and workers are.
	Rows         []Row         `json:"rows"`
	NS           [][]int64     `json:"ns"`
	WorkerRows   []Row         `json:"worker_rows"`
	Nodes        []NodeWindows `json:"nodes"`
	ExtraCoresNS int64         `json:"extra_cores_ns"` // part of O, in no window
}

// Row names a row of a table.
type Row struct {
	Factor string `json:"factor"` // a letter, "loss", or "undivided": the factors that are null
	Part   string `json:"part"`   // "" of a factor shown whole
}

// NodeWindows is the share of one node: the sum of its workers.
type NodeWindows struct {
	Node    int             `json:"node"`
	NS      [][]int64       `json:"ns"` // by Windows.WorkerRows, then window
	Workers []WorkerWindows `json:"workers"`
}

// WorkerWindows is the share of one worker.
type WorkerWindows struct {
	Worker int       `json:"worker"`
	NS     [][]int64 `json:"ns"` // by Windows.WorkerRows, then window
}

// Factor gives the time of a factor in each window from a table and its rows: nil if it has no such row.
func (w *Windows) Factor(rows []Row, ns [][]int64, factor string) []int64 {
	var out []int64
	for i, r := range rows {
		if r.Factor != factor {
			continue
		}
		if out == nil {
			out = make([]int64, w.Count)
		}
		for j, v := range ns[i] {
			out[j] += v
		}
	}
	return out
}

// maxCells bounds workers x windows: some hundred megabytes.
const maxCells = 1 << 21

// MostWindows is how many windows there can be of a model.
func MostWindows(m *model.Model) int { return max(maxCells/max(m.Workers(), 1), 1) }

// windowLength gives the length of the windows asked for, 0 if there are none.
func windowLength(m *model.Model, opt Options) (int64, error) {
	n, length, wall := int64(opt.Windows), opt.WindowNS, length(bounds(m, opt.Within.Of(m)))
	switch {
	case n < 0 || length < 0:
		return 0, fmt.Errorf("%d windows of %d ns: neither can be negative", n, length)
	case n > 0 && length > 0:
		return 0, fmt.Errorf("give either the number of windows (%d) or their length (%d ns)", n, length)
	case n == 0 && length == 0:
		return 0, nil
	case n > 0:
		length = max((wall-1)/n+1, 1)
	}
	if count := windowCount(wall, length); count > int64(MostWindows(m)) {
		return 0, fmt.Errorf("%d windows of %d workers are too many; use at most %d", count, m.Workers(),
			MostWindows(m))
	}
	return length, nil
}

func windowCount(wall, length int64) int64 {
	if wall == 0 {
		return 0
	}
	return (wall-1)/length + 1
}

// windowSums collects the pieces of one worker by window.
type windowSums struct {
	start, length int64
	Cells         []cells
	Named         map[groupPart]int64 // the groups are the windows

	at       int // the window that the last piece was in
	from, to int64
}

func newWindowSums(of model.Interval, each int64) *windowSums {
	return &windowSums{start: of.From, length: each, Cells: make([]cells, windowCount(length(of), each)),
		Named: map[groupPart]int64{}}
}

func (w *windowSums) add(p *Piece, at int) {
	name, named := nameOf(p)
	for t := p.From; t < p.To; {
		if t < w.from || t >= w.to {
			w.at = int((t - w.start) / w.length)
			w.from = w.start + int64(w.at)*w.length
			w.to = w.from + w.length
		}
		ns := min(p.To, w.to) - t
		w.Cells[w.at][at] += ns
		if named {
			w.Named[groupPart{w.at, name}] += ns
		}
		t += ns
	}
}

func (w *windowSums) join(o *windowSums) {
	for i := range w.Cells {
		w.Cells[i].join(&o.Cells[i])
	}
	addTo(w.Named, o.Named)
}

// sums adds the windows of a worker up. What windows do not have is as in its sums.
func (w *windowSums) sums(of *sums) *sums {
	out := newSums(nil)
	out.Measured, out.CFs = of.Measured, of.CFs
	for i := range w.Cells {
		out.Cells.join(&w.Cells[i])
	}
	for k, ns := range w.Named {
		out.Named[k.Part] += ns
	}
	return out
}

// windows makes the tables. The workers are those of res.Nodes, in that order.
func (c *computation) windows(res *Result, workers []*sums, null map[Factor]bool) (*Windows, error) {
	out := &Windows{LengthNS: c.window, Count: int(windowCount(length(c.bounds()), c.window)),
		Nodes:        []NodeWindows{},
		ExtraCoresNS: res.ExtraCoresNS}
	all := newWindowSums(c.bounds(), c.window)
	for _, s := range workers {
		all.join(s.Windows)
	}
	rows := all.rows(null)
	for _, r := range rows {
		out.WorkerRows = append(out.WorkerRows, r.Row)
	}
	for _, node := range res.Nodes {
		n := NodeWindows{Node: node.Node}
		sum := windowSums{Cells: make([]cells, len(all.Cells))}
		for _, w := range node.Workers {
			s, one := workers[0], workers[0].Windows
			workers = workers[1:]
			what := fmt.Sprintf("of worker %d.%d in windows", node.Node, w.Worker)
			if err := s.check(what, one.sums(s)); err != nil {
				return nil, err
			}
			for at := range one.Cells {
				sum.Cells[at].join(&one.Cells[at])
			}
			n.Workers = append(n.Workers, WorkerWindows{w.Worker, one.table(rows)})
		}
		n.NS = sum.table(rows)
		out.Nodes = append(out.Nodes, n)
	}
	out.Rows, out.NS = all.divided(rows)
	return out, nil
}

// tableRow is a row of a table: the cells that add up to it.
type tableRow struct {
	Row
	cells []int
}

// rows gives the rows that have any time.
func (w *windowSums) rows(null map[Factor]bool) (out []tableRow) {
	total := w.sums(&sums{}).Cells
	undivided := tableRow{Row: Row{Factor: FactorUndivided.String()}}
	add := func(f Factor, p Part) {
		at := cell(f, p)
		switch {
		case total[at] == 0:
		case null[f]:
			undivided.cells = append(undivided.cells, at)
		default:
			out = append(out, tableRow{Row{f.String(), p.String()}, []int{at}})
		}
	}
	for f := range FactorLoss {
		add(f, PartNone)
		for _, p := range partsOf[f] {
			add(f, p)
		}
	}
	if len(undivided.cells) > 0 {
		out = append(out, undivided)
	}
	add(FactorLoss, PartNone)
	return out
}

func (w *windowSums) table(rows []tableRow) [][]int64 {
	out := make([][]int64, 0, len(rows))
	for _, r := range rows {
		list := make([]int64, len(w.Cells))
		for _, c := range r.cells {
			for i := range w.Cells {
				list[i] += w.Cells[i][c]
			}
		}
		out = append(out, list)
	}
	return out
}

// divided gives the table with the rows of factors whose parts have names of their own divided into those.
func (w *windowSums) divided(rows []tableRow) (out []Row, ns [][]int64) {
	parts := map[partName][]int64{}
	for k, v := range w.Named {
		if parts[k.Part] == nil {
			parts[k.Part] = make([]int64, len(w.Cells))
		}
		parts[k.Part][k.Group] += v
	}
	names := slices.SortedFunc(maps.Keys(parts), func(a, b partName) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Link.From, b.Link.From),
			cmp.Compare(a.Link.To, b.Link.To))
	})
	for i, list := range w.table(rows) {
		factor := FactorOf(rows[i].Factor)
		if rows[i].Part != "" || !factor.Info().Named && len(factor.Parts()) == 0 {
			out, ns = append(out, rows[i].Row), append(ns, list)
			continue
		}
		for _, k := range names {
			if k.Factor == factor {
				out, ns = append(out, Row{rows[i].Factor, k.String()}), append(ns, parts[k])
			}
		}
	}
	return out, ns
}
