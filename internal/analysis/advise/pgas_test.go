package advise_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/analysis/advise"
	"github.com/whyslow/whyslow/internal/analysis/pattern"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/testkit/sharetest"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/internal/words"
)

// pgasRun writes the trace of a PGAS program of several threads, whose clocks go on as its methods say. Times
// are in us.
type pgasRun struct {
	at     []int
	events [][]string
	free   int    // when the lock was given back last
	names  string // further definitions of each node
}

// pgasCodes are the regions; each is called at a line of its own.
var pgasCodes = []string{"main function", "upc_barrier barrier", "upc_all_broadcast collective",
	"upc_all_alloc memory", "upc_lock lock", "upc_unlock lock", "upc_memget bulk",
	"rank function", "shmem_getmem bulk", "upc_notify barrier", "upc_wait barrier", "upc_barrier barrier",
	"shmem_long_wait_until await", "shmem_putmem_nbi bulk", "shmem_quiet completion", "shmem_init runtime",
	"shmem_finalize runtime"}

const (
	atBarrier = 2 + iota
	atBroadcast
	atAlloc
	atLock
	atUnlock
	atMemget
	atRank
	atShmem
	atNotify
	atWait
	atBarrier2
	atAwait
	atPut
	atQuiet
	atInit
	atFinalize
)

func newPGASRun(threads int) *pgasRun {
	r := &pgasRun{at: make([]int, threads), events: make([][]string, threads)}
	for n := range threads {
		r.event(n, "Global.onProgramStarted")
		r.event(n, "Region.onEntered 1")
	}
	return r
}

func (r *pgasRun) event(n int, format string, args ...any) {
	r.events[n] = append(r.events[n], fmt.Sprintf("%d ", r.at[n]*1000)+fmt.Sprintf(format, args...))
}

// work lets each thread work for so long: the times are used again from the first where they are too few.
func (r *pgasRun) work(us ...int) {
	for n := range r.at {
		r.event(n, "Region.onEntered %d", atRank)
		r.at[n] += us[n%len(us)]
		r.event(n, "Region.onExited %d", atRank)
	}
}

// meet is a collective that all leave when the last one has come, thread n n x skew later.
func (r *pgasRun) meet(site int, kind, more string, takes, skew int) {
	last := 0
	for n := range r.at {
		r.event(n, "Region.onEntered %d", site)
		r.event(n, "Sync.onCollective %s size=%d %s", kind, len(r.at), more)
		last = max(last, r.at[n])
	}
	for n := range r.at {
		r.at[n] = last + takes + n*skew
		r.event(n, "Region.onExited %d", site)
	}
}

// lock lets the threads have a lock one after another.
func (r *pgasRun) lock(hold int) {
	for n := range r.at {
		r.event(n, "Region.onEntered %d", atLock)
		r.at[n] = max(r.at[n], r.free) + 1
		r.event(n, "Sync.onAcquired 9")
		r.event(n, "Region.onExited %d", atLock)
		r.at[n] += hold
		r.event(n, "Region.onEntered %d", atUnlock)
		r.event(n, "Sync.onReleased 9")
		r.free = r.at[n]
		r.at[n]++
		r.event(n, "Region.onExited %d", atUnlock)
	}
}

func (r *pgasRun) get(site, times, takes int) {
	for n := range r.at {
		for range times {
			r.event(n, "Region.onEntered %d", site)
			r.event(n, "Message.onGet from=%d bytes=4096", (n+1)%len(r.at))
			r.at[n] += takes
			r.event(n, "Region.onExited %d", site)
		}
	}
}

// answer lets thread 1 work, then write to the others, which wait for that meanwhile.
func (r *pgasRun) answer(work int) {
	for n := range r.at {
		if n != 1 {
			r.event(n, "Region.onEntered %d", atAwait)
			r.at[n] += work + 2
			r.event(n, "Region.onExited %d", atAwait)
			continue
		}
		r.at[n] += work
		for to := range r.at {
			if to != n {
				r.event(n, "Region.onEntered %d", atPut)
				r.event(n, "Message.onPut to=%d bytes=8", to)
				r.event(n, "Region.onExited %d", atPut)
			}
		}
		r.at[n] += 2
	}
}

