package cube

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/analysis/pattern"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/words"
)

// Tasks arranges the division of a task program's time as what Write and Write3 take: the factors and their
// parts are metrics, code fragments are regions, and the way from the first structured code fragment to that
// of a CF is a call path. A code fragment that calls itself is one step of it, whatever calls there are in
// between. Time before a CF belongs to that CF's path, time after the last CF of a worker to the first path.
// Processor time beyond that of the workers (O.extra) is that of a worker of its own, the last of node 0.
func Tasks(ctx context.Context, m *model.Model) (*pattern.Result, error) {
	opt := slou.Options{Parallel: 1}
	res, err := slou.Compute(ctx, m, opt, procs.Alone())
	if err != nil {
		return nil, err
	}
	t := &tasks{m: m, steps: map[step]int{}, of: map[model.CF]int{}, parts: map[partKey]int{}}
	t.way = []step{{-1, -1}}
	for id := range m.AllWorkers() {
		host := ""
		if id.Node < len(m.Nodes) {
			host = m.Nodes[id.Node].Host
		}
		t.threads = append(t.threads, pattern.Thread{Node: id.Node, Stream: id.Worker, Host: host})
	}
	t.factors(res)
	at := map[model.WorkerID]int{}
	for i, x := range t.threads {
		at[model.WorkerID{Node: x.Node, Worker: x.Stream}] = i
	}
	t.sums = make([]map[sumKey]int64, len(t.threads))
	for i := range t.sums {
		t.sums[i] = map[sumKey]int64{}
	}
	err = slou.Visit(ctx, m, opt, procs.Alone(), func(w model.WorkerID, pieces iter.Seq[[]slou.Piece]) {
		sums := t.sums[at[w]]
		for list := range pieces {
			for i := range list {
				t.piece(sums, &list[i])
			}
		}
	})
	if err != nil {
		return nil, err
	}
	for id, w := range m.AllWorkers() {
		sums := t.sums[at[id]]
		sums[sumKey{t.visits, 0}] = 1
		for e := w.First; e < w.End; e++ {
			path := t.path(m.ExecCF[e])
			sums[sumKey{t.visits, path}]++
			for path = t.way[path].parent; path > 0; path = t.way[path].parent {
				if _, visited := sums[sumKey{t.visits, path}]; !visited {
					sums[sumKey{t.visits, path}] = 1 // Cube wants visits wherever there are some below
				}
			}
		}
	}
	if res.ExtraCoresNS > 0 {
		last := 0
		for _, x := range t.threads {
			if x.Node == 0 {
				last = max(last, x.Stream+1)
			}
		}
		t.threads = append(t.threads, pattern.Thread{Stream: last, Host: t.threads[0].Host})
		sums := map[sumKey]int64{}
		t.piece(sums, &slou.Piece{To: res.ExtraCoresNS, Factor: slou.FactorO, Part: slou.PartExtra})
		t.sums = append(t.sums, sums)
	}
	return t.result(res), nil
}

// step is a call path: one more step after another path. Path 0 is outside of all CFs.
type step struct{ parent, code int }

type partKey struct {
	factor slou.Factor
	name   string
}

type sumKey struct{ metric, path int }

type tasks struct {
	m       *model.Model
	metrics []pattern.Metric
	above   [slou.FactorUndivided + 1]int // metrics of factors
	parts   map[partKey]int
	visits  int
	way     []step
	steps   map[step]int
	of      map[model.CF]int // paths of structured CFs
	threads []pattern.Thread
	sums    []map[sumKey]int64 // by thread
}

// metric adds a metric.
func (t *tasks) metric(id, name, doc string, parent int, unit pattern.Unit) int {
	t.metrics = append(t.metrics, pattern.Metric{ID: id, Name: name, Doc: doc, Parent: parent, Unit: unit})
	return len(t.metrics) - 1
}

// ofFactors begins the ids of the metrics of factors.
const ofFactors = "factor-"

