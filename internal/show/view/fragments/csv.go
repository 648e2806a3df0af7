package fragments

import (
	"encoding/csv"
	"io"
	"strconv"
)

// WriteCSV writes fragments as a table: first a row with the names of the columns, then one for each. Times
// are nanoseconds.
func WriteCSV(out io.Writer, rows []FragmentRow) error {
	w := csv.NewWriter(out)
	names := []string{"code", "atomic", "count", "total_ns", "mean_ns", "min_ns", "p50_ns", "p90_ns",
		"p99_ns", "max_ns",
		"caused_S_ns", "caused_L_ns", "caused_O_ns", "before_S_ns", "before_L_ns", "before_O_ns", "before_W_ns",
		"file", "line"}
	if err := w.Write(names); err != nil {
		return err
	}
	for i := range rows {
		r := &rows[i]
		line := []string{r.Name, strconv.FormatBool(r.Atomic)}
		for _, v := range []int64{r.Count, r.TotalNS, r.MeanNS, r.MinNS, r.P50NS, r.P90NS, r.P99NS, r.MaxNS,
			r.Caused.S, r.Caused.L, r.Caused.O, r.Before.S, r.Before.L, r.Before.O, r.Before.W} {
			line = append(line, strconv.FormatInt(v, 10))
		}
		if err := w.Write(append(line, r.File, strconv.Itoa(r.Line))); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}
