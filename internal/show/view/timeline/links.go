package timeline

import (
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model/query"
)

// Latency gives by link the time in an interval that workers waited for what was crossing it, in nanoseconds.
func (t *Timeline) Latency(from, to int64) (map[query.Link]int64, error) {
	if err := (stretch{from, to}).check(); err != nil {
		return nil, err
	}
	of := make([]int64, len(t.parts)) // by part
	from, to = max(from, 0), min(to, t.Wall())
	for n := range t.lanes {
		l := &t.lanes[n]
		for i := l.find(from, 0); i < len(l.end) && l.from(i) < to; i++ {
			of[l.part[i]&^inside] += min(l.end[i], to) - max(l.from(i), from)
		}
	}
	out := map[query.Link]int64{}
	for k, ns := range of {
		if p := &t.parts[k]; ns > 0 && p.factor == slou.FactorL && int(t.rows[k]) != rowUnread {
			out[query.Link{From: int(p.link.From), To: int(p.link.To)}] += ns
		}
	}
	return out, nil
}
