package model

import (
	"slices"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// named is a question for CFs by label or code fragment and first indices.
type named struct {
	name    string
	indices []int32
}

// parseNamed reads "step", "step[3]", "step[3][0]"; false for anything else.
func parseNamed(s string) (n named, ok bool) {
	name, rest, more := strings.Cut(s, "[")
	if n.name = strings.TrimSpace(name); n.name == "" {
		return n, false
	}
	for more {
		index, after, closed := strings.Cut(rest, "]")
		i, err := strconv.ParseInt(strings.TrimSpace(index), 10, 32)
		if err != nil || !closed {
			return n, false
		}
		n.indices = append(n.indices, int32(i))
		if after == "" {
			break
		}
		if rest, more = strings.CutPrefix(after, "["); !more {
			return n, false
		}
	}
	return n, true
}

// is tells of each statement whether its CFs have the name.
func (n *named) is(m *Model) []bool {
	out := make([]bool, len(m.Sites))
	for i := range m.Sites {
		s := &m.Sites[i]
		out[i] = s.Label == n.name || s.Label == "" && m.Codes[s.Code].Name == n.name
	}
	return out
}

// SpanOf gives the time from the first start to the last end of the CFs with a label, or of a code fragment,
// such as step[3], also of those with more indices, such as step[3][0], with all that these created, and so
// on. Structured CFs may run long before what they create, so they count only where nothing else ran. What
// has not ended, ends with the run. false: no such CF ran. All members of g call it, each with its model, and
// get the same.
func (m *Model) SpanOf(name string, g procs.Group) (v Interval, ok bool, err error) {
	n, ok := parseNamed(name)
	if !ok {
		return v, false, nil
	}
	in, site := make([]bool, len(m.Created)), n.is(m)
	for cf := range in {
		if site[m.SiteOf[cf]] {
			label := m.Label(CF(cf))
			in[cf] = cf > 0 && len(label) >= len(n.indices) && slices.Equal(label[:len(n.indices)], n.indices)
		}
	}
	if err := m.addChildren(in, g); err != nil {
		return v, false, err
	}
	spans := [2]Interval{{m.End, m.Start}, {m.End, m.Start}} // of structured CFs, of atomic ones
	first, end := m.OwnExecutions()
	for e := first; e < end; e++ {
		if !in[m.ExecCF[e]] {
			continue
		}
		v, to := &spans[0], m.End
		if m.Atomic(m.ExecCF[e]) {
			v = &spans[1]
		}
		if m.ExecEnd[e] != None {
			to = m.InRun(m.ExecEnd[e])
		}
		v.From, v.To = min(v.From, m.InRun(m.ExecStart[e])), max(v.To, to)
	}
	all, err := procs.AllOf(g, spans)
	for _, theirs := range all {
		for i, o := range theirs {
			spans[i].From, spans[i].To = min(spans[i].From, o.From), max(spans[i].To, o.To)
		}
	}
	if v = spans[1]; v.From > v.To {
		v = spans[0]
	}
	return v, v.From <= v.To, err
}

// addChildren adds what the CFs of a set created, and so on. A member tells the others of what it adds: they
// may have the children.
func (m *Model) addChildren(in []bool, g procs.Group) error {
	told := make([]bool, len(in))
	for {
		for again := true; again; {
			again = false
			for cf, parent := range m.Parent {
				if in[parent] && !in[cf] {
					in[cf], again = true, true
				}
			}
		}
		var ids []trace.CF
		for cf := range in {
			if in[cf] && !told[cf] {
				told[cf] = true
				ids = append(ids, m.CFID(CF(cf)))
			}
		}
		all, err := procs.AllOf(g, ids)
		if err != nil {
			return err
		}
		news := 0
		for _, list := range all {
			news += len(list)
			for _, id := range list {
				if cf := m.FindCF(id); int(cf) < len(in) && cf != 0 {
					in[cf], told[cf] = true, true
				}
			}
		}
		if news == 0 || g.Size() == 1 {
			return nil
		}
	}
}