// quiet lets each thread begin a transfer, work, and wait for its end.
func (r *pgasRun) quiet(work, wait int) {
	for n := range r.at {
		r.event(n, "Region.onEntered %d", atPut)
		r.event(n, "Message.onPut to=%d bytes=4096 transfer=7", (n+1)%len(r.at))
		r.at[n]++
		r.event(n, "Region.onExited %d", atPut)
		r.at[n] += work
		r.event(n, "Region.onEntered %d", atQuiet)
		r.at[n] += wait
		r.event(n, "Message.onCompleted 0")
		r.event(n, "Region.onExited %d", atQuiet)
	}
}

func (r *pgasRun) text() string {
	var b strings.Builder
	for n := range r.at {
		fmt.Fprintf(&b, "#node %d\n", n)
		for i, c := range pgasCodes {
			fmt.Fprintf(&b, "#code %d %s\n", i+1, c)
		}
		for i := range pgasCodes {
			fmt.Fprintf(&b, "#site %d code=%d at=is.upc:%d:0\n", i+1, i+1, 10*(i+1))
		}
		b.WriteString(r.names)
		b.WriteString(strings.Join(r.events[n], "\n"))
		fmt.Fprintf(&b, "\n%d Region.onExited 1\n%[1]d Global.onProgramFinished\n", r.at[n]*1000)
	}
	return b.String()
}

// within puts what a run does between the start of OpenSHMEM and its end, each of which takes so long.
func (r *pgasRun) within(start, finish int, f func()) {
	r.meet(atInit, "start", "", start, 0)
	f()
	r.meet(atFinalize, "finish", "", finish, 0)
}

