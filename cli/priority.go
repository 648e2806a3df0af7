package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/analysis/critical"
	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/trace"
)

// priorityPath is how the code fragments of a recorded run's critical path are asked for.
const priorityPath = "critical-path="

// priorities finds the code fragments whose CFs are taken first, in that order: those that are named, or
// those on the longest chain of a recorded run, the one whose CFs have least slack on average first.
func priorities(ctx context.Context, prog *luna.Program, list []string) ([]string, error) {
	if len(list) == 1 && strings.HasPrefix(list[0], priorityPath) {
		return priorityOf(ctx, strings.TrimPrefix(list[0], priorityPath))
	}
	for _, name := range list {
		if !slices.ContainsFunc(prog.Codes, func(c luna.Code) bool { return c.Name == name }) {
			return nil, console.Misuse("run: --priority=%s: the program has no such code fragment", name)
		}
	}
	return list, nil
}

// priorityOf lists the code fragments of a trace's longest chain.
func priorityOf(ctx context.Context, dir string) (list []string, err error) {
	r, err := trace.Open(dir)
	if err != nil {
		return nil, badInput(err)
	}
	defer r.Close()
	m, err := model.Build(ctx, r, model.Options{})
	if err != nil {
		return nil, badInput(fmt.Errorf("%s: %w", dir, err))
	}
	res, err := critical.Compute(ctx, m, critical.Options{}, procs.Alone())
	if err != nil {
		return nil, badInput(fmt.Errorf("%s: %w", dir, err))
	}
	if res.Work != nil {
		slices.SortStableFunc(res.Slack, func(a, b critical.Fragment) int {
			return cmp.Compare(a.MeanNS, b.MeanNS)
		})
		for _, f := range res.Slack {
			if slices.ContainsFunc(res.Work.Chain, func(c critical.PathUseful) bool { return c.Code == f.Code }) {
				list = append(list, f.Code)
			}
		}
	}
	if len(list) == 0 {
		return nil, console.Misuse("run: --priority=%s%s: the trace does not tell its critical path", priorityPath,
			dir)
	}
	return list, nil
}
