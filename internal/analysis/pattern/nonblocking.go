package pattern

import "github.com/whyslow/whyslow/internal/model"

// Non-blocking collectives. A member begins one (MPI_Iallreduce), computes, and waits for it (MPI_Wait). What
// it waits for the others to begin it is lost as in the blocking operation, in the call that waits: an
// instance has the entries of the calls that begin, and the stretches are clipped to the calls that end.
//
// After all have begun, MPI may still need the others' help: many implementations move data only while a
// process is inside of MPI.

// untilProgress: after all have begun the operation, a member waits until the last one of the others, of
// those that came before it left, is inside of a call that waits for the operation.
func untilProgress(in *instance, k int) (from, to int64, late int) {
	late = -1
	for j, begun := range in.begun {
		if c := in.r.Record(in.members[j]); j != k && c.Done >= 0 && begun < in.left[k] && begun > to {
			to, late = begun, j
		}
	}
	return in.lastEnter(), to, late
}

// waitsFor tells whether what a member waited in the call that ended a non-blocking collective was for that:
// a call that waits for several waits for the one that was begun last. One that waits for messages, too, is
// left to their patterns.
func (s *search) waitsFor(e model.Member) bool {
	t, c := &s.r.Threads[e.Thread], s.r.Record(e)
	if c.Done < 0 || s.class[e.Thread][c.Done] == uint8(s.f.index["message"]) {
		return false
	}
	for i := int(e.Record) + 1; i < len(t.Collectives) && t.Collectives[i].Visit < c.Done; i++ {
		if t.Collectives[i].Done == c.Done {
			return false
		}
	}
	return true
}
