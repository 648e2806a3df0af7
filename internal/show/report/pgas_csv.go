package report

import (
	"encoding/csv"
	"strconv"
)

// csvRows writes the severities as lines in the columns of CSV, of the whole run, so without a time: the
// metric as "pgas.ID", its unit, the node, the call path in the column of links, and the amount as the sum. A
// node with several threads has a line for each.
func (p *pgas) csvRows(out *csv.Writer) {
	for i := range p.Metrics {
		m := &p.Metrics[i]
		for _, row := range m.Rows {
			for t, v := range row.Values {
				if v != 0 {
					// The writer keeps its first error.
					_ = out.Write([]string{"", "pgas." + m.ID, string(m.Unit), strconv.Itoa(p.Threads[t].Node),
						p.callPath(row.Call), "", "", "", "", strconv.FormatInt(v, 10)})
				}
			}
		}
	}
}