// pgasCases are for every rule a run in which it must speak, and one in which it must not.
var pgasCases = []struct {
	id      string
	fault   func(r *pgasRun)
	gain    int64 // us
	words   []string
	noFault func(r *pgasRun)
}{
	{id: "late-thread", fault: func(r *pgasRun) {
		for range 5 {
			r.work(300, 300, 300, 700)
			r.meet(atBarrier, "barrier", "", 1, 0)
		}
	}, gain: 5 * 3 * 400, words: []string{"Thread 3 came last 5 times", "`main > upc_barrier` (is.upc:20)",
		"`main > rank` (is.upc:80)", "6.00 ms"}, noFault: func(r *pgasRun) {
		for range 5 {
			r.work(300)
			r.meet(atBarrier, "barrier", "", 60, 0)
		}
	}},
	{id: "uneven-steps", fault: func(r *pgasRun) {
		for i := range 8 {
			w := []int{300, 300, 300, 300}
			w[i%4] = 700
			r.work(w...)
			r.meet(atBarrier, "barrier", "", 1, 0)
		}
	}, gain: 8 * 3 * 400, words: []string{"the last one changes", "`upc_notify`"}, noFault: func(r *pgasRun) {
		for range 5 {
			r.work(300, 300, 300, 700)
			r.meet(atBarrier, "barrier", "", 1, 0)
		}
	}},
	{id: "relax-entry", fault: func(r *pgasRun) {
		for range 4 {
			r.work(100, 100, 100, 500)
			r.meet(atBroadcast, "broadcast", "sync=all/no root=0 sent=64 received=64", 10, 0)
		}
	}, gain: 4 * 3 * 400, words: []string{"`UPC_IN_ALLSYNC`", "`main > upc_all_broadcast` (is.upc:30)",
		"`UPC_IN_MYSYNC`"}, noFault: func(r *pgasRun) {
		for range 4 {
			r.work(100, 100, 100, 500)
			r.meet(atBroadcast, "broadcast", "sync=my/no root=0 sent=64 received=64", 10, 0)
		}
	}},
	{id: "proven-entry", fault: func(r *pgasRun) {
		for range 4 {
			r.work(100)
			r.meet(atBarrier, "barrier", "", 1, 40)
			r.meet(atBroadcast, "broadcast", "sync=all/no root=0 sent=64 received=64", 10, 0)
		}
	}, gain: 4 * (40 + 80 + 120), words: []string{"every time (4 times)", "`UPC_IN_NOSYNC`"},
		noFault: func(r *pgasRun) {
			for range 4 {
				r.work(100)
				r.meet(atBarrier, "barrier", "", 1, 40)
				r.work(20) // may write what the collective reads
				r.meet(atBroadcast, "broadcast", "sync=all/no root=0 sent=64 received=64", 10, 0)
			}
		}},
	{id: "relax-exit", fault: func(r *pgasRun) {
		for range 4 {
			r.work(100)
			r.meet(atBroadcast, "broadcast", "sync=my/all root=0 sent=64 received=64", 10, 40)
			r.meet(atBarrier, "barrier", "", 1, 0)
		}
	}, gain: 4 * (40 + 80 + 120), words: []string{"`UPC_OUT_NOSYNC`", "`main > upc_all_broadcast` (is.upc:30)"},
		noFault: func(r *pgasRun) {
			for range 4 {
				r.work(100)
				r.meet(atBroadcast, "broadcast", "sync=my/all root=0 sent=64 received=64", 10, 40)
				r.work(50)
				r.meet(atBarrier, "barrier", "", 1, 0)
			}
		}},
	{id: "double-barrier", fault: func(r *pgasRun) {
		for range 4 {
			r.work(100)
			r.meet(atBarrier, "barrier", "", 5, 0)
			r.meet(atBarrier2, "barrier", "", 50, 0)
		}
	}, gain: 4 * 4 * 50, words: []string{"`main > upc_barrier` (is.upc:120)", "Remove one of them"},
		noFault: func(r *pgasRun) {
			for range 4 {
				r.work(100)
				r.meet(atBarrier, "barrier", "", 5, 0)
				r.get(atMemget, 1, 5)
				r.meet(atBarrier2, "barrier", "", 50, 0)
			}
		}},
	{id: "alloc-in-loop", fault: func(r *pgasRun) {
		for range 5 {
			r.meet(atAlloc, "alloc", "", 50, 0)
			r.work(100)
		}
	}, gain: 4 * 4 * 50, words: []string{"again and again (5 times)", "`main > upc_all_alloc` (is.upc:40)"},
		noFault: func(r *pgasRun) {
			r.meet(atAlloc, "alloc", "", 50, 0)
			r.work(500)
		}},
	{id: "lock-contention", fault: func(r *pgasRun) {
		for range 3 {
			r.work(50)
			r.lock(100)
			r.meet(atBarrier, "barrier", "", 1, 0)
		}
	}, words: []string{"`0x9`", "taken 12 times", "held for 100 µs on average", "held it for"},
		noFault: func(r *pgasRun) {
			for range 3 {
				r.work(50, 150, 250, 350)
				r.lock(10)
				r.meet(atBarrier, "barrier", "", 1, 0)
			}
		}},
	{id: "overlap", fault: func(r *pgasRun) {
		for range 3 {
			r.work(200)
			r.get(atMemget, 4, 50)
			r.meet(atBarrier, "barrier", "", 1, 0)
		}
	}, gain: 12 * 3 * 50, words: []string{"12 runs", "48 transfers", "`upc_memget_nbi`"},
		noFault: func(r *pgasRun) {
			for range 12 {
				r.work(50)
				r.get(atMemget, 1, 50)
				r.meet(atBarrier, "barrier", "", 1, 0)
			}
		}},
	{id: "hide-transfers", fault: func(r *pgasRun) {
		for range 5 {
			r.work(100, 100, 30) // thread 2 has less to do meanwhile
			r.get(atMemget, 1, 50)
			r.meet(atBarrier, "barrier", "", 1, 0)
		}
	}, gain: 5 * (3*50 + 30), words: []string{"`main > upc_memget` (is.upc:70)", "20 transfers", "`upc_synci`"},
		noFault: func(r *pgasRun) {
			for range 5 {
				r.work(100)
				r.get(atMemget, 4, 50) // which could be under way at once
				r.meet(atBarrier, "barrier", "", 1, 0)
			}
		}},
	{id: "await", fault: func(r *pgasRun) {
		for range 5 {
			r.work(100)
			r.answer(200)
		}
	}, gain: 5 * 3 * 202, words: []string{"`main > shmem_long_wait_until` (is.upc:130)",
		"Thread 0 waited 1.01 ms; 1.01 ms of it ended after a write by thread 1"}, noFault: func(r *pgasRun) {
		for range 5 {
			r.work(1000)
			r.answer(20)
		}
	}},
	{id: "start-up", fault: func(r *pgasRun) {
		r.within(700, 100, func() { r.work(150, 150, 150, 200) }) // who waits at the end waits for the program
	}, words: []string{"80.0 % of the run (3.20 ms) is start-up and shutdown of OpenSHMEM",
		"mostly in `main > shmem_init` (is.upc:160)", "Threads worked for 81.2 % of the other 800 µs"},
		noFault: func(r *pgasRun) {
			r.within(100, 50, func() { r.work(700, 700, 700, 1500) })
		}},
	{id: "completion", fault: func(r *pgasRun) {
		for range 5 {
			r.work(100)
			r.quiet(0, 50)
		}
	}, gain: 5 * 4 * 50, words: []string{"`main > shmem_quiet` (is.upc:150)", "20 times for 20 transfers"},
		noFault: func(r *pgasRun) {
			for range 5 {
				r.quiet(100, 2)
			}
		}},
}

