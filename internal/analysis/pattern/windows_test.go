package pattern

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// window is a run of three ranks: rank 0 opens its window late, ranks 1 and 2 access it.
const window = `#run {"ended":"done","settings":{"program":"MPI"},"nodes":[{"node":0,"process":0,"workers":1},{"node":1,"process":1,"workers":1},{"node":2,"process":2,"workers":1}]}
#node 0
#code 1 MPI_Win_post runtime
#site 1 code=1 at=p.c:1:0
#code 2 MPI_Win_wait completion
#site 2 code=2 at=p.c:2:0
0 Global.onProgramStarted
30 Region.onEntered 1
30 Message.onSent to=1 bytes=0 tag=-1 comm=6 transfer=0
30 Message.onSent to=2 bytes=0 tag=-1 comm=6 transfer=0
31 Region.onExited 1
32 Region.onEntered 2
80 Message.onReceived from=1 bytes=0 tag=-2 comm=6 receive=1 posted=48
80 Message.onReceived from=2 bytes=0 tag=-2 comm=6 receive=2 posted=48
80 Region.onExited 2
100 Global.onProgramFinished
#node 1
#code 1 MPI_Win_start completion
#site 1 code=1 at=p.c:3:0
#code 2 MPI_Win_complete completion
#site 2 code=2 at=p.c:4:0
0 Global.onProgramStarted
10 Region.onEntered 1
11 Region.onExited 1
20 Region.onEntered 2
20 Message.onSent to=0 bytes=0 tag=-2 comm=6 transfer=0
55 Message.onReceived from=0 bytes=0 tag=-1 comm=6 receive=1 posted=45
55 Region.onExited 2
100 Global.onProgramFinished
#node 2
#code 1 MPI_Win_start completion
#site 1 code=1 at=p.c:5:0
#code 2 MPI_Win_complete completion
#site 2 code=2 at=p.c:6:0
#code 3 MPI_Put bulk
#site 3 code=3 at=p.c:7:0
0 Global.onProgramStarted
5 Region.onEntered 1
31 Region.onExited 1
35 Region.onEntered 3
35 Message.onPut to=0 bytes=8 transfer=1
40 Region.onExited 3
70 Region.onEntered 2
70 Message.onSent to=0 bytes=0 tag=-2 comm=6 transfer=0
72 Message.onReceived from=0 bytes=0 tag=-1 comm=6 receive=1 posted=67
72 Region.onExited 2
100 Global.onProgramFinished
`

// TestWindows: the waits are those worked out by hand.
func TestWindows(t *testing.T) {
	r := compute(t, buildText(t, window))
	// Rank 1 waits [10, 11] and [20, 30] for the post at 30, rank 2 [5, 30]. Rank 0 waits [32, 40] until rank
	// 2's transfer ends, and [40, 70] until rank 2 completes.
	want := `late-post, MPI_Win_start:3: 0 1 0
late-post, MPI_Win_complete:4: 0 10 0
late-post, MPI_Win_start:5: 0 0 25
early-wait, MPI_Win_wait:2: 38 0 0
late-complete, MPI_Win_wait:2: 30 0 0
`
	if diff := cmp.Diff(want, show(r, "late-post", "early-wait", "late-complete")); diff != "" {
		t.Error(diff)
	}
	for i, thread := range r.Threads {
		if thread.Sends+thread.Receives > 0 {
			t.Errorf("rank %d sends and receives signals only, not %d and %d messages", i, thread.Sends, thread.Receives)
		}
	}
	if len(r.Problems) > 0 {
		t.Errorf("%q", r.Problems)
	}
}

// later is a run of two ranks that begin a reduction, compute, and wait for it.
const later = `#run {"ended":"done","settings":{"program":"MPI"},"nodes":[{"node":0,"process":0,"workers":1},{"node":1,"process":1,"workers":1}]}
#node 0
#code 1 MPI_Iallreduce collective
#site 1 code=1 at=p.c:1:0
#code 2 MPI_Wait message
#site 2 code=2 at=p.c:2:0
0 Global.onProgramStarted
10 Region.onEntered 1
10 Sync.onCollective kind=all-reduce sync=non-blocking start=0 stride=1 size=2 root=-1 sent=8 received=8
11 Region.onExited 1
12 Region.onEntered 2
60 Message.onReceived from=0 bytes=0 tag=-3 comm=0 receive=1 posted=50
60 Region.onExited 2
100 Global.onProgramFinished
#node 1
#code 1 MPI_Iallreduce collective
#site 1 code=1 at=p.c:3:0
#code 2 MPI_Wait message
#site 2 code=2 at=p.c:4:0
0 Global.onProgramStarted
40 Region.onEntered 1
40 Sync.onCollective kind=all-reduce sync=non-blocking start=0 stride=1 size=2 root=-1 sent=8 received=8
41 Region.onExited 1
55 Region.onEntered 2
61 Message.onReceived from=1 bytes=0 tag=-3 comm=0 receive=1 posted=21
61 Region.onExited 2
100 Global.onProgramFinished
`

