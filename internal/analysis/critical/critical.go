// Package critical finds the critical path of a recorded run and what follows from it: what the run was held up by from
// its start to its end, how fast any number of workers could run the program, and how much longer each code fragment
// could take without anybody noticing.
//
// holds.go says what each execution had to wait for and by how much it missed being held up by it; everything else is
// read off that: graph.go keeps it as a graph, path.go follows what held up the CF that ended last, bounds.go takes the
// longest chain through the graph, slack.go looks at it from the end. Several processes can find the graph together, each the part of
// its own nodes (peers.go, whole.go). The vocabulary (factors, parts) is that of
// internal/analysis/slou, and so is the rule that divides the time between two executions.
package critical

import (
	"cmp"
	"context"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// Options of Compute; the zero value means the defaults.
type Options struct {
	Longest  int // how many of the longest steps are named; 0 means 10, less than 0 none
	Parallel int // goroutines; 0 means as many as there are cores

	budget int // as triesOf, which it is if it is 0
}

// Compute finds the critical path, the bounds and the slack of a run, which the members of g share: each has its model
// from model.BuildShare and calls Compute with the same options. procs.Alone has the whole model from model.Build.
// Member 0 gets the result, the others nil. Steps of other processes have executions that its model does not have.
//
// It fails when ctx ends or a member is gone. It fails at all members when it fails at one, except for what goes wrong
// last, where member 0 puts the result together.
func Compute(ctx context.Context, m *model.Model, opt Options, g procs.Group) (*Result, error) {
	p := newPeers(m, g)
	seen, err := p.seen()
	if err != nil {
		return nil, err
	}
	res := &Result{Program: m.Info.Program, Ended: m.Info.Ended, Killed: m.Killed, Workers: m.Workers(), WallNS: m.Wall(), Missing: missing(m, seen)}
	if err := compute(ctx, res, opt, p); err != nil || p.Rank() != 0 {
		return nil, err
	}
	return res, nil
}

// compute fills in the result of rank 0.
func compute(ctx context.Context, res *Result, opt Options, p *peers) error {
	m := p.m
	null := map[string]bool{}
	for _, e := range res.Missing {
		for _, name := range e.Null {
			null[name] = true
		}
	}
	if null["path"] && null["work"] {
		return nil
	}
	g, err := newGraph(ctx, m, opt.Parallel, p)
	if err != nil {
		return err
	}
	g.budget = cmp.Or(opt.budget, triesOf)
	w := newWalker(m, g)
	last, err := w.lastOf(p, lastEnded(m, g))
	if err != nil {
		return err
	}
	if p.Size() > 1 {
		if g, err = w.share(ctx, p, g, last, !null["path"]); err != nil || g == nil {
			return err
		}
	} else if !null["path"] {
		if w.begin(last.exec); last.exec >= 0 {
			if err := w.walk(ctx, last.exec); err != nil {
				return err
			}
		}
	}
	if !null["path"] {
		res.Path = w.result(opt.Longest, null["path.factors.L"])
	}
	list := make([]int64, len(g.useful))
	if !null["work"] {
		res.Work = g.work(list, int64(res.Workers), null["tinf_links_ns"])
	}
	if !null["slack"] && last.rank >= 0 {
		res.Slack, err = g.fragments(ctx, list, last.end, w.ended)
	}
	return err
}

// missing tells what cannot be computed because events were switched off: the trace says so, or has none of a kind
// where other events show that there must have been some.
func missing(m *model.Model, s *seen) []Missing {
	list := []Missing{}
	need := func(k trace.Kind, wanted bool, null, doubt []string) {
		if m.Count[k] == 0 && wanted {
			list = append(list, Missing{Event: k.String(), Null: append([]string{}, null...), Doubt: doubt})
		}
	}
	off := func(k trace.Kind) bool { return slices.Contains(m.Info.Off, k.String()) }
	all := []string{"path", "work", "slack"}
	ran := m.Count[trace.KindCFStarted] > 0
	need(trace.KindCFStarted, m.Count[trace.KindCFFinished] > 0 || off(trace.KindCFStarted), all, nil)
	need(trace.KindCFFinished, ran && (m.Info.Ended == trace.EndedDone || off(trace.KindCFFinished)), all, nil)
	need(trace.KindCFCreated, ran, all, nil)
	need(trace.KindDFCreate, s.Inputs, []string{"path", "work", "slack"}, nil)
	links := []string{"tinf_links_ns", "path.factors.L", "path.factors.O"}
	if m.Count[trace.KindDFReceived] == 0 && len(m.Nodes) > 1 {
		need(trace.KindDFReceived, s.Foreign, links, []string{"path", "slack"})
	}
	need(trace.KindDFSent, m.Count[trace.KindDFReceived] > 0, links, []string{"slack"})
	if m.Count[trace.KindDFRequested] == 0 || m.Count[trace.KindDFRequestReceived] == 0 {
		need(trace.KindDFRequested, s.Requests, links[1:], nil)
		need(trace.KindDFRequestReceived, s.Requests, links[1:], []string{"path", "slack"})
	}
	left := m.Count[trace.KindCFMigrated]+m.Count[trace.KindCFStolen] > 0
	need(trace.KindCFReceived, left, links, []string{"path", "slack"})
	need(trace.KindCFMigrated, !left && m.Count[trace.KindCFReceived] > 0, links, nil)
	need(trace.KindCFReady, ran, nil, []string{"path", "slack"})
	return list
}
