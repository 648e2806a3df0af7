package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/whyslow/whyslow/internal/clock"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// What each kind of event costs, beside the least that recording can cost: reading the time-stamp counter and
// appending 24 bytes. A portion of the kind and one of the bare minimum take turns; the ratio is taken pair
// by pair. A portion fits a buffer of the trace writer; what it costs to hand a full buffer over is shown in
// a row of its own.

const (
	kindPortion = 4000
	bufferWords = 16 << 10
)

var bareBuffer [bufferWords]uint64

func bareAppend(n int) {
	at := 0
	for i := range n {
		if at+3 > len(bareBuffer) {
			at = 0
		}
		rec := bareBuffer[at : at+3]
		at += 3
		rec[0] = rdtsc()
		rec[1] = uint64(i)
		rec[2] = 7
	}
}

// perEvent is how long each of n events takes, in ns.
func perEvent(run func(n int), n int) float64 {
	begin := time.Now()
	run(n)
	return float64(time.Since(begin).Nanoseconds()) / float64(n)
}

// clockAppend is the same with the clock whose times are recorded.
func clockAppend(n int) {
	at := 0
	for i := range n {
		if at+3 > len(bareBuffer) {
			at = 0
		}
		rec := bareBuffer[at : at+3]
		at += 3
		rec[0] = uint64(clock.Now())
		rec[1] = uint64(i)
		rec[2] = 7
	}
}

// emitter emits n events of one kind.
type emitter struct {
	name string
	list int // elements of its list, -1 for a kind of fixed size
	run  func(n int)
}

