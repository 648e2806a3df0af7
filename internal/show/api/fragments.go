package api

import (
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/model/query"
	"github.com/whyslow/whyslow/internal/show/view/eventlist"
	"github.com/whyslow/whyslow/internal/show/view/fragments"
	"github.com/whyslow/whyslow/internal/show/view/graph"
)

// code is the number of the code fragment in the path.
func (q *question) code() int {
	n, err := strconv.ParseUint(q.key, 10, 31)
	if err != nil {
		q.err = query.Bad("%.40q is not a code fragment's number", q.key)
	}
	return int(n)
}

func fragmentRows(_ *question, x *fragments.Index, from, to int64) (any, error) {
	return x.Rows(from, to)
}

func fragmentDetail(q *question, x *fragments.Index, from, to int64) (any, error) {
	return x.Detail(fragments.DetailQuery{Code: q.code(), From: from, To: to,
		Bins: int(q.number("bins", 1, fragments.MaxBins, 40)), Node: int(q.number("node", 0, 1<<16-1, -1))})
}

func fragmentCFs(q *question, x *fragments.Index, from, to int64) (any, error) {
	return x.CFs(fragments.CFQuery{Code: q.code(), From: from, To: to, Sort: q.text("sort", 20),
		Offset: int(q.number("offset", 0, 1<<40, 0)), Limit: int(q.number("limit", 1, 10_000, 100))})
}

func userEvents(q *question, list *eventlist.List, from, to int64) (any, error) {
	return fragments.UserEvents(q.ctx, list, from, to)
}

func userCurves(q *question, list *eventlist.List, from, to int64) (any, error) {
	return fragments.Curves(q.ctx, list, q.words("names"), from, to, int(q.number("points", 1, 4096, 200)))
}

func nodeGraph(_ *question, g *graph.Graph, from, to int64) (any, error) { return g.Nodes(from, to) }

func codeGraph(_ *question, g *graph.Graph, from, to int64) (any, error) { return g.Codes(from, to) }

// opened are the ids of groups that are to be open.
func (q *question) opened() []string { return strings.Split(q.text("open", 10_000), ",") }

func taskGraph(q *question, g *graph.Graph, from, to int64) (any, error) {
	return g.Tasks(graph.TaskQuery{From: from, To: to, Open: q.opened(),
		Limit: int(q.number("limit", 1, graph.MaxBoxes, graph.MaxBoxes))})
}

func aroundGraph(q *question, g *graph.Graph, _, _ int64) (any, error) {
	return g.Around(graph.AroundQuery{CF: q.text("cf", 64), DF: q.text("df", 64), T: q.moment("t"),
		Depth: int(q.number("depth", 1, graph.MaxDepth, 1)), Limit: int(q.number("limit", 1, graph.MaxLimit, 300))})
}

func momentGraph(q *question, g *graph.Graph, _, _ int64) (any, error) {
	return g.Moment(graph.MomentQuery{T: q.moment("t"), Open: q.opened(),
		Limit:  int(q.number("limit", 1, graph.MaxMomentBoxes, 60)),
		Window: q.number("window", 0, timeLimit, 0)})
}