func analysePGAS(t testing.TB, text string) advise.Input {
	t.Helper()
	in := advise.Input{Model: sloutest.Build(t, text)}
	var err error
	if in.Pattern, err = pattern.Compute(context.Background(), in.Model, procs.Alone()); err != nil {
		t.Fatal(err)
	}
	if in.SLOU, err = slou.Compute(context.Background(), in.Model, slou.Options{Patterns: in.Pattern},
		procs.Alone()); err != nil {
		t.Fatal(err)
	}
	return in
}

func adviceOn(in advise.Input, id string) *advise.Advice {
	for _, a := range advise.Alone(in) {
		if a.ID == id {
			return &a
		}
	}
	return nil
}

func TestPGASRules(t *testing.T) {
	for _, c := range pgasCases {
		t.Run(c.id, func(t *testing.T) {
			r := newPGASRun(4)
			c.fault(r)
			in := analysePGAS(t, r.text())
			a := adviceOn(in, c.id)
			if a == nil {
				t.Fatalf("it does not speak; of the run: %+v", advise.Alone(in))
			}
			for _, w := range c.words {
				if !strings.Contains(a.Text, w) {
					t.Errorf("it does not say %q: %s", w, a.Text)
				}
			}
			if c.id == "start-up" && (a.GainNS != 0 || a.GainWallNS != 0) {
				t.Errorf("it promises %d ns", a.GainNS)
			}
			if c.gain > 0 && a.GainNS != c.gain*1000 {
				t.Errorf("it promises %d ns, not %d us", a.GainNS, c.gain)
			}
			if most := in.SLOU.TotalNS - in.SLOU.Factors.U.NS; a.GainNS > most || a.GainWallNS > most/4+1 {
				t.Errorf("it promises %d ns of %d lost, the run %d sooner", a.GainNS, most, a.GainWallNS)
			}
			for key := range a.Evidence {
				if strings.HasSuffix(key, "_ns") {
					if _, ok := a.Evidence[key].(int64); !ok {
						t.Errorf("%s is no time: %v", key, a.Evidence[key])
					}
				}
			}
			for _, a := range advise.Alone(advise.Input{SLOU: in.SLOU, Model: in.Model, Pattern: in.Pattern}) {
				a = a.In(words.Russian)
				onlyRussian(t, a.Title+a.Text+a.Gain+a.Bound)
			}
			r = newPGASRun(4)
			c.noFault(r)
			if a := adviceOn(analysePGAS(t, r.text()), c.id); a != nil {
				t.Errorf("without the fault it says: %s", a.Text)
			}
		})
	}
}

// leaveLate lets one thread leave a barrier so much later than the others, for want of a core.
func (r *pgasRun) leaveLate(thread, late int) {
	r.meet(atBarrier, "barrier", "", 1, 0)
	events := r.events[thread]
	r.events[thread] = events[:len(events)-1]
	r.at[thread] += late
	r.event(thread, "Region.onExited %d", atBarrier)
}

