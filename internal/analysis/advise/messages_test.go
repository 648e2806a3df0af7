package advise_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/analysis/advise"
)

// mpiRun writes the trace of an MPI program of several ranks, whose clocks go on as its methods say. Times
// are in us.
type mpiRun struct {
	at       []int
	events   [][]string
	receives int
}

const (
	mpiMain = 1 + iota
	mpiSolve
	mpiSend
	mpiSsend
	mpiRecv
	mpiAllreduce
)

func (r *mpiRun) event(n int, format string, args ...any) {
	r.events[n] = append(r.events[n], fmt.Sprintf("%d ", r.at[n]*1000)+fmt.Sprintf(format, args...))
}

func (r *mpiRun) in(n, site int, f func()) {
	r.event(n, "Region.onEntered %d", site)
	f()
	r.event(n, "Region.onExited %d", site)
}

func (r *mpiRun) work(n, us int) { r.in(n, mpiSolve, func() { r.at[n] += us }) }

// send sends a message of 8 bytes.
func (r *mpiRun) send(n, to, tag, takes int) {
	r.in(n, mpiSend, func() {
		r.event(n, "Message.onSent to=%d bytes=8 tag=%d comm=0 transfer=0", to, tag)
		r.at[n] += takes
	})
}

// ssend is a send that lasts until then.
func (r *mpiRun) ssend(n, to, tag, until int) {
	r.in(n, mpiSsend, func() {
		r.event(n, "Message.onSent to=%d bytes=8 tag=%d comm=0 transfer=0", to, tag)
		r.at[n] = max(r.at[n], until)
	})
}

// recv is a receive that lasts until then, or no time if that has passed.
func (r *mpiRun) recv(n, from, tag, until int) {
	r.in(n, mpiRecv, func() {
		posted := r.at[n]
		r.at[n] = max(posted, until)
		r.receives++
		r.event(n, "Message.onReceived from=%d bytes=8 tag=%d comm=0 receive=%d posted=%d", from, tag, r.receives,
			(r.at[n]-posted)*1000)
	})
}

// allReduce is a collective of all ranks that takes so long.
func (r *mpiRun) allReduce(takes int) {
	for n := range r.at {
		r.in(n, mpiAllreduce, func() {
			r.event(n, `Sync.onCollective kind=all-reduce sync="" start=0 stride=1 size=%d root=-1 sent=8 received=8`,
				len(r.at))
			r.at[n] += takes
		})
	}
}

// mpiText is the trace of what f does with so many ranks.
func mpiText(ranks int, f func(r *mpiRun)) string {
	r := &mpiRun{at: make([]int, ranks), events: make([][]string, ranks)}
	for n := range ranks {
		r.event(n, "Global.onProgramStarted")
		r.event(n, "Region.onEntered %d", mpiMain)
	}
	f(r)
	var b strings.Builder
	var nodes []string
	for n := range ranks {
		nodes = append(nodes, fmt.Sprintf(`{"node":%d,"process":%[1]d,"workers":1}`, n))
	}
	fmt.Fprintf(&b, `#run {"ended":"done","settings":{"program":"MPI"},"nodes":[%s]}`+"\n", strings.Join(nodes, ","))
	for n := range ranks {
		fmt.Fprintf(&b, "#node %d\n", n)
		for i, c := range []string{"main function", "solve function", "MPI_Send message", "MPI_Ssend message",
			"MPI_Recv message", "MPI_Allreduce collective"} {
			fmt.Fprintf(&b, "#code %d %s\n#site %[1]d code=%[1]d at=cg.c:%[3]d:0\n", i+1, c, 10*(i+1))
		}
		fmt.Fprintf(&b, "%s\n%d Region.onExited 1\n%[2]d Global.onProgramFinished\n", strings.Join(r.events[n], "\n"),
			r.at[n]*1000)
	}
	return b.String()
}