// emitters has a loop for each kind, written out so that the compiler sees what a program would have it see.
func emitters(e *prof.Events, s *prof.Stream) []emitter {
	node := func(i int) int { return i & 3 }
	list := make([]trace.DF, 64)
	ints := make([]int32, 64)
	var all []emitter
	fixed := func(name string, run func(n int)) { all = append(all, emitter{name, -1, run}) }
	fixed("CFEvents.onReady", func(n int) {
		for i := range n {
			e.CFReady.Emit(s, trace.CF(i), 300)
		}
	})
	fixed("CFEvents.onFinished", func(n int) {
		for i := range n {
			e.CFFinished.Emit(s, trace.CF(i), 1, -1)
		}
	})
	fixed("CFEvents.onMigrated", func(n int) {
		for i := range n {
			e.CFMigrated.Emit(s, trace.CF(i), node(i), 100, 1)
		}
	})
	fixed("CFEvents.onStolen", func(n int) {
		for i := range n {
			e.CFStolen.Emit(s, trace.CF(i), node(i), 100, 1)
		}
	})
	fixed("CFEvents.onReceived", func(n int) {
		for i := range n {
			e.CFReceived.Emit(s, trace.CF(i), node(i), 100, 1)
		}
	})
	fixed("CFEvents.onDestroyed", func(n int) {
		for i := range n {
			e.CFDestroyed.Emit(s, trace.CF(i))
		}
	})
	fixed("CFEvents.onHeld", func(n int) {
		for i := range n {
			e.CFHeld.Emit(s, trace.CF(i))
		}
	})
	fixed("CFEvents.onResumed", func(n int) {
		for i := range n {
			e.CFResumed.Emit(s, trace.CF(i))
		}
	})
	fixed("DFEvents.onCreate", func(n int) {
		for i := range n {
			e.DFCreate.Emit(s, trace.DF(i), 8, trace.CF(i))
		}
	})
	fixed("DFEvents.onRequested", func(n int) {
		for i := range n {
			e.DFRequested.Emit(s, trace.DF(i), trace.CF(i), node(i), uint64(i))
		}
	})
	fixed("DFEvents.onRequestReceived", func(n int) {
		for i := range n {
			e.DFRequestReceived.Emit(s, trace.DF(i), node(i), uint64(i))
		}
	})
	fixed("DFEvents.onSent", func(n int) {
		for i := range n {
			e.DFSent.Emit(s, trace.DF(i), node(i), 8, uint64(i), uint64(i), 0)
		}
	})
	fixed("DFEvents.onReceived", func(n int) {
		for i := range n {
			e.DFReceived.Emit(s, trace.DF(i), node(i), 8, uint64(i), uint64(i), 0)
		}
	})
	fixed("DFEvents.onStored", func(n int) {
		for i := range n {
			e.DFStored.Emit(s, trace.DF(i), 8)
		}
	})
	fixed("DFEvents.onDropped", func(n int) {
		for i := range n {
			e.DFDropped.Emit(s, trace.DF(i), 8)
		}
	})
	fixed("DFEvents.onDestroy", func(n int) {
		for i := range n {
			e.DFDestroy.Emit(s, trace.DF(i), 8, trace.Expired)
		}
	})
	fixed("DFEvents.onDuplicate", func(n int) {
		for i := range n {
			e.DFDuplicate.Emit(s, trace.DF(i), trace.CF(i), trace.CF(i))
		}
	})
	fixed("GlobalEvents.onStarted", func(n int) {
		for i := range n {
			e.BlockStarted.Emit(s, 3, uint64(i))
		}
	})
	fixed("GlobalEvents.onExited", func(n int) {
		for i := range n {
			e.BlockExited.Emit(s, 3, uint64(i))
		}
	})
	fixed("GlobalEvents.onWaiting", func(n int) {
		for i := range n {
			e.BlockWaiting.Emit(s, 3, uint64(i))
		}
	})
	fixed("GlobalEvents.onMigrated", func(n int) {
		for i := range n {
			e.BlockMigrated.Emit(s, 3, uint64(i))
		}
	})
	fixed("GlobalEvents.onContinued", func(n int) {
		for i := range n {
			e.BlockContinued.Emit(s, 3, uint64(i))
		}
	})
	fixed("GlobalEvents.onForeignStarted", func(n int) {
		for range n {
			e.ForeignStarted.Emit(s, 3)
		}
	})
	fixed("GlobalEvents.onForeignEnded", func(n int) {
		for range n {
			e.ForeignEnded.Emit(s, 3)
		}
	})
	fixed("GlobalEvents.onProgramStarted", func(n int) {
		for i := range n {
			e.ProgramStarted.Emit(s, 0, int64(i))
		}
	})
	fixed("GlobalEvents.onProgramFinished", func(n int) {
		for i := range n {
			e.ProgramFinished.Emit(s, int64(i))
		}
	})
	fixed("GlobalEvents.onIdle", func(n int) {
		for range n {
			e.Idle.Emit(s)
		}
	})
	fixed("GlobalEvents.onBusy", func(n int) {
		for range n {
			e.Busy.Emit(s)
		}
	})
	fixed("GlobalEvents.onReadyQueue", func(n int) {
		for i := range n {
			e.ReadyQueue.Emit(s, uint64(i))
		}
	})
	fixed("GlobalEvents.onSendQueue", func(n int) {
		for i := range n {
			e.SendQueue.Emit(s, node(i), uint64(i))
		}
	})
	fixed("GlobalEvents.onRelations", func(n int) {
		for i := range n {
			e.Relations.Emit(s, int64(i), 2)
		}
	})
	fixed("GlobalEvents.onClockSync", func(n int) {
		for i := range n {
			e.ClockSync.Emit(s, int64(i), 100)
		}
	})
	fixed("GlobalEvents.onLost", func(n int) {
		for i := range n {
			e.Lost.Emit(s, 1, int64(i), int64(i), 0)
		}
	})
	fixed("SyncEvents.onWaitStarted", func(n int) {
		for range n {
			e.WaitStarted.Emit(s, 1)
		}
	})
	fixed("SyncEvents.onWaitEnded", func(n int) {
		for range n {
			e.WaitEnded.Emit(s, 1)
		}
	})
	fixed("SyncEvents.onCollective", func(n int) {
		for range n {
			e.Collective.Emit(s, 1, 2, 0, 1, 32, -1, 64, 64)
		}
	})
	fixed("SyncEvents.onAcquired", func(n int) {
		for range n {
			e.Acquired.Emit(s, 7)
		}
	})
	fixed("CFEvents.onPlaced", func(n int) {
		for i := range n {
			e.CFPlaced.Emit(s, trace.CF(i), int64(i))
		}
	})
	fixed("DFEvents.onPlaced", func(n int) {
		for i := range n {
			e.DFPlaced.Emit(s, trace.DF(i), int64(i))
		}
	})
	fixed("SyncEvents.onBlocked", func(n int) {
		for i := range n {
			e.Blocked.Emit(s, trace.CF(i), 5, 1, 2, 3, 0)
		}
	})
	fixed("GlobalEvents.onThreadTime", func(n int) {
		for range n {
			e.ThreadTime.Emit(s, 0, 5, 4, 1, 0)
		}
	})
	fixed("GlobalEvents.onBalanced", func(n int) {
		for i := range n {
			e.Balanced.Emit(s, 1, node(i), 12, 84, 12)
		}
	})
	fixed("GlobalEvents.onUsage", func(n int) {
		for range n {
			e.Usage.Emit(s, 150, 80<<20, 30<<20, 9)
		}
	})
	fixed("SyncEvents.onReleased", func(n int) {
		for range n {
			e.Released.Emit(s, 7)
		}
	})
	fixed("RegionEvents.onEntered", func(n int) {
		for range n {
			e.Entered.Emit(s, 1)
		}
	})
	fixed("RegionEvents.onExited", func(n int) {
		for range n {
			e.Exited.Emit(s, 1)
		}
	})
	fixed("MessageEvents.onPut", func(n int) {
		for i := range n {
			e.Put.Emit(s, 1, 4096, uint64(i))
		}
	})
	fixed("MessageEvents.onGet", func(n int) {
		for i := range n {
			e.Get.Emit(s, 1, 4096, uint64(i))
		}
	})
	fixed("MessageEvents.onRemoteAtomic", func(n int) {
		for range n {
			e.RemoteAtomic.Emit(s, 1, 8)
		}
	})
	fixed("MessageEvents.onCompleted", func(n int) {
		for i := range n {
			e.Completed.Emit(s, uint64(i))
		}
	})
	fixed("MessageEvents.onSent", func(n int) {
		for i := range n {
			e.Sent.Emit(s, 1, 4096, 7, 1, uint64(i))
		}
	})
	fixed("MessageEvents.onReceived", func(n int) {
		for i := range n {
			e.Received.Emit(s, 1, 4096, 7, 1, uint64(i), 100)
		}
	})
	for _, elements := range []int{0, 4, 16, 64} {
		all = append(all, emitter{"CFEvents.onCreated", elements, func(n int) {
			for i := range n {
				e.CFCreated.Emit(s, trace.CF(i), 1, 0, 1, 1, ints[:elements])
			}
		}}, emitter{"CFEvents.onStarted", elements, func(n int) {
			for i := range n {
				e.CFStarted.Emit(s, trace.CF(i), 1, list[:elements])
			}
		}}, emitter{"CFEvents.onWaiting", elements, func(n int) {
			for i := range n {
				e.CFWaiting.Emit(s, trace.CF(i), list[:elements])
			}
		}}, emitter{"SyncEvents.onGroup", elements, func(n int) {
			for range n {
				e.Group.Emit(s, 1, ints[:elements])
			}
		}})
	}
	return all
}

