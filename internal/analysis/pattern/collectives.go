package pattern

import (
	"cmp"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
)

type collectiveKey struct {
	Call int
	Kind model.CollectiveKind
	Sync model.Sync
}

// collective begins to sum up an instance; the sums of the others are added to those of the same key.
func (s *search) collective(in *instance) (key collectiveKey, c Collective) {
	e := in.members[0]
	key = collectiveKey{int(s.of[e.Thread][s.r.Record(e).Visit]), in.kind, in.sync}
	for k, e := range in.members {
		if s.own[e.Thread] && !in.nonBlocking { // what others did next is not known here
			ahead := s.ahead(e)
			c.AheadNS, c.HideNS = c.AheadNS+ahead, c.HideNS+min(ahead, in.left[k]-in.begun[k])
		}
	}
	if !s.own[e.Thread] {
		return key, c // that is counted where its first member is
	}
	c.Count++
	follows, precedes, between := true, true, int64(0)
	for k, e := range in.members {
		c.Bytes += s.r.Record(e).Sent
		c.NS += in.left[k] - in.begun[k]
		last, ns := s.before(e)
		follows, between = follows && isBarrierEnd(last), max(between, ns)
		precedes = precedes && s.precedesBarrier(e)
	}
	if follows && in.kind != model.CollectiveBarrier {
		c.AfterBarrier, c.BetweenNS = 1, between
	}
	if follows && between <= soon {
		c.Follows, c.FollowsNS = 1, between
	}
	if precedes {
		c.Precedes = 1
	}
	return key, c
}

// soon is how soon after a barrier a collective must come, or the other way round, so that nothing can have
// been written between. ns.
const soon = 10_000

// isBarrierEnd tells whether a collective, nil for none, ends a barrier.
func isBarrierEnd(c *model.Collective) bool {
	return c != nil && (c.Kind == model.CollectiveBarrier || c.Kind == model.CollectiveWait)
}

// before gives the collective of the same group, whose members all came, that a thread left right before it
// entered one, and how long before; nil where anything else was the last operation.
func (s *search) before(e model.Member) (last *model.Collective, ns int64) {
	t, c := &s.r.Threads[e.Thread], s.r.Record(e)
	first, i := c, e.Record
	if c.Notify >= 0 {
		first, i = &t.Collectives[c.Notify], c.Notify
	}
	if i == 0 || first.Visit < 0 || c.NonBlocking {
		return nil, 0
	}
	if last = &t.Collectives[i-1]; last.Visit < 0 || last.NonBlocking || last.Instance < 0 ||
		last.Kind == model.CollectiveNotify || !last.SameGroup(c) {
		return nil, 0
	}
	program := uint8(s.f.program)
	for v := last.Visit + 1; v < c.Visit; v++ {
		if s.class[e.Thread][v] != program && v != first.Visit {
			return nil, 0
		}
	}
	return last, t.Enter[first.Visit] - t.Exit[last.Visit]
}

// ahead is how long a thread computes after a collective, up to its next operation.
func (s *search) ahead(e model.Member) int64 {
	t, c := &s.r.Threads[e.Thread], s.r.Record(e)
	for v := int(c.Visit) + 1; v < len(t.Enter); v++ {
		if s.class[e.Thread][v] != uint8(s.f.program) {
			return max(0, t.Enter[v]-t.Exit[c.Visit])
		}
	}
	return max(0, t.End-t.Exit[c.Visit])
}

// precedesBarrier tells whether a thread entered a barrier of the same group soon after it left a collective.
func (s *search) precedesBarrier(e model.Member) bool {
	list := s.r.Threads[e.Thread].Collectives
	next := e.Record + 1
	for int(next) < len(list) && list[next].Kind == model.CollectiveNotify {
		next++
	}
	if int(next) >= len(list) || list[next].Visit < 0 || !isBarrierEnd(&list[next]) {
		return false
	}
	last, ns := s.before(model.Member{Thread: e.Thread, Record: next})
	return last == s.r.Record(e) && ns <= soon
}

// see adds what a pattern found.
func (c *Collective) see(p *pattern, ns int64) {
	switch {
	case p.atEnd:
		c.ExitNS += ns
	case p.allSync:
		c.AllSyncNS += ns
		fallthrough
	default:
		c.EntryNS += ns
	}
}

func (s *search) collectives() []Collective {
	out := make([]Collective, 0, len(s.sums))
	for k, c := range s.sums {
		c.Call, c.Kind, c.Sync = k.Call, k.Kind.String(), k.Sync.String()
		out = append(out, c)
	}
	slices.SortFunc(out, func(x, y Collective) int {
		return cmp.Or(cmp.Compare(y.EntryNS+y.ExitNS, x.EntryNS+x.ExitNS), cmp.Compare(y.NS, x.NS),
			cmp.Compare(x.Call, y.Call), cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Sync, y.Sync))
	})
	return out
}
