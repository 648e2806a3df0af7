package series

import (
	"encoding/csv"
	"io"
	"strconv"
)

// csvHeader names the columns of WriteCSV.
var csvHeader = []string{"time_ns", "series", "unit", "node", "link", "mean", "min", "max", "last", "sum"}

// WriteCSV writes all series as one table, a line for each window of each: when the window begins, in nanoseconds since
// the start of the run, the name and unit of the series, its node and link (empty for the whole run), and mean, min,
// max and last of a level, or the rate per second as the mean and the sum of an amount. It fails when w does.
func WriteCSV(w io.Writer, r *Result) error {
	out := csv.NewWriter(w)
	if err := out.Write(csvHeader); err != nil {
		return err
	}
	row := make([]string, len(csvHeader))
	for i := range r.Series {
		s := &r.Series[i]
		node := ""
		if s.Node >= 0 {
			node = strconv.Itoa(s.Node)
		}
		cell := func(list []int64, i int) string {
			if i >= len(list) {
				return ""
			}
			return strconv.FormatInt(list[i], 10)
		}
		for i, mean := range s.Mean {
			row = append(row[:0], strconv.FormatInt(int64(i)*r.WindowNS, 10), s.Name, s.Unit, node, s.Link, strconv.FormatFloat(mean, 'g', -1, 64),
				cell(s.Min, i), cell(s.Max, i), cell(s.Last, i), cell(s.Sum, i))
			if err := out.Write(row); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}
