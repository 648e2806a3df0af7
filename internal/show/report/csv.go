package report

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/analysis/counters"
	"github.com/whyslow/whyslow/internal/analysis/slou"
)

// CSV writes what there is by window of time as one table, in the columns of counters.WriteCSV: a line for
// each window of each series, then of each factor with its part ("S.nowhere"; L has its links in the column
// of links), for the run and for each node. The unit of factors is "ns": sum is the time in the window, mean
// that of so many workers. What the search for patterns found comes last, a line for each metric, call path
// and thread, without a time.
func CSV(w io.Writer, all *Everything, _ Options) error {
	list := all.Series
	if list == nil {
		list = &counters.Result{}
	}
	if err := counters.WriteCSV(w, list); err != nil {
		return err
	}
	out := csv.NewWriter(w)
	if all.SLOU != nil && all.SLOU.Windows != nil {
		factorRows(out, all)
	}
	if p := newPGAS(all.Pattern, speaker{}); p != nil {
		p.csvRows(out)
	}
	out.Flush()
	return out.Error()
}

// factorRows writes the factors over time.
func factorRows(out *csv.Writer, all *Everything) {
	win := all.SLOU.Windows
	table := func(node string, rows []slou.Row, ns [][]int64) {
		for i, row := range rows {
			name, link := row.Factor, ""
			switch {
			case row.Factor == "L" && (row.Part == "" || strings.Contains(row.Part, "->")):
				link = row.Part
			case row.Part != "":
				name += "." + row.Part
			}
			for at, v := range ns[i] {
				from, to := windowBounds(all.SLOU, at)
				mean := strconv.FormatFloat(float64(v)/float64(max(to-from, 1)), 'g', 6, 64)
				// The writer keeps its first error, which Error gives.
				_ = out.Write([]string{strconv.FormatInt(from, 10), name, "ns", node, link, mean, "", "", "",
					strconv.FormatInt(v, 10)})
			}
		}
	}
	table("", win.Rows, win.NS)
	for _, n := range win.Nodes {
		table(strconv.Itoa(n.Node), win.WorkerRows, n.NS)
	}
}

// windowBounds says from when to when a window lasts.
func windowBounds(res *slou.Result, i int) (from, to int64) {
	from = int64(i) * res.Windows.LengthNS
	return from, min(from+res.Windows.LengthNS, res.WallNS)
}