// TestPGASLateThread: who is late is named at every collective, with no more than its work could save, and
// for its reason.
func TestPGASLateThread(t *testing.T) {
	run := func(f func(r *pgasRun)) advise.Input {
		r := newPGASRun(4)
		f(r)
		return analysePGAS(t, r.text())
	}
	for site, kind := range map[int]string{atBarrier: "barrier", atAlloc: "alloc", atAlloc + 100: "free"} {
		a := adviceOn(run(func(r *pgasRun) {
			for range 5 {
				r.work(300, 300, 300, 700)
				r.meet(site%100, kind, "", 1, 0)
			}
		}), "late-thread")
		if a == nil || a.GainNS != 5*3*400*1000 || !strings.Contains(a.Text, "Thread 3 came last 5 times") {
			t.Errorf("%s: %+v", kind, a)
		}
	}
	in := run(func(r *pgasRun) {
		for range 5 {
			r.leaveLate(3, 500)
			r.work(50)
			r.meet(atBarrier2, "barrier", "", 1, 0)
		}
	})
	if a := adviceOn(in, "late-thread"); a != nil {
		t.Errorf("the work is blamed for a thread without a core: %s", a.Text)
	}
	a := adviceOn(in, "late-leaving")
	if a == nil || !strings.Contains(a.Text, "Thread 3 was late") || !strings.Contains(a.Text, "no core") ||
		a.GainNS != 5*3*500*1000 {
		t.Errorf("%+v", a)
	}
	a = adviceOn(run(func(r *pgasRun) { // half of the lateness is work
		for range 5 {
			r.leaveLate(3, 200)
			r.work(50, 50, 50, 450)
			r.meet(atBarrier2, "barrier", "", 1, 0)
		}
	}), "late-thread")
	if a == nil || a.GainNS != 5*3*400*1000 {
		t.Errorf("%+v", a)
	}
	a = adviceOn(run(func(r *pgasRun) {
		for i := range 8 {
			w := []int{300, 300, 300, 300}
			w[i%4] = 700
			r.work(w...)
			r.meet(atBroadcast, "gather-all", "sync=all/all sent=64 received=256", 1, 0)
		}
	}), "uneven-steps")
	if a == nil || strings.Contains(a.Text, "split the barrier") {
		t.Errorf("a wait at gather_all: %+v", a)
	}
	a = adviceOn(run(func(r *pgasRun) {
		for range 5 {
			r.work(300, 300, 300, 700)
			r.meet(atAlloc, "alloc", "", 100, 0)
		}
	}), "alloc-in-loop")
	if a == nil || a.GainNS != 4*4*100*1000 {
		t.Errorf("who is late to an allocation would be late to whatever follows: %+v", a)
	}
}

// TestPGASNames: OpenSHMEM's own operations are named, and a program that only works is left alone.
func TestPGASNames(t *testing.T) {
	r := newPGASRun(2)
	r.work(10)
	r.get(atShmem, 5, 100)
	if a := adviceOn(analysePGAS(t, r.text()), "overlap"); a == nil || !strings.Contains(a.Text,
		"`shmem_quiet`") {
		t.Errorf("%+v", a)
	}
	r = newPGASRun(2)
	r.work(1000)
	r.meet(atBarrier, "barrier", "", 1, 0)
	if list := advise.Alone(analysePGAS(t, r.text())); len(list) > 0 {
		t.Errorf("%+v", list)
	}
}

// TestPGASAwaitAlone: where no write to the waiting thread was recorded, as at level sync, only the call path
// is told; of a ping-pong each thread waits for the other one.
func TestPGASAwaitAlone(t *testing.T) {
	for _, puts := range []bool{false, true} {
		r := newPGASRun(2)
		for i := range 20 {
			n := i % 2 // who writes; the other one waits
			r.event(1-n, "Region.onEntered %d", atAwait)
			if puts {
				r.event(n, "Region.onEntered %d", atPut)
				r.event(n, "Message.onPut to=%d bytes=8", 1-n)
				r.event(n, "Region.onExited %d", atPut)
			}
			r.at[0], r.at[1] = r.at[0]+30, r.at[1]+30
			r.event(1-n, "Region.onExited %d", atAwait)
		}
		a := adviceOn(analysePGAS(t, r.text()), "await")
		if a == nil {
			t.Fatal("nothing is said")
		}
		if a.GainNS != 20*30_000 || strings.Contains(a.Text, "write by thread") != puts ||
			puts && a.Evidence["writer"] != "1" {
			t.Errorf("%+v", a)
		}
	}
}

