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

func (s *search) sumOf(key collectiveKey) *Collective {
	c := s.sums[key]
	if c == nil {
		c = &Collective{Call: key.Call, Kind: key.Kind.String(), Sync: key.Sync.String()}
		s.sums[key] = c
	}
	return c
}

// collective begins to sum up an instance.
func (s *search) collective(in *instance) *Collective {
	e := in.members[0]
	c := s.sumOf(collectiveKey{int(s.of[e.Thread][s.r.Record(e).Visit]), in.kind, in.sync})
	if !s.own[e.Thread] {
		return c // that is counted where its first member is
	}
	c.Count++
	after, between := true, int64(0)
	for k, e := range in.members {
		r := s.r.Record(e)
		c.Bytes += r.Sent
		c.NS += in.left[k] - in.begun[k]
		left, ok := s.afterBarrier(e)
		after, between = after && ok, max(between, in.entered[k]-left)
	}
	if after && in.kind != model.CollectiveBarrier {
		c.AfterBarrier++
		c.BetweenNS = max(c.BetweenNS, between)
	}
	return c
}

// afterBarrier tells that the last operation of a thread before a collective was a barrier of the same group,
// and when it left that.
func (s *search) afterBarrier(e model.Member) (left int64, ok bool) {
	t, c := &s.r.Threads[e.Thread], s.r.Record(e)
	program := uint8(s.f.index["program"])
	for v := c.Visit - 1; v >= 0; v-- {
		if s.class[e.Thread][v] == program {
			continue
		}
		if e.Record == 0 {
			return 0, false
		}
		b := &t.Collectives[e.Record-1]
		ok := b.Visit == v && b.Instance >= 0 && s.r.Instances[b.Instance].Kind == model.CollectiveBarrier &&
			b.Kind != model.CollectiveNotify &&
			b.Start == c.Start && b.Stride == c.Stride && b.Size == c.Size
		return t.Exit[v], ok
	}
	return 0, false
}

// see adds what a pattern found.
func (c *Collective) see(p *pattern, ns int64) {
	switch p {
	case &barrierCompletion, &nxnCompletion, &syncOnExit:
		c.ExitNS += ns
	case &syncOnEntry:
		c.AllSyncNS += ns
		c.EntryNS += ns
	default:
		c.EntryNS += ns
	}
}

func (s *search) collectives() []Collective {
	out := make([]Collective, 0, len(s.sums))
	for _, c := range s.sums {
		out = append(out, *c)
	}
	slices.SortFunc(out, func(x, y Collective) int {
		return cmp.Or(cmp.Compare(y.EntryNS+y.ExitNS, x.EntryNS+x.ExitNS), cmp.Compare(y.NS, x.NS),
			cmp.Compare(x.Call, y.Call),
			cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Sync, y.Sync))
	})
	return out
}
