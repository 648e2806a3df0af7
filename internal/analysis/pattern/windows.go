package pattern

import (
	"slices"

	"github.com/whyslow/whyslow/internal/model"
)

// Windows of one-sided communication. A target opens its window to origins (MPI_Win_post) and waits until
// they are done (MPI_Win_wait); an origin begins to access windows (MPI_Win_start) and says when it is done
// (MPI_Win_complete). Who tells whom what is recorded as signals:
//
//	late post       an origin in MPI_Win_start or MPI_Win_complete, until the last target has entered
//	                MPI_Win_post
//	early wait      a target in MPI_Win_wait, until the last origin has entered MPI_Win_complete
//	late complete   the part of it after the last transfer of that origin to the target had ended
//
// So is a neighbourhood collective: wait at neighbours is until the last of them has begun it.
//
// MPI decides in which of its two calls an origin waits.

// awaitSignal adds how long a thread waited for a signal to the waits for messages.
func (s *search) awaitSignal(l *model.Letter, all []stall) []stall {
	from, to := &s.r.Threads[l.From], &s.r.Threads[l.To]
	send, receive := &from.Sends[l.Send], &to.Receives[l.Receive]
	sent := from.Enter[send.Visit]
	wait := func(visit int32, id string, until int64) {
		if until > to.Enter[visit] {
			all = append(all, stall{l.To, visit, int32(s.f.index[id]), until, l.From, false})
		}
	}
	switch {
	case send.Near():
		wait(receive.Visit, "wait-at-neighbours", sent)
	case send.Posted():
		wait(receive.Visit, "late-post", sent)
		// The epoch began with the call that was entered then.
		if v, ok := slices.BinarySearch(to.Enter, receive.Posted); ok && v < int(receive.Visit) {
			wait(int32(v), "late-post", sent)
		}
	case send.Completed():
		since, ok := from.Since[l.Send]
		if !ok {
			wait(receive.Visit, "early-wait", sent)
			break
		}
		wait(receive.Visit, "early-wait", min(since, sent))
		wait(receive.Visit, "late-complete", sent)
	}
	return all
}
