package api

import (
	"bytes"
	"cmp"

	"github.com/whyslow/whyslow/internal/analysis/counters"
	"github.com/whyslow/whyslow/internal/show/live"
	"github.com/whyslow/whyslow/internal/show/view/timeline"
)

// set calls f with the properties of nodes and links.
func (q *question) set(f func(counters.Set) (any, error)) (v any, err error) {
	if q.err != nil {
		return nil, q.err
	}
	failed := q.run.Properties(q.ctx, func(p counters.Set) { v, err = f(p) })
	return v, cmp.Or(failed, err)
}

// wall is the length of the run so far.
func (q *question) wall() int64 {
	if x := q.picture(); x != nil {
		return x.Timeline.Wall()
	}
	status, _ := q.run.Status()
	if status.State != live.StateLive {
		// Headers of blocks may reach beyond the run's end.
		if s, err := q.snapshot(); err == nil {
			return s.Model.Wall()
		}
	}
	return status.WallNS
}

func askAt(q *question) (any, error) {
	t := q.number("t", -timeLimit, timeLimit, q.wall())
	return q.set(func(p counters.Set) (any, error) { return p.At(t), nil })
}

func askSeries(q *question) (any, error) {
	from, to := q.span(q.wall())
	ask := counters.SeriesQuery{Names: q.text("names", 1000), Nodes: q.text("nodes", 10_000),
		Links: q.text("links", 10_000), From: from, To: to, Points: int(q.number("points", 1, 20_000, 200))}
	csv := q.choice("format", "json", "csv") == "csv"
	return q.set(func(p counters.Set) (any, error) {
		a, err := p.Series(ask)
		if err != nil || !csv {
			return a, err
		}
		var b bytes.Buffer
		err = counters.WriteAnswerCSV(&b, a)
		return raw{kind: "text/csv; charset=utf-8", name: "series.csv", data: b.Bytes()}, err
	})
}

func askMatrix(q *question) (any, error) {
	value := q.text("value", 64)
	if value == "lost_ns" {
		return aboutAll((*live.Snapshot).Timeline, lostMatrix)(q)
	}
	from, to := q.span(q.wall())
	return q.set(func(p counters.Set) (any, error) { return p.Matrix(value, from, to) })
}

// lostMatrix is the time that workers waited for each link.
func lostMatrix(_ *question, t *timeline.Timeline, from, to int64) (any, error) {
	lost, err := t.Latency(from, to)
	if err != nil {
		return nil, err
	}
	return counters.NewMatrix("lost_ns", "ns", len(t.Model().Nodes), lost)
}

func memoryAt(q *question, set *counters.Properties, from, to int64) (any, error) {
	return set.Memory(q.ctx, counters.MemoryQuery{From: from, To: to, T: q.moment("t"),
		Points: int(q.number("points", 1, 20_000, 200))})
}
