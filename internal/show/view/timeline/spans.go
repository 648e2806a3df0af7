package timeline

import (
	"sync"

	"github.com/whyslow/whyslow/internal/model"
)

// spans finds the messages of a list that were in flight at some time. They are sorted by departure into
// equal intervals of the run, about sixty-four messages each. Each interval knows its latest arrival, so one
// without long messages is skipped.
type spans struct {
	once   sync.Once
	length int64       // of a stretch
	lists  model.Lists // by stretch, from 1
	latest []int64
}

// way returns when a message left and arrived, since the start of the run; an unrecorded time equals the
// other. t0 can be after t1 if the clocks disagree.
func (t *Timeline) way(g *model.Message) (t0, t1 int64) {
	t0, t1 = g.Sent, g.Received
	if t0 == model.None {
		t0 = t1
	}
	if t1 == model.None {
		t1 = t0
	}
	return t.at(t0), t.at(t1)
}

// crossed reports whether a message went from one node to another.
func crossed(g *model.Message) bool { return g.From != g.To && g.Recorded() }

func (s *spans) make(t *Timeline, list []model.Message) {
	n := max(len(list)/64, 1)
	s.length = t.Wall()/int64(n) + 1
	n = int(t.Wall()/s.length) + 1
	s.latest = make([]int64, n+1)
	for i := range s.latest {
		s.latest[i] = model.None
	}
	for i := range list {
		if k := s.stretch(t, &list[i]); k != 0 {
			t0, t1 := t.way(&list[i])
			s.latest[k] = max(s.latest[k], t0, t1)
		}
	}
}

// stretch is the interval in which a message left, from 1; 0 for one that stayed on its node.
func (s *spans) stretch(t *Timeline, g *model.Message) uint32 {
	if !crossed(g) {
		return 0
	}
	t0, t1 := t.way(g)
	return uint32(min(max(min(t0, t1)/s.length, 0), int64(len(s.latest)-2))) + 1
}

// each calls f for every message that overlaps an interval.
func (s *spans) each(t *Timeline, list []model.Message, r stretch, f func(i uint32)) {
	s.once.Do(func() { s.make(t, list) })
	all := func(add func(uint32, int)) {
		for i := range list {
			add(s.stretch(t, &list[i]), i)
		}
	}
	for k := 1; k < len(s.latest); k++ {
		if k > 1 && int64(k-1)*s.length >= r.to {
			break
		}
		if s.latest[k] < r.from {
			continue
		}
		for _, i := range s.lists.Of(uint32(k), len(s.latest), all) {
			t0, t1 := t.way(&list[i])
			if min(t0, t1) < r.to && max(t0, t1) >= r.from {
				f(i)
			}
		}
	}
}