// factors makes the metrics.
func (t *tasks) factors(res *slou.Result) {
	all := t.metric("time", "Time", "All time of the workers", -1, pattern.NS)
	undivided := -1
	for i, share := range res.Factors.All() {
		f := &words.Factors[i]
		if share == nil {
			if undivided < 0 {
				u := slou.FactorUndivided.Info()
				undivided = t.metric(ofFactors+u.Letter, u.Name.In(words.English), u.Doc.In(words.English), all,
					pattern.NS)
			}
			t.above[i] = undivided
			continue
		}
		t.above[i] = t.metric(ofFactors+f.Letter, f.Letter+" "+f.Name.In(words.English), f.Doc.In(words.English),
			all, pattern.NS)
		for k, name := range slices.Sorted(maps.Keys(share.Parts)) {
			id := fmt.Sprint(ofFactors, f.Letter, "-", k)
			t.parts[partKey{slou.Factor(i), name}] = t.metric(id, name, f.Letter+"."+name, t.above[i], pattern.NS)
		}
	}
	t.visits = t.metric("visits", "Visits", "How often CFs were executed", -1, pattern.Occ)
}

// path gives the call path of a CF.
func (t *tasks) path(cf model.CF) int {
	var chain []model.CF // CFs of which it is not known, the innermost first
	at := 0
	for cf != 0 {
		if known, ok := t.of[cf]; ok {
			at = known
			break
		}
		chain = append(chain, cf)
		cf = t.m.Parent[cf]
	}
	for _, cf := range slices.Backward(chain) {
		at = t.after(at, t.m.CodeOf(cf))
		if !t.m.Atomic(cf) {
			t.of[cf] = at
		}
	}
	return at
}

// after gives the path that a code fragment makes of a path.
func (t *tasks) after(path, code int) int {
	for p := path; p > 0; p = t.way[p].parent {
		if t.way[p].code == code {
			return p
		}
	}
	key := step{path, code}
	at, ok := t.steps[key]
	if !ok {
		at = len(t.way)
		t.way = append(t.way, key)
		t.steps[key] = at
	}
	return at
}

// piece adds a piece of time to its metric and all above.
func (t *tasks) piece(sums map[sumKey]int64, p *slou.Piece) {
	if p.Factor == slou.FactorLoss {
		return
	}
	name := p.Part.String()
	switch {
	case p.Part != slou.PartNone:
	case p.Factor == slou.FactorL:
		name = fmt.Sprintf("%d->%d", p.Link.From, p.Link.To)
	default:
		name = p.Name
	}
	metric, ok := t.parts[partKey{p.Factor, name}]
	if !ok {
		metric = t.above[p.Factor]
	}
	path := t.path(p.Consumer)
	for ; metric >= 0; metric = t.metrics[metric].Parent {
		sums[sumKey{metric, path}] += p.To - p.From
	}
}

// result puts the paths in depth-first order and gives the rows.
func (t *tasks) result(res *slou.Result) *pattern.Result {
	r := &pattern.Result{Metrics: t.metrics, Threads: t.threads, Regions: []pattern.Region{{Name: "(no CF)",
		Kind: "function"}}}
	below := make([][]int, len(t.way))
	for p := 1; p < len(t.way); p++ {
		below[t.way[p].parent] = append(below[t.way[p].parent], p)
	}
	regions := map[int]int{-1: 0}
	number := make([]int, len(t.way))
	var visit func(p, parent int)
	visit = func(p, parent int) {
		code := t.way[p].code
		region, ok := regions[code]
		if !ok {
			c := &t.m.Codes[code]
			region = len(r.Regions)
			regions[code] = region
			r.Regions = append(r.Regions, pattern.Region{Name: c.Name, Kind: c.Kind.String(), File: c.File,
				Line: c.Line})
		}
		number[p] = len(r.Calls)
		r.Calls = append(r.Calls, pattern.Call{Parent: parent, Region: region})
		at := number[p]
		slices.SortFunc(below[p], func(a, b int) int {
			return strings.Compare(t.m.Codes[t.way[a].code].Name, t.m.Codes[t.way[b].code].Name)
		})
		for _, q := range below[p] {
			visit(q, at)
		}
	}
	visit(0, -1)
	for i := range r.Metrics {
		byCall := map[int][]int64{}
		for thread, sums := range t.sums {
			for key, v := range sums {
				if key.metric != i || v == 0 {
					continue
				}
				call := number[key.path]
				if byCall[call] == nil {
					byCall[call] = make([]int64, len(r.Threads))
				}
				byCall[call][thread] = v
			}
		}
		for _, call := range slices.Sorted(maps.Keys(byCall)) {
			r.Metrics[i].Rows = append(r.Metrics[i].Rows, pattern.Row{Call: call, Values: byCall[call]})
		}
	}
	return r
}
