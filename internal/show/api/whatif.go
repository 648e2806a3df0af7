package api

import (
	"context"

	"github.com/whyslow/whyslow/internal/model/query"
	"github.com/whyslow/whyslow/internal/show/view/whatif"
	"github.com/whyslow/whyslow/internal/words"
)

// askWhatIf tells what can be asked about the run on other machines, or why nothing can.
func askWhatIf(q *question) (any, error) {
	s, err := q.fullest()
	if err != nil {
		return nil, err
	}
	lang := q.lang()
	if why, is := s.WhyNot(); is {
		return &whatif.Facts{Why: why.In(words.LangOf(lang)), Codes: []string{}, Strategies: []string{}}, nil
	}
	p, err := s.Program()
	if err != nil {
		return nil, err
	}
	return p.Facts(lang), nil
}

// machine reads what machine a question is about.
func (q *question) machine() whatif.Query {
	return whatif.Query{Nodes: int(q.number("nodes", 1, whatif.MostNodes, 0)),
		Workers:   int(q.number("workers", 1, whatif.MostWorkers, 0)),
		LatencyNS: float64(q.number("latency", 0, 1e12, -1)),
		Bandwidth: float64(q.number("bandwidth", 0, 1e15, -1)), Speed: q.text("speed", 4000),
		From: q.number("from", 0, 1<<53, 0), To: q.number("to", 0, 1<<53, 0),
		Strategy: q.text("strategy", 80), Lang: q.lang()}
}

// askProgram answers a question about a run in virtual time, whose answer takes so many times the memory of
// a prediction to make. It ends with the question.
func askProgram[T any](
	times int64, ask func(*whatif.Program, context.Context, whatif.Query) (T, error),
) func(*question) (any, error) {
	return func(q *question) (any, error) {
		s, err := q.fullest()
		if err != nil {
			return nil, err
		}
		if why, is := s.WhyNot(); is {
			return nil, query.Bad("%s", why.In(words.LangOf(q.lang())))
		}
		machine := q.machine()
		if q.err != nil {
			return nil, q.err
		}
		p, err := s.Program()
		if err != nil {
			return nil, err
		}
		var a T
		_, bytes := whatif.Bytes(s.Model)
		err = s.Do(q.ctx, times*bytes, func(ctx context.Context) error {
			a, err = ask(p, ctx, machine)
			return err
		})
		return a, err
	}
}