// mpiCases are for every rule about messages a run in which it must speak, and one in which it must not.
var mpiCases = []struct {
	id             string
	ranks          int
	fault, noFault func(r *mpiRun)
	gain           int64 // us of all ranks' time
	words          []string
}{
	{id: "late-sender", ranks: 2, gain: 20 * 800, words: []string{"16.0 ms", "MPI_Recv", "Rank 0", "solve"},
		fault: func(r *mpiRun) { exchange(r, 900, 100) }, noFault: func(r *mpiRun) { exchange(r, 500, 500) }},
	{id: "late-receiver", ranks: 2, gain: 20 * 800, words: []string{"16.0 ms", "MPI_Ssend", "`MPI_Irecv`"},
		fault: func(r *mpiRun) {
			for range 20 {
				r.work(0, 100)
				r.work(1, 900)
				r.ssend(0, 1, 0, r.at[1]+1)
				r.recv(1, 0, 0, r.at[1]+1)
			}
		},
		noFault: func(r *mpiRun) {
			for range 20 {
				r.work(0, 500)
				r.work(1, 500)
				r.ssend(0, 1, 0, r.at[1]+1)
				r.recv(1, 0, 0, r.at[1]+1)
			}
		}},
	{id: "wrong-order", ranks: 2, words: []string{"`MPI_ANY_SOURCE`", "16.0 ms"},
		fault: func(r *mpiRun) { twoMessages(r, 2, 1) }, noFault: func(r *mpiRun) { twoMessages(r, 1, 2) }},
	{id: "serial-chain", ranks: 4, words: []string{"25.0 %", "ranks that waited", "to rank 0"},
		fault: func(r *mpiRun) {
			for n := range 4 {
				if n > 0 {
					r.recv(n, n-1, 0, r.at[n-1])
				}
				r.work(n, 3000)
				if n < 3 {
					r.send(n, n+1, 0, 1)
				}
			}
		},
		noFault: func(r *mpiRun) {
			for n := range 4 {
				r.work(n, 3000)
				if n > 0 {
					r.recv(n, n-1, 0, r.at[n-1])
				}
				if n < 3 {
					r.send(n, n+1, 0, 1)
				}
			}
		}},
	{id: "join-messages", ranks: 2, words: []string{"MPI_Send", "8 bytes", "Combine them"},
		fault: func(r *mpiRun) { row(r, 10) }, noFault: func(r *mpiRun) { row(r, 1) }},
	{id: "hide-messages", ranks: 2, gain: 20 * 501, words: []string{"`MPI_Irecv`", "MPI_Recv"},
		fault: func(r *mpiRun) { transfer(r, 500) }, noFault: func(r *mpiRun) { transfer(r, 1) }},
	{id: "hide-collectives", ranks: 2, gain: 20 * 2 * 300, words: []string{"`MPI_Iallreduce`", "12.0 ms", "20.0 ms"},
		fault: func(r *mpiRun) {
			for range 20 {
				r.allReduce(300)
				r.work(0, 500)
				r.work(1, 500)
			}
		},
		noFault: func(r *mpiRun) { // nothing is computed before the next operation
			for range 20 {
				r.work(0, 500)
				r.work(1, 500)
				r.allReduce(300)
				r.send(0, 1, 0, 1)
				r.recv(1, 0, 0, r.at[0])
			}
		}},
}

// exchange is 20 steps in which rank 0 sends to rank 1 what it has worked at.
func exchange(r *mpiRun, zero, one int) {
	for range 20 {
		r.work(0, zero)
		r.work(1, one)
		r.send(0, 1, 0, 0)
		r.recv(1, 0, 0, r.at[0])
		r.at[0] = max(r.at[0], r.at[1])
	}
}

// twoMessages is 20 steps in which rank 0 sends a message with tag 1 early, one with tag 2 late, and rank 1
// receives them in this order.
func twoMessages(r *mpiRun, first, second int) {
	for range 20 {
		begin := r.at[0]
		r.work(0, 100)
		r.send(0, 1, 1, 0)
		r.work(0, 800)
		r.send(0, 1, 2, 0)
		r.work(1, 100)
		came := map[int]int{1: begin + 100, 2: begin + 900}
		r.recv(1, 0, first, came[first])
		r.work(1, 800)
		r.recv(1, 0, second, came[second])
		r.at[0] = max(r.at[0], r.at[1])
		r.at[1] = r.at[0]
	}
}

// row is 20 steps in which rank 0 sends so many messages one after another.
func row(r *mpiRun, times int) {
	for range 20 {
		r.work(0, 200)
		r.work(1, 200)
		for range times {
			r.send(0, 1, 0, 30)
		}
		for range times {
			r.recv(1, 0, 0, r.at[0])
		}
	}
}

// transfer is 20 steps in which what rank 1 receives was sent before, and takes so long.
func transfer(r *mpiRun, takes int) {
	for range 20 {
		r.send(0, 1, 0, 1)
		r.work(0, 600+takes)
		r.work(1, 600)
		r.recv(1, 0, 0, r.at[1]+takes)
	}
}

func TestMessageRules(t *testing.T) {
	for _, c := range mpiCases {
		t.Run(c.id, func(t *testing.T) {
			in := analysePGAS(t, mpiText(c.ranks, c.fault))
			a := adviceOn(in, c.id)
			if a == nil {
				t.Fatalf("it does not speak; of the run: %+v", advise.Alone(in))
			}
			for _, w := range c.words {
				if !strings.Contains(a.Text, w) {
					t.Errorf("it does not say %q: %s", w, a.Text)
				}
			}
			if c.gain > 0 && a.GainNS != c.gain*1000 {
				t.Errorf("it promises %d ns, not %d us", a.GainNS, c.gain)
			}
			if most := in.SLOU.TotalNS - in.SLOU.Factors.U.NS; a.GainNS > most || a.GainWallNS > most/int64(c.ranks)+1 {
				t.Errorf("it promises %d ns of %d lost, the run %d sooner", a.GainNS, most, a.GainWallNS)
			}
			if a := adviceOn(analysePGAS(t, mpiText(c.ranks, c.noFault)), c.id); a != nil {
				t.Errorf("it speaks of a run without the fault: %s", a.Text)
			}
		})
	}
}
