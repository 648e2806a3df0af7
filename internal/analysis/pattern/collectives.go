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
	if !s.own[e.Thread] {
		return key, c // that is counted where its first member is
	}
	c.Count++
	after, between := true, int64(0)
	for k, e := range in.members {
		c.Bytes += s.r.Record(e).Sent
		c.NS += in.left[k] - in.begun[k]
		left, ok := s.afterBarrier(e)
		after, between = after && ok, max(between, in.entered[k]-left)
	}
	if after && in.kind != model.CollectiveBarrier {
		c.AfterBarrier, c.BetweenNS = 1, between
	}
	return key, c
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