// TestPGASLockName: a lock is called what the program calls it, where that is known.
func TestPGASLockName(t *testing.T) {
	r := newPGASRun(4)
	r.names = fmt.Sprintf("#site 99 code=%d label=\"lock 0x9\" at=\"/home/me/queue.c\":12:0 \"queue_lock\"\n",
		atLock)
	for range 3 {
		r.work(50)
		r.lock(100)
	}
	a := adviceOn(analysePGAS(t, r.text()), "lock-contention")
	if a == nil || !strings.Contains(a.Text, "mostly for lock `queue_lock` (queue.c:12): it was taken") ||
		a.Evidence["lock"] != "`queue_lock` (queue.c:12)" {
		t.Errorf("%+v", a)
	}
}

// TestPGASStartUp: it stands before what gains less than the start takes, and behind what gains more;
// everything else is said as ever.
func TestPGASStartUp(t *testing.T) {
	for _, start := range []int{300, 3000} {
		r := newPGASRun(4)
		r.within(start, 0, func() {
			r.work(100, 100, 100, 900)
			r.meet(atBarrier, "barrier", "", 1, 0)
		})
		var order []string
		for _, a := range advise.Alone(analysePGAS(t, r.text())) {
			order = append(order, a.ID)
		}
		want := []string{"late-thread", "start-up"}
		if start == 3000 {
			slices.Reverse(want)
		}
		if !slices.Equal(order, want) {
			t.Errorf("the start takes %d us: %v, want %v", start, order, want)
		}
	}
}

// TestPGASTwoPhases: a barrier of two phases right after another barrier is a double one, too; with work
// between its phases it is not.
func TestPGASTwoPhases(t *testing.T) {
	for _, work := range []int{0, 200} {
		r := newPGASRun(2)
		for range 4 {
			r.work(300)
			r.meet(atBarrier, "barrier", "", 5, 0)
			for n := range r.at {
				r.event(n, "Region.onEntered %d", atNotify)
				r.event(n, "Sync.onCollective notify size=2")
				r.event(n, "Region.onExited %d", atNotify)
			}
			if work > 0 {
				r.get(atMemget, 1, work)
			}
			r.meet(atWait, "wait", "", 60, 0)
		}
		a := adviceOn(analysePGAS(t, r.text()), "double-barrier")
		if (a != nil) != (work == 0) {
			t.Errorf("with %d us between the phases: %+v", work, a)
		}
	}
}

// TestSharePGAS finds with several processes what one finds.
func TestSharePGAS(t *testing.T) {
	analyse := func(ctx context.Context, m *model.Model, g procs.Group) (*[]advise.Advice, error) {
		in := advise.Input{Model: m}
		var err error
		if in.Pattern, err = pattern.Compute(ctx, m, g); err != nil {
			return nil, err
		}
		if in.SLOU, err = slou.Compute(ctx, m, slou.Options{Patterns: in.Pattern}, g); err != nil {
			return nil, err
		}
		list, err := advise.Advise(in, g)
		if err != nil || g.Rank() > 0 {
			return nil, err
		}
		return &list, nil
	}
	given := 0
	for _, c := range pgasCases {
		for _, program := range []func(*pgasRun){c.fault, c.noFault} {
			r := newPGASRun(4)
			program(r)
			dir := t.TempDir()
			if err := twin.Parse(strings.NewReader(r.text()), dir); err != nil {
				t.Fatal(err)
			}
			given += len(*sharetest.Same(t, dir, nil, analyse))
		}
	}
	if given < len(pgasCases) {
		t.Errorf("%d pieces of advice in %d cases", given, len(pgasCases))
	}
}
