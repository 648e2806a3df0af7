package tables

import (
	"context"
	"sort"
	"sync"

	"github.com/whyslow/whyslow/internal/analysis/counters"
	"github.com/whyslow/whyslow/internal/analysis/critical"
	"github.com/whyslow/whyslow/internal/analysis/pattern"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/show/view/eventlist"
)

// Source is the run that the tables are of: its model, and results of analyses that were asked for. Any
// number of goroutines may use it.
type Source struct {
	Model *model.Model
	// Events gives the list of events of the trace; nil: the table of events is empty.
	Events func() (*eventlist.List, error)

	numbering sync.Once
	numbered  *numbers
	patterns  lazy[*pattern.Result]
	prepared  lazy[*slou.Prepared]
	divided   lazy[*slou.Result]
	kept      lazy[*allPieces]
	path      lazy[*critical.Result]
	counted   lazy[*counters.Result]
}

// lazy is a result that is computed when it is first asked for.
type lazy[T any] struct {
	mu   sync.Mutex
	done bool
	v    T
}

// get gives the result; what failed is tried again by who asks next.
func (l *lazy[T]) get(compute func() (T, error)) (T, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done {
		return l.v, nil
	}
	v, err := compute()
	if err == nil {
		l.v, l.done = v, true
	}
	return v, err
}

func (s *Source) findPatterns(ctx context.Context) (*pattern.Result, error) {
	return s.patterns.get(func() (*pattern.Result, error) {
		if s.Model.Regions == nil {
			return &pattern.Result{}, nil
		}
		return pattern.Compute(ctx, s.Model, procs.Alone())
	})
}

// division gives the options for package slou that all divisions of the run share.
func (s *Source) division(ctx context.Context) (opt slou.Options, err error) {
	opt = slou.Options{Within: slou.Exported(s.Model)}
	if s.Model.Regions != nil {
		if opt.Patterns, err = s.findPatterns(ctx); err != nil {
			return opt, err
		}
	}
	opt.Prepared, err = s.prepared.get(func() (*slou.Prepared, error) {
		return slou.Prepare(ctx, s.Model, opt, procs.Alone())
	})
	return opt, err
}

func (s *Source) divide(ctx context.Context) (*slou.Result, error) {
	return s.divided.get(func() (*slou.Result, error) {
		opt, err := s.division(ctx)
		if err != nil {
			return nil, err
		}
		return slou.Compute(ctx, s.Model, opt, procs.Alone())
	})
}

func (s *Source) findPath(ctx context.Context) (*critical.Result, error) {
	return s.path.get(func() (*critical.Result, error) {
		if slou.OnlyRegions(s.Model) {
			return &critical.Result{}, nil
		}
		return critical.Compute(ctx, s.Model, critical.Options{Longest: -1}, procs.Alone())
	})
}

func (s *Source) follow(ctx context.Context) (*counters.Result, error) {
	return s.counted.get(func() (*counters.Result, error) {
		if slou.OnlyRegions(s.Model) {
			return &counters.Result{}, nil
		}
		return counters.Compute(ctx, s.Model, counters.Options{Links: -1}, nil)
	})
}

// groups numbers the rows of several lists, one after the other.
type groups struct{ starts []int }

// add appends a list of n rows.
func (g *groups) add(n int) {
	g.starts = append(g.starts, g.len()+n)
}

func (g *groups) len() int {
	if len(g.starts) == 0 {
		return 0
	}
	return g.starts[len(g.starts)-1]
}

// find gives the list of a row, and its place in it.
func (g *groups) find(row int) (group, i int) {
	group = sort.SearchInts(g.starts, row+1)
	if group > 0 {
		row -= g.starts[group-1]
	}
	return group, row
}
