package whatif

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/whyslow/whyslow/internal/analysis/simulate"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/model/query"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// Prediction is a run on another machine.
type Prediction struct {
	Sampled  bool     `json:"sampled"` // an estimate
	Nodes    int      `json:"nodes"`
	Workers  int      `json:"workers"` // of each node
	WallNS   int64    `json:"wall_ns"`
	UsefulNS int64    `json:"useful_ns"` // of all workers
	LeastNS  int64    `json:"least_ns"`  // no distribution and no network beats it
	ChainNS  int64    `json:"chain_ns"`  // the longest chain of CFs
	Messages int64    `json:"messages"`
	Doubts   []string `json:"doubts"`
	Picture  *Picture `json:"picture"` // nil for an estimate
}

func (p *Program) prediction(r *simulate.Result, lang string) *Prediction {
	a := &Prediction{Nodes: r.Nodes, Workers: r.Workers, WallNS: r.WallNS, UsefulNS: r.UsefulNS,
		LeastNS: r.LeastNS, ChainNS: r.ChainNS, Messages: r.Messages, Doubts: []string{}}
	for _, d := range r.Doubts {
		a.Doubts = append(a.Doubts, d.In(words.LangOf(lang)))
	}
	return a
}

// Estimate predicts from a sample; nil where there is none. It fails when ctx ends, or as package query does
// where the query is wrong.
func (p *Program) Estimate(ctx context.Context, q Query) (*Prediction, error) {
	m, err := p.machine(&q)
	if err != nil || p.sample == nil {
		return nil, err
	}
	r, err := p.sample.Run(ctx, m)
	if err != nil {
		return nil, err
	}
	a := p.prediction(r, q.Lang)
	a.Sampled = true
	return a, nil
}

// Predict simulates the whole program. It fails as Estimate does.
func (p *Program) Predict(ctx context.Context, q Query) (*Prediction, error) {
	m, err := p.machine(&q)
	if err != nil {
		return nil, err
	}
	picture, r, err := p.watched(ctx, m, all)
	if err != nil {
		return nil, err
	}
	a := p.prediction(r, q.Lang)
	a.Picture = picture
	return a, nil
}

// Zoom draws an interval of both runs. It fails as Predict does.
func (p *Program) Zoom(ctx context.Context, q Query) (*Pair, error) {
	m, err := p.machine(&q)
	if err == nil && q.From >= q.To {
		err = query.Bad("from=%d, to=%d: to must be later", q.From, q.To)
	}
	if err != nil {
		return nil, err
	}
	in := span{q.From, q.To}
	picture, _, err := p.watched(ctx, m, in)
	if err != nil {
		return nil, err
	}
	return &Pair{recorded(p.m, in), picture}, nil
}

// watched runs the program on a machine and draws a span of that.
func (p *Program) watched(ctx context.Context, m simulate.Machine, in span) (
	*Picture, *simulate.Result, error) {
	f, tasks := newFilm(p.m, slices.Repeat([]int{m.Workers}, m.Nodes), in), p.s.Tasks()
	r, err := p.s.Watched(ctx, m, func(worker int, from, to int64, x int) {
		cf, _ := tasks.CF(x)
		f.see(worker, from, to, cf)
	})
	if err != nil {
		return nil, nil, err
	}
	return f.picture(r.WallNS), r, nil
}

// Division is the processor time of a predicted run by factor.
type Division struct {
	TotalNS int64        `json:"total_ns"`
	Factors slou.Factors `json:"factors"`
}

// Divide divides the time of a predicted run as a report would. It fails as Estimate does, or when the
// run cannot be written.
func (p *Program) Divide(ctx context.Context, q Query) (*Division, error) {
	m, err := p.machine(&q)
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "whyslow-predicted-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	dir := filepath.Join(folder, "predicted.trace")
	if _, err := p.s.Write(ctx, m, dir, &trace.RunInfo{}); err != nil {
		return nil, err
	}
	reader, err := trace.Open(dir)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	run, err := model.Build(ctx, reader, model.Options{})
	if err != nil {
		return nil, err
	}
	r, err := slou.Compute(ctx, run, slou.Options{}, procs.Alone())
	if err != nil {
		return nil, err
	}
	return &Division{r.TotalNS, r.Factors}, nil
}
