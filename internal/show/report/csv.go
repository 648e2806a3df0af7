package report

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/analysis/counters"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/words"
)

// CSV writes what there is by window of time as one table, in the columns of counters.WriteCSV: a line for
// each window of each series, then of each factor with its part ("S.nowhere"; L has its links in the column
// of links), for the run and for each node. The unit of factors is "ns": sum is the time in the window, mean
// that of so many workers. What the search for patterns found comes last, without a time: a line for each
// metric as "pgas.ID", call path, in the column of links, and thread with its node.
func CSV(w io.Writer, all *Everything, _ Options) error {
	list := all.Series
	if list == nil {
		list = &counters.Result{}
	}
	if err := counters.WriteCSV(w, list); err != nil {
		return err
	}
	out := csv.NewWriter(words.Foreign(w))
	write := func(from, name, unit, node, link, mean string, sum int64) {
		// The writer keeps its first error, which Error gives.
		_ = out.Write([]string{from, name, unit, node, link, mean, "", "", "", strconv.FormatInt(sum, 10)})
	}
	if all.SLOU != nil && all.SLOU.Windows != nil {
		win := all.SLOU.Windows
		factorRows(all.SLOU, "", win.Rows, win.NS, write)
		for _, n := range win.Nodes {
			factorRows(all.SLOU, strconv.Itoa(n.Node), win.WorkerRows, n.NS, write)
		}
	}
	if p := newPGAS(newAuthor(all, "")); p != nil {
		for _, m := range p.Metrics {
			for _, row := range m.Rows {
				for t, v := range row.Values {
					if v != 0 {
						write("", "pgas."+m.ID, string(m.Unit), strconv.Itoa(p.Threads[t].Node), p.callPath(row.Call), "", v)
					}
				}
			}
		}
	}
	out.Flush()
	return out.Error()
}

// factorRows writes the factors over time, of the run or of a node.
func factorRows(res *slou.Result, node string, rows []slou.Row, ns [][]int64,
	write func(from, name, unit, node, link, mean string, sum int64)) {
	for i, row := range rows {
		name, link := row.Factor, ""
		switch {
		case row.Factor == "L" && (row.Part == "" || strings.Contains(row.Part, "->")):
			link = row.Part
		case row.Part != "":
			name += "." + row.Part
		}
		for at, v := range ns[i] {
			from, to := windowBounds(res, at)
			mean := strconv.FormatFloat(float64(v)/float64(max(to-from, 1)), 'g', 6, 64)
			write(strconv.FormatInt(from, 10), name, "ns", node, link, mean, v)
		}
	}
}