// TestNonBlocking: a collective that does not block is waited for in another call.
func TestNonBlocking(t *testing.T) {
	r := compute(t, buildText(t, later))
	// Rank 0 waits [12, 40] until rank 1 begins, and [40, 55] until rank 1 waits.
	want := "wait-at-nxn, MPI_Wait:2: 28 0\nwait-for-progress, MPI_Wait:2: 15 0\n"
	if diff := cmp.Diff(want, show(r, "wait-at-nxn", "wait-for-progress", "nxn-completion")); diff != "" {
		t.Error(diff)
	}
	if len(r.Problems) > 0 {
		t.Errorf("%q", r.Problems)
	}
	// Of one that nobody waits for, nothing is known.
	r = compute(t, buildText(t, strings.Replace(later, "tag=-3", "tag=-4", 1)))
	if got := r.Sum("wait-at-nxn", nil).Total; got != 0 {
		t.Errorf("%d ns are lost where the end of the collective is not known", got)
	}
}

// TestSharedLocks: ranks 0 and 1 share a lock that rank 2 wants alone; then rank 0 wants to share it, together
// with one that is free.
func TestSharedLocks(t *testing.T) {
	const shared = 1 << 63
	text := `#run {"ended":"done","settings":{"program":"MPI"},"nodes":[{"node":0,"process":0,"workers":1},{"node":1,"process":1,"workers":1},{"node":2,"process":2,"workers":1}]}
`
	const codes = `#code 1 MPI_Win_lock lock
#site 1 code=1 at=p.c:1:0
#code 2 MPI_Win_unlock completion
#site 2 code=2 at=p.c:2:0
#code 3 MPI_Win_lock_all lock
#site 3 code=3 at=p.c:3:0
0 Global.onProgramStarted
`
	lock := func(site, enter, exit int, numbers ...uint64) {
		text += fmt.Sprintf("%d Region.onEntered %d\n", enter, site)
		for _, n := range numbers {
			text += fmt.Sprintf("%d Sync.onAcquired %d\n", exit, n)
		}
		text += fmt.Sprintf("%d Region.onExited %d\n", exit, site)
	}
	unlock := func(enter int, number uint64) {
		text += fmt.Sprintf("%d Region.onEntered 2\n%[1]d Sync.onReleased %d\n%d Region.onExited 2\n", enter, number,
			enter+1)
	}
	text += "#node 0\n" + codes
	lock(1, 10, 11, shared|7)
	unlock(40, shared|7)
	lock(3, 70, 95, shared|6, shared|7, shared|8)
	text += "100 Global.onProgramFinished\n#node 1\n" + codes
	lock(1, 10, 12, shared|7)
	unlock(60, shared|7)
	text += "100 Global.onProgramFinished\n#node 2\n" + codes
	lock(1, 20, 65, 7)
	unlock(90, 7)
	text += "100 Global.onProgramFinished\n"

	r := compute(t, buildText(t, text))
	want := `lock-contention, MPI_Win_lock:1: 0 0 40
lock-contention, MPI_Win_lock_all:3: 20 0 0
`
	if diff := cmp.Diff(want, show(r, "lock-contention")); diff != "" || len(r.Problems) > 0 {
		t.Error(diff, r.Problems)
	}
	blocks := []Block{{Waiter: 2, Owner: 1, Count: 1, NS: 40}, {Waiter: 0, Owner: 2, Count: 1, NS: 20}}
	if diff := cmp.Diff(blocks, r.Locks[0].Blocks); diff != "" || r.Locks[0].Name != "0x7" {
		t.Error(diff, r.Locks[0].Name)
	}
}
