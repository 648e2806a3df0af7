// Package critical finds the critical path of a recorded run and what follows from it: what held the run up
// from start to end, how fast any number of workers could run the program, and how much longer each code
// fragment could take without delaying the end.
//
// holds.go says what each execution had to wait for, and how much later each of these could have come without
// delaying it. Everything else follows from that: graph.go keeps it as a graph, path.go follows what held up
// the CF that ended last, bounds.go takes the longest chain through the graph, and slack.go looks at the
// graph from its end. Several processes can find the graph together, each the part of its own nodes
// (share.go, whole.go). Factors and their parts are those of package slou, and so is the rule that divides
// the time between two executions.
package critical

import (
	"cmp"
	"context"
	"slices"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// Options of Compute; the zero value means the defaults.
type Options struct {
	Longest int // how many of the longest steps are named; 0 means 10, less than 0 none

	budget int // as triesOf, which it is if it is 0
}

// Compute finds the critical path, the bounds and the slack of a run, which the members of g share: each has
// its model from model.BuildShare and calls Compute with the same options. procs.Alone has the whole model
// from model.Build. Member 0 gets the result, the others nil. Steps of other processes have executions that
// its model does not have.
//
// It fails when ctx ends or a member is gone. It fails at all members when it fails at one, except for what
// goes wrong last, where member 0 puts the result together.
func Compute(ctx context.Context, m *model.Model, opt Options, g procs.Group) (*Result, error) {
	p := newPeers(m, g)
	all, err := procs.AllOf(p, slou.UsesIn(m))
	if err != nil {
		return nil, err
	}
	var did slou.Uses
	for _, u := range all {
		did.Join(u)
	}
	res := &Result{Program: m.Info.Program, Ended: m.Info.Ended, Killed: m.Killed, Workers: m.Workers(),
		WallNS: m.Wall(), Missing: missing(m, did)}
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
	g, err := newGraph(ctx, m, p)
	if err != nil {
		return err
	}
	g.budget = cmp.Or(opt.budget, triesOf)
	w := newWalker(m, g)
	last, err := w.lastOf(p, lastEnded(m))
	if err != nil {
		return err
	}
	if p.Size() > 1 {
		all, err := g.gather(p)
		if err := procs.Agree(p, err); err != nil {
			return err
		}
		if !null["path"] {
			if err := w.shareSteps(ctx, p, all, last); err != nil {
				return err
			}
		}
		if all == nil {
			return nil // rank 0 goes on with all
		}
		g = all.graph
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
	list := model.Make[int64](g.m, len(g.useful))
	if !null["work"] {
		res.Work = g.work(list, int64(res.Workers), null["tinf_links_ns"])
	}
	if !null["slack"] && last.rank >= 0 {
		res.Slack, err = g.fragments(ctx, list, last.end, w.ended)
	}
	return err
}

// needs says what in a result cannot be computed without a kind of event, and what is doubtful then.
var needs = map[trace.Kind]struct{ null, doubt []string }{
	trace.KindCFStarted:         {null: []string{"path", "work", "slack"}},
	trace.KindCFFinished:        {null: []string{"path", "work", "slack"}},
	trace.KindCFCreated:         {null: []string{"path", "work", "slack"}},
	trace.KindDFCreate:          {null: []string{"path", "work", "slack"}},
	trace.KindDFReceived:        {onLinks, []string{"path", "slack"}},
	trace.KindDFSent:            {onLinks, []string{"slack"}},
	trace.KindDFRequested:       {null: onLinks[1:]},
	trace.KindDFRequestReceived: {onLinks[1:], []string{"path", "slack"}},
	trace.KindCFReceived:        {onLinks, []string{"path", "slack"}},
	trace.KindCFMigrated:        {null: onLinks},
	trace.KindCFReady:           {doubt: []string{"path", "slack"}},
}

var onLinks = []string{"tinf_links_ns", "path.factors.L", "path.factors.O"}

// missing tells what cannot be computed because events were switched off.
func missing(m *model.Model, did slou.Uses) []Missing {
	list := []Missing{}
	for _, k := range slou.Absent(m, did) {
		if n, ok := needs[k]; ok {
			list = append(list, Missing{Event: k.String(), Null: append([]string{}, n.null...),
				Doubt: n.doubt})
		}
	}
	if ran := m.Count[trace.KindCFStarted] > 0; m.WasImported() && ran {
		if !did.Depends { // what is not told must not look as if nothing depended on anything
			list = append(list, Missing{Event: trace.KindDFCreate.String(),
				Null: slices.Clone(needs[trace.KindDFCreate].null)})
		}
		if slou.NoMessages(m) {
			list = append(list, Missing{Event: trace.KindDFReceived.String(), Null: slices.Clone(onLinks[:2])})
		}
	}
	return list
}
