package timeline

import (
	"context"
	"slices"

	"github.com/whyslow/whyslow/internal/analysis/critical"
	"github.com/whyslow/whyslow/internal/procs"
)

// PathQuery asks for the critical path.
type PathQuery struct {
	From, To int64 // nanoseconds since the start of the run
	// Limit is the number of steps to distinguish, 1 to 1000000; 0 means 10000. Steps shorter than the interval
	// divided by Limit are merged with their neighbours.
	Limit int
}

// CriticalPath is the chain of delays that led to the CF that ended last, from the start of the run to its
// end.
type CriticalPath struct {
	Steps []PathStep `json:"steps"` // in order of time
	// Missing names unrecorded events without which there are no steps, or the steps may be wrong.
	Missing []string `json:"missing"`
}

// PathStep is an interval of the critical path; if several steps were merged, it has the factor with the most
// time.
type PathStep struct {
	From   int64  `json:"from"`
	To     int64  `json:"to"`
	Lane   int    `json:"lane"`   // of the CF; -1 in the tail
	Factor string `json:"factor"` // a row of FactorWindows
	Part   string `json:"part"`   // as in Gaps
	CF     string `json:"cf"`     // that ran, or could not start yet; "" in the tail
	Title  string `json:"title"`  // of the CF, or of the DF in flight to it
	Code   int    `json:"code"`
}

// Path returns the steps of the critical path within an interval. The first call computes the path of the
// whole run.
func (t *Timeline) Path(ctx context.Context, q PathQuery) (*CriticalPath, error) {
	if err := (stretch{q.From, q.To}).check(); err != nil {
		return nil, err
	}
	most, err := limit(q.Limit, 10000)
	if err != nil {
		return nil, err
	}
	res, err := t.critical(ctx)
	if err != nil {
		return nil, err
	}
	out := &CriticalPath{Steps: []PathStep{}, Missing: []string{}}
	for _, miss := range res.Missing {
		if slices.ContainsFunc(append(miss.Null, miss.Doubt...),
			func(s string) bool { return s == "path" || s == "path.factors.L" }) {
			out.Missing = append(out.Missing, miss.Event)
		}
	}
	if res.Path == nil {
		return out, nil
	}
	unit := max((q.To-q.From)/int64(most), 1)
	steps := res.Path.Steps
	for i := 0; i < len(steps); {
		if steps[i].To <= q.From {
			i++
			continue
		}
		if steps[i].From >= q.To {
			break
		}
		j := i + 1
		if steps[i].To-steps[i].From < unit {
			for j < len(steps) && steps[j].To-steps[j].From < unit && steps[j].From-steps[i].From < unit &&
				steps[j].From < q.To {
				j++
			}
		}
		out.Steps = append(out.Steps, t.step(res, steps[i:j]))
		i = j
	}
	return out, nil
}

// critical returns the critical path of the run. The result is cached; a cancelled call finds nothing.
func (t *Timeline) critical(ctx context.Context) (*critical.Result, error) {
	t.pathLock.Lock()
	defer t.pathLock.Unlock()
	if t.path == nil {
		res, err := critical.Compute(ctx, t.m, critical.Options{Longest: -1}, procs.Alone())
		if err != nil {
			return nil, err
		}
		t.path = res
	}
	return t.path, nil
}

// step merges neighbouring steps.
func (t *Timeline) step(res *critical.Result, steps []critical.Step) PathStep {
	best := &steps[0]
	if len(steps) > 1 {
		var byFactor [rowCount]int64
		for i := range steps {
			byFactor[steps[i].Factor] += steps[i].To - steps[i].From
		}
		most := slices.Index(byFactor[:], slices.Max(byFactor[:]))
		longest := int64(0)
		for i := range steps {
			if ns := steps[i].To - steps[i].From; int(steps[i].Factor) == most && ns > longest {
				best, longest = &steps[i], ns
			}
		}
	}
	s := PathStep{From: steps[0].From, To: steps[len(steps)-1].To, Lane: -1, Factor: best.Factor.String(),
		Part: best.Part.String()}
	if best.Factor.Info().Named {
		if name := res.Path.Name(best); len(name) > 2 {
			s.Part = name[2:] // after the letter and the dot
		}
	}
	if res.Path.Name(best) == "L+O" {
		s.Factor, s.Part = "undivided", ""
	}
	if best.CF != 0 {
		s.CF, s.Title, s.Code = t.CFKey(best.CF), t.m.CFTitle(best.CF), t.m.CodeOf(best.CF)
		s.Lane = t.LaneOf(int(best.Execution))
		if best.DF != 0 {
			s.Title = t.m.DFString(best.DF)
		}
	}
	return s
}
