package api

import (
	"strconv"

	"github.com/whyslow/whyslow/internal/model/query"

	"github.com/whyslow/whyslow/internal/show/live"
	"github.com/whyslow/whyslow/internal/show/view/fragments"
	"github.com/whyslow/whyslow/internal/show/view/graph"
)

func (q *question) fragments() (x *fragments.Index, s *live.Snapshot, from, to int64, err error) {
	if s, from, to, err = q.within(); err == nil {
		x, err = s.Fragments()
	}
	return x, s, from, to, err
}

// code is the number of the code fragment in the path.
func (q *question) code() (int, error) {
	n, err := strconv.ParseUint(q.key, 10, 31)
	if err != nil {
		return 0, query.Bad("%.40q is no number of a code fragment", q.key)
	}
	return int(n), nil
}

func askFragments(q *question) (any, error) {
	x, _, from, to, err := q.fragments()
	if err != nil {
		return nil, err
	}
	return x.Rows(from, to)
}

func askFragment(q *question) (any, error) {
	code, err := q.code()
	if err != nil {
		return nil, err
	}
	x, _, from, to, err := q.fragments()
	if err != nil {
		return nil, err
	}
	node := int(q.number("node", 0, 1<<16-1, -1))
	return x.Detail(fragments.DetailQuery{Code: code, From: from, To: to, Bins: int(q.number("bins", 1, fragments.MaxBins, 40)), Node: node})
}

func askCFs(q *question) (any, error) {
	code, err := q.code()
	if err != nil {
		return nil, err
	}
	x, _, from, to, err := q.fragments()
	if err != nil {
		return nil, err
	}
	return x.CFs(fragments.CFQuery{Code: code, From: from, To: to, Sort: q.text("sort", 20), Offset: int(q.number("offset", 0, 1<<40, 0)), Limit: int(q.number("limit", 1, 10_000, 100))})
}

func askUserEvents(q *question) (any, error) {
	s, from, to, err := q.within()
	if err != nil {
		return nil, err
	}
	list, err := s.Events()
	if err != nil {
		return nil, err
	}
	return fragments.UserEvents(q.ctx, list, from, to)
}

func (q *question) graph() (g *graph.Graph, from, to int64, err error) {
	s, from, to, err := q.within()
	if err == nil {
		g, err = s.Graph()
	}
	return g, from, to, err
}

func askNodeGraph(q *question) (any, error) {
	g, from, to, err := q.graph()
	if err != nil {
		return nil, err
	}
	return g.Nodes(from, to)
}

func askCodeGraph(q *question) (any, error) {
	g, from, to, err := q.graph()
	if err != nil {
		return nil, err
	}
	return g.Codes(from, to)
}

func askAround(q *question) (any, error) {
	g, _, _, err := q.graph()
	if err != nil {
		return nil, err
	}
	ask := graph.AroundQuery{CF: q.text("cf", 64), DF: q.text("df", 64), Depth: int(q.number("depth", 1, graph.MaxDepth, 1)), Limit: int(q.number("limit", 1, graph.MaxLimit, 300))}
	if q.has("t") {
		t := q.number("t", -timeLimit, timeLimit, 0)
		ask.T = &t
	}
	if q.err != nil {
		return nil, q.err
	}
	return g.Around(ask)
}
