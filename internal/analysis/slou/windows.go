package slou

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
)

// Windows divides the time of each of a number of equal stretches of the run. Tables are lists of rows; a row has
// one number, in nanoseconds, per window. Rows of the whole run have every part; those of nodes and workers have L
// and W whole, so that their size does not grow with the square of the number of nodes. Rows without any time
// are left out. The rows of a table add up to the run, node or worker; the run's without ExtraCoresNS, which is
// known of the whole run only.
type Windows struct {
	Count    int   `json:"count"`
	LengthNS int64 `json:"length_ns"` // of every window; the last one may be shorter. Window i starts at i x LengthNS
	// Rows says what the rows of NS are, WorkerRows what those of the nodes and workers are.
	Rows         []Row         `json:"rows"`
	NS           [][]int64     `json:"ns"`
	WorkerRows   []Row         `json:"worker_rows"`
	Nodes        []NodeWindows `json:"nodes"`
	ExtraCoresNS int64         `json:"extra_cores_ns"` // part of O, in no window
}

// Row names a row of a table.
type Row struct {
	Factor string `json:"factor"` // "U" to "W", "loss", or "undivided": the factors that are null
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

// windowLength gives the length of the windows asked for, 0 if there are none.
func windowLength(m *model.Model, opt Options) (int64, error) {
	n, length := int64(opt.Windows), opt.WindowNS
	switch {
	case n < 0 || length < 0:
		return 0, fmt.Errorf("%d windows of %d ns: neither can be negative", n, length)
	case n > 0 && length > 0:
		return 0, fmt.Errorf("give either the number of windows (%d) or their length (%d ns)", n, length)
	case n == 0 && length == 0:
		return 0, nil
	case n > 0:
		length = max((m.Wall()-1)/n+1, 1)
	}
	if count := windowCount(m, length); count > int64(maxCells/max(m.Workers(), 1)) {
		return 0, fmt.Errorf("%d windows of %d workers are too many; use at most %d", count, m.Workers(), maxCells/max(m.Workers(), 1))
	}
	return length, nil
}

func windowCount(m *model.Model, length int64) int64 {
	if m.Wall() == 0 {
		return 0
	}
	return (m.Wall()-1)/length + 1
}

// windowSums collects the pieces of one worker by window.
type windowSums struct {
	start, length int64
	cells         []cells
	links         map[windowLink]int64
	named         map[windowNamed]int64

	at       int // the window that the last piece was in
	from, to int64
}

type windowLink struct {
	window int
	link   Link
}

type windowNamed struct {
	window int
	namedPart
}

func newWindowSums(m *model.Model, length int64) *windowSums {
	return &windowSums{start: m.Start, length: length, cells: make([]cells, windowCount(m, length)),
		links: map[windowLink]int64{}, named: map[windowNamed]int64{}}
}

func (w *windowSums) add(p *Piece, at int) {
	for t := p.From; t < p.To; {
		if t < w.from || t >= w.to {
			w.at = int((t - w.start) / w.length)
			w.from = w.start + int64(w.at)*w.length
			w.to = w.from + w.length
		}
		ns := min(p.To, w.to) - t
		w.cells[w.at][at] += ns
		switch {
		case p.Name != "":
			w.named[windowNamed{w.at, namedPart{p.Factor, p.Name}}] += ns
		case p.Factor == FactorL:
			w.links[windowLink{w.at, p.Link}] += ns
		}
		t += ns
	}
}

func (w *windowSums) join(o *windowSums) {
	for i := range w.cells {
		w.cells[i].join(&o.cells[i])
	}
	for k, v := range o.links {
		w.links[k] += v
	}
	for k, v := range o.named {
		w.named[k] += v
	}
}

// windows makes the tables.
func (r *run) windows(res *Result, workers []*sums, null map[Factor]bool) (*Windows, error) {
	out := &Windows{LengthNS: r.window, Count: int(windowCount(r.m, r.window)), Nodes: []NodeWindows{}, ExtraCoresNS: res.ExtraCoresNS}
	all := newWindowSums(r.m, r.window)
	for _, s := range workers {
		all.join(s.windows)
	}
	rows := all.rows(null)
	out.WorkerRows = names(rows)
	for _, node := range res.Nodes {
		sum := newWindowSums(r.m, r.window)
		n := NodeWindows{Node: node.Node}
		for i, ref := range r.workers {
			if ref.Node == node.Node {
				for at := range sum.cells {
					sum.cells[at].join(&workers[i].windows.cells[at])
				}
				n.Workers = append(n.Workers, WorkerWindows{ref.Worker, workers[i].windows.table(rows)})
			}
		}
		n.NS = sum.table(rows)
		out.Nodes = append(out.Nodes, n)
	}
	out.Rows, out.NS = all.divided(rows)
	return out, out.check(res)
}

// undividedRow is the row of the factors that are null.
const undividedRow = "undivided"

// row is a row of a table: the cells that add up to it.
type row struct {
	Row
	cells []int
}

func names(rows []row) []Row {
	out := make([]Row, 0, len(rows))
	for _, r := range rows {
		out = append(out, r.Row)
	}
	return out
}

// rows gives the rows that have any time.
func (w *windowSums) rows(null map[Factor]bool) (out []row) {
	var total cells
	for i := range w.cells {
		total.join(&w.cells[i])
	}
	undivided := row{Row: Row{Factor: undividedRow}}
	add := func(f Factor, p Part) {
		at := cell(f, p)
		switch {
		case total[at] == 0:
		case null[f]:
			undivided.cells = append(undivided.cells, at)
		default:
			out = append(out, row{Row{f.String(), p.String()}, []int{at}})
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

func (w *windowSums) table(rows []row) [][]int64 {
	out := make([][]int64, 0, len(rows))
	for _, r := range rows {
		list := make([]int64, len(w.cells))
		for _, c := range r.cells {
			for i := range w.cells {
				list[i] += w.cells[i][c]
			}
		}
		out = append(out, list)
	}
	return out
}

// divided gives the table with the rows of factors whose parts have names of their own divided into those.
func (w *windowSums) divided(rows []row) (out []Row, ns [][]int64) {
	links, parts := map[Link][]int64{}, map[namedPart][]int64{}
	for k, v := range w.links {
		if links[k.link] == nil {
			links[k.link] = make([]int64, len(w.cells))
		}
		links[k.link][k.window] += v
	}
	for k, v := range w.named {
		if parts[k.namedPart] == nil {
			parts[k.namedPart] = make([]int64, len(w.cells))
		}
		parts[k.namedPart][k.window] += v
	}
	for i, list := range w.table(rows) {
		factor := rows[i].Factor
		if factor == FactorL.String() {
			keys := make([]Link, 0, len(links))
			for k := range links {
				keys = append(keys, k)
			}
			slices.SortFunc(keys, func(a, b Link) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
			for _, k := range keys {
				out, ns = append(out, Row{FactorL.String(), k.String()}), append(ns, links[k])
			}
		}
		if factor == FactorU.String() || rows[i].Part != "" || factor == FactorLoss.String() || factor == undividedRow {
			out, ns = append(out, rows[i].Row), append(ns, list)
			continue
		}
		var names []string
		for k := range parts {
			if k.factor.String() == factor {
				names = append(names, k.name)
			}
		}
		slices.Sort(names)
		for _, name := range names {
			k := namedPart{Factor(slices.Index(factorLetters[:], factor)), name}
			out, ns = append(out, Row{factor, name}), append(ns, parts[k])
		}
	}
	return out, ns
}

// check tells whether the windows add up to the whole, and those of each node and worker to theirs.
func (w *Windows) check(res *Result) error {
	want := map[string]int64{"undivided": res.UndividedNS, "loss": res.Loss.NS}
	res.Factors.addTo(want)
	delete(want, "measured time")
	if res.Factors.O != nil {
		want["O"] -= res.ExtraCoresNS
		want["O."+PartExtra.String()] -= res.ExtraCoresNS
	} else {
		want["undivided"] -= res.ExtraCoresNS
	}
	if err := differ("over time", tableSums(w.Rows, w.NS, true), want); err != nil {
		return err
	}
	for i, n := range res.Nodes {
		for j, worker := range n.Workers {
			if err := checkTable(fmt.Sprintf("worker %d.%d over time", n.Node, worker.Worker), w.WorkerRows, w.Nodes[i].Workers[j].NS, worker.Factors, worker.TotalNS, worker.LossNS); err != nil {
				return err
			}
		}
		if err := checkTable(fmt.Sprintf("node %d over time", n.Node), w.WorkerRows, w.Nodes[i].NS, n.Factors, n.TotalNS, n.LossNS); err != nil {
			return err
		}
	}
	return nil
}

func checkTable(what string, rows []Row, ns [][]int64, f Factors, total, loss int64) error {
	want := map[string]int64{"loss": loss, "undivided": total}
	f.addTo(want)
	for _, name := range []string{"U", "S", "L", "O", "W"} {
		want["undivided"] -= want[name]
	}
	got := tableSums(rows, ns, false)
	for k := range want {
		if _, ok := got[k]; !ok && len(k) > 1 && k[1] == '.' || k == "measured time" {
			delete(want, k) // a part with a name of its own, shown with its factor
		}
	}
	return differ(what, got, want)
}

// tableSums adds up a table by factor and by part.
func tableSums(rows []Row, ns [][]int64, named bool) map[string]int64 {
	out := map[string]int64{}
	for i, r := range rows {
		for _, v := range ns[i] {
			out[r.Factor] += v
			if r.Part != "" || (named && (r.Factor == "L" || r.Factor == "W")) {
				out[r.Factor+"."+r.Part] += v
			}
		}
	}
	return out
}
