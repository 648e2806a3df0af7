package pattern

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ring is a run of three ranks:
//
//	rank 0  Ssend to 2 [60, 85]; before, Send to 1 [40, 42]
//	rank 1  Recv from 0 [10, 43]; Send to 2 [50, 52], tag 1 [55, 56], tag 2 [90, 91]
//	rank 2  Recv from 1 [5, 53], from 0 [80, 86]; from 1 tag 2 [87, 92], then tag 1 [93, 94], both by Irecv
//	        at 4 and Wait
const ring = `#run {"ended":"done","settings":{"program":"MPI"},"nodes":[{"node":0,"process":0,"workers":1},{"node":1,"process":1,"workers":1},{"node":2,"process":2,"workers":1}]}
#node 0
#code 1 MPI_Send message
#site 1 code=1 at=p.c:1:0
#code 2 MPI_Ssend message
#site 2 code=2 at=p.c:2:0
0 Global.onProgramStarted
40 Region.onEntered 1
40 Message.onSent to=1 bytes=8 tag=0 comm=0 transfer=0
42 Region.onExited 1
60 Region.onEntered 2
60 Message.onSent to=2 bytes=8 tag=0 comm=0 transfer=0
85 Region.onExited 2
100 Global.onProgramFinished
#node 1
#code 1 MPI_Recv message
#site 1 code=1 at=p.c:3:0
#code 2 MPI_Send message
#site 2 code=2 at=p.c:4:0
0 Global.onProgramStarted
10 Region.onEntered 1
43 Message.onReceived from=0 bytes=8 tag=0 comm=0 receive=1 posted=33
43 Region.onExited 1
50 Region.onEntered 2
50 Message.onSent to=2 bytes=8 tag=0 comm=0 transfer=0
52 Region.onExited 2
55 Region.onEntered 2
55 Message.onSent to=2 bytes=8 tag=1 comm=0 transfer=0
56 Region.onExited 2
90 Region.onEntered 2
90 Message.onSent to=2 bytes=8 tag=2 comm=0 transfer=0
91 Region.onExited 2
100 Global.onProgramFinished
#node 2
#code 1 MPI_Recv message
#site 1 code=1 at=p.c:5:0
#code 2 MPI_Wait message
#site 2 code=2 at=p.c:6:0
0 Global.onProgramStarted
5 Region.onEntered 1
53 Message.onReceived from=1 bytes=8 tag=0 comm=0 receive=3 posted=48
53 Region.onExited 1
80 Region.onEntered 1
86 Message.onReceived from=0 bytes=8 tag=0 comm=0 receive=4 posted=6
86 Region.onExited 1
87 Region.onEntered 2
92 Message.onReceived from=1 bytes=8 tag=2 comm=0 receive=2 posted=88
92 Region.onExited 2
93 Region.onEntered 2
94 Message.onReceived from=1 bytes=8 tag=1 comm=0 receive=1 posted=90
94 Region.onExited 2
100 Global.onProgramFinished
`

// TestMessages: the waits are those worked out by hand, and so is who caused them.
func TestMessages(t *testing.T) {
	r := compute(t, buildText(t, ring))
	// Rank 1 waits [10, 40], rank 2 [5, 50] and, while the message with tag 1 is there, [87, 90]. Rank 0 waits
	// [60, 80].
	want := `late-sender, MPI_Recv:3: 0 30 0
late-sender, MPI_Recv:5: 0 0 45
late-sender, MPI_Wait:6: 0 0 3
wrong-order, MPI_Wait:6: 0 0 3
late-receiver, MPI_Ssend:2: 20 0 0
`
	if diff := cmp.Diff(want, show(r, "late-sender", "wrong-order", "late-receiver")); diff != "" {
		t.Error(diff)
	}
	// Of rank 2's wait until 50, rank 1 worked [5, 10] and [43, 50], was in MPI_Recv [40, 43], and waited for
	// rank 0 [10, 40], which worked. Rank 2 worked [60, 80] and rank 1 [87, 90].
	var got []string
	for _, c := range r.Causes {
		got = append(got, fmt.Sprintf("%d %s %d", c.Thread, r.path(c.Call), c.NS))
	}
	wanted := []string{"0 program 60", "2 program 20", "1 program 15", "1 MPI_Recv:3 3"}
	if diff := cmp.Diff(wanted, got); diff != "" || r.ChainedNS != 30 {
		t.Error(diff, r.ChainedNS)
	}
	for i, want := range []int64{2, 3, 0} {
		if r.Threads[i].Sends != want {
			t.Errorf("rank %d sent %d messages, not %d", i, r.Threads[i].Sends, want)
		}
	}
}

// TestMessagesWithoutPartner: what cannot be matched is told, and does not disturb the rest.
func TestMessagesWithoutPartner(t *testing.T) {
	text := strings.Replace(ring, "40 Message.onSent to=1 bytes=8 tag=0 comm=0 transfer=0\n", "", 1)
	text = strings.Replace(text, "tag=2 comm=0 receive=2", "tag=3 comm=0 receive=2", 1)
	r := compute(t, buildText(t, text))
	want := `late-sender, MPI_Recv:5: 0 0 45
late-receiver, MPI_Ssend:2: 20 0 0
`
	if diff := cmp.Diff(want, show(r, "late-sender", "late-receiver")); diff != "" {
		t.Error(diff)
	}
	const problem = "messages of which only the sending or only the receiving was recorded: 3;"
	if len(r.Problems) != 1 || !strings.HasPrefix(r.Problems[0], problem) {
		t.Errorf("%q", r.Problems)
	}
}
