package live

import (
	"context"

	"github.com/whyslow/whyslow/internal/show/view/timeline"
	"github.com/whyslow/whyslow/trace"
)

// Factors divides an interval of the run: as slou divides the newest snapshot. Time after that, and what a
// worker did after its last event, counts as "undivided" while the run continues. If a run is too long
// for one snapshot, its history has the past; time that neither knows is undivided as well.
func (r *Run) Factors(ctx context.Context, q timeline.FactorQuery) (*timeline.FactorWindows, error) {
	s, err := r.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	defer s.Release()
	t, err := s.Timeline()
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	wall := t.Wall()
	if s.arrived != r.arrived {
		wall = max(wall, r.status.WallNS)
	}
	r.mu.Unlock()
	if s.happening || !s.whole() || wall > t.Wall() {
		q.Known = &timeline.Known{Wall: wall, Until: s.until()}
		if !s.whole() {
			r.history.complete(q.Known, s.Model)
		}
	}
	return t.Factors(q)
}

// remember keeps what a snapshot of a long run knows of time that the next one may no longer have. It divides
// the parts between what is kept already and this snapshot first.
func (r *Run) remember(s *Snapshot) {
	limit, all := r.limit(), s.Reader.Span()
	if s.spill != nil || uint64(s.Reader.Events()) <= limit/2 || !s.divides() {
		return
	}
	for end := r.history.end(all.From); end < s.Span.From+s.Model.Start; end = r.history.end(all.From) {
		from := since(s.Reader, end, limit/4) // what CFs after it depend on
		to := r.longest(s.Reader, from, all.To)
		if !r.rememberPart(trace.Span{From: from, To: to}, since(s.Reader, to, limit/4), s) {
			break // it stays unknown
		}
		r.update(func(*Status) {})
	}
	_, _ = r.history.keep(s, since(s.Reader, all.To, limit/2)) // it fails when the run is no longer shown
}

// rememberPart divides a part of the run, as like was divided, to keep what it was up to a time. It returns
// false if that was nothing new.
func (r *Run) rememberPart(in trace.Span, to int64, like *Snapshot) bool {
	s, err := r.build(&in, like.happening, like.parallel)
	if err != nil {
		return false
	}
	defer s.Release()
	kept, err := r.history.keep(s, to)
	return kept && err == nil
}
