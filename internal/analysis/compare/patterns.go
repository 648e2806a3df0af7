package compare

import "github.com/whyslow/whyslow/internal/analysis/pattern"

// patterns compares what the search for patterns found. Both runs have the same metrics, but where one has no
// regions.
func (r *Result) patterns(a, b Run) {
	most := a.Pattern
	if most == nil {
		most = b.Pattern
	}
	if most == nil {
		return
	}
	for i := range most.Metrics {
		m := &most.Metrics[i]
		x, y := totalOf(a.Pattern, m.ID), totalOf(b.Pattern, m.ID)
		unit := string(m.Unit)
		if m.Unit == pattern.Occ {
			unit = "count"
		}
		w := row("pgas."+m.ID, unit, x, y)
		if m.Unit == pattern.NS {
			w.Share = share(&w, a.SLOU.TotalNS, b.SLOU.TotalNS)
		}
		r.Patterns = append(r.Patterns, w)
	}
}

// totalOf is a metric over all call paths and threads; nil where the run does not have it.
func totalOf(r *pattern.Result, id string) *int64 {
	if r == nil {
		return nil
	}
	for i := range r.Metrics {
		if r.Metrics[i].ID != id {
			continue
		}
		sum := int64(0)
		for _, row := range r.Metrics[i].Rows {
			for _, v := range row.Values {
				sum += v
			}
		}
		return &sum
	}
	return nil
}
