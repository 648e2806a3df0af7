package counters

import (
	"encoding/csv"
	"io"
	"strconv"

	"github.com/whyslow/whyslow/internal/words"
)

// csvHeader names the columns of all tables: when a window begins, in nanoseconds since the start of the run,
// the name and unit of the series, its node and link (empty for the whole run), then mean, least, greatest
// and last value of a level, or the rate per second as the mean and the sum of an amount.
var csvHeader = []string{"time_ns", "series", "unit", "node", "link", "mean", "min", "max", "last", "sum"}

// WriteCSV writes all series of a report as one table, a line for each window of each; see csvHeader. It
// fails when w does.
func WriteCSV(w io.Writer, r *Result) error {
	out := csvTable{out: csv.NewWriter(words.Foreign(w))}
	out.write(csvHeader)
	for i := range r.Series {
		s := &r.Series[i]
		cell := func(list []int64, i int) string {
			if i >= len(list) {
				return ""
			}
			return strconv.FormatInt(list[i], 10)
		}
		for i := range s.Mean {
			out.line(int64(i)*r.WindowNS, s.Name, s.Unit, s.Node, s.Link, &s.Mean[i],
				cell(s.Min, i), cell(s.Max, i), cell(s.Last, i), cell(s.Sum, i))
		}
	}
	return out.end()
}

// WriteAnswerCSV writes the curves of an answer as one table, a line for each window of each; see csvHeader.
// It fails when w does.
func WriteAnswerCSV(w io.Writer, a SeriesAnswer) error {
	out := csvTable{out: csv.NewWriter(words.Foreign(w))}
	out.write(csvHeader)
	for i := range a.Series {
		s := &a.Series[i]
		for i, mean := range s.Mean {
			cell := func(list []float64) string {
				if i >= len(list) || mean == nil {
					return ""
				}
				return strconv.FormatFloat(list[i], 'f', -1, 64)
			}
			out.line(a.From+int64(i)*a.WindowNS, s.Name, s.Unit, s.Node, s.Link, mean,
				cell(s.Min), cell(s.Max), cell(s.Last), cell(s.Sum))
		}
	}
	return out.end()
}

// csvTable writes lines until one fails.
type csvTable struct {
	out *csv.Writer
	row []string
	err error
}

// line writes one window. mean is nil where there is none.
func (x *csvTable) line(t int64, name, unit string, node int, link string, mean *float64, values ...string) {
	at, average := "", ""
	if node >= 0 {
		at = strconv.Itoa(node)
	}
	if mean != nil {
		average = strconv.FormatFloat(*mean, 'g', -1, 64)
	}
	x.row = append(append(x.row[:0], strconv.FormatInt(t, 10), name, unit, at, link, average), values...)
	x.write(x.row)
}

func (x *csvTable) write(row []string) {
	if x.err == nil {
		x.err = x.out.Write(row)
	}
}

func (x *csvTable) end() error {
	x.out.Flush()
	if x.err != nil {
		return x.err
	}
	return x.out.Error()
}
