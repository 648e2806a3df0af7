package collect

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/trace"
)

// The run.json of a run of which several senders tell.

// worst has the ways a run can end, the worst last.
var worst = []string{trace.EndedDone, trace.EndedInterrupted, trace.EndedStuck, trace.EndedFailed}

// merge makes one RunInfo of what the senders of a run say. Of a node its own sender tells;
// otherwise the first sender that knows something does, in the order of their nodes. The
// run has ended when all have sent everything, in the worst way that any of them tells.
//
// broken says why a node cannot be written here.
func merge(id string, senders []*sender, broken map[int]string) *trace.RunInfo {
	senders = slices.Clone(senders)
	slices.SortStableFunc(senders, func(a, b *sender) int {
		if c := slices.Compare(a.Nodes, b.Nodes); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	out := &trace.RunInfo{}
	all := len(senders) > 0
	bad := -1
	for i, s := range senders {
		in := s.Info
		if i == 0 {
			first := *in
			out = &first
			out.Hosts, out.Off, out.Processes, out.Nodes = nil, nil, nil, nil
			out.Versions, out.Settings = maps.Clone(in.Versions), maps.Clone(in.Settings)
			out.Ended, out.Exit, out.Message = "", 0, ""
		} else {
			fill(out, in)
		}
		for _, h := range in.Hosts {
			if !slices.Contains(out.Hosts, h) {
				out.Hosts = append(out.Hosts, h)
			}
		}
		for _, e := range in.Off {
			if !slices.Contains(out.Off, e) {
				out.Off = append(out.Off, e)
			}
		}
		all = all && s.Ended
		if w := slices.Index(worst, in.Ended); w > bad {
			bad = w
			out.Exit, out.Message = in.Exit, in.Message
		}
		all = all && in.Ended != ""
	}
	out.ID = id
	if all {
		out.Ended = worst[bad]
	} else {
		out.Exit, out.Message = 0, ""
	}
	mergeNodes(out, senders, broken)
	return out
}

// fill sets what is not known from another sender's word.
func fill(out, in *trace.RunInfo) {
	for _, f := range []struct{ to, from *string }{{&out.Program, &in.Program}, {&out.Clock, &in.Clock},
		{&out.ThreadClock, &in.ThreadClock}} {
		if *f.to == "" {
			*f.to = *f.from
		}
	}
	if out.Args == nil {
		out.Args = in.Args
	}
	if out.CommandLine == nil {
		out.CommandLine = in.CommandLine
	}
	if out.Started.IsZero() || !in.Started.IsZero() && in.Started.Before(out.Started) {
		out.Started = in.Started
	}
	for _, m := range []struct{ to, from *map[string]string }{{&out.Versions, &in.Versions},
		{&out.Settings, &in.Settings}} {
		for k, v := range *m.from {
			if *m.to == nil {
				*m.to = map[string]string{}
			}
			if _, ok := (*m.to)[k]; !ok {
				(*m.to)[k] = v
			}
		}
	}
}

// mergeNodes sets the nodes and the processes they are in.
func mergeNodes(out *trace.RunInfo, senders []*sender, broken map[int]string) {
	type known struct {
		trace.NodeInfo
		own bool
	}
	owner := map[int]*sender{}
	for _, s := range senders {
		for _, n := range s.Nodes {
			owner[n] = s
		}
	}
	nodes := map[int]known{}
	for _, s := range senders {
		place := make([]int, len(s.Info.Processes)) // of its processes in out
		others := out.Processes                     // of other senders
		for i, p := range s.Info.Processes {
			at := slices.IndexFunc(others, func(q trace.ProcessInfo) bool {
				return q.PID == p.PID &&
					q.Host == p.Host
			})
			if at < 0 {
				at = len(out.Processes)
				out.Processes = append(out.Processes, p)
			}
			place[i] = at
		}
		for _, n := range s.Info.Nodes {
			own := owner[n.Node] == s
			if old, ok := nodes[n.Node]; ok && (old.own || !own) {
				continue
			}
			if n.Process >= 0 && n.Process < len(place) {
				n.Process = place[n.Process]
			}
			nodes[n.Node] = known{n, own}
		}
	}
	for _, s := range senders {
		for node, l := range s.Lost {
			if l.Blocks == 0 || owner[node] != s {
				continue
			}
			k, ok := nodes[node]
			if !ok {
				k.Node = node
			}
			k.Unwritten += l.Events
			if k.Error == "" {
				k.Error = fmt.Sprintf("%d blocks could not be sent to the collector", l.Blocks)
			}
			nodes[node] = k
		}
	}
	for node, why := range broken {
		k := nodes[node]
		k.Node, k.Error = node, why
		nodes[node] = k
	}
	for _, node := range slices.Sorted(maps.Keys(nodes)) {
		out.Nodes = append(out.Nodes, nodes[node].NodeInfo)
	}
}