// recordKinds measures each kind of event on its own.
func (b *bench) recordKinds() error {
	dir, err := b.temp()
	if err != nil {
		return err
	}
	w, err := trace.Create(dir, 0, trace.Options{BufferBytes: 8 * bufferWords, Pool: 16})
	if err != nil {
		return err
	}
	defer func() { _ = w.Close() }() // the file is not looked at
	ses, off := prof.New(), prof.New()
	s := ses.Stream(0, 0, w.Stream(0))
	quiet := off.Stream(0, 1, w.Stream(1))
	off.EnableAll(false)
	all := emitters(&ses.Events, s)
	ns := make([][]float64, len(all))
	ratios := make([][]float64, len(all))
	var bare, clocked, disabled, empty, handing, handed []float64
	clock.Now()
	for range b.pick(100, 3) {
		for i, e := range all {
			words := 1 + len(kindByName(e.name).Fields) + max(0, e.list)
			n := min(kindPortion, bufferWords/words-1)
			least := perEvent(bareAppend, kindPortion)
			cost := perEvent(e.run, n)
			bare = append(bare, least)
			ns[i] = append(ns[i], cost)
			ratios[i] = append(ratios[i], cost/least)
			s.Trace().Flush()
			time.Sleep(rest)
		}
		disabled = append(disabled, perEvent(func(n int) {
			for i := range n {
				off.CFFinished.Emit(quiet, trace.CF(i), 1, -1)
			}
		}, 25*kindPortion))
		empty = append(empty, perEvent(func(n int) {
			for range n {
			}
		}, 25*kindPortion))
		clocked = append(clocked, perEvent(clockAppend, kindPortion))
		const many = 4 * bufferWords / 3
		handing = append(handing, perEvent(func(n int) {
			for i := range n {
				ses.CFReady.Emit(s, trace.CF(i), 300)
			}
		}, many))
		handed = append(handed, handing[len(handing)-1]/perEvent(bareAppend, kindPortion))
		s.Trace().Flush()
		time.Sleep(rest)
	}
	least := median(bare)
	t := b.table("Recording one event, kind by kind",
		"Compared, in turns, with the least that recording can cost: reading the processor's time-stamp counter "+
			"once and appending 24 bytes.",
		"kind", "ratio to bare", "goal", "ns/event", "fields")
	t.row("bare RDTSC and append of 24 bytes", ratio(1), "", least, "")
	t.row("the same with whyslow's clock, in nanoseconds", ratio(median(clocked)/least), "", median(clocked), "")
	worst := 0.0
	for i, e := range all {
		if e.list < 0 {
			t.row(e.name, ratio(median(ratios[i])), "1.5x", median(ns[i]), len(kindByName(e.name).Fields))
			worst = max(worst, median(ratios[i]))
		}
	}
	t.row("CFEvents.onReady, four buffers full at a stretch", ratio(median(handed)), "1.5x", median(handing), 2)
	t.note("Worst of the kinds of fixed size: %s. Portions fit a buffer, except in the last row, where a full "+
		"buffer goes to the writer every %d events", ratio(worst), bufferWords/3)

	l := b.table("Recording an event with a list", "", "kind", "ns per element (goal 2)",
		"no elements, ratio to bare", "ns, no elements", "ns, 4", "ns, 16", "ns, 64")
	for i, e := range all {
		if e.list != 0 {
			continue
		}
		cost := map[int]float64{}
		for j, other := range all {
			if other.name == e.name {
				cost[other.list] = median(ns[j])
			}
		}
		l.row(e.name, fmt.Sprintf("%.2f", (cost[64]-cost[0])/64), ratio(median(ratios[i])), cost[0], cost[4],
			cost[16], cost[64])
	}
	d := b.table("An event that is switched off", "", "", "ns/event", "goal")
	d.row("Emit of a switched-off event, loop included", fmt.Sprintf("%.3f", median(disabled)), "1")
	d.row("an empty loop", fmt.Sprintf("%.3f", median(empty)), "")
	return nil
}

// kindByName finds a kind by "Namespace.onName".
func kindByName(name string) *trace.KindSpec {
	ns, event, _ := strings.Cut(name, ".")
	k, _ := trace.KindByName(ns, event)
	return k.Spec()
}
