package collect

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/trace"
)

// The run.json of a run of which several senders tell.

// worst has the ways a run can end, the worst last.
var worst = []string{trace.EndedDone, trace.EndedInterrupted, trace.EndedStuck, trace.EndedFailed}

// merge joins what the senders of a run say into one RunInfo. A node's own sender describes it, or
// else the first sender that knows something, in the order of their nodes. The run has ended when
// all have sent everything; the worst ending that any of them reports counts. Senders of whom nothing
// is kept do not count, unless there are no others: they may never send anything.
//
// broken says why a node cannot be written here.
func merge(id string, senders []*sender, broken map[int]string) *trace.RunInfo {
	senders = slices.Clone(senders)
	with := slices.DeleteFunc(slices.Clone(senders), func(s *sender) bool { return len(s.Nodes) == 0 })
	if len(with) > 0 {
		senders = with
	}
	slices.SortStableFunc(senders, func(a, b *sender) int {
		return cmp.Or(slices.Compare(a.Nodes, b.Nodes), strings.Compare(a.Name, b.Name))
	})
	out := &trace.RunInfo{}
	all := len(senders) > 0
	bad := -1
	hosts, off := map[string]bool{}, map[string]bool{}
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
		out.Hosts, out.Off = union(out.Hosts, in.Hosts, hosts), union(out.Off, in.Off, off)
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

// union adds to a list what it lacks of another one; has is what it holds.
func union(list, more []string, has map[string]bool) []string {
	for _, s := range more {
		if !has[s] {
			has[s] = true
			list = append(list, s)
		}
	}
	return list
}

// fill sets what is not known from another sender's word.
func fill(out, in *trace.RunInfo) {
	out.Program, out.Clock = cmp.Or(out.Program, in.Program), cmp.Or(out.Clock, in.Clock)
	out.ThreadClock = cmp.Or(out.ThreadClock, in.ThreadClock)
	if out.Args == nil {
		out.Args = in.Args
	}
	if out.CommandLine == nil {
		out.CommandLine = in.CommandLine
	}
	if out.Started.IsZero() || !in.Started.IsZero() && in.Started.Before(out.Started) {
		out.Started = in.Started
	}
	out.Versions, out.Settings = under(out.Versions, in.Versions), under(out.Settings, in.Settings)
	out.Symbols = under(out.Symbols, in.Symbols)
}

// under adds to a map what it lacks of another one.
func under[V any](m, more map[string]V) map[string]V {
	all := maps.Clone(more)
	if all == nil {
		return m
	}
	maps.Copy(all, m)
	return all
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
	type process struct {
		host string
		pid  int
	}
	places := map[process]int{} // in out, of the first of a name
	for _, s := range senders {
		place := make([]int, len(s.Info.Processes)) // of its processes in out
		others := len(out.Processes)                // so many are of other senders
		for i, p := range s.Info.Processes {
			at, met := places[process{p.Host, p.PID}]
			if !met || at >= others {
				at = len(out.Processes)
				out.Processes = append(out.Processes, p)
			}
			if !met {
				places[process{p.Host, p.PID}] = at
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
